# SPDX-License-Identifier: Apache-2.0
"""The robot of long_run.py that accepts velocity commands."""

from __future__ import annotations

import math

import numpy as np
from long_run_watch import Intervals, Report, Troubles

from arc_odometry import JointSample, Pose
from arc_odometry import Velocity as BodyVelocity
from arc_odometry.odometry_checks import (
    OdometrySample,
    OdometryStamps,
)
from diffbot_controllers.velocity_tracking.law import TrackerSettings, VelocityTracker
from diffbot_description.sigma import Sigma
from diffbot_ident.velocity.sigma_fit import RecursiveFit, RecursiveSettings
from diffbot_papers.siwek2023_experiments import (
    COMMAND_NOISE,
    COUNTS,
    DEAD_TIME,
    TRUE,
    TURTLEBOT_LIMITS,
    figure_eight,
)
from diffbot_sim.velocity_robot import VelocityOdometry, VelocityRobot


class Velocity:
    """The velocity tracker with on-line identification of sigma."""

    LOADED, SETTLED, LOOK = 1200, 240, 120  # s

    def __init__(self, seed: int, period: float, steps: int) -> None:
        self.report, self.period, self.step = Report(), period, 0
        self.random = np.random.default_rng((seed, 6))
        self.robot = VelocityRobot(
            TRUE, dead_time=DEAD_TIME, command_noise=COMMAND_NOISE, seed=seed
        )
        self.trajectory = figure_eight()
        first = self.trajectory.at(0.0)
        self.robot.reset((first.x, first.y, first.theta))
        self.odometry = VelocityOdometry(self.robot, period, counts=COUNTS, seed=seed)
        late = DEAD_TIME + 0.5 * period
        self.fit = RecursiveFit(TRUE, None, RecursiveSettings(dead_time=(late, late)))
        settings = TrackerSettings(limits=TURTLEBOT_LIMITS, dead_time=DEAD_TIME)
        self.tracker = VelocityTracker(settings, TRUE, self.fit)
        self.stamps = OdometryStamps(0.5)
        self.troubles = Troubles(seed, period, steps)
        self.command = (0.0, 0.0)
        self.seconds = self.since_load = 0
        self.errors: list[float] = []

    def advance(self) -> None:
        """Run one control period."""
        pose, velocity = self.odometry.read()
        # A joint sample carries the odometry, so that Troubles can apply the same sample faults.
        sample = JointSample(self.step * self.period, (pose[0], pose[1]), velocity, (pose[2], 0.0))
        arrived = self.troubles.pass_on(sample)
        if not arrived:
            self._hold()
        for sample in arrived:
            self._answer(sample)
        limits = TURTLEBOT_LIMITS
        for value, limit in zip(
            self.command, (limits.linear_velocity, limits.angular_velocity), strict=True
        ):
            self.report.demand(math.isfinite(value) and abs(value) <= limit, "command beyond limit")
        self.robot.step(self.command, self.period)
        self.step += 1

    def _hold(self) -> None:
        self.command = (0.0, 0.0)
        self.tracker.reset()
        self.fit.interrupt()

    def _answer(self, sample: JointSample) -> None:
        try:
            pose = Pose(*sample.position, sample.effort[0])
            odometry = OdometrySample(sample.stamp, pose, BodyVelocity(*sample.velocity))
            if self.stamps.check(sample.stamp) is not None:
                self._hold()
                return
            t = self.step * self.period
            wanted, ahead = self.trajectory.at(t), self.trajectory.at(t + DEAD_TIME)
            self.command = self.tracker.update(
                odometry.stamp, wanted, odometry.pose, odometry.velocity, self.command, ahead
            )
        except ValueError:
            self.report.count("refused by the tracker")
            self._hold()

    def look(self) -> None:
        """Run the checks of every second."""
        self.seconds += 1
        self.since_load += 1
        for name, axis in zip(("v", "omega"), self.fit.axes, strict=True):
            recursion = axis.recursion
            self.report.covariance(f"recursive fit P {name}", recursion.p)
            self.report.covariance(f"recursive fit covariance {name}", recursion.covariance)
        self.report.demand(bool(np.isfinite(self.fit.values).all()), "sigma not finite")
        wanted = self.trajectory.at(self.step * self.period)
        self.errors.append(math.dist((wanted.x, wanted.y), self.robot.pose()[:2]))
        if self.seconds % self.LOADED == 0:
            s, factors = TRUE, self.random.uniform(1.0, 1.5, 2)
            self.robot.sigma = Sigma(s.s1 * float(factors[0]), s.s2 * float(factors[1]), s.s3, s.s4)
            self.since_load = 0
            self.report.count("changes of the load")
        if self.seconds % self.LOOK == 0 and self.since_load > self.SETTLED:
            variances = np.diag(self.fit.covariance).copy()
            for index, reason in enumerate(self.fit.reasons()):
                if reason:
                    variances[index::2] = math.inf
            watch = self.report.intervals.setdefault(
                "sigma, where trusted", Intervals(("s1", "s2", "s3", "s4"))
            )
            watch.look(self.fit.values, variances, self.robot.sigma.as_array())

    def conclude(self) -> None:
        """Write the last lines of the report."""
        tenth = max(1, len(self.errors) // 10)
        first, late = (1e3 * np.array(part) for part in (self.errors[:tenth], self.errors[-tenth:]))
        self.report.lines.append(
            f"troubles: {self.troubles.happened}; true distance to the reference, median (95 %) in "
            f"the first tenth {np.median(first):.1f} ({np.quantile(first, 0.95):.1f}) mm, in the "
            f"last {np.median(late):.1f} ({np.quantile(late, 0.95):.1f}) mm; blocks "
            f"{self.fit.batches}, surprises {self.fit.surprises}"
        )
