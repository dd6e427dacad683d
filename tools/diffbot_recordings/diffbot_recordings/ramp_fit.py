# SPDX-License-Identifier: Apache-2.0
"""Limits of acceleration that a driver or a smoother puts on the commands of an axis.

docs/theory/velocity_robots.md#ramps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffbot_description.dead_band import DeadBandKind
from diffbot_recordings.axis_search import AxisSearch, Free
from diffbot_recordings.dead_time import DeadTimeFit, largest_command, limit_free, refitted
from diffbot_recordings.driver_model import Parameter, Ramp, RampLaw
from diffbot_recordings.first_order import AxisSegment, FirstOrder
from diffbot_recordings.verdict import Value

# Longest piece of a ramp that is taken for a held command, s, and most samples of such pieces.
PIECE, MOST_SAMPLES = 0.006, 40_000
# Number of limits tried, and dead times, as shares of that without a ramp.
LIMITS, DEAD_TIMES = 12, (0.0, 0.3, 0.6, 0.8, 1.0)
# A model is better beyond doubt if its squares fall by this many residual variances.
GAINED = 16.0
# Largest relative standard deviation of a limit that is known.
WIDEST = 0.25
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


def better(new: DeadTimeFit, old: DeadTimeFit, segments: Sequence[AxisSegment]) -> bool:
    """Whether a fit is better beyond doubt."""
    gained = (old.fit.residual_std / new.fit.residual_std) ** 2 - 1.0
    return gained * _samples(segments) > GAINED


@dataclass(frozen=True)
class RampSearch:
    """Result of a search for a limit of acceleration.

    Attributes:
        fit: Fit with the limit; None: there is none beyond doubt.
        above: Where there is none, one would be above this, in the command's unit per second.
    """

    fit: DeadTimeFit | None
    above: float


def find_ramp(segments: Sequence[AxisSegment], base: DeadTimeFit) -> RampSearch:
    """Search one limit of acceleration.

    Args:
        segments: Segments in fine pieces, as of `fine`.
        base: Fit of the same motion without a limit; its dead band is kept.
    """
    largest = largest_command(segments)
    if not largest > 0.0:
        return RampSearch(None, 0.0)
    free = [*_of_band(base), limit_free(segments, Parameter.LIMIT, largest)]
    late = base.dead_time / segments[0].period
    lates = sorted({round(share * late) for share in DEAD_TIMES})
    band = base.driver.values([each.parameter for each in free[:-1]])
    driver = replace(base.driver, exponent=1.0, ramp=Ramp(1.0, 1.0))
    search = AxisSearch(segments, base.longest, driver, free)
    limits = np.linspace(free[-1].low, free[-1].high, LIMITS).tolist()
    tried = [search.scan(lates, (*band, limit)) for limit in limits]
    squares = np.array([float(errors.min()) ** 2 for errors, _, _ in tried])
    best = int(np.argmin(squares))
    _, theta, at = tried[best]
    start = replace(
        base.fit,
        model=FirstOrder(math.exp(theta[0]) / theta[1], 1.0 / theta[1]),
        dead_time=at * segments[0].period,
    )
    result = refitted(
        segments,
        replace(base, fit=start),
        driver.with_values([Parameter.LIMIT], [limits[best]]),
        free,
    )
    if known(result) and better(result, base, segments):
        return RampSearch(result, 0.0)
    # The slowest that would be seen.
    worse = squares > base.fit.residual_std**2 * (1.0 + GAINED / _samples(segments))
    seen = int(np.argmin(worse)) if not worse.all() else LIMITS
    return RampSearch(None, math.exp(limits[seen - 1]) if seen > 0 else 0.0)


def _of_band(base: DeadTimeFit) -> list[Free]:
    return [each for each in base.free if each.parameter is Parameter.BAND]


def known(fit: DeadTimeFit) -> bool:
    """Whether the limits of a fit are known."""
    return all(std <= WIDEST for std in fit.ramp_std)


def refine_ramp(segments: Sequence[AxisSegment], ramped: DeadTimeFit) -> DeadTimeFit:
    """Return the best fit of its variants: braking unlike speeding up, order, and coupling."""
    result = ramped
    if result.dead_band > 0.0:
        result = _best(segments, result, [_before_band(segments, result)])
    result = _best(segments, result, [_coupled(segments, result, law) for law in RampLaw])
    if result.driver.ramp is not None and result.driver.ramp.law is RampLaw.OWN:
        result = _best(segments, result, [_asymmetric(segments, result)])
    return result


def _best(
    segments: Sequence[AxisSegment], simple: DeadTimeFit, others: Sequence[DeadTimeFit | None]
) -> DeadTimeFit:
    tried = [fit for fit in others if fit is not None and known(fit)]
    best = min(tried, key=lambda fit: fit.fit.residual_std, default=simple)
    return best if better(best, simple, segments) else simple


def _before_band(segments: Sequence[AxisSegment], ramped: DeadTimeFit) -> DeadTimeFit | None:
    """Return the fit with the ramp before the dead band, as of a smoother."""
    if ramped.driver.ramp is None:
        return None
    ramp = replace(ramped.driver.ramp, before_band=True)
    return refitted(segments, ramped, replace(ramped.driver, ramp=ramp))


def _asymmetric(segments: Sequence[AxisSegment], ramped: DeadTimeFit) -> DeadTimeFit | None:
    """Return the fit with a limit of braking of its own."""
    ramp = ramped.driver.ramp
    if ramp is None:
        return None
    free = [
        *_of_band(ramped),
        *(
            limit_free(segments, parameter, largest_command(segments))
            for parameter in (Parameter.SPEEDING, Parameter.BRAKING)
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
    segments: Sequence[AxisSegment], ramped: DeadTimeFit, law: RampLaw
) -> DeadTimeFit | None:
    """Return the fit with a limit that the other axis's command shares; None: unknown."""
    ramp = ramped.driver.ramp
    if ramp is None or law is RampLaw.OWN or any(each.beside is None for each in segments):
        return None
    beside = max(
        float(np.abs(each.beside.values).max(initial=0.0))
        for each in segments
        if each.beside is not None
    )
    if not beside > 0.0:
        return None
    free = [
        *_of_band(ramped),
        limit_free(segments, Parameter.LIMIT, largest_command(segments)),
        limit_free(segments, Parameter.OTHER, beside),
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
) -> DeadTimeFit:
    """Return the fit from the best of some starts."""
    parameters = [each.parameter for each in free]
    late = round(ramped.dead_time / segments[0].period)
    drivers = [replace(ramped.driver, ramp=ramp) for ramp in starts]
    search = AxisSearch(segments, ramped.longest, drivers[0], free)
    errors = [float(search.scan((late,), each.values(parameters))[0].min()) for each in drivers]
    return refitted(segments, ramped, drivers[int(np.argmin(errors))], free)


def limits_of(fit: DeadTimeFit, unit: str) -> tuple[Value, ...]:
    """Return the limits of a fit in the command's unit per second; empty: none."""
    ramp = fit.driver.ramp
    if ramp is None:
        return ()
    per_second = unit.replace("/s", "/s^2")
    speeding, braking = fit.ramp_std
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
    text = f"a smoother or the driver limits acceleration to {ramp.speeding:.3g} {per_second}"
    if not ramp.symmetric:
        text += f", braking to {ramp.braking:.3g} {per_second}"
    if ramp.law is not RampLaw.OWN:
        text += f" ({ramp.law.value})"
    if fit.dead_band > 0.0 and fit.kind is DeadBandKind.OFFSET and ramp.before_band:
        text += ", before the dead band"
    return text
