# SPDX-License-Identifier: Apache-2.0
"""A velocity-commanded robot under the velocity tracking controller, without a ROS graph.

The tracker receives only odometry, never the true pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arc_odometry import Pose
from arc_odometry.number_range import Array
from diffbot_controllers.laws.tracking_errors import TrackingErrors, inside_from
from diffbot_controllers.velocity_tracking.law import VelocityTracker, pose_error
from diffbot_description.sigma import Sigma
from diffbot_sim.velocity_robot import VelocityOdometry, VelocityRobot
from diffbot_sim.virtual_robot import periods_in
from diffbot_study.driving import PERIOD
from pose2d_trajectories import Reference, Trajectory

if TYPE_CHECKING:  # imports SciPy, three quarters of the time to import this package
    from diffbot_ident.velocity.sigma_fit import RecursiveFit


@dataclass(frozen=True)
class VelocityDrive:
    """Samples of one run at the n control instants; m, rad and s, shape (n, columns).

    Attributes:
        pose, velocity: True x, y, theta and v, omega.
        odometry, measured: The same as the tracker receives them.
        command: Commands of v and omega for the period that begins.
        reference: x, y, theta, v, omega.
        sigma: Parameters in use, [sigma1, sigma2, sigma3, sigma4].
        estimate: Parameters of the estimator, trusted or not; sigma if there is no estimator.
    """

    time: Array
    pose: Array
    odometry: Array
    velocity: Array
    measured: Array
    command: Array
    reference: Array
    sigma: Array
    estimate: Array

    @property
    def true(self) -> TrackingErrors:
        """Errors of the true pose: settling_time, rms(since), largest(since)."""
        return TrackingErrors.between(self.time, self.pose, self.reference[:, :3])

    @property
    def by_odometry(self) -> TrackingErrors:
        """Errors of the pose by odometry, which the tracker receives."""
        return TrackingErrors.between(self.time, self.odometry, self.reference[:, :3])

    def errors(self, *, true: bool = True) -> Array:
        """Return [e_x, e_y, e_theta] of (9) and [e_v, e_omega], reference minus robot, (n, 5).

        They are those of the true pose and velocity, or of those that the tracker receives.
        """
        poses, velocities = (self.pose, self.velocity) if true else (self.odometry, self.measured)
        rows = [
            pose_error(Reference(*wanted), Pose(*pose))
            for wanted, pose in zip(self.reference, poses, strict=True)
        ]
        return np.column_stack((np.array(rows), self.reference[:, 3:] - velocities))

    def within_from(self, band: Sequence[float]) -> float:
        """Return the time from which the first true errors stay within +-band, s; inf if never.

        Args:
            band: Limits of the first m columns of `errors`, shape (m,).
        """
        outside = np.abs(self.errors()[:, : len(band)]) > np.asarray(band)
        return inside_from(self.time, outside.any(axis=1))


def simulate_velocity_drive(
    robot: VelocityRobot,
    tracker: VelocityTracker,
    trajectory: Trajectory,
    duration: float,
    *,
    estimator: RecursiveFit | None = None,
    encoder_counts: int = 0,
    velocity_noise: tuple[float, float] = (0.0, 0.0),
    seed: int = 0,
    period: float = PERIOD,
    new_sigma: tuple[float, Sigma] | None = None,
) -> VelocityDrive:
    """Place the robot at rest on the trajectory's first pose and drive it; see simulate_drive.

    Args:
        robot: Simulated robot, which is reset.
        tracker: Tracker, new or reset.
        trajectory: Trajectory to follow, from t = 0.
        estimator: The tracker's estimator, for `estimate`, if it has one.
        velocity_noise: Standard deviations of the measured (v, omega), m/s and rad/s.
        new_sigma: Time in s, and the robot's true sigma from then on, such as with a load.
    """
    first = trajectory.at(0.0)
    robot.reset((first.x, first.y, first.theta))
    sensor = VelocityOdometry(
        robot, period, counts=encoder_counts, velocity_noise=velocity_noise, seed=seed
    )
    rows: list[tuple[float, ...]] = []
    for k in range(periods_in("duration", duration, period)):
        t = k * period
        if new_sigma is not None and t >= new_sigma[0]:
            robot.sigma, new_sigma = new_sigma[1], None
        wanted = trajectory.at(t)
        pose, velocity = sensor.read()

        def after(late: float, now: float = t) -> Reference:
            return trajectory.at(now + late)

        command = tracker.update(t, wanted, pose, velocity, ahead=after)
        sigma = tracker.sigma.as_array()
        rows.append(
            (t, *robot.pose(), *pose, *robot.velocity(), *velocity, *command)
            + (wanted.x, wanted.y, wanted.theta, wanted.v, wanted.omega, *sigma)
            + tuple(sigma if estimator is None else estimator.values)
        )
        robot.step(command, period)
    columns = np.array(rows)
    return VelocityDrive(
        columns[:, 0], *np.split(columns[:, 1:], (3, 6, 8, 10, 12, 17, 21), axis=1)
    )
