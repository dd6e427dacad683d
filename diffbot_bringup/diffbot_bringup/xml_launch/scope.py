"""What a launch file can see and change: configurations, environment, its own folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Scope:
    """The state that the elements of a launch file share, with the rules of ROS 2 launch.

    A scoped group gives back the configurations and the environment it found; an include does
    not: what an included file declares or sets stays visible to the file that includes it.
    The keys ``ros_namespace`` (text), ``global_params`` and ``ros_remaps`` (lists of pairs) are
    configurations too, as in launch_ros.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.configurations: dict[str, Any] = {}
        self.environment = dict(environment)
        self._directory: Path | None = None
        self._last_included: Path | None = None

    @contextmanager
    def saved(self) -> Iterator[None]:
        """Give back configurations and environment afterwards (a scoped group).

        The copy is shallow, as in launch: a list of parameters or remaps that exists before the
        group is shared, so what a group adds to it stays.
        """
        configurations, environment = dict(self.configurations), dict(self.environment)
        try:
            yield
        finally:
            self.configurations, self.environment = configurations, environment

    @contextmanager
    def file(self, directory: Path) -> Iterator[None]:
        """Make `directory` the folder of the current launch file."""
        outer = self._directory
        self._directory = directory
        try:
            yield
        finally:
            self._directory = outer

    def announce(self, directory: Path) -> None:
        """Remember the folder of the file that an include is about to read."""
        self._last_included = directory

    def directory(self) -> str:
        """Return the folder of the current launch file.

        ROS 2 launch answers with the folder of the file included last, even after that include
        has ended. Raises ValueError where that differs from the file's own folder, because
        neither answer would be right in both worlds.
        """
        if self._last_included != self._directory:
            raise ValueError(
                "$(dirname) in or after an <include> of a file from another folder: ros2 launch "
                f"gives the folder of the included file ({self._last_included}) here; "
                "use $(find-pkg-share PACKAGE), or read $(dirname) with <let> before the include"
            )
        return str(self._directory)
