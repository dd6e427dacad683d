# SPDX-License-Identifier: Apache-2.0
"""A node of a command that only looks at a graph: hidden, in a context of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions


class HiddenNode:
    """Makes the node, as a context manager; Ctrl-C stays Python's.

    Args:
        name: What the command is called.
        args: Arguments of ROS; None: those of this process.

    Attributes:
        node: Without parameter services and without logging to `rosout`.
        executor: It spins the node.
    """

    def __init__(self, name: str, args: Sequence[str] | None = None) -> None:
        self._name, self._args = name, args

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
        return self

    def __exit__(self, *_: object) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()
