"""A speed loop for [V, Vn, W]: PI, a voltage for each wheel by (12), duty steps of the motors.

    u = A (Kp e + Ki integral of e),   e = [V, Vn, W] wanted - read,   A the matrix of (12)

Each wheel sees the error of its own rim speed. The integral is of the body's three velocities, not
of four wheels' speeds: with a fourth one the noise would let the wheels work against each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffbot_ident.omni.kinematics import Array, wheel_velocities
from diffbot_ident.omni.robot import OmniRobot


@dataclass(frozen=True)
class SpeedGains:
    """Gains of the loop. The paper prints none; these settle in a second and saturate as it shows.

    Attributes:
        proportional: Kp, V/(m/s) at the rim.
        integral: Ki, V/m at the rim.
    """

    proportional: float = 60.0
    integral: float = 130.0


class SpeedLoop:
    """The loop of any number of robots at once.

    Args:
        robot: that is driven.
        period: between two calls, s.
        gains: of the loop.
    """

    def __init__(self, robot: OmniRobot, period: float, gains: SpeedGains | None = None) -> None:
        self._robot, self._period = robot, period
        self._gains = gains or SpeedGains()
        self._integral: Array | float = 0.0

    def update(self, wanted: Array, read: Array) -> Array:
        """Duty of the motors in steps, (..., 4), for [V, Vn, W] wanted and read, (..., 3)."""
        robot, gains = self._robot, self._gains
        error = wanted - read
        integral = self._integral + self._period * error
        voltage = wheel_velocities(
            gains.proportional * error + gains.integral * integral, robot.wheel_distance
        )
        # While a motor gives all it has, more integral would only be overshoot later.
        free = np.all(np.abs(voltage) < robot.motor.supply, axis=-1, keepdims=True)
        self._integral = np.where(free, integral, self._integral)
        return robot.motor.duty(voltage)
