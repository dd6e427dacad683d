"""Bringing a robot to rest, so that it does not roll out of its room when let go."""

from __future__ import annotations

from arc_odometry import WheelGeometry

# Longest braking, s; a robot that rolls on then is let go.
LONGEST = 2.0
# Wheel speed that counts as standing, rad/s.
STANDING = 0.2
# Share of a wheel's speed that one period of braking may take away: more could swing with a delay.
SHARE = 0.15


class Stopping:
    """Brakes both wheels.

    Args:
        geometry: of the wheels.
        torque: largest, N m, > 0.
        k7: as identified or described, > 0.
        k8: as identified or described, < 0.
    """

    def __init__(self, geometry: WheelGeometry, torque: float, k7: float, k8: float) -> None:
        self._geometry = geometry
        self._most = torque
        r = 0.5 * (geometry.left_radius + geometry.right_radius)
        # What a wheel gains by its own torque, from v' and omega' of (41).
        self._gain = (k7 - geometry.half_track * k8) / r
        self._left = LONGEST

    def is_over(self, velocity: tuple[float, float] | None, period: float) -> bool:
        """Whether the robot stands or has been braked for long enough; call once a period.

        Args:
            velocity: of the body, m/s and rad/s; None where it is not known, as after a sample
                that was refused: nobody may say then that the robot stands.
            period: since the last call, s, >= 0.
        """
        self._left -= period
        if self._left < 0.0:
            return True
        if velocity is None:
            return False
        return max(map(abs, self._geometry.wheel_velocity(*velocity))) < STANDING

    def torque(self, velocity: tuple[float, float], period: float) -> tuple[float, float]:
        """Torques [left, right], N m.

        Args:
            velocity: of the body, m/s and rad/s.
            period: control period, s, > 0.
        """
        left, right = (
            max(-self._most, min(self._most, -SHARE * speed / (self._gain * period)))
            for speed in self._geometry.wheel_velocity(*velocity)
        )
        return left, right
