"""Declaring the parameters of this package's nodes, with their meaning and type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node


class Entry(NamedTuple):
    """One parameter: its default, which has its type, and its meaning with unit and limits.

    An empty list stands for a list of numbers.
    """

    default: bool | int | float | str | tuple[float, ...]
    description: str
    choices: tuple[str, ...] = ()


def checked(name: str, entry: Entry, value: Any) -> Any:
    """A value in the type of its parameter.

    Raises:
        ValueError: wrong type, not finite, or none of the choices.
    """
    kind = type(entry.default)
    if kind is tuple:
        try:
            value = tuple(map(float, value or ()))
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} = {value!r}: must be a list of numbers ({entry.description})"
            ) from None
        return value
    if kind is float and type(value) is int:
        value = float(value)  # launch files write 5 for 5.0
    if type(value) is not kind:
        raise ValueError(f"{name} = {value!r}: must be a {kind.__name__} ({entry.description})")
    if kind is float and not math.isfinite(value):
        raise ValueError(f"{name} = {value}: must be finite ({entry.description})")
    if entry.choices and value not in entry.choices:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(entry.choices)}")
    return value


def declare(node: Node, entries: Mapping[str, Entry]) -> SimpleNamespace:
    """Declare the parameters on the node; returns their values as attributes.

    They are read once; a later change is refused.

    Raises:
        ValueError: a value is wrong; the message names the parameter.
    """
    values = SimpleNamespace()
    for name, entry in entries.items():
        default = list(entry.default) if isinstance(entry.default, tuple) else entry.default
        descriptor = ParameterDescriptor(
            description=entry.description, dynamic_typing=True, read_only=True
        )
        given = node.declare_parameter(name, default, descriptor).value
        setattr(values, name, checked(name, entry, given))
    return values
