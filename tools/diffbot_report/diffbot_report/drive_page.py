# SPDX-License-Identifier: Apache-2.0
"""report.html of a drive: how the robot followed its reference, and with what torque."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffbot_controllers.adaptation import AdaptationState
from diffbot_controllers.laws.friction import STILL
from diffbot_controllers.laws.tracking_errors import SETTLED_HEADING, SETTLED_POSITION
from diffbot_description import FrictionLaw, Robot, wheel_friction
from diffbot_description.dynamics import Array
from diffbot_description.spoken_commands import spoken
from diffbot_ident.estimate import NORMAL_95
from diffbot_report.chart import FOUR, Chart, Curve, Role, Strips
from diffbot_report.controller_topics import TORQUE, VELOCITY
from diffbot_report.drive_metrics import LAST_SECOND
from diffbot_report.drive_recording import AdaptationRun, DriveRun
from diffbot_report.drive_results import DriveResults, answer
from diffbot_report.page import Page, Part, Scene, Section, Table, Tone
from diffbot_report.quantity import MISSING, significant
from diffbot_report.robot_silhouette import RobotSilhouette
from diffbot_report.run_end import Outcome
from diffbot_report.summary import RunDescription, texts_to_copy

TIME = "robot time since driving began, s"
# Fraction of its limit from which a torque is saturated.
SATURATED = 0.999


def drive_page(
    results: DriveResults,
    robot: Robot,
    about: RunDescription,
    folder: Path,
    summary: Mapping[str, Any],
) -> Page:
    """Return the page of a drive; `folder` has the files to copy."""
    tone, verdict, advice = _verdict(results, folder, summary)
    sections = [
        Section("Path", "Seen from above. Shift and wheel, or + and −, zoom; dragging moves.",
                _path(results.run, robot), wide=True),
        Section("Errors", "Distance and heading error to the reference.", _errors(results)),
        Section("Commands", "Commands; dotted: their limits.", command_charts(results, robot)),
        Section("States", "When the robot was near its reference, and when a command was at its "
                "limit.", _states(results), wide=True),
        Section("Velocities", "Asked for and driven.", velocity_charts(results)),
        Section("Live parameters", "Estimates offered, values in use, and which gates passed.",
                _live_parameters(results)),
    ]  # fmt: skip
    return Page(
        title=about.label,
        tone=tone,
        verdict=verdict,
        advice=advice,
        answer=_answer(results),
        notes=[f"incomplete: {sentence}" for sentence in summary["missing"]],
        sections=sections,
        summary=summary,
        texts=texts_to_copy(about, folder),
    )


def _verdict(
    results: DriveResults, folder: Path, summary: Mapping[str, Any]
) -> tuple[Tone, str, str]:
    if summary["outcome"] == Outcome.FAILED.value:
        return Tone.BAD, f"The run failed: {summary['reason']}", "Fix that, and run it again."
    if not len(results.run):
        return Tone.BAD, "Nothing was recorded.", "See how the run ended, below."
    limited = _saturated(results)
    more = (
        f"Commands were at their limit for {100.0 * limited:.0f} % of the time: drive slower, or "
        "raise the limit if the robot tolerates it."
        if limited > 0.05
        else f"Compare it with another run: {spoken('view', str(folder), 'OTHER')}"
    )
    more = _unfollowed(results.adaptation) + more
    metrics, tracking = results.metrics, results.tracking
    if tracking is None:
        return _steps_verdict(results, more)
    whose = "true pose" if metrics.true else "pose by odometry"
    position = significant(1e3 * tracking.rms_position, 2)
    error = f"{position} mm and {significant(math.degrees(tracking.rms_heading), 2)}°"
    if tracking.settling_time is None:
        text = f"The {whose} did not settle to 1 cm and 1°: {error} rms at the end."
        return Tone.CAUTION, text, _longer(results, more)
    over = f" over the {metrics.window.kind}" if metrics.window else ""
    text = f"Settled after {tracking.settling_time:.2f} s; {whose} {error} rms{over}."
    return Tone.GOOD, text, more


def _steps_verdict(results: DriveResults, more: str) -> tuple[Tone, str, str]:
    responses = [step.true or step.encoders for step in results.steps]
    slow = sum(result is not None and result.settling_time is None for result in responses)
    count = len(results.steps)
    true = all(step.true is not None for step in results.steps)
    whose = "true velocity" if true else "velocity by encoders"
    if slow:
        return Tone.CAUTION, f"{slow} of {count} steps of {whose} not settled to 1 %.", more
    return Tone.GOOD, f"All {count} steps of {whose} settled to 1 %.", more


def _unfollowed(lived: AdaptationRun) -> str:
    """Return which gate blocked all estimates; empty if the law followed some."""
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


def _longer(results: DriveResults, more: str) -> str:
    """Return advice for a robot that has not settled."""
    run, window = results.run, results.metrics.window
    if window is None or window.kind != LAST_SECOND:
        return more
    goal = run.reference[-1, :2]
    first, last = (math.dist(goal, run.odometry[k, :2]) for k in (0, -1))
    # Twice the duration, or the time for the remaining distance.
    rest = last / (first - last) if last < first else 0.0
    longer = math.ceil(2.0 * window.end * max(1.0, rest))
    return f"It may only need more time: duration:={longer}. {more}"


def _at_limits(results: DriveResults) -> dict[str, NDArray[np.bool_]]:
    """Return when each command with a known limit is at it, shape (n,), by name."""
    run = results.run
    commands = zip(run.commanded.names, run.command.T, results.recording.limits, strict=True)
    return {
        name: np.abs(values) >= SATURATED * limit
        for name, values, limit in commands
        if 0.0 < limit < math.inf
    }


def _saturated(results: DriveResults) -> float:
    at = list(_at_limits(results).values())
    return float(np.any(at, axis=0).mean()) if at else 0.0


def _answer(results: DriveResults) -> Table:
    shown = answer(results)
    if results.steps:
        return shown
    peaks = [
        [f"largest {name}", unit, *[MISSING if peak is None else significant(peak, 3)] * 2, ""]
        for name, unit, peak in _peaks(results)
    ]
    return Table(shown.head, [*shown.rows, *peaks])


def _peaks(results: DriveResults) -> list[tuple[str, str, float | None]]:
    what = results.run.commanded
    if what is TORQUE:
        return [(what.what, what.units[0], results.peak_torque)]
    peaks = results.peak_command or (None, None)
    return [
        (f"{what.what} of {name}", unit, peak)
        for name, unit, peak in zip(what.names, what.units, peaks, strict=True)
    ]


def _chart(
    results: DriveResults, key: str, title: str, unit: str, curves: list[Curve], **more: Any
) -> Chart:
    events = [(time, "robot changes") for time in results.adaptation.changes]
    return Chart(key, title, unit, curves, TIME, events=events, **more)


def _path(run: DriveRun, robot: Robot) -> list[Part]:
    known = run.known_poses
    if not len(known):
        return []
    silhouette = RobotSilhouette.of(robot)
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
            (silhouette.body, silhouette.nose, *silhouette.wheels), robot.appearance.body,
            reference=run.reference[known] if run.has_pose_reference else None,
            note="true pose" if run.has_truth else "pose by odometry",
        )
    ]  # fmt: skip


def _errors(results: DriveResults) -> list[Part]:
    entries = [
        (name, errors, role)
        for name, errors, role in (
            ("true", results.run.true_errors, Role.FIRST),
            ("by odometry", results.run.odometry_errors, Role.SECOND),
        )
        if errors is not None
    ]
    if not entries:
        return []
    position = [Curve(name, e.time, 1e3 * e.distance, role) for name, e, role in entries]
    heading = [Curve(name, e.time, np.degrees(e.error[:, 2]), role) for name, e, role in entries]
    return [
        _chart(results, "error_position", "Distance from the reference", "mm", position),
        _chart(results, "error_heading", "Heading error", "°", heading),
    ]


def command_charts(results: DriveResults, robot: Robot) -> list[Chart]:
    """Chart both commands with limits that they come near; torques with their friction."""
    run, limits = results.run, results.recording.limits
    if not len(run):
        return []
    what, charts = run.commanded, list[Chart]()
    taken = _friction(run, robot) if what is TORQUE else None
    for i, (name, unit, limit) in enumerate(zip(what.names, what.units, limits, strict=True)):
        values = run.command[:, i]
        title = f"Torque, {name} wheel" if what is TORQUE else f"Commanded {name}"
        peak = float(np.nanmax(np.abs(values)))
        near = (-limit, limit) if 0.0 < limit < math.inf and peak > 0.5 * limit else ()
        curves = [Curve(name, run.time, values, FOUR[i], steps=True)]
        if taken is not None:
            curves.append(Curve("of it, friction as described", run.time, taken[:, i], Role.WANTED))
        charts.append(
            _chart(results, f"command_{i}", title, unit, curves, limits=near,
                   note=f"largest {peak:.3g}" + (f", limit {limit:g}" if limit else ""))
        )  # fmt: skip
    return charts


def _friction(run: DriveRun, robot: Robot) -> Array | None:
    v, omega = run.best_velocity.T
    speeds = np.column_stack(robot.geometry.wheel_velocity(v, omega))
    laws = wheel_friction(robot)
    if all(law.viscous == law.coulomb == law.gear_loss == 0.0 for law in laws):
        return None
    still = STILL / robot.wheels.radius
    return np.column_stack(
        [
            [
                _wheel_friction(law, w, tau, still)
                for w, tau in zip(speed.tolist(), torque.tolist(), strict=True)
            ]
            for law, speed, torque in zip(laws, speeds.T, run.command.T, strict=True)
        ]
    )


def _wheel_friction(law: FrictionLaw[float], speed: float, torque: float, still: float) -> float:
    """Return a wheel's friction, N m; below the speed `still`, rad/s, it balances the torque."""
    loaded = law.under(torque)
    if abs(speed) >= still:
        return loaded.torque(speed)
    return math.copysign(min(abs(torque), loaded.breakaway(torque)), torque)


def _states(results: DriveResults) -> list[Part]:
    run, holds = results.run, dict[str, NDArray[np.bool_]]()
    errors = run.true_errors or run.odometry_errors
    if errors is not None and len(errors.time) == len(run):
        near = (errors.distance <= SETTLED_POSITION) & (errors.heading <= SETTLED_HEADING)
        holds["within 1 cm and 1°"] = near
    holds |= {f"{name} at its limit": at for name, at in _at_limits(results).items()}
    if not holds or not len(run):
        return []
    table = np.column_stack([*holds.values()]).astype(float)
    return [Strips("states", "States", [*holds], run.time, table, "filled: holds")]


def velocity_charts(results: DriveResults) -> list[Chart]:
    """Chart v and omega: true, measured, and asked for."""
    run, asked = results.run, results.recording.fields.velocity_name
    if not len(run):
        return []
    charts = []
    for i, (key, name, unit) in enumerate((("v", "v", "m/s"), ("omega", "ω", "rad/s"))):
        curves = [
            Curve("measured", run.time, run.velocity[:, i], Role.SECOND),
            Curve(f"{asked} asked for", run.time, run.wanted[:, i], Role.WANTED, dashed=True),
        ]
        if run.has_truth:
            curves.insert(0, Curve("true", run.time, run.true_velocity[:, i]))
        note = f"largest {np.nanmax(np.abs(run.best_velocity[:, i])):.3g}"
        charts.append(_chart(results, f"velocity_{key}", name, unit, curves, note=note))
    return charts


def _live_parameters(results: DriveResults) -> list[Part]:
    lived = results.adaptation
    if not len(lived):
        return [*sigma_charts(results)] if results.law == "adaptive" else []
    return [*parameter_charts(results), gates(lived)]


def gates(lived: AdaptationRun) -> Strips:
    """Return the state of the adaptation, which gates let pass, and which parameters move."""
    states = np.array([[state == each for each in AdaptationState] for state in lived.state])
    names = [each.name.lower() for each in AdaptationState] + list(lived.gates)
    names += [f"{name} moves" for name in TORQUE.parameters]
    holds = np.hstack([states, lived.passed, lived.follows])
    note = f"filled: holds, or lets pass; {int(lived.refused[-1])} refused"
    return Strips("gates", "States and gates", names, lived.time, holds, note, TIME)


def parameter_charts(results: DriveResults) -> list[Chart]:
    """Chart K5..K8: offered with intervals, in use with the allowed band, and true."""
    lived, state = results.adaptation, results.recording.state
    end = float(lived.time[-1] if len(lived) else results.run.time[-1])
    what = results.run.commanded
    charts = []
    for i, (name, unit) in enumerate(zip(what.parameters, what.parameter_units, strict=True)):
        curves, band = list[Curve](), tuple[float, ...]()
        if len(lived):
            std = lived.offered_std[:, i]
            known = np.isfinite(std)
            curves.append(Curve("offered", lived.time[known], lived.offered[known, i], Role.FIRST,
                                half_width=NORMAL_95 * std[known]))  # fmt: skip
            curves.append(Curve("in use", lived.time, lived.in_use[:, i], Role.SECOND, steps=True))
            ends = (float(lived.lower[-1, i]), float(lived.upper[-1, i]))
            band = tuple(filter(math.isfinite, ends))
        elif state is not None:
            curves.append(Curve("in use", [0.0, end], [state.parameters[i]] * 2, Role.SECOND))
        curves.append(_true(lived, i, end))
        # The first intervals are wider than all values.
        charts.append(_parameter(results, name, unit, curves, curves[-2:], band))
    return charts


def sigma_charts(results: DriveResults) -> list[Chart]:
    """Chart sigma in use, with its interval, and true."""
    run, lived = results.run, results.adaptation
    if run.commanded is not VELOCITY or not len(run):
        return []
    charts = []
    named = zip(VELOCITY.parameters, VELOCITY.parameter_units, strict=True)
    for k, (name, unit) in enumerate(named):
        value, variance = run.extra["sigma"][:, k], run.extra["sigma_variance"][:, k]
        half = NORMAL_95 * np.sqrt(np.where(variance >= 0.0, variance, np.nan))
        curves = [
            Curve("in use", run.time, value, Role.SECOND, half_width=half, steps=True),
            _true(lived, k, float(run.time[-1])),
        ]
        charts.append(_parameter(results, name, unit, curves, curves))
    return charts


def _parameter(
    results: DriveResults,
    name: str,
    unit: str,
    curves: list[Curve],
    shown: list[Curve],
    band: tuple[float, ...] = (),
) -> Chart:
    """Return the chart of a live parameter, with all of `shown`."""
    seen = np.concatenate([np.asarray(curve.y, float) for curve in shown])
    low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
    room = max(0.35 * (high - low), 0.05 * max(abs(low), abs(high)), 1e-9)
    last = np.asarray(shown[0].y, float)[-1]
    return _chart(
        results, f"live_{name}", name, unit, curves, limits=band, note=f"{last:.4g} in use",
        y_range=(low - room, high + room),
    )  # fmt: skip


def _true(lived: AdaptationRun, i: int, end: float) -> Curve:
    """Return a true parameter up to `end`, s; empty if unknown."""
    return Curve("true", *lived.true_steps(i, end), Role.WANTED, steps=True, dashed=True)
