# SPDX-License-Identifier: Apache-2.0
"""Pictures of a driving run, after Lages (2018): path, pose, velocities, commands, errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter

import numpy as np
from matplotlib.figure import Figure

from diffbot_controllers.laws.tracking_errors import SETTLED_HEADING, SETTLED_POSITION
from diffbot_description import Robot
from diffbot_report import figure_style as style
from diffbot_report.animation import write_animation
from diffbot_report.chart import Chart, ChartGroup, Curve, Role, Strips
from diffbot_report.controller_topics import TORQUE, VELOCITY
from diffbot_report.drawing import Picture
from diffbot_report.drive_metrics import RECOVERY, Change, Tracking
from diffbot_report.drive_page import (
    TIME,
    command_charts,
    gates,
    parameter_charts,
    sigma_charts,
    velocity_charts,
)
from diffbot_report.drive_recording import DriveRun
from diffbot_report.drive_results import DriveResults
from diffbot_report.panels import Span, draw_panels, group_picture, picture, rms_text
from diffbot_report.quantity import significant
from diffbot_report.robot_silhouette import RobotSilhouette, placed

HEIGHT = 6.2  # height of figures with details, inch
# Time around a velocity step that is enlarged, s.
STEP_DETAIL = (0.02, 0.18)
# Time to reach full speed for a robot that begins on its path, s.
START_UP = 15.0
# Of errors: name, unit, its size in SI units, the limit within which the robot has settled, the
# least value of the logarithmic scale, and the name of its root mean square.
ERRORS = (
    ("distance", "mm", 1e3, SETTLED_POSITION, 1e-2, "rms_position"),
    ("heading", "°", np.degrees(1.0), SETTLED_HEADING, 1e-3, "rms_heading"),
)
# Name, unit, its size in SI units, least height of the panel.
POSE_QUANTITIES = (("x", "m", 1.0, 0.04), ("y", "m", 1.0, 0.04), ("θ", "°", np.degrees(1.0), 4.0))
# Wall time that an animation may take, s.
ANIMATION_TIME = 6.0


def drive_pictures(
    results: DriveResults, robot: Robot, title: str, animation: bool = True
) -> list[Picture]:
    """Return the pictures that have data to show, and the animation if wanted."""
    run, pictures = results.run, list[Picture]()
    if len(run.known_poses):
        pictures.append(group_picture(path_group(results, title, robot)))
    if run.has_pose_reference:
        pictures.append(group_picture(pose_group(results, title), row=1.8))
    figures = {
        "velocities": partial(velocities_figure, results, title),
        run.commanded.picture: partial(commands_figure, results, title, robot),
    }
    if run.has_pose_reference:
        figures["velocity_errors"] = partial(velocity_errors_figure, results, title)
    pictures += [picture(name, figure) for name, figure in figures.items()]
    if run.has_pose_reference and results.recording.state is not None:
        pictures += _adaptation_pictures(results, title)
    if animation and len(run.known_poses):
        limits = results.recording.limits
        film = partial(write_animation, run=run, robot=robot, limits=limits, title=title)
        pictures.append(Picture("drive.gif", film, ANIMATION_TIME))
    return pictures


def _adaptation_pictures(results: DriveResults, title: str) -> Iterator[Picture]:
    lived, is_torque = results.adaptation, results.run.commanded is TORQUE
    heading = f"Parameters of {title}"
    adapts = is_torque and (len(lived) > 0 or bool(lived.changes))
    if adapts:
        shown = "in use against offered and true; dotted: the band"
        charts = parameter_charts(results)
        yield group_picture(ChartGroup("adaptation", heading, shown, charts))
    if not is_torque and (results.law == "adaptive" or lived.changes):
        shown = "in use, with 95 % of the estimate, against true"  # Figs. 20 and 23 of Siwek et al.
        yield group_picture(ChartGroup("sigma", heading, shown, sigma_charts(results)))
    if lived.changes or adapts:
        yield group_picture(adaptation_errors_group(results, title), columns=1)


def source(run: DriveRun, what: str, figures: str) -> str:
    """Return a subtitle: what is shown, and the figures of Lages (2018) for a pose."""
    if run.commanded is VELOCITY:
        return f"{what}; law (9)–(12) of Siwek et al. (2023)"
    if run.has_pose_reference:
        return f"{what}; after {figures} of Lages (2018)"
    return f"{what}; velocity loops of Lages (2017), (61)–(72)"


def path_group(results: DriveResults, title: str, robot: Robot) -> ChartGroup:
    """Return y over x: reference, true path, path by odometry; the robot at start and end."""
    run, silhouette = results.run, RobotSilhouette.of(robot)
    known = run.known_poses
    curves = [
        Curve.path("reference", run.reference, Role.WANTED, dashed=True),
        Curve.path("true path", run.true),
        Curve.path("by odometry", run.odometry, Role.SECOND),
    ]
    if run.has_pose_reference and not np.ptp(run.reference[:, :2], axis=0).max() > 1e-3:
        goal = run.reference[-1:, :2]
        curves[0] = Curve.path("goal", goal, Role.WANTED, dots=True, marks=True)
    for name, at, role in (("start", known[0], Role.QUIET), ("end", known[-1], Role.THIRD)):
        parts = [placed(part, run.pose[at]) for part in (silhouette.body, silhouette.nose)]
        edges = np.concatenate(
            [line for part in parts for line in (part, part[:1], np.full((1, 2), np.nan))]
        )
        curves.append(Curve.path(name, edges, role))
    chart = Chart("path", "", "y, m", curves, "x, m", None, equal=True)
    text = source(run, "y over x", "Figs. 12, 19 and 29")
    return ChartGroup("path", f"Path of {title}", text, [chart])


def commands_figure(results: DriveResults, title: str, robot: Robot) -> Figure:
    """Draw the commands with their limits: wheel torques, or velocities."""
    what = results.run.commanded
    peaks = zip(results.peak_command or (np.nan, np.nan), what.units, strict=True)
    shown = "as commanded, peaks " + " and ".join(f"{peak:.3g} {unit}" for peak, unit in peaks)
    subtitle = source(results.run, shown, "Figs. 16, 23 and 33")
    charts = command_charts(results, robot)
    return _with_details(results, f"{what.title} of {title}", subtitle, charts, details(results)[0])


def velocities_figure(results: DriveResults, title: str) -> Figure:
    """Draw the desired and the actual velocities."""
    shown = f"{results.recording.fields.velocity_name} asked for and u driven"
    subtitle = source(results.run, shown, "Figs. 17, 24 and 34")
    return _with_details(results, f"Velocities of {title}", subtitle, velocity_charts(results))


def velocity_errors_figure(results: DriveResults, title: str) -> Figure:
    """Draw u minus the desired velocity: e_1 and e_2 of (22), (23)."""
    run, wanted_name = results.run, results.recording.fields.velocity_name
    subtitle = source(run, f"u − {wanted_name}", "Figs. 18, 25 and 35")
    charts = []
    for i, (name, unit) in enumerate(zip(run.commanded.error_names, ("m/s", "rad/s"), strict=True)):
        errors = run.velocity[:, i] - run.wanted[:, i]
        curve = Curve(name, run.time, errors, (Role.THIRD, Role.FOURTH)[i])
        charts.append(Chart(name, name, unit, [curve], TIME, note=rms_text(errors, unit)))
    return _with_details(results, f"Velocity errors of {title}", subtitle, charts)


def _with_details(
    results: DriveResults,
    title: str,
    subtitle: str,
    charts: Sequence[Chart],
    span: Span | None = None,
) -> Figure:
    figure = style.new_figure(title, subtitle, HEIGHT)
    spans = details(results) if span is None else [span] * len(charts)
    rows = [(chart, chart, part) for chart, part in zip(charts, spans, strict=True)]
    draw_panels(figure, max(float(results.run.time[-1]), 1e-3), rows)
    return figure


def details(results: DriveResults) -> Sequence[tuple[float, float]]:
    """Return the part to enlarge, s, for v and omega: the first step, or until settled."""
    run, tracking = results.run, results.tracking
    end = float(run.time[-1])
    settled = tracking.settling_time if tracking else None
    warm_up = min(2.0, 0.25 * end)
    if settled is not None:
        warm_up = float(np.clip(1.3 * settled, min(0.3, end), max(0.4 * end, min(2.0, end))))
    if run.commanded is VELOCITY:
        warm_up = min(START_UP, 0.25 * end)
    entries = []
    for channel in ("v", "omega"):
        times = [step.time for step in results.steps if step.channel == channel]
        if not times:
            times = [step.time for step in results.steps]
        if times:
            entries.append(
                (max(times[0] - STEP_DETAIL[0], 0.0), min(times[0] + STEP_DETAIL[1], end))
            )
        else:
            entries.append((0.0, warm_up))
    return entries


def pose_group(results: DriveResults, title: str) -> ChartGroup:
    """Return x, y, theta with the reference, and the position and heading errors."""
    x, y, theta = _pose_charts(results.run)
    distance, heading = error_charts(results)
    if window := results.metrics.window:
        events = [(window.begin, window.kind), (window.end, window.kind)]
        distance, heading = (replace(chart, events=events) for chart in (distance, heading))
    text = source(results.run, "over time with the reference", "Figs. 13–15, 20–22 and 30–32")
    charts = [x, distance, y, heading, theta]
    return ChartGroup("pose", f"Pose of {title}", text, charts)


def _pose_charts(run: DriveRun) -> list[Chart]:
    turn, true, reference = 2.0 * np.pi, run.true.copy(), run.reference.copy()
    heading = run.odometry[:, 2]
    true[:, 2] = heading + np.remainder(true[:, 2] - heading + np.pi, turn) - np.pi
    reference[:, 2] -= np.nanmedian(turn * np.round((reference[:, 2] - heading) / turn))
    charts = []
    for i, (name, unit, scale, least) in enumerate(POSE_QUANTITIES):
        curves = [
            Curve("true pose", run.time, scale * true[:, i]),
            Curve("by odometry", run.time, scale * run.odometry[:, i], Role.SECOND),
            Curve("reference", run.time, scale * reference[:, i], Role.WANTED, dashed=True),
        ]
        seen = np.concatenate([np.asarray(curve.y) for curve in curves])
        low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
        room = 0.12 * (high - low) + 0.5 * max(least - (high - low), 0.0)
        charts.append(Chart(name, name, unit, curves, TIME, y_range=(low - room, high + room)))
    return charts


def error_charts(results: DriveResults) -> list[Chart]:
    """Chart distance from the reference and heading error, logarithmic, with settled limits."""
    run, tracking, window = results.run, results.tracking, results.metrics.window
    charts = []
    for name, unit, factor, limit, floor, rms in ERRORS:
        curves = [
            Curve(label, errors.time, np.maximum(factor * attrgetter(name)(errors), floor), role)
            for label, errors, role in (
                ("by odometry", run.odometry_errors, Role.SECOND),
                ("true pose", run.true_errors, Role.FIRST),
            )
            if errors is not None
        ]
        note = ""
        if window and tracking:
            settled = f"{_settled(tracking)}; " if name == "distance" else ""
            note = f"{settled}rms {significant(factor * getattr(tracking, rms), 2)} {unit}"
        seen = np.concatenate([[factor * limit], *(np.asarray(curve.y) for curve in curves)])
        charts.append(
            Chart(
                f"error_{name}", name if name == "distance" else f"{name} error", unit, curves,
                TIME, note=note, limits=(factor * limit,), logarithmic=True,
                y_range=(0.5 * float(seen.min()), 3.0 * float(seen.max())),
            )
        )  # fmt: skip
    return charts


def _settled(tracking: Tracking) -> str:
    if tracking.settling_time is None:
        return "not settled"
    return f"settled after {tracking.settling_time:.2f} s"


def adaptation_errors_group(results: DriveResults, title: str) -> ChartGroup:
    """Return the errors around changes of the robot, and which gates were open."""
    events = [
        (time, what)
        for change in results.changes
        for time, what in ((change.time, "robot changes"), (change.time + RECOVERY, "recovered"))
    ]
    charts: list[Chart | Strips] = [
        replace(chart, events=events, note=_rms_around(results.changes, factor, unit, rms))
        for chart, (_, unit, factor, _, _, rms) in zip(error_charts(results), ERRORS, strict=True)
    ]
    if len(results.adaptation):
        charts.append(gates(results.adaptation))
    text = f"against the reference{', and the gates' if len(charts) > 2 else ''}"
    return ChartGroup("adaptation_errors", f"Errors of {title}", text, charts)


def _rms_around(changes: Sequence[Change], factor: float, unit: str, rms: str) -> str:
    """Return the root mean squares of an error before and after each change."""
    texts = []
    for change in changes:
        if change.before is not None and change.after is not None:
            before, after = (factor * getattr(p, rms) for p in (change.before, change.after))
            texts.append(f"rms {before:.3g} {unit} before, {after:.3g} {unit} after")
    return "; ".join(texts)
