# SPDX-License-Identifier: Apache-2.0
"""Effects that K5..K8, viscous and Coulomb friction cannot explain: found, named, compensated.

Each leaves a pattern in the residuals that certain columns of the rows explain:

direction    the duration: friction that is larger forward than backward, or a constant torque
breakaway    the signs of the wheels' speeds at low speed: static friction and the Stribeck effect
drag         the direction of the motion over the floor: casters that drag
slope        the heading: a floor that is not level
gear loss    torque sizes times the signs of the wheels' speeds: gears that lose a share of torque
uneven       the other axis's torque and products of velocities: wheels that differ
slip         wheel speeds times torques: wheels that slip in proportion to their torque
backlash     the torques' directions: encoders that turn without their wheels
saturation   the torques times their sizes: motors that give less than is reported
turning      the direction of the yaw rate: a floor that resists turning, as with skid steer
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

A wheel that slips rolls faster than it moves over the floor, by a share that is proportional to
its force, kappa |w| T, w its speed and T its torque without friction. By the encoders v and omega
are too large by r / 2 and +-r / (2 b) times that, so that the gains in it are part of the outputs,
and its products with v and omega part of theirs. Neglected, 1 to 5 % at the typical torque made
half of the intervals of friction fail.

Where gears have play the encoder, on the motor, is ahead of its wheel by half of the play or behind
it, by the direction of the torque. The motor crosses the play within some milliseconds of the
torque's turning round, the faster the larger that is, while the momentum of both together changes
by the torque as ever: so the measured speeds contain the rate of the side that touches, which
integrates to the play. A lag behind a command looks similar, but acts at each change of a torque,
in proportion to it, and not just where its direction changes.

A floor that resists turning resembles a dragging caster, but does not slow the robot down. Which
rows tell anything depends on it, so the estimator begins again when it is found.

On a floor that slopes downhill towards the heading theta_0, gravity adds

    dv/dt     = g sin(slope) cos(theta_0 - theta) m / M_e
    domega/dt = -K6 g sin(slope) sin(theta_0 - theta)

with the robot's mass m and its equivalent mass M_e, which exceeds m by the wheels' inertia. Both
are combinations of the cosine and the sine of the heading, which odometry provides.

Which of them are present is decided in pattern_search.
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
    TURNING_COLUMNS,
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
    LARGE_LEFT,
    LARGE_RIGHT,
    NEXT_BENT_DIFFERENCE,
    NEXT_BENT_SUM,
    OFF_BALANCE,
    OFF_CENTRE,
    OMEGA_SQUARED,
    ONE,
    PLAY_ANGULAR,
    PLAY_LINEAR,
    PLAY_PLACES,
    SIN_HEADING,
    SLIP_ANGULAR,
    SLIP_LINEAR,
    SLIP_RATES,
    SLOW_LEFT,
    SLOW_RIGHT,
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
        sums: Sums of the rows, with the torques of one delay.
        others: Columns that are part of the fit anyway.
        own: Columns of the pattern.
        variance: Factor on the variances of the parameters.
    """
    size = sum(map(len, own))
    return statistic(sums, others, own) / variance - SURE_PATTERN - SURE_COLUMN * size


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
        least: Least relative standard deviation of K5..K8, where the columns describe the effect
            well but not exactly.
        roughness: Relative standard deviation of K5..K8 due to the size of the effect, where
            `floor` does not suffice; None: it does.
    """

    columns: ExtraColumns
    warning: str
    floor: float = 0.0
    friction_factor: float = 1.0
    evidence: Callable[[RowSums, ExtraColumns, ExtraColumns], float] = beyond_chance
    least: float = 0.0
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
    for gain, found, inverse, way in resisting(sums, others, own):
        weight += gain**2 * way[:, None] * inverse * way
        weighted += gain * way * (inverse @ found)
    if not (weight.diagonal() > 0.0).all():
        return -math.inf
    losses = np.linalg.pinv(weight) @ weighted
    # A loss below 0 is another effect.
    if (losses * np.sqrt(weight.diagonal()) < -LIKELY_LOSS).any():
        return -math.inf
    return float(losses @ weighted) - SURE_PATTERN - SURE_COLUMN * len(losses)


def _along_the_torque(sums: RowSums, others: ExtraColumns, own: ExtraColumns) -> float:
    """Return `beyond_chance` of effects that drive both wheels along with their torque."""
    return _driven(sums, others, own, 1.0)


def _against_the_torque(sums: RowSums, others: ExtraColumns, own: ExtraColumns) -> float:
    """Return `beyond_chance` of effects that drive both wheels against their torque."""
    return _driven(sums, others, own, -1.0)


def _driven(sums: RowSums, others: ExtraColumns, own: ExtraColumns, way: float) -> float:
    """Return `beyond_chance` of effects with the sign of their torque times `way`.

    The first two columns are those of the left and of the right wheel. What drives a wheel forward
    moves the robot forward, and the left one turns it to the right.
    """
    ways = np.array([way, way]), np.array([-way, way])
    fits = fit_axes(sums, joined(others, own))
    for fitted, columns, signs in zip(fits, own, ways, strict=True):
        first = len(fitted.theta) - len(columns)
        found, std = fitted.theta[first:], np.sqrt(np.diag(fitted.covariance)[first:])
        if not (signs * found[:2] > -std[:2]).all():
            return -math.inf
    return beyond_chance(sums, others, own)


def _of_resistance(sums: RowSums, others: ExtraColumns, own: ExtraColumns) -> float:
    """Return `beyond_chance` of a column of each axis that resists the motion, or does nothing.

    What stiction leaves of itself looks like a drag that pushes.
    """
    for fitted in fit_axes(sums, joined(others, own)):
        if fitted.theta[-1] > math.sqrt(fitted.covariance[-1, -1]):
            return -math.inf
    return beyond_chance(sums, others, own)


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
    friction_factor=2.5,
    roughness=_of_stiction,
)
DRAG = ResidualPattern(
    ((DRAG_V,), (DRAG_OMEGA,)),
    "something drags over the floor, such as a caster: the estimate takes it into account; check "
    "the casters, and describe them by contact.caster_friction",
    floor=1.5e-3,
    friction_factor=3.5,
    evidence=_of_resistance,
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
# Relative standard deviation of K5..K8 of wheels that slip, and of gears with backlash: what
# happens when torques change is known for typical gears and tyres only
# (benchmarks/beyond_the_model.py).
SLIP_FLOOR = PLAY_FLOOR = 1e-3
SLIP = ResidualPattern(
    ((*SLIP_RATES, SLIP_LINEAR), (*SLIP_RATES, SLIP_ANGULAR)),
    "the wheels slip in proportion to their torque: the estimate takes it into account; lower the "
    "torques, or improve the grip of the wheels",
    evidence=_along_the_torque,
    least=SLIP_FLOOR,
)
BACKLASH = ResidualPattern(
    ((*PLAY_PLACES, PLAY_LINEAR), (*PLAY_PLACES, PLAY_ANGULAR)),
    "gears have backlash between the encoders and the wheels: the estimate takes it into account; "
    "reduce the play, or read the angles at the wheels",
    evidence=_along_the_torque,
    least=PLAY_FLOOR,
)
SATURATION = ResidualPattern(
    ((LARGE_LEFT, LARGE_RIGHT), (LARGE_LEFT, LARGE_RIGHT)),
    "large torques have less effect than reported, as of motors that saturate: lower the torques, "
    "or report measured ones",
    floor=4.5e-3,
    evidence=_against_the_torque,
)
TURNING = ResidualPattern(
    TURNING_COLUMNS,
    "the floor resists turning, as with skid steer: the estimate takes it into account; describe "
    "the robot by turning in its file",
)
ONCE_PER_TURN = (ECCENTRIC, UNBALANCED)
PATTERNS = (
    *(DIRECTION, BREAKAWAY, DRAG, SLOPE, UNEVEN, GEAR_LOSS, SLIP, BACKLASH, SATURATION, TURNING),
    *ONCE_PER_TURN,
)
# Patterns that resemble a delay: gravity by chance, as it changes as slowly as the heading; the
# others because they change the speed with the torque.
LIKE_A_DELAY = (SLOPE, SLIP, BACKLASH)
WITHIN = ResidualPattern(((BENT_SUM, NEXT_BENT_SUM), (BENT_DIFFERENCE, NEXT_BENT_DIFFERENCE)), "")
# Patterns with columns of torques.
TORQUES_TOO = (UNEVEN, WITHIN)
# Smallest slope to report, rad: no floor is that level, and errors of the model look like it.
LEAST_SLOPE = 3e-4
# Smallest play of gears to report, rad: one minute of arc, that of gears without play.
LEAST_PLAY = math.radians(1.0 / 60.0)


def notable(
    pattern: ResidualPattern,
    estimate: Estimate,
    sizes: Mapping[ResidualPattern, tuple[float, float]],
) -> bool:
    """Return whether a pattern of a fit is worth a warning, by its size.

    Args:
        pattern: A pattern of the fit.
        estimate: The estimate of the fit.
        sizes: `pattern_sizes` of the fit.
    """
    if pattern is SLOPE:
        return estimate.slope is None or not estimate.slope[0] < LEAST_SLOPE
    if pattern is BACKLASH and pattern in sizes:
        return max(sizes[pattern]) >= LEAST_PLAY
    return bool(pattern.warning)


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


def pattern_sizes(
    found: Mapping[ResidualPattern, tuple[Array, Array]],
    gains: Array,
    geometry: WheelGeometry,
    torque: float,
) -> dict[ResidualPattern, tuple[float, float]]:
    """Return the sizes [left, right] of patterns of the wheels, where they are found.

    Amplitudes of ECCENTRIC (rad) and UNBALANCED (N m), play of BACKLASH (rad), and SLIP as a share
    of the speed at the typical torque.

    Args:
        found: `pattern_parameters` of a fit.
        gains: [K7, K8] of the fit.
        geometry: Wheel radii and separation.
        torque: Typical torque of a wheel, N m.
    """
    left, right, b = geometry.left_radius, geometry.right_radius, geometry.half_track
    k7, k8 = gains
    # Effects of a unit on dv/dt and on domega/dt, [left, right]: of a wheel's angle or speed, and
    # of its torque.
    rolling = (0.5 * left, 0.5 * right), (-0.5 * left / b, 0.5 * right / b)
    effects = {
        ECCENTRIC: rolling,
        UNBALANCED: ((k7, k7), (k8, -k8)),
        BACKLASH: rolling,
        SLIP: rolling,
    }
    sizes = {}
    for pattern in found.keys() & effects.keys():
        linear, angular = (
            np.reshape(own[: len(own) // 2 * 2], (-1, 2)) / effect
            for own, effect in zip(found[pattern], effects[pattern], strict=True)
        )
        mean = 0.5 * (linear + angular)
        if pattern is BACKLASH:
            # The side changes from -1/2 of the play to 1/2.
            size = 2.0 * np.abs(mean[0])
        elif pattern is SLIP:
            size = torque * np.abs(mean[0])
        else:
            size = np.hypot(*mean)
        at_left, at_right = size.tolist()
        sizes[pattern] = at_left, at_right
    return sizes


def typical_torque(moments: Array) -> float:
    """Return the root mean square of the wheels' torques, N m; infinite while unknown.

    Args:
        moments: `RowSums.moments_at` of one delay.
    """
    power = moments.diagonal()
    lasting = 4.0 * float(power[ONE])
    driven = float(power[SUM.start] + power[DIFFERENCE.start])
    return math.sqrt(driven / lasting) if driven > 0.0 and lasting > 0.0 else math.inf


# Relative difference of the wheels' torque gains from which on one of them has no effect.
MOST_UNEVEN = 1.0


def warning_about(
    pattern: ResidualPattern,
    estimate: Estimate,
    sizes: Mapping[ResidualPattern, tuple[float, float]],
) -> str:
    """Return the warning about a pattern, with its size where that is known.

    Args:
        pattern: A pattern of the fit.
        estimate: The estimate of the fit.
        sizes: `pattern_sizes` of the fit.
    """
    size = None
    if pattern is SLOPE and estimate.slope is not None:
        slope, downhill = map(math.degrees, estimate.slope)
        size = f"about {slope:.2g} degrees, downhill at {round(downhill)} degrees from the first"
        size += " heading"
    elif pattern is TURNING and estimate.turning is not None:
        viscous, coulomb = estimate.turning.values
        size = f"{coulomb:.2g} N m, and {viscous:.2g} N m s/rad times the yaw rate"
    elif pattern in sizes:
        left, right = sizes[pattern]
        if pattern is UNBALANCED:
            size = f"left {left:.2g} N m, right {right:.2g} N m"
        elif pattern is SLIP:
            size = f"left {100.0 * left:.2g} %, right {100.0 * right:.2g} % at the typical torque"
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


def resisting(
    sums: RowSums, others: ExtraColumns, own: ExtraColumns
) -> Iterator[tuple[float, Array, Array, Array]]:
    """Yield of each axis the gain of the torque, and of frictions [left, right] the parameters.

    With the inverse of their covariance, which is 0 where the rows do not tell them, and the signs
    of their effects.

    Args:
        sums: Sums of the rows, with the torques of one delay.
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


def statistic(sums: RowSums, others: ExtraColumns, own: ExtraColumns) -> float:
    """Return Wald's statistic of further columns beside others, over both axes."""
    return sum(
        _wald(fitted, len(more))
        for fitted, more in zip(fit_axes(sums, joined(others, own)), own, strict=True)
    )


def _wald(fitted: AxisFit, count: int) -> float:
    """Return the squared norm of the last parameters, in standard deviations."""
    own, spread = fitted.theta[-count:], fitted.covariance[-count:, -count:]
    if not count:
        return 0.0
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
    torque = typical_torque(moments)
    linear, angular = axes
    gains = float(linear.theta[1]), float(angular.theta[1])
    found = 0.0
    for pattern, own in pattern_parameters(patterns, axes, known):
        found = max(found, pattern.floor, pattern.least)
        if pattern.roughness is not None:
            found = max(found, pattern.roughness(PatternFit(own, gains, torque)))
    return found
