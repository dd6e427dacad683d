# SPDX-License-Identifier: Apache-2.0
"""Subscribes to a topic of the running graph and formats its messages like `ros2 topic echo`."""

from __future__ import annotations

import array
import sys
import time
from collections import deque
from typing import Any

import numpy as np
import yaml
from rclpy.exceptions import InvalidTopicNameException
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.validate_full_topic_name import validate_full_topic_name

from diffbot_bringup.usage import UsageError
from diffbot_description.terminal_text import visible_lines
from diffbot_node.hidden_node import HiddenNode
from diffbot_node.message_types import message_class

DEPTH = 5  # messages kept while one is printed; as `ros2 topic echo`


class Topic:
    """A subscription by name; use as a context manager."""

    def __init__(self, name: str, type_name: str | None = None) -> None:
        """`name` is relative to the root; without a type it is that of the graph.

        UsageError: No topic can have this name, or there is no such type.
        """
        self.name = "/" + name.strip("/")
        try:
            validate_full_topic_name(self.name)
        except InvalidTopicNameException:
            raise UsageError(
                f"no topic can have the name {self.name}: give letters, digits, _ and /"
            ) from None
        self._class = None if type_name is None else _message_class(type_name)
        self._received: deque[Any] = deque()

    def __enter__(self) -> Topic:
        self._hidden = HiddenNode("echo").__enter__()
        self._node, self._executor = self._hidden.node, self._hidden.executor
        return self

    def __exit__(self, *error: object) -> None:
        self._hidden.__exit__(*error)

    def names(self) -> list[str]:
        """Return the topics that exist now."""
        return sorted(name for name, _ in self._node.get_topic_names_and_types())

    def connect(self, deadline: float) -> bool:
        """Wait for a publisher, then subscribe; return False at the deadline (monotonic, s).

        UsageError: The topic has several types, or one that is not installed.
        """
        while not (publishers := self._node.get_publishers_info_by_topic(self.name)):
            if time.monotonic() >= deadline:
                return False
            self._executor.spin_once(timeout_sec=0.02)
        if self._class is None:
            self._class = _message_class(self._type([info.topic_type for info in publishers]))
        profile = matching_profile([info.qos_profile for info in publishers])

        def keep(message: Any) -> None:  # rclpy inspects the signature; append has none
            self._received.append(message)

        self._node.create_subscription(self._class, self.name, keep, profile)
        return True

    def _type(self, types: list[str]) -> str:
        if len(set(types)) > 1:
            raise UsageError(
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
    """Return the strictest quality of service that every publisher offers."""
    reliable = all(o.reliability == ReliabilityPolicy.RELIABLE for o in offered)
    lasting = all(o.durability == DurabilityPolicy.TRANSIENT_LOCAL for o in offered)
    return QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if lasting else DurabilityPolicy.VOLATILE,
    )


def _message_class(name: str) -> type:
    try:
        return message_class(name)
    except ValueError as error:
        raise UsageError(str(error)) from None


LENGTH = 128  # longer arrays, texts and byte strings are cut here and end in "..."


def to_yaml(message: Any) -> str:
    """Return a message as a YAML document."""
    text: str = yaml.dump(
        _tree(message),
        allow_unicode=True,
        width=sys.maxsize,
        default_flow_style=False,
        sort_keys=False,
    )
    return visible_lines(text)


def _tree(value: Any) -> Any:
    if hasattr(value, "get_fields_and_field_types"):
        return {name: _tree(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, (list, tuple, array.array, np.ndarray)):
        items = [_tree(item) for item in value[:LENGTH]]
        return items if len(items) == len(value) else [*items, "..."]
    if isinstance(value, np.number):
        return value.item()
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else "".join(map(chr, value))
        return text if len(text) <= LENGTH else text[:LENGTH] + "..."
    return value
