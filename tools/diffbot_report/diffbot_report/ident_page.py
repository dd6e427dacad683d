# SPDX-License-Identifier: Apache-2.0
"""report.html of an identification: the answer, its trust, and the evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diffbot_description import Robot
from diffbot_description.dynamics import Array
from diffbot_description.files import DYNAMIC_FILE
from diffbot_ident.estimate import NORMAL_95, Estimate, EstimateState
from diffbot_ident.prediction_model import Model
from diffbot_ident.torque.effects.slope import gravity_along
from diffbot_ident.verification import HORIZON, VerificationState
from diffbot_report.chart import Chart, Curve, Intervals, Role, Strips
from diffbot_report.friction_effect import friction_torques
from diffbot_report.ident_recording import IdentRecording, estimate_limits, variance_limits
from diffbot_report.ident_results import all_notes, answer
from diffbot_report.page import Matrix, Page, Part, Scene, Section, Table, Tone
from diffbot_report.quantity import (
    NOT_IDENTIFIABLE,
    UNITS,
    Quantity,
    friction_quantities,
    meanings,
    physical_quantities,
    with_uncertainty,
)
from diffbot_report.robot_silhouette import RobotSilhouette
from diffbot_report.run_end import Outcome
from diffbot_report.summary import RunDescription, run_command, texts_to_copy

TIME = "robot time since the excitation began, s"
SYMBOLS = tuple(UNITS)
NOT_VERIFIED = (
    "Controllers accept verified parameters only: run it again to its end, with verification:=10, "
    "and with more room or torque if the robot moved too little."
)
EXCITING = "excitation"  # charts over the time of the excitation zoom together
# Beyond it, more data of the same kind add little.
LARGEST_CORRELATION = 0.95
# Motion that tells a parameter, by (41).
TEACHES = {
    "K5": "turning fast: v̇ = K5 ω² + …; without room, on the spot",
    "K6": "turning while driving fast: ω̇ = K6 v ω + …; curves both ways, with room",
    "K7": "equal torques on both wheels that change: v̇ = K7 (τl + τr) + …",
    "K8": "opposite torques that change: ω̇ = K8 (τl − τr) + …",
}
# Relative half widths with which a parameter is known.
KNOWN = (0.1, 0.01)


def ident_page(
    recording: IdentRecording,
    parameters: Sequence[Quantity],
    robot: Robot,
    run: RunDescription,
    folder: Path,
    summary: Mapping[str, Any],
) -> Page:
    """Return the page of an identification; `folder` has the files to copy."""
    estimate = recording.estimate
    tone, verdict, advice = _verdict(recording, parameters, run, folder, summary)
    physical = physical_quantities(estimate, robot.model, recording.true_parameters.last)
    friction = tuple(friction_quantities(estimate).values())
    phrases = meanings(parameters, physical)
    notes = all_notes(recording, parameters, robot)
    notes += [f"incomplete: {sentence}" for sentence in summary["missing"]]
    sections = [
        Section("Estimates", "Estimates over time, with their 95 % intervals.",
                _estimates(recording, parameters)),
        Section("Measured and predicted", "A motion that was not used for the identification: "
                f"the model restarts from the measured values every {HORIZON:g} s.",
                _held_out(recording, robot)),
        Section("Excitation", "Acting torques, the part of them that friction took, and the "
                "resulting motion.", _excitation(recording, robot)),
        Section("States", "Phases of the node, and the time from which each parameter was known.",
                _states(recording, parameters), wide=True),
        Section("Trust", "How much of the needed motion was seen, which parameters the data cannot "
                "distinguish, and which motion would help.", _trust(recording, parameters)),
        Section("Path", "The axle's middle by odometry. Shift and wheel, or + and −, zoom; "
                "dragging moves.",
                _path(recording, robot), wide=True),
    ]  # fmt: skip
    return Page(
        title=run.label,
        tone=tone,
        verdict=verdict,
        advice=advice,
        answer=answer(parameters, friction, phrases),
        notes=notes,
        sections=sections,
        summary=summary,
        texts=texts_to_copy(run, folder),
    )


def _verdict(
    recording: IdentRecording,
    parameters: Sequence[Quantity],
    run: RunDescription,
    folder: Path,
    summary: Mapping[str, Any],
) -> tuple[Tone, str, str]:
    estimate, verdict = recording.estimate, recording.verdict
    if summary["outcome"] == Outcome.FAILED.value:
        return Tone.BAD, f"The run failed: {summary['reason']}", "Fix that, and run it again."
    if estimate is None:
        return (
            Tone.BAD,
            "Nothing was identified: no estimate was received.",
            "See the reason below.",
        )
    again = "Run it again for longer, or with more room (arena:=) and torque (ident's amplitude)."
    if estimate.state is EstimateState.INVALID:
        return Tone.BAD, f"These parameters must not be used: {estimate.reason}", again
    if verdict is VerificationState.REFUTED:
        return (
            Tone.BAD,
            "The parameters are refuted: they do not predict a new motion.",
            ("See the residuals below; check for slip, slopes and the wiring of the wheels."),
        )
    if estimate.state is not EstimateState.ESTIMATED:
        return Tone.CAUTION, f"Not yet identified: {estimate.reason}", again
    open_ones = [q.symbol for q in parameters if q.state is not EstimateState.ESTIMATED]
    result = f"except {', '.join(open_ones)}: not identifiable from this run" if open_ones else ""
    if verdict is VerificationState.NOT_VERIFIED:
        stopped = summary["outcome"] == Outcome.STOPPED.value
        why = f"the run was stopped ({summary['reason']})" if stopped else ""
        if recording.verification is not None:
            why = recording.verification.reason
        said = "; ".join(filter(None, ("Identified, not verified", result, why)))
        return Tone.CAUTION, f"{said}.", NOT_VERIFIED
    use = "Drive with them: " + run_command(
        run.command,
        "drive" if run.command == "simulate" else "backstepping",
        {
            "robot": run.robot_file or run.robot,
            "sim": "" if run.simulator else "none",
            "parameters": folder / DYNAMIC_FILE,
        },
    )
    if open_ones:
        # The centre of mass is then on the axle.
        both = open_ones == ["K5", "K6"]
        return Tone.CAUTION, f"Identified, {result}.", use if both else again
    return Tone.GOOD, "K5 to K8 are identified, and another motion verifies them.", use


def _estimates(recording: IdentRecording, parameters: Sequence[Quantity]) -> list[Part]:
    times, _, variances = recording.parameters()
    if not len(times):
        return []
    charts: list[Part] = [*estimate_charts(recording, parameters)]
    curves, limits = [], []
    for i, (quantity, role) in enumerate(zip(parameters, Role, strict=False)):
        known = np.isfinite(variances[:, i]) & (variances[:, i] > 0.0)
        if known.any() and quantity.value:
            fraction = variances[known, i] / quantity.value**2
            curves.append(Curve(quantity.symbol, times[known], np.sqrt(fraction), role))
            limits.append(variance_limits(times[known], np.sqrt(fraction)))
    if curves:
        both = (min(low for low, _ in limits), max(high for _, high in limits))
        charts.append(
            Chart("std", "Standard deviations, relative", "1", curves, TIME, EXCITING,
                  logarithmic=True, y_range=both)
        )  # fmt: skip
    return charts


def estimate_charts(recording: IdentRecording, parameters: Sequence[Quantity]) -> list[Chart]:
    """Chart K5..K8 over time, with intervals and true values; empty ones have no y_range."""
    times, values, variances = recording.parameters()
    true_times, true_values = recording.truth()
    charts = []
    for i, quantity in enumerate(parameters):
        sigma = np.sqrt(np.where(variances[:, i] >= 0.0, variances[:, i], np.inf))
        known = np.isfinite(sigma) & np.isfinite(values[:, i])
        value, spread = with_uncertainty(quantity.value, quantity.half_width)
        k, s = np.where(known, (values[:, i], NORMAL_95 * sigma), np.nan)  # NaN leaves a gap
        curves = [Curve("estimate", times, k, half_width=s)]
        truth = np.empty(0)
        if len(true_times) and len(times):
            first = max(int(np.searchsorted(true_times, times[0], side="right")) - 1, 0)
            x = np.append(np.clip(true_times[first:], times[0], times[-1]), times[-1])
            truth = np.append(true_values[first:, i], true_values[-1, i])
            curves.append(Curve("true", x, truth, Role.TRUTH, steps=True, dashed=True))
        charts.append(
            Chart(
                quantity.symbol, quantity.symbol, quantity.unit, curves, TIME, EXCITING,
                note=quantity.lack_in_full or f"{value} ± {spread}",
                y_range=estimate_limits(times[known], values[known, i], sigma[known], truth),
            )
        )  # fmt: skip
    return charts


def _excitation(recording: IdentRecording, robot: Robot) -> list[Part]:
    times, motion = recording.motion()
    if not len(times):
        return []
    estimate = recording.estimate
    taken = None
    if estimate is not None and estimate.friction is not None:
        taken = friction_torques(estimate.friction, motion, robot.model)
    plane = Curve("seen", motion[:, 0], motion[:, 1], dots=True)
    return [
        *excitation_charts(times, motion, taken),
        Chart("plane", "Velocities covered", "ω, rad/s", [plane], "v, m/s", None,
              note="empty corners were not excited"),
    ]  # fmt: skip


def excitation_charts(times: Array, motion: Array, friction: Array | None = None) -> list[Chart]:
    """Chart torques, with the part of friction, N m, (n, 2), and velocities over times, s, (n,).

    `motion`: [v, omega, left, right torque], shape (n, 4).
    """
    charts = []
    for i, (side, role) in enumerate((("left", Role.FIRST), ("right", Role.SECOND))):
        # It acted in the period that ends at its stamp.
        curves = [Curve(side, times[:-1], motion[1:, 2 + i], role, steps=True)]
        if friction is not None and np.isfinite(friction[:, i]).any():
            curves.append(Curve("of it, friction", times, friction[:, i], Role.WANTED))
        charts.append(
            Chart(f"torque_{side}", f"Torque, {side} wheel", "N m", curves, TIME, EXCITING)
        )
    return [
        *charts,
        Chart("v", "Velocity", "m/s", [Curve("v", times, motion[:, 0], Role.THIRD)], TIME,
              EXCITING),
        Chart("omega", "Yaw rate", "rad/s", [Curve("ω", times, motion[:, 1], Role.FOURTH)], TIME,
              EXCITING),
    ]  # fmt: skip


def _states(recording: IdentRecording, parameters: Sequence[Quantity]) -> list[Part]:
    """Return phases, and when intervals fell below KNOWN."""
    times, values, variances = recording.parameters()
    verifying, _ = recording.held_out()
    if not len(times):
        return []
    names, columns = ["exciting"], [np.ones(len(times))]
    for i, quantity in enumerate(parameters):
        for fraction in KNOWN:
            half = NORMAL_95 * np.sqrt(np.where(variances[:, i] >= 0.0, variances[:, i], np.inf))
            names.append(f"{quantity.symbol} ± {100 * fraction:g} %")
            columns.append((half <= fraction * np.abs(values[:, i])).astype(float))
    if len(verifying):
        # A verification does not change the estimate.
        names.insert(1, "verifying")
        count = len(verifying)
        columns = [np.append(column, np.full(count, column[-1])) for column in columns]
        columns[0][len(times) :] = 0.0
        columns.insert(1, np.append(np.zeros(len(times)), np.ones(count)))
        times = np.append(times, verifying)
    return [Strips("states", "States", names, times, np.column_stack(columns),
                   "filled: holds; ± is the half width of the 95 % interval")]  # fmt: skip


def _held_out(recording: IdentRecording, robot: Robot) -> list[Part]:
    times, motion = recording.held_out()
    estimate = recording.estimate
    if estimate is None or estimate.state is EstimateState.INVALID or len(times) < 3:
        return []
    model = Model.of(estimate)
    if estimate.slope is not None:
        model = replace(model, gravity=gravity_along(*estimate.slope))
    predicted = predicted_motion(times, motion, model, robot)
    charts: list[Part] = []
    for i, (key, name, unit) in enumerate(
        (("v", "Velocity", "m/s"), ("omega", "Yaw rate", "rad/s"))
    ):
        rest = motion[:, i] - predicted[:, i]
        rms = math.sqrt(float(np.mean(rest**2)))
        charts.append(
            Chart(f"held_out_{key}", f"{name}, held out", unit,
                  [Curve("measured", times, motion[:, i]),
                   Curve("predicted", times, predicted[:, i], Role.SECOND, dashed=True)],
                  TIME, "held out")
        )  # fmt: skip
        charts.append(
            Chart(f"residual_{key}", f"{name}: measured less predicted", unit,
                  [Curve("residual", times, rest, Role.FOURTH)], TIME, "held out",
                  note=f"rms {rms:.2g} {unit}")
        )  # fmt: skip
    return charts


def predicted_motion(times: Array, motion: Array, model: Model, robot: Robot) -> Array:
    """Predict [v, omega], (n, 2), restarting from the measured ones every HORIZON.

    `motion`: [v, omega, left, right torque, heading] at times, s, torques of the period before.
    """
    known_robot = motion[:, :2].copy()
    period = float(np.median(np.diff(times)))
    late = max(0.0, model.delay)
    samples = np.arange(len(times), dtype=float)
    # A velocity is that at the middle of a period.
    torque = np.column_stack(
        [np.interp(samples + 0.5 - late, samples, motion[:, 2 + side]) for side in range(2)]
    )
    begin = 0
    for k in range(1, len(times)):
        gap = times[k] - times[k - 1] > 1.5 * period
        if gap or times[k] - times[begin] >= HORIZON:
            begin = k
            # A single measured velocity is coarse.
            known_robot[k] = motion[max(k - 2, 0) : k + 3, :2].mean(axis=0)
            continue
        start = known_robot[k - 1][:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            step, _ = model.advance(
                start, motion[k - 1, 4:], torque[k - 1][:, None], period, robot.geometry
            )
        known_robot[k] = step[:, 0]
    return known_robot


def correlation(estimate: Estimate) -> list[Part]:
    """Return the correlations of K5..K8, if all variances are finite and positive."""
    covariance = np.array(estimate.covariance)
    if not (np.isfinite(covariance).all() and (np.diag(covariance) > 0.0).all()):
        return []
    std = np.sqrt(np.diag(covariance))
    result = covariance / np.outer(std, std)
    off = np.abs(result - np.eye(4))
    most = np.unravel_index(int(off.argmax()), off.shape)
    pair = f"{SYMBOLS[int(most[0])]} and {SYMBOLS[int(most[1])]}"
    note = f"largest: {pair}, {off.max():.2f}"
    if off.max() > LARGEST_CORRELATION:
        note = f"{pair} are hard to distinguish, {off.max():.3f}"
    return [Matrix("correlation", "Correlation", SYMBOLS, SYMBOLS, result, note=note)]


def _trust(recording: IdentRecording, parameters: Sequence[Quantity]) -> list[Part]:
    estimate = recording.estimate
    if estimate is None:
        return []
    parts = correlation(estimate)
    if any(estimate.coverage):
        parts.append(coverage_chart(estimate))
    parts.append(_what_tells_more(parameters))
    if np.isfinite(recording.information()[1]).any():
        parts.append(information_chart(recording))
    return parts


def coverage_chart(estimate: Estimate) -> Intervals:
    """Chart which part of the motion that each of K5..K8 needs was seen."""
    known = [state is EstimateState.ESTIMATED for state in estimate.parameter_states]
    names = [name if good else f"{name}, not identified"
             for name, good in zip(SYMBOLS, known, strict=True)]  # fmt: skip
    percent = [100.0 * fraction for fraction in estimate.coverage]
    unit = "%, 100: all of it"
    return Intervals("coverage", "Needed motion that was seen", unit, names, percent, [0.0] * 4)


def information_chart(recording: IdentRecording) -> Chart:
    """Chart the information that was achieved and that was predicted."""
    times, information = recording.information()
    curves = [
        Curve("achieved", times, information[:, 0]),
        Curve("predicted", times, information[:, 1], Role.SECOND, dashed=True),
    ]
    return Chart("information", "Information", "bits", curves, TIME, EXCITING)


def _what_tells_more(parameters: Sequence[Quantity]) -> Table:
    """List the parameters, least known first, and the motion that helps."""

    def fraction(quantity: Quantity) -> float:
        half, value = quantity.half_width, quantity.value
        return math.inf if half is None or not value else abs(half / value)

    def known_to(quantity: Quantity) -> str:
        known = math.isfinite(fraction(quantity))
        return f"± {100 * fraction(quantity):.2g} %" if known else quantity.lack or NOT_IDENTIFIABLE

    rows = [
        [q.symbol, known_to(q), TEACHES[q.symbol]]
        for q in sorted(parameters, key=fraction, reverse=True)
    ]
    return Table(["", "known to", "motion that helps"], rows, "Motion that gives more information")


def _path(recording: IdentRecording, robot: Robot) -> list[Part]:
    exciting, verifying = recording.path()
    if not len(exciting):
        return []
    times, motion = recording.motion()
    silhouette = RobotSilhouette.of(robot)
    turn = np.concatenate(
        [[0.0], np.cumsum(np.diff(times) * 0.5 * (motion[1:, 1] + motion[:-1, 1]))]
    )
    paths = [("verifying", Role.SECOND, verifying)] if len(verifying) else []
    state = recording.state
    return [
        Scene(
            "path", "Path", times, np.column_stack([exciting, turn]), paths,
            (silhouette.body, silhouette.nose, *silhouette.wheels), robot.appearance.body,
            arena=state.arena if state else None,
        )
    ]  # fmt: skip
