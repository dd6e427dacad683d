# SPDX-License-Identifier: Apache-2.0
"""Injection of faults into the messages of one topic. It reads no clock and knows no ROS."""

from __future__ import annotations

import array
import copy
import heapq
import math
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any

import numpy as np

from diffbot_sim.faults.fault import Fault
from diffbot_sim.faults.message_fields import (
    HEADER,
    NANOSECONDS,
    Slot,
    all_slots,
    field_types,
    is_array,
    is_stamp,
    nanoseconds,
    parse_path,
    places,
    slots,
)

CAPACITY = 10_000
LETTERS = string.ascii_letters + string.digits
LENGTH = 8
STRANGER = "unknown_joint"
NO_NUMBER = "scale, offset and wrap change numbers and stamps only"


class FaultInjector:
    """Takes the messages of one topic, applies faults, and returns the results when they are due.

    A message passes the faults in the order of the list; its time decides which apply. Unless a
    fault lets them overtake, messages keep their order. When time goes back waiting ones are lost.

    Attributes:
        active: Faults that are active at the newest time given.
        lost: Number of messages lost because CAPACITY waited.
    """

    def __init__(self, faults: Sequence[Fault], seed: int = 0) -> None:
        topics = sorted({fault.topic for fault in faults})
        if len(topics) > 1:
            raise ValueError(f"topic = {', '.join(topics)}: one injector is for one topic")
        self.faults = tuple(faults)
        self.seed = seed
        self.lost = 0
        self.reset()

    def reset(self) -> None:
        """Drop waiting messages and restart the random numbers."""
        self._stages: list[Stage] = [
            STAGES[fault.kind](fault, Random(f"{self.seed}/{fault.topic}/{fault.seed}/{place}"))
            for place, fault in enumerate(self.faults)
        ]
        self._waiting: list[tuple[int, int, Any]] = []
        self._numbers = count()
        self._now: int | None = None
        self._floor = 0  # release of the last message in order, ns
        self.active: tuple[Fault, ...] = ()

    def push(self, now: float, message: Any) -> None:
        """Take a copy of a message at a time, s; ValueError if it lacks a fault's field."""
        time = self._advance(now)
        parcels = [Parcel(copy.deepcopy(message), time)]
        for stage in self._stages:
            parcels = [result for parcel in parcels for result in stage.take(time, parcel)]
        for parcel in parcels:
            self._queue(parcel)

    def due(self, now: float) -> list[Any]:
        """Return the messages that are due at a time, s, in the order of their release."""
        time = self._advance(now)
        ready = []
        while self._waiting and self._waiting[0][0] <= time:
            ready.append(heapq.heappop(self._waiting)[2])
        return ready

    @property
    def next_release(self) -> float | None:
        """Time at which the next message is released, s; None if none waits."""
        return self._waiting[0][0] / NANOSECONDS if self._waiting else None

    def _advance(self, now: float) -> int:
        time = round(now * NANOSECONDS)
        if self._now is not None and time < self._now:
            self.reset()
        self._now = time
        self.active = tuple(fault for fault in self.faults if fault.covers(time))
        return time

    def _queue(self, parcel: Parcel) -> None:
        if len(self._waiting) >= CAPACITY:
            self.lost += 1
            return
        release = parcel.release
        if not parcel.overtakes:
            release = self._floor = max(release, self._floor)
        heapq.heappush(self._waiting, (release, next(self._numbers), parcel.message))


@dataclass(frozen=True)
class Parcel:
    """The injector's copy of a message, its release, ns, and whether it may overtake others."""

    message: Any
    release: int
    overtakes: bool = False


class Stage:
    """Applies one fault; this base class is the kind "off".

    A burst of b messages begins at a message outside a burst with probability
    q = p / (p + b (1 - p)): a share b / (b + (1 - q) / q) = p, the fault's probability, is hit.
    """

    def __init__(self, fault: Fault, random: Random) -> None:
        self.fault, self.random = fault, random
        self._left = 0  # messages of the present burst that are still to be hit

    def take(self, now: int, parcel: Parcel) -> list[Parcel]:
        """Return the parcels that replace a parcel at a time, ns."""
        if self.fault.covers(now) and self._chance():
            return self.hit(now, parcel)
        self.pass_by(parcel.message)
        return [parcel]

    def _chance(self) -> bool:
        fraction, burst = self.fault.probability, self.fault.burst
        if not self._left and self.random.random() < fraction / (
            fraction + burst * (1.0 - fraction)
        ):
            self._left = burst
        if not self._left:
            return False
        self._left -= 1
        return True

    def hit(self, now: int, parcel: Parcel) -> list[Parcel]:
        """Return the parcels that replace a parcel hit by the fault, which may be changed."""
        return []

    def pass_by(self, message: Any) -> None:
        """Observe a message that is not hit."""


class Stuck(Stage):
    """Repeats the content of the last message before the fault, or else the first during it."""

    _last: Any = None

    def pass_by(self, message: Any) -> None:
        self._last = copy.deepcopy(message)

    def hit(self, now: int, parcel: Parcel) -> list[Parcel]:
        """Freeze the whole message, or the fault's fields."""
        if self._last is None:
            self.pass_by(parcel.message)
        elif self.fault.fields:
            self._freeze_fields(parcel.message)
        else:
            frozen = copy.deepcopy(self._last)
            if self.fault.stamps == "fresh" and hasattr(frozen, HEADER):
                frozen.header.stamp = parcel.message.header.stamp
            parcel = replace(parcel, message=frozen)
        return [parcel]

    def _freeze_fields(self, message: Any) -> None:
        paths = self.fault.fields
        if self.fault.stamps == "old" and hasattr(message, HEADER):
            paths = (*paths, f"{HEADER}.stamp")
        for path in paths:
            for slot, before in zip(slots(message, path), slots(self._last, path), strict=False):
                slot.put(before.value)


class Garbage(Stage):
    """Puts garbage into the fields."""

    def hit(self, now: int, parcel: Parcel) -> list[Parcel]:
        """Replace texts by random letters, booleans by random ones, numbers as the fault states."""
        for slot in _chosen(parcel.message, self.fault):
            before, value = slot.value, self.fault.value
            if isinstance(before, str):
                slot.put("".join(self.random.choices(LETTERS, k=LENGTH)))
            elif isinstance(before, (bool, np.bool_)):
                slot.put(self.random.random() < 0.5)
            elif value == "random":
                magnitude = self.fault.magnitude
                slot.put_number(self.random.uniform(-magnitude, magnitude))
            else:
                slot.put_number(float(value))
        return [parcel]


class Wrong(Stage):
    """Distorts numbers, and edits arrays."""

    def hit(self, now: int, parcel: Parcel) -> list[Parcel]:
        """Edit arrays first, then numbers and stamps."""
        message, fault = parcel.message, self.fault
        if fault.arrays:
            _fit_arrays(message, fault)
        if fault.swap:
            _swap_entries(message, fault)
        for slot in _chosen(message, fault) if fault.bends else ():
            if isinstance(slot.value, (str, bool, np.bool_)):
                raise ValueError(f"fields: {slot.key!r} = {slot.value!r}: {NO_NUMBER}")
            _bend(slot, fault)
        return [parcel]


class Slow(Stage):
    """Passes at most `rate` messages per second."""

    _following = 0.0  # time of the next message that passes, ns

    def hit(self, now: int, parcel: Parcel) -> list[Parcel]:
        # Times are rounded to whole ns.
        if now + 0.5 < self._following:
            return []
        period = NANOSECONDS / self.fault.rate
        self._following += period
        if self._following <= now:
            self._following = now + period
        return [parcel]


class Delayed(Stage):
    """Holds messages back."""

    def hit(self, now: int, parcel: Parcel) -> list[Parcel]:
        jitter = self.fault.jitter
        delay = self.fault.delay + (self.random.uniform(0.0, jitter) if jitter else 0.0)
        release = parcel.release + round(delay * NANOSECONDS)
        return [Parcel(parcel.message, release, parcel.overtakes or self.fault.overtake)]


class Intermittent(Stage):
    """Drops messages, or repeats them."""

    def hit(self, now: int, parcel: Parcel) -> list[Parcel]:
        message = parcel.message
        return [replace(parcel, message=copy.deepcopy(message)) for _ in range(self.fault.copies)]


STAGES: dict[str, type[Stage]] = {
    "off": Stage,
    "stuck": Stuck,
    "garbage": Garbage,
    "wrong": Wrong,
    "slow": Slow,
    "delayed": Delayed,
    "intermittent": Intermittent,
}


def check_fields(message: Any, fault: Fault) -> None:
    """Check that a message has the fault's fields, and numbers where needed; else ValueError."""
    for path in fault.fields:
        for slot in places(message, path):
            if fault.bends and any(word in slot.type for word in ("string", "boolean")):
                raise ValueError(f"fields: {path!r} is {slot.type}: {NO_NUMBER}")


def _chosen(message: Any, fault: Fault) -> list[Slot]:
    """Return the slots of the fault's fields; without any, all numbers outside the header."""
    if fault.fields:
        return [slot for path in fault.fields for slot in slots(message, path)]
    return [slot for slot in all_slots(message) if _is_number(slot.value)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _bend(slot: Slot, fault: Fault) -> None:
    if is_stamp(slot.value):
        before = slot.value.sec * NANOSECONDS + slot.value.nanosec
        # As a float in s today's time does not resolve ns.
        if fault.scale != 1.0:
            before = nanoseconds(before / NANOSECONDS * fault.scale)
        slot.put_stamp(before + nanoseconds(fault.offset))
        return
    number = slot.value * fault.scale + fault.offset
    if fault.wrap and math.isfinite(number):
        number = math.remainder(number, fault.wrap)  # exact; may be +wrap/2
        number -= fault.wrap if number >= 0.5 * fault.wrap else 0.0
    slot.put_number(number)


def _fit_arrays(message: Any, fault: Fault) -> None:
    edit = _EDITS[fault.arrays]
    for slot in _arrays(message, fault):
        entries = list(slot.value)
        if entries and not isinstance(slot.value, np.ndarray):
            slot.put(_like(slot.value, edit(entries, fault.index)))


def _swap_entries(message: Any, fault: Fault) -> None:
    one, other = fault.swap
    for slot in _arrays(message, fault):
        entries = slot.value
        if len(entries) > max(one, other) and not isinstance(entries[0], str):
            entries[one], entries[other] = entries[other], entries[one]


def _arrays(message: Any, fault: Fault) -> list[Slot]:
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
