"""Voltage gains ks, kv, ka of a drivetrain from a SysId log, of each side and of both axes.

    left, right, forward    V = ks sign(v) + kv v + ka dv/dt        forward: means of both sides
    yaw                     V = ks sign(w) + kv w + ka dw/dt        V = (right - left) / 2

Simulated velocity is fitted to the measured one while the robot moves (output error), with the dead
time of the measurement; nothing is differentiated. Each test is predicted by a fit to the others.
With voltage as effort this is the torque-driven model, back-EMF being viscous friction:

    dv/dt = K7 (V_left + V_right) - ..., K7 = 1 / (2 ka);     dw/dt = K8 (V_right - V_left) - ...,
    K8 = 1 / (2 ka of yaw).        Track width = (right way - left way) / turned angle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from diffbot_ident.estimate import NORMAL_95
from diffbot_ident.recording.sysid_motions import LONGEST, motions_of, way, yaw_sign
from diffbot_ident.recording.sysid_reader import SysIdLog
from diffbot_ident.recording.verdict import Evidence, Outcome, Value, Verdict
from diffbot_ident.velocity.first_order_friction import FrictionFit, fit_with_friction
from diffbot_ident.velocity.stretch import Stretch

Array = NDArray[np.float64]

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
