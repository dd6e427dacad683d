"""The largest speeds and accelerations of a trajectory, and how fast limits let it be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from pose2d_trajectories.limits import Limits
from pose2d_trajectories.reference import Trajectory

SAMPLES = 4096
# Local maxima of the samples that are looked at closely, and how closely: 0.618^30 = 5e-7 of two
# samples' distance, which leaves 1e-12 of the value, since a maximum is flat.
CANDIDATES = 8
ITERATIONS = 30
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class Peaks(NamedTuple):
    """Largest |v| in m/s, |omega| in rad/s, |dv| in m/s^2, |domega| in rad/s^2."""

    v: float
    omega: float
    dv: float
    domega: float

    def time_factor(self, limits: Limits) -> float:
        """How much faster time may run while the limits hold; math.inf where there are none.

        With time at a factor f, velocities are f times and accelerations f^2 times as large.
        """
        shares = (
            _share(limits.linear_velocity, self.v),
            _share(limits.angular_velocity, self.omega),
            math.sqrt(_share(limits.linear_acceleration, self.dv)),
            math.sqrt(_share(limits.angular_acceleration, self.domega)),
        )
        return min(shares)


def _share(limit: float, peak: float) -> float:
    return limit / peak if peak > 0.0 else math.inf


def find_peaks(trajectory: Trajectory, start: float, end: float) -> Peaks:
    """The peaks between two times, s: from samples, refined by golden sections.

    A peak narrower than (end - start) / SAMPLES may be missed.
    """
    times = [start + (end - start) * k / SAMPLES for k in range(SAMPLES + 1)]
    samples = [trajectory.at(t) for t in times]
    return Peaks(*(_peak(trajectory, name, times, samples) for name in Peaks._fields))


def _peak(trajectory: Trajectory, name: str, times: list[float], samples: list[object]) -> float:
    values = [abs(getattr(sample, name)) for sample in samples]
    last = len(values) - 1
    tops = [
        k
        for k in range(last + 1)
        if values[k] >= values[max(k - 1, 0)] and values[k] >= values[min(k + 1, last)]
    ]
    tops = sorted(tops, key=values.__getitem__, reverse=True)[:CANDIDATES]
    refined = (
        _golden(
            lambda t: abs(getattr(trajectory.at(t), name)),
            times[max(k - 1, 0)],
            times[min(k + 1, last)],
        )
        for k in tops
    )
    return max(max(values), *refined)


def _golden(function: Callable[[float], float], low: float, high: float) -> float:
    """Largest value of a function with one maximum between low and high; golden sections."""
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    values = [function(t) for t in inner]
    for _ in range(ITERATIONS):
        if values[0] >= values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - _GOLDEN * (high - low)
            values[0] = function(inner[0])
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + _GOLDEN * (high - low)
            values[1] = function(inner[1])
    return max(values)
