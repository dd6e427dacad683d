"""Faults that change what messages say: stuck, garbage and wrong."""

from __future__ import annotations

import array
import copy
import math
import string
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from diffbot_sim.faults.fault import (
    HEADER,
    NANOSECONDS,
    Fault,
    Slot,
    all_slots,
    field_types,
    is_array,
    is_stamp,
    parse_path,
    places,
    slots,
)

# ---
# Faults of a message's arrays: joints that are missing, in another order, too many ...

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


# Of a text of garbage.
LETTERS = string.ascii_letters + string.digits
LENGTH = 8
NO_NUMBER = "scale, offset and wrap change numbers and stamps only"
# Time stamps hold seconds in 32 bits with a sign.
LATEST = (1 << 31) - 1
EARLIEST = -(1 << 31)


def chosen(message: Any, fault: Fault) -> list[Slot]:
    """The places of the fault's fields; without any, all numbers outside the header."""
    if fault.fields:
        return [slot for path in fault.fields for slot in slots(message, path)]
    return [slot for slot in all_slots(message) if _is_number(slot.value)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def check_fields(message: Any, fault: Fault) -> None:
    """Look whether messages such as this one, which may be empty, have the fault's fields.

    Raises:
        ValueError: they have not, or no numbers there where numbers are needed.
    """
    for path in fault.fields:
        for slot in places(message, path):
            if is_bending(fault) and any(word in slot.type for word in ("string", "boolean")):
                raise ValueError(f"fields: {path!r} is {slot.type}: {NO_NUMBER}")


class Stuck:
    """Repeats what the last message before the fault said.

    Where there was none before, the first one in it.
    """

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._last: Any = None

    def pass_by(self, message: Any) -> None:
        """A message that is not hit."""
        self._last = copy.deepcopy(message)

    def change(self, message: Any) -> Any:
        """What comes instead of a message that is hit; it may be changed."""
        if self._last is None:
            self.pass_by(message)
            return message
        if self._fault.fields:
            self._freeze(message)
            return message
        frozen = copy.deepcopy(self._last)
        if self._fault.stamps == "fresh" and hasattr(frozen, HEADER):
            frozen.header.stamp = message.header.stamp
        return frozen

    def _freeze(self, message: Any) -> None:
        paths = self._fault.fields
        if self._fault.stamps == "old" and hasattr(message, HEADER):
            paths = (*paths, f"{HEADER}.stamp")
        for path in paths:
            # Arrays of another length than before: what both have.
            for slot, before in zip(slots(message, path), slots(self._last, path), strict=False):
                slot.put(before.value)


def spoil(message: Any, fault: Fault, random: Random) -> None:
    """Put garbage into a message."""
    for slot in chosen(message, fault):
        slot.put(_garbage(slot, fault, random))


def _garbage(slot: Slot, fault: Fault, random: Random) -> Any:
    before = slot.value
    if isinstance(before, str):
        return "".join(random.choices(LETTERS, k=LENGTH))
    if isinstance(before, (bool, np.bool_)):
        return random.random() < 0.5
    if fault.value == "random":
        number = random.uniform(-fault.magnitude, fault.magnitude)
    else:
        number = float(fault.value)
    return fitting(slot, number)


def is_bending(fault: Fault) -> bool:
    """Whether the fault changes numbers."""
    return (fault.scale, fault.offset, fault.wrap) != (1.0, 0.0, 0.0)


def bend(message: Any, fault: Fault) -> None:
    """Make a message wrong."""
    if fault.arrays:
        fit_arrays(message, fault)
    if fault.swap:
        swap_entries(message, fault)
    if not is_bending(fault):
        return
    for slot in chosen(message, fault):
        if isinstance(slot.value, (str, bool, np.bool_)):
            raise ValueError(f"fields: {slot.key!r} = {slot.value!r}: {NO_NUMBER}")
        slot.put(_bent(slot, fault))


def _bent(slot: Slot, fault: Fault) -> Any:
    if is_stamp(slot.value):
        before = slot.value.sec * NANOSECONDS + slot.value.nanosec
        # Whole numbers where possible: a stamp of today in s has no ns left.
        if fault.scale != 1.0:
            before = _nanoseconds(before / NANOSECONDS * fault.scale)
        return _stamp(slot.value, before + _nanoseconds(fault.offset))
    number = slot.value * fault.scale + fault.offset
    if fault.wrap and math.isfinite(number):
        number = math.remainder(number, fault.wrap)  # exact; may be +wrap/2
        number -= fault.wrap if number >= 0.5 * fault.wrap else 0.0
    return fitting(slot, number)


def fitting(slot: Slot, number: float) -> Any:
    """The number in the type of the place; whole numbers stay in their range, or as they are."""
    before = slot.value
    if is_stamp(before):
        return _stamp(before, _nanoseconds(number)) if math.isfinite(number) else before
    if isinstance(before, (float, np.floating)):
        return float(number)
    if not math.isfinite(number):
        return before
    low, high = _range(slot)
    return min(max(round(number), low), high)


def _range(slot: Slot) -> tuple[int, int]:
    """Smallest and largest whole number of the place's type."""
    for bits in (8, 16, 32, 64):
        if f"uint{bits}" in slot.type:
            return 0, (1 << bits) - 1
        if f"int{bits}" in slot.type:
            return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return -(1 << 63), (1 << 63) - 1


def _nanoseconds(time: float) -> int:
    """A time in s, as far as a stamp can hold it, in ns."""
    return round(min(max(time, EARLIEST), LATEST) * NANOSECONDS)


def _stamp(before: Any, nanoseconds: int) -> Any:
    after = copy.copy(before)
    limited = min(max(nanoseconds, EARLIEST * NANOSECONDS), LATEST * NANOSECONDS)
    after.sec, after.nanosec = divmod(limited, NANOSECONDS)
    return after
