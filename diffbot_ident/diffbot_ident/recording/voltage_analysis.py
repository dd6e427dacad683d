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

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import t as student

from diffbot_ident.recording.sample_and_hold import new_readings
from diffbot_ident.recording.samples import Array, Mask
from diffbot_ident.recording.sysid import SysIdLog, SysIdTest
from diffbot_ident.recording.verdict import Evidence, Outcome, Value, Verdict
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_ident.velocity.dead_time import FrictionFit, fit_with_friction
from diffbot_ident.velocity.first_order import AxisSegment
from diffbot_ident.velocity.prediction import Prediction

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
