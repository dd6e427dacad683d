# SPDX-License-Identifier: Apache-2.0
"""Which of the residual patterns are present in the rows, and how sure that is.

A pattern is accepted once its columns explain more than chance would (Wald's test of both axes
together, with the covariance of the fit). Its columns then become part of the fit: K7 no longer
absorbs the effect, the intervals grow by the cost of its parameters, and a warning names it.

A pattern that is likely but not sure is included with its probability only: the fits with and
without it are averaged, weighted by their probabilities (Raftery, Bayesian Model Selection in
Social Research, 1995, by the information criterion BIC), and the intervals include the difference
of the fits. It is not named. Stiction and gear loss are also tested as a single number, the same
for both wheels and above 0: four free columns need four times the evidence, and until then the
Coulomb friction would be too large by several of its standard deviations.

No column describes an effect exactly. What a strong pattern leaves of itself may look like another
one, whose evidence is a small share of its own (CRUMB), and which is not accepted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffbot_ident.torque.axis_fit import NO_COLUMNS, ExtraColumns, fit_axes, joined
from diffbot_ident.torque.integral_rows import (
    BENT_DIFFERENCE,
    BENT_SUM,
    GEAR_LEFT,
    GEAR_RIGHT,
    OFF_BALANCE,
    ONE,
    SIGN_LEFT,
    SIGN_OMEGA,
    SIGN_RIGHT,
    RowSums,
)
from diffbot_ident.torque.residual_patterns import (
    BREAKAWAY,
    GEAR_LOSS,
    ONCE_PER_TURN,
    PATTERNS,
    SATURATION,
    SURE_COLUMN,
    SURE_PATTERN,
    TURNING,
    UNEVEN,
    WITHIN,
    ResidualPattern,
    beyond_chance,
    resisting,
    statistic,
)

# Share of the evidence of a stronger pattern below which another one is what the columns of the
# former leave of it, as they describe it only roughly.
CRUMB = 0.05
# Least share of the power of a wheel's torque size, times the sign of its speed, beyond that of a
# constant size: with less, a gear loss cannot be told from Coulomb friction, nor motors that
# saturate from others. Binary torques have 0.
LEAST_VARIED = 0.005
# Largest mean of a wheel's direction (a vector of length 1) with which what happens once per turn
# is looked for; 1 for a wheel that hardly turns.
MOST_ONE_SIDED = 0.5
# Torques that change within a period. This is no friction and needs no warning: ros2_control's
# hardware reports the mean torque of a period in which a new command starts to act.
BENT: ExtraColumns = ((BENT_SUM,), (BENT_DIFFERENCE,))
# Standard deviations beyond which torques are assumed to change within a period. The threshold is
# lower than for the patterns above: if missed, the effect shifts K7 and K8 by as many of their
# deviations; a false detection costs little.
LIKELY_WITHIN = 2.0
# Standard deviations beyond which equal stiction, or gear loss, of both wheels is assumed. A false
# detection makes the intervals several times wider, due to its four columns; it occurs in one of
# 700 runs.
LIKELY_ALIKE = 3.0


def likely_patterns(
    sums: RowSums,
    known: ExtraColumns = NO_COLUMNS,
    variance: float = 1.0,
    *,
    within: bool = True,
    least: float = 0.0,
    one_robot: bool = True,
) -> tuple[ResidualPattern, ...]:
    """Return the patterns that are present, the strongest first, and WITHIN last.

    Args:
        sums: Sums of the rows, with the torques of one delay.
        known: Columns that are part of the fit anyway.
        variance: Factor on the variances of the parameters due to correlated errors. It applies to
            ONCE_PER_TURN, whose many columns else take up part of any slow force.
        within: Whether torques may change within a period; with a lag that is known already.
        least: Evidence up to which something may be a crumb of an effect that is known.
        one_robot: Whether all rows are of one robot: a load that needs larger torques looks like
            motors that saturate.
    """
    found = _sure_patterns(sums, known, variance, least, one_robot)
    if not within:
        return found
    return (*found, WITHIN) if _bend(sums, _with(known, found)) > LIKELY_WITHIN else found


def _with(known: ExtraColumns, patterns: Sequence[ResidualPattern]) -> ExtraColumns:
    """Return the known columns and those of the patterns."""
    return joined(known, *(pattern.columns for pattern in patterns))


def _bend(sums: RowSums, others: ExtraColumns) -> float:
    """Return c of the module docstring in its standard deviations, from both axes."""
    weight = weighted = 0.0
    for fitted in fit_axes(sums, joined(others, BENT)):
        gain, variance = float(fitted.theta[1]), float(fitted.covariance[-1, -1])
        if variance > 0.0:
            weight += gain**2 / variance
            weighted -= gain * float(fitted.theta[-1]) / variance
    return weighted / math.sqrt(weight) if weight > 0.0 else 0.0


def _possible(sums: RowSums, known: ExtraColumns, one_robot: bool) -> tuple[ResidualPattern, ...]:
    """Return the patterns that the motion can tell."""
    lasting = float(sums.moments[ONE, ONE])
    mean = np.hypot(*np.reshape(sums.moments[ONE, OFF_BALANCE], (2, 2)))
    left_out: list[ResidualPattern] = []
    if not (mean < MOST_ONE_SIDED * lasting).all():
        left_out += ONCE_PER_TURN
    if not _loads_vary(sums):
        left_out += [GEAR_LOSS, SATURATION]
    if not one_robot:
        left_out.append(SATURATION)
    if SIGN_OMEGA in known[1]:
        left_out.append(TURNING)
    return tuple(pattern for pattern in PATTERNS if pattern not in left_out)


def _loads_vary(sums: RowSums) -> bool:
    """Whether the size of each wheel's torque varies enough to tell what depends on it."""
    signs, gears = [SIGN_LEFT, SIGN_RIGHT], [GEAR_LEFT, GEAR_RIGHT]
    moments = sums.moments
    both, power = moments[signs, signs] * moments[gears, gears], moments[signs, gears] ** 2
    return bool((both - power > LEAST_VARIED * both).all())


def _sure_patterns(
    sums: RowSums, known: ExtraColumns, variance: float, least: float, one_robot: bool
) -> tuple[ResidualPattern, ...]:
    """Return the patterns that are sure enough for a warning, the strongest first."""
    found: tuple[ResidualPattern, ...] = ()
    possible = _possible(sums, known, one_robot)
    # No pattern alone explains more than all of them together.
    every = joined(*(each.columns for each in possible))
    if statistic(sums, known, every) < SURE_PATTERN + 2.0 * SURE_COLUMN:
        return found
    while len(found) < len(possible):
        others = _with(known, found)
        evidence = {
            pattern: beyond_chance(sums, others, pattern.columns, variance)
            if pattern in ONCE_PER_TURN
            else pattern.evidence(sums, others, pattern.columns)
            for pattern in possible
            if pattern not in found
        }
        best = max(evidence, key=lambda pattern: evidence[pattern])
        if evidence[best] <= least:
            break
        least = max(least, CRUMB * evidence[best])
        found = (*found, best)
    return found


def left_of(
    sums: RowSums, found: Sequence[ResidualPattern], known: ExtraColumns = NO_COLUMNS
) -> float:
    """Return up to which evidence something may be a crumb of the patterns of a fit: see CRUMB.

    Args:
        sums: Sums of the rows, with the torques of one delay.
        found: The patterns.
        known: Columns that are part of the fit anyway.
    """
    most = 0.0
    for pattern in found:
        others = _with(known, [each for each in found if each is not pattern])
        most = max(most, statistic(sums, others, pattern.columns))
    return CRUMB * most


def still_sure(
    sums: RowSums, found: tuple[ResidualPattern, ...], known: ExtraColumns = NO_COLUMNS
) -> tuple[ResidualPattern, ...]:
    """Return the patterns found in earlier rows that are still sure with all rows so far.

    Args:
        sums: Sums of the rows, with the torques of one delay.
        found: Result of the last call of `likely_patterns`.
        known: Columns that are part of the fit anyway.
    """

    def sure(pattern: ResidualPattern) -> bool:
        others = _with(known, [each for each in found if each is not pattern])
        return pattern.evidence(sums, others, pattern.columns) > 0.0

    return tuple(pattern for pattern in found if sure(pattern))


def torque_difference(sums: RowSums, others: ExtraColumns) -> tuple[float, float]:
    """Return the relative difference of the two wheels' torque gains.

    It is s = (g_r - g_l) / (g_r + g_l) with the gains g of each wheel's reported torque in dv/dt
    and in domega/dt. It results if the reported right torque is (1 - s) / (1 + s) of the acting
    one. Unequal radii contribute to it as well.

    Args:
        sums: Sums of the rows, with the torques of one delay.
        others: Columns that are part of the fit, without those of UNEVEN.

    Returns:
        Value and its standard deviation due to noise; (nan, inf) if the rows do not determine it.
    """
    weight = weighted = 0.0
    fits = fit_axes(sums, joined(others, UNEVEN.columns))
    for fitted, own in zip(fits, UNEVEN.columns, strict=True):
        gain, cross = float(fitted.theta[1]), float(fitted.theta[-len(own)])
        variance = float(fitted.covariance[-len(own), -len(own)])
        if gain != 0.0 and variance > 0.0:
            weight += gain**2 / variance
            weighted += gain * cross / variance
    if weight <= 0.0:
        return math.nan, math.inf
    # The difference of the torques is left minus right.
    return -weighted / weight, 1.0 / math.sqrt(weight)


# Probability from which on a pattern is worth a second fit.
MIN_PROBABILITY = 0.02


def doubtful_pattern(
    sums: RowSums,
    found: tuple[ResidualPattern, ...],
    windows: float,
    known: ExtraColumns = NO_COLUMNS,
    one_robot: bool = True,
) -> tuple[ResidualPattern, float] | None:
    """Return the most likely further pattern, with its probability; None if none is likely.

    Args:
        sums: Sums of the rows, with the torques of one delay.
        found: Result of `likely_patterns`.
        windows: Number of disjoint windows, > 0.
        known: Columns that are part of the fit anyway.
        one_robot: See `likely_patterns`.
    """
    best: tuple[ResidualPattern, float] | None = None
    least = left_of(sums, found, known)
    for pattern in _possible(sums, known, one_robot):
        if pattern in found:
            continue
        size = sum(map(len, pattern.columns))
        evidence = statistic(sums, _with(known, found), pattern.columns)
        if evidence <= least:
            continue
        gain = evidence - size * math.log(windows)
        if pattern in (BREAKAWAY, GEAR_LOSS):
            excess = _of_both_wheels(sums, _with(known, found), pattern.columns)
            if excess > LIKELY_ALIKE:
                gain = max(gain, excess**2 - math.log(windows))
        share = probability(gain)
        if share > (best[1] if best else MIN_PROBABILITY):
            best = pattern, share
    return best


def probability(gain: float) -> float:
    """Return the probability of an effect by its gain in the information criterion BIC."""
    return 1.0 / (1.0 + math.exp(-0.5 * min(max(gain, -99.0), 99.0)))


def _of_both_wheels(sums: RowSums, others: ExtraColumns, own: ExtraColumns) -> float:
    """Return the equal extra friction of both wheels in its columns, in standard deviations.

    Friction s of each wheel gives its columns the parameters -K7 s and -K7 s in dv/dt, -K8 s and
    K8 s in domega/dt: one number instead of four, and never below 0.
    """
    weight = weighted = 0.0
    for gain, found, inverse, way in resisting(sums, others, own):
        expected = gain * way
        weight += float(expected @ inverse @ expected)
        weighted += float(expected @ inverse @ found)
    return weighted / math.sqrt(weight) if weight > 0.0 else 0.0
