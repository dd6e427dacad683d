"""Message stamps as seconds and back."""

from __future__ import annotations

from builtin_interfaces.msg import Time

NANOSECONDS = 1_000_000_000


def seconds(stamp: Time) -> float:
    """A stamp in s."""
    return stamp.sec + stamp.nanosec / NANOSECONDS


def to_stamp(time: float) -> Time:
    """A time in s, >= 0, as a stamp, to the nearest nanosecond."""
    whole, rest = divmod(round(time * NANOSECONDS), NANOSECONDS)
    return Time(sec=whole, nanosec=rest)


def stamp_problem(stamp: Time) -> str:
    """Why a stamp cannot be used, as a sentence; empty where it can."""
    if stamp.sec >= 0 and stamp.nanosec < NANOSECONDS:
        return ""
    return (
        f"stamp = {stamp.sec} s and {stamp.nanosec} ns: must be >= 0 s, with less than "
        f"{NANOSECONDS} ns; check the clock of who stamps it"
    )
