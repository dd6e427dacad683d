# SPDX-License-Identifier: Apache-2.0
"""report.html of a drive: how the robot followed its reference, with what torque, and its path."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffbot_controllers.adaptation import AdaptationState
from diffbot_description import Robot, wheel_friction
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_report.controller_topics import TORQUE, VELOCITY, Commanded
from diffbot_report.drive_metrics import LAST_SECOND, Response
from diffbot_report.drive_recording import AdaptationRun, DriveRecording, DriveRun
from diffbot_report.drive_results import SYMBOLS, UNITS, DriveResults, error_rows
from diffbot_report.friction_effect import wheel_speeds
from diffbot_report.page import Chart, Curve, Page, Part, Role, Scene, Section, Strips, Table, Tone
from diffbot_report.quantity import MISSING, significant
from diffbot_report.quantity import UNITS as DYNAMIC_UNITS
from diffbot_report.robot_outline import RobotOutline
from diffbot_report.run_end import Outcome
from diffbot_report.summary import RunDescription, texts_to_copy

Array = NDArray[np.float64]

TIME = "robot time since driving began, s"
FOUR = (Role.FIRST, Role.SECOND, Role.THIRD, Role.FOURTH)
# Units of parameters that may be live: K5 to K8 and sigma.
LIVE_UNITS = {**DYNAMIC_UNITS, **dict(zip(VELOCITY.parameters, ("s", "s", "", ""), strict=True))}
# Fraction of its limit from which a torque counts as saturated.
SATURATED = 0.999


def drive_page(
    run: DriveRun,
    results: DriveResults,
    recording: DriveRecording,
    robot: Robot,
    about: RunDescription,
    folder: Path,
    summary: Mapping[str, Any],
) -> Page:
    """Return the page of a drive.

    Args:
        run: Samples; may be empty.
        results: Results of the run.
        recording: Recording of the same run, for the controller's state.
        robot: The robot, for its shape and colours.
        about: What was run.
        folder: Folder of the results, for the files to copy.
        summary: Content of summary.json.
    """
    lived = recording.adaptation_run()
    tone, verdict, advice = _verdict(run, results, recording, lived, folder, summary)
    events = [(time, "robot changes") for time in lived.changes]
    sections = [
        Section("Path", "Seen from above. Shift and wheel, or + and −, zoom; dragging moves.",
                _path(run, robot), wide=True),
        Section("Errors", "Distance and heading error to the reference.", _errors(run, events)),
        Section("Commands", "Commands; dotted: their limits.",
                _commands(run, recording, robot, events)),
        Section("States", "When the robot was near its reference, and when a command was at its "
                "limit.", _states(run, recording), wide=True),
        Section("Velocities", "Asked for and driven.", _velocities(run, recording, events)),
        Section("Live parameters", "Estimates offered, values in use, and which gates passed.",
                [*_adaptation(lived, recording, events), *_sigma(run, lived, recording, events)]),
    ]  # fmt: skip
    return Page(
        title=about.label,
        tone=tone,
        verdict=verdict,
        advice=advice,
        answer=_answer(results, run.commanded),
        notes=[f"incomplete: {sentence}" for sentence in summary["missing"]],
        sections=[section for section in sections if section.parts],
        summary=summary,
        texts=texts_to_copy(about, folder),
    )


def _verdict(
    run: DriveRun,
    results: DriveResults,
    recording: DriveRecording,
    lived: AdaptationRun,
    folder: Path,
    summary: Mapping[str, Any],
) -> tuple[Tone, str, str]:
    """Return the tone and two sentences: how the robot followed, and what to do next."""
    if summary["outcome"] == Outcome.FAILED.value:
        return Tone.BAD, f"The run failed: {summary['reason']}", "Fix that, and run it again."
    if not len(run):
        return Tone.BAD, "Nothing was recorded.", "See how the run ended, below."
    limited = _saturated(run, recording)
    more = (
        f"Commands were at their limit for {100.0 * limited:.0f} % of the time: drive slower, or "
        "raise the limit if the robot tolerates it."
        if limited > 0.05
        else f"Compare it with another run: ./diffbot view {shlex.quote(str(folder))} OTHER"
    )
    more = _unfollowed(lived) + more
    metrics = results.metrics
    tracking = metrics.true or metrics.odometry
    if tracking is None:
        slow = [step for step in results.steps if (r := step.true or step.encoders) is not None
                and r.settling_time is None]  # fmt: skip
        count = len(results.steps)
        true = all(step.true is not None for step in results.steps)
        whose = "true velocity" if true else "velocity by encoders"
        if slow:
            return (
                Tone.CAUTION,
                f"{len(slow)} of {count} steps of {whose} not settled to 1 %.",
                more,
            )
        return Tone.GOOD, f"All {count} steps of {whose} settled to 1 %.", more
    whose = "true pose" if metrics.true else "pose by odometry"
    position = significant(1e3 * tracking.rms_position, 2)
    error = f"{position} mm and {significant(math.degrees(tracking.rms_heading), 2)}°"
    if tracking.settling_time is None:
        text = f"The {whose} did not settle to 1 cm and 1°: {error} rms at the end."
        return Tone.CAUTION, text, _longer(run, results, more)
    over = f" over the {metrics.window.kind}" if metrics.window else ""
    text = f"Settled after {tracking.settling_time:.2f} s; {whose} {error} rms{over}."
    return Tone.GOOD, text, more


def _unfollowed(lived: AdaptationRun) -> str:
    """Return which gate blocked all live estimates; empty if the law followed some."""
    if not len(lived) or lived.lost or not lived.gates or np.ptp(lived.in_use, axis=0).any():
        return ""
    shut = np.sum(~lived.passed, axis=0)
    first = int(np.argmax(shut))
    if shut[first] <= len(lived) / 2:
        return ""
    return (
        f"No live estimate was used: the gate '{lived.gates[first]}' rejected {shut[first]} of "
        f"{len(lived)} (see docs/control.md, Adaptive control). "
    )


def _longer(run: DriveRun, results: DriveResults, more: str) -> str:
    """Return advice for a robot that has not settled; `more` is the advice for any run."""
    window = results.metrics.window
    if window is None or window.kind != LAST_SECOND:
        return more
    goal = run.reference[-1, :2]
    first, last = (math.dist(goal, run.odometry[k, :2]) for k in (0, -1))
    # Twice the duration, or twice the time that the remaining distance takes at this speed.
    rest = last / (first - last) if last < first else 0.0
    longer = math.ceil(2.0 * window.end * max(1.0, rest))
    return f"It may only need more time: duration:={longer}. {more}"


def _saturated(run: DriveRun, recording: DriveRecording) -> float:
    """Return the fraction of samples at which a command is at its limit."""
    limits = np.array(recording.limits)
    known = np.isfinite(limits) & (limits > 0.0)
    if not known.any():
        return 0.0
    at = np.abs(run.command[:, known]) >= SATURATED * limits[known]
    return float(at.any(axis=1).mean())


def _answer(results: DriveResults, what: Commanded) -> Table:
    metrics = results.metrics
    if metrics.true is None and metrics.odometry is None:
        rows = [
            [f"{SYMBOLS[step.channel]} {step.begin:g} → {step.end:g} {UNITS[step.channel]}",
             f"{step.time:.2f}", *_response(step.encoders), *_response(step.true)]
            for step in results.steps
        ]  # fmt: skip
        head = ["step", "at, s", "by encoders: to 5 %, ms", "to 1 %, ms", "over, %",
                "true: to 5 %, ms", "to 1 %, ms", "over, %"]  # fmt: skip
        return Table(head, rows)

    def settled(time: float | None) -> str:
        return "never" if time is None else f"{time:.2f}"

    pairs = (metrics.true, metrics.odometry)
    rows = [["settled to 1 cm and 1°", "s",
             *(MISSING if t is None else settled(t.settling_time) for t in pairs), ""]]  # fmt: skip
    rows += error_rows(metrics)
    for name, unit, peak in _peaks(results, what):
        text = MISSING if peak is None else significant(peak, 3)
        rows.append([f"largest {name}", unit, text, text, ""])
    return Table(["", "unit", "true", "by odometry", "odometry's drift"], rows)


def _peaks(results: DriveResults, what: Commanded) -> list[tuple[str, str, float | None]]:
    """Return name, unit and size of the largest commands; None if samples are missing."""
    if what is TORQUE:
        return [(what.what, what.units[0], results.peak_torque)]
    peaks = results.peak_command or (None, None)
    return [
        (f"{what.what} of {name}", unit, peak)
        for name, unit, peak in zip(what.names, what.units, peaks, strict=True)
    ]


def _response(response: Response | None) -> list[str]:
    if response is None:
        return [MISSING] * 3
    times = (response.settling_time_5, response.settling_time)
    return [
        *("never" if t is None else f"{1e3 * t:.0f}" for t in times),
        f"{response.overshoot:.2f}",
    ]


def _path(run: DriveRun, robot: Robot) -> list[Part]:
    known = run.known_poses
    if not len(known):
        return []
    outline = RobotOutline.of(robot)
    paths = []
    if run.has_pose_reference:
        places = run.reference[np.isfinite(run.reference).all(axis=1)][:, :2]
        paths.append(("reference", Role.WANTED, places))
    if run.has_truth and np.isfinite(run.odometry).any():
        places = run.odometry[np.isfinite(run.odometry).all(axis=1)][:, :2]
        paths.append(("by odometry", Role.SECOND, places))
    return [
        Scene(
            "path", "Path", run.time[known], run.pose[known], paths,
            (outline.body, outline.nose, *outline.wheels), robot.appearance.body,
            reference=run.reference[known] if run.has_pose_reference else None,
            note="true pose" if run.has_truth else "pose by odometry",
        )
    ]  # fmt: skip


def _errors(run: DriveRun, events: list[tuple[float, str]]) -> list[Part]:
    found = [
        (name, errors, role)
        for name, errors, role in (
            ("true", run.true_errors, Role.FIRST),
            ("by odometry", run.odometry_errors, Role.SECOND),
        )
        if errors is not None
    ]
    if not found:
        return []
    position = [Curve(name, e.time, 1e3 * e.distance, role) for name, e, role in found]
    heading = [Curve(name, e.time, np.degrees(e.error[:, 2]), role) for name, e, role in found]
    return [
        Chart("error_position", "Distance from the reference", "mm", position, TIME, events=events),
        Chart("error_heading", "Heading error", "°", heading, TIME, events=events),
    ]


def _commands(
    run: DriveRun, recording: DriveRecording, robot: Robot, events: list[tuple[float, str]]
) -> list[Part]:
    if not len(run):
        return []
    what, parts = run.commanded, list[Part]()
    taken = _friction(run, robot) if what is TORQUE else None
    for i, (name, unit, limit) in enumerate(
        zip(what.names, what.units, recording.limits, strict=True)
    ):
        values = run.command[:, i]
        title = f"Torque, {name} wheel" if what is TORQUE else f"Commanded {name}"
        peak = float(np.nanmax(np.abs(values)))
        limits = (-limit, limit) if 0.0 < limit < math.inf and peak > 0.5 * limit else ()
        curves = [Curve(name, run.time, values, FOUR[i], steps=True)]
        if taken is not None:
            curves.append(Curve("of it, friction as described", run.time, taken[:, i], Role.WANTED))
        parts.append(
            Chart(f"command_{i}", title, unit, curves, TIME, limits=limits, events=events,
                  note=f"largest {peak:.3g}" + (f", limit {limit:g}" if limit else ""))
        )  # fmt: skip
    return parts


def _friction(run: DriveRun, robot: Robot) -> Array | None:
    """Return the friction torques [left, right], N m, (n, 2), or None without friction."""
    speeds = wheel_speeds(run.best_velocity, robot.model)
    laws = wheel_friction(robot)
    if all(law.viscous == law.coulomb == 0.0 for law in laws):
        return None
    return np.array(
        [[law.torque(float(w)) for law, w in zip(laws, pair, strict=True)] for pair in speeds]
    )


def _states(run: DriveRun, recording: DriveRecording) -> list[Part]:
    names, columns = list[str](), list[Any]()
    errors = run.true_errors or run.odometry_errors
    if errors is not None and len(errors.time) == len(run):
        heading = np.abs(errors.error[:, 2])
        names.append("within 1 cm and 1°")
        columns.append((errors.distance <= 0.01) & (heading <= math.radians(1.0)))
    for i, (name, limit) in enumerate(zip(run.commanded.names, recording.limits, strict=True)):
        if 0.0 < limit < math.inf:
            names.append(f"{name} at its limit")
            columns.append(np.abs(run.command[:, i]) >= SATURATED * limit)
    if not columns or not len(run):
        return []
    holds = np.column_stack(columns).astype(float)
    return [Strips("states", "States", names, run.time, holds, "filled: holds")]


def _velocities(
    run: DriveRun, recording: DriveRecording, events: list[tuple[float, str]]
) -> list[Part]:
    if not len(run):
        return []
    asked = recording.fields.velocity_name
    parts: list[Part] = []
    for i, (key, name, unit) in enumerate((("v", "v", "m/s"), ("omega", "ω", "rad/s"))):
        curves = [
            Curve("measured", run.time, run.velocity[:, i], Role.SECOND),
            Curve(f"{asked} asked for", run.time, run.wanted[:, i], Role.WANTED, dashed=True),
        ]
        if run.has_truth:
            curves.insert(0, Curve("true", run.time, run.true_velocity[:, i]))
        parts.append(Chart(f"velocity_{key}", name, unit, curves, TIME, events=events))
    return parts


def _adaptation(
    lived: AdaptationRun, recording: DriveRecording, events: list[tuple[float, str]]
) -> list[Part]:
    """Return charts of parameters offered, used and true, and of the gates."""
    if not len(lived):
        return []
    parts: list[Part] = []
    for i, name in enumerate(recording.fields.commanded.parameters):
        std = lived.offered_std[:, i]
        known = np.isfinite(std)
        curves = [
            Curve("offered", lived.time[known], lived.offered[known, i], Role.SECOND,
                  half_width=NORMAL_95 * std[known]),
            Curve("in use", lived.time, lived.in_use[:, i], Role.FIRST, steps=True),
        ]  # fmt: skip
        if len(lived.true):
            curves.append(_true(lived, i, float(lived.time[-1])))
        settled = lived.in_use[:, i]
        low, high = float(np.nanmin(settled)), float(np.nanmax(settled))
        room = max(0.5 * (high - low), 0.05 * max(abs(low), abs(high)), 1e-9)
        parts.append(
            Chart(f"live_{name}", name, LIVE_UNITS[name], curves, TIME, events=events,
                  y_range=(low - room, high + room))
        )  # fmt: skip
    states = np.array([[state == each for each in AdaptationState] for state in lived.state])
    names = [each.name.lower() for each in AdaptationState] + list(lived.gates)
    holds = np.hstack([states, lived.passed]) if lived.gates else states
    parts.append(
        Strips("gates", "States and gates", names, lived.time, holds, "filled: holds, or lets pass")
    )
    return parts


def _sigma(
    run: DriveRun,
    lived: AdaptationRun,
    recording: DriveRecording,
    events: list[tuple[float, str]],
) -> list[Part]:
    """Return charts of sigma in use, with its band, and true, of a law that adapts it itself."""
    state = recording.state
    if run.commanded is not VELOCITY or not len(run) or state is None or state.law != "adaptive":
        return []
    parts: list[Part] = []
    for k, name in enumerate(VELOCITY.parameters):
        value, variance = run.extra["sigma"][:, k], run.extra["sigma_variance"][:, k]
        half = NORMAL_95 * np.sqrt(np.where(variance >= 0.0, variance, np.nan))
        curves = [Curve("in use", run.time, value, Role.FIRST, half_width=half, steps=True)]
        if len(lived.true):
            curves.append(_true(lived, k, float(run.time[-1])))
        seen = np.concatenate([np.asarray(curve.y, float) for curve in curves])
        # Without the band, which is initially wider than all later values.
        low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
        room = 0.2 * (high - low) or 0.1 * abs(high) or 1.0
        parts.append(
            Chart(f"live_{name}", name, LIVE_UNITS[name], curves, TIME, events=events,
                  y_range=(low - room, high + room))
        )  # fmt: skip
    return parts


def _true(lived: AdaptationRun, i: int, end: float) -> Curve:
    """Return a true parameter as a curve up to the end of the run, s."""
    x = np.append(np.clip(lived.true_time, 0.0, end), end)
    y = np.append(lived.true[:, i], lived.true[-1, i])
    return Curve("true", x, y, Role.TRUTH, steps=True, dashed=True)
