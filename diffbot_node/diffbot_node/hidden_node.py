# SPDX-License-Identifier: Apache-2.0
"""A node of a command that only looks at a graph: hidden, in a context of its own."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from types import FrameType

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions


class HiddenNode:
    """Makes the node, as a context manager; Ctrl-C stays Python's.

    rclpy's C++ may turn the KeyboardInterrupt of a handler into another error: the context manager
    turns it back.

    Args:
        name: What the command is called.
        args: Arguments of ROS; None: those of this process.

    Attributes:
        node: Without parameter services and without logging to `rosout`.
        executor: It spins the node.
    """

    def __init__(self, name: str, args: Sequence[str] | None = None) -> None:
        self._name, self._args = name, args
        self._interrupted = False
        self._before: Callable[[int, FrameType | None], object] | None = None

    def __enter__(self) -> HiddenNode:
        self._context = Context()
        # rclpy's own signal handlers would swallow Ctrl-C.
        options = SignalHandlerOptions.NO
        args = None if self._args is None else [*self._args]
        rclpy.init(args=args, context=self._context, signal_handler_options=options)
        self.node = Node(
            f"_diffbot_{self._name}_{os.getpid()}",
            context=self._context,
            start_parameter_services=False,
            enable_rosout=False,
        )
        self.executor = SingleThreadedExecutor(context=self._context)
        self.executor.add_node(self.node)
        # Last: without an end of this context nobody would put the handler back.
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and threading.current_thread() is threading.main_thread():
            self._before = handler
            signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        self.executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()
        if self._interrupted and any(isinstance(each, Exception) for each in error):
            raise KeyboardInterrupt

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True
        if self._before is not None:
            self._before(number, frame)
