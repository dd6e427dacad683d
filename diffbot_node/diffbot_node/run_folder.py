# SPDX-License-Identifier: Apache-2.0
"""A folder of results belongs to one run: nothing of another run is overwritten.

The first node of a run, or its launch, writes the file CLAIM with the launch's random name (from
the environment variable LAUNCH), locked (flock) by every process of the run until it ends. Nodes
started by hand share a folder while one of them runs. Imports no ROS.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

LAUNCH = "DIFFBOT_LAUNCH"
# As diffbot_description.files, which would load NumPy.
CLAIM, SUMMARY = ".run", "summary.json"
# Longest time to wait for another process that writes its claim, s.
_PATIENCE = 2.0
_locks: dict[tuple[int, int], int] = {}  # device and inode of a claim -> descriptor, open for good


class FolderTaken(ValueError):
    """The folder belongs to another run; the text says to which, and what to do."""


def new_launch_name() -> str:
    """Return a random name for a launch."""
    return secrets.token_hex(6)


def launch_name(environment: Mapping[str, str] = os.environ) -> str:
    """Return the random name of this process's launch; empty if there is none."""
    return environment.get(LAUNCH, "")


def claim(folder: Path, launch: str, run: str = "") -> None:
    """Make an existing folder this run's own until this process ends.

    `run` is its name for the message to others. FolderTaken: it belongs to another run.
    """
    file = os.open(folder / CLAIM, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    status = os.fstat(file)
    if (status.st_dev, status.st_ino) in _locks:
        os.close(file)
        return
    try:
        first = locked(file, fcntl.LOCK_EX)
        if first:
            if (owner := _owner(file)) is None and not (folder / SUMMARY).exists():
                _write(file, launch, run)
            elif owner is None or not launch or owner.get("launch") != launch:
                raise FolderTaken(_refusal(folder, owner, "has ended"))
        deadline = time.monotonic() + _PATIENCE
        while not locked(file, fcntl.LOCK_SH) and time.monotonic() < deadline:
            time.sleep(0.01)
        owner = _owner(file)
        if owner is None or owner.get("launch") != launch:
            raise FolderTaken(_refusal(folder, owner, "is active"))
    except BaseException:
        os.close(file)
        raise
    _locks[status.st_dev, status.st_ino] = file


def locked(file: int, kind: int) -> bool:
    """Lock a file if no other process holds it, or if its file system has no locks."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _owner(file: int) -> dict[str, str] | None:
    """Return what the owner has written; None if there is nothing."""
    with contextlib.suppress(ValueError, OSError):
        none = json.loads(os.pread(file, 4096, 0))
        if isinstance(none, dict):
            return {str(key): str(value) for key, value in none.items()}
    return None


def _write(file: int, launch: str, run: str) -> None:
    since = datetime.now().isoformat(" ", "seconds")
    os.ftruncate(file, 0)
    os.pwrite(file, json.dumps({"launch": launch, "run": run, "since": since}).encode(), 0)


def _refusal(folder: Path, owner: Mapping[str, str] | None, state: str) -> str:
    whose = "an earlier run"
    if owner is not None:
        what = f" ({owner['run']})" if owner.get("run") else ""
        whose = f"the run{what} of {owner.get('since', 'an unknown time')}, which {state}"
    return (
        f"'{folder}' holds the results of {whose}: give another folder, or remove that one; "
        "without results:= each run makes its own"
    )
