# SPDX-License-Identifier: Apache-2.0
"""Braking to rest at the end of an identification."""

from __future__ import annotations

from arc_odometry import WheelGeometry
from arc_odometry.number_range import within

# Maximum time of braking, s; a robot that still rolls then gets zero torque.
MAX_BRAKING = 2.0
# Wheel speed below which the robot counts as standing, rad/s.
STANDING = 0.2
# Share of a wheel's speed that one period of braking may remove: more could oscillate with a delay.
MAX_DECAY = 0.15


class BrakingToRest:
    """Brakes a robot to rest, so that it does not roll out of its room after the run.

    Args:
        max_torque: Maximum braking torque, N m.
        k7, k8: 1/(kg m) and 1/(kg m^2).
    """

    def __init__(self, geometry: WheelGeometry, max_torque: float, k7: float, k8: float) -> None:
        self._geometry = geometry
        self._max_torque = max_torque
        r = 0.5 * (geometry.left_radius + geometry.right_radius)
        # Of a wheel, per unit of its own torque.
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
