# SPDX-License-Identifier: Apache-2.0
"""Dead time of an axis, in fractions of a sample, and one additional parameter of its command.

    s_inertia dv/dt + s_drag v = c(t - d)      c = command
                                               c = sign(u) |u|^p            a static power law
                                               c = sign(u) max(|u| - b, 0)  dead band, an offset
                                               c = u where |u| > b, else 0  dead band, a threshold

d is scanned in whole samples, then all parameters are fitted together;
docs/theory/velocity_robots.md#dead-time-exponent-dead-band.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares, leastsq

from diffbot_description.dead_band import DeadBandKind, passed_of
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_ident.velocity.bounded_search import BoundedSearch, search_further
from diffbot_recordings.first_order import (
    Array,
    AxisSegment,
    FirstOrderFit,
    OutputError,
    fit_at,
)
from diffbot_recordings.sent_commands import SAME_LEVEL, levels_of
from diffbot_recordings.smoothed_response import UNSMOOTHED, Smoothing

LONGEST = 1.0
"""Dead times up to this are tried first, s."""
FURTHEST = 4.0
"""Longer ones up to this are tried if the best is the longest tried, s."""

# Steps of the derivatives by the dead time, in samples, and by the exponent.
DEAD_TIME_STEP, EXPONENT_STEP = 0.2, 0.01
# Initial exponents, and the bounds of an exponent.
EXPONENTS, LOWEST, HIGHEST = (0.6, 1.5, 2.0), 0.3, 4.0
# Initial dead bands, and the step of the derivative, as shares of the largest command.
BANDS, BAND_STEP = (0.0, 0.05, 0.12, 0.25, 0.45), 0.01
# Largest offset that can be fitted, as a share of the largest command.
MOST_BAND = 0.8
# Number of thresholds tried per round, and number of rounds.
THRESHOLDS, ROUNDS = 16, 3
# Standard deviation stated for a range between two commands, as a share of its width: the interval
# is the whole range.
RANGE_STD = 0.5 / NORMAL_95
# A threshold is possible up to this excess of the sum of squares, in residual variances.
POSSIBLE_EXCESS = 4.0
# Longest time over which a reading is a mean: in readings, and s.
WIDEST, LONGEST_WINDOW = 16.0, 0.5
# The square of a window that smooths as much as a low-pass, over the square of its time constant.
LAG_SQUARE = 12.0
# Share of the difference between a mean and a low-pass that is added to a low-pass's deviations.
SHAPE_FRACTION = 0.4
# Step of the derivative by the square of that time, in readings^2.
WINDOW_STEP = 0.25
# Names of the searches besides that of the dead time.
WINDOW, BAND = "time over which a reading is smoothed", "dead band"
# Relative tolerances of the fit for each dead time of the scan; the best one is refined later.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class DeadTimeFit:
    """An axis with its dead time.

    Attributes:
        fit: Model and intervals, which include the uncertainty of dead time and exponent.
        dead_time_std: Standard deviation of the dead time, s; infinite: not identifiable.
        exponent: p of the power law; 1: unchanged command.
        exponent_std: Standard deviation of the exponent; 0 if it was not estimated.
        scanned: Dead times tried, shape (m,), s.
        errors: Root mean square of the residuals at each of them, shape (m,).
        searches: How the searches ended: of the dead time, and of others whose end is no result.
        scan_best: Best theta = [log tau, gain] of the scan, (2,), and its dead time in samples.
        dead_band: b, in the command's unit; 0: unchanged command. An offset may have any sign.
        dead_band_std: Standard deviation of b; 0 if not estimated; infinite: not identifiable.
        smoothing: How the velocity is smoothed; its delay is part of the dead time.
        smoothing_range: 95 % interval of the smoothing's width, s.
    """

    fit: FirstOrderFit
    dead_time_std: float
    exponent: float
    exponent_std: float
    scanned: Array
    errors: Array
    searches: tuple[BoundedSearch, ...]
    scan_best: tuple[Array, float]
    dead_band: float = 0.0
    dead_band_std: float = 0.0
    kind: DeadBandKind = DeadBandKind.OFFSET
    smoothing: Smoothing = UNSMOOTHED
    smoothing_range: tuple[float, float] = (0.0, math.inf)

    @property
    def dead_time(self) -> float:
        """Best dead time, s."""
        return self.fit.dead_time

    @property
    def dead_time_search(self) -> BoundedSearch:
        """How the search of the dead time ended."""
        return self.searches[0]

    @property
    def longest(self) -> float:
        """End of the dead time's scan, s."""
        return self.dead_time_search.high

    def acting(self, segment: AxisSegment) -> AxisSegment:
        """Return a segment with the commands that act."""
        if self.dead_band != 0.0:
            return _with_band(self.kind)(segment, self.dead_band)
        return _bent(segment, self.exponent)

    def simulate(self, segment: AxisSegment) -> Array:
        """Simulate the velocity by commands alone, from the first measured sample, shape (n,)."""
        command = self.acting(segment).command
        start = float(segment.velocity[0])
        return self.fit.model.simulate(
            command, segment.period, start, self.dead_time, self.smoothing
        )


def fit_dead_time(
    segments: Sequence[AxisSegment],
    longest: float = LONGEST,
    with_exponent: bool = False,
    every: int = 1,
    plain: DeadTimeFit | None = None,
) -> DeadTimeFit:
    """Fit an axis and its dead time.

    Args:
        segments: At least one segment, all with the same period.
        longest: End of the scan, s, >= 0, within what the segments can tell. If the best dead time
            is there, longer ones up to FURTHEST are tried, unless `plain` is given.
        with_exponent: Whether the exponent p is also fitted.
        every: Samples between the dead times of the scan.
        plain: Fit of the same segments without an exponent, whose scan is used; or None.

    Raises:
        ValueError: A fit is impossible, see fit_first_order.
    """
    if not 0.0 <= longest < math.inf:
        raise ValueError(f"longest = {longest}: must be finite and >= 0 s")
    if not segments:
        raise ValueError("segments is empty: must hold at least one")
    if plain is not None:
        return _fit_within(segments, plain.longest, with_exponent, every, plain)
    return search_further(
        lambda reach: _fit_within(segments, reach, with_exponent, every, None),
        lambda result: result.dead_time_search,
        longest,
        min(max(longest, FURTHEST), _farthest(segments)),
    )


def _farthest(segments: Sequence[AxisSegment]) -> float:
    """Return the longest dead time that the segments can tell, s.

    A third of the longest segment, and a change of the command must remain after it.
    """
    period = segments[0].period
    most = max(len(segment.velocity) for segment in segments) // 3
    steps = [np.abs(np.diff(segment.command)) for segment in segments]
    least = SAME_LEVEL * max((float(step.max(initial=0.0)) for step in steps), default=0.0)
    changes = [np.flatnonzero(step > least) for step in steps]
    last = max((int(result[-1]) for result in changes if len(result)), default=2 * most)
    before = last - 2 - math.ceil(0.5 * LONGEST_WINDOW / period)
    return max(min(most, before), 0) * period


def _fit_within(
    segments: Sequence[AxisSegment],
    longest: float,
    with_exponent: bool,
    every: int,
    plain: DeadTimeFit | None,
) -> DeadTimeFit:
    """Return the fit with the best dead time up to `longest`; see fit_dead_time."""
    period = segments[0].period
    samples = int(min(longest, _farthest(segments)) / period + 1e-9)
    search = _DeadTimeSearch(segments, samples * period, _bent, (LOWEST, HIGHEST), EXPONENT_STEP)
    every *= segments[0].every
    if plain is None:
        errors, theta, late = search.scan(range(0, samples + 1, every))
    else:
        errors, (theta, late) = plain.errors, plain.scan_best
    scan_best = theta, late
    exponent = 1.0
    if with_exponent:
        tried = {1.0: (errors, theta, late)}
        for p in EXPONENTS:
            tried[p] = search.scan((0, int(late) // 2, int(late)), p)
        exponent = min(tried, key=lambda p: float(tried[p][0].min()))
        _, theta, late = tried[exponent]
    result = search.solve(theta, late, exponent if with_exponent else None)
    scanned = np.float64(period) * np.arange(0, samples + 1, every)
    return DeadTimeFit(
        fit=result.fit,
        dead_time_std=result.dead_time_std,
        exponent=result.more if with_exponent else 1.0,
        exponent_std=result.more_std,
        smoothing=result.smoothing,
        smoothing_range=result.smoothing_range,
        scanned=scanned,
        errors=errors,
        searches=_searches(result, search.lead, int(np.argmin(errors)) + 1 == len(errors)),
        scan_best=scan_best,
    )


def _searches(
    solution: _Solution, lead: float, scan_ended: bool = False
) -> tuple[BoundedSearch, ...]:
    """Return how the searches of a solution ended.

    `lead` is the longest dead time tried, s; `scan_ended`: the best point of the scan was the last.
    """
    late = lead if scan_ended else solution.fit.dead_time
    dead_time = BoundedSearch("dead time", late, 0.0, lead, natural_low=True)
    return (dead_time, solution.fit.search, solution.window_search, *solution.more_search)


def fit_dead_band(
    segments: Sequence[AxisSegment],
    longest: float = LONGEST,
    kind: DeadBandKind = DeadBandKind.OFFSET,
    every: int = 1,
    plain: DeadTimeFit | None = None,
) -> DeadTimeFit:
    """Fit an axis, its dead time and its dead band; arguments as for fit_dead_time.

    The interval of an offset is that of its estimate; that of a threshold is the range between the
    commands that did and did not move the axis.

    Raises:
        ValueError: A fit is impossible, see fit_first_order.
    """
    if plain is None:
        plain = fit_dead_time(segments, longest, every=every)
    late = round(plain.dead_time / segments[0].period)
    most = max(float(np.abs(s.sent_values).max(initial=0.0)) for s in segments)
    if kind is DeadBandKind.THRESHOLD:
        return _fit_threshold(segments, plain, late)
    step = BAND_STEP * most
    banded = _with_band(kind)
    search = _DeadTimeSearch(segments, plain.longest, banded, (-most, MOST_BAND * most), step, BAND)
    lates = sorted({0, late // 2, late})
    tried = {fraction * most: search.scan(lates, fraction * most) for fraction in BANDS}
    band = min(tried, key=lambda width: float(tried[width][0].min()))
    _, theta, at = tried[band]
    result = search.solve(theta, at, band)
    return replace(_solved(plain, result), dead_band=result.more, dead_band_std=result.more_std)


def _fit_threshold(segments: Sequence[AxisSegment], plain: DeadTimeFit, late: int) -> DeadTimeFit:
    """Return the fit with the best threshold between the sizes of the commands given."""
    banded = _with_band(DeadBandKind.THRESHOLD)
    search = _DeadTimeSearch(segments, plain.longest, banded)
    levels = levels_of(np.concatenate([np.zeros(1), *(s.sent_values for s in segments)]))
    widths = 0.5 * (levels[1:] + levels[:-1])
    if not len(widths):
        raise ValueError("all commands are of one size: record smaller ones, too")
    tried: dict[int, tuple[float, Array]] = {}
    low, high, best = 0, len(widths) - 1, 0
    possible = [0]
    for _ in range(ROUNDS):
        for index in np.unique(np.linspace(low, high, THRESHOLDS).astype(int)).tolist():
            if index not in tried:
                errors, theta, _ = search.scan((late,), float(widths[index]))
                tried[index] = float(errors[0]) ** 2, theta
        best = min(tried, key=lambda index: tried[index][0])
        samples = sum(int(np.count_nonzero(s.counts)) for s in segments)
        limit = tried[best][0] * (1.0 + POSSIBLE_EXCESS / samples)
        possible = [index for index in sorted(tried) if tried[index][0] <= limit]
        low = max((index for index in tried if index < possible[0]), default=possible[0])
        high = min((index for index in tried if index > possible[-1]), default=possible[-1])
    first, last = float(levels[possible[0]]), float(levels[possible[-1] + 1])
    bent = [banded(segment, float(widths[best])) for segment in segments]
    result = _DeadTimeSearch(bent, plain.longest, _bent).solve(tried[best][1], float(late))
    return replace(
        _solved(plain, result),
        dead_band=0.5 * (first + last),
        dead_band_std=RANGE_STD * (last - first),
        kind=DeadBandKind.THRESHOLD,
    )


def _solved(plain: DeadTimeFit, result: _Solution) -> DeadTimeFit:
    """Return a fit without a dead band with what a solution found for the same segments."""
    return replace(
        plain,
        fit=result.fit,
        dead_time_std=result.dead_time_std,
        smoothing=result.smoothing,
        smoothing_range=result.smoothing_range,
        searches=_searches(result, plain.longest),
    )


def scan_dead_times(segments: Sequence[AxisSegment], dead_time_fit: DeadTimeFit) -> DeadTimeFit:
    """Return the fit with the errors of all dead times at its exponent or dead band, for plots."""
    if dead_time_fit.exponent == 1.0 and dead_time_fit.dead_band == 0.0:
        return dead_time_fit
    acting = [dead_time_fit.acting(segment) for segment in segments]
    search = _DeadTimeSearch(acting, dead_time_fit.longest, _bent)
    lates = range(0, round(dead_time_fit.longest / segments[0].period) + 1, segments[0].every)
    return replace(dead_time_fit, errors=search.scan(lates)[0])


def power_law(command: Array, exponent: float) -> Array:
    """Return sign(u) |u|^p, shape (n,)."""
    return command if exponent == 1.0 else np.sign(command) * np.abs(command) ** exponent


def _bent(segment: AxisSegment, exponent: float) -> AxisSegment:
    if exponent == 1.0:
        return segment
    return segment.acting(lambda command: power_law(command, exponent))


def _with_band(kind: DeadBandKind) -> Callable[[AxisSegment, float], AxisSegment]:
    """Return the function that applies a dead band of this kind to a segment's commands."""

    def banded(segment: AxisSegment, width: float) -> AxisSegment:
        return segment.acting(lambda command: passed_of(command, width, kind))

    return banded


@dataclass(frozen=True)
class _Solution:
    """Result of _DeadTimeSearch.solve; see DeadTimeFit. `more` is the additional parameter."""

    fit: FirstOrderFit
    dead_time_std: float
    smoothing: Smoothing
    smoothing_range: tuple[float, float]
    window_search: BoundedSearch
    more: float = math.nan
    more_std: float = 0.0
    more_search: tuple[BoundedSearch, ...] = ()


class _DeadTimeSearch:
    """Residuals as functions of x = [log tau, gain, dead time, square, additional parameter].

    The dead time is in samples. The square is that of the smoothing's window, or of a window that
    smooths as much as its low-pass, in units of the usual time between two readings.

    Args:
        lead: Time at each segment's beginning that is only used for past commands, s.
        changed: Function that applies the additional parameter to a segment.
        bounds: Bounds of the additional parameter.
        step: Step of the derivative by it.
        name: Name of it.
    """

    def __init__(
        self,
        segments: Sequence[AxisSegment],
        lead: float,
        changed: Callable[[AxisSegment, float], AxisSegment],
        bounds: tuple[float, float] = (-math.inf, math.inf),
        step: float = EXPONENT_STEP,
        name: str = "exponent",
    ) -> None:
        self._segments, self._name = segments, name
        self._changed, self._steps = changed, (DEAD_TIME_STEP, WINDOW_STEP, step)
        self._period = segments[0].period
        self._reading = reading_spacing(segments)
        widest = min(WIDEST, LONGEST_WINDOW / self._reading)
        self._bounds = ((0.0, lead / self._period), (0.0, widest**2), bounds)
        self.lead = lead
        self._low_pass = False
        self._last: tuple[tuple[object, ...], OutputError] | None = None
        self._kept: tuple[float, Sequence[AxisSegment]] | None = None

    def _problem(self, late: float, square: float, more: float | None = None) -> OutputError:
        """Return the residuals at a dead time, a square and an additional parameter."""
        key = (self._low_pass, float(late), float(square), more)
        if self._last is None or self._last[0] != key:
            segments = self._changed_by(more)
            dead_time, smoothing = float(late) * self._period, self._smoothing(square)
            if self._last is None:
                problem = OutputError(segments, dead_time, self.lead, smoothing)
            else:
                problem = self._last[1].moved(segments, dead_time, smoothing)
            self._last = key, problem
        return self._last[1]

    def _changed_by(self, more: float | None) -> Sequence[AxisSegment]:
        """Return the segments with an additional parameter applied; the last ones are kept."""
        if more is None:
            return self._segments
        if self._kept is None or self._kept[0] != more:
            changed = [self._changed(segment, float(more)) for segment in self._segments]
            self._kept = float(more), changed
        return self._kept[1]

    def scan(self, lates: Sequence[int], more: float | None = None) -> tuple[Array, Array, float]:
        """Return the errors at dead times of whole samples; the best theta and dead time."""
        errors = np.empty(len(lates))
        theta: Array | None = None
        best = (math.inf, np.zeros(2), 0.0)
        for i, late in enumerate(lates):
            problem = self._problem(late, 0.0, more)
            if theta is None:
                theta = problem.first_guess()
            # The plain interface of the same MINPACK routine is faster; this runs for every sample.
            theta = leastsq(
                problem.residuals,
                theta,
                Dfun=problem.jacobian,
                ftol=TOLERANCE,
                xtol=TOLERANCE,
                maxfev=50,
                full_output=True,
            )[0]
            residuals = problem.residuals(theta)
            errors[i] = math.sqrt(float(residuals @ residuals) / len(residuals))
            if errors[i] < best[0]:
                best = (float(errors[i]), theta, float(late))
        return errors, best[1], best[2]

    def solve(self, theta: Array, late: float, more: float | None = None) -> _Solution:
        """Return the fit from a start: theta, dead time in samples, additional parameter.

        The velocity is smoothed by a window or a low-pass, by which the residuals are smaller.
        """
        start = np.array([*theta, late, 1.0, *(() if more is None else (more,))])
        self._low_pass = False
        window = self._solve(start)
        # Within one reading both are the same.
        if window.smoothing.window <= self._reading:
            return window
        self._low_pass = True
        low_pass = self._solve(start)
        if window.fit.residual_std <= low_pass.fit.residual_std:
            return window
        return _widened(low_pass, window)

    def _solve(self, start: Array) -> _Solution:
        x = least_squares(
            self._residuals, start, jac=self._jacobian, method="lm", x_scale="jac", max_nfev=60
        ).x
        x = self._within(x)
        others = self._jacobian(x)[:, 2:]
        fit, stds = fit_at(self._problem(*x[2:]), x[:2], others)
        if not stds[1] < self._bounds[1][1]:
            # Samples that all miss the time in which a window shifts over a step cannot tell it
            # from a dead time, and it has no effect on the other parameters.
            fit, stds = fit_at(self._problem(*x[2:]), x[:2], np.delete(others, 1, axis=1))
            stds = np.insert(stds, 1, math.inf)
        # A deviation beyond the scan's width means that the dead time is not identifiable.
        late_std = float(stds[0]) * self._period
        half = NORMAL_95 * float(stds[1])
        squares = [min(max(x[3] + side * half, 0.0), self._bounds[1][1]) for side in (-1.0, 1.0)]
        low, high = (self._smoothing(square) for square in squares)
        widest = self._smoothing(self._bounds[1][1]).width
        # A window that the samples cannot tell has no effect on the other parameters.
        window = BoundedSearch(
            WINDOW, self._smoothing(x[3]).width, 0.0, widest, natural_low=True,
            natural_high=not math.isfinite(stds[1]),
        )  # fmt: skip
        solution = _Solution(
            fit=fit,
            dead_time_std=late_std if late_std < max(self.lead, self._period) else math.inf,
            smoothing=self._smoothing(x[3]),
            smoothing_range=(low.width, high.width),
            window_search=window,
        )
        if len(x) == 4:
            return solution
        more = BoundedSearch(self._name, float(x[4]), *self._bounds[2], "")
        return replace(
            solution,
            more=more.value,
            more_std=more.std(float(stds[2])),
            more_search=(more,),
        )

    def _smoothing(self, square: float) -> Smoothing:
        """Return the smoothing of a square. A low-pass filters means over the last period."""
        if not self._low_pass:
            return Smoothing(self._reading * math.sqrt(square))
        window, lag = math.sqrt(min(square, 1.0)), math.sqrt(max(square - 1.0, 0.0) / LAG_SQUARE)
        return Smoothing(self._reading * window, self._reading * lag)

    def _within(self, x: Array) -> Array:
        """Return the parameters limited to their bounds."""
        x = np.array(x)
        for i, (low, high) in zip(range(2, len(x)), self._bounds, strict=False):
            x[i] = min(max(x[i], low), high)
        return x

    def _residuals(self, x: Array) -> Array:
        """Return the residuals, shape (n,)."""
        x = self._within(x)
        return self._problem(*x[2:]).residuals(x[:2])

    def _jacobian(self, x: Array) -> Array:
        """Return the Jacobian, shape (n, len(x)); by differences from the third column on."""
        x = self._within(x)
        columns = [self._problem(*x[2:]).jacobian(x[:2])]
        for i, step in zip(range(2, len(x)), self._steps, strict=False):
            low, high = np.array(x), np.array(x)
            low[i] -= step
            high[i] += step
            low, high = self._within(low), self._within(high)
            width = high[i] - low[i]
            if width > 0.0:
                columns.append((self._residuals(high) - self._residuals(low)) / width)
            else:
                columns.append(np.zeros_like(columns[0][:, 0]))
        return np.column_stack(columns)


def _widened(best: _Solution, other: _Solution) -> _Solution:
    """Return a solution whose intervals allow for a filter of another shape than a low-pass.

    Digital filters of a few readings are in between; the difference to a mean is the measure.
    """
    fit, model = best.fit, other.fit.model
    off = SHAPE_FRACTION * abs(fit.model.time_constant - model.time_constant)
    covariance = fit.covariance.copy()
    covariance[0, 0] += (SHAPE_FRACTION * (fit.model.inertia - model.inertia)) ** 2
    time_constant_std = math.hypot(fit.time_constant_std, off)
    late = SHAPE_FRACTION * abs(fit.dead_time - other.fit.dead_time)
    return replace(
        best,
        fit=replace(fit, covariance=covariance, time_constant_std=time_constant_std),
        dead_time_std=math.hypot(best.dead_time_std, late),
    )


def reading_spacing(segments: Sequence[AxisSegment]) -> float:
    """Return the usual time between two readings, s; segments must not be empty."""
    gaps = np.concatenate([np.diff(np.flatnonzero(segment.counts)) for segment in segments])
    return segments[0].period * (float(np.median(gaps)) if len(gaps) else 1.0)
