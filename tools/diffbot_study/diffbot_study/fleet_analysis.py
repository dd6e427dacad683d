# SPDX-License-Identifier: Apache-2.0
"""Analysis of a fleet's recordings: a prior per type, alarms, causes.

A robot raises an alarm if it deviates from its type or has changed (fleet_trends); after a step,
later recordings count. Derivations: docs/theory/fleet.md#prior-and-alarms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import scipy

from diffbot_ident.estimate import NORMAL_95, Four
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
from diffbot_study.fleet_trends import MAD, STEP, Track, Trend, find_trends, fraction, said
from diffbot_study.parquet_store import Row

# Minimum number of robots of a type, and of recordings of a robot, for a comparison.
FEWEST, RECORDINGS = 5, 2
# Ratio of standard errors, median over mean (normal distribution).
MEDIAN = 1.2533
# Cut of the spread, in deviations; and the fraction of a normal variance that remains after it.
SPREAD_CUT = 3.0
KEPT_VARIANCE = 0.97334
# Cut of deviations for correlations, and minimum relative spread of a prior.
CUT, LEAST_SPREAD = 2.5, 1e-4
# Fraction of the probability of a false alarm that is spent on changes over time.
CHANGES = 0.1
# Minimum assumed difference between robots of a type, relative.
LEAST_DIFFERENCE = 0.01
# Deviations that are said of a robot, and the ratio from which they are said as such.
SHOWN, MANY = 3, 2.0
# A near miss has up to so many times the p of an alarm.
NEAR = 100.0
UNKNOWN = "unknown"  # type of robots without a description


@dataclass(frozen=True)
class TypePrior:
    """Prior of the robots of one type.

    Attributes:
        centre: Median, by quantity.
        spread: tau, the standard deviation between robots, by quantity.
        relative_to: Reference values of K5, K6 and friction, by quantity, in SI units.
        k: Centre of K5..K8; None if other quantities are compared.
        k_covariance: Covariance of K5..K8 of a further, unseen robot about the centre, 4 rows of 4.
    """

    robots: int
    centre: Mapping[str, float]
    spread: Mapping[str, float]
    relative_to: Mapping[str, float]
    k: Four | None = None
    k_covariance: tuple[tuple[float, ...], ...] | None = None


@dataclass(frozen=True)
class RobotFinding:
    """One robot compared with its type.

    Attributes:
        recordings: Number of recordings used.
        deviations: Deviations from the type's centre, by quantity.
        scores: The deviations in standard deviations.
        p: Probability of as large a score for a robot without a fault.
        alarm: Whether it stands out, by the rate of the whole fleet.
        near: Whether it nearly does: p is up to NEAR times that of an alarm.
        cause: Cause by its signature; empty for neither.
        confidence: Weight of the cause among all, 0 to 1.
        evidence: The deviations with the largest scores, as text.
    """

    name: str
    type: str
    recordings: int
    deviations: Mapping[str, float]
    scores: Mapping[str, float]
    p: float
    alarm: bool = False
    near: bool = False
    cause: str = ""
    confidence: float = 0.0
    evidence: str = ""


@dataclass(frozen=True)
class Fleet:
    """Findings on a fleet.

    Attributes:
        robots: Findings on the robots, smallest p first.
        false_alarms: Probability of any alarm in a fleet without a fault.
        left_out: Robots that were not compared, and why.
        trends: Trends of robots with recordings at enough times, smallest p first.
    """

    types: Mapping[str, TypePrior]
    robots: Sequence[RobotFinding]
    false_alarms: float
    left_out: Mapping[str, str] = field(default_factory=dict)
    trends: Sequence[Trend] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def analyse_fleet(rows: Sequence[Row], false_alarms: float) -> Fleet:
    """Compare the robots of each type, and each robot with its own past.

    `false_alarms`: probability of any alarm in a fleet without a fault, 0 to 1.
    """
    members: dict[str, list[Row]] = {}
    for row in sorted(rows, key=_sort_key):
        members.setdefault(row["type"] or UNKNOWN, []).append(row)
    kinds = {
        kind: _Type(kind, quantities, own)
        for kind, own in sorted(members.items())
        if (quantities := choose_quantities(own)) is not None
    }
    trends = _changes(kinds.values(), CHANGES * false_alarms)
    changed = {(trend.type, trend.name): trend for trend in trends if trend.alarm}
    types: dict[str, TypePrior] = {}
    results: list[tuple[RobotFinding, Array]] = []
    left_out: dict[str, str] = {}
    for kind, own_rows in members.items():
        reported = kinds[kind].robots if kind in kinds else {}
        silent = {row["robot"] for row in own_rows} - {*reported}
        left_out |= {name: "has no comparable recording" for name in sorted(silent)}
    for kind, of_kind in kinds.items():
        robots, reasons = of_kind.compared()
        left_out |= reasons
        if robots:
            newest = {name: _after(changed.get((kind, name)), own) for name, own in robots.items()}
            types[kind], own = _compare(of_kind, newest)
            results += own
    chance = (1.0 - CHANGES) * false_alarms if trends else false_alarms
    limit = _p_limit(chance, len(results))
    trends = [_explained(trend, types.get(trend.type)) for trend in trends]
    changed = {(trend.type, trend.name): trend for trend in trends if trend.alarm}
    judged = [
        _with_verdict(
            robot, errors, limit, changed.get((robot.type, robot.name)), types[robot.type]
        )
        for robot, errors in results
    ]
    return Fleet(
        types,
        sorted(judged, key=lambda each: each.p),
        false_alarms,
        left_out,
        sorted(trends, key=lambda each: each.p),
    )


class _Type:
    def __init__(self, kind: str, quantities: Quantities, rows: Sequence[Row]) -> None:
        self.kind, self.quantities = kind, quantities
        self.robots: dict[str, list[Row]] = {}
        for row in rows:
            if quantities.is_reported(row):
                self.robots.setdefault(row["robot"], []).append(row)

    def compared(self) -> tuple[dict[str, list[Row]], dict[str, str]]:
        full = {name: own for name, own in self.robots.items() if len(own) >= RECORDINGS}
        reasons = {
            name: f"has {len(own)} usable recordings, fewer than {RECORDINGS}"
            for name, own in self.robots.items()
            if name not in full
        }
        if len(full) >= FEWEST:
            return full, reasons
        few = f"type {self.kind} has {len(full)} such robots, fewer than {FEWEST}"
        return {}, reasons | dict.fromkeys(full, few)

    def named(self, values: Array) -> dict[str, float]:
        return dict(zip(self.quantities.names, values.tolist(), strict=True))


def _p_limit(fraction: float, robots: int) -> float:
    """Return the p of one robot below which there is an alarm, by Sidak."""
    return -math.expm1(math.log1p(-fraction) / max(robots, 1))


def _sort_key(row: Row) -> tuple[float, str]:
    return row.get("time") or 0.0, str(row.get("path"))


def _changes(kinds: Iterable[_Type], false_alarms: float) -> list[Trend]:
    results = []
    for kind in kinds:
        tracks = {}
        for name, own in kind.robots.items():
            timed = [row for row in own if row.get("time") is not None]
            if timed:
                times = np.array([row["time"] for row in timed])
                tracks[name] = Track(times, *kind.quantities.of(timed))
        results += find_trends(kind.kind, tracks, kind.quantities.names)
    limit = _p_limit(false_alarms, len(results))
    return [
        replace(trend, alarm=trend.p <= limit, near=limit < trend.p <= NEAR * limit)
        for trend in results
    ]


def _after(change: Trend | None, rows: Sequence[Row]) -> Sequence[Row]:
    if change is None or change.kind != STEP:
        return rows
    later = [row for row in rows if (row["time"] or 0.0) >= change.between[1]]
    return later if len(later) >= RECORDINGS else rows


def _explained(trend: Trend, prior: TypePrior | None) -> Trend:
    if not (trend.alarm or trend.near):
        return trend
    cause, confidence = name_cause([*trend.change], *_change(trend, prior))
    return replace(trend, cause=cause, confidence=confidence)


def _change(trend: Trend, prior: TypePrior | None) -> tuple[Array, Array]:
    """Return a change and the errors for its cause, at least the differences between robots."""
    spread = np.array([0.0 if prior is None else prior.spread[name] for name in trend.change])
    own = np.array([*trend.change_std.values()])
    return np.array([*trend.change.values()]), np.hypot(own, np.maximum(spread, LEAST_DIFFERENCE))


def _compare(
    kind: _Type, robots: Mapping[str, Sequence[Row]]
) -> tuple[TypePrior, list[tuple[RobotFinding, Array]]]:
    names, scale = kind.quantities.names, kind.quantities.scale
    pairs = [_of_robot(own, kind.quantities) for own in robots.values()]
    values, errors = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    centre = np.median(values, axis=0)
    deviation = values - centre
    total = _spread(deviation)
    spread = np.sqrt(np.maximum(total**2 - np.median(errors**2, axis=0), (0.1 * total) ** 2))
    # Variance of the centre, the median of the robots.
    known = MEDIAN**2 * total**2 / len(robots)
    whole = np.sqrt(spread**2 + errors**2 + known)
    scores = deviation / np.maximum(whole, 1e-12)
    worst = np.abs(scores).max(axis=1)
    single = 2.0 * scipy.special.stdtr(_freedom(len(robots)), -worst)
    p_values = -np.expm1(len(names) * np.log1p(-np.minimum(single, 1.0 - 1e-16)))
    results = [
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
    return prior, results


def _spread(deviation: Array) -> Array:
    """Return the standard deviation of robots (rows) without outliers, by quantity."""
    size = np.abs(deviation)
    spread = (1.0 + 0.9 / len(deviation)) * MAD * np.median(size, axis=0)
    for _ in range(2):
        kept = np.where(size <= SPREAD_CUT * spread, deviation, np.nan)
        spread = np.sqrt(np.nanvar(kept, axis=0, ddof=1) / KEPT_VARIANCE)
    return np.asarray(spread)


def _freedom(robots: int) -> float:
    """Return the degrees of freedom of `_spread`, fitted to simulated fleets (tested)."""
    return min(0.6, 0.37 + 0.033 * (robots - FEWEST)) * (robots - 1)


def _k(centre: Array, scale: Mapping[str, float]) -> Four:
    k7, k8, k5, k6 = centre[:4].tolist()
    return k5 * scale["k5"], k6 * scale["k6"], math.exp(k7), -math.exp(k8)


def _k_covariance(
    centre: Array, scale: Mapping[str, float], deviation: Array, spread: Array
) -> tuple[tuple[float, ...], ...]:
    """Return the covariance of K5..K8 of a further robot of the type.

    The observed spread, with the robots' own errors, widened as Student's t requires for so few.
    Correlations are of deviations cut where those of faulty robots begin, shrunk towards zero.
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
    wide = float(scipy.special.stdtrit(_freedom(robots), 0.975)) / NORMAL_95
    std = wide * units * np.maximum(spread[order], LEAST_SPREAD)
    return tuple(map(tuple, (correlation * np.outer(std, std)).tolist()))


def _of_robot(rows: Sequence[Row], quantities: Quantities) -> tuple[Array, Array]:
    table, intervals = quantities.of(rows)
    centre = np.median(table, axis=0)
    scatter = MAD * np.median(np.abs(table - centre), axis=0)
    each = np.maximum(scatter, np.median(intervals, axis=0))
    return centre, MEDIAN * each / math.sqrt(len(rows))


def _with_verdict(
    robot: RobotFinding, errors: Array, limit: float, change: Trend | None, prior: TypePrior
) -> RobotFinding:
    if robot.p > NEAR * limit:
        return robot
    ordered = sorted(robot.scores, key=lambda name: -abs(robot.scores[name]))
    evidence = ", ".join(_in_words(name, robot.deviations[name]) for name in ordered[:SHOWN])
    deviations = np.array([*robot.deviations.values()])
    names = [*robot.deviations]
    cause, confidence = name_cause(names, deviations, errors)
    if change is not None:
        evidence += f"; {said(change)}"
        both = name_cause(names, deviations, errors, *_change(change, prior))
        cause, confidence = both if both[0] != NO_CAUSE else (cause, confidence)
    alarm = robot.p <= limit
    return replace(
        robot, alarm=alarm, near=not alarm, cause=cause, confidence=confidence, evidence=evidence
    )


def _in_words(quantity: str, deviation: float) -> str:
    """Say how a quantity differs from that of the type."""
    name, size = quantity.removeprefix(LOG).replace("_", " "), fraction(quantity, deviation)
    if size > MANY - 1.0:
        return f"{name} {1.0 + size:.1f} times that of the others"
    return f"{name} {abs(size):.1%} {'above' if size > 0.0 else 'below'} the others"
