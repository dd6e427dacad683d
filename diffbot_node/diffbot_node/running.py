# SPDX-License-Identifier: Apache-2.0
"""Runs one node in a process, closes it cleanly on every way out, and reports failed processes."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown

from diffbot_node.peers import PEERS, SUPERVISED, join_launch

# The executor returns at least this often, so that a signal or an end is noticed, s.
WAKE_PERIOD = 0.05
# Time between two looks whether the launch is stopped, s.
WAKING_PERIOD = 0.5
# Signals that end a node cleanly; a terminal that closes sends SIGHUP, and Ctrl-Z SIGTSTP: a node
# that it stopped could not command zero any more.
ENDING_SIGNALS = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
    signal.SIGTSTP,
)

# Longest time for leaving the graph, s; see `exit_after`.
LEAVING_TIME = 10

# Part of ROS's error message about a list in which only some numbers have a decimal point.
MIXED_LIST = "Sequence should be of same type"


class RunnableNode(Protocol):
    """A node that `run_node` can run, besides being an rclpy Node."""

    exit_code: int | None
    """Exit status once the node has ended on its own, or `close` has set it; None before."""

    def close(self) -> None:
        """Called once, with the context still valid, on every way out."""


class Interrupted(BaseException):
    """A signal arrived while a node was created, or within `interruptible`."""


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let a signal end work of some seconds: the creation of a node, or a long callback.

    Otherwise `run_node` handles signals only between callbacks. Do not use it while the node drives
    a robot.

    Raises:
        Interrupted: At the first of ENDING_SIGNALS.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    came = False

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal came
        note = before[signal.Signals(number)]
        if callable(note):
            note(number, frame)
        # Only the first one raises: what it interrupts must be able to clean up.
        first, came = not came, True
        if first:
            raise Interrupted

    try:
        for number in ENDING_SIGNALS:
            signal.signal(number, on_signal)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def make_executor() -> Executor:
    """Return an executor of the kind that `run_node` uses.

    Its `spin_once` needs a timeout above 0: without one EventsExecutor neither waits nor delivers.
    """
    try:
        # Uses half the CPU time of the single-threaded executor; available since Jazzy.
        from rclpy.experimental import EventsExecutor  # type: ignore[attr-defined]  # unexported

        return EventsExecutor()
    except ImportError:
        return SingleThreadedExecutor()


def run_node(
    create: Callable[[], Node], args: list[str] | None = None, interrupted: int = 0
) -> int:
    """Create a node, run it to its end, close it, and return the process's exit status.

    A node ends by setting its `exit_code`, by one of ENDING_SIGNALS, when its launch is gone, or by
    an exception in a callback (status 1). Errors in the command line, the parameters, the
    installation or a program that the node starts (a ValueError, ImportError or OSError of
    `create`) are printed as a plain sentence.

    Args:
        create: Creates the node, a RunnableNode.
        args: Command line; None takes the process's own.
        interrupted: Exit status after a signal; 0 for nodes that run until one arrives. In a
            launch, which knows whether it has sent the signal, 128 + its number instead.
    """
    signals: list[int] = []

    def on_signal(number: int, _frame: FrameType | None) -> None:
        signals.append(number)
        PEERS.interrupted = True

    for number in ENDING_SIGNALS:
        signal.signal(number, on_signal)
    join_launch(args)
    status = 1
    try:
        status = _run(create, args, interrupted, signals)
        return status
    finally:
        # One that a signal, or the failure of another node, has ended is no failure of its own.
        PEERS.leave(0 if signals or PEERS.failures() else status)


def _run(
    create: Callable[[], Node], args: list[str] | None, interrupted: int, signals: list[int]
) -> int:
    # rclpy's own handlers shut the context down at once, and a last message would be lost.
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:
        _refuse(_explained(str(error)))
        return 1
    try:
        try:
            with interruptible():
                if signals:
                    return _after_signal(signals, interrupted)
                node = create()
        except Interrupted:
            return _after_signal(signals, interrupted)
        except Exception as error:
            # A library with a bare `except` may turn the interruption into an error of its own.
            if signals:
                return _after_signal(signals, interrupted)
            if not isinstance(error, (ValueError, ImportError, OSError)):
                tell_why(f"{type(error).__name__}: {error}")
                raise
            _refuse(str(error))
            return 1
        return _spin(node, signals, interrupted)
    finally:
        try_shutdown()


def _after_signal(signals: list[int], interrupted: int) -> int:
    """Return the exit status of a node that a signal ends; see `run_node`."""
    return 128 + signals[0] if signals and VARIABLE in os.environ else interrupted


def _refuse(why: str) -> None:
    from diffbot_description.terminal_text import printable  # it loads NumPy

    get_logger("diffbot").fatal(printable(why))
    tell_why(why)


def _explained(error: str) -> str:
    if MIXED_LIST not in error:
        return error
    return f"{error}; write a decimal point in each number, or the list as text: '\"[1, 2.5]\"'"


def _spin(node: Any, signals: list[int], interrupted: int) -> int:
    """Run an rclpy Node that is also a RunnableNode to its end; return the exit status."""
    executor = make_executor()
    executor.add_node(node)
    status: int | None = None
    # Exclude all present objects, which stay alive, from garbage collection: a full collection
    # would delay a command by about 20 ms.
    gc.freeze()
    try:
        while node.exit_code is None and not signals and not STARTER.launch_has_gone():
            executor.spin_once(timeout_sec=WAKE_PERIOD)
            STARTER.wake_launch()
            if failures := PEERS.failures():
                node.get_logger().error(f"failed: {', '.join(failures)}; this node ends, too")
                status = 1
                break
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        node.get_logger().fatal(why)
        tell_why(why)
        status = 1
    finally:
        if node.exit_code is None and status is None:
            status = _after_signal(signals, interrupted)
        node.close()
        # A node may also find in `close` that something went wrong.
        status = node.exit_code or status or 0
        with exit_after(LEAVING_TIME, status):
            executor.remove_node(node)
            node.destroy_node()
            executor.shutdown()
        gc.unfreeze()
    return status


class _TimerNotification(ctypes.Structure):
    """The C library's sigevent, with a function that a new thread calls."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("kind", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("unused", ctypes.c_int * 8),
    )


class _TimerSetting(ctypes.Structure):
    """The C library's itimerspec."""

    _fields_ = (
        ("period", ctypes.c_long * 2),  # s and ns
        ("first", ctypes.c_long * 2),
    )


_MONOTONIC, _IN_NEW_THREAD = 1, 2  # CLOCK_MONOTONIC, SIGEV_THREAD


@contextlib.contextmanager
def exit_after(time: int, status: int) -> Iterator[None]:
    """End this process with a status if the body takes longer, even in a call that never returns.

    When nodes leave, threads of Fast DDS 3.2 may block each other for ever: one removes a remote
    publisher and waits for the timers' thread, which waits for it before the next announcement.
    The main thread then waits for them within a C function that holds Python's lock, so that no
    Python code runs any more, in no thread.

    Args:
        time: Longest time of the body, s.
        status: Exit status, 0 to 255.
    """
    library = ctypes.CDLL("librt.so.1")
    exits = ctypes.cast(library._exit, ctypes.c_void_p)
    notification = _TimerNotification(value=status, kind=_IN_NEW_THREAD, function=exits)
    timer = ctypes.c_void_p()
    if library.timer_create(_MONOTONIC, ctypes.byref(notification), ctypes.byref(timer)):
        yield  # the limit of pending signals is used up: without an end by force
        return
    try:
        setting = _TimerSetting((0, 0), (time, 0))
        library.timer_settime(timer, 0, ctypes.byref(setting), None)
        yield
    finally:
        library.timer_delete(timer)


# `./diffbot launch` passes the path of a file to each of its processes in this environment
# variable. The file does not exist until a process of the launch fails; it then has a line for each
# failed process, such as "simulator-1 (exit code -9)" or, if the process has left its last words
# beside the file, "ident-2 (exit code 1): parameter ...". So a process that receives a signal can
# distinguish a user's Ctrl-C from a failed run. `ros2 launch` sets no such variable: peers.py.
VARIABLE = SUPERVISED


def failures_are_told() -> bool:
    """Whether this process learns which processes of its launch have failed."""
    return VARIABLE in os.environ or PEERS.joined


class Starter:
    """The process that has started this one: a launch, `ros2 launch` or a shell.

    Args:
        pid: Its number.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._looked, self._stopped = 0.0, False
        self._woken = 0.0

    def launch_has_gone(self) -> bool:
        """Whether `./diffbot launch` has started this process and has ended, however it did.

        Its guard ends the processes of a killed launch, unless it was killed, too.
        """
        return VARIABLE in os.environ and os.getppid() != self._pid

    def wake_launch(self) -> None:
        """Let a stopped `./diffbot launch` continue with SIGTSTP, by which it ends the run.

        Its guard does that at once, unless it was stopped, too.
        """
        now = time.monotonic()
        if VARIABLE in os.environ and now - self._woken >= WAKING_PERIOD:
            self._woken = now
            if self.is_stopped():
                with contextlib.suppress(OSError):
                    for number in (signal.SIGCONT, signal.SIGTSTP):
                        os.kill(self._pid, number)

    def is_stopped(self) -> bool:
        """Whether a signal has stopped it (Ctrl-Z, SIGSTOP): it can end nothing. Cheap to call."""
        if (now := time.monotonic()) - self._looked >= WAKE_PERIOD:
            self._looked = now
            self._stopped = os.getppid() == self._pid and _state(self._pid) == "T"
        return self._stopped


def _state(pid: int) -> str:
    """Return a process's state as in /proc/<pid>/stat; empty if it is unknown."""
    with contextlib.suppress(OSError, IndexError):
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return text.rpartition(")")[2].split()[0]  # after the name in parentheses
    return ""


STARTER = Starter(os.getppid())


def tell_why(why: str, environment: Mapping[str, str] = os.environ) -> None:
    """Leave this process's last words for its launch, or for the other nodes of it."""
    PEERS.note(" ".join(why.split()))
    with contextlib.suppress(KeyError, OSError):
        path = Path(f"{environment[VARIABLE]}.{os.getpid()}")
        path.write_text(" ".join(why.split()), encoding="utf-8")


def say_last_words(node: Node, why: str) -> None:
    """Log why a node is about to end with a non-zero status, and leave it for its launch."""
    node.get_logger().error(why)
    tell_why(why)


def told_failures(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the processes of this launch that have failed so far; empty if that is unknown."""
    try:
        return Path(environment[VARIABLE]).read_text(encoding="utf-8").splitlines()
    except (KeyError, OSError, UnicodeDecodeError):
        return list(PEERS.failures())
