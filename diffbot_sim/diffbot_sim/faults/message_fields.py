# SPDX-License-Identifier: Apache-2.0
"""Message fields by paths: `header.stamp`, `position[1]`, `position[left_wheel_joint]`.

Messages are ROS messages, or plain objects with attributes. A stamp (an object with `sec` and
`nanosec`) counts as one number.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

NANOSECONDS = 1_000_000_000
# Signed 32-bit seconds.
LATEST = (1 << 31) - 1
EARLIEST = -(1 << 31)
# `name`, or `name[entry]`; an entry is an index or the name of a joint.
_PART = re.compile(r"([A-Za-z_]\w*)(?:\[([^\[\]]+)\])?")
HEADER = "header"
NAMES = "name"


@dataclass(frozen=True)
class Slot:
    """A value in a message: the field `key` of a (sub)message, or index of an array.

    `type`: ROS type of the field, such as "double" or "sequence<int32>"; "" if unknown.
    """

    owner: Any
    key: str | int
    type: str = ""

    @property
    def value(self) -> Any:
        return getattr(self.owner, self.key) if isinstance(self.key, str) else self.owner[self.key]

    def put(self, value: Any) -> None:
        """Set the value; ValueError if it is part of a tuple or of a frozen object."""
        try:
            if isinstance(self.key, str):
                setattr(self.owner, self.key, value)
            else:
                self.owner[self.key] = value
        except (AttributeError, TypeError):
            owner = type(self.owner).__name__
            raise ValueError(f"fields: {self.key!r} of a {owner} cannot be changed") from None

    def put_number(self, number: float) -> None:
        """Set a number, converted to the slot's type, within its range; for a stamp, a time in s.

        A number that is not finite leaves whole numbers and stamps unchanged.
        """
        if isinstance(self.value, (float, np.floating)):
            self.put(float(number))
        elif math.isfinite(number):
            if is_stamp(self.value):
                self.put_stamp(nanoseconds(number))
            else:
                low, high = self._range()
                self.put(min(max(round(number), low), high))

    def put_stamp(self, time: int) -> None:
        """Set a time, ns, limited to the range of a stamp."""
        stamp = copy.copy(self.value)
        limited = min(max(time, EARLIEST * NANOSECONDS), LATEST * NANOSECONDS)
        stamp.sec, stamp.nanosec = divmod(limited, NANOSECONDS)
        self.put(stamp)

    def _range(self) -> tuple[int, int]:
        for bits in (8, 16, 32, 64):
            if f"uint{bits}" in self.type:
                return 0, (1 << bits) - 1
            if f"int{bits}" in self.type:
                break
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def nanoseconds(time: float) -> int:
    """Return a time given in s in ns, limited to the range of a stamp."""
    return round(min(max(time, EARLIEST), LATEST) * NANOSECONDS)


def parse_path(path: str) -> tuple[tuple[str, str | None], ...]:
    """Return the parts of a path, each with its entry or None; ValueError if it is none."""
    parts = []
    for part in path.split("."):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(
                f"fields: {path!r} is not the path of a field; write, for example, header.stamp, "
                "position[1] or position[left_wheel_joint]"
            )
        parts.append((match[1], match[2]))
    return tuple(parts)


def field_types(message: Any) -> dict[str, str]:
    """Return the names of a message's fields and their ROS types, "" in plain objects."""
    if hasattr(message, "get_fields_and_field_types"):
        return dict(message.get_fields_and_field_types())
    names: Any = getattr(message, "__dict__", None)
    return dict.fromkeys(names or getattr(message, "__slots__", ()), "")


def is_stamp(value: Any) -> bool:
    """Whether it is a time or duration such as builtin_interfaces/Time."""
    return hasattr(value, "sec") and hasattr(value, "nanosec")


def is_array(value: Any) -> bool:
    """Whether it is an array field: list, array.array or NumPy array."""
    return isinstance(value, (Sequence, MutableSequence, np.ndarray)) and not isinstance(
        value, (str, bytes)
    )


def places(message: Any, path: str) -> list[Slot]:
    """Return the slots at a path; none where an array is too short or lacks the name.

    ValueError: The message has no such field.
    """
    owners = [message]
    slots: list[Slot] = []
    for name, entry in parse_path(path):
        slots = [
            slot
            for owner in owners
            for slot in _entry(owner, _field(owner, name, path), entry, path)
        ]
        values = [slot.value for slot in slots]
        owners = [owner for value in values for owner in (value if is_array(value) else [value])]
    return slots


def slots(message: Any, path: str) -> list[Slot]:
    """Return the slots of all single values below a path; see places."""
    return [leaf for slot in places(message, path) for leaf in _leaves(slot)]


def all_slots(message: Any) -> list[Slot]:
    """Return the slots of all single values outside the header."""
    return [
        leaf
        for name, kind in field_types(message).items()
        if name != HEADER
        for leaf in _leaves(Slot(message, name, kind))
    ]


def _field(owner: Any, name: str, path: str) -> Slot:
    types = field_types(owner)
    if name not in types:
        raise ValueError(
            f"fields: {path!r}: {type(owner).__name__} has no field {name!r}; it has "
            f"{', '.join(types)}"
        )
    return Slot(owner, name, types[name])


def _entry(owner: Any, slot: Slot, entry: str | None, path: str) -> list[Slot]:
    if entry is None:
        return [slot]
    array = slot.value
    if not is_array(array):
        raise ValueError(f"fields: {path!r}: {slot.key!r} of {type(owner).__name__} is no array")
    if entry.isdecimal():
        index = int(entry)
    else:
        names = list(getattr(owner, NAMES, ()))
        index = names.index(entry) if entry in names else len(array)
    return [Slot(array, index, slot.type)] if index < len(array) else []


def _leaves(slot: Slot) -> Iterator[Slot]:
    value = slot.value
    if is_array(value):
        for index in range(len(value)):
            yield from _leaves(Slot(value, index, slot.type))
    elif isinstance(value, (bool, int, float, str, np.generic)) or is_stamp(value):
        yield slot
    else:
        for name, kind in field_types(value).items():
            yield from _leaves(Slot(value, name, kind))
