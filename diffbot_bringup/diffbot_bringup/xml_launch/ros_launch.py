# SPDX-License-Identifier: Apache-2.0
"""What `ros2 launch` does not do by itself: check the command line, and report a failed node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from diffbot_bringup.xml_launch.arguments import understand
from diffbot_bringup.xml_launch.config_file import check_file, settings
from diffbot_bringup.xml_launch.document import RESERVED, read
from diffbot_bringup.xml_launch.substitutions import installed_share


def is_launched(path: Path, command: Sequence[str]) -> bool:
    """Return whether a command line names this launch file itself, by path or by package."""
    words = [word for word in command if ":=" not in word]
    return {path.name, path.parent.parent.name} <= set(words) or any(
        Path(word).resolve() == path.resolve() for word in words
    )


def check_command_line(path: Path, words: Iterable[str]) -> None:
    """Refuse ``name:=value`` words as `diffbot launch` does. Raises UsageError."""
    understand([str(path), *(word for word in words if word.partition(":=")[0] not in RESERVED)])


def check_config(path: Path, config: str) -> None:
    """Refuse a wrong file of parameters. Raises UsageError."""
    check_file(config, settings(read(path).root, installed_share))


class LaunchedProcesses:
    """Which processes of a launch run, and which have failed."""

    def __init__(self) -> None:
        self._running = 0
        self._failed: list[str] = []

    def started(self) -> None:
        self._running += 1

    def ended(self, name: str, status: int) -> None:
        """A process has ended; RuntimeError if it was the last and one has failed."""
        self._running -= 1
        if status:
            self._failed.append(f"{name} ({status})")
        if self._failed and not self._running:
            raise RuntimeError(f"failed: {', '.join(self._failed)}")
