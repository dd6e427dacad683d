# SPDX-License-Identifier: Apache-2.0
"""An end of this process by force, in case the middleware blocks for ever while nodes leave."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator


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
