# SPDX-License-Identifier: Apache-2.0
"""Paths that somebody names, before a file is opened. Standard library only."""

from __future__ import annotations

import os
from pathlib import Path


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return the path with its `~` expanded; that of an unknown user stays as it is."""
    return Path(os.path.expanduser(path))


def check_regular(path: Path) -> None:
    """Raise ValueError, without the file's name, for what may have no end or no writer.

    What does not exist passes: opening it says so.
    """
    if os.path.isdir(path):
        raise ValueError("is a folder; name a file in it")
    # A shell's <(...) does not exist for a process started by a launch file.
    if os.path.exists(path) and not os.path.isfile(path) or path.parent == Path("/dev/fd"):
        raise ValueError(
            "is not a regular file but a device or a pipe, such as <(...); write it to a file"
        )
