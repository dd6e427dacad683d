"""The environment of a machine with ROS 2: the sourced install, its Python and its colcon.

`choose` tells which environment is used, this one or the wheels.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup.usage import UsageError
from diffbot_bringup.workspace.environment import Environment, digest, with_defaults
from diffbot_bringup.workspace.process import SetupError
from diffbot_bringup.workspace.wheels import WheelsEnvironment

# Module -> the Debian package that has it; None where Debian has none. {distro} is ROS's name.
_MODULES = {
    "rclpy": "ros-{distro}-rclpy",
    "xacro": "ros-{distro}-xacro",
    "yaml": "python3-yaml",
    "numpy": "python3-numpy",
    "scipy": "python3-scipy",
    "matplotlib": "python3-matplotlib",
    "PIL": "python3-pil",
    "rich": "python3-rich",
    "pytest": "python3-pytest",
    "hypothesis": "python3-hypothesis",
    "mujoco": None,
}


class SystemEnvironment:
    """A ROS 2 install that the user has sourced."""

    def __init__(self, root: Path, distro: str) -> None:
        self._distro = distro
        self.directory = root / ".diffbot" / distro
        self.python = Path(sys.executable)
        self.title = f"the sourced ROS 2 {distro.capitalize()}"
        self.cmake_arguments = ["-GNinja"] if shutil.which("ninja") else []
        # Without this workspace itself, which a user may or may not have sourced.
        sourced = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        self._prefixes = [p for p in sourced if p and not p.startswith(f"{root}{os.sep}")]

    def key(self) -> str:
        """Return a hash of the place, the Python and the sourced prefixes."""
        return digest(str(self.directory), sys.base_prefix, *self._prefixes)

    def is_ready(self) -> bool:
        """Tell whether all that the suite imports is installed."""
        return not self.missing()

    def missing(self) -> list[str]:
        """Return the names of the modules and tools that are not installed."""
        names = [name for name in _MODULES if importlib.util.find_spec(name) is None]
        return names if shutil.which("colcon") else [*names, "colcon"]

    def prepare(self, lock: int) -> None:
        """Raise SetupError with one line that says what to install; nothing is made here."""
        missing = self.missing()
        if not missing:
            return
        debian = {**_MODULES, "colcon": "python3-colcon-common-extensions"}
        packages = [p.format(distro=self._distro) for name in missing if (p := debian[name])]
        others = [name for name in missing if debian[name] is None]
        commands = []
        if packages:
            commands.append(f"sudo apt install {' '.join(packages)}")
        if others:
            # Debian 12, Ubuntu 24.04 and newer refuse pip outside of virtual environments.
            pip = "PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --user"
            commands.append(f"{pip} {' '.join(others)}")
        raise SetupError(
            f"{self.title} lacks {', '.join(missing)}; install with: {' && '.join(commands)} "
            "(or run DIFFBOT_ROS=wheels ./diffbot ..., which brings its own)"
        )

    def variables(self, user: Mapping[str, str]) -> dict[str, str]:
        """Return the user's variables; the middleware is the user's choice too."""
        return with_defaults(user, self._distro)

    def has_package(self, name: str) -> bool:
        """Tell whether the sourced prefixes have the ROS package."""
        index = f"share/ament_index/resource_index/packages/{name}"
        return any(Path(prefix, index).exists() for prefix in self._prefixes)


def choose(root: Path) -> Environment:
    """Return the sourced ROS 2 if there is one, else the wheels; DIFFBOT_ROS overrides."""
    choice = os.environ.get("DIFFBOT_ROS", "")
    if choice not in ("", "wheels", "system"):
        raise UsageError(f"DIFFBOT_ROS is {choice!r}; it must be wheels, system or empty")
    distro = os.environ.get("ROS_DISTRO", "")
    # The wheels set no ROS_DISTRO, so that their own environment is not mistaken for an install.
    sourced = bool(distro) and importlib.util.find_spec("rclpy") is not None
    if choice == "system" and not sourced:
        raise UsageError(
            "DIFFBOT_ROS is system but no ROS 2 is sourced; source /opt/ros/<distro>/setup.bash"
        )
    if sourced and choice != "wheels":
        return SystemEnvironment(root, distro)
    return WheelsEnvironment(root)
