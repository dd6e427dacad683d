# SPDX-License-Identifier: Apache-2.0
"""The robot of long_run.py with identification for hours."""

from __future__ import annotations

import math

import numpy as np
from long_run_watch import Intervals
from long_run_wheels import WheeledRobot
from made_recordings.excited_runs import RunSetting, driver

from arc_odometry import JointSample
from diffbot_ident.torque.coverage import MotionScale
from diffbot_ident.torque.estimate import NAMES, EstimateState
from diffbot_ident.torque.estimators import make_estimator
from diffbot_sim.virtual_robot import Encoders


class Identification(WheeledRobot):
    """PRBS for hours, and estimators that are never reset."""

    LOOK = 120  # s between two checks of the forgetting estimator's intervals: two memories

    def __init__(self, seed: int, period: float, steps: int) -> None:
        setting = RunSetting()
        robot = setting.make_robot()
        source, actuator, _ = driver(setting, robot, seed)
        super().__init__(robot, actuator, Encoders(4096, period, seed), seed, period, steps)
        own = robot.excitation
        scale = MotionScale(own.linear_velocity, own.angular_velocity, own.amplitude)
        self.source, self.stamp = source, 0.0
        self.estimators = {
            name: make_estimator(name, self.geometry, scale) for name in ("integral", "rls")
        }
        self.estimators["integral, memory 60 s"] = make_estimator(
            "integral", self.geometry, scale, forgetting=math.exp(-0.1 / 60.0)
        )
        self.truth = self.engine.parameters()
        self.hourly: list[str] = []
        self.seconds = 0

    def learn(self, sample: JointSample) -> None:
        """Pass a sample to all estimators."""
        for name, estimator in self.estimators.items():
            try:
                estimator.update(sample)
            except ValueError:
                self.report.count(f"refused by {name}")

    def wanted(self, state, stamp: float, dt: float) -> tuple[float, float]:
        """Return the torque of the PRBS."""
        return self.source.torque(self.geometry.wheel_velocity(*state.velocity))

    def look(self) -> None:
        """Run the checks of every second."""
        self.seconds += 1
        self.look_at_odometry()
        rls = self.estimators["rls"]
        self.report.covariance("rls P linear", rls._linear.p)
        self.report.covariance("rls P angular", rls._angular.p)
        if self.seconds % 30 and self.seconds % self.LOOK:
            return
        for name, estimator in self.estimators.items():
            result = estimator.estimate()
            self.report.demand(all(map(math.isfinite, result.values)), f"{name} not finite")
            if self.seconds > 60:
                self.look_at_estimate(name, result)
            if name.endswith("s") and name != "rls" and self.seconds % self.LOOK == 0:
                self._interval(name, result)
            if self.seconds % 3600 == 0 or self.seconds == 600:
                error = [
                    (value - true) / math.sqrt(variance)
                    for value, true, variance in zip(
                        result.values, self.truth, result.variances, strict=True
                    )
                ]
                percent = [
                    100.0 * (v / t - 1.0) for v, t in zip(result.values, self.truth, strict=True)
                ]
                self.hourly.append(
                    f"{self.seconds / 3600:.2g} h {name}: error % {np.round(percent, 3)}, in "
                    f"standard deviations {np.round(error, 1)}"
                )

    def _interval(self, name: str, result) -> None:
        if result.state is EstimateState.ESTIMATED:
            watch = self.report.intervals.setdefault(name, Intervals(NAMES))
            watch.look(result.values, result.variances, self.truth)

    def conclude(self) -> None:
        """Write the last lines of the report."""
        super().conclude()
        kept = [h for h in self.hourly if h.startswith(("0.17", "1 ", "5 ", "10 "))]
        self.report.lines += kept
