# SPDX-License-Identifier: Apache-2.0
"""Effects that K5..K8, viscous and Coulomb friction cannot explain: found, named, compensated.

Each leaves a pattern in the residuals that certain columns of the rows explain:

direction    the duration: friction that is larger forward than backward, or a constant torque
breakaway    the signs of the wheels' speeds at low speed: static friction and the Stribeck effect
drag         the direction of the motion over the floor: casters that drag
slope        the heading: a floor that is not level
gear loss    torque sizes times the signs of the wheels' speeds: gears that lose a share of torque
uneven       the other axis's torque and products of velocities: wheels that differ
eccentric    the rates of cosine and sine of the wheels' angles: an encoder off the wheel's centre
unbalanced   cosine and sine of the wheels' angles: a bent axle, a wheel out of balance

Wheels that differ follow from (41) of Lages (2017). Let the right radius be larger than the left
one by the share delta. By odometry that takes both for r, to first order,

    dv/dt     = K5 omega^2 + K7 S + delta [(K5 / b - b K6 / 2) v omega + (K7 - b K8) / 2 D]
    domega/dt = K6 v omega + K8 D
                + delta [(b K6 / 2 - K5 / (2 b)) omega^2 + K6 v^2 / (2 b) - (K7 - b K8) / (2 b) S]

with S and D the torques' sum and difference. A motor whose torque differs from the reported one, or
a centre of mass off the centre line, requires the same columns. Without them D moves v by a share
of what it moves omega by. The yaw rate of a robot that is kept in its room keeps reversing, so
residuals of successive rows correlate like differences of it, down to -1/2.

Besides these frictions, torques may change within a period. A command that acts late by the share a
of a period gives the period the mean torque m = a tau_before + (1 - a) tau, which is the reported
effort. The integral of the torque, averaged over the period, is then not m / 2 but smaller by
c (tau - tau_before), with c = a (1 - a) / 2. From the middle of one period to that of the next the
integral thus grows, per second, by

    (m + m_next) / 2 - c (tau_next - 2 tau + tau_before)

Neglecting c makes K7 and K8 some tenths of a per cent too large for held commands. The second
difference of the means approximates that of the commands (integral_rows.BENT_SUM) while a is small.
Where commands change at any time of a period, as in a recording at 20 Hz of a robot that is
controlled at 100 Hz, that of the means one period later (NEXT_BENT_SUM) is needed as well: for a
near 1 it takes the place of the first one, as the motion seen backward shows. Without it K7 and K8
were 1 to 3 % too large.

An encoder off centre reads theta + a sin(theta + phi), so that the measured speed of its wheel
exceeds the true one by the rate of a sin(theta + phi), and v and omega by r / 2 and +-r / (2 b)
times that. A wheel out of round, r (1 + e cos(theta + phi)), has the same effect with a = -e, and
the weight that it lifts varies its torque. To neglect 1 degree of the former makes intervals three
times as wide; to neglect torque of 10 % of the excitation's, ten times, with other patterns named.

On a floor that slopes downhill towards the heading theta_0, gravity adds

    dv/dt     = g sin(slope) cos(theta_0 - theta) m / M_e
    domega/dt = -K6 g sin(slope) sin(theta_0 - theta)

with the robot's mass m and its equivalent mass M_e, which exceeds m by the wheels' inertia. Both
are combinations of the cosine and the sine of the heading, which odometry provides.

A motor that follows its command with a lag, or through a filter, bends the torque the other way:
c < 0. Treated as a delay, a lag of one control period makes K7 and K8 0.5 % too small, one of two
periods 2 %. The torques at all delays are then part of the fit (integral_rows.SPREAD_SUM); only
their sum, the effect of a constant torque, is well determined. Backlash between encoder and wheel
has a similar effect.

A pattern is accepted once its columns explain more than chance would (Wald's test of both axes
together, with the covariance of the fit). Its columns then become part of the fit: K7 no longer
absorbs the effect, the intervals grow by the cost of its parameters, and a warning names it.

A pattern that is likely but not sure is included with its probability only: the fits with and
without it are averaged, weighted by their probabilities (Raftery, Bayesian Model Selection in
Social Research, 1995, by the information criterion BIC), and the intervals include the difference
of the fits. It is not named. Stiction and gear loss are also tested as a single number, the same
for both wheels and above 0: four free columns need four times the evidence, and until then the
Coulomb friction would be too large by several of its standard deviations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_description.ground_loads import GRAVITY
from diffbot_ident.torque.axis_fit import (
    GEAR_COLUMNS,
    NO_COLUMNS,
    AxisFit,
    ExtraColumns,
    fit_axes,
    joined,
)
from diffbot_ident.torque.estimate import Array, Estimate
from diffbot_ident.torque.integral_rows import (
    BENT_DIFFERENCE,
    BENT_SUM,
    COS_HEADING,
    DIFFERENCE,
    DRAG_OMEGA,
    DRAG_V,
    GEAR_LEFT,
    GEAR_RIGHT,
    NEXT_BENT_DIFFERENCE,
    NEXT_BENT_SUM,
    OFF_BALANCE,
    OFF_CENTRE,
    OMEGA_SQUARED,
    ONE,
    SIGN_LEFT,
    SIGN_RIGHT,
    SIN_HEADING,
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
class PatternFit:
    """Parameters of a pattern that is part of a fit.

    Attributes:
        own: Parameters of its columns in dv/dt and in domega/dt.
        gains: Parameters of the torque, K7 and K8.
        torque: Typical torque of a wheel, N m: the root mean square.
    """

    own: tuple[Array, Array]
    gains: tuple[float, float]
    torque: float


# Wald's statistic beyond which a pattern is accepted, and the surplus per column: by chance
# this happens in fewer than one of 10 000 runs.
SURE_PATTERN, SURE_COLUMN = 18.0, 2.0


def beyond_chance(
    sums: RowSums, others: ExtraColumns, own: ExtraColumns, variance: float = 1.0
) -> float:
    """Return by how much Wald's statistic of a pattern's columns exceeds its threshold.

    Args:
        sums: Sums of the rows, with the torques of one delay and those spread about it.
        others: Columns that are part of the fit anyway.
        own: Columns of the pattern.
        variance: Factor on the variances of the parameters.
    """
    size = sum(map(len, own))
    return _statistic(sums, others, own) / variance - SURE_PATTERN - SURE_COLUMN * size


@dataclass(frozen=True)
class ResidualPattern:
    """A pattern in the residuals.

    Attributes:
        columns: Columns that explain it in dv/dt and in domega/dt; for torques, of one delay.
        warning: What it is and what to do; empty where there is nothing to do.
        floor: Relative standard deviation that remains in K5..K8 because the columns describe the
            effect only roughly; 0 where they are exact.
        friction_factor: Factor on the standard deviations of the wheels' friction and of the
            floor's resistance against turning, >= 1, as the columns resemble those effects. This
            and `floor` were determined with random robots (benchmarks/trust.py --unmodelled).
        evidence: Test of all rows, as `beyond_chance`: the pattern is sure if it is > 0.
        roughness: Relative standard deviation of K5..K8 due to the size of the effect, where
            `floor` does not suffice; None: it does.
    """

    columns: ExtraColumns
    warning: str
    floor: float = 0.0
    friction_factor: float = 1.0
    evidence: Callable[[RowSums, ExtraColumns, ExtraColumns], float] = beyond_chance
    roughness: Callable[[PatternFit], float] | None = None


# Standard deviations by which the loss of a gear may be below 0.
LIKELY_LOSS = 3.0
# Relative standard deviation of K5..K8 per static friction beyond the Coulomb friction, as a share
# of the typical torque: a wheel that it holds moves as no column tells. Determined with twil and
# agv, static friction 1.5 to 2.5 times that of Coulomb, 2 to 10 % of the top speed.
STICTION_FLOOR = 0.03


def _of_stiction(found: PatternFit) -> float:
    """Return the roughness of a breakaway torque: static less Coulomb friction, of both wheels."""
    (left, right), (turn_left, turn_right) = found.own
    k7, k8 = found.gains
    excess = -0.25 * ((left + right) / k7 + (turn_left - turn_right) / k8)
    return STICTION_FLOOR * max(float(excess), 0.0) / found.torque


def _gears_beyond_chance(sums: RowSums, others: ExtraColumns, own: ExtraColumns) -> float:
    """Return by how much the evidence of gear losses, of two numbers >= 0, exceeds its threshold.

    Losses g of the wheels give their columns the parameters -K7 g_l and -K7 g_r in dv/dt,
    -K8 g_l and K8 g_r in domega/dt: two numbers instead of four.
    """
    weight, weighted = np.zeros((2, 2)), np.zeros(2)
    for gain, found, inverse, way in _resisting(sums, others, own):
        weight += gain**2 * way[:, None] * inverse * way
        weighted += gain * way * (inverse @ found)
    if not (weight.diagonal() > 0.0).all():
        return -math.inf
    losses = np.linalg.pinv(weight) @ weighted
    # A loss below 0 is another effect.
    if (losses * np.sqrt(weight.diagonal()) < -LIKELY_LOSS).any():
        return -math.inf
    return float(losses @ weighted) - SURE_PATTERN - SURE_COLUMN * len(losses)


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
    roughness=_of_stiction,
)
DRAG = ResidualPattern(
    ((DRAG_V,), (DRAG_OMEGA,)),
    "something drags over the floor, such as a caster: the estimate takes it into account; check "
    "the casters, and describe them by contact.caster_friction",
    floor=1.5e-3,
    friction_factor=3.5,
)
SLOPE = ResidualPattern(
    ((COS_HEADING, SIN_HEADING), (COS_HEADING, SIN_HEADING)),
    "the floor is not level: the estimate takes it into account; a level floor gives narrower "
    "intervals",
)
UNEVEN = ResidualPattern(
    ((DIFFERENCE.start, V_OMEGA), (SUM.start, OMEGA_SQUARED, V_SQUARED)),
    "the wheels are not alike: their radii or the scales of their torques differ, or the centre of "
    "mass lies beside the middle; the estimate takes it into account; compare the radii (diffbot "
    "calibrate) and the torques of both motors",
)
ECCENTRIC = ResidualPattern(
    (OFF_CENTRE, OFF_CENTRE),
    "an encoder errs once per turn (eccentric), or a wheel is out of round: the estimate takes it "
    "into account; centre the encoder's disc or magnet, and check that the wheels run true",
)
UNBALANCED = ResidualPattern(
    (OFF_BALANCE, OFF_BALANCE),
    "torque varies once per turn of a wheel: the estimate takes it into account; check for a bent "
    "axle and for wheels that are off centre or out of balance",
)
GEAR_LOSS = ResidualPattern(
    GEAR_COLUMNS,
    "gears lose a share of the torque: the estimate takes it into account, and Coulomb friction is "
    "that without load; a robot file describes it by friction.gear_loss",
    evidence=_gears_beyond_chance,
)
ONCE_PER_TURN = (ECCENTRIC, UNBALANCED)
PATTERNS = (DIRECTION, BREAKAWAY, DRAG, SLOPE, UNEVEN, GEAR_LOSS, *ONCE_PER_TURN)
# Least share of the power of a wheel's torque size, times the sign of its speed, beyond that of a
# constant size: with less, a gear loss cannot be told from Coulomb friction. Binary torques have 0.
LEAST_VARIED = 0.005
# Largest mean of a wheel's direction (a vector of length 1) with which what happens once per turn
# is looked for; 1 for a wheel that hardly turns.
MOST_ONE_SIDED = 0.5
# Torques that change within a period. This is no friction and needs no warning: ros2_control's
# hardware reports the mean torque of a period in which a new command starts to act.
BENT: ExtraColumns = ((BENT_SUM,), (BENT_DIFFERENCE,))
WITHIN = ResidualPattern(((BENT_SUM, NEXT_BENT_SUM), (BENT_DIFFERENCE, NEXT_BENT_DIFFERENCE)), "")
# Standard deviations beyond which torques are assumed to change within a period. The threshold is
# lower than for the patterns above: if missed, the effect shifts K7 and K8 by as many of their
# deviations; a false detection costs little.
LIKELY_WITHIN = 2.0
# Relative standard deviation of K5..K8 per square of the share that the last column of LAG has in
# the effect of a torque: it accounts for effects later than the columns reach.
LAG_FLOOR = 5e-3
# Standard deviations of the bend, in the other direction than LIKELY_WITHIN, beyond which a lag is
# assumed, and beyond which it is reported.
LIKELY_LAG, SURE_LAG = 2.0, 5.0


def _bent_back(sums: RowSums, others: ExtraColumns, _own: ExtraColumns) -> float:
    """Return by how much the bend of a lag exceeds its threshold."""
    return -_bend(sums, others) - SURE_LAG


def _of_lag(found: PatternFit) -> float:
    """Return the roughness of a lag: effects later than its columns reach."""
    pairs = zip(found.own, found.gains, strict=True)
    return LAG_FLOOR * max(abs(float(own[-1] / gain)) for own, gain in pairs) ** 2


# Torques that a motor follows with a lag, or through a filter: with most robots this applies to
# commands. Treated as a pure delay, a lag of one control period makes K7 too small by 0.5 %, one of
# two periods by 2 %.
LAG = ResidualPattern(
    (SPREAD_SUM, SPREAD_DIFFERENCE),
    "torque acts gradually, as with motors that follow a command with a lag, or gears with "
    "backlash: the estimate takes this into account; if the motors report their torques, use those",
    evidence=_bent_back,
    roughness=_of_lag,
)
# Standard deviations beyond which equal stiction, or gear loss, of both wheels is assumed. A false
# detection makes the intervals several times wider, due to its four columns; it occurs in one of
# 700 runs.
LIKELY_ALIKE = 3.0


def likely_patterns(
    sums: RowSums, known: ExtraColumns = NO_COLUMNS, variance: float = 1.0
) -> tuple[ResidualPattern, ...]:
    """Return the patterns that are present, the strongest first, and WITHIN or LAG last.

    Args:
        sums: Sums of the rows, with the torques of one delay and those spread about it.
        known: Columns that are part of the fit anyway.
        variance: Factor on the variances of the parameters due to correlated errors. It applies to
            ONCE_PER_TURN, whose many columns else take up part of any slow force.
    """
    # Test the lag first, because friction that differs by direction resembles it.
    if _bend(sums, known) < -LIKELY_LAG:
        return (*_sure_patterns(sums, joined(known, LAG.columns), variance), LAG)
    found = _sure_patterns(sums, known, variance)
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


def _possible(sums: RowSums) -> tuple[ResidualPattern, ...]:
    """Return the patterns that the motion can tell."""
    lasting = float(sums.moments[ONE, ONE])
    mean = np.hypot(*np.reshape(sums.moments[ONE, OFF_BALANCE], (2, 2)))
    left_out: list[ResidualPattern] = []
    if not (mean < MOST_ONE_SIDED * lasting).all():
        left_out += ONCE_PER_TURN
    if not _loads_vary(sums):
        left_out.append(GEAR_LOSS)
    return tuple(pattern for pattern in PATTERNS if pattern not in left_out)


def _loads_vary(sums: RowSums) -> bool:
    """Whether the size of each wheel's torque varies enough to tell a gear loss from friction."""
    signs, gears = [SIGN_LEFT, SIGN_RIGHT], [GEAR_LEFT, GEAR_RIGHT]
    moments = sums.moments
    both, power = moments[signs, signs] * moments[gears, gears], moments[signs, gears] ** 2
    return bool((both - power > LEAST_VARIED * both).all())


def _sure_patterns(
    sums: RowSums, known: ExtraColumns, variance: float
) -> tuple[ResidualPattern, ...]:
    """Return the patterns that are sure enough for a warning, the strongest first."""
    found: tuple[ResidualPattern, ...] = ()
    possible = _possible(sums)
    # No pattern alone explains more than all of them together.
    every = joined(*(each.columns for each in possible))
    if _statistic(sums, known, every) < SURE_PATTERN + 2.0 * SURE_COLUMN:
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
        if evidence[best] <= 0.0:
            break
        found = (*found, best)
    return found


def still_sure(
    sums: RowSums, found: tuple[ResidualPattern, ...], known: ExtraColumns = NO_COLUMNS
) -> tuple[ResidualPattern, ...]:
    """Return the patterns found in earlier rows that are still sure with all rows so far.

    Args:
        sums: Sums of the rows, with the torques of one delay and those spread about it.
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
        sums: Sums of the rows, with the torques of one delay and those spread about it.
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


# Smallest slope to report, rad: no floor is that level, and errors of the model look like it.
LEAST_SLOPE = 3e-4


def floor_slope(own: Array) -> tuple[float, float]:
    """Return the slope of the floor and the heading that points downhill, rad.

    The heading is relative to that of the first sample. The slope neglects the inertia of the
    wheels and is therefore a few per cent too small.

    Args:
        own: Parameters of SLOPE in dv/dt, m/s^2, shape (2,).
    """
    ahead, left = own.tolist()
    return math.asin(min(math.hypot(ahead, left) / GRAVITY, 1.0)), math.atan2(left, ahead)


def gravity_along(slope: float, downhill: float) -> tuple[float, float]:
    """Return the gravity along and to the left of the first heading, m/s^2: see `floor_slope`.

    Args:
        slope: Slope of the floor, rad.
        downhill: Heading that points downhill, rad, relative to the first one.
    """
    pull = GRAVITY * math.sin(slope)
    return pull * math.cos(downhill), pull * math.sin(downhill)


def sizes_per_turn(
    found: Mapping[ResidualPattern, tuple[Array, Array]], gains: Array, geometry: WheelGeometry
) -> dict[ResidualPattern, tuple[float, float]]:
    """Return the amplitudes [left, right] of ECCENTRIC (rad) and UNBALANCED (N m) where found.

    Args:
        found: `pattern_parameters` of a fit.
        gains: [K7, K8] of the fit.
        geometry: Wheel radii and separation.
    """
    left, right, b = geometry.left_radius, geometry.right_radius, geometry.half_track
    k7, k8 = gains
    # Effects of a unit on dv/dt and on domega/dt, [left, right].
    effects = {
        ECCENTRIC: ((0.5 * left, 0.5 * right), (-0.5 * left / b, 0.5 * right / b)),
        UNBALANCED: ((k7, k7), (k8, -k8)),
    }
    sizes = {}
    for pattern in found.keys() & effects.keys():
        linear, angular = (
            np.reshape(own, (2, 2)) / effect
            for own, effect in zip(found[pattern], effects[pattern], strict=True)
        )
        at_left, at_right = np.hypot(*(0.5 * (linear + angular))).tolist()
        sizes[pattern] = at_left, at_right
    return sizes


# Relative difference of the wheels' torque gains from which on one of them has no effect.
MOST_UNEVEN = 1.0


def warning_about(
    pattern: ResidualPattern,
    estimate: Estimate,
    per_turn: Mapping[ResidualPattern, tuple[float, float]],
) -> str:
    """Return the warning about a pattern, with its size where that is known.

    Args:
        pattern: A pattern of the fit.
        estimate: The estimate of the fit.
        per_turn: `sizes_per_turn` of the fit.
    """
    size = None
    if pattern is SLOPE and estimate.slope is not None:
        slope, downhill = map(math.degrees, estimate.slope)
        size = f"about {slope:.2g} degrees, downhill at {round(downhill)} degrees from the first"
        size += " heading"
    elif pattern in per_turn:
        left, right = per_turn[pattern]
        if pattern is UNBALANCED:
            size = f"left {left:.2g} N m, right {right:.2g} N m"
        else:
            size = f"left {math.degrees(left):.2g}, right {math.degrees(right):.2g} degrees"
    elif pattern is GEAR_LOSS and estimate.friction is not None:
        left, right = (100.0 * loss for loss in estimate.friction.gear_loss)
        size = f"left {left:.2g} %, right {right:.2g} %"
    elif pattern is UNEVEN and abs(estimate.torque_difference[0]) < MOST_UNEVEN:
        difference = estimate.torque_difference[0]
        ratio = (1.0 - difference) / (1.0 + difference)
        size = f"a torque of the left wheel has {ratio:.4g} times the effect of one of the right"
        size += " wheel"
    return pattern.warning if size is None else f"{pattern.warning} ({size})"


# Probability from which on a pattern is worth a second fit.
MIN_PROBABILITY = 0.02


def doubtful_pattern(
    sums: RowSums,
    found: tuple[ResidualPattern, ...],
    windows: float,
    known: ExtraColumns = NO_COLUMNS,
) -> tuple[ResidualPattern, float] | None:
    """Return the most likely further pattern, with its probability; None if none is likely.

    Args:
        sums: Sums of the rows, with the torques of one delay and those spread about it.
        found: Result of `likely_patterns`.
        windows: Number of disjoint windows, > 0.
        known: Columns that are part of the fit anyway.
    """
    best: tuple[ResidualPattern, float] | None = None
    for pattern in _possible(sums):
        if pattern in found:
            continue
        size = sum(map(len, pattern.columns))
        gain = _statistic(sums, _with(known, found), pattern.columns) - size * math.log(windows)
        if pattern in (BREAKAWAY, GEAR_LOSS):
            excess = _of_both_wheels(sums, _with(known, found), pattern.columns)
            if excess > LIKELY_ALIKE:
                gain = max(gain, excess**2 - math.log(windows))
        probability = 1.0 / (1.0 + math.exp(-0.5 * min(max(gain, -99.0), 99.0)))
        if probability > (best[1] if best else MIN_PROBABILITY):
            best = pattern, probability
    return best


def _of_both_wheels(sums: RowSums, others: ExtraColumns, own: ExtraColumns) -> float:
    """Return the equal extra friction of both wheels in its columns, in standard deviations.

    Friction s of each wheel gives its columns the parameters -K7 s and -K7 s in dv/dt, -K8 s and
    K8 s in domega/dt: one number instead of four, and never below 0.
    """
    weight = weighted = 0.0
    for gain, found, inverse, way in _resisting(sums, others, own):
        expected = gain * way
        weight += float(expected @ inverse @ expected)
        weighted += float(expected @ inverse @ found)
    return weighted / math.sqrt(weight) if weight > 0.0 else 0.0


def _resisting(
    sums: RowSums, others: ExtraColumns, own: ExtraColumns
) -> Iterator[tuple[float, Array, Array, Array]]:
    """Yield of each axis the gain of the torque, and of frictions [left, right] the parameters.

    With the inverse of their covariance, which is 0 where the rows do not tell them, and the signs
    of their effects.

    Args:
        sums: Sums of the rows, with the torques of one delay and those spread about it.
        others: Columns that are part of the fit.
        own: Columns of a friction of the left and of the right wheel.
    """
    ways = np.array([-1.0, -1.0]), np.array([-1.0, 1.0])
    for fitted, way in zip(fit_axes(sums, joined(others, own)), ways, strict=True):
        found, spread = fitted.theta[-2:], fitted.covariance[-2:, -2:]
        scale = np.sqrt(np.diag(spread))
        inverse = np.zeros((2, 2))
        if (scale > 0.0).all():
            shape = np.outer(scale, scale)
            inverse = np.linalg.pinv(spread / shape) / shape
        yield float(fitted.theta[1]), found, inverse, way


def _statistic(sums: RowSums, others: ExtraColumns, own: ExtraColumns) -> float:
    """Return Wald's statistic of further columns beside others, over both axes."""
    return sum(
        _wald(fitted, len(more))
        for fitted, more in zip(fit_axes(sums, joined(others, own)), own, strict=True)
    )


def _wald(fitted: AxisFit, count: int) -> float:
    """Return the squared norm of the last parameters, in standard deviations."""
    own, spread = fitted.theta[-count:], fitted.covariance[-count:, -count:]
    if count == 1:
        return float(own[0] ** 2 / spread[0, 0]) if spread[0, 0] > 0.0 else 0.0
    scale = np.sqrt(np.diag(spread))
    if not (scale > 0.0).all():
        return 0.0
    scaled = own / scale
    return float(scaled @ np.linalg.pinv(spread / np.outer(scale, scale)) @ scaled)


def pattern_parameters(
    patterns: Sequence[ResidualPattern], axes: Sequence[AxisFit], known: ExtraColumns
) -> Iterator[tuple[ResidualPattern, tuple[Array, Array]]]:
    """Yield each pattern of a fit with its parameters in dv/dt and in domega/dt.

    Args:
        patterns: Patterns in the order of their columns in the fit.
        axes: Fits of both axes, with the known columns and then those of the patterns.
        known: Columns that are part of the fit anyway.
    """
    first = [6 + len(each) for each in known]
    linear, angular = axes
    for pattern in patterns:
        ends = [at + len(own) for at, own in zip(first, pattern.columns, strict=True)]
        yield pattern, (linear.theta[first[0] : ends[0]], angular.theta[first[1] : ends[1]])
        first = ends


def roughness(
    patterns: Sequence[ResidualPattern],
    axes: Sequence[AxisFit],
    known: ExtraColumns,
    moments: Array,
) -> float:
    """Return the minimum relative standard deviation of K5..K8 due to patterns of a fit.

    Args:
        patterns: Patterns in the order of their columns in the fit.
        axes: Fits of both axes, with the known columns and then those of the patterns.
        known: Columns that are part of the fit anyway.
        moments: `RowSums.moments_at` of one delay.
    """
    power = moments.diagonal()
    lasting = 4.0 * float(power[ONE])
    driven = float(power[SUM.start] + power[DIFFERENCE.start])
    torque = math.sqrt(driven / lasting) if driven > 0.0 and lasting > 0.0 else math.inf
    linear, angular = axes
    gains = float(linear.theta[1]), float(angular.theta[1])
    found = 0.0
    for pattern, own in pattern_parameters(patterns, axes, known):
        found = max(found, pattern.floor)
        if pattern.roughness is not None:
            found = max(found, pattern.roughness(PatternFit(own, gains, torque)))
    return found
