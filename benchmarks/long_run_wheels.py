# SPDX-License-Identifier: Apache-2.0
"""Common base of the torque-driven robots of long_run.py: from samples to torques."""

from __future__ import annotations

import math

from long_run_watch import Report, Troubles

from arc_odometry import JointSample
from diffbot_controllers.laws.motion import WheelFeedback
from diffbot_ident.torque.estimate import EstimateState
from diffbot_node.command_guard import CommandGuard, TorqueLimiter
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import VirtualRobot

NANOSECONDS = 1_000_000_000


class WheeledRobot:
    """Base of Identification and Control: a simulated twil, sample faults, odometry, guard."""

    def __init__(self, robot, actuator, encoders, seed: int, period: float, steps: int) -> None:
        self.report = Report()
        self.geometry = robot.geometry
        self.period, self.step = period, 0
        self.engine = make_simulator("ideal", robot)
        self.virtual = VirtualRobot(self.engine, actuator, encoders, period)
        self.troubles = Troubles(seed, period, steps)
        self.feedback = WheelFeedback(self.geometry, path_noise=1e-6)
        self.rate = robot.limits.torque_rate
        self.limit = robot.limits.traction
        self.guard = CommandGuard(TorqueLimiter(self.limit, self.rate))
        self.largest = 0.0

    def advance(self) -> None:
        """Run one control period: answer the arriving samples, and move the robot."""
        before = self.guard.command
        arrived = self.troubles.pass_on(self.virtual.sample)
        if not arrived:
            self.guard.hold("nothing comes", silent=True)
        for sample in arrived:
            self._answer(sample)
        command = self.guard.command
        self.largest = max(self.largest, *map(abs, command))
        zero = command == (0.0, 0.0)
        for now, last in zip(command, before, strict=True):
            self.report.demand(abs(now) <= self.limit, "torque beyond its limit")
            fast = abs(now - last) > self.rate * self.period * (1.0 + 1e-9)
            self.report.demand(zero or not fast, "torque beyond its rate")
        self.virtual.advance(command)
        self.step += 1
        self.report.demand(
            round(self.virtual.sample.stamp * NANOSECONDS)
            == self.step * round(self.period * NANOSECONDS),
            "stamp off the grid",
        )

    def _answer(self, sample: JointSample) -> None:
        """Command a torque for a sample, as the nodes do."""
        try:
            reading = self.feedback.update(sample, self.guard.command)
        except ValueError as error:
            self.refused(str(error))
            self.learn(sample)
            return
        self.learn(sample)
        if reading.state is None:
            self.refused("a sample that is a new beginning")
            return
        try:
            self.guard.apply(self.wanted(reading.state, sample.stamp, reading.dt), reading.dt)
        except ValueError as error:
            self.refused(str(error))

    def refused(self, why: str) -> None:
        """Command zero for this sample."""
        self.guard.hold(why)

    def look_at_odometry(self) -> None:
        """Check the covariances of odometry, and that all values are finite."""
        odometry = self.feedback.odometry
        self.report.covariance("odometry pose", odometry.covariance)
        # Singular with one wheel at rest.
        self.report.covariance("odometry velocity", odometry.velocity_covariance, definite=False)
        finite = all(map(math.isfinite, (*odometry.pose, *odometry.velocity)))
        self.report.demand(finite, "odometry not finite")

    def look_at_estimate(self, name: str, estimate) -> None:
        """Check the covariance of an estimate, if any, and that its values are finite."""
        self.report.demand(all(map(math.isfinite, estimate.values)), f"{name} not finite")
        if estimate.state is EstimateState.ESTIMATED:
            # Singular because of K5 K8 = b K6 K7.
            self.report.covariance(f"{name} K5..K8", estimate.covariance, definite=False)
        self.report.demand(estimate.state is not EstimateState.INVALID, f"{name} invalid")

    def conclude(self) -> None:
        """Write the last lines of the report."""
        odometry, true = self.feedback.odometry, self.engine.pose()
        away = math.dist(odometry.pose[:2], true[:2])
        self.report.lines.append(
            f"troubles: {self.troubles.happened}; largest torque {self.largest:g} of "
            f"{self.limit:g} N m; odometry {away:.2f} m and "
            f"{odometry.pose.theta - true[2]:.3f} rad of {true[2]:.0f} rad off at the end"
        )
