# SPDX-License-Identifier: Apache-2.0
"""Temporary files of launches, and what killed ones have left of them.

All lie in one folder, which runner and guard keep locked, and which a launch removes at its end.
The next launch, and `./diffbot clean`, remove folders that nobody locks, and half-written results.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "diffbot-launch-"
_LOCK = "lock"
# A folder without a lock that is younger than this, s, is just being made.
_MAKING = 60.0
# A file that diffbot_description.files.write_atomically has not completed; the number is a process.
_PARTIAL = re.compile(r"\.(\d+)\.\w+$|\.(\d+)$")
KEPT_LOGS = 1000
"""Files and folders of logs that are kept in a checkout; a launch makes about ten."""


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder for the temporary files of a launch; removed at the end.

    Forks of this process keep it locked, too.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep() -> None:
    """Remove the temporary folders of launches of this user that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if status.st_uid == os.getuid() and not folder.is_symlink() and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return time.time() - folder.stat().st_mtime > _MAKING
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def sweep_results(folder: Path) -> None:
    """Remove half-written files of processes that are gone from folders of results beside one."""
    for path in folder.parent.glob("*/.*.*"):
        match = _PARTIAL.search(path.name)
        if match is None:
            continue
        with contextlib.suppress(OSError):
            if not _runs(int(match[1] or match[2])) and path.is_file() and not path.is_symlink():
                path.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def prune_logs(root: Path, kept: int = KEPT_LOGS) -> None:
    """Remove the oldest logs in a checkout's own folder of logs; others are left as they are."""
    checkout = os.environ.get("DIFFBOT_ROOT", "")
    if not checkout or Path(checkout, ".diffbot") not in root.parents:
        return
    with contextlib.suppress(OSError):
        entries = [
            (entry.stat(follow_symlinks=False).st_mtime, entry) for entry in os.scandir(root)
        ]
        entries.sort(key=lambda each: each[0])
        for _, entry in entries[: max(0, len(entries) - kept)]:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)
