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

What robots are compared by is in fleet_quantities, causes are in fleet_causes. A change is evidence
of its own: where a robot both deviates and changed, the criteria are added, unless no cause
explains both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from scipy import stats

from diffbot_ident.torque.estimate import NORMAL_95, Four
from diffbot_study.fleet_causes import NO_CAUSE, name_cause
from diffbot_study.fleet_quantities import (
    LOG,
    SMALLEST,
    TORQUE,
    WITH_GYRO,
    Array,
    Quantities,
    choose_quantities,
)
from diffbot_study.fleet_trends import STEP, Track, Trend, find_trends, said, share
from diffbot_study.parquet_store import Row

# Fewest robots of a type, and recordings of a robot, that are compared.
FEWEST, RECORDINGS = 5, 2
# Of a median against a mean; of a median absolute deviation against a standard deviation.
MEDIAN, MAD = 1.2533, 1.4826
# Cut of the spread, in deviations; and what is left of the variance of normal numbers by it.
SPREAD_CUT = 3.0
KEPT_VARIANCE = 0.97334
# Where deviations are cut for correlations, and least relative spread of a prior.
CUT, LEAST_SPREAD = 2.5, 1e-4
# Share of the chance of a false alarm that changes over time get.
CHANGES = 0.1
# Least that robots of a type are taken to differ by, relative.
LEAST_DIFFERENCE = 0.01
UNKNOWN = "unknown"  # type of robots without a description


@dataclass(frozen=True)
class TypePrior:
    """Robots of one type.

    Attributes:
        robots: that it rests on.
        centre: median, by quantity.
        spread: tau, the standard deviation between robots, by quantity.
        relative_to: what K5, K6 and friction are relative to, by quantity, in SI units.
        k: centre of K5..K8; None where they are not what is compared.
        k_covariance: of K5..K8 of a robot that nobody has seen yet around it, 4 rows of 4.
    """

    robots: int
    centre: Mapping[str, float]
    spread: Mapping[str, float]
    relative_to: Mapping[str, float]
    k: Four | None = None
    k_covariance: tuple[tuple[float, ...], ...] | None = None


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
    members: dict[str, list[Row]] = {}
    for row in sorted(rows, key=_moment):
        members.setdefault(row["type"] or UNKNOWN, []).append(row)
    kinds = {
        kind: _Type(kind, quantities, own)
        for kind, own in sorted(members.items())
        if (quantities := choose_quantities(own)) is not None
    }
    trends = _changes(kinds.values(), CHANGES * false_alarms)
    changed = {(trend.type, trend.name): trend for trend in trends if trend.alarm}
    types: dict[str, TypePrior] = {}
    found: list[tuple[RobotFinding, Array]] = []
    left_out: dict[str, str] = {}
    for kind, own_rows in members.items():
        told = kinds[kind].robots if kind in kinds else {}
        silent = {row["robot"] for row in own_rows} - {*told}
        left_out |= {name: "has no recording that can be compared" for name in sorted(silent)}
    for kind, of_kind in kinds.items():
        robots = of_kind.robots
        short = {name: own for name, own in robots.items() if len(own) < RECORDINGS}
        left_out |= {name: f"has {len(own)} usable recordings" for name, own in short.items()}
        full = {name: own for name, own in robots.items() if name not in short}
        if len(full) < FEWEST:
            left_out |= {name: f"type {kind} has {len(full)} robots" for name in full}
            continue
        newest = {name: _after(changed.get((kind, name)), own) for name, own in full.items()}
        types[kind], own = _compare(of_kind, newest)
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


class _Type:
    """Recordings of robots of one type that can be compared.

    Args:
        kind: the type.
        quantities: what they are compared by.
        rows: of the type, by time.
    """

    def __init__(self, kind: str, quantities: Quantities, rows: Sequence[Row]) -> None:
        self.kind, self.quantities = kind, quantities
        self.robots: dict[str, list[Row]] = {}
        for row in rows:
            if quantities.is_told(row):
                self.robots.setdefault(row["robot"], []).append(row)

    def named(self, values: Array) -> dict[str, float]:
        """Values, shape (quantities,), by quantity."""
        return dict(zip(self.quantities.names, values.tolist(), strict=True))


def _each(share: float, robots: int) -> float:
    """The p of one robot below which there is an alarm, by Sidak."""
    return -math.expm1(math.log1p(-share) / max(robots, 1))


def _moment(row: Row) -> tuple[float, str]:
    """Order of recordings; at the same time, that of their names."""
    return row.get("time") or 0.0, str(row.get("path"))


def _changes(kinds: Iterable[_Type], false_alarms: float) -> list[Trend]:
    """Trends of all robots, with alarms by the rate of the whole fleet."""
    found = []
    for kind in kinds:
        tracks = {}
        for name, own in kind.robots.items():
            timed = [row for row in own if row.get("time") is not None]
            if timed:
                times = np.array([row["time"] for row in timed])
                tracks[name] = Track(times, *kind.quantities.of(timed))
        found += find_trends(kind.kind, tracks, kind.quantities.names)
    limit = _each(false_alarms, len(found))
    return [replace(trend, alarm=trend.p <= limit) for trend in found]


def _after(change: Trend | None, rows: Sequence[Row]) -> Sequence[Row]:
    """A robot's recordings since its last step."""
    if change is None or change.kind != STEP:
        return rows
    later = [row for row in rows if (row["time"] or 0.0) >= change.between[1]]
    return later if len(later) >= RECORDINGS else rows


def _explained(trend: Trend, prior: TypePrior | None) -> Trend:
    """A change with its cause."""
    if not trend.alarm:
        return trend
    cause, confidence = name_cause([*trend.change], *_change(trend, prior))
    return replace(trend, cause=cause, confidence=confidence)


def _change(trend: Trend, prior: TypePrior | None) -> tuple[Array, Array]:
    """A change and the errors that its cause is told by, by quantity.

    A signature is good to what robots of a type differ by.
    """
    spread = np.array([0.0 if prior is None else prior.spread[name] for name in trend.change])
    own = np.array([*trend.change_std.values()])
    return np.array([*trend.change.values()]), np.hypot(own, np.maximum(spread, LEAST_DIFFERENCE))


def _compare(
    kind: _Type, robots: Mapping[str, Sequence[Row]]
) -> tuple[TypePrior, list[tuple[RobotFinding, Array]]]:
    """The prior of a type, and its robots with the deviations' standard errors."""
    names, scale = kind.quantities.names, kind.quantities.scale
    pairs = [_of_robot(own, kind.quantities) for own in robots.values()]
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
    p_values = -np.expm1(len(names) * np.log1p(-np.minimum(single, 1.0 - 1e-16)))
    found = [
        (
            RobotFinding(
                name=name,
                type=kind.kind,
                recordings=len(own),
                deviations=kind.named(deviation[i]),
                scores=kind.named(scores[i]),
                p=float(p_values[i]),
            ),
            whole[i],
        )
        for i, (name, own) in enumerate(robots.items())
    ]
    prior = TypePrior(
        robots=len(robots),
        centre=kind.named(centre),
        spread=kind.named(spread),
        relative_to=scale,
    )
    if names in (TORQUE, WITH_GYRO):
        covariance = _k_covariance(centre, scale, deviation, np.sqrt(total**2 + known))
        prior = replace(prior, k=_k(centre, scale), k_covariance=covariance)
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

    Found by fleets of normal numbers, whose outermost robots must not be beyond a limit of
    Student's t more often than it says; a test holds that.
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
        centre: of TORQUE, shape (quantities,).
        scale: what K5 and K6 are relative to.
        deviation: of the robots, shape (robots, quantities).
        spread: standard deviations of a further robot, shape (quantities,).
    """
    order = [TORQUE.index(name) for name in ("k5", "k6", "log_k7", "log_k8")]
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


def _of_robot(rows: Sequence[Row], quantities: Quantities) -> tuple[Array, Array]:
    """Medians of the quantities over a robot's recordings, and their standard errors."""
    table, intervals = quantities.of(rows)
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
    names = [*robot.deviations]
    cause, confidence = name_cause(names, deviations, errors)
    if change is not None:
        evidence += f"; {said(change)}"
        both = name_cause(names, deviations, errors, *_change(change, prior))
        cause, confidence = both if both[0] != NO_CAUSE else (cause, confidence)
    return replace(robot, alarm=True, cause=cause, confidence=confidence, evidence=evidence)
