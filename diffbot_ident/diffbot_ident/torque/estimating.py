# SPDX-License-Identifier: Apache-2.0
"""From fits to the estimate: the last delay, the last fit, and what they tell."""

from __future__ import annotations

import math

from arc_odometry import WheelGeometry
from diffbot_ident.torque.axis_fit import fit_axes
from diffbot_ident.torque.effect_search import TrustResult
from diffbot_ident.torque.estimate import Estimate, Pair
from diffbot_ident.torque.fitting import Fitting
from diffbot_ident.torque.learning import Learning
from diffbot_ident.torque.parameter_change import ForceDrift
from diffbot_ident.torque.robot_fit import RobotFit
from diffbot_ident.torque.sample_clock import SampleClock
from diffbot_ident.torque.torque_delay import (
    TOO_EARLY,
    TOO_LATE,
    Decimation,
    TorqueDelay,
)


class Estimating:
    """Estimates from fits; `period` of the groups of samples, s; `remembers`: the whole run."""

    def __init__(
        self,
        learning: Learning,
        geometry: WheelGeometry,
        decimation: Decimation,
        period: float,
        clock: SampleClock,
        remembers: bool,
    ) -> None:
        self._learning, self._geometry = learning, geometry
        self._samples, self._period, self._clock = decimation.factor, period, clock
        self._remembers = remembers
        self._timing: TorqueDelay | None = None
        self._fit: RobotFit | None = None

    @property
    def delay(self) -> Pair:
        """Last delay and lag of the torque, periods."""
        return (0.0, 0.0) if self._timing is None else (self._timing.value, self._timing.lag)

    def likely(self, fitting: Fitting, result: TrustResult) -> RobotFit:
        """Return the most likely fit alone, without the uncertainty of delay and effects."""
        delay = self._timing = fitting.delay(result.effects, result.lags)
        sums = fitting.sums.delayed(delay.value, delay.lag)
        axes = fit_axes(sums, fitting.extra(result.effects), fitting.priors)
        return RobotFit(axes, fitting, delay, result, self._geometry)

    def estimate(
        self,
        fitting: Fitting,
        result: TrustResult,
        drift: ForceDrift | None,
        samples: int,
        since: float,
    ) -> Estimate:
        """Return the estimate from the rows so far, not judged yet.

        `since`: stamp from which on the robot is as estimated, s; NaN: it did not change.
        """
        learning = self._learning
        delay = self._timing = fitting.evident_delay(result.effects, result.lags)
        linear, angular = fitting.axes(delay, result)
        if self._remembers:
            # With forgetting or a prior, a new load leaves correlated residuals until it is learnt,
            # and an interval that widens for it would keep the estimate from being used.
            factors = learning.residuals.variance_factors()
            linear, angular = (
                own.with_covariance(result.misfit * factor * own.covariance)
                for own, factor in zip((linear, angular), factors, strict=True)
            )
        fit = self._fit = RobotFit((linear, angular), fitting, delay, result, self._geometry, drift)
        span = learning.rows.window * self._period
        known = Estimate(
            samples=samples,
            residual_std=(math.sqrt(linear.variance) / span, math.sqrt(angular.variance) / span),
            residual_correlation=learning.residuals.correlation(),
            coverage=learning.coverage.shares(),
            delay=delay.reported * self._samples if delay.significant else math.nan,
            period=self._period / self._samples,
            since=since,
        )
        return fit.estimate(known, self._period, self._clock.wander, self._clock.bias)

    def beyond_search(self) -> str | None:
        """Return why a torque that acts earlier or later than is searched has no value, or None."""
        timing = self._timing
        if timing is None or not timing.significant:
            return None
        if timing.at_the_end:
            return timing.in_words(self._period, self._samples) + TOO_LATE
        effects = () if self._fit is None else self._fit.result.effects
        if timing.early and not any(each.like_a_delay for each in effects):
            return TOO_EARLY
        return None

    def warnings(self, estimate: Estimate, resists: bool, change: str | None) -> tuple[str, ...]:
        """Return the warnings about the last estimate; see `RobotFit.warnings`."""
        if self._fit is None:
            return ()
        result = self._fit.warnings(
            estimate, self._period, self._samples, resists=resists, change=change
        )
        return (*result, *self._learning.residuals.warnings())
