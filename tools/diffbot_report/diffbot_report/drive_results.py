# SPDX-License-Identifier: Apache-2.0
"""Results of a driving run: the tables, and its keys of summary.json."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.text import Text

from diffbot_controllers.adaptation import AdaptationState
from diffbot_controllers.laws.tracking_errors import TrackingErrors
from diffbot_ident.estimate import NORMAL_95
from diffbot_report.controller_topics import TORQUE, VELOCITY
from diffbot_report.display import new_table, printed
from diffbot_report.drive_metrics import (
    Change,
    DriveMetrics,
    Response,
    Tracking,
    VelocityStep,
    changes_of,
    drive_metrics,
    velocity_steps,
)
from diffbot_report.drive_recording import STATUS_ENDS, AdaptationRun, DriveRecording, DriveRun
from diffbot_report.page import Table
from diffbot_report.quantity import MISSING, significant

UNITS = {"v": "m/s", "omega": "rad/s"}
SYMBOLS = {"v": "v", "omega": "ω"}
SMALLEST_SHOWN = 1e-9  # mm or degrees; smaller values are rounding errors


@dataclass(frozen=True)
class DriveResults:
    """A run with its results, from which tables, pictures and the page are made.

    `steps`: responses to steps of the desired velocity; `peak_command`: largest magnitudes, N m or
    m/s and rad/s; None if samples are missing.
    """

    recording: DriveRecording
    run: DriveRun
    adaptation: AdaptationRun
    metrics: DriveMetrics
    steps: Sequence[VelocityStep]
    changes: Sequence[Change]
    peak_command: tuple[float, float] | None

    @property
    def tracking(self) -> Tracking | None:
        """Errors of the true pose or, if unknown, of the pose by odometry."""
        return self.metrics.true or self.metrics.odometry

    @property
    def peak_torque(self) -> float | None:
        """Maximum |torque| of a wheel, N m; None for velocities or missing samples."""
        peaks = self.peak_command
        return max(peaks) if peaks is not None and self.run.commanded is TORQUE else None

    @property
    def law(self) -> str:
        return self.recording.state.law if self.recording.state else ""


def drive_results(recording: DriveRecording) -> DriveResults:
    """Evaluate a recorded run, which may be empty."""
    run, adaptation = recording.run(), recording.adaptation_run()
    metrics = drive_metrics(run)
    first, second = recording.peak_command.tolist()
    return DriveResults(
        recording=recording,
        run=run,
        adaptation=adaptation,
        metrics=metrics,
        steps=[] if run.has_pose_reference else velocity_steps(run),
        changes=changes_of(run, adaptation, metrics.window),
        peak_command=(first, second) if run.is_whole() else None,
    )


def drive_keys(results: DriveResults, controller: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of summary.json that only driving runs have; SI units."""
    metrics = results.metrics
    return {
        "tracking": {
            "true": asdict(metrics.true) if metrics.true else None,
            "odometry": asdict(metrics.odometry) if metrics.odometry else None,
            "window": asdict(metrics.window) if metrics.window else None,
        },
        "odometry_drift": asdict(metrics.drift) if metrics.drift else None,
        "steps": [asdict(step) for step in results.steps],
        "peak_torque": results.peak_torque,
        "peak_command": list(results.peak_command) if results.peak_command else [None, None],
        "peak_speed": metrics.peak_speed,
        "peak_yaw_rate": metrics.peak_yaw_rate,
        "controller": dict(controller),
        "adaptation": adaptation_keys(
            results.adaptation, results.changes, results.run.commanded.parameters
        ),
    }


def controller_keys(node: str, results: DriveResults, gains: Mapping[str, Any]) -> dict[str, Any]:
    """Return the controller in use, which may not have published anything, for summary.json."""
    run, state = results.run, results.recording.state
    if state is None:
        return {"node": node, "law": None, "gains": dict(gains), "parameters": None}
    keys: dict[str, Any] = {"node": node, "law": state.law, "gains": dict(gains)}
    source = {"source": state.parameters_source}
    if run.commanded is VELOCITY:
        keys["parameters"] = {**sigma_keys(run), **source}
        keys["dead_band"] = dead_band_keys(run)
        keys["dead_time"] = dead_time_keys(run)
        keys["velocity_limits"] = list(results.recording.limits)
        return keys
    names = TORQUE.parameters
    keys["parameters"] = {**dict(zip(names, state.parameters, strict=True)), **source}
    keys["torque_limit"] = state.torque_limit if math.isfinite(state.torque_limit) else None
    return keys


def _std(variance: float) -> float | None:
    return math.sqrt(variance) if 0.0 <= variance < math.inf else None


def sigma_keys(run: DriveRun) -> dict[str, Any]:
    """Return value, start and std of sigma1..sigma4, s, s, 1, 1; None where unknown."""
    if not len(run):
        return {}
    sigma, variance = run.extra["sigma"], run.extra["sigma_variance"][-1]
    begins, ends = run.is_whole(end=float(run.time[0])), run.is_whole(float(run.time[-1]))
    return {
        name: {
            "value": float(sigma[-1, k]) if ends else None,
            "start": float(sigma[0, k]) if begins else None,
            "std": _std(variance[k]) if ends else None,
        }
        for k, name in enumerate(VELOCITY.parameters)
    }


def dead_band_keys(run: DriveRun) -> dict[str, Any]:
    """Return the smallest command that moves the robot, m/s and rad/s: `in_use`, and identified."""
    if not len(run):
        return {}
    known = run.is_whole(float(run.time[-1]))
    in_use, value, variance = (
        run.extra[name][-1] if known else np.full(2, np.nan)
        for name in ("dead_band", "dead_band_estimate", "dead_band_variance")
    )
    keys: dict[str, Any] = {}
    for k, name in enumerate(("v", "omega")):
        middle = float(value[k])
        std = _std(variance[k]) if math.isfinite(middle) else None
        half = NORMAL_95 * (std or 0.0)
        keys[name] = {
            "in_use": float(in_use[k]) if known else None,
            "value": None if std is None else middle,
            "std": std,
            "interval95": None if std is None else [middle - half, middle + half],
            "identifiable": std is not None,
        }
    return keys


def dead_time_keys(run: DriveRun) -> dict[str, Any]:
    """Return value and std, s, of the dead times of v and omega at the end; None while unknown."""
    if not len(run):
        return {}
    known = run.is_whole(float(run.time[-1]))
    keys: dict[str, Any] = {}
    for k, name in enumerate(("v", "omega")):
        std = _std(run.extra["dead_time_variance"][-1, k]) if known else None
        value = None if std is None else float(run.extra["dead_time"][-1, k])
        keys[name] = {"value": value, "std": std}
    return keys


def adaptation_keys(
    adaptation: AdaptationRun, changes: Sequence[Change], names: Sequence[str] = TORQUE.parameters
) -> dict[str, Any] | None:
    """Return the key `adaptation` of summary.json, by its end, or None without judgements.

    What depends on judgements that were not received is None.
    """
    if not len(adaptation) and not changes:
        return None
    keys: dict[str, Any] = {
        "judged": None if adaptation.lost else len(adaptation),
        "changes": [{**asdict(change), "ratio": change.ratio} for change in changes],
        "true": _named(adaptation.true[-1], names) if len(adaptation.true) else None,
    }
    if len(adaptation):
        shut = np.sum(~adaptation.passed, axis=0).tolist()
        refused_by = dict(zip(adaptation.gates, shut, strict=True))
        last = {
            "state": AdaptationState(int(adaptation.state[-1])).name.lower(),
            "refused": int(adaptation.refused[-1]),
            "in_use": _named(adaptation.in_use[-1], names),
            "offered": _named(adaptation.offered[-1], names),
            "offered_std": _named(adaptation.offered_std[-1], names),
        }
        keys |= last if adaptation.has_last else dict.fromkeys(last)
        keys["refused_by"] = None if adaptation.lost else refused_by
    return keys


def _named(values: NDArray[np.float64], names: Sequence[str]) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


def results_table(results: DriveResults, title: str = "") -> RenderableType:
    """Return tracking errors, or responses to steps, and the peaks, below a title."""
    parts: list[RenderableType] = [
        printed(answer(results), title),
        Text("  " + _peaks(results)),
    ]
    state = results.recording.state
    if state is not None and state.law:
        parts.append(
            Text(f"  law {state.law}, parameters from {state.parameters_source}", style="dim")
        )
    if results.run.commanded is VELOCITY and (said := _dead_bands(results.run)):
        parts.append(Text(f"  {said}"))
    return Group(*parts)


def _dead_bands(run: DriveRun) -> str:
    said = []
    for name, band in dead_band_keys(run).items():
        unit = UNITS[name]
        if band["identifiable"]:
            half = NORMAL_95 * band["std"]
            said.append(f"{max(band['value'], 0.0):.3f} ± {half:.3f} {unit}")
        elif band["in_use"]:
            said.append(f"{band['in_use']:g} {unit} as given")
        else:
            said.append(f"{SYMBOLS[name]} not identifiable")
    result = any("identifiable" not in text for text in said)
    return f"smallest command that moves the robot: {', '.join(said)}" if result else ""


def answer(results: DriveResults) -> Table:
    """Return responses to steps of velocity, or tracking errors."""
    metrics = results.metrics
    if results.steps:
        head = ["step", "at s", "by encoders: 5 % ms", "1 % ms", "over %",
                "true: 5 % ms", "1 % ms", "over %"]  # fmt: skip
        return Table(head, [step_row(step) for step in results.steps])
    settled = map(settling_text, (metrics.true, metrics.odometry))
    rows = [["settled to 1 cm and 1°", "s", *settled, ""], *error_rows(metrics)]
    return Table(["", "unit", "true", "by odometry", "odometry drift"], rows)


def error_rows(metrics: DriveMetrics) -> list[list[str]]:
    """Return rows of quantity, unit, true error, error by odometry, and odometry's drift."""
    rows = []
    for what, unit, factor in (("position", "mm", 1e3), ("heading", "°", math.degrees(1.0))):
        for kind in ("rms", "max"):
            pairs = (metrics.true, metrics.odometry, metrics.drift)
            name = f"{kind}_{what}"
            values = (None if e is None else factor * getattr(e, name) for e in pairs)
            over = f", {metrics.window.kind}" if metrics.window and kind == "rms" else ""
            rows.append([f"{what} {kind}{over}", unit, *map(_error, values)])
    return rows


def _error(value: float | None) -> str:
    if value is None:
        return MISSING
    return "0" if value < SMALLEST_SHOWN else significant(value, 3)


def settling_text(tracking: Tracking | None) -> str:
    """Format the time until the robot has settled, s."""
    if tracking is None:
        return MISSING
    return "never" if tracking.settling_time is None else f"{tracking.settling_time:.2f}"


def step_row(step: VelocityStep) -> list[str]:
    """Return a step, its time, s, and responses (ms to 5 % and 1 %, %) by encoders and true."""
    what = f"{SYMBOLS[step.channel]} {step.begin:g} → {step.end:g} {UNITS[step.channel]}"
    return [what, f"{step.time:.2f}", *_response(step.encoders), *_response(step.true)]


def _response(response: Response | None) -> list[str]:
    if response is None:
        return [MISSING] * 3
    times = (response.settling_time_5, response.settling_time)
    settled = ("never" if t is None else f"{1e3 * t:.0f}" for t in times)
    return [*settled, f"{response.overshoot:.2f}"]


def _peaks(results: DriveResults) -> str:
    what, limits = results.run.commanded, results.recording.limits
    said = []
    if results.peak_command is None:
        said.append("not known")
    else:
        peaks = list(zip(results.peak_command, limits, what.units, strict=True))
        for peak, limit, unit in [max(peaks)] if what is TORQUE else peaks:
            bound = f" (limit {limit:g})" if 0.0 < limit < math.inf else ""
            said.append(f"{significant(peak)} {unit}{bound}")
    text = f"peak {what.what} {', '.join(said)}"
    metrics = results.metrics
    if metrics.peak_speed is not None:
        text += f", speed {significant(metrics.peak_speed)} m/s"
    if metrics.peak_yaw_rate is not None:
        text += f", yaw rate {significant(metrics.peak_yaw_rate)} rad/s"
    return text


def live_table(recording: DriveRecording) -> RenderableType:
    """Return a table of the latest sample, by odometry."""
    table = new_table("")
    what = recording.fields.commanded
    names = ["x m", "y m", "θ °", "from reference mm", "heading °", "v m/s", "ω rad/s"]
    for name in (*names, f"{what.what} {', '.join(dict.fromkeys(what.units))}"):
        table.add_column(name, justify="right", no_wrap=True, min_width=6)
    if not len(recording.status):
        return table
    reference, pose, _, velocity, command, _ = np.split(recording.status.rows[-1], STATUS_ENDS)
    cells = [MISSING] * 5
    if np.isfinite(pose).all():
        errors = TrackingErrors.between([0.0], [pose], [reference])
        cells = [
            f"{pose[0]:.3f}",
            f"{pose[1]:.3f}",
            f"{np.degrees(pose[2]):.1f}",
            f"{1e3 * errors.distance[0]:.2f}",
            f"{np.degrees(errors.error[0, 2]):.2f}",
        ]
    cells += [f"{velocity[0]:.3f}", f"{velocity[1]:.3f}"]
    table.add_row(*cells, f"{command[0]:+.2f} {command[1]:+.2f}")
    return table
