"""What the two environments, wheels and a ROS 2 install, have in common."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from diffbot_bringup.workspace.variables import Paths


class Environment(Protocol):
    """Where ROS 2 comes from."""

    title: str
    """What a person is told about it."""
    directory: Path
    """Holds build, install, log and stamps of this environment."""
    python: Path
    """The interpreter that nodes and colcon run with."""
    cmake_arguments: list[str]
    """For every package that CMake builds."""

    def key(self) -> str:
        """Return a hash of all that the environment is made from; a build depends on it too."""

    def is_ready(self) -> bool:
        """Tell whether prepare would have nothing to do; must be fast."""

    def prepare(self, lock: int) -> None:
        """Make the environment, going on where an interrupted run stopped.

        Raises SetupError when something is missing.
        """

    def paths(self) -> Paths:
        """Return what the environment, without the workspace, puts into path variables."""

    def variables(self, user: Mapping[str, str]) -> dict[str, str]:
        """Return the user's environment variables with those of this environment."""

    def has_package(self, name: str) -> bool:
        """Tell whether this environment, without the workspace, has the ROS package."""


def has_resource(prefixes: list[str], package: str) -> bool:
    """Tell whether one of the ament prefixes has the ROS package."""
    index = os.path.join("share", "ament_index", "resource_index", "packages", package)
    return any(os.path.exists(os.path.join(prefix, index)) for prefix in prefixes)
