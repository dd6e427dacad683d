# SPDX-License-Identifier: Apache-2.0
"""The guard of `check --moving`: a second process that sends zero when the first one cannot.

Its publisher is matched before anything moves. Bytes on its standard input are the other process's
signs of life. When they cease for PATIENCE, or the input ends before END came, it publishes zero
until END, or until the input ends and LASTING has passed. It sits in a session of its own, so that
neither Ctrl-C nor Ctrl-Z in the terminal reaches it.

    python -m diffbot_check.moving_guard TOPIC TYPE COUNT
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from diffbot_node.executables import REAL_TIME_PRIORITY

BEAT, END = b".", b"q"
PATIENCE = 0.2  # s of wall time without a sign of life
PERIOD, LASTING = 0.02, 1.0  # of the zeros, s
READY = "ready"
STARTING = 30.0  # longest time until it is ready, s


class MovingGuard:
    """The other process's end: start it, `beat` with each command, and close it last."""

    def __init__(self, topic: str, kind: str, count: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "diffbot_check.moving_guard", topic, kind, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def is_ready(self, is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Whether its publisher has a subscriber; waits STARTING at most, or until `is_stopped`."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + STARTING
        while time.monotonic() < deadline and not is_stopped():
            if select.select((self._process.stdout,), (), (), PERIOD)[0]:
                return self._process.stdout.readline().strip() == READY.encode()
        return False

    def beat(self) -> bool:
        """Give a sign of life; return False if the guard is gone, or has sent zero."""
        return self._write(BEAT) and self._process.poll() is None and not self._has_spoken()

    def close(self) -> None:
        self._write(END)
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):  # of a guard that was killed
                stream.close()

    def _has_spoken(self) -> bool:
        assert self._process.stdout is not None
        return bool(select.select((self._process.stdout,), (), (), 0.0)[0])

    def _write(self, text: bytes) -> bool:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text)
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return False
        return True


def in_time() -> None:
    """Take real-time priority if that is permitted, as effort_watchdog does: zero must not wait."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REAL_TIME_PRIORITY))


def zero_of(kind: str, count: int) -> tuple[Any, Any]:
    """Return the message's class and a zero command; `count`: values of an array."""
    from diffbot_node.message_types import message_class

    message: Any = message_class(kind)
    return message, message(data=[0.0] * count) if count else message()


def main(words: list[str]) -> int:
    """Guard; return 0, or 1 if zero had to be sent."""
    from diffbot_node.hidden_node import HiddenNode

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with its input
    in_time()
    topic, kind, count = words
    message, zero = zero_of(kind, int(count))
    with HiddenNode("check_guard", args=[]) as hidden:
        publisher: Any = hidden.node.create_publisher(message, topic, 10)
        while not publisher.get_subscription_count():
            if select.select((0,), (), (), PERIOD)[0]:  # the other process has ended, or gives up
                return 0
        _say(READY)
        select.select((0,), (), (), None)  # until the first sign of life
        while select.select((0,), (), (), PATIENCE)[0]:
            text = os.read(0, 4096)
            if END in text:
                return 0
            if not text:
                break
        _say("zero")
        ended: float | None = None
        while ended is None or time.monotonic() - ended < LASTING:
            publisher.publish(zero)
            if ended is None and select.select((0,), (), (), 0.0)[0]:
                text = os.read(0, 4096)
                if END in text:
                    return 1
                ended = None if text else time.monotonic()
            time.sleep(PERIOD)
    return 1


def _say(word: str) -> None:
    try:
        print(word, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
