"""Motion in a SysId log: voltage and velocity of a side or axis, from rest on."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.recording.sysid_reader import SysIdLog, SysIdTest
from diffbot_ident.velocity.refresh import refreshed
from diffbot_ident.velocity.stretch import Stretch

Array = NDArray[np.float64]

# Share of the largest velocity above which an axis moves.
MOVING = 0.05
# Longest dead time of a measurement, s.
LONGEST = 0.3
# A gap in the rows of more than so many periods ends a stretch.
GAP = 3.0
# An axis below this share of the wheels' way was not driven.
DRIVEN = 0.2
# Least samples of motion in a test.
LEAST = 40


def _signals(test: SysIdTest, subject: str, sign: float) -> tuple[Array, Array]:
    """Voltage and velocity of a subject, shape (n,) each."""
    if subject == "left side":
        return test.left_voltage, test.left_velocity
    if subject == "right side":
        return test.right_voltage, test.right_velocity
    if subject == "forward axis":
        return (
            0.5 * (test.left_voltage + test.right_voltage),
            0.5 * (test.left_velocity + test.right_velocity),
        )
    return 0.5 * (test.right_voltage - test.left_voltage), sign * test.yaw_rate


def motions_of(log: SysIdLog, subject: str, sign: float) -> dict[str, tuple[Stretch, ...]]:
    """Motion of each test; empty where the subject was not driven."""
    voltages = {name: _signals(test, subject, sign)[0] for name, test in log.tests.items()}
    most = max(
        max(np.abs(t.left_voltage).max(initial=0.0), np.abs(t.right_voltage).max(initial=0.0))
        for t in log.tests.values()
    )
    signals = {name: _signals(test, subject, sign) for name, test in log.tests.items()}
    fastest = max(float(np.abs(v).max(initial=0.0)) for _, v in signals.values())
    driven = max(float(np.abs(v).max(initial=0.0)) for v in voltages.values())
    if not (driven >= DRIVEN * most > 0.0 and fastest > 0.0):
        return {}
    masks, hold = refreshed([velocity for _, velocity in signals.values()])
    motions = {}
    for (name, (voltage, velocity)), fresh in zip(signals.items(), masks, strict=True):
        times = log.tests[name].times
        stretches = [
            _stretch(log.tests[name], voltage, velocity, fresh if hold > 0.0 else None, piece)
            for piece in _pieces(times, np.abs(velocity) > MOVING * fastest)
        ]
        if stretches:
            motions[name] = tuple(stretches)
    return _one_period(motions)


def _pieces(times: Array, moving: NDArray[np.bool_]) -> list[slice]:
    """From the first lasting motion on, cut where rows are missing."""
    lasting = np.flatnonzero(moving)
    if len(lasting) < LEAST:
        return []
    # The last sample at rest before the motion that lasts.
    still = np.flatnonzero(~moving[: lasting[len(lasting) // 2]])
    begin = int(still[-1]) + 1 if len(still) else 0
    stop = np.flatnonzero(~moving[begin:])
    end = begin + int(stop[0]) if len(stop) else len(moving)
    gaps = np.flatnonzero(np.diff(times[begin:end]) > GAP * float(np.median(np.diff(times))))
    edges = [begin, *(begin + gaps + 1).tolist(), end]
    return [slice(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True) if b - a >= LEAST]


def _stretch(
    test: SysIdTest,
    voltage: Array,
    velocity: Array,
    fresh: NDArray[np.bool_] | None,
    piece: slice,
) -> Stretch:
    """A motion, after as much rest as the dead time's scan needs to know past voltages of.

    A voltage step leaps over static friction: there, the rest before the motion counts, too, and
    tells the dead time.
    """
    period = float(np.ptp(test.times[piece])) / (piece.stop - piece.start - 1)
    leaps = test.name.startswith("fast")
    begin = (0 if leaps else piece.start) - math.ceil(LONGEST / period)
    index = np.arange(begin, piece.stop)
    counts = index >= piece.start
    # Before its first row, a test held the voltage of that row: none.
    rows = np.maximum(index, 0)
    if fresh is not None:
        counts &= fresh[rows]
    if leaps:
        counts |= (index >= 0) & (index < piece.start)
    return Stretch(period, voltage[rows], velocity[rows], counts)


def _one_period(motions: dict[str, tuple[Stretch, ...]]) -> dict[str, tuple[Stretch, ...]]:
    """The same mean period for all: clocks of tests differ by a few parts in a thousand."""
    periods = [s.period for stretches in motions.values() for s in stretches]
    period = float(np.mean(periods)) if periods else 0.0
    return {
        name: tuple(replace(s, period=period) for s in stretches)
        for name, stretches in motions.items()
    }


def yaw_sign(log: SysIdLog) -> float:
    """1 where yaw counts counter-clockwise (REP-103), -1 where clockwise, as some gyros do."""
    product = sum(
        float(np.ptp(t.yaw) > 0.0) * float((t.yaw - t.yaw.mean()) @ (way(t) - way(t).mean()))
        for t in log.tests.values()
    )
    return -1.0 if product < 0.0 else 1.0


def way(test: SysIdTest) -> Array:
    """How much further the right side went, shape (n,)."""
    return test.right_position - test.left_position
