# SPDX-License-Identifier: Apache-2.0
"""Motion of the robot as input of a control law: from wheel samples to the present state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from arc_odometry import (
    REST,
    Anomaly,
    DiffOdometry,
    JointOdometry,
    JointSample,
    Pose,
    Velocity,
    WheelGeometry,
)
from arc_odometry.number_range import check_finite
from arc_odometry.odometry import MAX_WHEEL_SPEED
from diffbot_description import Torque

NO_TORQUE: Torque = (0.0, 0.0)


@dataclass(frozen=True)
class State:
    """Motion of the robot at one control instant, as measured; its numbers are finite (ValueError).

    Example:
        >>> State(Pose(0.0, 0.0, 0.0), Velocity(0.5, 0.0), torque=(0.2, 0.2)).velocity.v
        0.5

    Attributes:
        pose: In the odom frame, m and rad; theta may count whole turns.
        velocity: At this instant, or the mean over the interval that ends now; each law is made for
            one of them.
        torque: Acted over that interval, [left, right], N m. None: as commanded by the law.
    """

    pose: Pose
    velocity: Velocity
    torque: Torque | None = None

    def __post_init__(self) -> None:
        check_finite("state", x=self.pose.x, y=self.pose.y, theta=self.pose.theta)
        check_finite("state", v=self.velocity.v, omega=self.velocity.omega)
        if self.torque is not None:
            check_finite("state", torque_left=self.torque[0], torque_right=self.torque[1])


class ObservedMotion(NamedTuple):
    """Estimated motion of the robot.

    Attributes:
        bias: Acceleration that the model does not explain, m/s^2 and rad/s^2.
        stuck: Whether friction holds both wheels.
    """

    pose: Pose
    velocity: Velocity
    bias: Velocity = REST
    stuck: bool = False


# Longest time between two samples, s.
LONGEST_PERIOD = 0.2


class Reading(NamedTuple):
    """Result of a joint sample, dt s after the previous one.

    `state` is None at a new start, or if the sample was skipped; `anomaly` for a regular one.
    """

    state: State | None
    dt: float
    anomaly: Anomaly | None


class OdometryCorrection(Protocol):
    """Correction of the odometry by later information; see count_offsets.FirstReading."""

    @property
    def is_done(self) -> bool:
        """Whether the correction is complete."""

    def begin(self, odometry: DiffOdometry) -> None:
        """Process the first reading."""

    def update(self, odometry: DiffOdometry, torque: Torque, dt: float) -> None:
        """Process a later reading, with the torque (N m) commanded since the previous one, dt s."""


class WheelFeedback:
    """Computes pose, by exact arc odometry, and velocity from the joint samples of a robot.

    Args:
        start: Pose at the first sample, m, m, rad, in the odom frame.
        path_noise: Variance of a wheel's path per path driven, m^2/m, >= 0.
        from_angles: Whether velocities are means from the wheel angles, else those reported.
        max_wheel_speed: Faster changes of a wheel's angle are encoder jumps, rad/s, > 0.
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
        self._correction: OdometryCorrection | None = None

    def correct_by(self, correction: OdometryCorrection | None) -> None:
        """Set the correction of the odometry, before the first sample."""
        if self.odometry.time is None:
            self._correction = correction

    def update(self, sample: JointSample, torque: Torque) -> Reading:
        """Process a sample, for whose period `torque` was commanded, [left, right], N m.

        Raises:
            ValueError: Angles or stamp are not finite; nothing has changed then.
        """
        before = self.odometry.time
        anomaly = self._samples.update(sample)
        if self._correction is not None:
            self._correct(self._correction, before, anomaly, torque)
        if anomaly is not None or before is None or self.odometry.time == before:
            return Reading(None, 0.0, anomaly)
        velocity = self.odometry.velocity
        if not self._from_angles:
            velocity = Velocity(*self.odometry.geometry.body_velocity(*sample.velocity))
        state = State(self.odometry.pose, velocity, torque)
        return Reading(state, sample.stamp - before, None)

    def _correct(
        self,
        correction: OdometryCorrection,
        before: float | None,
        anomaly: Anomaly | None,
        torque: Torque,
    ) -> None:
        now = self.odometry.time
        if before is None:
            correction.begin(self.odometry)
        elif now is not None and now > before and anomaly is None:
            correction.update(self.odometry, torque, now - before)
        if anomaly is not None or correction.is_done:
            self._correction = None


def check_period(dt: float) -> None:
    """Raise a ValueError unless a period, s, is finite and > 0."""
    if not 0.0 < dt < math.inf:
        raise ValueError(
            f"dt = {dt} s: must be finite and > 0; give the time since the last update"
        )
