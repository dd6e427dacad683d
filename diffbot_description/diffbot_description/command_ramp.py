# SPDX-License-Identifier: Apache-2.0
"""Limits of acceleration that a driver, or a smoother before it, puts on velocity commands."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from arc_odometry import Velocity
from arc_odometry.number_range import within

UNLIMITED = Velocity(math.inf, math.inf)


class RampCoupling(str, Enum):
    """How the limits act: on each axis, on both alike so that they arrive at once, or on wheels."""

    OWN = "own"
    SCALED = "scaled"
    WHEELS = "wheels"


@dataclass(frozen=True)
class CommandRamp:
    """Limits of the change of the commands of (v, omega), m/s^2 and rad/s^2; infinite: none.

    Attributes:
        speeding, braking: While their size grows, or falls, > 0.
        coupling: How both axes act together; WHEELS needs finite limits.
        before_band: Whether the ramp comes before the dead bands, as a smoother's does.

    Raises:
        ValueError: A limit is not > 0.

    Example:
        >>> ramp = CommandRamp(Velocity(0.5, 2.0), Velocity(1.0, 2.0))
        >>> ramp.after(Velocity(0.0, 0.0), Velocity(1.0, 0.1), 0.1)
        Velocity(v=0.05, omega=0.1)
    """

    speeding: Velocity
    braking: Velocity
    coupling: RampCoupling = RampCoupling.OWN
    before_band: bool = False

    def __post_init__(self) -> None:
        for what, limits in (("acceleration", self.speeding), ("deceleration", self.braking)):
            for axis, unit, limit in zip(Velocity._fields, ("m/s²", "rad/s²"), limits, strict=True):
                if not limit > 0.0:
                    raise ValueError(
                        f"{what} limit of {axis} = {limit} {unit}: must be > 0; .inf for none"
                    )
        if self.coupling is RampCoupling.WHEELS and not all(map(math.isfinite, self.speeding)):
            raise ValueError(
                f"acceleration limits {self.speeding.v} m/s², {self.speeding.omega} rad/s²: must "
                "be finite for a limit of the wheels"
            )

    @property
    def slowest(self) -> Velocity:
        """The smaller limit of each axis, m/s^2 and rad/s^2."""
        return Velocity(*map(min, self.speeding, self.braking))

    def after(self, now: Velocity, target: Velocity, duration: float) -> Velocity:
        """Return what the ramp has made of a command, m/s and rad/s, `duration` s later."""
        if self.coupling is RampCoupling.SCALED:
            lasts = max(
                abs(aim - at) / (up if abs(aim) > abs(at) else down)
                for at, aim, up, down in zip(now, target, self.speeding, self.braking, strict=True)
            )
            fraction = min(duration / lasts, 1.0) if lasts > 0.0 else 1.0
            v, omega = (at + fraction * (aim - at) for at, aim in zip(now, target, strict=True))
            return Velocity(v, omega)
        if self.coupling is RampCoupling.WHEELS:
            return self._wheels_after(now, target, duration)
        limits = zip(now, target, self.speeding, self.braking, strict=True)
        return Velocity(*(_after(*each, duration) for each in limits))

    def _wheels_after(self, now: Velocity, target: Velocity, duration: float) -> Velocity:
        lever = self.speeding.v / self.speeding.omega
        left, right = (
            _after(
                now.v + side * now.omega,
                target.v + side * target.omega,
                self.speeding.v,
                self.braking.v,
                duration,
            )
            for side in (-lever, lever)
        )
        return Velocity(0.5 * (left + right), 0.5 * (right - left) / lever)


def _after(now: float, target: float, speeding: float, braking: float, duration: float) -> float:
    if now * target < 0.0:
        rests = abs(now) / braking
        if rests >= duration:
            return now - math.copysign(braking * duration, now)
        now, duration = 0.0, duration - rests
    limit = speeding if abs(target) > abs(now) else braking
    return now + within(target - now, limit * duration)
