"""What a launch tells its processes of those that have failed, before it ends the others.

`./diffbot launch` names a file in the environment variable DIFFBOT_LAUNCH_FAILURES of each process.
The file is not there until a process of the launch fails; it then holds a line for each that has,
such as "simulator-1 (exit code -9)". A process that is told to end can so tell a user's Ctrl-C from
the end of a run that has failed. With `ros2 launch` there is no such variable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

VARIABLE = "DIFFBOT_LAUNCH_FAILURES"


def tell_failures(path: Path, failed: Sequence[str]) -> None:
    """Write the file at one stroke. A disk that is full costs the explanation, not the launch."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text("".join(f"{name}\n" for name in failed), encoding="utf-8")
        partial.replace(path)
    except OSError:
        return


def told_failures(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The processes of this one's launch that have failed so far; empty where nobody tells."""
    try:
        return Path(environment[VARIABLE]).read_text(encoding="utf-8").splitlines()
    except (KeyError, OSError, UnicodeDecodeError):
        return []
