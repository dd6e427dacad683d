# SPDX-License-Identifier: Apache-2.0
"""The recommended estimator: windowed integral regressors, friction, delay, honest intervals.

Its stages: regression.py. Theory: docs/theory/integral_estimator.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from arc_odometry.sample_check import SampleCheck
from diffbot_ident.estimate import Estimate, EstimateState
from diffbot_ident.samples.timed_readings import TimedReadings
from diffbot_ident.samples.wheel_speeds import Heading, nearest
from diffbot_ident.torque.judgement import MIN_WINDOWS, judge
from diffbot_ident.torque.learning import MotionScale
from diffbot_ident.torque.regression import Prior, RegressionSettings, StagedRegression
from diffbot_ident.torque.rows import SLOW_FRACTION, IntegralRows
from diffbot_ident.torque.torque_delay import Decimation
from diffbot_ident.torque.wiring import likely_wiring, standing_wheel

# Stamp, angles [left, right], torques [left, right].
FIELDS = 5
# Samples of the first block, and of the next ones unless an estimate is requested earlier.
FIRST_BATCH = 24
BATCH_SAMPLES = 2048
# Least time between processed samples, s: faster ones are decimated.
MIN_PERIOD = 0.008
# Time over which the ends of a window are averaged, s.
SMOOTHING = 0.05
# Least control periods of a window, and of the mean at its ends: with 2 and 1 of 40 ms, K7 and K8
# were off by 3 deviations.
MIN_WINDOW, MIN_SMOOTHING = 4, 2


class IntegralEstimator:
    """Estimates K5..K8 and the wheels' friction from joint samples.

        >>> from diffbot_description import closed_form, load_robot
        >>> from diffbot_description.dynamics import accelerations
        >>> robot = load_robot("twil")
        >>> k, geometry, speed = closed_form(robot.model), robot.geometry, np.zeros(2)
        >>> estimator = IntegralEstimator(geometry, MotionScale(0.5, 2.0, 0.4))
        >>> torques, angles = np.random.default_rng(1).choice((-0.4, 0.4), (50, 2)), np.zeros(2)
        >>> for step, torque in enumerate(np.repeat(torques, 20, axis=0), 1):  # 10 s at 100 Hz
        ...     torque = np.where(abs(speed) > 8.0, -0.4 * np.sign(speed), torque)
        ...     body = np.array(geometry.body_velocity(*speed))
        ...     ahead = body + 0.005 * np.array(accelerations(k, *body, *torque))
        ...     body = body + 0.01 * np.array(accelerations(k, *ahead, *torque))
        ...     angles = angles + 0.01 * np.array(geometry.wheel_velocity(*ahead))
        ...     speed = np.array(geometry.wheel_velocity(*body))
        ...     _ = estimator.update(JointSample(0.01 * step, (*angles,), (*speed,), (*torque,)))
        >>> estimate = estimator.estimate()
        >>> estimate.state.name, bool(np.allclose(estimate.values, k, rtol=0.01))
        ('ESTIMATED', True)

    Args:
        scale: Size of the expected motions and torques, for the coverage.
        window: Length of a window, s, > 0.
        forgetting: Factor on the weight of past data after each window, (0, 1]; 1 forgets nothing.
        prior: Prior knowledge, which is never forgotten.
        turning: Whether to estimate a resistance against turning (skid steer).
        steady: Whether all samples are of one robot: what was before a change is forgotten.

    Raises:
        ValueError: An argument is outside its range.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        scale: MotionScale,
        window: float = 0.1,
        forgetting: float = 1.0,
        prior: Prior | None = None,
        turning: bool = False,
        steady: bool = True,
    ) -> None:
        if not (math.isfinite(window) and window > 0.0):
            raise ValueError(f"window = {window} s: must be finite and > 0; 0.1 suits 100 Hz")
        if not 0.0 < forgetting <= 1.0:
            raise ValueError(
                f"forgetting = {forgetting}: must be > 0 and <= 1; 1 forgets nothing, 0.99 about "
                "100 windows"
            )
        self._settings = RegressionSettings(geometry, scale, forgetting, prior, turning, steady)
        self._window = window
        self._check = SampleCheck()
        # A flat list of stamps, angles and torques: four times as fast as a list of tuples.
        self._pending: list[float] = []
        self._batch = FIELDS * FIRST_BATCH
        self._newest: list[float] = []  # the last two samples of those processed
        self._readings = TimedReadings()
        self._grouped = 1  # readings in a period of the regression
        self._regression: StagedRegression | None = None
        self._heading = Heading(self._settings.geometry)  # of the processed samples
        self._samples = 0
        self._estimate: Estimate | None = None

    @property
    def velocity(self) -> tuple[float, float] | None:
        """Newest body velocity (v in m/s, omega in rad/s); None before there is one."""
        newest = [*self._newest, *self._pending[-2 * FIELDS :]][-2 * FIELDS :]
        if len(newest) < 2 * FIELDS:
            return None
        before, after = newest[:FIELDS], newest[FIELDS:]
        period = after[0] - before[0]
        left, right = (math.remainder(after[i] - before[i], math.tau) / period for i in (1, 2))
        return self._settings.geometry.body_velocity(left, right)

    def update(self, sample: JointSample) -> bool:
        """See Estimator.update."""
        if not self._check.passes(sample):
            self._examine(sample)
        (left, right), (torque_left, torque_right) = sample.position, sample.effort
        self._samples += 1
        pending = self._pending
        pending += (sample.stamp, left, right, torque_left, torque_right)
        if len(pending) < self._batch:
            return False
        self._work_off()
        return True

    def interrupt(self) -> None:
        """See Estimator.interrupt."""
        self._interrupt()
        self._check.reset()

    def begin(self, heading: float) -> None:
        """Note that the robot was moved by hand: at the next sample it has this heading, rad."""
        self.interrupt()
        self._heading.begin(heading)

    def _examine(self, sample: JointSample) -> None:
        """Raise ValueError if a sample is unusable; no row then bridges the gap."""
        try:
            self._check.values(sample)
        except ValueError:
            self.interrupt()
            raise
        try:
            self._check.follows(sample)
        except ValueError:
            self._interrupt()
            self._pending += (sample.stamp, *sample.position, *sample.effort)
            raise

    def _interrupt(self) -> None:
        """Start a new segment."""
        self._work_off()
        self._newest = []
        self._readings.interrupt()
        self._heading.interrupt()
        if self._regression is not None:
            self._regression.interrupt()

    def _work_off(self) -> None:
        if not self._pending:
            return
        self._newest = [*self._newest, *self._pending[-2 * FIELDS :]][-2 * FIELDS :]
        samples = np.array(self._pending).reshape(-1, FIELDS)
        self._pending.clear()
        samples = self._readings.of(samples)
        if not len(samples):
            return
        if self._regression is None:
            self._regression = self._begin(self._readings.clock.period)
        if self._regression.add(np.column_stack((samples, self._heading.at(samples[:, 1:3])))):
            self._estimate = None

    def _begin(self, period: float) -> StagedRegression:
        decimation = Decimation(max(1, nearest(MIN_PERIOD / period)))
        self._grouped = decimation.factor
        period *= decimation.factor
        window = max(MIN_WINDOW, nearest(self._window / period))
        smoothing = min(window, max(MIN_SMOOTHING, nearest(SMOOTHING / period)))
        reported = self._settings
        batch = window * decimation.factor if reported.forgetting < 1.0 else BATCH_SAMPLES
        self._batch = FIELDS * batch
        slow = SLOW_FRACTION * reported.scale.velocity / reported.geometry.left_radius
        rows = IntegralRows(
            reported.geometry, window, smoothing, decimation.fine, period, slow, reported.turning
        )
        return StagedRegression(reported, rows, decimation, period, self._readings.clock)

    def estimate(self) -> Estimate:
        """Return the current estimate."""
        if self._regression is not None:
            self._work_off()
        if self._estimate is None:
            self._estimate = self._judged()
        return self._estimate

    def suspicion(self) -> str | None:
        """Return the likely wiring error of a robot that ran away; see Estimator.suspicion."""
        if self._regression is None:
            return None
        self._work_off()
        return likely_wiring(self._regression.learning.sums, runaway=True).problem

    def _judged(self) -> Estimate:
        regression = self._regression
        if regression is None:
            return Estimate.unknown(self._samples)
        judged = self._judged_rows(regression)
        remarks = self._readings.warnings()
        if judged.state is EstimateState.ESTIMATED:
            remarks = *regression.warnings(judged), *remarks
        if remarks:
            judged = replace(judged, warnings=remarks)
        if judged.state is EstimateState.ESTIMATED:
            return judged
        if (change := regression.change_in_words()) is None:
            return judged
        reported = f"{judged.reason} ({change})"
        # Users read equal reasons only once.
        reasons = tuple(
            reported if why == judged.reason else why for why in judged.parameter_reasons
        )
        return replace(judged, reason=reported, parameter_reasons=reasons, since=regression.since)

    def _judged_rows(self, regression: StagedRegression) -> Estimate:
        samples = regression.samples_since_change
        if samples is None:
            samples = self._samples
        if not regression.learning.has_rows:
            return Estimate.unknown(samples)
        result = regression.estimate(samples)
        problem = self._readings.clock.problem() or likely_wiring(regression.learning.sums).problem
        if problem is None and (beyond := regression.estimating.beyond_search()) is not None:
            return result.as_a_whole(EstimateState.UNESTIMATED, beyond)
        if problem is None and regression.learning.windows >= MIN_WINDOWS:
            problem = standing_wheel(regression.learning.sums)
        judged = judge(
            result,
            self._settings.geometry.half_track,
            problem=problem,
            windows=regression.learning.windows,
            significant_windows=regression.significant_windows,
            sums=regression.learning.sums,
            counts=self._readings.counts.typical(self._grouped),
        )
        refused = regression.refused
        if judged.state is not EstimateState.INVALID and refused is not None:
            return judged.as_a_whole(EstimateState.UNESTIMATED, refused.warning)
        return judged
