"""Voltage gains ks, kv, ka of a drivetrain from a SysId log, of each side and of both axes.

    left, right, forward    V = ks sign(v) + kv v + ka dv/dt        forward: means of both sides
    yaw                     V = ks sign(w) + kv w + ka dw/dt        V = (right - left) / 2

Simulated velocity is fitted to the measured one while the robot moves (output error), with the
dead time of the measurement; nothing is differentiated. Each test is predicted by a fit to the
others. With voltage as effort this is the torque-driven model, back-EMF being viscous friction:

    dv/dt = K7 (V_left + V_right) - ..., K7 = 1 / (2 ka);     dw/dt = K8 (V_right - V_left) - ...,
    K8 = 1 / (2 ka of yaw).        Track width = (right way - left way) / turned angle.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from diffbot_description.files import read_regular
from diffbot_ident.recording.samples import Array, Mask, RecordingError
from diffbot_ident.recording.segments import new_readings
from diffbot_ident.recording.verdict import Evidence, Outcome, Value, Verdict
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_ident.velocity.dead_time import FrictionFit, fit_with_friction
from diffbot_ident.velocity.first_order import AxisSegment, Prediction

# Drivetrain logs of WPILib's SysId: a JSON object of four tests.
#
#     "slow-forward", "slow-backward" (voltage ramps), "fast-forward", "fast-backward" (steps): rows
#         [t s, left V, right V, left position, right position, left velocity, right velocity,
#          yaw rad, yaw rate rad/s]                     positions in rotations, velocities in rot/s
#     "sysid": true, "test": "Drivetrain" or "Drivetrain (Angular)", "units", "unitsPerRotation"
#
# Rows of the older frc-characterization have ten columns, [t, battery V, share of the voltage,
# left V, right V, positions, velocities, yaw], and no "sysid". Positions and velocities times
# unitsPerRotation are in units.

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


LEFT, RIGHT, FORWARD, YAW = "left side", "right side", "forward axis", "yaw axis"
SUBJECTS = (LEFT, RIGHT, FORWARD, YAW)
# Least R^2 of the simulation of tests that the fit has not seen.
LEAST_R_SQUARED = 0.9
# Share of the largest velocity above which an axis moves.
MOVING = 0.05
# Longest dead time of a measurement, s.
LONGEST = 0.3
# A gap in the rows of more than so many periods ends a segment.
GAP = 3.0
# An axis below this share of the wheels' way was not driven.
DRIVEN = 0.2
# Least samples of motion in a test.
LEAST = 40

Motions = Mapping[str, tuple[AxisSegment, ...]]
"""Segments of motion in each test, by its name."""


@dataclass(frozen=True)
class VoltageAnalysis:
    """Result of one side or axis.

    Attributes:
        verdict: ks, kv, ka and whether they may be used.
        fit: to all tests; None where nothing could be fitted.
        motions: of each test, by its name.
        predictions: of each test, by its name; by a fit to the other tests.
    """

    verdict: Verdict
    fit: FrictionFit | None = None
    motions: Motions = field(default_factory=dict)
    predictions: Mapping[str, Prediction] = field(default_factory=dict)


def analyse_voltages(log: SysIdLog) -> list[VoltageAnalysis]:
    """Results for the left side, the right side, the forward axis and the yaw axis."""
    sign = yaw_sign(log)
    found = [_analyse(subject, log, sign) for subject in SUBJECTS]
    return [*found[:3], _with_track(found[3], log, sign)]


def _analyse(subject: str, log: SysIdLog, sign: float) -> VoltageAnalysis:
    motions = motions_of(log, subject, sign)
    unit = "rad/s" if subject == YAW else f"{log.unit}/s"
    unknown = Verdict(subject, Outcome.NOT_EXCITED, error_unit=unit)
    if len(motions) < 2:
        why = f"{len(motions)} tests in which it moves by its own voltage: must be at least 2; " + (
            "run the angular tests" if subject == YAW else "run the linear tests"
        )
        return VoltageAnalysis(replace(unknown, reason=why), motions=motions)
    try:
        fit = fit_with_friction([s for part in motions.values() for s in part], LONGEST)
        predictions = {name: _prediction(motions, name) for name in motions}
    except ValueError as error:
        return VoltageAnalysis(replace(unknown, reason=str(error)), motions=motions)
    return VoltageAnalysis(_verdict(subject, unit, fit, predictions), fit, motions, predictions)


def _prediction(motions: Motions, name: str) -> Prediction:
    """A test by the fit to all others."""
    others = [s for other, part in motions.items() if other != name for s in part]
    fit = fit_with_friction(others, LONGEST)
    return Prediction(motions[name], tuple(fit.simulate(segment) for segment in motions[name]))


def _verdict(
    subject: str, unit: str, fit: FrictionFit, predictions: Mapping[str, Prediction]
) -> Verdict:
    unseen = Prediction.joined(predictions.values())
    evidence = [
        Evidence(
            "R^2 of tests that the fit has not seen",
            unseen.r_squared,
            f">= {LEAST_R_SQUARED:g}",
            unseen.r_squared >= LEAST_R_SQUARED,
        )
    ]
    model = fit.fit.model
    for name, value in (("ks", fit.friction), ("kv", model.drag), ("ka", model.inertia)):
        evidence.append(Evidence(name, value, ">= 0", value >= 0.0))
    return Verdict(
        subject,
        values=_values(subject, unit, fit),
        r_squared_fit=fit.fit.r_squared,
        r_squared_held_out=unseen.r_squared,
        error_held_out=unseen.error,
        error_unit=unit,
        evidence=tuple(evidence),
        notes=tuple(
            f"{name} predicted from the other tests: error {p.error:.3g} {unit}, "
            f"R^2 {p.r_squared:.4f}"
            for name, p in predictions.items()
        ),
    ).judged(refusal="", needed="", to_excite="", to_identify="add the fast tests")


def _values(subject: str, unit: str, found: FrictionFit) -> tuple[Value, ...]:
    per = unit.removesuffix("/s")
    ka, kv = found.fit.model.inertia, found.fit.model.drag
    ka_std, kv_std = found.fit.std
    values = [
        Value("ks", found.friction, found.friction_std, "V"),
        Value("kv", kv, kv_std, f"V s/{per}"),
        Value("ka", ka, ka_std, f"V s^2/{per}"),
        Value("dead time", found.fit.dead_time, found.dead_time_std, "s"),
    ]
    effort = {FORWARD: "K7", YAW: "K8"}.get(subject)
    if effort:
        values.append(Value(effort, 0.5 / ka, 0.5 * ka_std / ka**2, f"{per}/(V s^2)"))
    return tuple(values)


def _with_track(found: VoltageAnalysis, log: SysIdLog, sign: float) -> VoltageAnalysis:
    """The yaw axis with the track width, in the unit of positions."""
    if not found.motions:
        return found
    widths = []
    for test in log.tests.values():
        yaw = sign * (test.yaw - test.yaw[0])
        if np.ptp(yaw) > 1.0:
            # Slope through the test's mean: no derivative, and the start does not matter.
            centred = yaw - yaw.mean()
            widths.append(float(centred @ _way(test)) / float(centred @ centred))
    notes, values = found.verdict.notes, found.verdict.values
    if sign < 0.0:
        notes = (*notes, "yaw counts clockwise in this log: its sign was turned")
    if widths:
        spread = math.inf
        if len(widths) > 1:
            # Student's t for the few tests, so that 1.96 deviations are an interval of 95 %.
            factor = float(student.ppf(0.975, len(widths) - 1)) / NORMAL_95
            spread = factor * float(np.std(widths, ddof=1)) / math.sqrt(len(widths))
        values = (*values, Value("track width", float(np.mean(widths)), spread, log.unit))
    return replace(found, verdict=replace(found.verdict, values=values, notes=notes))


def yaw_sign(log: SysIdLog) -> float:
    """1 where yaw counts counter-clockwise (REP-103), -1 where clockwise, as some gyros do."""
    product = 0.0
    for test in log.tests.values():
        yaw, way = test.yaw - test.yaw.mean(), _way(test)
        product += float(np.ptp(test.yaw) > 0.0) * float(yaw @ (way - way.mean()))
    return -1.0 if product < 0.0 else 1.0


def _way(test: SysIdTest) -> Array:
    """How much further the right side went, shape (n,)."""
    return test.right_position - test.left_position


def motions_of(log: SysIdLog, subject: str, sign: float) -> Motions:
    """Motion of each test; empty where the subject was not driven.

    Args:
        log: all tests.
        subject: one of SUBJECTS.
        sign: of the yaw rate, see yaw_sign.
    """
    signals = {name: _signals(test, subject, sign) for name, test in log.tests.items()}
    most = max(
        max(_largest(test.left_voltage), _largest(test.right_voltage))
        for test in log.tests.values()
    )
    driven = max(_largest(voltage) for voltage, _ in signals.values())
    fastest = max(_largest(velocity) for _, velocity in signals.values())
    if not (driven >= DRIVEN * most > 0.0 and fastest > 0.0):
        return {}
    masks, hold = new_readings([velocity for _, velocity in signals.values()])
    motions = {}
    for (name, (voltage, velocity)), fresh in zip(signals.items(), masks, strict=True):
        test = log.tests[name]
        segments = [
            _segment(test, voltage, velocity, fresh if hold > 0.0 else None, piece)
            for piece in _pieces(test.times, np.abs(velocity) > MOVING * fastest)
        ]
        if segments:
            motions[name] = segments
    # The same mean period for all: clocks of tests differ by a few parts in a thousand.
    periods = [s.period for segments in motions.values() for s in segments]
    period = float(np.mean(periods)) if periods else 0.0
    return {
        name: tuple(replace(s, period=period) for s in segments)
        for name, segments in motions.items()
    }


def _largest(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))


def _signals(test: SysIdTest, subject: str, sign: float) -> tuple[Array, Array]:
    """Voltage and velocity of a subject, shape (n,) each."""
    if subject == LEFT:
        return test.left_voltage, test.left_velocity
    if subject == RIGHT:
        return test.right_voltage, test.right_velocity
    if subject == FORWARD:
        return (
            0.5 * (test.left_voltage + test.right_voltage),
            0.5 * (test.left_velocity + test.right_velocity),
        )
    return 0.5 * (test.right_voltage - test.left_voltage), sign * test.yaw_rate


def _pieces(times: Array, moving: Mask) -> list[slice]:
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


def _segment(
    test: SysIdTest, voltage: Array, velocity: Array, fresh: Mask | None, piece: slice
) -> AxisSegment:
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
    return AxisSegment(period, voltage[rows], velocity[rows], counts)
