# SPDX-License-Identifier: Apache-2.0
"""Numbers in serialized messages of one type, read from a whole batch at once.

A report receives some thousand messages per second of wall time and needs few of their fields. To
deserialise one takes 40 to 60 us, because each nested message becomes an object. Here a batch
becomes one array of bytes. Messages whose strings and sequences have the same lengths have the same
layout, and each field is cut out of all of them by one slice.

The layout is that of CDR, the serialization of DDS: 4 bytes in front, of which the second gives the
byte order; then the fields in order, each number aligned to its size, and a count of 32 bits in
front of each string and sequence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

FRONT = 4  # bytes in front of the first field
NUMBERS = {
    "boolean": "u1", "octet": "u1", "uint8": "u1", "int8": "i1", "uint16": "u2", "int16": "i2",
    "uint32": "u4", "int32": "i4", "uint64": "u8", "int64": "i8", "float": "f4", "double": "f8",
}  # fmt: skip
LENGTH = "u4"  # of a string or sequence
# "double", "double[36]", "sequence<double>", "sequence<string, 5>"
FIELD_TYPE = re.compile(r"sequence<(?P<items>[^,>]+)(, \d+)?>|(?P<item>[^\[]+)(\[(?P<size>\d+)\])?")


@dataclass
class _Layout:
    """Positions in a message, found by walking through it.

    Attributes:
        message: The message.
        order: Byte order of its numbers, "<" or ">".
        at: Position of the next byte to walk over.
        numbers: Position, type and number of the numbers in a field, by the field's name.
        lengths: Positions of the lengths of strings and sequences.
    """

    message: bytes
    order: str
    at: int = FRONT
    numbers: dict[str, tuple[int, np.dtype[Any], int]] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)

    def walk(self, kind: Any, prefix: str = "") -> None:
        """Walk over all fields of a message type."""
        for name, written in kind.get_fields_and_field_types().items():
            form = FIELD_TYPE.fullmatch(written)
            assert form is not None, f"{written}: a type of a field"
            count = int(form["size"] or 1)
            if form["items"]:
                count = self._length()
            self._field(prefix + name, form["items"] or form["item"], count)

    def _field(self, name: str, item: str, count: int) -> None:
        if item in NUMBERS:
            number = np.dtype(self.order + NUMBERS[item])
            if count:  # nothing is aligned for an empty sequence
                self._align(number.itemsize)
            self.numbers[name] = self.at, number, count
            self.at += count * number.itemsize
            return
        for _ in range(count):
            if item.startswith("string"):
                length = self._length()
                self.at += length
            else:
                package, kind = item.split("/")
                self.walk(getattr(import_module(f"{package}.msg"), kind), f"{name}.")

    def _length(self) -> int:
        kind = np.dtype(self.order + LENGTH)
        self._align(kind.itemsize)
        self.lengths.append(self.at)
        self.at += kind.itemsize
        return int(np.frombuffer(self.message, kind, 1, self.at - kind.itemsize)[0])

    def _align(self, size: int) -> None:
        self.at += -(self.at - FRONT) % size


class SerializedFields:
    """Reads selected fields of serialized messages.

    Args:
        kind: Type of the messages.
        names: Fields that are numbers, or arrays or sequences of numbers, for example "pose.x".
    """

    def __init__(self, kind: Any, names: Sequence[str]) -> None:
        self._kind, self._names = kind, names

    def read(self, messages: Sequence[bytes]) -> NDArray[np.float64]:
        """Return the fields side by side, (n, columns), of n > 0 messages.

        Raises:
            KeyError: A field is missing, or not made of numbers.
            ValueError: A field has different lengths in the messages.
        """
        same_size = defaultdict(list)
        for index, message in enumerate(messages):
            same_size[len(message)].append(index)
        indices, parts = [], []
        for size, group in same_size.items():
            data = np.frombuffer(b"".join(messages[i] for i in group), np.uint8)
            data, places = data.reshape(-1, size), np.array(group)
            while len(data):
                alike, rows = self._read_alike(data)
                parts.append(rows)
                indices.append(places[alike])
                data, places = data[~alike], places[~alike]
        rows = np.concatenate(parts)
        return rows[np.argsort(np.concatenate(indices))]

    def _read_alike(self, data: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], Any]:
        """Return which messages, (n, bytes), have the layout of the first, and their fields."""
        layout = _Layout(data[0].tobytes(), "<" if data[0, 1] & 1 else ">")
        layout.walk(self._kind)
        columns = [1, *(at + byte for at in layout.lengths for byte in range(4))]
        alike = (data[:, columns] == data[0, columns]).all(axis=1)
        chosen = data[alike]
        fields = []
        for name in self._names:
            at, kind, count = layout.numbers[name]
            cut = np.ascontiguousarray(chosen[:, at : at + count * kind.itemsize])
            fields.append(cut.view(kind).astype(float).reshape(len(chosen), count))
        return alike, np.hstack(fields)
