# SPDX-License-Identifier: Apache-2.0
"""The robot of long_run.py that laws with live parameters drive."""

from __future__ import annotations

import math

import numpy as np
from long_run_watch import Intervals
from long_run_wheels import WheeledRobot

from arc_odometry import JointSample
from arc_odometry import Velocity as BodyVelocity
from diffbot_controllers import LinearizingController, tuned_backstepping, tuned_polar_pose
from diffbot_controllers.adaptation import Adaptation
from diffbot_description import load_robot
from diffbot_ident.torque.estimate import NAMES, EstimateState
from diffbot_ident.torque.estimators import make_live_estimator
from diffbot_sim.virtual_robot import Actuator, Encoders, payload_from_text
from diffbot_study.driving import offer_of
from pose2d_trajectories import Reference, make_trajectory


class Control(WheeledRobot):
    """Alternating laws with live parameters, and changing loads."""

    COURSE, LOADED, SETTLED, LOOK = 120, 900, 15, 5  # s
    LOADS = ("none", "25%", "50%")

    def __init__(self, seed: int, period: float, steps: int) -> None:
        robot = load_robot("twil")
        super().__init__(
            robot,
            Actuator(robot.limits.torque, 0, 0.01, seed),
            Encoders(robot.encoder.counts, period, seed),
            seed,
            period,
            steps,
        )
        self.random = np.random.default_rng((seed, 5))
        self.loads = [payload_from_text(text, robot) for text in self.LOADS]
        nominal = self.engine.parameters()
        self.adaptation = Adaptation(nominal, self.geometry.half_track)
        self.live = make_live_estimator(robot, nominal)
        speeds = robot.limits.linear_velocity, robot.limits.angular_velocity
        self.laws = {
            "backstepping": tuned_backstepping(nominal, self.limit, *speeds, mean_velocity=True),
            "linearizing": LinearizingController(
                nominal, torque_limit=self.limit, mean_velocity=True
            ),
            "polar pose": tuned_polar_pose(nominal, self.limit, *speeds, mean_velocity=True),
        }
        self.course = "backstepping"
        self.eight = make_trajectory("figure_eight", period=20.0, ramp_up=0.0)
        self.reference = Reference()
        self.seconds, self.since_load = 0, 0
        self.errors: list[tuple[float, str, float]] = []
        self.stamp = 0.0

    def learn(self, sample: JointSample) -> None:
        """Pass a sample to the live estimator."""
        try:
            self.live.update(sample)
            self.stamp = sample.stamp
        except ValueError:
            self.report.count("refused by the live estimator")

    def wanted(self, state, stamp: float, dt: float) -> tuple[float, float]:
        """Return the torque of the current law."""
        law = self.laws[self.course]
        if self.course == "backstepping":
            # The robot's own time, so that resets of the stamps cause no jumps on the figure-8.
            self.reference = self.eight.at(self.step * self.period)
        wanted = self.reference
        if self.course == "linearizing":
            wanted = BodyVelocity(wanted.v, wanted.omega)
        self.state = state
        torque = law.update(state, wanted, dt)
        self.report.demand(all(map(math.isfinite, torque)), f"{self.course} not finite")
        return torque

    def refused(self, why: str) -> None:
        """Restart the law after an interruption."""
        super().refused(why)
        self.laws[self.course].reset()

    def look(self) -> None:
        """Run the checks of every second."""
        self.seconds += 1
        self.since_load += 1
        self.look_at_odometry()
        self._adapt()
        self._steer()
        if self.seconds % self.LOADED == 0:
            load = self.loads[self.random.integers(len(self.loads))]
            self.engine.set_payload(*(load or (0.0, 0.0, 0.0, 0.0)))
            self.since_load = 0
            self.report.count("changes of the load")

    def _adapt(self) -> None:
        result = self.live.estimate()
        self.look_at_estimate("live", result)
        self.adaptation.judge(offer_of(result, self.stamp))
        for law in self.laws.values():
            law.dynamics = self.adaptation.in_use
        fresh = result.state is EstimateState.ESTIMATED and any(result.coverage)
        if fresh and self.since_load > self.SETTLED and self.seconds % self.LOOK == 0:
            truth = self.engine.parameters()
            for name in (self.course, "all"):
                watch = self.report.intervals.setdefault(f"live, {name}", Intervals(NAMES))
                watch.look(result.values, result.variances, truth)

    def _steer(self) -> None:
        """Set new references, and the next law when its turn has come."""
        x, y, theta = self.feedback.odometry.pose
        at = self.seconds % self.COURSE
        if self.course == "backstepping" and at >= 60:
            off = math.hypot(self.reference.x - x, self.reference.y - y)
            self.errors.append((self.seconds / 3600.0, self.course, off))
        if self.course == "polar pose" and at % 6 == 5:
            off = math.hypot(self.reference.x - x, self.reference.y - y)
            self.errors.append((self.seconds / 3600.0, self.course, off))
        if at == 0:
            names = list(self.laws)
            self.course = names[(names.index(self.course) + 1) % len(names)]
            self.laws[self.course].reset()
        if self.course == "linearizing" and at % 3 == 0:
            v, omega = self.random.uniform((-0.5, -2.0), (0.5, 2.0)).tolist()
            self.reference = Reference(x, y, theta, v, omega)
        if self.course == "polar pose" and at % 6 == 0:
            # Goals near the origin, so that the figure-8 is never far.
            gx, gy, turn = self.random.uniform((-1.0, -1.0, -3.0), (1.0, 1.0, 3.0)).tolist()
            self.reference = Reference(gx, gy, turn)

    def conclude(self) -> None:
        """Write the last lines of the report."""
        super().conclude()
        last = self.seconds / 3600.0
        for name in ("backstepping", "polar pose"):
            first, late = (
                np.array([off for hour, law, off in self.errors if law == name and a <= hour < b])
                for a, b in ((0.0, 0.1 * last), (0.9 * last, last + 1.0))
            )
            if len(first) and len(late):
                self.report.lines.append(
                    f"{name}: distance to its reference, median (95 %) in the first tenth "
                    f"{1e3 * np.median(first):.2f} ({1e3 * np.quantile(first, 0.95):.1f}) mm, in "
                    f"the last {1e3 * np.median(late):.2f} ({1e3 * np.quantile(late, 0.95):.1f}) mm"
                )
        self.report.lines.append(
            f"adaptation: {self.adaptation.accepted} accepted, {self.adaptation.refused} refused"
        )
