# SPDX-License-Identifier: Apache-2.0
"""Runs one node, or several composed nodes, in a process, and closes them on every way out.

Of composed nodes those that command a robot send their last zero first; the others still receive
it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown

from diffbot_node.intra_process import IntraProcess, Node
from diffbot_node.launch_supervision import (
    FAILED_HERE,
    PEERS,
    STARTER,
    VARIABLE,
    forget_failures,
    join_launch,
    last_words,
    tell_why,
)
from diffbot_node.parameters import check_names
from diffbot_node.printable_log import PrintableLogger


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
    """End this process with a status, 0 to 255, if the body takes longer than `time` s.

    When nodes leave, threads of Fast DDS 3.2 may block each other for ever; the main thread then
    waits in a C function that holds Python's lock, so that no Python code runs any more.
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


# Longest time until a signal or an end is noticed, s.
WAKE_PERIOD = 0.05
# Of several nodes, s of wall time: delivery of messages, the executor's wait, and its longest turn:
# an emergency stop from outside acts within 100 ms.
SLICE, GLANCE, LONGEST_TURN = 0.02, 1e-4, 0.01
# A node that Ctrl-Z (SIGTSTP) stopped could not command zero.
ENDING_SIGNALS = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
    signal.SIGTSTP,
)

# Longest time for leaving the graph, s; see `exit_after`.
LEAVING_TIME = 10

# Of ROS's error about a list in which only some numbers have a decimal point.
MIXED_LIST = "Sequence should be of same type"


class Interrupted(BaseException):
    """A signal arrived while a node was created, or within `interruptible`."""


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let a signal end work of some seconds by Interrupted: creation of a node, or a long callback.

    Otherwise `run_node` handles signals only between callbacks. Not while the node drives a robot.
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
    """Return an executor of the kind that `run_node` uses; its `spin_once` needs a timeout > 0."""
    try:
        # Uses half the CPU time; since Jazzy.
        from rclpy.experimental import EventsExecutor  # type: ignore[attr-defined]  # unexported

        return EventsExecutor()
    except ImportError:
        return SingleThreadedExecutor()


def run_node(
    create: Callable[[], Node], args: list[str] | None = None, interrupted: int = 0
) -> int:
    """Create a node, run it to its end, close it, and return the process's exit status.

    Nodes end by setting `exit_code`, by one of ENDING_SIGNALS, when their launch is gone, or by an
    exception in a callback (status 1). A ValueError, ImportError or OSError of `create` is printed
    as a plain sentence. `interrupted` is the status after a signal outside a launch; inside, it is
    128 + its number.
    """
    return _Process(None, interrupted).run([create], args)


def run_composed(create: Sequence[Callable[[], Node]], args: list[str] | None = None) -> int:
    """Create nodes in this process, run them until all have ended or one fails; see run_node.

    Those that must miss nothing come first. Parameters and remappings apply to every node that they
    fit.
    """
    return _Process(IntraProcess(), 0).run(create, args)


class _Process:
    """The nodes of this process; `room`: the queue of composed ones, None for one node."""

    def __init__(self, room: IntraProcess | None, interrupted: int) -> None:
        self._room, self._interrupted = room, interrupted
        self._signals: list[int] = []
        self._nodes: list[Node] = []
        self._executor: Executor | None = None
        self._status: int | None = None
        self._failed = False

    def run(self, create: Sequence[Callable[[], Node]], args: list[str] | None) -> int:
        forget_failures()
        for number in ENDING_SIGNALS:
            signal.signal(number, self._on_signal)
        join_launch(args)
        status = 1
        try:
            status = self._run(create, args)
            return status
        finally:
            # An end by a signal, or by the failure of another node, is no failure of its own.
            PEERS.leave(0 if self._signals or PEERS.failures() else status)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._signals.append(number)
        PEERS.interrupted = True

    def _run(self, create: Sequence[Callable[[], Node]], args: list[str] | None) -> int:
        # rclpy's own handlers would shut the context down before the last message.
        try:
            rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        except RuntimeError as error:
            _refuse(_explained(str(error)))
            return 1
        Node.room = self._room
        try:
            self._create(create)
            if self._status is None:
                self._spin()
            self._leave()
            return self._status or 0
        finally:
            Node.room = None
            try_shutdown()

    def _create(self, create: Sequence[Callable[[], Node]]) -> None:
        try:
            with interruptible():
                for each in create:
                    if self._signals:
                        break
                    self._nodes.append(each())
                if self._room is not None:
                    check_names(self._room.parameters)
        except Interrupted:
            pass
        except Exception as error:
            # A library with a bare `except` may turn the interruption into an error.
            if not self._signals:
                known = isinstance(error, (ValueError, ImportError, OSError))
                why = str(error) if known else f"{type(error).__name__}: {error}"
                _refuse(why)
                self._fail(f"(exit code 1): {why}")
                if not known:
                    traceback.print_exc()
        if self._signals and not self._failed:
            self._status = self._after_signal()
        if self._room is not None:
            self._room.keep_only(self._nodes)  # one that was half created can receive nothing

    def _fail(self, what: str, status: int = 1) -> None:
        """Note a failure; the first one gives the exit status."""
        if not self._failed:
            self._failed, self._status = True, status
        FAILED_HERE.append(what)

    def _after_signal(self) -> int:
        return 128 + self._signals[0] if VARIABLE in os.environ else self._interrupted

    def _spin(self) -> None:
        self._executor = executor = make_executor()
        for node in self._nodes:
            executor.add_node(node)
        # A full garbage collection would delay a command by about 20 ms.
        gc.freeze()
        gc.enable()
        try:
            while self._nodes and self._status is None:
                self._turn(executor)
                STARTER.wake_launch()
                for node in [node for node in self._nodes if node.exit_code is not None]:
                    self._close(node)
                if failures := PEERS.failures():
                    log = PrintableLogger("diffbot")
                    log.error(f"failed: {', '.join(failures)}; this process ends, too")
                    self._status = 1
                elif self._nodes and (self._signals or STARTER.launch_has_gone()):
                    self._status = self._after_signal() if self._signals else self._interrupted
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            _refuse(why)
            self._fail(why)

    def _turn(self, executor: Executor) -> None:
        if self._room is None or not self._room.deliver(SLICE):
            executor.spin_once(timeout_sec=WAKE_PERIOD)
            return
        end = (now := time.monotonic()) + LONGEST_TURN
        while now < end:
            executor.spin_once(timeout_sec=GLANCE)
            before, now = now, time.monotonic()
            if now - before >= GLANCE:
                return  # it has waited in vain

    def _close(self, node: Node) -> None:
        self._nodes.remove(node)
        node.close()
        if self._room is not None:
            self._room.deliver_waiting()  # its last words, even if a callback takes long
            self._room.deliver(SLICE)
        if node.exit_code:
            why = last_words() or "no reason given"
            what = f"{node.get_name()} (exit code {node.exit_code}): {why}"
            self._fail(what, node.exit_code)
        with exit_after(LEAVING_TIME, self._status or 0):
            if self._executor is not None:
                self._executor.remove_node(node)
            node.destroy_node()

    def _leave(self) -> None:
        for node in sorted(self._nodes, key=lambda node: not node.leaves_first):
            try:
                self._close(node)
            except Exception as error:  # the others must be closed all the same
                why = f"{type(error).__name__}: {error}"
                node.get_logger().error(f"while it was closed: {why}")
                tell_why(why)
                self._fail(f"{node.get_name()}: {why}")
        with exit_after(LEAVING_TIME, self._status or 0):
            if self._executor is not None:
                self._executor.shutdown()
        gc.unfreeze()


def _refuse(why: str) -> None:
    PrintableLogger("diffbot").fatal(why)
    tell_why(why)


def _explained(error: str) -> str:
    if MIXED_LIST not in error:
        return error
    return f"{error}; write a decimal point in each number, or the list as text: '\"[1, 2.5]\"'"
