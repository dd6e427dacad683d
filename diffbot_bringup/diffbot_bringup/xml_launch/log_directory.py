"""Where the output of processes with ``output="log"`` or ``"both"`` goes."""

from __future__ import annotations

import os
import time
from pathlib import Path


def root() -> Path:
    """Return ROS's log folder: ROS_LOG_DIR, else ``$ROS_HOME/log``, else ``~/.ros/log``.

    A checkout that has a ``.diffbot`` folder in the current directory logs there.
    """
    if directory := os.environ.get("ROS_LOG_DIR"):
        return Path(directory).expanduser()
    if Path(".diffbot").is_dir():
        return Path(".diffbot", "log").absolute()
    return Path(os.environ.get("ROS_HOME", "~/.ros")).expanduser() / "log"


class LogDirectory:
    """A folder for one launch, made when the first process needs it."""

    def __init__(self, name: str) -> None:
        self._path = root() / f"{time.strftime('%Y-%m-%d-%H-%M-%S')}-{name}-{os.getpid()}"

    def file(self, process: str) -> Path:
        """Return the path of the log file of a process; its folder exists afterwards."""
        self._path.mkdir(parents=True, exist_ok=True)
        return self._path / f"{process}.log"
