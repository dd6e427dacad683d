# SPDX-License-Identifier: Apache-2.0
"""How late a SysId log tells a velocity after the voltage that made it.

ks hangs on it: a ramp of r V/s that is taken as late by t makes ks r t too small. Two things tell
it, each of which can only be too late by what disturbs a start, so that the earlier one counts:

1. The first motion that is seen in the fast tests, and what the velocity's filter delays beyond
   it. Positions are not filtered and tell by how much: the integral of a velocity that is late by t
   falls short by t times the velocity. It is late where a start is slow.
2. The whole motion of a fast test from rest, v = v_end (1 - exp(-(t - delay) / tau)), with v_end =
   (V - ks) / kv and tau = ka / kv: where what is fitted after the start passes 0. It is late where
   wheels spin through backlash, or slip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffbot_ident.recording.samples import Array
from diffbot_ident.recording.verdict import Value
from diffbot_ident.velocity.first_order import AxisSegment
from diffbot_ident.velocity.voltage_gains import VoltageGains

# Longest delay, s.
LONGEST = 0.3
# Rows from the first motion to the row in which it is seen, as it begins slowly; and deviation.
SEEN_LATE, ROWS = 0.75, 0.6
# Deviations of a velocity's noise that are motion, and share of the largest velocity.
NOISE, SEEN = 5.0, 0.01
# Without positions, what velocity filters delay beyond the dead time, s: means over 0 to 20 ms.
FILTER, FILTER_STD = 0.005, 0.003
# With them, how much of a filter's delay comes after the first motion is seen, and deviations of
# that share, and of the delay that positions tell, s.
AFTER, AFTER_STD, TOLD_STD = 0.6, 0.1, 0.0005
# Longest delay of a filter, s; how far velocities may be off the change of positions; rows.
LONGEST_FILTER, SCALE, LEAST_ROWS = 0.1, 0.05, 20
# Deviation of a delay from rest, s.
FROM_REST_STD = 0.002


@dataclass(frozen=True)
class SysIdDelay:
    """How late velocities are.

    Attributes:
        dead_time: to the first motion, s; not identifiable where no row tells it.
        total: with what a filter adds, s.
        std: its standard deviation, s.
    """

    dead_time: Value
    total: float
    std: float

    @classmethod
    def seen(cls, dead_time: Value, filters: Sequence[float]) -> SysIdDelay:
        """By the first motion, and by what positions tell of the velocities' filter, s."""
        late, std = FILTER, FILTER_STD
        if filters:
            late = AFTER * float(np.mean(filters))
            own = AFTER * math.hypot(deviation_of_mean(filters), TOLD_STD)
            std = math.hypot(own, AFTER_STD * late / AFTER)
        if not dead_time.identifiable:
            return cls(dead_time, late, math.hypot(0.01, std))
        return cls(dead_time, dead_time.value + late, math.hypot(dead_time.std, std))

    def from_rest(self, found: Sequence[float]) -> SysIdDelay:
        """With delays from rest of fast tests, s, where these say that motion began earlier."""
        if not found or float(np.mean(found)) >= self.total:
            return self
        std = math.hypot(deviation_of_mean(found), FROM_REST_STD)
        return SysIdDelay(self.dead_time, float(np.mean(found)), std)


def deviation_of_mean(values: Sequence[float]) -> float:
    """Standard deviation of a mean, from the spread; 0 of one value."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def seen_dead_time(voltage: Array, velocity: Array, period: float) -> float | None:
    """From the step of the voltage in a fast test to the first motion, s; None: not seen."""
    steps = np.diff(velocity)
    noise = float(np.median(np.abs(steps))) / (0.6745 * math.sqrt(2.0)) if len(steps) else 0.0
    moving = np.abs(velocity) > max(NOISE * noise, SEEN * float(np.abs(velocity).max(initial=0.0)))
    if not moving.any():
        return None
    rows = int(np.argmax(moving)) - step_row(voltage)
    return period * (rows - SEEN_LATE) if rows > 0 else None


def step_row(voltage: Array) -> int:
    """Row of a fast test from which on its voltage is there."""
    sizes = np.abs(voltage)
    return int(np.argmax(sizes > 0.5 * float(sizes.max(initial=0.0))))


def dead_time_of(found: Sequence[float], period: float) -> Value:
    """Of what fast tests tell, s; not identifiable where no row tells it."""
    if not found or max(found) > LONGEST:
        return Value("dead time", math.nan, math.inf, "s")
    own = ROWS * period / math.sqrt(len(found))
    std = math.hypot(own, deviation_of_mean(found))
    return Value("dead time", float(np.mean(found)), std, "s")


def filter_delay(velocity: Array, position: Array, period: float) -> float | None:
    """By which time velocities are later than the change of positions, s; None: not told."""
    finite = np.isfinite(position).all() and np.isfinite(velocity).all()
    if len(velocity) < LEAST_ROWS or not finite or np.ptp(position) == 0.0:
        return None
    way = np.concatenate(([0.0], np.cumsum(0.5 * (velocity[1:] + velocity[:-1])))) * period
    columns = np.column_stack((way, velocity, np.ones_like(velocity)))
    scale, late, _ = np.linalg.lstsq(columns, position, rcond=None)[0].tolist()
    if abs(scale - 1.0) > SCALE or not -period <= late <= LONGEST_FILTER:
        return None
    return max(float(late), 0.0)


def delay_from_rest(segment: AxisSegment, since: float, fit: VoltageGains) -> float | None:
    """By how much the motion that the fit tells began after the step, s; None: none does.

    Args:
        segment: of a fast test, without its start.
        since: from the step of the voltage to its first sample that counts, s.
        fit: to all tests.
    """
    first = int(np.argmax(segment.counts))
    rows = max(round(since / segment.period), 1)
    voltage = float(np.mean(np.abs(segment.command[max(first - rows, 0) : first + 1])))
    end, tau = (voltage - fit.ks) / fit.kv, fit.ka / fit.kv
    share = abs(float(fit.simulate(segment)[first])) / end if end > 0.0 else 1.0
    if not (0.0 < share < 1.0 and tau > 0.0):
        return None
    delay = since + tau * math.log1p(-share)
    return delay if -segment.period <= delay <= LONGEST else None
