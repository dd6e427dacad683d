"""The tables that a driving run shows: how it goes, and what it found."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from diffbot_controllers.tracking_errors import TrackingErrors
from diffbot_report.controller_topics import TORQUE
from diffbot_report.drive_recording import ROW, DriveRecording
from diffbot_report.drive_results import DriveResults, Errors, Response, Tracking, VelocityStep
from diffbot_report.quantity import MISSING, significant

UNITS = {"v": "m/s", "omega": "rad/s"}
SYMBOLS = {"v": "v", "omega": "ω"}


def results_table(
    results: DriveResults, recording: DriveRecording, title: str = ""
) -> RenderableType:
    """Tracking errors, or responses to steps of velocity, and the peaks.

    Args:
        results: of the run.
        recording: of the run; the controller may have said nothing.
        title: line above.
    """
    parts: list[RenderableType] = []
    if results.steps:
        parts.append(_steps(results.steps, title))
    else:
        parts.append(_tracking(results, title))
    parts.append(Text("  " + _peaks(results, recording)))
    state = recording.state
    if state is not None and state.law:
        parts.append(
            Text(f"  law {state.law}, parameters from {state.parameters_source}", style="dim")
        )
    return Group(*parts)


def new_table(title: str) -> Table:
    """An empty table in the look of the suite."""
    return Table(
        title=Text(title) if title else None, box=SIMPLE_HEAD, title_justify="left",
        title_style="bold", pad_edge=False, collapse_padding=True,
    )  # fmt: skip


def _tracking(results: DriveResults, title: str) -> Table:
    metrics = results.metrics
    table = new_table(title)
    table.add_column("", style="bold", no_wrap=True)
    table.add_column("unit", style="dim", no_wrap=True)
    for name in ("true", "by odometry", "odometry drift"):
        table.add_column(name, justify="right", no_wrap=True)
    settled = [_settled(tracking) for tracking in (metrics.true, metrics.odometry)]
    table.add_row("settled to 1 cm and 1°", "s", *settled, "")
    over = f", {metrics.window.kind}" if metrics.window else ""
    rows: tuple[tuple[str, str, Callable[[Errors], float]], ...] = (
        (f"position rms{over}", "mm", lambda e: 1e3 * e.rms_position),
        ("position max", "mm", lambda e: 1e3 * e.max_position),
        (f"heading rms{over}", "°", lambda e: math.degrees(e.rms_heading)),
        ("heading max", "°", lambda e: math.degrees(e.max_heading)),
    )
    for name, unit, of in rows:
        cells = [_number(errors, of) for errors in (metrics.true, metrics.odometry, metrics.drift)]
        table.add_row(name, unit, Text(cells[0], "cyan"), *cells[1:])
    return table


def _settled(tracking: Tracking | None) -> Text:
    if tracking is None:
        return Text(MISSING)
    if tracking.settling_time is None:
        return Text("never", "red")
    return Text(f"{tracking.settling_time:.2f}", "cyan")


def _number(errors: Errors | None, of: Callable[[Errors], float]) -> str:
    return MISSING if errors is None else significant(of(errors), 3)


def _steps(steps: list[VelocityStep], title: str) -> Table:
    table = new_table(title)
    table.add_column("step", style="bold", no_wrap=True)
    table.add_column("at s", style="dim", justify="right", no_wrap=True)
    encoders, true = "by encoders: 5 % ms", "true: 5 % ms"
    for name in (encoders, "1 % ms", "over %", true, "1 % ms", "over %"):
        table.add_column(name, justify="right", no_wrap=True)
    for step in steps:
        what = f"{SYMBOLS[step.channel]} {step.begin:g} → {step.end:g} {UNITS[step.channel]}"
        table.add_row(what, f"{step.time:.2f}", *_response(step.encoders), *_response(step.true))
    return table


def _response(response: Response | None) -> tuple[Text, ...]:
    if response is None:
        return (Text(MISSING),) * 3
    times = (response.settling_time_5, response.settling_time)
    settled = (Text("never") if t is None else Text(f"{1e3 * t:.0f}", "cyan") for t in times)
    return *settled, Text(f"{response.overshoot:.2f}")


def _peaks(results: DriveResults, recording: DriveRecording) -> str:
    what, limits = recording.fields.commanded, recording.limits
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


# ---
# What a driving run shows while it goes on.


def live_table(recording: DriveRecording) -> RenderableType:
    """The newest sample, by odometry."""
    table = new_table("")
    names = (
        "x m",
        "y m",
        "θ °",
        "from reference mm",
        "heading °",
        "v m/s",
        "ω rad/s",
        recording.fields.commanded.what
        + " "
        + ", ".join(dict.fromkeys(recording.fields.commanded.units)),
    )
    for name in names:
        table.add_column(name, justify="right", no_wrap=True, min_width=6)
    if not len(recording.status):
        return table
    reference, pose, _, velocity, command, _ = np.split(recording.status.rows[-1], ROW)
    cells = ["–"] * 5
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
