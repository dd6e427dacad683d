"""Finds a topic in the running graph and subscribes to it with a quality that matches."""

from __future__ import annotations

import importlib
import os
import time
from collections import deque
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

DEPTH = 5  # messages kept while one is printed; as `ros2 topic echo`


class TopicError(ValueError):
    """The topic or its type cannot be used; says what exists instead."""


class Topic:
    """A subscription by name; use as a context manager."""

    def __init__(self, name: str, type_name: str | None = None) -> None:
        """`name` without a leading slash is taken from the root namespace.

        `type_name` (``std_msgs/msg/String`` or ``std_msgs/String``) is asked of the graph
        when None. Raises TopicError when the type is given but not installed.
        """
        self.name = "/" + name.strip("/")
        self._class = None if type_name is None else message_class(type_name)
        self._received: deque[Any] = deque()

    def __enter__(self) -> Topic:
        self._context = rclpy.Context()
        # Own signal handlers would keep Ctrl-C from us.
        rclpy.init(context=self._context, signal_handler_options=rclpy.SignalHandlerOptions.NO)
        self._node = Node(
            f"_diffbot_echo_{os.getpid()}",  # a leading underscore hides the node from lists
            context=self._context,
            start_parameter_services=False,
            enable_rosout=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def names(self) -> list[str]:
        """Return the topics that exist now."""
        return sorted(name for name, _ in self._node.get_topic_names_and_types())

    def connect(self, deadline: float) -> bool:
        """Wait until somebody publishes, then subscribe; False at the deadline (monotonic, s).

        Raises TopicError when the topic has several types or one that is not installed.
        """
        while not (publishers := self._node.get_publishers_info_by_topic(self.name)):
            if time.monotonic() >= deadline:
                return False
            self._executor.spin_once(timeout_sec=0.02)
        if self._class is None:
            self._class = message_class(self._type([info.topic_type for info in publishers]))
        profile = matching_profile([info.qos_profile for info in publishers])

        def keep(message: Any) -> None:  # rclpy looks at the signature; append has none
            self._received.append(message)

        self._node.create_subscription(self._class, self.name, keep, profile)
        return True

    def _type(self, types: list[str]) -> str:
        if len(set(types)) > 1:
            raise TopicError(
                f"topic {self.name} has several types, name one: {', '.join(sorted(set(types)))}"
            )
        return types[0]

    def receive(self, deadline: float) -> Any | None:
        """Return the next message, or None at the deadline (monotonic, s)."""
        while not self._received:
            if time.monotonic() >= deadline:
                return None
            self._executor.spin_once(timeout_sec=min(0.1, max(0.0, deadline - time.monotonic())))
        return self._received.popleft()


def matching_profile(offered: list[QoSProfile]) -> QoSProfile:
    """Return the strongest quality that every publisher offers.

    Transient local gives the last messages of a publisher that has already sent them.
    """
    reliable = all(o.reliability == ReliabilityPolicy.RELIABLE for o in offered)
    lasting = all(o.durability == DurabilityPolicy.TRANSIENT_LOCAL for o in offered)
    return QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if lasting else DurabilityPolicy.VOLATILE,
    )


def message_class(name: str) -> type:
    """Return the class of ``package/msg/Name`` or ``package/Name``. Raises TopicError."""
    parts = name.split("/")
    if len(parts) == 2:
        parts.insert(1, "msg")
    if len(parts) != 3 or not all(parts):
        raise TopicError(f"{name!r} is not a message type; expected PACKAGE/msg/NAME")
    package, folder, kind = parts
    try:
        return getattr(importlib.import_module(f"{package}.{folder}"), kind)
    except (ImportError, AttributeError):
        raise TopicError(
            f"message type {name!r} not found; is its package built and sourced?"
        ) from None
