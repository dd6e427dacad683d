"""Running one node in a process."""

from __future__ import annotations

import signal
from collections.abc import Callable

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

# The executor is asked to return this often, so that a signal is noticed, s.
WAKE_PERIOD = 0.05


def run_node(create: Callable[[], Node], name: str, args: list[str] | None) -> int:
    """Create a node and run it until SIGINT or SIGTERM; returns the exit status, 0.

    What is wrong with its parameters (a ValueError of `create`) is printed as a sentence, status 1.

    Args:
        create: makes the node.
        name: for that message.
        args: command line; None takes the process's own.
    """
    signals: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _frame: signals.append(received))
    # rclpy's own handlers invalidate the context at once, and a waiting executor may then raise.
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        try:
            node = create()
        except ValueError as error:
            get_logger(name).fatal(f"parameter {error}")
            return 1
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        while not signals:
            executor.spin_once(timeout_sec=WAKE_PERIOD)
        executor.shutdown()
        node.destroy_node()
        return 0
    finally:
        rclpy.try_shutdown()
