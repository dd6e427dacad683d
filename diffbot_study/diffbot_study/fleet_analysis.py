# SPDX-License-Identifier: Apache-2.0
"""What the recordings of a fleet say of its robots: a prior per type, alarms, causes.

Random effects, robustly: a quantity of robot j is the median of its recordings, with a standard
error from their scatter and their own intervals; robots of one type spread about their median with
a deviation tau, which is what is left of their spread without those errors. The spread is that of
the robots within three deviations of the median, of which the first guess is the median absolute
one (reweighted, Rousseeuw and Leroy, Robust Regression and Outlier Detection, 1987). So up to half
of the robots may be faulty and neither centre nor spread follows them.

An alarm: the largest |deviation| / sqrt(tau^2 + error^2) of a robot's quantities, by Student's t
with the degrees of freedom that such a spread of the type's robots is worth, and by Sidak's
correction for the number of quantities and for the number of robots in the whole fleet: a fleet
without a fault gets any alarm at all with the chance that was asked for, or a smaller one, where
its robots spread normally.

A change: fleet_trends says whether a robot has changed over its recordings, by the same rule for
the whole fleet. Where there are recordings at enough times, changes get a tenth of the chance of a
false alarm, and deviations the rest: a robot is told far better from its own past than from others,
so that a change loses nothing by it. After a step a robot is compared with others by its later
recordings only.

A cause is the signature that explains a robot's deviations with the least Akaike criterion, chi^2
+ 2 x amplitudes; how sure: its share of all causes' weights exp(-criterion / 2). A change is
evidence of its own: where a robot both deviates and changed, the criteria are added, unless no
cause explains both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from diffbot_ident.torque.estimate import NORMAL_95, Four
from diffbot_study.fleet_trends import LOG, STEP, Track, Trend, find_trends, said, share
from diffbot_study.parquet_store import Row

Array = NDArray[np.float64]

QUANTITIES = (
    "log_k7", "log_k8", "k5", "k6", "coulomb_left", "coulomb_right", "log_residual",
    "torque_difference",
)  # fmt: skip
"""What is compared: logs of K7, |K8| and the residuals of v'; K5, K6 and Coulomb friction relative
to the type's medians; how much more a reported torque of the right wheel does, as a share of both.
"""
# Fewest robots of a type, and recordings of a robot, that are compared.
FEWEST, RECORDINGS = 5, 2
# Of a median against a mean; of a median absolute deviation against a standard deviation.
MEDIAN, MAD = 1.2533, 1.4826
# Cut of the spread, in deviations; and what is left of the variance of normal numbers by it.
SPREAD_CUT = 3.0
KEPT_VARIANCE = 0.97334
# Where deviations are cut for correlations, and least relative spread of a prior.
CUT, LEAST_SPREAD = 2.5, 1e-4
# Largest chi^2 per degree of freedom that a cause may leave.
UNEXPLAINED = 20.0
# Share of the chance of a false alarm that changes over time get.
CHANGES = 0.1
# Least that robots of a type are taken to differ by, relative.
LEAST_DIFFERENCE = 0.01
# In SI units; smaller medians are no scale.
SMALLEST = 1e-9
NO_CAUSE = "no known cause"
UNKNOWN = "unknown"  # type of robots without a description


@dataclass(frozen=True)
class TypePrior:
    """Robots of one type.

    Attributes:
        robots: that it rests on.
        centre: median, by quantity.
        spread: tau, the standard deviation between robots, by quantity.
        relative_to: what K5, K6 and friction are relative to, by quantity, in SI units.
        k: centre of K5..K8.
        k_covariance: of K5..K8 of a robot that nobody has seen yet around it, 4 rows of 4.
    """

    robots: int
    centre: Mapping[str, float]
    spread: Mapping[str, float]
    relative_to: Mapping[str, float]
    k: Four
    k_covariance: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class RobotFinding:
    """One robot against its type.

    Attributes:
        name: of the robot.
        type: of the robot.
        recordings: that were used.
        deviations: from the type's centre, by quantity.
        scores: the same in standard deviations.
        p: chance of as large a score in a robot without a fault.
        alarm: whether it is unlike the others, by the rate of the whole fleet.
        cause: by its signature; empty without an alarm.
        confidence: weight of the cause among all, 0 to 1.
        evidence: the largest scores, in words.
    """

    name: str
    type: str
    recordings: int
    deviations: Mapping[str, float]
    scores: Mapping[str, float]
    p: float
    alarm: bool = False
    cause: str = ""
    confidence: float = 0.0
    evidence: str = ""


@dataclass(frozen=True)
class Fleet:
    """Findings of a fleet.

    Attributes:
        types: priors by type.
        robots: the least likely first.
        false_alarms: chance of any alarm in a fleet without a fault.
        left_out: robots that were not compared, and why.
        trends: of robots with recordings at enough times, the least likely first.
    """

    types: Mapping[str, TypePrior]
    robots: Sequence[RobotFinding]
    false_alarms: float
    left_out: Mapping[str, str] = field(default_factory=dict)
    trends: Sequence[Trend] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def analyse_fleet(rows: Sequence[Row], false_alarms: float) -> Fleet:
    """Compare the robots of each type, and each robot with its own past.

    Args:
        rows: of the table of recordings.
        false_alarms: chance of any alarm in a fleet without a fault, 0 to 1.
    """
    members: dict[str, dict[str, list[Row]]] = {}
    for row in sorted(rows, key=_moment):
        if row["k7"] is not None and row["std_k7"] is not None and row["k7"] > 0.0 > row["k8"]:
            members.setdefault(row["type"] or UNKNOWN, {}).setdefault(row["robot"], []).append(row)
    trends = _changes(members, CHANGES * false_alarms)
    changed = {(trend.type, trend.name): trend for trend in trends if trend.alarm}
    types: dict[str, TypePrior] = {}
    found: list[tuple[RobotFinding, Array]] = []
    left_out: dict[str, str] = {}
    for kind_name, robots in sorted(members.items()):
        short = {name: own for name, own in robots.items() if len(own) < RECORDINGS}
        left_out |= {name: f"has {len(own)} usable recordings" for name, own in short.items()}
        full = {name: own for name, own in robots.items() if name not in short}
        if len(full) < FEWEST:
            left_out |= {name: f"type {kind_name} has {len(full)} robots" for name in full}
            continue
        newest = {name: _after(changed.get((kind_name, name)), own) for name, own in full.items()}
        types[kind_name], own = _compare(kind_name, newest)
        found += own
    chance = (1.0 - CHANGES) * false_alarms if trends else false_alarms
    limit = _each(chance, len(found))
    trends = [_explained(trend, types.get(trend.type)) for trend in trends]
    changed = {(trend.type, trend.name): trend for trend in trends if trend.alarm}
    judged = [
        _judged(robot, errors, limit, changed.get((robot.type, robot.name)), types[robot.type])
        for robot, errors in found
    ]
    return Fleet(
        types,
        sorted(judged, key=lambda each: each.p),
        false_alarms,
        left_out,
        sorted(trends, key=lambda each: each.p),
    )


def _each(share: float, robots: int) -> float:
    """The p of one robot below which there is an alarm, by Sidak."""
    return -math.expm1(math.log1p(-share) / max(robots, 1))


def _moment(row: Row) -> tuple[float, str]:
    """Order of recordings; at the same time, that of their names."""
    return _number(row.get("time")), str(row.get("path"))


def _changes(
    members: Mapping[str, Mapping[str, Sequence[Row]]], false_alarms: float
) -> list[Trend]:
    """Trends of all robots, with alarms by the rate of the whole fleet."""
    found = []
    for kind, robots in sorted(members.items()):
        scale = _scale([row for own in robots.values() for row in own])
        tracks = {}
        for name, own in robots.items():
            timed = [row for row in own if row.get("time") is not None]
            if timed:
                times = np.array([row["time"] for row in timed])
                tracks[name] = Track(times, *_quantities(timed, scale))
        found += find_trends(kind, tracks, QUANTITIES)
    limit = _each(false_alarms, len(found))
    return [replace(trend, alarm=trend.p <= limit) for trend in found]


def _after(change: Trend | None, rows: Sequence[Row]) -> Sequence[Row]:
    """A robot's recordings since its last step."""
    if change is None or change.kind != STEP:
        return rows
    later = [row for row in rows if _number(row["time"]) >= change.between[1]]
    return later if len(later) >= RECORDINGS else rows


def _explained(trend: Trend, prior: TypePrior | None) -> Trend:
    """A change with its cause."""
    if not trend.alarm:
        return trend
    cause, confidence = name_cause(*_change(trend, prior))
    return replace(trend, cause=cause, confidence=confidence)


def _change(trend: Trend, prior: TypePrior | None) -> tuple[Array, Array]:
    """A change and the errors that its cause is told by, by QUANTITIES.

    A signature is good to what robots of a type differ by.
    """
    spread = np.array([0.0 if prior is None else prior.spread[name] for name in QUANTITIES])
    own = np.array([*trend.change_std.values()])
    return np.array([*trend.change.values()]), np.hypot(own, np.maximum(spread, LEAST_DIFFERENCE))


def _compare(
    kind: str, robots: Mapping[str, Sequence[Row]]
) -> tuple[TypePrior, list[tuple[RobotFinding, Array]]]:
    """The prior of a type, and its robots with the deviations' standard errors."""
    scale = _scale([row for own in robots.values() for row in own])
    pairs = [_of_robot(own, scale) for own in robots.values()]
    values, errors = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    centre = np.median(values, axis=0)
    deviation = values - centre
    total = _spread(deviation)
    spread = np.sqrt(np.maximum(total**2 - np.median(errors**2, axis=0), (0.1 * total) ** 2))
    # The centre is known as well as a median of so many robots.
    known = MEDIAN**2 * total**2 / len(robots)
    whole = np.sqrt(spread**2 + errors**2 + known)
    scores = deviation / np.maximum(whole, 1e-12)
    worst = np.abs(scores).max(axis=1)
    single = 2.0 * stats.t.sf(worst, _freedom(len(robots)))
    p_values = -np.expm1(len(QUANTITIES) * np.log1p(-np.minimum(single, 1.0 - 1e-16)))
    found = [
        (
            RobotFinding(
                name=name,
                type=kind,
                recordings=len(own),
                deviations=dict(zip(QUANTITIES, deviation[i].tolist(), strict=True)),
                scores=dict(zip(QUANTITIES, scores[i].tolist(), strict=True)),
                p=float(p_values[i]),
            ),
            whole[i],
        )
        for i, (name, own) in enumerate(robots.items())
    ]
    prior = TypePrior(
        robots=len(robots),
        centre=dict(zip(QUANTITIES, centre.tolist(), strict=True)),
        spread=dict(zip(QUANTITIES, spread.tolist(), strict=True)),
        relative_to=scale,
        k=_k(centre, scale),
        k_covariance=_k_covariance(centre, scale, deviation, np.sqrt(total**2 + known)),
    )
    return prior, found


def _spread(deviation: Array) -> Array:
    """Standard deviation of the robots without those that stick out, by quantity.

    Args:
        deviation: from the medians, shape (robots, quantities).
    """
    size = np.abs(deviation)
    spread = (1.0 + 0.9 / len(deviation)) * MAD * np.median(size, axis=0)
    for _ in range(2):
        kept = np.where(size <= SPREAD_CUT * spread, deviation, np.nan)
        spread = np.sqrt(np.nanvar(kept, axis=0, ddof=1) / KEPT_VARIANCE)
    return np.asarray(spread)


def _freedom(robots: int) -> float:
    """Degrees of freedom that `_spread` of so many robots, FEWEST or more, is worth.

    By fleets of normal numbers: a limit of Student's t with these was exceeded as often as it says,
    or more seldom, by the outermost of 5, 8, 12, 20, 40 and 100 robots.
    """
    return min(0.6, 0.37 + 0.033 * (robots - FEWEST)) * (robots - 1)


def _k(centre: Array, scale: Mapping[str, float]) -> Four:
    k7, k8, k5, k6 = centre[:4].tolist()
    return k5 * scale["k5"], k6 * scale["k6"], math.exp(k7), -math.exp(k8)


def _k_covariance(
    centre: Array, scale: Mapping[str, float], deviation: Array, spread: Array
) -> tuple[tuple[float, ...], ...]:
    """Covariance of K5..K8 of a further robot of the type.

    Of the robots' spread as it was seen, their own errors with it: taken off, they would leave next
    to nothing where they are the larger part, and a prior that is too sure of itself. As wide as
    Student's t for a spread that comes of so few robots; correlations are those of deviations that
    are cut where a faulty robot's begin, a little towards none.

    Args:
        centre: by QUANTITIES, shape (quantities,).
        scale: what K5 and K6 are relative to.
        deviation: of the robots, shape (robots, quantities).
        spread: standard deviations of a further robot, shape (quantities,).
    """
    order = [QUANTITIES.index(name) for name in ("k5", "k6", "log_k7", "log_k8")]
    robots = len(deviation)
    size = MAD * np.median(np.abs(deviation[:, order]), axis=0)
    cut = np.clip(deviation[:, order] / np.maximum(size, SMALLEST), -CUT, CUT)
    power = np.maximum(np.sqrt(np.mean(cut**2, axis=0)), SMALLEST)
    correlation = (cut.T @ cut) / robots / np.outer(power, power)
    kept = robots / (robots + 4.0)
    correlation = kept * correlation + (1.0 - kept) * np.eye(4)
    np.fill_diagonal(correlation, 1.0)
    _, _, k7, k8 = _k(centre, scale)
    units = np.array([scale["k5"], scale["k6"], k7, k8])  # with their signs
    wide = float(stats.t.ppf(0.975, _freedom(robots))) / NORMAL_95
    std = wide * units * np.maximum(spread[order], LEAST_SPREAD)
    return tuple(map(tuple, (correlation * np.outer(std, std)).tolist()))


def _scale(rows: Sequence[Row]) -> dict[str, float]:
    """What is 1 of what has no logarithm: the median, with its sign."""
    names = ("k5", "k6", "coulomb_left", "coulomb_right")
    sizes = {name: float(np.median([_number(row[name]) for row in rows])) for name in names}
    friction = max(abs(sizes["coulomb_left"]), abs(sizes["coulomb_right"]), SMALLEST)
    sizes |= {"coulomb_left": friction, "coulomb_right": friction}
    return {name: size if abs(size) > SMALLEST else SMALLEST for name, size in sizes.items()}


def _number(value: float | None) -> float:
    return 0.0 if value is None or not math.isfinite(value) else value


def _quantities(rows: Sequence[Row], scale: Mapping[str, float]) -> tuple[Array, Array]:
    """QUANTITIES of recordings, and their standard deviations, shape (rows, quantities)."""
    values, own = [], []
    for row in rows:
        values.append(
            [
                math.log(row["k7"]),
                math.log(-row["k8"]),
                *(_number(row[name]) / size for name, size in scale.items()),
                math.log(max(_number(row["residual_v"]), 1e-12)),
                _number(row.get("torque_difference")),
            ]
        )
        own.append(
            [
                _number(row["std_k7"]) / row["k7"],
                _number(row["std_k8"]) / -row["k8"],
                *(_number(row[f"std_{name}"]) / abs(size) for name, size in scale.items()),
                0.0,
                _number(row.get("std_torque_difference")),
            ]
        )
    return np.array(values), np.array(own)


def _of_robot(rows: Sequence[Row], scale: Mapping[str, float]) -> tuple[Array, Array]:
    """Medians of the quantities over a robot's recordings, and their standard errors."""
    table, intervals = _quantities(rows, scale)
    centre = np.median(table, axis=0)
    scatter = MAD * np.median(np.abs(table - centre), axis=0)
    each = np.maximum(scatter, np.median(intervals, axis=0))
    return centre, MEDIAN * each / math.sqrt(len(rows))


def _judged(
    robot: RobotFinding, errors: Array, limit: float, change: Trend | None, prior: TypePrior
) -> RobotFinding:
    if robot.p > limit:
        return robot
    ordered = sorted(robot.scores.items(), key=lambda item: -abs(item[1]))
    evidence = ", ".join(
        f"{name.removeprefix(LOG)} {share(name, robot.deviations[name]):+.1%} ({score:+.1f} sigma)"
        for name, score in ordered[:4]
    )
    deviations = np.array([*robot.deviations.values()])
    cause, confidence = name_cause(deviations, errors)
    if change is not None:
        evidence += f"; {said(change)}"
        both = name_cause(deviations, errors, *_change(change, prior))
        cause, confidence = both if both[0] != NO_CAUSE else (cause, confidence)
    return replace(robot, alarm=True, cause=cause, confidence=confidence, evidence=evidence)


# Signatures: directions in which QUANTITIES move together, each with an amplitude of its own, and
# whether it may be negative, too.
#
# Load: K7 falls, |K8| by less or as much, K5 and K6 move. Tyre: speeds are told by the factor
# s = nominal / true radius too large, K7 and |K8| grow by s^2, K5 and K6 by 1 / s. One of the two
# tyres: half of that, and a torque of that wheel does s times as much. Brake: Coulomb
# friction of one wheel grows. Current sensor of one wheel that reads too little: a torque of that
# wheel does more than one of the other, both K grow by the mean, and both frictions, which are told
# in mean torques, fall; one that reads too much, the other way round. Encoder: the residuals grow,
# and nothing else.
_K7, _K8, _K5, _K6, _LEFT, _RIGHT, _RESIDUAL, _DIFFERENCE = np.eye(len(QUANTITIES))
_Directions = Sequence[tuple[Array, bool]]
# Residuals follow whatever is different by some per cent: torque noise acts through K7, for one.
# The wheels' torques seem to differ by some tenths of a per cent where friction is large (brake).
# So little of either tells no cause. Standard deviations, of the logarithm and of the share.
_FOLLOWS = 0.05 * _RESIDUAL + 0.003 * _DIFFERENCE


_TYRES = _K7 + _K8 - 0.5 * _K5 - 0.5 * _K6


def _sensor(side: float, reads: float) -> _Directions:
    """Of the wheel at this side, -1 left and 1 right; reads -1 too little, 1 too much."""
    return (
        (-reads * side * _DIFFERENCE, False),
        (-reads * (_K7 + _K8), False),
        (reads * (_LEFT + _RIGHT), False),
    )


CAUSES: Mapping[str, _Directions] = {
    "load": ((-_K7, False), (-_K8, False), (_K5, True), (_K6, True)),
    "tyre": ((_TYRES, True),),
    "tyre left": ((_TYRES - _DIFFERENCE, True),),
    "tyre right": ((_TYRES + _DIFFERENCE, True),),
    "brake left": ((_LEFT, False),),
    "brake right": ((_RIGHT, False),),
    "current sensor left": _sensor(-1.0, -1.0),
    "current sensor right": _sensor(1.0, -1.0),
    "current sensor left, too much": _sensor(-1.0, 1.0),
    "current sensor right, too much": _sensor(1.0, 1.0),
    "encoder": ((_RESIDUAL, False),),
}


def name_cause(deviation: Array, errors: Array, *change: Array) -> tuple[str, float]:
    """The cause that explains deviations best, and its weight among all, 0 to 1.

    Args:
        deviation: by QUANTITIES.
        errors: standard deviations, likewise.
        change: a second deviation of the same cause, and its errors.
    """
    pairs = [(deviation, errors), *zip(change[::2], change[1::2], strict=True)]
    wholes = [(moved, np.hypot(spread, _FOLLOWS)) for moved, spread in pairs]
    criteria: dict[str, float] = {}
    leftovers: dict[str, float] = {}
    for cause, directions in CAUSES.items():
        columns = [sign * way for way, free in directions for sign in ((1, -1) if free else (1,))]
        ways = np.array(columns).T
        left = [
            float(optimize.nnls(ways / spread[:, None], moved / spread)[1] ** 2)
            for moved, spread in wholes
        ]
        criteria[cause] = sum(left) + 2.0 * len(directions) * len(wholes)
        leftovers[cause] = max(left) / (len(QUANTITIES) - len(directions))
    best = min(criteria, key=lambda cause: criteria[cause])
    if leftovers[best] > UNEXPLAINED:
        return NO_CAUSE, 0.0
    weights = {cause: math.exp(-0.5 * (own - criteria[best])) for cause, own in criteria.items()}
    return best, weights[best] / sum(weights.values())
