# SPDX-License-Identifier: Apache-2.0
"""The other nodes of a launch that `ros2 launch` started, which does not end them when one fails.

Each node locks a file of its own (flock) in a folder of the launch, and looks at the others' every
LOOK_PERIOD. One that ends well removes its file; a file that nobody locks is that of a failed
process, with the reason if it could still say it. Hidden nodes (underscore) only look. Imports no
ROS.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path

from diffbot_node.run_folder import launch_name

# `./diffbot launch` passes the path of a file to each of its processes in this environment
# variable; see launch_supervision.py.
SUPERVISED = "DIFFBOT_LAUNCH_FAILURES"
PREFIX = "diffbot-nodes-"
# Wall time between two looks at the others, s.
LOOK_PERIOD = 0.1
# Folders of launches that have ended in failure are removed after so long, s.
KEPT = 300.0


class Peers:
    """The nodes of one launch on this machine.

    Attributes:
        joined: Whether this process watches them.
        interrupted: Whether a signal ends this process: then one that ends without a word does not
            count as killed, as the same Ctrl-C may have ended it while Python was loading.
    """

    def __init__(self) -> None:
        self.joined = self.interrupted = False
        self._folder = Path()
        self._own: Path | None = None
        self._file = -1
        self._why = ""
        self._looked = -LOOK_PERIOD
        self._failures: list[str] = []

    def join(self, launch: str, name: str) -> None:
        """Watch the nodes of a launch, and be watched as `name` unless that is hidden.

        Without a folder that only this user can write to there are no peers.
        """
        folder = Path(tempfile.gettempdir(), f"{PREFIX}{launch}")
        with contextlib.suppress(OSError):
            sweep()
            folder.mkdir(mode=0o700, exist_ok=True)
            result = folder.lstat()
            if not stat.S_ISDIR(result.st_mode) or result.st_uid != os.getuid():
                return
            self._folder, self.joined = folder, True
            if not name.startswith("_"):
                path = folder / f"{os.getpid()}-{name.replace('/', '_')}"
                # The file appears under its name once it is locked.
                making = path.with_name(f".{path.name}")
                self._file = os.open(making, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._file, fcntl.LOCK_EX)
                os.rename(making, path)
                self._own = path

    def note(self, why: str) -> None:
        self._why = why

    def leave(self, status: int) -> None:
        """Leave the others, who end if the status is not 0; call it once, at the end."""
        if self._own is None:
            return
        with contextlib.suppress(OSError):
            if status:
                os.pwrite(self._file, f"(exit code {status}): {self._why}".encode(), 0)
            else:
                self._own.unlink()
                self._folder.rmdir()  # if this was the last one
        self._own = None

    def failures(self) -> list[str]:
        """Return the nodes that have failed, each with what is known of it. Cheap to call."""
        if not self.joined or self._failures or time.monotonic() - self._looked < LOOK_PERIOD:
            return self._failures
        self._looked = time.monotonic()
        with contextlib.suppress(OSError):
            for path in sorted(self._folder.iterdir()):
                if path == self._own or path.name.startswith(".") or not _is_free(path):
                    continue
                why = path.read_text(encoding="utf-8", errors="replace")
                if why or not self.interrupted:
                    name = path.name.partition("-")[2]
                    self._failures.append(f"{name} {why or '(killed)'}".rstrip(": "))
        return self._failures


def node_name(words: list[str] | None = None) -> str:
    """Return the name that a launch gives this process's node; that of the program without one."""
    words = sys.argv if words is None else words
    names = [word.partition("__node:=")[2] for word in words if "__node:=" in word]
    return names[-1] if names else Path(words[0]).name


def sweep() -> None:
    """Remove the folders of launches of this user that ended in failure some time ago."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            result = folder.lstat()
            old = time.time() - result.st_mtime > KEPT and result.st_uid == os.getuid()
            if old and stat.S_ISDIR(result.st_mode) and all(map(_is_free, folder.iterdir())):
                shutil.rmtree(folder, ignore_errors=True)


def _is_free(path: Path) -> bool:
    """Whether no process locks a file; false if it has just gone."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        # Its process may have ended well between the two calls.
        return path.exists()
    except BlockingIOError:
        return False
    finally:
        os.close(file)


PEERS = Peers()


def join_launch(words: list[str] | None = None) -> None:
    """Join the other nodes of this process's launch; do nothing if `./diffbot launch` watches."""
    if SUPERVISED not in os.environ and not PEERS.joined and (launch := launch_name()):
        PEERS.join(launch, node_name(words))
