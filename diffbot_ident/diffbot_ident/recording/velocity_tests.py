"""Tests of the first-order model: each gives a number, a limit and whether the model stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.recording.verdict import Evidence
from diffbot_ident.velocity.dead_time import DeadTimeFit, power_law
from diffbot_ident.velocity.first_order import FirstOrderFit, fit_first_order
from diffbot_ident.velocity.first_order_rivals import shares
from diffbot_ident.velocity.stretch import Stretch

Array = NDArray[np.float64]

# Held-out R^2 below which the model does not describe the axis.
LEAST_R_SQUARED = 0.95
# A rival refutes the model if it takes away this share of the held-out error, and if the error is
# more than this share of the velocity's variance: below it, a better model has no practical use.
SHARE, MATTERS = 0.5, 0.01
# Parameters of two halves of the recording may differ by this share, or this many deviations.
DIFFER, SIGMAS = {"time constant": 0.5, "gain": 0.25}, 3.0
# Lags, s, at which residuals are compared with commands, and the largest correlation.
LAGS, CORRELATION = 3.0, 0.5


class Scores(Protocol):
    """Fits to all samples and to all but one fold each, and how well unseen samples are told.

    Attributes:
        stretches: of the axis.
        fit: to all samples.
        fits: one for each fold, to the other folds.
        seen: samples that each of them rests on, by stretch, shape (n,).
        held: samples that are new to it.
        r_squared: 1 - SSE / SST on held-out samples.
        explained: the same without the noise of single readings.
    """

    stretches: Sequence[Stretch]
    fit: DeadTimeFit
    fits: Sequence[DeadTimeFit]
    seen: Sequence[Sequence[NDArray[np.bool_]]]
    held: Sequence[Sequence[NDArray[np.bool_]]]
    r_squared: float
    explained: float


def tests_of_first_order(scores: Scores) -> list[Evidence]:
    """All tests; the first that fails says most."""
    stretches, fit, explained = scores.stretches, scores.fit, scores.explained
    matters = not 1.0 - explained <= MATTERS
    found = [
        Evidence(
            "R^2 on held-out samples, noise of single readings apart",
            explained,
            f">= {LEAST_R_SQUARED:g}",
            explained >= LEAST_R_SQUARED,
        ),
        Evidence(
            "dead time", fit.dead_time, f"< {fit.longest:g} s, the longest tried", not fit.at_end
        ),
    ]
    if not (fit.fit.model.gain > 0.0):
        found.append(Evidence("gain", fit.fit.model.gain, "> 0: check the signs", False))
    found += _halves(stretches, fit)
    for name, share in shares(stretches, scores.fits, scores.seen, scores.held).items():
        found.append(
            Evidence(
                f"share of the held-out error that {_RIVALS[name]} explains",
                share,
                f"<= {SHARE:g}" if matters else f"<= {SHARE:g} if the error matters",
                share <= SHARE or not matters,
            )
        )
    correlation = input_correlation(stretches, fit)
    found.append(
        Evidence(
            "correlation of residuals with past commands",
            correlation,
            f"<= {CORRELATION:g}" if matters else f"<= {CORRELATION:g} if the error matters",
            correlation <= CORRELATION or not matters,
        )
    )
    return found


_RIVALS = {
    "richer linear dynamics": "richer linear dynamics (second order)",
    "direction": "dynamics that depend on the direction",
    "speed": "dynamics that depend on the speed",
    "braking": "braking unlike accelerating",
    "offset": "an offset",
}


def _halves(stretches: Sequence[Stretch], fit: DeadTimeFit) -> list[Evidence]:
    """Time constant and gain of the first and of the second half of the recording."""
    total = sum(stretch.duration for stretch in stretches)
    early: list[Stretch] = []
    late: list[Stretch] = []
    passed = 0.0
    for stretch in stretches:
        bent = power_law(np.asarray(stretch.command, float), fit.exponent)
        cut = round((0.5 * total - passed) / stretch.period)
        cut = min(max(cut, 0), len(bent))
        for part, into in ((slice(0, cut), early), (slice(cut, None), late)):
            fresh = None if stretch.fresh is None else stretch.fresh[part]
            if len(bent[part]):
                into.append(Stretch(stretch.period, bent[part], stretch.velocity[part], fresh))
        passed += stretch.duration
    try:
        both = [fit_first_order(part, dead_time=fit.dead_time) for part in (early, late)]
    except ValueError:
        return [Evidence("parameters of two halves", math.nan, "comparable", None)]
    return [_differ(name, *both) for name in ("time constant", "gain")]


def _differ(name: str, one: FirstOrderFit, other: FirstOrderFit) -> Evidence:
    if name == "gain":
        values, stds = (one.model.gain, other.model.gain), (one.gain_std, other.gain_std)
    else:
        values = one.model.time_constant, other.model.time_constant
        stds = one.time_constant_std, other.time_constant_std
    mean = 0.5 * abs(values[0] + values[1])
    difference = abs(values[0] - values[1]) / mean if mean > 0.0 else math.inf
    test = f"difference in {name} between two halves of the recording"
    chance = SIGMAS * math.hypot(*stds) / mean if mean > 0.0 else math.inf
    if not math.isfinite(chance):
        return Evidence(test, difference, f"<= {DIFFER[name]:g}", None)
    limit = max(DIFFER[name], chance)
    return Evidence(test, difference, f"<= {limit:.2g}", difference <= limit)


def input_correlation(stretches: Sequence[Stretch], fit: DeadTimeFit) -> float:
    """Largest correlation of residuals with commands before, over lags up to LAGS, 0 to 1."""
    period = stretches[0].period
    most = min(round(LAGS / period), max(len(s.velocity) for s in stretches) // 4)
    lags = np.unique(np.linspace(0, most, 30).astype(int))
    sums = np.zeros((len(lags), 3))
    for stretch in stretches:
        error = np.asarray(stretch.velocity, float) - fit.simulate(stretch)
        fresh = np.ones(len(error), bool) if stretch.fresh is None else stretch.fresh
        u = power_law(np.asarray(stretch.command, float), fit.exponent)
        for i, lag in enumerate(lags):
            k = np.flatnonzero(fresh[lag:])
            e, c = error[lag:][k], u[k]
            sums[i] += (e @ c, e @ e, c @ c)
    power = np.sqrt(sums[:, 1] * sums[:, 2])
    return float(np.max(np.abs(sums[power > 0.0, 0]) / power[power > 0.0], initial=0.0))
