# SPDX-License-Identifier: Apache-2.0
"""Only one set-up at a time in one checkout, and none changes what a living run uses.

Whoever runs in a folder that the set-up makes holds a shared lock on a file in it; who is going
to change the folder takes the lock alone, or refuses and names those who run in it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from diffbot_bringup.workspace.process import SetupError, say

_FILE = "in_use"
_COMMAND_LINE = "diffbot_bringup.cli"
"""The word after which a command line of ours has what its user has typed."""


class CheckoutLock:
    """A lock on a file, held by this process and the children that inherit its descriptor.

    The children hold it too, so that a pip that outlives a killed ./diffbot is waited for and two
    of them never write into one environment. The kernel frees it when the last holder ends.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptor = -1

    def __enter__(self) -> CheckoutLock:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another diffbot is setting up this checkout; waiting for it ...")
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self.descriptor)
        self.descriptor = -1


def hold(folder: Path) -> bool:
    """Use a folder from now on, until this process and what it becomes by exec have ended.

    Returns False after it had to wait for somebody who changes the folder; it is then not held, and
    may not be ready any more.
    """
    try:
        descriptor = _open(folder)
    except OSError:  # of another user, who has set it up
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another diffbot is setting up what this one uses; waiting for it ...")
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        os.close(descriptor)
        return False
    os.set_inheritable(descriptor, True)
    return True


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody uses the folder meanwhile. Raises SetupError that names those who do now."""
    descriptor = _open(folder)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SetupError(
                f"{folder} has to be changed, and is in use by {_users(descriptor)}; end that "
                "first, or wait for its end, and run diffbot again"
            ) from None
        yield
    finally:
        os.close(descriptor)


def held_folders(root: Path) -> list[Path]:
    """Return the folders of a .diffbot folder that may be held."""
    return sorted(path.parent for path in root.glob(f"*/{_FILE}"))


def _open(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _users(descriptor: int) -> str:
    """Name the processes that hold a file's lock, as far as the kernel tells."""
    number = os.fstat(descriptor).st_ino
    names = []
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        lines = []
    for words in map(str.split, lines):
        # 1: FLOCK ADVISORY READ <process> <device>:<inode> 0 EOF; one that waits has an arrow.
        if words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(number):
            names.append(f"{_typed(words[4])} (process {words[4]})")
    return ", ".join(names) or "another process"


def _typed(process: str) -> str:
    """Return the command line of a process as its user has typed it."""
    try:
        words = Path("/proc", process, "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "a run that has ended, some of whose processes have not"
    if _COMMAND_LINE in words:
        words = ["./diffbot", *words[words.index(_COMMAND_LINE) + 1 :]]
    return " ".join(words).strip()
