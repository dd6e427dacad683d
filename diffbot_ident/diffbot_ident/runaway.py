# SPDX-License-Identifier: Apache-2.0
"""Speed limits of an identification, when a robot runs away, and braking to rest at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import WheelGeometry
from arc_odometry.number_range import within

# Tolerance for rounding errors of the stamps, s.
ROUNDING = 1e-6
# Share, and time, s, beyond a speed limit with which a robot runs away; before, it is braked.
RUNAWAY_FRACTION = 0.25
RUNAWAY_TIME = 0.5


@dataclass(frozen=True)
class RunawayLimits:
    """Speed limits of a run.

    The first sample beyond one is refused, then only braking torques are commanded. The run ends at
    an excess of RUNAWAY_FRACTION, or after RUNAWAY_TIME.

    Attributes:
        velocity, yaw_rate: Limits, m/s and rad/s; `wheel_speed`: of a wheel, rad/s.
        torque: Maximum braking torque, N m.
        robot: Name of the robot, for messages.
    """

    velocity: float
    yaw_rate: float
    torque: float
    robot: str
    wheel_speed: float = math.inf


class RunawayWatch:
    """Watches the speeds of the robot and of its wheels."""

    def __init__(self, limits: RunawayLimits, geometry: WheelGeometry) -> None:
        self._limits, self._geometry = limits, geometry
        # The first of the current samples beyond a limit, s.
        self._too_fast_since: float | None = None

    def reset(self) -> None:
        self._too_fast_since = None

    def check(self, stamp: float, velocity: tuple[float, float]) -> str | None:
        """Return why the run has to end; a smaller excess of speed only limits the torques.

        Raises:
            ValueError: The sample is the first one beyond a limit.
        """
        beyond = self._beyond_limits(velocity)
        if beyond is None:
            self._too_fast_since = None
            return None
        fraction, text = beyond
        if self._too_fast_since is None:
            self._too_fast_since = stamp
            # A driver that was blocked causes one apparent jump.
            raise ValueError(text)
        lasted = stamp - self._too_fast_since
        if fraction > RUNAWAY_FRACTION or lasted >= RUNAWAY_TIME - ROUNDING:
            return text
        return None

    def limited(
        self, torque: tuple[float, float], velocity: tuple[float, float]
    ) -> tuple[float, float]:
        """Return wheel torques, N m; beyond a limit only those that slow their wheel down."""
        if self._too_fast_since is None:
            return torque
        speeds = self._geometry.wheel_velocity(*velocity)
        left, right = (t if t * w <= 0.0 else 0.0 for t, w in zip(torque, speeds, strict=True))
        return left, right

    def _beyond_limits(self, velocity: tuple[float, float]) -> tuple[float, str] | None:
        """Return the largest relative excess and its message; None if within."""
        limits, excitation = self._limits, "for its excitation"
        fastest = max(self._geometry.wheel_velocity(*velocity), key=abs)
        fraction, name, value, limit, unit, whose = max(
            (abs(value) / limit - 1.0, name, value, limit, unit, whose)
            for name, value, limit, unit, whose in (
                ("velocity", velocity[0], limits.velocity, "m/s", excitation),
                ("yaw rate", velocity[1], limits.yaw_rate, "rad/s", excitation),
                ("speed of a wheel", fastest, limits.wheel_speed, "rad/s", "for its wheels"),
            )
        )
        if fraction <= 0.0:
            return None
        return fraction, (
            f"{name} {value:.3g} {unit} is beyond the limit {limit:g} {unit} of robot "
            f"'{limits.robot}' {whose}; lower amplitude, or raise the limit in its YAML"
        )


# Maximum time of braking, s; a robot that still rolls then gets zero torque.
MAX_BRAKING = 2.0
# Wheel speed below which the robot counts as standing, rad/s.
STANDING = 0.2
# Share of a wheel's speed that one period of braking may remove: more could oscillate with a delay.
MAX_DECAY = 0.15


class BrakingToRest:
    """Brakes a robot to rest, with at most this torque, N m; k7 in 1/(kg m), k8 in 1/(kg m^2)."""

    def __init__(self, geometry: WheelGeometry, max_torque: float, k7: float, k8: float) -> None:
        self._geometry = geometry
        self._max_torque = max_torque
        r = 0.5 * (geometry.left_radius + geometry.right_radius)
        self._gain = (k7 - geometry.half_track * k8) / r
        self._left = MAX_BRAKING

    def is_over(self, velocity: tuple[float, float] | None, period: float) -> bool:
        """Whether the robot stands (None: not known) or was braked for long enough; period, s."""
        self._left -= period
        if self._left < 0.0:
            return True
        if velocity is None:
            return False
        return max(map(abs, self._geometry.wheel_velocity(*velocity))) < STANDING

    def torque(self, velocity: tuple[float, float], period: float) -> tuple[float, float]:
        """Return the torques [left, right], N m, for a control period, s, > 0."""
        most = self._max_torque
        left, right = (
            within(-MAX_DECAY * speed / (self._gain * period), most)
            for speed in self._geometry.wheel_velocity(*velocity)
        )
        return left, right
