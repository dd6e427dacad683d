"""Writes a ROS message as ``ros2 topic echo`` does: as YAML or as comma-separated values."""

from __future__ import annotations

import array
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import yaml

LENGTH = 128  # longer arrays, texts and byte strings are cut here and end in "..."
_ARRAYS = (list, tuple, array.array, np.ndarray)


def to_yaml(message: Any, arrays: bool = True, length: int | None = LENGTH) -> str:
    """Return a message as a YAML document, fields in the order of its definition.

    `arrays` False shows type and length instead of the content; `length` None cuts nothing.
    """
    return yaml.dump(
        _fields(message, arrays, length),
        allow_unicode=True,
        width=sys.maxsize,
        default_flow_style=False,
        sort_keys=False,
    )


def to_csv(message: Any, arrays: bool = True, length: int | None = LENGTH) -> str:
    """Return all fields of a message in one line, nested ones in place."""
    columns = []
    for name, kind in _slots(message):
        value = getattr(message, name)
        if isinstance(value, _ARRAYS) and not arrays:
            columns.append(_abbreviation(value, kind))
        else:
            columns.append(_column(value, arrays, length))
    return _join(columns)


def _join(columns: list[str]) -> str:
    """Join with commas; empty columns at the front leave none, as in `ros2 topic echo --csv`."""
    first = next((number for number, column in enumerate(columns) if column), len(columns))
    return ",".join(columns[first:])


def _slots(message: Any) -> list[tuple[str, Any]]:
    return list(zip(message.get_fields_and_field_types(), message.SLOT_TYPES, strict=True))


def _fields(message: Any, arrays: bool, length: int | None) -> dict[str, Any]:
    fields = {}
    for name, kind in _slots(message):
        value = getattr(message, name)
        if isinstance(value, _ARRAYS) and not arrays:
            fields[name] = _abbreviation(value, kind)
        else:
            fields[name] = _plain(value, arrays, length)
    return fields


def _plain(value: Any, arrays: bool, length: int | None) -> Any:
    """Convert a field to what YAML knows."""
    if isinstance(value, np.number):  # before float: numpy's float64 is one, but not to YAML
        return value.item()
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else "".join(map(chr, value))
        return text if length is None or len(text) <= length else text[:length] + "..."
    if isinstance(value, _ARRAYS):
        items = [_plain(item, arrays, length) for item in _shown(value, length)]
        return items if len(items) == len(value) else [*items, "..."]
    return _fields(value, arrays, length)


def _column(value: Any, arrays: bool, length: int | None) -> str:
    if isinstance(value, _ARRAYS):
        items = [_column(item, arrays, length) for item in _shown(value, length)]
        return _join(items if len(items) == len(value) else [*items, "..."])
    if isinstance(value, (str, bytes)):
        dots = "..." if isinstance(value, str) else b"..."
        return str(value if length is None or len(value) <= length else value[:length] + dots)
    if isinstance(value, (bool, int, float, np.number)):
        return str(value)
    return to_csv(value, arrays, length)


def _shown(value: Sequence[Any], length: int | None) -> Sequence[Any]:
    return value if length is None else value[:length]


def _abbreviation(value: Sequence[Any], kind: Any) -> str:
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
