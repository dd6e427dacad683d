"""How the robot moves, from what its wheels say."""

from __future__ import annotations

from typing import NamedTuple

from arc_odometry import DiffOdometry, JointOdometry, JointSample, Oddity, WheelGeometry
from arc_odometry.diff_odometry import MAX_WHEEL_SPEED
from diffbot_controllers.motion import State, Torque, Velocity

# A longer time between two samples tells nothing about the velocity at its end, s.
LONGEST_PERIOD = 0.2


class Reading(NamedTuple):
    """What a joint sample told.

    Attributes:
        state: for a law; None where the sample is a new beginning or was left out.
        dt: time since the sample before, s.
        oddity: what was wrong with the sample; None where nothing was.
    """

    state: State | None
    dt: float
    oddity: Oddity | None


class WheelFeedback:
    """Pose by exact arc odometry and velocity, from the joint samples of a robot.

    Args:
        geometry: radii and separation of the wheels.
        start: pose at the first sample, m, m, rad, in the odom frame.
        path_noise: variance of a wheel's path per path driven, m^2/m, >= 0; see DiffOdometry.
        from_angles: whether velocities are differences of the wheels' angles, means over the
            period that ends; else the speeds that the joint states report.
        max_wheel_speed: faster changes of a wheel's angle are jumps of its encoder, rad/s, > 0.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        start: tuple[float, float, float] = (0.0, 0.0, 0.0),
        path_noise: float = 0.0,
        from_angles: bool = True,
        max_wheel_speed: float = MAX_WHEEL_SPEED,
    ) -> None:
        self.odometry = DiffOdometry(geometry, path_noise, max_wheel_speed, start)
        self._samples = JointOdometry(self.odometry, LONGEST_PERIOD)
        self._from_angles = from_angles

    def update(self, sample: JointSample, torque: Torque) -> Reading:
        """Take in a sample.

        Args:
            sample: the wheels.
            torque: commanded for the period that ends with the sample, [left, right], N m.

        Raises:
            ValueError: angles or stamp are not finite; nothing has changed then.
        """
        before = self.odometry.time
        oddity = self._samples.update(sample)
        if oddity is not None or before is None or self.odometry.time == before:
            return Reading(None, 0.0, oddity)
        velocity = self.odometry.velocity
        if not self._from_angles:
            velocity = self.odometry.geometry.body_velocity(*sample.velocity)
        state = State(self.odometry.pose, Velocity(*velocity), torque)
        return Reading(state, sample.stamp - before, None)
