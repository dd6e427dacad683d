# SPDX-License-Identifier: Apache-2.0
"""Delay from the voltage to the recorded velocity in a SysId log: the shorter of two estimates.

See docs/theory/recordings.md#delay-of-a-sysid-log.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffbot_ident.velocity.bounded_search import BoundedSearch
from diffbot_recordings.first_order import AxisSegment
from diffbot_recordings.samples import Array
from diffbot_recordings.verdict import Value
from diffbot_recordings.voltage_gains import VoltageGains

# Longest delay that is searched, s.
LONGEST = 1.0
# Rows from the first motion to the visible one, and their standard deviation.
SEEN_LATE, ROWS = 0.75, 0.6
# Visible: NOISE standard deviations of noise, and this share of the largest velocity.
NOISE, SEEN = 5.0, 0.01
# A filter's delay without positions, s (they average over 0 to 20 ms), and its deviation.
FILTER, FILTER_STD = 0.005, 0.003
# Share of a filter's delay after the first visible motion, its deviation, and that of a delay by
# positions, s.
AFTER, AFTER_STD, POSITIONS_STD = 0.6, 0.1, 0.0005
# Relative error of velocities against positions; least rows.
SCALE, LEAST_ROWS = 0.05, 20
FROM_REST_STD = 0.002


@dataclass(frozen=True)
class SysIdDelay:
    """Delay of the velocities after the voltage.

    Attributes:
        dead_time: Time to the first motion, s; not identifiable if no motion is visible.
        total: Dead time plus the delay of the filter, s.
        std: Standard deviation of `total`, s.
    """

    dead_time: Value
    total: float
    std: float

    @classmethod
    def seen(cls, dead_time: Value, filters: Sequence[float]) -> SysIdDelay:
        """Return the delay from the dead time, and from filter delays by positions, s."""
        late, std = FILTER, FILTER_STD
        if filters:
            late = AFTER * float(np.mean(filters))
            own = AFTER * math.hypot(deviation_of_mean(filters), POSITIONS_STD)
            std = math.hypot(own, AFTER_STD * late / AFTER)
        if not dead_time.identifiable:
            return cls(dead_time, late, math.hypot(0.01, std))
        return cls(dead_time, dead_time.value + late, math.hypot(dead_time.std, std))

    def from_rest(self, results: Sequence[float]) -> SysIdDelay:
        """Return the delay from rest of fast tests, s, if shorter; otherwise self unchanged."""
        if not results or float(np.mean(results)) >= self.total:
            return self
        std = math.hypot(deviation_of_mean(results), FROM_REST_STD)
        return SysIdDelay(self.dead_time, float(np.mean(results)), std)


def deviation_of_mean(values: Sequence[float]) -> float:
    """Return the standard deviation of a mean, from the spread; 0 for a single value."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def seen_dead_time(voltage: Array, velocity: Array, period: float) -> float | None:
    """Return the time from a fast test's voltage step to the first motion, s; None: not visible."""
    steps = np.diff(velocity)
    noise = float(np.median(np.abs(steps))) / (0.6745 * math.sqrt(2.0)) if len(steps) else 0.0
    moving = np.abs(velocity) > max(NOISE * noise, SEEN * float(np.abs(velocity).max(initial=0.0)))
    if not moving.any():
        return None
    rows = int(np.argmax(moving)) - step_row(voltage)
    return period * (rows - SEEN_LATE) if rows > 0 else None


def step_row(voltage: Array) -> int:
    """Return the row of a fast test at which the voltage steps up."""
    sizes = np.abs(voltage)
    return int(np.argmax(sizes > 0.5 * float(sizes.max(initial=0.0))))


def dead_time_of(results: Sequence[float], period: float) -> Value:
    """Return the mean dead time of fast tests, s; not identifiable if none or too long."""
    if not results or not all(each.inside for each in searched(results)):
        return Value("dead time", math.nan, math.inf, "s")
    own = ROWS * period / math.sqrt(len(results))
    std = math.hypot(own, deviation_of_mean(results))
    return Value("dead time", float(np.mean(results)), std, "s")


def searched(results: Sequence[float]) -> list[BoundedSearch]:
    """Return how the searches of dead times, s, ended; those beyond the longest are no result."""
    return [
        BoundedSearch("dead time", min(each, LONGEST), 0.0, LONGEST, natural_low=True)
        for each in results
    ]


def filter_delay(velocity: Array, position: Array, period: float) -> float | None:
    """Return the delay of velocities after the change of positions, s; None: not identifiable."""
    finite = np.isfinite(position).all() and np.isfinite(velocity).all()
    if len(velocity) < LEAST_ROWS or not finite or np.ptp(position) == 0.0:
        return None
    path = np.concatenate(([0.0], np.cumsum(0.5 * (velocity[1:] + velocity[:-1])))) * period
    columns = np.column_stack((path, velocity, np.ones_like(velocity)))
    scale, late, _ = np.linalg.lstsq(columns, position, rcond=None)[0].tolist()
    if abs(scale - 1.0) > SCALE or not late >= -period:
        return None
    return max(float(late), 0.0)


def delay_from_rest(segment: AxisSegment, since: float, fit: VoltageGains) -> float | None:
    """Return the time from a fast test's voltage step to the fitted start, s, if there is one.

    `since`: time from the step to the first sample that counts of the segment, s.
    """
    first = int(np.argmax(segment.counts))
    rows = max(round(since / segment.period), 1)
    voltage = float(np.mean(np.abs(segment.command[max(first - rows, 0) : first + 1])))
    end, tau = (voltage - fit.ks) / fit.kv, fit.ka / fit.kv
    fraction = abs(float(fit.simulate(segment)[first])) / end if end > 0.0 else 1.0
    if not (0.0 < fraction < 1.0 and tau > 0.0):
        return None
    delay = since + tau * math.log1p(-fraction)
    return delay if -segment.period <= delay <= LONGEST else None
