"""What a velocity-commanded robot's odometry says: pose and velocity with the sensors' errors."""

from __future__ import annotations

import math

import numpy as np

from arc_odometry import Arc, Pose, WheelGeometry
from diffbot_sim.encoders import Encoders
from diffbot_sim.velocity_robot import VelocityRobot


class VelocityOdometry:
    """Reads a VelocityRobot once per period.

    The wheels' encoders give the pose by dead reckoning, and the velocity as its mean over the last
    period. Noise is added to what they give.

    Args:
        robot: to read; at rest, at the pose that odometry begins with.
        period: between two readings, s, > 0.
        geometry: of the wheels, for the encoders.
        counts: of the encoders per turn of a wheel; 0: exact pose, and velocity at the instant.
        velocity_noise: standard deviations of (v, omega), m/s and rad/s, >= 0.
        pose_noise: standard deviations of (x, y, theta), m and rad, >= 0, as of a tracking camera.
        seed: of noise and encoders, >= 0; equal seeds give equal readings.

    Raises:
        ValueError: an argument is outside its range.
    """

    def __init__(
        self,
        robot: VelocityRobot,
        period: float,
        geometry: WheelGeometry = WheelGeometry(0.0352, 0.0352, 0.23),  # noqa: B008  (frozen)
        *,
        counts: int = 0,
        velocity_noise: tuple[float, float] = (0.0, 0.0),
        pose_noise: tuple[float, float, float] = (0.0, 0.0, 0.0),
        seed: int = 0,
    ) -> None:
        for name, noise in (("velocity_noise", velocity_noise), ("pose_noise", pose_noise)):
            if not all(0.0 <= deviation < math.inf for deviation in noise):
                raise ValueError(f"{name} = {noise}: must be finite and >= 0")
        self._robot, self._geometry = robot, geometry
        self._exact = counts == 0
        self._encoders = Encoders(counts, period, seed)
        self._noise = (*velocity_noise, *pose_noise)
        self._generator = np.random.default_rng((seed, 1))
        self.reset()

    def reset(self) -> None:
        """Begin with the robot's true pose, as after a stop there."""
        self._pose = Pose(*self._robot.pose())
        self._angles = None
        self._encoders.reset(self._true_angles())

    def read(self) -> tuple[tuple[float, float, float], tuple[float, float]]:
        """Measured pose (x, y in m, theta in rad) and velocity (v in m/s, omega in rad/s)."""
        if self._exact:
            pose, velocity = self._robot.pose(), self._robot.velocity()
        else:
            angles, speeds = self._encoders.read(self._true_angles(), (0.0, 0.0))
            before = self._angles or angles
            turned = (angles[0] - before[0], angles[1] - before[1])
            self._pose = Arc(*self._geometry.body_velocity(*turned)).end(self._pose)
            self._angles = angles
            pose, velocity = self._pose, self._geometry.body_velocity(*speeds)
        if not any(self._noise):
            return tuple(pose), tuple(velocity)
        values = (*velocity, *pose) + self._generator.standard_normal(5) * self._noise
        v, omega, x, y, theta = values.tolist()
        return (x, y, theta), (v, omega)

    def _true_angles(self) -> tuple[float, float]:
        # Positions turn into each other as velocities do.
        return self._geometry.wheel_velocity(self._robot.way, self._robot.pose()[2])
