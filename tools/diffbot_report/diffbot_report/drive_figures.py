# SPDX-License-Identifier: Apache-2.0
"""Pictures of a driving run, after Lages (2018): path, pose, velocities, commands, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from diffbot_controllers.laws.tracking_errors import SETTLED_HEADING, SETTLED_POSITION
from diffbot_description import Robot
from diffbot_report import figure_style as style
from diffbot_report.adaptation_figures import (
    adaptation_errors_figure,
    adapted_parameters_figure,
    sigma_figure,
)
from diffbot_report.animation import write_animation
from diffbot_report.chart import Chart, Curve, Role
from diffbot_report.controller_topics import TORQUE, VELOCITY
from diffbot_report.drawing import Picture
from diffbot_report.drive_metrics import Tracking
from diffbot_report.drive_page import command_charts, velocity_charts
from diffbot_report.drive_recording import DriveRun
from diffbot_report.drive_results import DriveResults
from diffbot_report.panels import (
    DRIVING_TIME,
    LEGEND,
    Span,
    draw_panels,
    picture,
    rms_text,
)
from diffbot_report.quantity import significant
from diffbot_report.robot_silhouette import RobotSilhouette, placed

Colour = tuple[float, float, float]

# A wide band below the paths.
PALE = "#DCE1E8"
# Least and largest height of the drawing area, and its margins, inch.
LOWEST, HIGHEST = 3.2, 7.2
LEFT, RIGHT, BELOW, ABOVE = 0.75, 0.15, 0.55, 1.0
HEIGHT = 6.2  # height of the other figures, inch
# Time around a velocity step that is enlarged, s.
STEP_DETAIL = (0.02, 0.18)
# Time to reach full speed for a robot that begins on its path, s.
START_UP = 15.0
# Smallest errors of the logarithmic panels: mm and degrees.
FLOORS = 1e-2, 1e-3
# Name, unit, its size in SI units, least height of the panel.
POSE_QUANTITIES = (("x", "m", 1.0, 0.04), ("y", "m", 1.0, 0.04), ("θ", "°", np.degrees(1.0), 4.0))
# Wall time that an animation may take, s.
ANIMATION_TIME = 6.0


def drive_pictures(
    results: DriveResults, robot: Robot, title: str, animation: bool = True
) -> list[Picture]:
    """Return the pictures that have data to show, and the animation if wanted."""
    run = results.run
    make: dict[str, Callable[[DriveResults, str], Figure]] = {}
    if len(run.known_poses):
        make["path"] = partial(path_figure, robot=robot)
    if run.has_pose_reference:
        make["pose"] = pose_figure
    make["velocities"] = velocities_figure
    make[run.commanded.picture] = partial(commands_figure, robot=robot)
    if run.has_pose_reference:
        make["velocity_errors"] = velocity_errors_figure
        make |= _adaptation_figures(results)
    pictures = [picture(name, partial(figure, results, title)) for name, figure in make.items()]
    if animation and len(run.known_poses):
        limits = results.recording.limits
        film = partial(write_animation, run=run, robot=robot, limits=limits, title=title)
        pictures.append(Picture("drive.gif", film, ANIMATION_TIME))
    return pictures


def _adaptation_figures(
    results: DriveResults,
) -> dict[str, Callable[[DriveResults, str], Figure]]:
    lived, is_torque = results.adaptation, results.run.commanded is TORQUE
    make: dict[str, Callable[[DriveResults, str], Figure]] = {}
    if results.recording.state is None:
        return make
    if is_torque and (len(lived) or lived.changes):
        make["adaptation"] = adapted_parameters_figure
    if not is_torque and (results.law == "adaptive" or lived.changes):
        make["sigma"] = sigma_figure
    if lived.changes or "adaptation" in make:
        make["adaptation_errors"] = adaptation_errors_figure
    return make


def source(run: DriveRun, what: str, figures: str) -> str:
    """Return a subtitle: what is shown, and the figures of Lages (2018) for a pose."""
    if run.commanded is VELOCITY:
        return f"{what}; law (9)–(12) of Siwek et al. (2023)"
    if run.has_pose_reference:
        return f"{what}; after {figures} of Lages (2018)"
    return f"{what}; velocity loops of Lages (2017), (61)–(72)"


def path_figure(results: DriveResults, title: str, robot: Robot) -> Figure:
    """Draw y over x: reference, true path, path by odometry; the robot at start and end."""
    run, silhouette = results.run, RobotSilhouette.of(robot)
    poses = [p for p in (run.reference, run.true, run.odometry) if np.isfinite(p).any()]
    points = np.concatenate(poses)[:, :2]
    points = points[np.isfinite(points).all(axis=1)]
    low, high = (
        points.min(axis=0) - np.array([1.15, 1.5]) * silhouette.reach,  # below: the labels
        points.max(axis=0) + 1.15 * silhouette.reach,
    )
    width = style.WIDTH - LEFT - RIGHT
    height = float(np.clip(width * (high[1] - low[1]) / (high[0] - low[0]), LOWEST, HIGHEST))
    total = height + BELOW + ABOVE
    figure = style.new_figure(
        f"Path of {title}", source(run, "y over x", "Figs. 12, 19 and 29"), total
    )
    axes = figure.add_axes((LEFT / style.WIDTH, BELOW / total, width / style.WIDTH, height / total))
    style.quiet(axes)
    half = 0.5 * max((high[0] - low[0]) / width, (high[1] - low[1]) / height)
    for side, middle, inches in zip("xy", 0.5 * (low + high), (width, height), strict=True):
        axes.set(**{f"{side}lim": (middle - half * inches, middle + half * inches)})
    axes.set_xlabel("x, m", fontsize=9, color=style.INK)
    axes.set_ylabel("y, m", fontsize=9, color=style.INK)
    _lines(axes, run)
    _robots(axes, run, silhouette, robot.appearance.body)
    style.legend(figure, LEGEND)
    return figure


def _lines(axes: Axes, run: DriveRun) -> None:
    if run.has_truth:
        axes.plot(*run.true[:, :2].T, color=style.BLUE, linewidth=2.2, label="true path", zorder=4)
    if np.isfinite(run.odometry).any():
        axes.plot(
            *run.odometry[:, :2].T, color=style.ORANGE, linewidth=1.2,
            linestyle=(0, (4, 4)) if run.has_truth else "-", label="by odometry", zorder=5,
        )  # fmt: skip
    if not run.has_pose_reference:
        return
    reference = run.reference
    if np.ptp(reference[:, :2], axis=0).max() > 1e-3:
        axes.plot(
            *reference[:, :2].T, color=PALE, linewidth=8.0, solid_capstyle="round",
            label="reference", zorder=1.5,
        )  # fmt: skip
    else:
        axes.plot(
            *reference[-1, :2], "+", color=style.INK, markersize=13, markeredgewidth=1.6,
            label="goal", zorder=9,
        )  # fmt: skip


def _robots(axes: Axes, run: DriveRun, silhouette: RobotSilhouette, colour: Colour) -> None:
    known = np.flatnonzero(np.isfinite(run.pose).all(axis=1))
    if not len(known):
        return
    if run.has_pose_reference:
        _robot(axes, run.reference[-1], silhouette, None, 1.0)
    moved = float(np.linalg.norm(run.pose[known[-1], :2] - run.pose[known[0], :2]))
    names = ("start", "end") if moved > silhouette.reach else ("", "start and end")
    for at, name, alpha in ((known[0], names[0], 0.35), (known[-1], names[1], 0.9)):
        _robot(axes, run.pose[at], silhouette, colour, alpha)
        x, y, _ = run.pose[at]
        axes.annotate(
            name, (x, y - silhouette.reach), fontsize=10, color=style.INK, ha="center",
            va="top", zorder=10,
        )  # fmt: skip


def _robot(
    axes: Axes,
    pose: NDArray[np.float64],
    silhouette: RobotSilhouette,
    colour: Colour | None,
    alpha: float,
) -> None:
    """Draw the robot at a pose; without a colour only its dashed outline."""
    if colour is None:
        axes.add_patch(
            Polygon(
                placed(silhouette.body, pose), fill=False, edgecolor=style.INK, linewidth=1.0,
                linestyle=style.DASHES, alpha=0.7, zorder=8,
            )
        )  # fmt: skip
        return
    for wheel in silhouette.wheels:
        axes.add_patch(
            Polygon(placed(wheel, pose), facecolor=style.INK, linewidth=0, alpha=alpha, zorder=2)
        )
    body = placed(silhouette.body, pose)
    axes.add_patch(
        Polygon(body, facecolor=colour, edgecolor="white", linewidth=0.8, alpha=alpha, zorder=3)
    )
    axes.add_patch(
        Polygon(
            placed(silhouette.nose, pose), facecolor="white", linewidth=0, alpha=alpha, zorder=3
        )
    )


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
        charts.append(Chart(name, name, unit, [curve], note=rms_text(errors, unit)))
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


def pose_figure(results: DriveResults, title: str) -> Figure:
    """Draw x, y, theta with the reference, and the position and heading errors."""
    run, tracking, window = results.run, results.tracking, results.metrics.window
    subtitle = source(run, "over time with the reference", "Figs. 13–15, 20–22 and 30–32")
    figure = style.new_figure(f"Pose of {title}", subtitle, 7.0)
    edges = {"bottom": 0.075, "top": 0.845}
    left = figure.add_gridspec(3, 1, left=0.075, right=0.52, hspace=0.30, **edges)
    right = figure.add_gridspec(2, 1, left=0.605, right=0.985, hspace=0.22, **edges)
    for row in range(3):
        axes = figure.add_subplot(left[row])
        _quantity(axes, run, row)
        _over_time(axes, run, row == 2)
    errors = (
        (run.odometry_errors, "by odometry", style.ORANGE, 0.8),
        (run.true_errors, "true pose", style.BLUE, 1.6),
    )
    sizes = (
        ("distance", "mm", 1e3, SETTLED_POSITION, attrgetter("distance")),
        ("heading error", "°", np.degrees(1.0), SETTLED_HEADING, attrgetter("heading")),
    )
    for row, (name, unit, factor, limit, size_of) in enumerate(sizes):
        axes = figure.add_subplot(right[row])
        style.panel_title(axes, f"{name}, {unit}", _settled(tracking) if row == 0 else "")
        curves = [
            (result.time, np.maximum(factor * size_of(result), FLOORS[row]), label, colour, width)
            for result, label, colour, width in errors
            if result is not None
        ]
        _sizes(axes, curves, factor * limit)
        _over_time(axes, run, row == 1)
        if window and tracking:
            axes.axvspan(window.begin, window.end, color=style.GREEN, alpha=0.07, zorder=0)
            rms = 1e3 * tracking.rms_position if row == 0 else np.degrees(tracking.rms_heading)
            axes.annotate(
                f"{window.kind}: rms {significant(rms, 2)} {unit}", (1.0, 1.0), (-4, -12),
                xycoords="axes fraction", textcoords="offset points", ha="right", fontsize=9,
                color=style.INK,
            )  # fmt: skip
    style.legend(figure, LEGEND)
    return figure


def _quantity(axes: Axes, run: DriveRun, column: int) -> None:
    name, unit, scale, least = POSE_QUANTITIES[column]
    style.panel_title(axes, f"{name}, {unit}", "")
    reference, odometry, true = (p[:, column] for p in (run.reference, run.odometry, run.true))
    if column == 2:
        true = odometry + np.remainder(true - odometry + np.pi, 2.0 * np.pi) - np.pi
        turns = 2.0 * np.pi * np.round((reference - odometry) / (2.0 * np.pi))
        reference = reference - np.nanmedian(turns)
    axes.plot(run.time, scale * true, color=style.BLUE, linewidth=2.0, label="true pose")
    axes.plot(run.time, scale * odometry, color=style.ORANGE, linewidth=1.1, label="by odometry")
    axes.plot(
        run.time, scale * reference, color=style.INK, linewidth=1.2, linestyle=style.DASHES,
        label="reference",
    )  # fmt: skip
    axes.margins(y=0.12)
    low, high = axes.get_ylim()
    more = 0.5 * max(least - (high - low), 0.0)
    axes.set_ylim(low - more, high + more)


def _sizes(
    axes: Axes,
    curves: Sequence[tuple[NDArray[np.float64], NDArray[np.float64], str, str, float]],
    limit: float,
) -> None:
    """Draw errors (time, errors, label, colour, width) on a logarithmic scale, with the limit."""
    shown = [np.array([limit])]
    for time, values, label, colour, width in curves:
        shown.append(values)
        axes.plot(time, values, color=colour, linewidth=width, label=label)
    axes.axhline(
        limit, color=style.GREEN, linewidth=1.1, linestyle=style.DOTS, label="settled: 1 cm, 1°"
    )
    together = np.concatenate(shown)
    style.draw_logarithmic(axes, 0.5 * together.min(), 3.0 * together.max(), style.plain_number)


def _settled(tracking: Tracking | None) -> str:
    if tracking is None:
        return ""
    if tracking.settling_time is None:
        return "not settled"
    return f"settled after {tracking.settling_time:.2f} s"


def _over_time(axes: Axes, run: DriveRun, last: bool) -> None:
    style.quiet(axes)
    axes.set_xlim(0.0, max(run.time[-1], 1e-3))
    axes.tick_params(labelbottom=last)
    if last:
        axes.set_xlabel(DRIVING_TIME, fontsize=9, color=style.INK)
