"""Faults of a message's arrays: joints that are missing, in another order, too many ..."""

from __future__ import annotations

import array
import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from diffbot_sim.faults.fault import Fault
from diffbot_sim.faults.field_path import HEADER, Slot, field_types, is_array, parse_path

STRANGER = "unknown_joint"


def fit_arrays(message: Any, fault: Fault) -> None:
    """Do to each array of variable length what `fault.arrays` says."""
    edit = _EDITS[fault.arrays]
    for slot in _arrays(message, fault):
        entries = list(slot.value)
        if entries and not isinstance(slot.value, np.ndarray):
            slot.put(_like(slot.value, edit(entries, fault.index)))


def swap_entries(message: Any, fault: Fault) -> None:
    """Let two entries of each array of numbers change places."""
    one, other = fault.swap
    for slot in _arrays(message, fault):
        entries = slot.value
        if len(entries) > max(one, other) and not isinstance(entries[0], str):
            entries[one], entries[other] = entries[other], entries[one]


def _arrays(message: Any, fault: Fault) -> list[Slot]:
    """The message's own arrays, or those of them that the fault names."""
    wanted = {parse_path(path)[0][0] for path in fault.fields}
    return [
        Slot(message, name, kind)
        for name, kind in field_types(message).items()
        if name != HEADER and is_array(getattr(message, name)) and (not wanted or name in wanted)
    ]


def _like(before: Any, entries: list[Any]) -> Any:
    if isinstance(before, array.array):
        return array.array(before.typecode, entries)
    return type(before)(entries)


def _stranger(entry: Any) -> Any:
    """An entry of unknown name with no value."""
    if isinstance(entry, str):
        return STRANGER
    return type(entry)(0) if isinstance(entry, (bool, int, float)) else copy.deepcopy(entry)


def _duplicated(entries: list[Any], index: int) -> list[Any]:
    return entries + copy.deepcopy(entries[index : index + 1])


_EDITS: dict[str, Callable[[list[Any], int], list[Any]]] = {
    "reversed": lambda entries, _: entries[::-1],
    "missing": lambda entries, index: entries[:index] + entries[index + 1 :],
    "extra": lambda entries, _: [_stranger(entries[0]), *entries],
    "duplicated": _duplicated,
    "short": lambda entries, _: entries if isinstance(entries[0], str) else entries[:-1],
    "empty": lambda entries, _: [],
}
