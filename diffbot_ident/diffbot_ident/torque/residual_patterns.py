# SPDX-License-Identifier: Apache-2.0
"""What K5..K8, viscous and Coulomb friction cannot explain: seen, named, taken out.

Each leaves a pattern in the residuals that some columns of the rows would explain:

direction    the duration: a friction that is larger forward than backward, or a torque that is
             always there
breakaway    the signs of the wheels' speeds at low speed: static friction and its Stribeck fall
drag         the direction of the motion over the floor: casters that drag
uneven       the other axis' torque and products of velocities: wheels that are not alike

The last one follows from (41) of Lages (2017). Let the right radius be larger than the left one by
the share delta. By odometry that takes both for r, to first order,

    dv/dt     = K5 omega^2 + K7 S + delta [(K5 / b - b K6 / 2) v omega + (K7 - b K8) / 2 D]
    domega/dt = K6 v omega + K8 D
                + delta [(b K6 / 2 - K5 / (2 b)) omega^2 + K6 v^2 / (2 b) - (K7 - b K8) / (2 b) S]

with S and D the torques' sum and difference. A motor that gives another torque than it reports, and
a centre of mass beside the middle, bring in the same columns. Left out, D moves v by a share of
what it moves omega by, and the yaw rate of a robot that is kept in its room turns back: residuals
of rows that follow each other correlate like differences of it, down to -1/2.

Beside these frictions, torques that change within a period: a command that acts late by the share a
of a period gives it the mean m = a tau_before + (1 - a) tau, which efforts tell. The mean over the
period of what has gathered by torque is not m / 2 then, but less by c (tau - tau_before), with
c = a (1 - a) / 2; so from the middle of one period to that of the next it gains, per second,

    (m + m_next) / 2 - c (tau_next - 2 tau + tau_before)

Left out, held commands make K7 and K8 some tenths of a per cent too large. The second difference of
the means stands for that of the commands (integral_rows.BENT_SUM).

A motor that follows its command with a lag, or through a filter, bends them the other way: c < 0.
Taken for a delay, a lag of one control period makes K7 and K8 0.5 % too small, one of two periods
2 %. Then torques at all delays are in the fit (integral_rows.SPREAD_SUM), of which only their sum,
the effect of a torque that lasts, is told well. Backlash between encoder and wheel looks alike.

A pattern counts once its columns explain so much that chance would not (Wald's test of both axes
together, with the covariance of the fit). Its columns are then part of the fit: K7 no longer has to
explain it, the intervals grow by what its parameters cost, and a warning names it.

One that is likely but not sure is in the fit with its share only: what the fits with and without it
say is averaged by how likely each of them is (Raftery, Bayesian Model Selection in Social Research,
1995, by the information criterion BIC), and the intervals hold what they differ by. No name is
given to it. Stiction is asked for as one number, too, the same for both wheels and above 0: four
columns that are free need four times the evidence, and meanwhile Coulomb friction is found too
large by several of its standard deviations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffbot_ident.torque.axis_fit import (
    ANGULAR,
    LINEAR,
    NO_COLUMNS,
    AxisFit,
    ExtraColumns,
    fit,
    joined,
)
from diffbot_ident.torque.integral_rows import (
    BENT_DIFFERENCE,
    BENT_SUM,
    DIFFERENCE,
    DRAG_OMEGA,
    DRAG_V,
    OMEGA_SQUARED,
    ONE,
    SLOW_LEFT,
    SLOW_RIGHT,
    SPREAD_DIFFERENCE,
    SPREAD_SUM,
    SUM,
    V_OMEGA,
    V_SQUARED,
    RowSums,
)


@dataclass(frozen=True)
class ResidualPattern:
    """A pattern in the residuals.

    Attributes:
        columns: that explain it in dv/dt and in domega/dt; of torques those of a single delay.
        warning: what it is and what to do; empty where there is nothing to do.
        floor: relative standard deviation that it leaves in K5..K8, as its columns describe it
            roughly; 0 where they do so exactly.
        friction_factor: on the standard deviations of the wheels' friction and of the floor's
            resistance against turning, >= 1, which its columns resemble. Both this and `floor`
            were found by robots drawn at random (benchmarks/trust.py --unmodelled).
    """

    columns: ExtraColumns
    warning: str
    floor: float = 0.0
    friction_factor: float = 1.0


DIRECTION = ResidualPattern(
    ((ONE,), (ONE,)),
    "friction differs by direction, or a torque acts that is not reported: the estimate takes it "
    "into account; check the zero of the torques, and gears that run harder one way",
)
BREAKAWAY = ResidualPattern(
    ((SLOW_LEFT, SLOW_RIGHT), (SLOW_LEFT, SLOW_RIGHT)),
    "friction differs at low speed (stiction): the estimate holds for wheels that turn; describe "
    "it by friction.static and friction.stribeck_velocity",
    floor=4.5e-3,
)
DRAG = ResidualPattern(
    ((DRAG_V,), (DRAG_OMEGA,)),
    "something drags over the floor, such as a caster: the estimate takes it into account; check "
    "the casters, and describe them by contact.caster_friction",
    floor=1.5e-3,
    friction_factor=3.5,
)
UNEVEN = ResidualPattern(
    ((DIFFERENCE.start, V_OMEGA), (SUM.start, OMEGA_SQUARED, V_SQUARED)),
    "the wheels are not alike: their radii or the scales of their torques differ, or the centre of "
    "mass lies beside the middle; the estimate takes it into account; compare the radii (diffbot "
    "calibrate) and the torques of both motors",
)
PATTERNS = (DIRECTION, BREAKAWAY, DRAG, UNEVEN)
# No friction, and nothing to warn of: ros2_control's hardware tells the mean torque of a period in
# which a new command has begun to act.
WITHIN = ResidualPattern(((BENT_SUM,), (BENT_DIFFERENCE,)), "")
# Wald's statistic beyond which a pattern is there, and how much more for each of its columns: by
# chance that happens in fewer than one of 10 000 runs.
SURE_PATTERN, SURE_COLUMN = 18.0, 2.0
# Standard deviations beyond which torques are taken to change within a period. Fewer than for the
# patterns above: unseen, it shifts K7 and K8 by as many of theirs, seen in vain it costs little.
LIKELY_WITHIN = 2.0
# Torques that a motor follows with a lag, or through a filter: commands, of most robots. Taken for
# a delay alone, a lag of one control period makes K7 too small by 0.5 %, one of two by 2 %.
LAG = ResidualPattern(
    (SPREAD_SUM, SPREAD_DIFFERENCE),
    "torque acts bit by bit, as of motors that follow a command with a lag, or of gears with "
    "backlash: the estimate takes it into account; give the torques that the motors report, where "
    "they do",
)
# Relative standard deviation of K5..K8 per square of the share that the last column of LAG has in a
# torque's effect: it stands for what comes later than its columns reach, too.
LAG_FLOOR = 5e-3
# The same of these, the other way, and what a warning needs.
LIKELY_LAG, SURE_LAG = 2.0, 5.0
# The same of stiction of both wheels alike. Seen in vain, its four columns make intervals several
# times wider: that may happen in one of 700 runs.
LIKELY_STICTION = 3.0


def likely_patterns(sums: RowSums, known: ExtraColumns = NO_COLUMNS) -> tuple[ResidualPattern, ...]:
    """The patterns that are there, the strongest first, and WITHIN or LAG last.

    Args:
        sums: of the rows, with the torques of one delay, and spread about it.
        known: columns that are part of the fit anyway.
    """
    # First, as a friction that differs by direction looks a little like it.
    if _bend(sums, known, ()) < -LIKELY_LAG:
        return (*_sure_patterns(sums, joined(known, LAG.columns)), LAG)
    found = _sure_patterns(sums, known)
    return (*found, WITHIN) if _bend(sums, known, found) > LIKELY_WITHIN else found


def _bend(sums: RowSums, known: ExtraColumns, found: tuple[ResidualPattern, ...]) -> float:
    """By how many standard deviations c of the module's text exceeds 0, from both axes."""
    weight = weighted = 0.0
    others = joined(known, *(each.columns for each in found))
    for axis, before, own in zip((LINEAR, ANGULAR), others, WITHIN.columns, strict=True):
        fitted = fit(sums, axis, None, (*before, *own))
        gain, variance = float(fitted.theta[1]), float(fitted.covariance[-1, -1])
        if variance > 0.0:
            weight += gain**2 / variance
            weighted -= gain * float(fitted.theta[-1]) / variance
    return weighted / math.sqrt(weight) if weight > 0.0 else 0.0


def _sure_patterns(sums: RowSums, known: ExtraColumns) -> tuple[ResidualPattern, ...]:
    """Those that a warning names, the strongest first."""
    found: tuple[ResidualPattern, ...] = ()
    # None of them alone explains more than all of them together.
    if _statistic(sums, known, (), PATTERNS) < SURE_PATTERN + 2.0 * SURE_COLUMN:
        return found
    while len(found) < len(PATTERNS):
        evidence = {
            pattern: _evidence(sums, known, found, pattern)
            for pattern in PATTERNS
            if pattern not in found
        }
        best = max(evidence, key=lambda pattern: evidence[pattern])
        if evidence[best] <= 0.0:
            break
        found = (*found, best)
    return found


def still_sure(
    sums: RowSums, found: tuple[ResidualPattern, ...], known: ExtraColumns = NO_COLUMNS
) -> tuple[ResidualPattern, ...]:
    """Those patterns that were found in earlier rows and that all rows by now make as sure.

    Args:
        sums: of the rows, with the torques of one delay, and spread about it.
        found: as of `likely_patterns` at its last look.
        known: columns that are part of the fit anyway.
    """

    def sure(pattern: ResidualPattern) -> bool:
        others = tuple(each for each in found if each is not pattern)
        if pattern is LAG:
            return _bend(sums, known, others) < -SURE_LAG
        return _evidence(sums, known, others, pattern) > 0.0

    return tuple(pattern for pattern in found if sure(pattern))


def torque_difference(sums: RowSums, others: ExtraColumns) -> tuple[float, float]:
    """How much more a torque of the right wheel moves the robot than the left one's, of their sum.

    (g_r - g_l) / (g_r + g_l) with the gains g of either wheel's reported torque in dv/dt and in
    domega/dt: s where the right torque reads (1 - s) / (1 + s) of what acts. Unequal radii have a
    part in it, too.

    Args:
        sums: of the rows, with the torques of one delay, and spread about it.
        others: columns that are part of the fit, without those of UNEVEN.

    Returns:
        Value and standard deviation, of noise alone; (nan, inf) where the rows do not tell it.
    """
    weight = weighted = 0.0
    for axis, before, own in zip((LINEAR, ANGULAR), others, UNEVEN.columns, strict=True):
        fitted = fit(sums, axis, None, (*before, *own))
        gain, cross = float(fitted.theta[1]), float(fitted.theta[-len(own)])
        variance = float(fitted.covariance[-len(own), -len(own)])
        if gain != 0.0 and variance > 0.0:
            weight += gain**2 / variance
            weighted += gain * cross / variance
    if weight <= 0.0:
        return math.nan, math.inf
    # The difference of the torques is the left one's less the right one's.
    return -weighted / weight, 1.0 / math.sqrt(weight)


# Probability of a pattern that is worth a second fit.
MIN_PROBABILITY = 0.02


def doubtful_pattern(
    sums: RowSums,
    found: tuple[ResidualPattern, ...],
    windows: float,
    known: ExtraColumns = NO_COLUMNS,
) -> tuple[ResidualPattern, float] | None:
    """The likeliest pattern beside those found, with its probability; None where none is likely.

    Args:
        sums: of the rows, with the torques of one delay, and spread about it.
        found: as of `likely_patterns`.
        windows: that share nothing, > 0.
        known: columns that are part of the fit anyway.
    """
    best: tuple[ResidualPattern, float] | None = None
    for pattern in PATTERNS:
        if pattern in found:
            continue
        gain = _statistic(sums, known, found, (pattern,)) - _size(pattern) * math.log(windows)
        if pattern is BREAKAWAY and (excess := _stiction(sums, known, found)) > LIKELY_STICTION:
            gain = max(gain, excess**2 - math.log(windows))
        probability = 1.0 / (1.0 + math.exp(-0.5 * min(max(gain, -99.0), 99.0)))
        if probability > (best[1] if best else MIN_PROBABILITY):
            best = pattern, probability
    return best


def _stiction(sums: RowSums, known: ExtraColumns, found: tuple[ResidualPattern, ...]) -> float:
    """By how many standard deviations friction at low speed exceeds the rest, both wheels alike.

    What static friction s of each wheel makes of the columns of BREAKAWAY is -K7 s and -K7 s in
    dv/dt, -K8 s and K8 s in domega/dt: one number instead of four, and never below 0.
    """
    weight = weighted = 0.0
    others = joined(known, *(each.columns for each in found))
    ways = (-1.0, -1.0), (-1.0, 1.0)
    for axis, before, own, way in zip(
        (LINEAR, ANGULAR), others, BREAKAWAY.columns, ways, strict=True
    ):
        fitted = fit(sums, axis, None, (*before, *own))
        slow, spread = fitted.theta[-2:], fitted.covariance[-2:, -2:]
        scale = np.sqrt(np.diag(spread))
        if (scale > 0.0).all():
            expected = fitted.theta[1] * np.array(way) / scale
            inverse = np.linalg.pinv(spread / np.outer(scale, scale))
            weight += float(expected @ inverse @ expected)
            weighted += float(expected @ inverse @ (slow / scale))
    return weighted / math.sqrt(weight) if weight > 0.0 else 0.0


def _evidence(
    sums: RowSums, known: ExtraColumns, found: tuple[ResidualPattern, ...], pattern: ResidualPattern
) -> float:
    """By how much Wald's statistic of one more pattern exceeds what makes it sure."""
    surplus = _statistic(sums, known, found, (pattern,)) - SURE_PATTERN
    return surplus - SURE_COLUMN * _size(pattern)


def _size(pattern: ResidualPattern) -> int:
    """How many columns it has."""
    return sum(map(len, pattern.columns))


def _statistic(
    sums: RowSums,
    known: ExtraColumns,
    found: tuple[ResidualPattern, ...],
    more: tuple[ResidualPattern, ...],
) -> float:
    """Wald's statistic of more patterns beside those found, of both axes."""
    before = joined(known, *(each.columns for each in found))
    after = joined(*(each.columns for each in more))
    columns = zip((LINEAR, ANGULAR), before, after, strict=True)
    return sum(
        _wald(fit(sums, axis, None, (*before, *own)), len(own)) for axis, before, own in columns
    )


def _wald(fitted: AxisFit, count: int) -> float:
    """Squared size of the last parameters, in standard deviations."""
    own, spread = fitted.theta[-count:], fitted.covariance[-count:, -count:]
    if count == 1:
        return float(own[0] ** 2 / spread[0, 0]) if spread[0, 0] > 0.0 else 0.0
    scale = np.sqrt(np.diag(spread))
    if not (scale > 0.0).all():
        return 0.0
    scaled = own / scale
    return float(scaled @ np.linalg.pinv(spread / np.outer(scale, scale)) @ scaled)
