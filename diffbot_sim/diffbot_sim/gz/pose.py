"""True pose and velocity of a robot from the poses that Gazebo's odometry publisher gives."""

from __future__ import annotations

import math

# Poses further apart than this give no velocity, s.
LONGEST_GAP = 0.1


def angle_at_speed(angle: float, speed: float, step: float) -> float:
    """Angle (rad) at the time of a speed (rad/s), where the physics' are half a step (s) ahead."""
    return angle - 0.5 * step * speed


def yaw(z: float, w: float) -> float:
    """Heading, rad, of a level quaternion (0, 0, z, w)."""
    return 2.0 * math.atan2(z, w)


class GzPose:
    """Sets poses back by half a step of the physics (see topics.py) and derives velocities.

    Gazebo's own velocities are not used: where the heading passes ±pi, its yaw rate is wrong by
    hundreds of rad/s for some samples.

    Args:
        step: of the physics, s.
    """

    def __init__(self, step: float) -> None:
        self._step = step
        self._last: tuple[float, float, float, float] | None = None

    def update(
        self, stamp: float, x: float, y: float, theta: float
    ) -> tuple[tuple[float, float, float], tuple[float, float]]:
        """Take the pose that Gazebo gives for a time.

        Args:
            stamp: s.
            x: m.
            y: m.
            theta: rad, may be wrapped.

        Returns:
            (x, y, theta) at that time, and the velocity (m/s forward, rad/s) since the last pose;
            0 where there is none within 0.1 s.
        """
        last, self._last = self._last, (stamp, x, y, theta)
        if last is None or not 0.0 < stamp - last[0] <= LONGEST_GAP:
            return (x, y, theta), (0.0, 0.0)
        period = stamp - last[0]
        vx, vy = (x - last[1]) / period, (y - last[2]) / period
        omega = math.remainder(theta - last[3], math.tau) / period
        middle = theta - 0.5 * omega * period
        back = 0.5 * self._step
        pose = (x - back * vx, y - back * vy, theta - back * omega)
        return pose, (vx * math.cos(middle) + vy * math.sin(middle), omega)
