# SPDX-License-Identifier: Apache-2.0
"""A regression whose control period is known: its stages in their order.

Samples become rows and sums; changes are looked for; fits and effects tell the response with which
further rows are built, and give the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.estimate import Array, Estimate, Four
from diffbot_ident.samples.sample_clock import SampleClock
from diffbot_ident.samples.wheel_speeds import TorqueResponse
from diffbot_ident.torque.axis_fit import AxisPrior
from diffbot_ident.torque.columns import NO_COLUMNS
from diffbot_ident.torque.effect_search import TrustResult
from diffbot_ident.torque.effects import SLOPE, TURNING, Effect
from diffbot_ident.torque.effects.turning import TURNING_COLUMNS
from diffbot_ident.torque.fitting import EffectLooks, Fitting, LastingSlope
from diffbot_ident.torque.friction_fit import friction_terms
from diffbot_ident.torque.judgement import MIN_WINDOWS
from diffbot_ident.torque.learning import Learning, MadeRows, MotionScale, WarmUp
from diffbot_ident.torque.parameter_change import ChangeWatch, ForceDrift
from diffbot_ident.torque.robot_fit import Estimating
from diffbot_ident.torque.rows import IntegralRows
from diffbot_ident.torque.sums import RowSums
from diffbot_ident.torque.torque_delay import Decimation

# Share of a drift by which it differs from another one.
NO_DRIFT, OTHER_DRIFT = (0.0, 0.0, 0.0), 0.2


class RobotWatch:
    """Watches the robot of a run, from the opening on; `drift` None: none is likely."""

    def __init__(self, learning: Learning, stamp: float, began: float) -> None:
        self._learning = learning
        self.units = ChangeWatch(learning.length, learning.sums, stamp, began)
        self.drift: ForceDrift | None = None
        self._residuals_drift = NO_DRIFT  # shares of the drift that the residuals belong to

    def steady(self, sums: RowSums) -> RowSums:
        """Return the sums of the robot without its drift."""
        return sums if self.drift is None else self.units.steady(sums, self.drift)

    def look(
        self, fitting: Fitting, effects: Sequence[Effect], delay: float, lag: float
    ) -> float | None:
        """Look for a change, and for a drift if there is none; return the change's stamp, s."""
        sums = self._learning.sums
        # What happens once per turn is also found in rows of two robots.
        lasting = [each for each in effects if not each.once_per_turn]
        change = self.units.change(sums, delay, fitting.extra(lasting), lag)
        if change is not None:
            return change
        # What resembles friction, and is described roughly, may seem to drift.
        rough = max((each.friction_factor for each in effects), default=1.0)
        self.drift = self.units.drift(sums, delay, fitting.extra(effects), lag, rough)
        shares = NO_DRIFT if self.drift is None else self.drift.shares
        known = self._residuals_drift
        if math.dist(shares, known) > OTHER_DRIFT * max(math.hypot(*shares), math.hypot(*known)):
            self._learning.residuals.restart(int(sums.rows))
            self._residuals_drift = shares
        return None


@dataclass(frozen=True)
class Prior:
    """Prior knowledge of the parameters, before the first sample.

    Attributes:
        values: [K5, K6, K7, K8]; `relative`: their relative standard deviations, > 0.
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m]; `friction_std`.
    """

    values: Four
    relative: Four = (0.5, 0.5, 0.5, 0.5)
    friction: Four = (0.0, 0.0, 0.0, 0.0)
    friction_std: Four = (math.inf,) * 4

    def of_axes(
        self, geometry: WheelGeometry, turning: bool = False
    ) -> tuple[AxisPrior, AxisPrior]:
        """Return the prior of both axes, whose friction parameters are K7 or K8 times friction.

        With `turning`, nothing is known about that of omega.
        """
        k, spread = np.array(self.values), np.array(self.relative) * np.abs(self.values)
        friction, std = np.array(self.friction), np.array(self.friction_std)
        results = []
        for product, gain, terms in zip((0, 1), (2, 3), friction_terms(geometry), strict=True):
            torques = terms @ friction  # per K7 or K8
            mean = np.concatenate((k[[product, gain]], k[gain] * torques))
            # No 0 times infinity.
            spreads = k[gain] * terms * np.where(terms != 0.0, std, 0.0)
            variance = np.square(spreads).sum(axis=1)
            if turning and gain == 3:
                variance[1] = math.inf
            # parameter - torque * gain = 0, with this variance.
            apart = np.column_stack((np.zeros(4), -torques, np.eye(4)))
            information = apart.T @ (apart / variance[:, None])
            information[[0, 1], [0, 1]] += 1.0 / spread[[product, gain]] ** 2
            results.append(AxisPrior(mean, information))
        return results[0], results[1]


# Disjoint windows after which the response to the torques is first estimated,
RESPONSE_WINDOWS = 5
# and the share by which each interval between updates grows, inverse.
UPDATES = 4
# Length of the opening, windows: its rows are rebuilt with each update of the response, and once
# more, with those after it, when effects were looked for.
WARM_UP_WINDOWS = 20
# Windows of it that are kept while the response stays unknown, as of a parked robot.
KEPT_WINDOWS = 200
# Disjoint windows needed before effects beside the model are looked for.
EFFECT_WINDOWS = 40.0
# Share of the excitation's yaw moment that the floor is assumed to resist while it is unknown.
MOST_STUCK = 0.5


@dataclass(frozen=True)
class RegressionSettings:
    """What a regression is told; see IntegralEstimator."""

    geometry: WheelGeometry
    scale: MotionScale
    forgetting: float
    prior: Prior | None
    turning: bool
    steady: bool

    @property
    def remembers(self) -> bool:
        """Whether the estimate uses the whole run and nothing else: no forgetting, no prior."""
        return self.prior is None and self.forgetting == 1.0

    @property
    def most_stuck(self) -> float:
        """Moment that the floor is assumed to hold while it is unknown, N m."""
        levers = self.geometry.half_track / self.geometry.left_radius
        return MOST_STUCK * 2.0 * self.scale.torque * levers

    @property
    def axis_priors(self) -> tuple[AxisPrior | None, AxisPrior | None]:
        """The prior of the linear and of the angular axis; None without a prior."""
        if self.prior is None:
            return None, None
        return self.prior.of_axes(self.geometry, self.turning)

    @property
    def response(self) -> TorqueResponse:
        """What is known of the response to the torques before the first row."""
        known = TorqueResponse() if self.prior is None else TorqueResponse(*self.prior.values[2:])
        return replace(known, holding=self.most_stuck if self.turning else 0.0)


class StagedRegression:
    """The regression of both axes.

    Attributes:
        learning: Rows and sums so far.
        estimating: The last delay and fit, and their estimate.
        since: Stamp from which on the robot is as estimated, s; NaN: it did not change.
    """

    def __init__(
        self,
        settings: RegressionSettings,
        rows: IntegralRows,
        decimation: Decimation,
        period: float,
        clock: SampleClock,
    ) -> None:
        self._settings, self._rows, self._decimation = settings, rows, decimation
        self._period, self._clock = period, clock
        self._priors = settings.axis_priors
        self._known = TURNING_COLUMNS if settings.turning else NO_COLUMNS
        self._resists = False  # whether the floor was found to resist turning
        self._result = self._latest = TrustResult()  # of the last look, and of the last estimate
        self._slope = LastingSlope(settings.forgetting, EFFECT_WINDOWS)
        self._response = settings.response
        self._changed: float | None = None  # stamp of the last change, s
        self._began = self.since = math.nan
        self._taken = self._forgotten = 0  # samples, and those before the last change
        self._learnt = 0  # rows, including those that were learnt anew
        self.learning = Learning(rows, period, settings.scale, settings.forgetting)
        self.estimating = Estimating(
            self.learning, settings.geometry, decimation, period, clock, settings.remembers
        )
        self._begin()

    def _begin(self) -> None:
        length = self.learning.length
        self._update_every = self._until_update = RESPONSE_WINDOWS * length
        # None once the opening is over. With a prior the response is known from the start; with
        # forgetting, early rows fade anyway.
        kept = KEPT_WINDOWS * length * self._rows.fine
        self._warm_up = WarmUp(kept) if self._settings.remembers else None
        self._first: WarmUp | None = None  # from the opening's end until effects were looked for
        self._clear()

    def _clear(self) -> None:
        self.learning.clear()
        # None until the opening is over, and with forgetting or a prior.
        self._watch: RobotWatch | None = None
        self._renew()

    def _renew(self) -> None:
        self._stage: Fitting | None = None

    @property
    def _fitting(self) -> Fitting:
        if self._stage is None:
            sums = self.learning.sums
            if self._watch is not None:
                sums = self._watch.steady(sums)
            windows = self.learning.sums.rows / self.learning.length
            self._stage = Fitting(sums, windows, self._known, self._priors)
        return self._stage

    @property
    def samples_since_change(self) -> int | None:
        """Number of samples since the last change of the robot; None: it has not changed."""
        return None if self._changed is None else self._taken - self._forgotten

    @property
    def _drift(self) -> ForceDrift | None:
        return None if self._watch is None else self._watch.drift

    @property
    def refused(self) -> Effect | None:
        """The effect with which the last estimate can give no value; None: there is none."""
        return next((effect for effect in self._latest.effects if effect.refused), None)

    @property
    def significant_windows(self) -> float:
        """Number of windows below which effects that were not looked for may mislead."""
        return EFFECT_WINDOWS if self._settings.remembers else MIN_WINDOWS

    def interrupt(self) -> None:
        """Start a new segment: the next sample does not continue the previous ones."""
        self._decimation.interrupt()
        self.learning.end_segment()
        for kept in (self._warm_up, self._first):
            if kept is not None:
                kept.interrupt()

    def add(self, samples: Array) -> bool:
        """Process samples, shape (n, 6); return whether they gave rows."""
        samples = self._decimation.take(samples)
        if len(samples) and math.isnan(self._began):
            self._began = float(samples[0, 0])
        before = self._learnt
        while len(samples):
            now = self._rows.fine * self._until_update
            part, samples = samples[:now], samples[now:]
            if len(left := self._learn_until_change(part)):
                samples = np.concatenate((left, samples))
            elif not self._until_update:
                self._update_response()
        return self._learnt > before

    def _learn_until_change(self, samples: Array) -> Array:
        """Learn samples up to a change of the robot; return those after it."""
        fine = self._rows.fine
        made = self.learning.make(samples, self._response)
        while len(samples):
            watch = self._watch
            now = len(samples) if watch is None else fine * watch.units.left
            part, samples = samples[:now], samples[now:]
            periods, stamp = len(part) // fine, float(part[-1, 0])
            self._taken += periods * self._decimation.factor
            self._until_update -= periods
            self._learn(made.take(periods))
            if (kept := self._warm_up or self._first) is not None:
                kept.add(part)
            if watch is not None and watch.units.pass_by(periods, self.learning.sums, stamp):
                self._look_for_change(watch, stamp)
                if self._watch is not watch:
                    break
        return samples

    def _learn(self, made: MadeRows) -> None:
        if not len(made.rows):
            return
        self.learning.add(made)
        self._learnt += len(made.rows)
        self._renew()
        delay, lag = self.estimating.delay
        extra = self._fitting.extra(self._result.effects)
        clear = made.turning & made.whole
        self.learning.residuals.add(made.rows, clear, self._fitting.sums, delay, extra, lag)

    def _look_for_change(self, watch: RobotWatch, stamp: float) -> None:
        """Forget the robot that was, but its response, if it has changed."""
        if not self.learning.has_rows:
            return
        change = watch.look(self._fitting, self._result.effects, *self.estimating.delay)
        if change is None:
            self._renew()
            return
        self._changed, self._forgotten = change, self._taken
        self.since = self._clock.began + stamp
        self._result = self._result.alone()
        self._begin()

    def change_in_words(self) -> str | None:
        """Return when the robot has last changed; None if it has not."""
        if self._changed is None:
            return None
        time = self._changed - self._began
        return f"the robot changed {time:.0f} s after its first sample, as by a payload"

    def _update_response(self) -> None:
        learning, settings = self.learning, self._settings
        if learning.has_rows:
            self._look_for_effects()
        if learning.has_rows:
            fit = self.estimating.likely(self._fitting, self._result)
            self._response = response = fit.response(self._response, settings.most_stuck)
            looked = self._first if learning.windows >= EFFECT_WINDOWS else None
            kept = self._warm_up or looked
            if kept is not None and response.k7 > 0.0:
                self._learn_warm_up_anew(kept)
            if settings.forgetting == 1.0:
                self._update_every += self._update_every // UPDATES
        self._until_update = self._update_every

    def _look_for_effects(self) -> None:
        """Look for a lag and effects; with forgetting only for a slope, with a prior for none."""
        windows = self.learning.windows
        if windows < EFFECT_WINDOWS:
            return
        if not self._settings.remembers:
            if not self._result.effects and self._slope.seen(self._fitting, windows, self._result):
                self._result = replace(self._result, effects=(SLOPE,))
            return
        self._result = self._looks.result(self._result)
        if TURNING in self._result.effects:
            self._take_up_turning()

    @property
    def _looks(self) -> EffectLooks:
        learning = self.learning
        variance = max(learning.residuals.variance_factors())
        steady = self._settings.steady
        return EffectLooks(self._fitting, learning.windows, variance, steady, self._resists)

    def _take_up_turning(self) -> None:
        """Begin again with a floor that resists turning: rows in which it may hold tell nothing."""
        self._resists, self._known, self._rows.turning = True, TURNING_COLUMNS, True
        self._response = replace(self._response, holding=self._settings.most_stuck)
        self._result = TrustResult(lags=self._result.lags)
        first = self._first
        self._begin()
        if first is not None:
            self._warm_up = first
            self._learn_warm_up_anew(first)

    def _learn_warm_up_anew(self, warm_up: WarmUp) -> None:
        over = self.learning.windows >= WARM_UP_WINDOWS
        ended = math.inf if self._watch is None else self._watch.units.ends[0]
        self._clear()
        for follows, part in warm_up.parts:
            if not follows:
                self.learning.end_segment()
            self._learn(self.learning.make(part, self._response))
            last = float(part[-1, 0])
            if self._watch is not None:
                self._watch.units.pass_by(len(part) // self._rows.fine, self.learning.sums, last)
            elif last >= ended:
                self._begin_watch(warm_up, last)
        if over:
            again = self._resists or self._warm_up is None
            self._warm_up, self._first = None, None if again else warm_up
            if self._watch is None:
                self._begin_watch(warm_up, last)

    def _begin_watch(self, warm_up: WarmUp, stamp: float) -> None:
        """Watch the robot from the opening on, which ended at this stamp, s."""
        if self._settings.steady:
            self._watch = RobotWatch(self.learning, stamp, float(warm_up.parts[0][1][0, 0]))

    def estimate(self, samples: int) -> Estimate:
        """Return the estimate from the rows so far, not judged yet."""
        self._latest = self._result
        if self._settings.remembers and self.learning.windows >= EFFECT_WINDOWS:
            self._latest = self._looks.latest(self._result)
        units = None if self._watch is None else self._watch.units
        return self.estimating.estimate(
            self._fitting, self._latest, self._drift, units, samples, self.since
        )

    def warnings(self, estimate: Estimate) -> tuple[str, ...]:
        """Return the warnings about the last estimate."""
        return self.estimating.warnings(estimate, self._resists, self.change_in_words())
