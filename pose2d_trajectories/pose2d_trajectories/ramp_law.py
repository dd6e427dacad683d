"""How the path's parameter grows over time: up to a rate, on with it, and down again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from pose2d_trajectories.smooth_step import MAX_SLOPE, step, step_integral, step_slope


class Phase(NamedTuple):
    """The path's parameter p at one time, and its first and second time derivatives."""

    p: float
    dp: float
    ddp: float


def _ramp(start: float, end: float, time: float, t: float) -> Phase:
    """Phase t s after the beginning of a ramp from one rate to another that takes `time` s."""
    u, change = t / time, end - start
    return Phase(
        start * t + change * time * step_integral(u),
        start + change * step(u),
        change / time * step_slope(u),
    )


@dataclass(frozen=True)
class RampLaw:
    """A rate with smooth ramps at both ends; the unit of p is that of the path's parameter.

    Attributes:
        total: p at the end, > 0; math.inf: it never ends.
        rate: of p between the ramps, per s, > 0.
        ramp_up: time from start_rate to rate, s, >= 0.
        ramp_down: time from rate to end_rate, s, >= 0.
        start_rate: rate at t = 0, per s.
        end_rate: rate at the end, per s.
    """

    total: float
    rate: float
    ramp_up: float = 0.0
    ramp_down: float = 0.0
    start_rate: float = 0.0
    end_rate: float = 0.0

    @classmethod
    def endless(cls, rate: float, ramp_up: float = 0.0) -> RampLaw:
        """From rest in ramp_up s, then for ever; ramp_up = 0: at full rate from the start."""
        return cls(math.inf, rate, ramp_up, start_rate=0.0 if ramp_up else rate)

    @classmethod
    def timed(cls, total: float, rate: float, ramp_up: float, ramp_down: float) -> RampLaw:
        """With ramps of given times, to rest at `total`; slower where there is no way for them."""
        rate = min(rate, 2.0 * total / (ramp_up + ramp_down))
        return cls(total, rate, ramp_up, ramp_down, start_rate=0.0 if ramp_up else rate)

    @classmethod
    def between(
        cls, total: float, start: float, rate: float, end: float, acceleration: float
    ) -> RampLaw:
        """From one rate to another with ramps whose largest slope is the acceleration.

        A ramp from a to b needs (a + b) / 2 times MAX_SLOPE |b - a| / acceleration of the way,
        so that b^2 - a^2 grows with the way as in the usual trapezoid, by a smaller acceleration.

        Args:
            total: way, > 0; long enough to get from start to end.
            start: rate at the beginning, 0 <= start <= rate.
            rate: largest rate; less is reached on short ways.
            end: rate at the end, 0 <= end <= rate.
            acceleration: largest derivative of the rate, > 0.
        """
        square = 0.5 * (start * start + end * end) + acceleration / MAX_SLOPE * total
        peak = max(min(rate, math.sqrt(square)), start, end)
        up, down = (MAX_SLOPE * (peak - slow) / acceleration for slow in (start, end))
        return cls(total, peak, up, down, start, end)

    def slowed(self, factor: float) -> RampLaw:
        """The same p, with time running at `factor` (0 to 1) of its speed."""
        return RampLaw(
            self.total,
            self.rate * factor,
            self.ramp_up / factor,
            self.ramp_down / factor,
            self.start_rate * factor,
            self.end_rate * factor,
        )

    @property
    def duration(self) -> float:
        """Time until the end, s; math.inf when there is none."""
        ramps = 0.5 * (
            (self.start_rate + self.rate) * self.ramp_up
            + (self.end_rate + self.rate) * self.ramp_down
        )
        # Rounding may leave less than nothing between two ramps that fill the way.
        return self.ramp_up + max(self.total - ramps, 0.0) / self.rate + self.ramp_down

    def at(self, t: float) -> Phase:
        """Phase at time t, s; at rest before 0, at the end from `duration` on."""
        if t < 0.0:
            return Phase(0.0, 0.0, 0.0)
        rest = self.duration - t
        if rest <= 0.0:
            return Phase(self.total, self.end_rate, 0.0)
        if t < self.ramp_up:
            return _ramp(self.start_rate, self.rate, self.ramp_up, t)
        if rest < self.ramp_down:
            # Seen from the end, so that the end is met exactly.
            p, dp, ddp = _ramp(self.end_rate, self.rate, self.ramp_down, rest)
            return Phase(self.total - p, dp, -ddp)
        way = 0.5 * (self.start_rate + self.rate) * self.ramp_up
        return Phase(way + self.rate * (t - self.ramp_up), self.rate, 0.0)
