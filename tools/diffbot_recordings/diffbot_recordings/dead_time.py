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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from diffbot_description.dead_band import DeadBandKind
from diffbot_ident.estimate import NORMAL_95
from diffbot_ident.velocity.bounded_search import BoundedSearch, search_further
from diffbot_recordings.axis_search import (
    LONGEST_WINDOW,
    PLAIN,
    AxisSearch,
    AxisSolution,
    Free,
    Scanned,
    reading_spacing,
)
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.driver_model import DriverModel, DriverParameter
from diffbot_recordings.first_order import Array, FirstOrderFit, NothingActsError
from diffbot_recordings.sent_commands import SAME_LEVEL, levels_of
from diffbot_recordings.smoothed_response import UNSMOOTHED, Smoothing

LONGEST = 1.0
"""Dead times up to this are tried first, s."""
FURTHEST = 4.0
"""Longer ones up to this are tried if the best is the longest tried, s."""

EXPONENT_STEP = 0.01
# Initial exponents, and the bounds of an exponent.
EXPONENTS, LOWEST, HIGHEST = (0.6, 1.5, 2.0), 0.3, 4.0
# Initial dead bands, and the step of the derivative, as shares of the largest command.
BANDS, BAND_STEP = (0.0, 0.05, 0.12, 0.25, 0.45), 0.01
# Largest offset that can be fitted, as a share of the largest command.
MOST_BAND = 0.8
# Number of thresholds tried per round, and number of rounds.
THRESHOLDS, ROUNDS = 16, 3
# A range between two commands is stated as its whole width.
RANGE_STD = 0.5 / NORMAL_95
# A threshold is possible up to this excess of the sum of squares, in residual variances.
POSSIBLE_EXCESS = 4.0
# Slowest ramp searched, s to the largest command; the fastest takes this share of a reading.
SLOWEST_RAMP, FASTEST_RAMP = 20.0, 0.2
LIMIT_STEP = 0.02
# Limits tried with each dead band, as shares of that without one.
LIMIT_FRACTIONS = (0.6, 1.0, 1.7)

# Dead times that a plot shows, about.
SHOWN = 50

# The searches of a fit before those of its driver's parameters.
DRIVER_SEARCHES = 3


@dataclass(frozen=True)
class DeadTimeFit:
    """An axis with its dead time.

    Attributes:
        fit: Model and intervals, which include the uncertainty of dead time and exponent.
        dead_time_std: Standard deviation of the dead time, s; infinite: not identifiable.
        exponent_std: Standard deviation of the exponent; 0 if it was not estimated.
        searches: How the searches ended: of the dead time, and of others whose end is no result.
        scan_best: Best fit of the scan, without exponent.
        driver: What the driver makes of commands. An offset may have any sign.
        free: Its parameters that were fitted.
        dead_band_std: Standard deviation of b; 0 if not estimated; infinite: not identifiable.
        smoothing: How the velocity is smoothed; its delay is part of the dead time.
        smoothing_range: 95 % interval of the smoothing's width, s.
        ramp_std: Relative standard deviations of the ramp's limits [speeding, braking].
        scanned: Dead times of `scan_dead_times`, shape (m,), s.
        errors: Root mean square of the residuals at each of them, shape (m,).
    """

    fit: FirstOrderFit
    dead_time_std: float
    exponent_std: float
    searches: tuple[BoundedSearch, ...]
    scan_best: Scanned
    driver: DriverModel = PLAIN
    free: tuple[Free, ...] = ()
    dead_band_std: float = 0.0
    smoothing: Smoothing = UNSMOOTHED
    smoothing_range: tuple[float, float] = (0.0, math.inf)
    ramp_std: tuple[float, float] = (0.0, 0.0)
    scanned: Array = field(default_factory=lambda: np.empty(0))
    errors: Array = field(default_factory=lambda: np.empty(0))

    @property
    def exponent(self) -> float:
        return self.driver.exponent

    @property
    def dead_band(self) -> float:
        return self.driver.dead_band

    @property
    def kind(self) -> DeadBandKind:
        return self.driver.kind

    @property
    def theta(self) -> Array:
        """[log tau, gain], (2,)."""
        return np.array([math.log(self.fit.model.time_constant), self.fit.model.gain])

    @property
    def dead_time(self) -> float:
        return self.fit.dead_time

    @property
    def dead_time_search(self) -> BoundedSearch:
        return self.searches[0]

    @property
    def longest(self) -> float:
        """End of the dead time's scan, s."""
        return self.dead_time_search.high

    def acting(self, segment: AxisSegment) -> AxisSegment:
        return self.driver.acting(segment)

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
        plain: Fit of the same segments without an exponent, whose scan is used.

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
    period = segments[0].period
    samples = int(min(longest, _farthest(segments)) / period + 1e-9)
    free = Free(DriverParameter.EXPONENT, LOWEST, HIGHEST, EXPONENT_STEP)
    varied = (free,) if with_exponent else ()
    search = AxisSearch(segments, samples * period, free=varied)
    every *= segments[0].every
    if plain is None:
        alone = AxisSearch(segments, samples * period)
        scan_best = alone.scan(range(0, samples + 1, every))
    else:
        scan_best = plain.scan_best
    _, theta, late = scan_best
    last = late + every > samples
    exponent = 1.0
    if with_exponent:
        tried = {1.0: scan_best}
        for p in EXPONENTS:
            tried[p] = search.scan((0, int(late) // 2, int(late)), (p,))
        exponent = min(tried, key=lambda p: tried[p].error)
        _, theta, late = tried[exponent]
    result = search.solve(theta, late, (exponent,) if with_exponent else ())
    return DeadTimeFit(
        fit=result.fit,
        dead_time_std=result.dead_time_std,
        driver=result.driver,
        free=varied,
        exponent_std=result.more_std[0] if with_exponent else 0.0,
        smoothing=result.smoothing,
        smoothing_range=result.smoothing_range,
        searches=_searches(result, search.lead, last),
        scan_best=scan_best,
    )


def _searches(
    solution: AxisSolution, lead: float, scan_ended: bool = False
) -> tuple[BoundedSearch, ...]:
    """`lead`: longest dead time tried, s; `scan_ended`: the best point of the scan was the last."""
    late = lead if scan_ended else solution.fit.dead_time
    dead_time = BoundedSearch("dead time", late, 0.0, lead, natural_low=True)
    return (dead_time, solution.fit.search, solution.window_search, *solution.more_searches)


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
    if kind is DeadBandKind.THRESHOLD:
        return _fit_threshold(segments, plain, late)
    most = largest_command(segments)
    driver = replace(plain.driver, dead_band=0.0, kind=kind)
    free = (band_free(segments), *_of_ramp(plain.free))
    search = AxisSearch(segments, plain.longest, driver, free)
    lates = sorted({0, late // 2, late})
    starts = _starts(driver, free[1:])
    tried = {
        (fraction * most, *more): search.scan(lates, (fraction * most, *more))
        for fraction in BANDS
        for more in starts
    }
    best = min(tried, key=lambda more: tried[more].error)
    _, theta, at = tried[best]
    return solved(plain, search.solve(theta, at, best), free)


def _of_ramp(free: Sequence[Free]) -> tuple[Free, ...]:
    return tuple(
        each
        for each in free
        if each.parameter not in (DriverParameter.BAND, DriverParameter.EXPONENT)
    )


def _starts(driver: DriverModel, free: Sequence[Free]) -> list[tuple[float, ...]]:
    values = driver.values([each.parameter for each in free])
    if not free:
        return [()]
    return [tuple(value + math.log(fraction) for value in values) for fraction in LIMIT_FRACTIONS]


def _fit_threshold(segments: Sequence[AxisSegment], plain: DeadTimeFit, late: int) -> DeadTimeFit:
    driver = replace(plain.driver, dead_band=0.0, kind=DeadBandKind.THRESHOLD)
    varied = Free(DriverParameter.BAND, 0.0, math.inf, 0.0)
    search = AxisSearch(segments, plain.longest, driver, (varied,))
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
                tried[index] = math.inf, plain.theta  # of a band that no command passes
                with suppress(NothingActsError):
                    error, theta, _ = search.fit_from(late, (float(widths[index]),), plain.theta)
                    tried[index] = error**2, theta
        best = min(tried, key=lambda index: tried[index][0])
        samples = sum(int(np.count_nonzero(s.counts)) for s in segments)
        limit = tried[best][0] * (1.0 + POSSIBLE_EXCESS / samples)
        possible = [index for index in sorted(tried) if tried[index][0] <= limit]
        low = max((index for index in tried if index < possible[0]), default=possible[0])
        high = min((index for index in tried if index > possible[-1]), default=possible[-1])
    first, last = float(levels[possible[0]]), float(levels[possible[-1] + 1])
    width = float(widths[best])
    # A ramp before the band passes through it: sizes of commands are not all that tells it.
    passing = driver.ramp is not None and driver.ramp.before_band
    free = (*((band_free(segments),) if passing else ()), *_of_ramp(plain.free))
    driver = replace(driver, dead_band=width)
    start = driver.values([each.parameter for each in free])
    inner = AxisSearch(segments, plain.longest, driver, free)
    result = solved(plain, inner.solve(tried[best][1], float(late), start), free)
    if passing:
        # A smoother passes the band in steps of a rate that is not known: as of the readings.
        step = driver.ramp.speeding * reading_spacing(segments) if driver.ramp is not None else 0.0
        return replace(result, dead_band_std=math.hypot(result.dead_band_std, RANGE_STD * step))
    return replace(
        result,
        driver=replace(result.driver, dead_band=0.5 * (first + last)),
        dead_band_std=RANGE_STD * (last - first),
    )


def solved(plain: DeadTimeFit, result: AxisSolution, free: Sequence[Free]) -> DeadTimeFit:
    """Return a fit with what a solution found for the same segments and these free parameters."""
    stds = dict(zip((each.parameter for each in free), result.more_std, strict=True))
    limit = stds.get(DriverParameter.LIMIT, 0.0)
    return replace(
        plain,
        fit=result.fit,
        dead_time_std=result.dead_time_std,
        driver=result.driver,
        free=tuple(free),
        exponent_std=stds.get(DriverParameter.EXPONENT, 0.0),
        dead_band_std=stds.get(DriverParameter.BAND, 0.0),
        smoothing=result.smoothing,
        smoothing_range=result.smoothing_range,
        ramp_std=(
            stds.get(DriverParameter.SPEEDING, limit),
            stds.get(DriverParameter.BRAKING, limit),
        ),
        searches=_searches(result, plain.longest),
    )


def refitted(
    segments: Sequence[AxisSegment],
    model: DeadTimeFit,
    driver: DriverModel | None = None,
    free: Sequence[Free] | None = None,
    like: Smoothing | None = None,
) -> DeadTimeFit:
    """Return the fit of a model to other segments, or with another driver, from its values.

    Args:
        driver, free: Values to begin from and parameters to fit; None: the model's.
        like: Smoothing to begin from, of the same kind; None: it is searched.

    Raises:
        ValueError: A fit is impossible, see fit_first_order.
    """
    driver = model.driver if driver is None else driver
    free = model.free if free is None else tuple(free)
    lead = min(model.longest, _farthest(segments))
    search = AxisSearch(segments, lead, driver, free)
    late = min(model.dead_time, lead) / segments[0].period
    start = driver.values([each.parameter for each in free])
    result = solved(model, search.solve(model.theta, late, start, like), free)
    if driver.kind is DeadBandKind.THRESHOLD:
        return replace(result, dead_band_std=model.dead_band_std)
    return result


def band_free(segments: Sequence[AxisSegment]) -> Free:
    """Return the search of a dead band."""
    most = largest_command(segments)
    return Free(DriverParameter.BAND, -most, MOST_BAND * most, BAND_STEP * most)


def limit_free(segments: Sequence[AxisSegment], parameter: DriverParameter, largest: float) -> Free:
    """Return the search of a limit for commands of up to `largest`."""
    low, high = largest / SLOWEST_RAMP, largest / (FASTEST_RAMP * reading_spacing(segments))
    return Free(parameter, math.log(low), math.log(high), LIMIT_STEP)


def largest_command(segments: Sequence[AxisSegment]) -> float:
    """Return the size of the largest command that was sent."""
    return max(float(np.abs(segment.sent_values).max(initial=0.0)) for segment in segments)


def scan_dead_times(segments: Sequence[AxisSegment], dead_time_fit: DeadTimeFit) -> DeadTimeFit:
    """Return the fit with the errors of all dead times with its driver, for plots."""
    search = AxisSearch(segments, dead_time_fit.longest, dead_time_fit.driver)
    every, period = segments[0].every, segments[0].period
    samples = round(dead_time_fit.longest / period)
    lates = range(0, samples + 1, every * max(samples // (every * SHOWN), 1))
    times = np.float64(period) * np.array(lates)
    return replace(dead_time_fit, errors=search.errors(lates), scanned=times)
