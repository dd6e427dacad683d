# SPDX-License-Identifier: Apache-2.0
"""Search of all parameters of an axis together: its lag, dead time, smoothing and driver.

docs/theory/velocity_robots.md#dead-time-exponent-dead-band.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy

from diffbot_ident.estimate import NORMAL_95
from diffbot_ident.velocity.bounded_search import BoundedSearch
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.correlated_residuals import log_likelihoods
from diffbot_recordings.driver_model import DriverModel, DriverParameter
from diffbot_recordings.first_order import Array, FirstOrderFit, OutputError, fit_at
from diffbot_recordings.smoothed_response import LAG_SQUARE, Smoothing

# Share of the widest mean below which its interval must be for the search to have ended.
HALF_KNOWN = 0.85
# Step of the derivative by the dead time, in samples.
DEAD_TIME_STEP = 0.2
# Longest time over which a reading is a mean: in readings, and s.
WIDEST, LONGEST_WINDOW = 16.0, 0.5
# Share of the difference between a mean and a low-pass that is added to a low-pass's deviations.
SHAPE_FRACTION = 0.1
# A mean of less than this many readings for certain is no low-pass; readings^2 to look for one.
CERTAIN_WINDOW, WIDER = 1.5, 4.0
# Mean delay of a driver's filter in readings, before any data: shorter ones are likelier.
USUAL_READINGS = 2.0
# Solutions less likely than this, over the best, do not widen its interval.
POSSIBLE = 0.05
# Lags are exchanged if the square is within so many times the largest, the axis not so fast in
# readings.
EXCHANGED_REACH, FASTEST = 2.0, 0.5
# Readings over a time constant, beyond which a filter that takes the axis's place does nothing.
INSTANT = 100.0
# Least step of the derivative by the square of that time, in readings^2; also its least value.
WINDOW_STEP = 0.25
WINDOW = "time over which a reading is smoothed"
# Relative tolerances of the fit for each dead time of the scan; the best one is refined later.
SCAN_TOLERANCE = 1e-4
# Relative tolerances of the refinement: a hundredth of a standard deviation.
TOLERANCE = 1e-7


PLAIN = DriverModel()
"""A driver that passes commands on as they are."""


@dataclass(frozen=True)
class Free:
    """A parameter of the driver that a search varies; `step` is that of the derivative by it."""

    parameter: DriverParameter
    low: float
    high: float
    step: float


class Scanned(NamedTuple):
    """A fit of the unsmoothed response at one dead time.

    Attributes:
        error: Root mean square of the residuals.
        theta: [log tau, gain], (2,).
        late: The dead time in samples.
    """

    error: float
    theta: Array
    late: float


@dataclass(frozen=True)
class AxisSolution:
    """Result of AxisSearch.solve, with the driver's free parameters; see DeadTimeFit."""

    fit: FirstOrderFit
    dead_time_std: float
    smoothing: Smoothing
    smoothing_range: tuple[float, float]
    window_search: BoundedSearch
    driver: DriverModel = DriverModel()
    more_std: tuple[float, ...] = ()
    more_searches: tuple[BoundedSearch, ...] = ()

    def widened(self, other: AxisSolution, fraction: float) -> AxisSolution:
        """Return this with intervals wider by a part of the difference from another one."""
        fit, model = self.fit, other.fit.model
        off = fraction * np.array([fit.model.inertia - model.inertia, fit.model.drag - model.drag])
        tau = fraction * (fit.model.time_constant - model.time_constant)
        gain = fraction * (fit.model.gain - model.gain)
        late = fraction * (fit.dead_time - other.fit.dead_time)
        fit = replace(
            fit,
            covariance=fit.covariance + np.outer(off, off),
            time_constant_std=math.hypot(fit.time_constant_std, tau),
            gain_std=math.hypot(fit.gain_std, gain),
        )
        return replace(self, fit=fit, dead_time_std=math.hypot(self.dead_time_std, late))


@dataclass(frozen=True)
class _Candidate:
    """A solution of one kind of smoothing, its x, residuals, (n,), and their Jacobian, (n, p)."""

    solution: AxisSolution
    x: Array
    residuals: Array
    jacobian: Array


def _likeliest(candidates: Sequence[_Candidate], lengths: Sequence[int]) -> AxisSolution:
    """Return the most likely solution, with intervals that allow for others that are possible."""
    likely = log_likelihoods([(each.residuals, each.jacobian) for each in candidates], lengths)
    prior = -np.array([each.solution.smoothing.readings for each in candidates]) / USUAL_READINGS
    best = int(np.argmax(likely.sum(axis=1) + prior))
    result = candidates[best].solution
    for other, change, before in zip(candidates, likely - likely[best], prior, strict=True):
        evidence, scatter = float(change.sum()), float(change @ change)
        if scatter > 0.0:
            # Where the noise is not as assumed, the scatter between parts tells more (Vuong, 1989).
            evidence = max(evidence, -0.5 * evidence**2 / scatter)
        ratio = math.exp(evidence + before - prior[best])
        fraction = math.sqrt(ratio / (1.0 + ratio)) if ratio > POSSIBLE else 0.0
        if result.smoothing.lag > 0.0 and not other.solution.smoothing.lag > 0.0:
            fraction = max(fraction, SHAPE_FRACTION)
        result = result.widened(other.solution, fraction)
    return result


class AxisSearch:
    """Residuals as functions of x = [log tau, gain, dead time, square, free values of the driver].

    The dead time is in samples. The square is that of the smoothing's window (of a low-pass: of the
    window that smooths as much) in usual times between two readings.

    Args:
        lead: Time at each segment's beginning that is only used for past commands, s.
    """

    def __init__(
        self,
        segments: Sequence[AxisSegment],
        lead: float,
        driver: DriverModel = PLAIN,
        free: Sequence[Free] = (),
    ) -> None:
        self._segments, self._driver, self._free = segments, driver, tuple(free)
        self._parameters = [each.parameter for each in free]
        self._period = segments[0].period
        self._reading = reading_spacing(segments)
        widest = min(WIDEST, LONGEST_WINDOW / self._reading)
        # Of a mean, and of a low-pass that delays as much.
        self._widest = (widest**2, Smoothing(1.0, 0.5 * widest).width ** 2)
        self.lead = lead
        self._low_pass = False
        self._last: tuple[tuple[object, ...], OutputError] | None = None
        self._kept: tuple[tuple[float, ...], Sequence[AxisSegment]] | None = None

    @property
    def _bounds(self) -> list[tuple[float, float]]:
        of_driver = [(free.low, free.high) for free in self._free]
        return [(0.0, self.lead / self._period), (0.0, self._widest[self._low_pass]), *of_driver]

    def _problem(self, late: float, square: float, *more: float) -> OutputError:
        key = (self._low_pass, float(late), float(square), more)
        if self._last is None or self._last[0] != key:
            segments = self._changed_by(more)
            # Of a lead of whole samples, the last one may be longer by rounding.
            dead_time = min(float(late) * self._period, self.lead)
            smoothing = self._smoothing(square)
            if self._last is None:
                problem = OutputError(segments, dead_time, self.lead, smoothing)
            else:
                problem = self._last[1].moved(segments, dead_time, smoothing)
            self._last = key, problem
        return self._last[1]

    def _changed_by(self, more: tuple[float, ...]) -> Sequence[AxisSegment]:
        if self._kept is None or self._kept[0] != more:
            driver = self._driver.with_values(self._parameters, more)
            self._kept = more, [driver.acting(segment) for segment in self._segments]
        return self._kept[1]

    def scan(self, lates: Sequence[int], more: tuple[float, ...] = ()) -> Scanned:
        """Return the fit at the best of dead times of whole samples."""
        log_taus, squares = self._problem(lates[0], 0.0, *more).guesses(lates)
        best = int(np.argmin(squares))
        problem = self._problem(lates[best], 0.0, *more)
        return self.fit_from(lates[best], more, problem.with_gain(float(log_taus[best]))[1])

    def fit_from(self, late: int, more: tuple[float, ...], start: Array) -> Scanned:
        """Return the fit at a dead time of whole samples, searched from a theta."""
        problem = self._problem(late, 0.0, *more)
        # The plain interface of the same MINPACK routine is faster.
        theta = scipy.optimize.leastsq(
            problem.residuals,
            start,
            Dfun=problem.jacobian,
            ftol=SCAN_TOLERANCE,
            xtol=SCAN_TOLERANCE,
            maxfev=50,
            full_output=True,
        )[0]
        residuals = problem.residuals(theta)
        error = math.sqrt(float(residuals @ residuals) / len(residuals))
        return Scanned(error, theta, float(late))

    def errors(self, lates: Sequence[int]) -> Array:
        """Return the least errors at dead times of whole samples."""
        problems = [self._problem(late, 0.0) for late in lates]
        log_taus, _ = problems[0].guesses(lates)
        pairs = zip(problems, log_taus.tolist(), strict=True)
        squares = [problem.with_gain(log_tau)[0] for problem, log_tau in pairs]
        errors: Array = np.sqrt(np.array(squares) / len(problems[0].measured))
        return errors

    def solve(
        self,
        theta: Array,
        late: float,
        more: tuple[float, ...] = (),
        like: Smoothing | None = None,
    ) -> AxisSolution:
        """Return the fit from a start: theta, dead time in samples, values of free parameters.

        `like` is a smoothing to begin from, of which only the width is searched.
        """
        start = np.array([*theta, late, 1.0, *more])
        if like is not None:
            self._low_pass = like.lag > 0.0
            start[3] = (like.width / self._reading) ** 2
            return self._solve(start).solution
        self._low_pass = False
        candidates = [self._solve(start)]
        # Within one reading both are the same.
        if candidates[0].solution.smoothing_range[1] <= CERTAIN_WINDOW * self._reading:
            return candidates[0].solution
        self._low_pass = True
        start = candidates[0].x.copy()
        # Between a narrow mean and a wide one there may be a hill.
        start[3] = max(start[3], WIDER)
        candidates.append(self._solve(start))
        exchanged = self._exchanged(candidates[1])
        if exchanged is not None:
            candidates.append(self._solve(exchanged))
        return _likeliest(candidates, self._problem(*start[2:]).lengths)

    def _exchanged(self, candidate: _Candidate) -> Array | None:
        """Return a start with the lags of axis and filter exchanged, or None.

        The filter would be too wide, or the axis faster than its readings, as without a filter.
        """
        x, lag, reading = candidate.x, candidate.solution.smoothing.lag, self._reading
        if not lag > 0.0:
            return None
        # Time constants of a filter of readings that takes the axis's place, and of its own.
        tau = self._problem(*x[2:]).time_constant(x[:2])
        other_lag = reading / math.expm1(min(reading / tau, INSTANT))
        other_tau = reading / math.log1p(reading / lag)
        square = (Smoothing(reading, other_lag).width / reading) ** 2
        if other_tau < FASTEST * reading or square > EXCHANGED_REACH * self._bounds[1][1]:
            return None
        late = x[2] + (other_lag - lag) / self._period
        return self._within(np.array([math.log(other_tau), x[1], late, square, *x[4:]]))

    def _solve(self, start: Array) -> _Candidate:
        x = scipy.optimize.least_squares(
            self._residuals,
            start,
            jac=self._jacobian,
            method="lm",
            x_scale="jac",
            max_nfev=60,
            ftol=TOLERANCE,
            xtol=TOLERANCE,
        ).x
        x = self._within(x)
        problem = self._problem(*x[2:])
        by_free = self._by_free(problem, x)
        most, step = self._bounds[1][1], 0.0
        unknown = np.array([math.inf, most / NORMAL_95, *[math.inf] * len(by_free)])
        stds = np.full(2, math.inf)
        # Over a range as wide as the deviation: a square has an end, and hills.
        while step < most and not stds[1] < step:
            step = min(max(4.0 * step, WINDOW_STEP), most)
            others = np.column_stack((*self._differences(x, step), *by_free))
            fit, stds = fit_at(problem, x[:2], others, unknown)
        # A deviation beyond the scan's width means that the dead time is not identifiable.
        late_std = float(stds[0]) * self._period
        half = NORMAL_95 * float(stds[1])
        squares = [min(max(x[3] + side * half, 0.0), most) for side in (-1.0, 1.0)]
        low, high = (self._smoothing(square) for square in squares)
        widest = self._smoothing(most).width
        window = BoundedSearch(
            WINDOW, self._smoothing(x[3]).width, 0.0, widest, natural_low=True,
            natural_high=not half < HALF_KNOWN * most,
        )  # fmt: skip
        solution = AxisSolution(
            fit=fit,
            dead_time_std=late_std if late_std < max(self.lead, self._period) else math.inf,
            smoothing=self._smoothing(x[3]),
            smoothing_range=(low.width, high.width),
            window_search=window,
            driver=self._driver.with_values(self._parameters, x[4:].tolist()),
        )
        searches = tuple(
            BoundedSearch(free.parameter.value, float(value), free.low, free.high, "")
            for free, value in zip(self._free, x[4:], strict=True)
        )
        more_std = tuple(
            search.std(float(std)) for search, std in zip(searches, stds[2:], strict=True)
        )
        solution = replace(solution, more_std=more_std, more_searches=searches)
        return _Candidate(solution, x, self._residuals(x), self._jacobian(x))

    def _smoothing(self, square: float) -> Smoothing:
        """A low-pass filters means over the last period."""
        if not self._low_pass:
            return Smoothing(self._reading * math.sqrt(square))
        window = math.sqrt(min(square, 1.0))
        lag = 0.5 * (math.sqrt(1.0 + 4.0 * max(square - 1.0, 0.0) / LAG_SQUARE) - 1.0)
        return Smoothing(self._reading * window, self._reading * lag)

    def _within(self, x: Array) -> Array:
        x = np.array(x)
        # A search that steps below 0 comes back, and does not stay there.
        x[3] = abs(x[3])
        for i, (low, high) in zip(range(2, len(x)), self._bounds, strict=False):
            x[i] = min(max(x[i], low), high)
        return x

    def _residuals(self, x: Array) -> Array:
        x = self._within(x)
        return self._problem(*x[2:]).residuals(x[:2])

    def _differences(self, x: Array, window_step: float) -> list[Array]:
        """Return derivatives by dead time and square over steps, (n,) each, for their deviations.

        At a point, the derivative jumps where a change of a command begins to act at a sample.
        """
        columns = []
        for i, step in ((2, DEAD_TIME_STEP), (3, window_step)):
            ends = np.stack((x, x))
            ends[:, i] = np.clip((x[i] - step, x[i] + step), *self._bounds[i - 2])
            low, high = map(self._residuals, ends)
            columns.append((high - low) / max(float(np.ptp(ends[:, i])), sys.float_info.min))
        return columns

    def _jacobian(self, x: Array) -> Array:
        side, x = math.copysign(1.0, x[3]), self._within(x)
        theta, late, square, more = x[:2], x[2], x[3], x[4:]
        problem = self._problem(late, square, *more)
        # Without a window there is no derivative by its width.
        wider = problem if square >= WINDOW_STEP else self._problem(late, WINDOW_STEP, *more)
        columns = [
            *problem.jacobian(theta).T,
            self._period * problem.by_dead_time(theta),
            side * self._reading**2 * wider.by_square(theta),
            *self._by_free(problem, x),
        ]
        return np.column_stack(columns)

    def _by_free(self, problem: OutputError, x: Array) -> list[Array]:
        """Return the derivatives by the driver's free parameters, (n,) each."""
        theta, more = x[:2], x[4:]
        columns, now = [], self._changed_by(tuple(more))
        for i, free in enumerate(self._free):
            step = free.step if more[i] + free.step <= free.high else -free.step
            others = np.array(more)
            others[i] += step
            driver = self._driver.with_values(self._parameters, others.tolist())
            then = [driver.acting(segment) for segment in self._segments]
            columns.append(problem.by_commands(theta, now, then) / step)
        return columns


def reading_spacing(segments: Sequence[AxisSegment]) -> float:
    """Return the usual time between two readings, s; segments must not be empty."""
    gaps = np.concatenate([np.diff(np.flatnonzero(segment.counts)) for segment in segments])
    return segments[0].period * (float(np.median(gaps)) if len(gaps) else 1.0)
