# SPDX-License-Identifier: Apache-2.0
"""When an estimate is precise enough to end an excitation (`until`), of torques and velocities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from diffbot_ident.estimate import NAMES, NORMAL_95, Estimate, EstimateState
from diffbot_ident.until import torque_limits, velocity_limits


@dataclass(frozen=True)
class Precision:
    """Precision at which an identification may stop: half widths of the 95 % intervals.

        >>> Precision.parse("K5 5% K7 1%").limits
        {'k5': 0.05, 'k7': 0.01}

    Attributes:
        limits: Largest half width relative to the value, for parameters "k5" to "k8", each > 0.
    """

    limits: dict[str, float]

    @classmethod
    def parse(cls, text: str) -> Precision | None:
        limits = torque_limits(text)
        return None if limits is None else cls(limits)

    def is_reached(self, estimate: Estimate) -> bool:
        """Whether all are precise enough; K5 and K6 of a centre of mass on the axle always are."""
        if estimate.state is not EstimateState.ESTIMATED:
            return False
        for name, value, variance in zip(NAMES, estimate.values, estimate.variances, strict=True):
            half = NORMAL_95 * math.sqrt(variance)
            limit = self.limits.get(name, math.inf)
            if math.isfinite(half) and half > limit * abs(value):
                return False
        return True


# Robot time before which no precision of a velocity robot counts as reached, s: in it all sizes of
# command are driven.
MIN_TIME = 20.0


class Estimated(NamedTuple):
    """A value and its standard deviation, infinite or NaN where it is not known."""

    value: float
    std: float

    @property
    def half_width(self) -> float:
        return NORMAL_95 * self.std


@dataclass(frozen=True)
class AxisQuantities:
    """What is known of an axis: time_constant, s, gain and dead_time, s.

    `reason`: why the values may not be used; empty if they may.
    """

    time_constant: Estimated
    gain: Estimated
    dead_time: Estimated
    reason: str = ""


@dataclass(frozen=True)
class VelocityPrecision:
    """Precision at which an excitation may end: half widths of the 95 % intervals of both axes.

        >>> VelocityPrecision.parse("gain 1% dead_time 10ms").limits
        {'gain': 0.01, 'dead_time': 0.01}

    Attributes:
        limits: Of time_constant and gain relative to the value, of dead_time in s, each > 0.
    """

    limits: dict[str, float]

    @classmethod
    def parse(cls, text: str) -> VelocityPrecision | None:
        limits = velocity_limits(text)
        return None if limits is None else cls(limits)

    def is_reached(self, axes: tuple[AxisQuantities, AxisQuantities]) -> bool:
        for axis in axes:
            for name, limit in self.limits.items():
                value, half = getattr(axis, name).value, getattr(axis, name).half_width
                if axis.reason or not half <= limit * (1.0 if name == "dead_time" else value):
                    return False
        return True
