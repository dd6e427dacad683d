# SPDX-License-Identifier: Apache-2.0
"""The recommended estimator: windowed integral regressors, friction, delay, honest intervals.

It adds what the paper's estimator (rls) lacks: torques matched to the encoders' intervals, the
wheels' viscous and Coulomb friction, the torque's delay, confidence intervals with the stated
coverage, and a test whether a parameter is identifiable. It fits (41) of Lages (2017), integrated:
integral_rows builds the rows and adds them up, axis_fit fits the parameters, and judgement
decides if they may be used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from arc_odometry.joints import SampleCheck
from diffbot_ident.torque.axis_fit import (
    NO_COLUMNS,
    TURNING_COLUMNS,
    AxisFit,
    DelayedResiduals,
    ExtraColumns,
    averaged,
    fit_axes,
    fits,
    fuse_friction,
    fuse_more,
    joined,
    solutions,
)
from diffbot_ident.torque.estimate import (
    Array,
    Estimate,
    EstimateState,
    Four,
    FrictionEstimate,
    Pair,
    TurningEstimate,
)
from diffbot_ident.torque.integral_rows import (
    DOMEGA,
    DV,
    SLOW_SHARE,
    Coverage,
    IntegralRows,
    MotionScale,
    Opening,
    RowSums,
)
from diffbot_ident.torque.judgement import (
    MAX_RELATIVE_STD,
    MIN_WINDOWS,
    ResidualCorrelation,
    judge,
    likely_wiring,
    standing_wheel,
)
from diffbot_ident.torque.parameter_change import ChangeWatch, ForceDrift
from diffbot_ident.torque.pattern_search import (
    doubtful_pattern,
    left_of,
    likely_patterns,
    probability,
    still_sure,
    torque_difference,
)
from diffbot_ident.torque.prior import Prior
from diffbot_ident.torque.readings import TimedReadings
from diffbot_ident.torque.residual_patterns import (
    GEAR_LOSS,
    LEAST_SLOPE,
    LIKE_A_DELAY,
    MOST_UNEVEN,
    ONCE_PER_TURN,
    SATURATION,
    SLOPE,
    TORQUES_TOO,
    TURNING,
    UNEVEN,
    WITHIN,
    ResidualPattern,
    floor_slope,
    pattern_parameters,
    pattern_sizes,
    roughness,
    typical_torque,
    warning_about,
)
from diffbot_ident.torque.sample_clock import SampleClock
from diffbot_ident.torque.torque_delay import (
    DELAYS,
    EARLIEST,
    LIKELY_LAG,
    REACH,
    TOO_LATE,
    Decimation,
    DelaySearch,
    TorqueDelay,
)
from diffbot_ident.torque.wheel_speeds import Heading, TorqueResponse, nearest

# Numbers per pending sample: stamp, angles [left, right], torques [left, right].
FIELDS = 5
# Samples of the first block.
FIRST_BLOCK = 24
# Samples that are processed as one block unless an estimate is requested earlier.
BLOCK_SAMPLES = 2048
# Minimum time between processed samples, s; faster samples are decimated.
MIN_PERIOD = 0.008
# Minimum control periods of a window, and over which its ends are averaged. A torque that changes
# within a period is known by its mean only, which is worst at the ends: with 2 and 1 periods of
# 40 ms K7 and K8 were off by 3 of their deviations.
MIN_WINDOW, MIN_SMOOTHING = 4, 2
# Disjoint windows after which the response to the torques is first estimated from the rows.
RESPONSE_WINDOWS = 5
# Each interval between updates of the response is longer than the one before by 1 / UPDATES.
UPDATES = 4
# Length of the opening, in windows. Its rows were built while the response was hardly known, so the
# times at which wheels reverse were inaccurate: they are rebuilt each time the response is updated.
OPENING_WINDOWS = 20
# Windows of the opening that are kept while the response stays unknown, e.g. of a parked robot.
KEPT_WINDOWS = 200
# Disjoint windows needed before the residuals are tested for other kinds of friction.
PATTERN_WINDOWS = 40.0
# Gain at which a lag is as likely as none: most motors follow commands with some lag, so that it
# needs less evidence than other effects. A false one costs little, as its gain is then small.
LAG_PRIOR = 3.0
# Maximum number of looks at delay, lag and patterns, each with what the one before has found.
LOOKS = 3
# Evidence from which an estimator that forgets takes the floor for sloped, and memories for which
# it must last: while it forgets a robot without its payload, a level floor looks sloped too.
SURE_LIVE_SLOPE, SLOPE_MEMORIES = 500.0, 3.0
# Share of a drift by which it differs from another one.
NO_DRIFT, OTHER_DRIFT = (0.0, 0.0, 0.0), 0.2
# Friction counts as present if it exceeds this many of its standard deviations.
SURE_FRICTION = 3.0
# Share of the excitation's yaw moment that the floor's dry friction is assumed to resist while it
# is unknown. A robot that meets more resistance hardly turns.
MOST_HELD = 0.5
# Minimum relative standard deviation of K5..K8, for control periods up to FLOOR_PERIOD (s).
# It covers the discretisation errors of the friction's sign and of the products, which do not
# average out. For longer periods it grows as those errors do: with the period for K7 and K8, with
# its square for K5 and K6 (benchmarks/trust.py).
FLOOR, FLOOR_PERIOD = 2e-4, 0.01


class IntegralEstimator:
    """Estimates K5..K8 and the wheels' friction from joint samples.

    Args:
        geometry: Wheel radii and separation.
        scale: Size of the expected motions and torques, for the coverage.
        window: Length of a window, s, > 0.
        smoothing: Time over which the ends of a window are averaged, s, > 0.
        forgetting: Factor on the weight of past data after each window, (0, 1]; 1 forgets nothing.
        prior: Prior knowledge; it is never forgotten, so that the covariance stays bounded.
        min_samples: Number of samples below which nothing is estimated.
        turning: Whether to estimate a resistance against turning (skid steer).
        steady: Whether all samples are those of one robot, or else those of robots that differ,
            such as of recordings with and without a load. A robot that changes is found, and what
            it was before is forgotten.

    Raises:
        ValueError: An argument is outside its range.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        scale: MotionScale,
        window: float = 0.1,
        smoothing: float = 0.05,
        forgetting: float = 1.0,
        prior: Prior | None = None,
        min_samples: int = 100,
        turning: bool = False,
        steady: bool = True,
    ) -> None:
        for name, value in (("window", window), ("smoothing", smoothing)):
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} = {value} s: must be finite and > 0; 0.1 suits 100 Hz")
        if not 0.0 < forgetting <= 1.0:
            raise ValueError(
                f"forgetting = {forgetting}: must be > 0 and <= 1; 1 forgets nothing, 0.99 about "
                "100 windows"
            )
        self._geometry = geometry
        self._scale = scale
        self._window = window
        self._smoothing = smoothing
        self._forgetting = forgetting
        self._prior = prior
        self._turning = turning
        self._min_samples = min_samples
        self._steady = steady
        self._check = SampleCheck()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._check.reset()
        # A flat list of stamps, angles and torques converts to an array four times as fast as a
        # list of tuples.
        self._pending: list[float] = []
        # Count of pending numbers at which they are processed.
        self._block = FIELDS * FIRST_BLOCK
        self._newest: list[float] = []  # the last two samples of those processed
        self._readings = TimedReadings()
        self._regression: _Regression | None = None
        self._heading = Heading(self._geometry)  # of the processed samples
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
        return self._geometry.body_velocity(left, right)

    @property
    def explains_more(self) -> bool:
        """Whether the fit has more than K5..K8, friction and a delay, such as a slope."""
        return self._regression is not None and self._regression.explains_more

    def update(self, sample: JointSample) -> bool:
        """Process one joint sample; see Estimator.update."""
        if not self._check.passes(sample):
            self._examine(sample)
        (left, right), (torque_left, torque_right) = sample.position, sample.effort
        self._samples += 1
        pending = self._pending
        pending += (sample.stamp, left, right, torque_left, torque_right)
        if len(pending) < self._block:
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
        """Start a new segment: the next sample does not continue the previous ones."""
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

    def _begin(self, period: float) -> _Regression:
        """Return a regression with windows that suit the control period, s."""
        decimation = Decimation(max(1, nearest(MIN_PERIOD / period)))
        period *= decimation.factor
        window = max(MIN_WINDOW, nearest(self._window / period))
        smoothing = min(window, max(MIN_SMOOTHING, nearest(self._smoothing / period)))
        block = window * decimation.factor if self._forgetting < 1.0 else BLOCK_SAMPLES
        self._block = FIELDS * block
        slow = SLOW_SHARE * self._scale.velocity / self._geometry.left_radius
        return _Regression(
            IntegralRows(
                self._geometry, window, smoothing, decimation.fine, period, slow, self._turning
            ),
            decimation,
            period,
            self._readings.clock,
            self._geometry,
            self._scale,
            self._forgetting,
            self._prior,
            self._turning,
            self._steady,
        )

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
        return likely_wiring(self._regression.sums, runaway=True).problem

    def _judged(self) -> Estimate:
        regression = self._regression
        if regression is None:
            return Estimate.unknown(self._samples, self._min_samples)
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
        told = f"{judged.reason} ({change})"
        # Equal reasons stay equal, so that users read the common one only once.
        reasons = tuple(told if why == judged.reason else why for why in judged.parameter_reasons)
        return replace(judged, reason=told, parameter_reasons=reasons, since=regression.since)

    def _judged_rows(self, regression: _Regression) -> Estimate:
        """Return the estimate without its warnings."""
        samples = regression.samples_since_change
        if samples is None:
            samples = self._samples
        if not regression.has_rows:
            return Estimate.unknown(samples, self._min_samples)
        found = regression.estimate(samples)
        problem = self._readings.clock.problem() or likely_wiring(regression.sums).problem
        if problem is None and (late := regression.too_late()) is not None:
            return found.as_a_whole(EstimateState.UNESTIMATED, late)
        if problem is None and regression.windows >= MIN_WINDOWS:
            problem = standing_wheel(regression.sums)
        judged = judge(
            found,
            self._geometry.half_track,
            problem=problem,
            min_samples=self._min_samples,
            windows=regression.windows,
            sure_windows=regression.sure_windows,
            sums=regression.sums,
        )
        if judged.state is EstimateState.UNESTIMATED and regression.saturates:
            return judged.as_a_whole(EstimateState.UNESTIMATED, SATURATION.warning)
        return judged


class _Regression:
    """The regression of both axes, once the control period is known.

    Attributes:
        sums: Sums over the rows so far.
        tail: Newest decimated samples, with which the next rows begin, shape (n, 6).
        since: Stamp from which on the robot is as estimated, s; NaN: it did not change.
    """

    def __init__(
        self,
        rows: IntegralRows,
        decimation: Decimation,
        period: float,
        clock: SampleClock,
        geometry: WheelGeometry,
        scale: MotionScale,
        forgetting: float,
        prior: Prior | None,
        turning: bool,
        steady: bool,
    ) -> None:
        self._rows = rows
        self._decimation = decimation
        self._period = period  # of decimated samples, s
        self._clock = clock
        self._geometry = geometry
        self._scale = scale
        self._forgetting = forgetting
        self._priors = (None, None) if prior is None else prior.of_axes(geometry, turning)
        # Yaw moment of both wheels' excitation torques in opposite directions, N m.
        self._excited = 2.0 * scale.torque * geometry.half_track / geometry.left_radius
        self._known = TURNING_COLUMNS if turning else NO_COLUMNS
        self._resists = False  # whether the floor was found to resist turning
        # Samples from the first on until frictions outside the model are first looked for.
        self._first: Opening | None = None
        self._length = rows.window + rows.smoothing
        self._patterns: tuple[ResidualPattern, ...] = ()
        self._doubtful: tuple[ResidualPattern, float] | None = None  # with its probability
        self._sloped_since = math.inf  # windows at the first of all looks that find a slope
        self._difference = (math.nan, math.inf)  # torque_difference and its standard deviation
        # `pattern_sizes` of the last estimate.
        self._sizes: dict[ResidualPattern, tuple[float, float]] = {}
        # Last estimated delay and lag of the torque, periods, and all that is known about them.
        self._delay = self._lag = 0.0
        self._timing: TorqueDelay | None = None
        self._lags = False  # whether motors follow with a lag
        self._doubtful_lag = 0.0  # probability of a lag that is not assumed
        response = TorqueResponse() if prior is None else TorqueResponse(*prior.values[2:])
        holding = MOST_HELD * self._excited if turning else 0.0
        self._response = replace(response, holding=holding)
        # None with forgetting or a prior: those follow a change by themselves.
        self._one_robot = steady
        self._watched = steady and self._remembers
        self._changed: float | None = None  # stamp of the last change, s
        self._began = math.nan
        self.since = math.nan
        self._taken = self._forgotten = 0  # samples, and those before the last change
        self._begin()

    def _begin(self) -> None:
        """Begin without any row."""
        rows = self._rows
        self._update_every = self._until_update = RESPONSE_WINDOWS * self._length
        # None once the opening is over. With a prior the response is known from the start; with
        # forgetting, early rows lose their weight anyway. Neither needs its opening rebuilt.
        kept = KEPT_WINDOWS * self._length * rows.fine
        self._opening = Opening(kept) if self._remembers else None
        self._clear()

    def _clear(self) -> None:
        """Discard all rows."""
        rows = self._rows
        self.sums = RowSums(rows.window, rows.smoothing, self._period, rows.fine)
        self._coverage = Coverage(self._scale)
        self._residuals = ResidualCorrelation()
        self._seen = 0  # number of rows, including forgotten ones
        self._watch: ChangeWatch | None = None  # None until the opening is over, too
        self._drift: ForceDrift | None = None  # None: none is likely
        self._residuals_drift = NO_DRIFT  # shares of the drift that the residuals belong to
        self._renew()
        self.tail = np.empty((0, 6))
        self._past = self.tail  # samples before the tail whose torques may still act

    def _renew(self) -> None:
        """Discard what was computed from the rows so far."""
        self._steady: RowSums | None = None  # sums without the drift
        self._searches: dict[ExtraColumns, DelaySearch] = {}  # by the columns beside the torque

    @property
    def _fitted(self) -> RowSums:
        """Sums that the parameters are fitted to: those of the robot without its drift."""
        if self._watch is None or self._drift is None:
            return self.sums
        if self._steady is None:
            self._steady = self._watch.steady(self.sums, self._drift)
        return self._steady

    @property
    def samples_since_change(self) -> int | None:
        """Number of samples since the last change of the robot; None: it has not changed."""
        return None if self._changed is None else self._taken - self._forgotten

    @property
    def explains_more(self) -> bool:
        """See IntegralEstimator.explains_more."""
        return bool(self._patterns) or self._drift is not None

    @property
    def has_rows(self) -> bool:
        """Whether there are enough rows for a fit."""
        return self.sums.rows >= 2 * self._rows.overlap

    @property
    def windows(self) -> float:
        """Number of disjoint windows so far."""
        return self._seen / self._length

    @property
    def sure_windows(self) -> float:
        """Number of windows below which untested kinds of friction may mislead."""
        return PATTERN_WINDOWS if self._remembers else MIN_WINDOWS

    def interrupt(self) -> None:
        """Start a new segment: the next sample does not continue the previous ones."""
        self._decimation.interrupt()
        self._end_segment()
        for kept in (self._opening, self._first):
            if kept is not None:
                kept.interrupt()

    def _end_segment(self) -> None:
        self.tail = self._past = self.tail[:0]
        self.sums.interrupt()
        self._residuals.interrupt()

    def add(self, samples: Array) -> bool:
        """Process samples, shape (n, 6); return whether they gave rows."""
        samples = self._decimation.take(samples)
        learnt = False
        if len(samples) and math.isnan(self._began):
            self._began = float(samples[0, 0])
        # The response is updated at fixed samples, whether or not estimates are requested between.
        fine = self._rows.fine
        while len(samples):
            # A change is looked for at fixed samples as well.
            until = self._until_update if self._watch is None else self._watch.left
            now = fine * min(self._until_update, until)
            part, samples = samples[:now], samples[now:]
            self._taken += len(part) // fine * self._decimation.factor
            self._until_update -= len(part) // fine
            learnt = self._learn(part) or learnt
            if (kept := self._opening or self._first) is not None:
                kept.add(part)
            if self._pass_by(part):
                self._look_for_change(float(part[-1, 0]))
            if not self._until_update:
                self._update_response()
        return learnt

    def _pass_by(self, part: Array) -> bool:
        """Let the watch for changes note what was learnt; return whether it has new evidence."""
        if self._watch is None or not len(part):
            return False
        return self._watch.pass_by(len(part) // self._rows.fine, self.sums, float(part[-1, 0]))

    def _look_for_change(self, stamp: float) -> None:
        """Forget the robot that was, if the one that is differs from it.

        What is known about the robot's response is kept as a first guess.
        """
        if self._watch is None or not self.has_rows:
            return
        extra = self._extra(self._patterns)
        # What happens once per turn is also found in rows of two robots, and hides the change.
        lasting = tuple(each for each in self._patterns if each not in ONCE_PER_TURN)
        change = self._watch.change(self.sums, self._delay, self._extra(lasting), self._lag)
        if change is not None:
            self._changed, self._forgotten = change, self._taken
            self.since = self._clock.began + stamp
            self._patterns, self._doubtful = (), None
            self._difference = (math.nan, math.inf)
            self._begin()
            return
        self._drift = self._watch.drift(self.sums, self._delay, extra, self._lag)
        self._renew()
        shares = NO_DRIFT if self._drift is None else self._drift.shares
        known = self._residuals_drift
        if math.dist(shares, known) > OTHER_DRIFT * max(math.hypot(*shares), math.hypot(*known)):
            # Residuals of parameters with another drift belong to another model.
            self._residuals.restart(int(self.sums.rows))
            self._residuals_drift = shares

    def change_in_words(self) -> str | None:
        """Return when the robot has last changed; None if it has not."""
        if self._changed is None:
            return None
        time = self._changed - self._began
        return f"the robot changed {time:.0f} s after its first sample, as by a payload"

    def _learn(self, samples: Array) -> bool:
        samples = np.concatenate((self.tail, samples))
        rows, turning, whole = self._rows.make(samples, self._response, self._past)
        kept, fine = self._rows.overlap * self._rows.fine, self._rows.fine
        self.tail = samples[-kept:]
        self._past = np.concatenate((self._past, samples[:-kept]))[-(REACH + 1) * fine :]
        if not len(rows):
            return False
        if self._forgetting < 1.0:
            self._forget(rows)
        self.sums.add(rows, turning, whole)
        self._renew()
        self._seen += len(rows)
        self._coverage.add(rows[:: self._rows.window], self._rows.window * self._period)
        extra = self._extra(self._patterns)
        self._residuals.add(rows, turning & whole, self._fitted, self._delay, extra, self._lag)
        return True

    def _forget(self, rows: Array) -> None:
        """Forget only as windows with motion arrive, so that a parked robot keeps its estimate."""
        gained = np.abs(rows[:, [DV, DOMEGA]]).max(axis=0)
        enough = gained > 0.01 * np.array([self._scale.velocity, self._scale.yaw_rate])
        if enough.any():
            factor = self._forgetting ** (len(rows) / self._rows.window)
            self.sums.forget(factor)
            self._coverage.forget(factor)
            self._residuals.forget(factor)

    def _update_response(self) -> None:
        """Update the response of the velocities to the torques from the rows so far."""
        if self.has_rows:
            self._look_for_patterns()
            if not self.has_rows:
                self._until_update = self._update_every
                return
            self._find_delay()
            axes = self._fit()
            k7, k8 = (_known_gain(axis) for axis in axes)
            friction, turning = self._frictions(axes)
            k5, k6 = (_known_gain(axis, 0) for axis in axes)
            known = TorqueResponse(
                k7,
                k8,
                self._delay,
                _known_friction(friction),
                products=(k5, k6),
                gear_loss=_known_losses(friction),
                lag=self._lag,
            )
            self._response = self._with_floor(known, turning)
            if self._opening is not None and k7 > 0.0:
                self._learn_opening_anew(self._opening)
            if self._forgetting == 1.0:
                self._update_every += self._update_every // UPDATES
        self._until_update = self._update_every

    def _with_floor(
        self, response: TorqueResponse, turning: TurningEstimate | None
    ) -> TorqueResponse:
        """Return the response with the estimated floor resistance against turning.

        A row during which the floor may hold the robot still would corrupt the estimate
        permanently. The holding moment is therefore set above the estimated dry friction while
        that is uncertain. If the fit cannot determine the resistance, the last values are kept.
        """
        if turning is None:
            return response
        if math.isinf(turning.variances[1]):
            before = self._response
            return replace(response, turning=before.turning, holding=before.holding)
        viscous, coulomb = _surely_there(turning.values, turning.variances)
        value, deviation = turning.values[1], math.sqrt(turning.variances[1])
        holding = max(value, min(value + 2.0 * deviation, MOST_HELD * self._excited))
        return replace(response, turning=(viscous, coulomb), holding=holding)

    def _learn_opening_anew(self, opening: Opening) -> None:
        """Rebuild the rows of all stored samples with the current response."""
        over = self.windows >= OPENING_WINDOWS
        self._clear()
        for follows, part in opening.parts:
            if not follows:
                self._end_segment()
            self._learn(part)
        if over:
            self._opening, self._first = None, None if self._resists else opening
            if self._watched:
                first, last = (float(opening.parts[i][1][i, 0]) for i in (0, -1))
                self._watch = ChangeWatch(self._length, self.sums, last, first)

    def estimate(self, samples: int) -> Estimate:
        """Return the estimate from the rows so far, not judged yet."""
        delay = self._find_delay()
        linear, angular = self._correlated(*self._axes(delay))
        values = np.array([linear.theta[0], angular.theta[0], linear.theta[1], angular.theta[1]])
        covariance = np.zeros((4, 4))
        covariance[::2, ::2] = linear.covariance[:2, :2]
        covariance[1::2, 1::2] = angular.covariance[:2, :2]
        slow = max(1.0, self._period / FLOOR_PERIOD)
        floor = FLOOR * np.array([slow**2, slow**2, slow, slow])
        found = self._found((linear, angular))
        self._sizes = self._sizes_of(found, values[2:])
        rough, friction_factor = self._roughness((linear, angular))
        floor = np.maximum(floor, rough)
        # Both products of velocities contain the errors of the times.
        floor = np.hypot(floor, self._clock.wander)
        floor[:2] = np.hypot(floor[:2], self._clock.bias)
        covariance += np.diag((floor * values) ** 2)
        span = self._rows.window * self._period
        friction, turning = self._frictions((linear, angular))
        if UNEVEN in self._patterns and abs(self._difference[0]) < MOST_UNEVEN:
            friction = friction.of_uneven_wheels(self._difference[0])
        if self._drift is not None:
            gain, viscous, coulomb = self._drift.deviations
            covariance[2:, 2:] += np.diag((gain * values[2:]) ** 2)
            friction = friction.less_sure(math.hypot(gain, viscous), math.hypot(gain, coulomb))
        return Estimate(
            samples=samples,
            residual_std=(math.sqrt(linear.variance) / span, math.sqrt(angular.variance) / span),
            residual_correlation=self._residuals.correlation(),
            coverage=self._coverage.shares(),
            delay=delay.told * self._decimation.factor if delay.sure else math.nan,
            period=self._period / self._decimation.factor,
            friction=friction.widened(friction_factor),
            turning=None if turning is None else turning.widened(friction_factor),
            torque_difference=self._difference,
            slope=floor_slope(found[SLOPE][0]) if SLOPE in found else None,
            since=self.since,
        ).with_values(values, covariance)

    def _roughness(self, axes: Sequence[AxisFit]) -> tuple[float, float]:
        """Return the uncertainty that patterns add.

        Args:
            axes: Fits of both axes, without the parameters of a pattern in doubt.

        Returns:
            Minimum relative standard deviation of K5..K8, and factor on that of friction.
        """
        if not self._patterns and self._doubtful is None:
            return 0.0, 1.0
        floor = 0.0
        if self._patterns:
            moments = self._fitted.moments_at((self._delay,), self._lag)
            floor = roughness(self._patterns, axes, self._known, moments)
        found = [(pattern, 1.0) for pattern in self._patterns]
        if self._doubtful is not None:
            found.append(self._doubtful)
            floor = max(floor, self._doubtful[1] * self._doubtful[0].floor)
        factors = (1.0 + share * (pattern.friction_factor - 1.0) for pattern, share in found)
        return floor, max(factors, default=1.0)

    def _sizes_of(
        self, found: dict[ResidualPattern, tuple[Array, Array]], gains: Array
    ) -> dict[ResidualPattern, tuple[float, float]]:
        if not found:
            return {}
        torque = typical_torque(self._fitted.moments_at((self._delay,), self._lag))
        return pattern_sizes(found, gains, self._geometry, torque)

    def _found(self, axes: Sequence[AxisFit]) -> dict[ResidualPattern, tuple[Array, Array]]:
        """Return the parameters of each pattern in dv/dt and in domega/dt."""
        if not self._patterns:
            return {}
        return dict(pattern_parameters(self._patterns, axes, self._known))

    @property
    def saturates(self) -> bool:
        """Whether large torques have less effect than reported."""
        return SATURATION in self._patterns

    def too_late(self) -> str | None:
        """Return why no value can be given: torques act later than is searched; None: they do not.

        A delay at the end of the search is no result, however well it explains the motion.
        """
        timing = self._timing
        if timing is None or not (timing.sure and timing.at_the_end):
            return None
        return timing.in_words(self._period, self._decimation.factor) + TOO_LATE

    def warnings(self, estimate: Estimate) -> tuple[str, ...]:
        """Return the warnings about an estimate."""
        found = []
        sums = self._fitted.delayed(self._delay, self._lag)
        if self._timing is not None:
            # What another effect leaves is no lag.
            crumb = left_of(sums, self._patterns, self._known)
            found += self._timing.warnings(self._period, self._decimation.factor, crumb)
        if (change := self.change_in_words()) is not None:
            found.append(f"{change}; only what came later is taken into account")
        if self._drift is not None:
            found += self._drift.warnings()
        # Patterns stay in the fit until the next test; only those still sure are reported.
        if self._patterns:
            named = still_sure(sums, self._patterns, self._known)
            if estimate.slope is not None and estimate.slope[0] < LEAST_SLOPE:
                named = tuple(pattern for pattern in named if pattern is not SLOPE)
            found += [
                warning_about(pattern, estimate, self._sizes)
                for pattern in named
                if pattern.warning
            ]
        if self._resists:
            found.append(warning_about(TURNING, estimate, self._sizes))
        return (*found, *self._residuals.warnings())

    def _find_delay(self) -> TorqueDelay:
        """Find delay and lag of the torque in the rows so far."""
        found = self._timing = self._best_delay(self._patterns, self._lags)
        self._delay, self._lag = found.value, found.lag
        return found

    def _best_delay(
        self, patterns: Sequence[ResidualPattern], lags: bool, gain: bool = True
    ) -> TorqueDelay:
        # Frictions outside the model resemble a lag.
        beside = [
            each for each in patterns if each in LIKE_A_DELAY or (lags and each not in TORQUES_TOO)
        ]
        extra = joined(self._known, *(each.columns for each in beside))
        search = self._searches.get(extra)
        if search is None:
            residuals = DelayedResiduals(self._fitted, extra)
            search = DelaySearch(residuals, self.sums.rows / self._length, self.sums.fine)
            self._searches[extra] = search
        return search.with_lag(gain) if lags else search.alone

    def _axes(self, delay: TorqueDelay) -> tuple[AxisFit, AxisFit]:
        """Return both fits, including the uncertainty of the delay and of the patterns."""
        alone = self._axes_with(delay)
        if self._doubtful_lag <= 0.0:
            return alone
        # A lag that is likely but not sure: see doubtful_pattern.
        others = self._axes_with(self._best_delay(self._patterns, lags=True, gain=False))
        linear, angular = (
            averaged(one, other, self._doubtful_lag)
            for one, other in zip(alone, others, strict=True)
        )
        return linear, angular

    def _axes_with(self, delay: TorqueDelay) -> tuple[AxisFit, AxisFit]:
        if self._doubtful is None:
            linear, angular = self._fit_uncertain(delay, (self._patterns,))
            return linear, angular
        pattern, share = self._doubtful
        sets = self._patterns, (*self._patterns, pattern)
        linear, angular, *others = self._fit_uncertain(delay, sets)
        return averaged(linear, others[0], share), averaged(angular, others[1], share)

    def _correlated(self, *axes: AxisFit) -> tuple[AxisFit, AxisFit]:
        """Return the fits with covariances widened for the correlation of the residuals.

        They stay unchanged with forgetting or a prior: a new load leaves correlated residuals
        until it is learnt, and an estimate whose interval widens for that would not be followed.
        """
        factors = self._residuals.variance_factors() if self._remembers else (1.0, 1.0)
        linear, angular = (
            axis.with_covariance(factor * axis.covariance)
            for axis, factor in zip(axes, factors, strict=True)
        )
        return linear, angular

    @property
    def _remembers(self) -> bool:
        """Whether the estimate uses the whole run and nothing else: no forgetting, no prior."""
        return self._priors[0] is None and self._forgetting == 1.0

    def _fit_uncertain(
        self, delay: TorqueDelay, sets: Sequence[tuple[ResidualPattern, ...]]
    ) -> list[AxisFit]:
        """Return fits whose covariances include the uncertainty of the delay and the patterns.

        Args:
            delay: Delay of the torque.
            sets: Patterns to take into account.

        Returns:
            Fits of [linear, angular] of each set.
        """
        step = 0.05
        value, lag = delay.value, delay.lag
        late = min(value + step, DELAYS - 1.0)
        early = max(value - step, EARLIEST / self.sums.fine)
        extra = tuple(self._extra(patterns) for patterns in sets)
        if self._priors[0] is None:
            seen = self._fitted.at((value, early, late), lag)
            ends = [[own] for own in solutions(seen.moments, extra, (1, 2))]
        else:
            seen, *others = (self._fitted.delayed(each) for each in (value, early, late))
            both = (fits(each, extra, self._priors) for each in others)
            ends = [
                [np.array([before.theta, after.theta])] for before, after in zip(*both, strict=True)
            ]
        widths, spread = [late - early], np.array([[delay.std**2]])
        if lag > 0.0:
            wide = min(0.5 * lag, step)
            least = EARLIEST / self.sums.fine
            lags = max(lag - wide, 0.0), min(lag + wide, max(value + lag - least, lag))
            widths.append(lags[1] - lags[0])
            # Of the mean delay and the lag.
            spread = np.array([[delay.std**2, delay.shared], [delay.shared, delay.lag_std**2]])
            less, more = (
                solutions(self._fitted.moments_at((value + lag - own,), own), extra) for own in lags
            )
            for own, before, after in zip(ends, less, more, strict=True):
                own.append(np.concatenate((before, after)))
        found = []
        for fitted, own in zip(fits(seen, extra, self._priors), ends, strict=True):
            slopes = np.column_stack(
                [
                    (after - before) / width
                    for (before, after), width in zip(own, widths, strict=True)
                ]
            )
            found.append(fitted.with_covariance(fitted.covariance + slopes @ spread @ slopes.T))
        rough = [any(pattern.floor > 0.0 for pattern in patterns) for patterns in sets]
        without = solutions(seen.moments, (self._known,)) if any(rough) else []
        for i in np.flatnonzero(rough).tolist():
            # The shape of such a pattern is known only roughly: add the whole change that it makes
            # to the parameters as uncertainty.
            for fitted, (theta,) in zip(found[2 * i : 2 * i + 2], without, strict=True):
                taken = fitted.theta[:6] - theta[:6]
                fitted.covariance[:6, :6] += taken[:, None] * taken
        return found

    def _look_for_patterns(self) -> None:
        """Test again whether motors lag, and which frictions outside the model are present.

        This happens at fixed samples, whether or not estimates are requested between. With a prior
        no such friction is assumed, as the prior does not include any. With forgetting none is
        assumed either: they would appear and disappear. Only a slope is looked for then, and stays.
        """
        if self.windows < PATTERN_WINDOWS:
            return
        if not self._remembers:
            delay = self._best_delay(self._patterns, lags=False).value
            self._look_for_slope(self._fitted.delayed(delay))
            return
        for _ in range(LOOKS):
            before = self._patterns
            # Test the lag first, because friction that differs by direction resembles it.
            timing = self._best_delay(before, lags=True)
            gain, self._lags = timing.gain, timing.gain > LIKELY_LAG**2
            self._look_beside(timing if self._lags else self._best_delay(before, lags=False))
            # Delay and lag depend on the patterns, and these on the former.
            if set(before) == set(self._patterns):
                break
        if TURNING in self._patterns:
            self._take_up_turning()
            return
        self._first = None
        in_doubt = not self._lags and WITHIN not in self._patterns
        self._doubtful_lag = probability(gain - LAG_PRIOR) if in_doubt else 0.0

    def _take_up_turning(self) -> None:
        """Begin again with a floor that resists turning.

        It changes which rows tell anything: those in which it may hold the robot do not.
        """
        self._resists, self._known, self._rows.turning = True, TURNING_COLUMNS, True
        self._response = replace(self._response, holding=MOST_HELD * self._excited)
        self._patterns, self._doubtful, self._doubtful_lag = (), None, 0.0
        self._difference = (math.nan, math.inf)
        first, self._first = self._first, None
        self._begin()
        if first is not None:
            self._opening = first
            self._learn_opening_anew(first)

    def _look_beside(self, timing: TorqueDelay) -> None:
        """Find the patterns beside this delay and lag."""
        sums = self._fitted.delayed(timing.value, timing.lag)
        variance = max(self._residuals.variance_factors())
        least = left_of(sums, (TURNING,)) if self._resists else 0.0
        self._patterns = likely_patterns(
            sums,
            self._known,
            variance,
            within=not self._lags,
            least=least,
            one_robot=self._one_robot,
        )
        self._doubtful = doubtful_pattern(
            sums, self._patterns, self.windows, self._known, self._one_robot
        )
        others = self._extra(tuple(each for each in self._patterns if each is not UNEVEN))
        value, std = torque_difference(sums, others)
        self._difference = value, math.hypot(std, FLOOR)

    def _look_for_slope(self, sums: RowSums) -> None:
        """Add SLOPE to the fit once all looks over SLOPE_MEMORIES have found it."""
        if self._patterns:
            return
        if SLOPE.evidence(sums, self._known, SLOPE.columns) <= SURE_LIVE_SLOPE:
            self._sloped_since = math.inf
            return
        self._sloped_since = min(self._sloped_since, self.windows)
        forgotten = 1.0 - self._forgetting
        lasting = SLOPE_MEMORIES / forgotten if forgotten > 0.0 else PATTERN_WINDOWS
        if self.windows - self._sloped_since >= lasting:
            self._patterns = (SLOPE,)

    def _extra(self, patterns: tuple[ResidualPattern, ...]) -> ExtraColumns:
        """Return the extra columns of both axes with these patterns in the model."""
        return joined(self._known, *(pattern.columns for pattern in patterns))

    def _frictions(
        self, axes: tuple[AxisFit, AxisFit]
    ) -> tuple[FrictionEstimate, TurningEstimate | None]:
        if self._known is not NO_COLUMNS or GEAR_LOSS in self._patterns:
            return fuse_more(*axes, self._geometry, self._extra(self._patterns))
        return fuse_friction(*axes, self._geometry), None

    def _fit(self) -> tuple[AxisFit, AxisFit]:
        sums = self._fitted.delayed(self._delay, self._lag)
        return fit_axes(sums, self._extra(self._patterns), self._priors)


def _known_friction(friction: FrictionEstimate) -> Four:
    """Return the friction coefficients, with 0 for those that may be 0."""
    found = _surely_there(friction.values, friction.variances)
    return found[0], found[1], found[2], found[3]


def _known_losses(friction: FrictionEstimate) -> Pair:
    """Return the gear losses [left, right], with 0 for those that may be 0."""
    left, right = _surely_there(friction.gear_loss, friction.gear_variances)
    return left, right


def _surely_there(values: Sequence[float], variances: Sequence[float]) -> list[float]:
    """Return the values, with 0 for those that may be 0; see SURE_FRICTION."""
    return [
        value if value > SURE_FRICTION * math.sqrt(variance) else 0.0
        for value, variance in zip(values, variances, strict=True)
    ]


def _known_gain(axis: AxisFit, index: int = 1) -> float:
    """Return a parameter of an axis, or 0 where it is too uncertain.

    Args:
        axis: Fit of the axis.
        index: 1 for the torque (K7 or K8), 0 for the product of velocities (K5 or K6).
    """
    gain, variance = float(axis.theta[index]), float(axis.covariance[index, index])
    return gain if variance <= (MAX_RELATIVE_STD * gain) ** 2 else 0.0
