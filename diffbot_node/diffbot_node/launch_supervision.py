# SPDX-License-Identifier: Apache-2.0
"""What a node and its launch know of each other: failures, last words, who is gone or stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from rclpy.node import Node

from diffbot_node.peers import PEERS, SUPERVISED
from diffbot_node.process_state import is_stopped

# Time between two looks whether the launch is stopped, and between two wakings of it, s.
LOOK_PERIOD, WAKING_PERIOD = 0.05, 0.5

# Environment variable with the path of a file, from `./diffbot launch` (`ros2 launch`: peers.py).
# It has a line for each failed process, such as "ident-2 (exit code 1): parameter ...": a process
# that receives a signal can distinguish a user's Ctrl-C from a failed run.
VARIABLE = SUPERVISED


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
        """Whether `./diffbot launch` has started this process and has ended, however it did."""
        return VARIABLE in os.environ and os.getppid() != self._pid

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
        """Whether a signal has stopped it (Ctrl-Z, SIGSTOP): it can end nothing. Cheap to call."""
        if (now := time.monotonic()) - self._looked >= LOOK_PERIOD:
            self._looked = now
            self._stopped = os.getppid() == self._pid and is_stopped(self._pid)
        return self._stopped


STARTER = Starter(os.getppid())


# Nodes of this process that have failed, such as "ident (exit code 1): parameter ...".
FAILED_HERE: list[str] = []
_words: list[str] = []


def forget_failures() -> None:
    """Begin anew, as another process would: called before nodes of this one are created."""
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
