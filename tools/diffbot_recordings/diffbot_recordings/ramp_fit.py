# SPDX-License-Identifier: Apache-2.0
"""Limits of acceleration that a driver or a smoother puts on the commands of an axis.

docs/theory/velocity_robots.md#ramps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from diffbot_description.command_ramp import RampCoupling
from diffbot_description.dead_band import DeadBandKind
from diffbot_recordings.axis_search import AxisSearch, Free, Scanned
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.dead_time import (
    DRIVER_SEARCHES,
    DeadTimeFit,
    largest_command,
    limit_free,
    refitted,
)
from diffbot_recordings.driver_model import DriverModel, DriverParameter, Ramp
from diffbot_recordings.first_order import Array, FirstOrder
from diffbot_recordings.verdict import Value

# Longest piece of a ramp that is taken for a held command, s, and most samples of such pieces.
PIECE, MOST_SAMPLES = 0.01, 40_000
# Number of limits tried, and dead times, as shares of that without a ramp.
LIMITS, DEAD_TIMES = 12, (0.0, 0.3, 0.6, 0.8, 1.0)
# A model is better beyond doubt if its squares fall by this many residual variances.
GAINED = 16.0
# Two limits are told apart by less: one for both would be wrong by more than its interval.
APART = 2.0
# Where only the other axis's limit acts, its own is reached within this share of a piece.
FASTEST_OWN = 0.2
# Largest relative standard deviation of a limit that is known.
WIDEST = 0.25
COUPLINGS = {
    RampCoupling.SCALED: "both axes are slowed down alike, so that they arrive at once",
    RampCoupling.WHEELS: "each wheel has the limit",
}
# Factors between the limits of speeding up and braking, and for the other axis, tried first.
RATIOS = (0.4, 0.65, 1.0, 1.5, 2.5)


def fine(segments: Sequence[AxisSegment]) -> list[AxisSegment]:
    """Return the segments in pieces so short that a ramp is nearly a staircase of them."""
    samples = sum(len(segment.velocity) for segment in segments)
    parts = math.ceil(segments[0].period / PIECE)
    parts = max(min(parts, MOST_SAMPLES // max(samples, 1)), 1)
    return list(segments) if parts == 1 else [segment.refined(parts) for segment in segments]


def _samples(segments: Sequence[AxisSegment]) -> int:
    return sum(int(np.count_nonzero(segment.counts)) for segment in segments)


def better(
    new: DeadTimeFit,
    old: DeadTimeFit,
    segments: Sequence[AxisSegment],
    least: float = GAINED,
) -> bool:
    """Whether the squares of a fit are so much less than another's, in residual variances."""
    gained = (old.fit.residual_std / new.fit.residual_std) ** 2 - 1.0
    return gained * _samples(segments) > least


@dataclass(frozen=True)
class RampSearch:
    """The fit with a limit of acceleration beyond doubt; without one, it would be above `above`.

    `above` is in the command's unit per second.
    """

    fit: DeadTimeFit | None
    above: float


def find_ramp(
    segments: Sequence[AxisSegment],
    base: DeadTimeFit,
    latest: float,
    before_band: bool = False,
) -> RampSearch:
    """Search one limit of acceleration.

    Args:
        segments: Segments in fine pieces, as of `fine`.
        base: Fit of the same motion without a limit; its dead band is kept.
        latest: Longest dead time tried, s: a ramp looks like one.
        before_band: Whether the ramp comes before the dead band.
    """
    largest = largest_command(segments)
    if not largest > 0.0:
        return RampSearch(None, 0.0)
    free = [*_of_band(base), limit_free(segments, DriverParameter.LIMIT, largest)]
    late = latest / segments[0].period
    lates = sorted({round(fraction * late) for fraction in DEAD_TIMES})
    driver = replace(base.driver, exponent=1.0, ramp=Ramp(1.0, 1.0, before_band=before_band))
    squares, result = _with_limit(segments, base, lates, driver, free)
    if result is not None:
        return RampSearch(result, 0.0)
    if not np.isfinite(squares).any():
        return RampSearch(None, 0.0)
    coupled = _only_of_other(segments, base, lates, before_band)
    if coupled is not None:
        return RampSearch(coupled, 0.0)
    worse = squares > base.fit.residual_std**2 * (1.0 + GAINED / _samples(segments))
    seen = int(np.argmin(worse)) if not worse.all() else LIMITS
    return RampSearch(None, math.exp(_limits(free)[seen - 1]) if seen > 0 else 0.0)


def _limits(free: Sequence[Free]) -> list[float]:
    """Return values to try of the last free parameter."""
    limits: list[float] = np.linspace(free[-1].low, free[-1].high, LIMITS).tolist()
    return limits


def _with_limit(
    segments: Sequence[AxisSegment],
    base: DeadTimeFit,
    lates: Sequence[int],
    driver: DriverModel,
    free: Sequence[Free],
) -> tuple[Array, DeadTimeFit | None]:
    """Return mean squares for values of the last free parameter; a fit that is beyond doubt."""
    search = AxisSearch(segments, base.longest, driver, free)
    band = base.driver.values([each.parameter for each in free[:-1]])
    tried = [_or_none(partial(search.scan, lates, (*band, limit))) for limit in _limits(free)]
    squares = np.array([each.error**2 for each in tried])
    best = int(np.argmin(squares))
    # The fastest limit limits nothing: where it is the best, there is none.
    if best == LIMITS - 1 or not math.isfinite(squares[best]):
        return squares, None
    begin = driver.with_values([free[-1].parameter], [_limits(free)[best]])
    result = _fitted(segments, _started(segments, base, tried[best]), begin, free)
    good = result is not None and known(result) and better(result, base, segments)
    return squares, result if good else None


def _or_none(fit: Callable[[], Scanned]) -> Scanned:
    """Return a fit; one of infinite error if no command gets through the ramp and band."""
    try:
        return fit()
    except ValueError:
        return Scanned(math.inf, np.array((0.0, 1.0)), 0.0)


def _started(segments: Sequence[AxisSegment], base: DeadTimeFit, scanned: Scanned) -> DeadTimeFit:
    _, theta, at = scanned
    model = FirstOrder(math.exp(theta[0]) / theta[1], 1.0 / theta[1])
    return replace(base, fit=replace(base.fit, model=model, dead_time=at * segments[0].period))


def _only_of_other(
    segments: Sequence[AxisSegment],
    base: DeadTimeFit,
    lates: Sequence[int],
    before_band: bool,
) -> DeadTimeFit | None:
    """Return the fit with a limit that only the other axis reaches; None: none beyond doubt."""
    beside = _largest_beside(segments)
    if beside == 0.0:
        return None
    free = [*_of_band(base), limit_free(segments, DriverParameter.OTHER, beside)]
    fast = largest_command(segments) / (FASTEST_OWN * segments[0].period)
    driver = replace(base.driver, ramp=Ramp(fast, fast, 1.0, RampCoupling.SCALED, before_band))
    _, result = _with_limit(segments, base, lates, driver, free)
    if result is None or result.driver.ramp is None:
        return None
    limit = limit_free(segments, DriverParameter.LIMIT, largest_command(segments))
    starts = [
        replace(result.driver.ramp, speeding=each, braking=each)
        for each in np.exp(_limits([limit])[3:]).tolist()
    ]
    both = _from_starts(segments, result, starts, [*free, limit])
    return _best(segments, result, [both], APART)


def _largest_beside(segments: Sequence[AxisSegment]) -> float:
    """Return the size of the other axis's largest command; 0: unknown."""
    each = [segment.beside for segment in segments]
    known_ones = [sent for sent in each if sent is not None]
    if len(known_ones) < len(each):
        return 0.0
    return max(float(np.abs(sent.values).max(initial=0.0)) for sent in known_ones)


def _of_band(base: DeadTimeFit) -> list[Free]:
    return [each for each in base.free if each.parameter is DriverParameter.BAND]


def known(fit: DeadTimeFit) -> bool:
    """Whether the limits of a fit are known, and no search of the driver ended at an end."""
    inside = all(each.inside for each in fit.searches[DRIVER_SEARCHES:])
    return inside and all(std <= WIDEST for std in fit.ramp_std)


def refine_ramp(segments: Sequence[AxisSegment], ramped: DeadTimeFit) -> DeadTimeFit:
    """Return the best fit of its variants: braking unlike speeding up, and coupling."""
    ramp = ramped.driver.ramp
    if ramp is None or ramp.law is not RampCoupling.OWN or not ramp.symmetric:
        return ramped
    result = _best(segments, ramped, [_asymmetric(segments, ramped)], APART)
    return _best(segments, result, [_coupled(segments, ramped, law) for law in RampCoupling])


def _best(
    segments: Sequence[AxisSegment],
    simple: DeadTimeFit,
    others: Sequence[DeadTimeFit | None],
    gained: float = GAINED,
) -> DeadTimeFit:
    tried = [fit for fit in others if fit is not None and known(fit)]
    best = min(tried, key=lambda fit: fit.fit.residual_std, default=simple)
    return best if better(best, simple, segments, gained) else simple


def _asymmetric(segments: Sequence[AxisSegment], ramped: DeadTimeFit) -> DeadTimeFit | None:
    ramp = ramped.driver.ramp
    if ramp is None:
        return None
    free = [
        *_of_band(ramped),
        *(
            limit_free(segments, parameter, largest_command(segments))
            for parameter in (DriverParameter.SPEEDING, DriverParameter.BRAKING)
        ),
    ]
    starts = [
        replace(ramp, speeding=ramp.speeding * up, braking=ramp.speeding * down)
        for up in RATIOS
        for down in RATIOS
        if up != down
    ]
    return _from_starts(segments, ramped, starts, free)


def _coupled(
    segments: Sequence[AxisSegment], ramped: DeadTimeFit, law: RampCoupling
) -> DeadTimeFit | None:
    ramp = ramped.driver.ramp
    beside = _largest_beside(segments)
    if ramp is None or law is RampCoupling.OWN or beside == 0.0:
        return None
    free = [
        *_of_band(ramped),
        limit_free(segments, DriverParameter.LIMIT, largest_command(segments)),
        limit_free(segments, DriverParameter.OTHER, beside),
    ]
    alike = ramp.speeding * beside / largest_command(segments)
    starts = [
        replace(
            ramp, speeding=ramp.speeding * own, braking=ramp.speeding * own,
            other=alike * other, law=law,
        )
        for own in (1.0, 1.6)
        for other in (0.25, *RATIOS, 5.0)
    ]  # fmt: skip
    return _from_starts(segments, ramped, starts, free)


def _from_starts(
    segments: Sequence[AxisSegment],
    ramped: DeadTimeFit,
    starts: Sequence[Ramp],
    free: Sequence[Free],
) -> DeadTimeFit | None:
    parameters = [each.parameter for each in free]
    late = round(ramped.dead_time / segments[0].period)
    drivers = [replace(ramped.driver, ramp=ramp) for ramp in starts]
    search = AxisSearch(segments, ramped.longest, drivers[0], free)
    errors = [
        _or_none(partial(search.fit_from, late, each.values(parameters), ramped.theta)).error
        for each in drivers
    ]
    return _fitted(segments, ramped, drivers[int(np.argmin(errors))], free)


def _fitted(
    segments: Sequence[AxisSegment], model: DeadTimeFit, driver: DriverModel, free: Sequence[Free]
) -> DeadTimeFit | None:
    """Return `refitted`; None where the search runs to where no command acts."""
    try:
        return refitted(segments, model, driver, free)
    except ValueError:
        return None


def limits_of(fit: DeadTimeFit, unit: str) -> tuple[Value, ...]:
    """Return the limits of a fit in the command's unit per second; empty: none."""
    ramp = fit.driver.ramp
    if ramp is None:
        return ()
    per_second = unit.replace("/s", "/s^2")
    speeding, braking = fit.ramp_std
    if speeding == 0.0:
        # Only the other axis's limit acts.
        return tuple(
            Value(f"{name} limit", math.nan, math.inf, per_second)
            for name in ("acceleration", "deceleration")
        )
    return (
        Value("acceleration limit", ramp.speeding, ramp.speeding * speeding, per_second),
        Value("deceleration limit", ramp.braking, ramp.braking * braking, per_second),
    )


def ramp_note(fit: DeadTimeFit, unit: str) -> str:
    """Return a sentence for the user about the ramp of a fit."""
    ramp = fit.driver.ramp
    if ramp is None:
        return ""
    per_second = unit.replace("/s", "/s^2")
    if fit.ramp_std[0] == 0.0:
        return "a smoother slows this axis down with the other one; its own limit is never reached"
    text = f"a smoother or the driver limits acceleration to {ramp.speeding:.3g} {per_second}"
    if not ramp.symmetric:
        text += f", braking to {ramp.braking:.3g} {per_second}"
    if ramp.law is not RampCoupling.OWN:
        text += f" ({COUPLINGS[ramp.law]})"
    if fit.dead_band > 0.0 and fit.kind is DeadBandKind.OFFSET and ramp.before_band:
        text += ", before the dead band"
    return text
