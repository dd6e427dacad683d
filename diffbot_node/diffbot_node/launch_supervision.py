# SPDX-License-Identifier: Apache-2.0
"""What a node and its launch know of each other: failures, last words, who is gone or stopped.

`ros2 launch` does not end the other nodes when one fails. So each node of such a launch locks a
file of its own (flock) in a folder of the launch, and looks at the others' every PEER_PERIOD. One
that ends well removes its file; a file that nobody locks is that of a failed process, with the
reason if it could still say it. Hidden nodes (underscore) only look. Imports no ROS.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from diffbot_description.run_folder import launch_name
from diffbot_description.standard_streams import have_lost_reader

if TYPE_CHECKING:
    from rclpy.node import Node


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped a process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The state follows the name, which is in parentheses and may contain any character.
            return file.read().rpartition(b")")[2].split()[0] == b"T"
    except (OSError, IndexError):
        return False


# Names the file of `./diffbot launch` with a line for each failed process, such as "ident-2 (exit
# code 1): parameter ...": a process can tell a user's Ctrl-C from a failed run.
VARIABLE = "DIFFBOT_LAUNCH_FAILURES"
PREFIX = "diffbot-nodes-"
# Wall time between two looks at the others, s.
PEER_PERIOD = 0.1
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
        self._looked = -PEER_PERIOD
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
        if not self.joined or self._failures or time.monotonic() - self._looked < PEER_PERIOD:
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
    """Remove old folders of launches of this user that ended in failure."""
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
    """Join the other nodes of this launch, unless `./diffbot launch` watches."""
    if VARIABLE not in os.environ and not PEERS.joined and (launch := launch_name()):
        PEERS.join(launch, node_name(words))


# Time between two looks at the launch, and between two wakings of it, s.
LOOK_PERIOD, WAKING_PERIOD = 0.05, 0.5


def failures_are_reported() -> bool:
    """Whether this process learns which processes of its launch have failed."""
    return VARIABLE in os.environ or PEERS.joined


class Starter:
    """The process that has started this one: a launch, `ros2 launch` or a shell."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._looked, self._stopped = 0.0, False
        self._woken = 0.0

    def launch_has_gone(self) -> bool:
        """Whether this process's launch has ended.

        Of other starters a shell may end and leave the process; one whose output it took has gone.
        """
        if os.getppid() == self._pid:
            return False
        return VARIABLE in os.environ or bool(launch_name()) or have_lost_reader()

    def wake_launch(self) -> None:
        """Let a stopped `./diffbot launch` continue with SIGTSTP, by which it ends the run."""
        now = time.monotonic()
        if VARIABLE in os.environ and now - self._woken >= WAKING_PERIOD:
            self._woken = now
            if self.is_stopped():
                with contextlib.suppress(OSError):
                    for number in (signal.SIGCONT, signal.SIGTSTP):
                        os.kill(self._pid, number)

    def is_stopped(self) -> bool:
        """Whether a signal has stopped it (Ctrl-Z, SIGSTOP). Cheap to call."""
        if (now := time.monotonic()) - self._looked >= LOOK_PERIOD:
            self._looked = now
            self._stopped = os.getppid() == self._pid and is_stopped(self._pid)
        return self._stopped


STARTER = Starter(os.getppid())


# Nodes of this process that have failed, such as "ident (exit code 1): parameter ...".
FAILED_HERE: list[str] = []
_words: list[str] = []


def forget_failures() -> None:
    """Begin anew, as another process would."""
    FAILED_HERE.clear()
    _words.clear()


def last_words() -> str:
    """Return the first of this process's last words; empty without any."""
    return _words[0] if _words else ""


def tell_why(why: str, environment: Mapping[str, str] = os.environ) -> None:
    """Leave this process's last words, the first of which count, for its launch or other nodes."""
    words = " ".join(why.split())
    _words.append(words)
    PEERS.note(words)
    with contextlib.suppress(KeyError, OSError):
        path = Path(f"{environment[VARIABLE]}.{os.getpid()}")
        if not path.exists():
            path.write_text(words, encoding="utf-8")


def say_last_words(node: Node, why: str) -> None:
    """Log why a node is about to end with a non-zero status, and leave it for its launch."""
    node.get_logger().error(why)
    tell_why(why)


def reported_failures(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the nodes of this process, and processes of its launch, that have failed."""
    try:
        others = Path(environment[VARIABLE]).read_text(encoding="utf-8").splitlines()
    except (KeyError, OSError, UnicodeDecodeError):
        others = list(PEERS.failures())
    return [*FAILED_HERE, *others]
