"""Drivetrain logs of WPILib's SysId: a JSON object of four tests.

    "slow-forward", "slow-backward" (voltage ramps), "fast-forward", "fast-backward" (steps): rows
        [t s, left V, right V, left position, right position, left velocity, right velocity,
         yaw rad, yaw rate rad/s]                       positions in rotations, velocities in rot/s
    "sysid": true, "test": "Drivetrain" or "Drivetrain (Angular)", "units", "unitsPerRotation"

Rows of the older frc-characterization have ten columns, [t, battery V, share of the voltage,
left V, right V, positions, velocities, yaw], and no "sysid". Positions and velocities times
unitsPerRotation are in units.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from diffbot_description.files import read_regular
from diffbot_ident.recording.resample import refreshed
from diffbot_ident.recording.stream import RecordingError
from diffbot_ident.recording.verdict import Evidence, Outcome, Value, Verdict
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_ident.velocity.dead_time import FrictionFit, fit_with_friction
from diffbot_ident.velocity.first_order import Stretch

Array = NDArray[np.float64]

TESTS = ("slow-forward", "slow-backward", "fast-forward", "fast-backward")
DRIVETRAINS = ("Drivetrain", "Drivetrain (Angular)")
# To metres where the unit is a length; else wheel angles in rad.
LENGTHS = {"Meters": 1.0, "Feet": 0.3048, "Inches": 0.0254}
ANGLES = {"Radians": 1.0, "Rotations": math.tau, "Degrees": math.pi / 180.0}
# Columns of time, voltages, positions, velocities, yaw and yaw rate (None: not recorded).
NEW: tuple[int | None, ...] = (0, 1, 2, 3, 4, 5, 6, 7, 8)
OLD: tuple[int | None, ...] = (0, 3, 4, 5, 6, 7, 8, 9, None)
# A file of more characters is no log of four tests.
LARGEST = 200_000_000


@dataclass(frozen=True)
class SysIdTest:
    """One test; all arrays have shape (n,).

    Attributes:
        name: one of TESTS.
        times: s, increasing.
        left_voltage, right_voltage: V.
        left_position, right_position: m, or rad of the wheel: see SysIdLog.unit.
        left_velocity, right_velocity: m/s or rad/s.
        yaw: rad.
        yaw_rate: rad/s; NaN where it was not recorded.
    """

    name: str
    times: Array
    left_voltage: Array
    right_voltage: Array
    left_position: Array
    right_position: Array
    left_velocity: Array
    right_velocity: Array
    yaw: Array
    yaw_rate: Array


@dataclass(frozen=True)
class SysIdLog:
    """A log.

    Attributes:
        name: of the file.
        kind: one of DRIVETRAINS.
        unit: of positions: "m", or "rad" where the log knows no length.
        tests: by name; those that hold rows.
    """

    name: str
    kind: str
    unit: str
    tests: Mapping[str, SysIdTest]


def read_sysid(path: Path) -> SysIdLog:
    """Read a log.

    Raises:
        RecordingError: the file cannot be read, or is no drivetrain log; the text says why.
    """
    data = _json(path)
    kind = data.get("test")
    if kind is None and not any(name in data for name in TESTS):
        raise RecordingError(
            f"{path.name}: no SysId log: it has no entry 'test', and none of {', '.join(TESTS)}"
        )
    if kind not in DRIVETRAINS:
        raise RecordingError(
            f"{path.name}: test = {kind!r}: must be one of {', '.join(map(repr, DRIVETRAINS))}; "
            "logs of single mechanisms hold no robot that drives"
        )
    scale, unit = _scale(path, data)
    columns = NEW if data.get("sysid") is True else OLD
    tests = {
        name: _test(path, name, data[name], columns, scale) for name in TESTS if data.get(name)
    }
    if not tests:
        raise RecordingError(
            f"{path.name}: holds none of the tests {', '.join(TESTS)}; record at least two"
        )
    return SysIdLog(path.name, str(kind), unit, tests)


def _json(path: Path) -> dict[str, object]:
    try:
        data = json.loads(read_regular(path, LARGEST))
    except (ValueError, RecursionError) as error:  # JSON's errors are ValueErrors too
        raise RecordingError(f"{path.name}: cannot be read as JSON: {error}") from error
    if not isinstance(data, dict):
        raise RecordingError(f"{path.name}: must be a JSON object with the tests of a SysId log")
    return data


def _scale(path: Path, data: Mapping[str, object]) -> tuple[float, str]:
    """SI units in a rotation, and the unit's name."""
    units, factor = data.get("units"), data.get("unitsPerRotation")
    if not isinstance(factor, (int, float)) or not 0.0 < factor <= sys.float_info.max:
        raise RecordingError(
            f"{path.name}: unitsPerRotation = {factor!r}: must be a number > 0, the way of a wheel "
            "in one rotation"
        )
    if isinstance(units, str) and units in LENGTHS:
        return float(factor) * LENGTHS[units], "m"
    if isinstance(units, str) and units in ANGLES:
        return float(factor) * ANGLES[units], "rad"
    raise RecordingError(
        f"{path.name}: units = {units!r}: must be one of {', '.join((*LENGTHS, *ANGLES))}"
    )


def _test(
    path: Path, name: str, rows: object, columns: tuple[int | None, ...], scale: float
) -> SysIdTest:
    try:
        table = np.array(rows, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordingError(
            f"{path.name}: {name}: rows must be lists of numbers of one length: {error}"
        ) from error
    width = 9 if columns is NEW else 10
    if table.ndim != 2 or table.shape[1] != width:
        raise RecordingError(
            f"{path.name}: {name}: rows have shape {table.shape}: must be (n, {width})"
        )
    usable = np.isfinite(table).all(axis=1)
    # A row that is sent twice, or out of order, says nothing new.
    usable[1:] &= np.diff(np.maximum.accumulate(table[:, 0])) > 0.0
    table = table[usable]
    values = [np.full(len(table), math.nan) if c is None else table[:, c] for c in columns]
    values[3:7] = [scale * column for column in values[3:7]]
    return SysIdTest(name, *values)


# ---
# Motion in a SysId log: voltage and velocity of a side or axis, from rest on.


# Share of the largest velocity above which an axis moves.
MOVING = 0.05
# Longest dead time of a measurement, s.
LONGEST = 0.3
# A gap in the rows of more than so many periods ends a stretch.
GAP = 3.0
# An axis below this share of the wheels' way was not driven.
DRIVEN = 0.2
# Least samples of motion in a test.
LEAST = 40


def _signals(test: SysIdTest, subject: str, sign: float) -> tuple[Array, Array]:
    """Voltage and velocity of a subject, shape (n,) each."""
    if subject == "left side":
        return test.left_voltage, test.left_velocity
    if subject == "right side":
        return test.right_voltage, test.right_velocity
    if subject == "forward axis":
        return (
            0.5 * (test.left_voltage + test.right_voltage),
            0.5 * (test.left_velocity + test.right_velocity),
        )
    return 0.5 * (test.right_voltage - test.left_voltage), sign * test.yaw_rate


def motions_of(log: SysIdLog, subject: str, sign: float) -> dict[str, tuple[Stretch, ...]]:
    """Motion of each test; empty where the subject was not driven."""
    voltages = {name: _signals(test, subject, sign)[0] for name, test in log.tests.items()}
    most = max(
        max(np.abs(t.left_voltage).max(initial=0.0), np.abs(t.right_voltage).max(initial=0.0))
        for t in log.tests.values()
    )
    signals = {name: _signals(test, subject, sign) for name, test in log.tests.items()}
    fastest = max(float(np.abs(v).max(initial=0.0)) for _, v in signals.values())
    driven = max(float(np.abs(v).max(initial=0.0)) for v in voltages.values())
    if not (driven >= DRIVEN * most > 0.0 and fastest > 0.0):
        return {}
    masks, hold = refreshed([velocity for _, velocity in signals.values()])
    motions = {}
    for (name, (voltage, velocity)), fresh in zip(signals.items(), masks, strict=True):
        times = log.tests[name].times
        stretches = [
            _stretch(log.tests[name], voltage, velocity, fresh if hold > 0.0 else None, piece)
            for piece in _pieces(times, np.abs(velocity) > MOVING * fastest)
        ]
        if stretches:
            motions[name] = tuple(stretches)
    return _one_period(motions)


def _pieces(times: Array, moving: NDArray[np.bool_]) -> list[slice]:
    """From the first lasting motion on, cut where rows are missing."""
    lasting = np.flatnonzero(moving)
    if len(lasting) < LEAST:
        return []
    # The last sample at rest before the motion that lasts.
    still = np.flatnonzero(~moving[: lasting[len(lasting) // 2]])
    begin = int(still[-1]) + 1 if len(still) else 0
    stop = np.flatnonzero(~moving[begin:])
    end = begin + int(stop[0]) if len(stop) else len(moving)
    gaps = np.flatnonzero(np.diff(times[begin:end]) > GAP * float(np.median(np.diff(times))))
    edges = [begin, *(begin + gaps + 1).tolist(), end]
    return [slice(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True) if b - a >= LEAST]


def _stretch(
    test: SysIdTest,
    voltage: Array,
    velocity: Array,
    fresh: NDArray[np.bool_] | None,
    piece: slice,
) -> Stretch:
    """A motion, after as much rest as the dead time's scan needs to know past voltages of.

    A voltage step leaps over static friction: there, the rest before the motion counts, too, and
    tells the dead time.
    """
    period = float(np.ptp(test.times[piece])) / (piece.stop - piece.start - 1)
    leaps = test.name.startswith("fast")
    begin = (0 if leaps else piece.start) - math.ceil(LONGEST / period)
    index = np.arange(begin, piece.stop)
    counts = index >= piece.start
    # Before its first row, a test held the voltage of that row: none.
    rows = np.maximum(index, 0)
    if fresh is not None:
        counts &= fresh[rows]
    if leaps:
        counts |= (index >= 0) & (index < piece.start)
    return Stretch(period, voltage[rows], velocity[rows], counts)


def _one_period(motions: dict[str, tuple[Stretch, ...]]) -> dict[str, tuple[Stretch, ...]]:
    """The same mean period for all: clocks of tests differ by a few parts in a thousand."""
    periods = [s.period for stretches in motions.values() for s in stretches]
    period = float(np.mean(periods)) if periods else 0.0
    return {
        name: tuple(replace(s, period=period) for s in stretches)
        for name, stretches in motions.items()
    }


def yaw_sign(log: SysIdLog) -> float:
    """1 where yaw counts counter-clockwise (REP-103), -1 where clockwise, as some gyros do."""
    product = sum(
        float(np.ptp(t.yaw) > 0.0) * float((t.yaw - t.yaw.mean()) @ (way(t) - way(t).mean()))
        for t in log.tests.values()
    )
    return -1.0 if product < 0.0 else 1.0


def way(test: SysIdTest) -> Array:
    """How much further the right side went, shape (n,)."""
    return test.right_position - test.left_position


# ---
# Voltage gains ks, kv, ka of a drivetrain from a SysId log, of each side and of both axes.
#
#     left, right, forward    V = ks sign(v) + kv v + ka dv/dt        forward: means of both sides
#     yaw                     V = ks sign(w) + kv w + ka dw/dt        V = (right - left) / 2
#
# Simulated velocity is fitted to the measured one while the robot moves (output error), with the
# dead time of the measurement; nothing is differentiated. Each test is predicted by a fit to the
# others. With voltage as effort this is the torque-driven model, back-EMF being viscous friction:
#
#     dv/dt = K7 (V_left + V_right) - ..., K7 = 1 / (2 ka);     dw/dt = K8 (V_right - V_left) - ...,
#     K8 = 1 / (2 ka of yaw).        Track width = (right way - left way) / turned angle.


# Least R^2 of the simulation of tests that the fit has not seen.
LEAST_R_SQUARED = 0.9


@dataclass(frozen=True)
class Prediction:
    """A test, predicted by a fit to the other tests.

    Attributes:
        stretches: what was measured, in pieces.
        simulated: shape (n,) each.
        r_squared: of this test alone.
        error: root mean square, in the velocity's unit.
    """

    stretches: tuple[Stretch, ...]
    simulated: tuple[Array, ...]
    r_squared: float
    error: float


@dataclass(frozen=True)
class SysIdAnalysis:
    """Result of one side or axis.

    Attributes:
        verdict: ks, kv, ka and whether they may be used.
        fit: to all tests; None where nothing could be fitted.
        stretches: motion of each test, by its name.
        predictions: of each test, by its name.
    """

    verdict: Verdict
    fit: FrictionFit | None
    stretches: Mapping[str, tuple[Stretch, ...]]
    predictions: Mapping[str, Prediction]


def analyse_sysid(log: SysIdLog) -> list[SysIdAnalysis]:
    """Results for the left side, the right side, the forward axis and the yaw axis."""
    clockwise = yaw_sign(log)
    found = [_analyse(name, f"{log.unit}/s", motions_of(log, name, clockwise)) for name in SUBJECTS]
    found[3] = _with_track(found[3], log, clockwise)
    return found


SUBJECTS = ("left side", "right side", "forward axis", "yaw axis")


def _analyse(subject: str, unit: str, motions: Mapping[str, tuple[Stretch, ...]]) -> SysIdAnalysis:
    unit = "rad/s" if subject == "yaw axis" else unit
    if len(motions) < 2:
        why = f"{len(motions)} tests in which it moves by its own voltage: must be at least 2; " + (
            "run the angular tests" if subject == "yaw axis" else "run the linear tests"
        )
        return SysIdAnalysis(
            Verdict(subject, Outcome.NOT_EXCITED, why, error_unit=unit), None, motions, {}
        )
    try:
        fit = fit_with_friction([s for part in motions.values() for s in part], LONGEST)
        predictions = {name: _prediction(motions, name) for name in motions}
    except ValueError as error:
        verdict = Verdict(subject, Outcome.NOT_EXCITED, str(error), error_unit=unit)
        return SysIdAnalysis(verdict, None, motions, {})
    return SysIdAnalysis(_judged(subject, unit, fit, predictions), fit, motions, predictions)


def _prediction(motions: Mapping[str, tuple[Stretch, ...]], name: str) -> Prediction:
    """A test by the fit to all others."""
    others = [s for other, part in motions.items() if other != name for s in part]
    fit = fit_with_friction(others, LONGEST)
    simulated = tuple(fit.simulate(stretch) for stretch in motions[name])
    errors, total, count = _squares(motions[name], simulated)
    return Prediction(
        motions[name],
        simulated,
        1.0 - errors / total if total > 0.0 else math.nan,
        math.sqrt(errors / count),
    )


def _squares(
    stretches: tuple[Stretch, ...], simulated: tuple[Array, ...]
) -> tuple[float, float, int]:
    """Sum of squared errors, of squared velocity about its mean, and samples."""
    masks = [np.ones(len(s.velocity), bool) if s.fresh is None else s.fresh for s in stretches]
    measured = np.concatenate([s.velocity[m] for s, m in zip(stretches, masks, strict=True)])
    errors = measured - np.concatenate([v[m] for v, m in zip(simulated, masks, strict=True)])
    total = float(np.sum((measured - measured.mean()) ** 2))
    return float(errors @ errors), total, len(errors)


def _judged(
    subject: str, unit: str, fit: FrictionFit, predictions: Mapping[str, Prediction]
) -> Verdict:
    stretches = tuple(s for p in predictions.values() for s in p.stretches)
    simulated = tuple(s for p in predictions.values() for s in p.simulated)
    squares, total, count = _squares(stretches, simulated)
    r_squared = 1.0 - squares / total
    evidence = [
        Evidence(
            "R^2 of tests that the fit has not seen",
            r_squared,
            f">= {LEAST_R_SQUARED:g}",
            r_squared >= LEAST_R_SQUARED,
        )
    ]
    values = _values(unit, fit, subject)
    unknown = [value.name for value in values if not value.identifiable]
    notes = [
        f"{name} predicted from the other tests: error {p.error:.3g} {unit}, R^2 {p.r_squared:.4f}"
        for name, p in predictions.items()
    ]
    for value, name in (
        (fit.friction, "ks"),
        (fit.fit.model.drag, "kv"),
        (fit.fit.model.inertia, "ka"),
    ):
        evidence.append(Evidence(name, value, ">= 0", value >= 0.0))
    failed = [item for item in evidence if item.passed is False]
    outcome, reason = Outcome.ESTIMATED, ""
    if failed:
        outcome = Outcome.REFUSED
        reason = "; ".join(f"{i.test} {i.found:.3g} (must be {i.limit})" for i in failed)
    elif unknown:
        notes.append(f"{', '.join(unknown)} not identifiable: add the fast tests")
    return Verdict(
        subject,
        outcome,
        reason,
        values,
        fit.fit.r_squared,
        r_squared,
        math.sqrt(squares / count),
        unit,
        tuple(evidence),
        tuple(notes),
    )


def _values(unit: str, found: FrictionFit, subject: str) -> tuple[Value, ...]:
    per = unit.removesuffix("/s")
    ka, kv = found.fit.model.inertia, found.fit.model.drag
    ka_std, kv_std = found.fit.std
    values = [
        Value("ks", found.friction, found.friction_std, "V"),
        Value("kv", kv, kv_std, f"V s/{per}"),
        Value("ka", ka, ka_std, f"V s^2/{per}"),
        Value("dead time", found.fit.dead_time, found.dead_time_std, "s"),
    ]
    effort = {"forward axis": "K7", "yaw axis": "K8"}.get(subject)
    if effort:
        values.append(Value(effort, 0.5 / ka, 0.5 * ka_std / ka**2, f"{per}/(V s^2)"))
    return tuple(values)


def _with_track(found: SysIdAnalysis, log: SysIdLog, sign: float) -> SysIdAnalysis:
    """The yaw axis with the track width, in the unit of positions."""
    if not found.stretches:
        return found
    widths = []
    for test in log.tests.values():
        yaw = sign * (test.yaw - test.yaw[0])
        if np.ptp(yaw) > 1.0:
            # Slope through the test's mean: no derivative, and the start does not matter.
            centred = yaw - yaw.mean()
            widths.append(float(centred @ way(test)) / float(centred @ centred))
    notes = list(found.verdict.notes)
    if sign < 0.0:
        notes.append("yaw counts clockwise in this log: its sign was turned")
    values = found.verdict.values
    if widths:
        spread = math.inf
        if len(widths) > 1:
            # Student's t for the few tests, so that 1.96 deviations are an interval of 95 %.
            factor = float(student.ppf(0.975, len(widths) - 1)) / NORMAL_95
            spread = factor * float(np.std(widths, ddof=1)) / math.sqrt(len(widths))
        values = (*values, Value("track width", float(np.mean(widths)), spread, log.unit))
    verdict = replace(found.verdict, values=values, notes=tuple(notes))
    return replace(found, verdict=verdict)
