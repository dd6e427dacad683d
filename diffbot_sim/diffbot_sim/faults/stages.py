"""What each kind of fault does with one message."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from diffbot_sim.faults.chance import Chance
from diffbot_sim.faults.content import Stuck, bend, spoil
from diffbot_sim.faults.fault import NANOSECONDS, Fault


@dataclass(frozen=True)
class Parcel:
    """A message on its way.

    Attributes:
        message: belongs to the injector alone.
        release: time at which it comes out, ns.
        overtakes: whether it may come before one that was sent earlier.
    """

    message: Any
    release: int
    overtakes: bool = False


class Stage:
    """One fault at work.

    Args:
        fault: which.
        hit: makes of a parcel that is hit what comes instead of it.
        pass_by: is told the message of each parcel that is not.
        chance: decides which are hit while the fault is on.
    """

    def __init__(
        self,
        fault: Fault,
        chance: Chance,
        hit: Callable[[int, Parcel], list[Parcel]],
        pass_by: Callable[[Any], None] | None = None,
    ) -> None:
        self._fault, self._chance, self._hit, self._pass_by = fault, chance, hit, pass_by

    def take(self, now: int, parcel: Parcel) -> list[Parcel]:
        """Return what a parcel becomes at a time, ns."""
        if self._fault.covers(now) and self._chance.hit():
            return self._hit(now, parcel)
        if self._pass_by is not None:
            self._pass_by(parcel.message)
        return [parcel]


def make_stage(fault: Fault, random: Random) -> Stage:
    """Return the stage of a fault with its source of chances."""
    chance = Chance(fault.probability, fault.burst, random)
    if fault.kind == "stuck":
        stuck = Stuck(fault)
        return Stage(
            fault,
            chance,
            lambda _, parcel: [_with(parcel, stuck.change(parcel.message))],
            stuck.pass_by,
        )
    return Stage(fault, chance, _HITS[fault.kind](fault, random))


def _with(parcel: Parcel, message: Any) -> Parcel:
    return Parcel(message, parcel.release, parcel.overtakes)


def _off(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    return lambda now, parcel: []


def _garbage(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    def hit(now: int, parcel: Parcel) -> list[Parcel]:
        spoil(parcel.message, fault, random)
        return [parcel]

    return hit


def _wrong(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    def hit(now: int, parcel: Parcel) -> list[Parcel]:
        bend(parcel.message, fault)
        return [parcel]

    return hit


def _slow(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    period = NANOSECONDS / fault.rate
    following = 0.0

    def hit(now: int, parcel: Parcel) -> list[Parcel]:
        nonlocal following
        # Half a ns: times are rounded to whole ones.
        if now + 0.5 < following:
            return []
        # On a grid, so that the mean rate is right where it does not divide that of the messages.
        following += period
        if following <= now:
            following = now + period
        return [parcel]

    return hit


def _delayed(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    def hit(now: int, parcel: Parcel) -> list[Parcel]:
        delay = fault.delay + (random.uniform(0.0, fault.jitter) if fault.jitter else 0.0)
        release = parcel.release + round(delay * NANOSECONDS)
        return [Parcel(parcel.message, release, parcel.overtakes or fault.overtake)]

    return hit


def _intermittent(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    def hit(now: int, parcel: Parcel) -> list[Parcel]:
        return [_with(parcel, copy.deepcopy(parcel.message)) for _ in range(fault.copies)]

    return hit


_HITS = {
    "off": _off,
    "garbage": _garbage,
    "wrong": _wrong,
    "slow": _slow,
    "delayed": _delayed,
    "intermittent": _intermittent,
}
