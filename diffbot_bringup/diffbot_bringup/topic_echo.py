# SPDX-License-Identifier: Apache-2.0
"""Subscribes to a topic of the running graph and formats its messages like `ros2 topic echo`."""

from __future__ import annotations

import array
import itertools
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import yaml
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from diffbot_bringup.usage import UsageError
from diffbot_node.hidden_node import HiddenNode
from diffbot_node.message_types import message_class

DEPTH = 5  # messages kept while one is printed; as `ros2 topic echo`


class Topic:
    """A subscription by name; use as a context manager."""

    def __init__(self, name: str, type_name: str | None = None) -> None:
        """`name` is relative to the root; without a type it is that of the graph, or UsageError."""
        self.name = "/" + name.strip("/")
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


def to_yaml(message: Any, arrays: bool = True) -> str:
    """Return a message as a YAML document; without `arrays` only their type and length."""
    text: str = yaml.dump(
        _tree(message, _plain, arrays),
        allow_unicode=True,
        width=sys.maxsize,
        default_flow_style=False,
        sort_keys=False,
    )
    return text


def to_csv(message: Any, arrays: bool = True) -> str:
    """Return all fields of a message in one line, nested ones in place."""
    return _columns(_tree(message, _column, arrays))


def _tree(value: Any, leaf: Callable[[Any], Any], arrays: bool, kind: Any = None) -> Any:
    if hasattr(value, "get_fields_and_field_types"):
        kinds = zip(value.get_fields_and_field_types(), value.SLOT_TYPES, strict=True)
        return {name: _tree(getattr(value, name), leaf, arrays, kind) for name, kind in kinds}
    if not isinstance(value, (list, tuple, array.array, np.ndarray)):
        return leaf(value)
    if not arrays:
        return _abbreviation(value, kind)
    items = [_tree(item, leaf, arrays) for item in value[:LENGTH]]
    return items if len(items) == len(value) else [*items, "..."]


def _plain(value: Any) -> Any:
    if isinstance(value, np.number):
        return value.item()
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else "".join(map(chr, value))
        return text if len(text) <= LENGTH else text[:LENGTH] + "..."
    return value


def _column(value: Any) -> str:
    if isinstance(value, (str, bytes)) and len(value) > LENGTH:
        dots: Any = "..." if isinstance(value, str) else b"..."
        value = value[:LENGTH] + dots
    return str(value)


def _columns(tree: Any) -> str:
    """Join with commas, without those of empty first columns, as in `ros2 topic echo --csv`."""
    if isinstance(tree, str):
        return tree
    columns = [_columns(part) for part in (tree.values() if isinstance(tree, dict) else tree)]
    return ",".join(itertools.dropwhile(lambda column: not column, columns))


def _abbreviation(value: Any, kind: Any) -> str:
    """Return e.g. ``<sequence type: double, length: 4>`` or ``<array type: double[36]>``."""
    item = _item_type(kind.value_type)
    sort = type(kind).__name__
    if sort == "Array":
        return f"<array type: {item}[{kind.size}]>"
    if sort == "BoundedSequence":
        return f"<sequence type: {item}[{kind.maximum_size}], length: {len(value)}>"
    return f"<sequence type: {item}, length: {len(value)}>"


def _item_type(kind: Any) -> str:
    if hasattr(kind, "typename"):
        return str(kind.typename)
    if hasattr(kind, "namespaced_name"):
        return "/".join(kind.namespaced_name())
    if hasattr(kind, "name"):
        return str(kind.name)
    return "wstring" if "WString" in type(kind).__name__ else "string"
