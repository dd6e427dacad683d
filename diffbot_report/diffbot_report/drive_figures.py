# SPDX-License-Identifier: Apache-2.0
"""Pictures of a driving run, after Lages (2018): path, pose, velocities, commands and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from diffbot_controllers.laws.tracking_errors import (
    SETTLED_HEADING,
    SETTLED_POSITION,
    TrackingErrors,
)
from diffbot_description import Robot
from diffbot_ident import figure_style as style
from diffbot_report.adaptation_figures import (
    adaptation_errors_figure,
    adapted_parameters_figure,
    sigma_figure,
)
from diffbot_report.animation import write_animation
from diffbot_report.controller_topics import TORQUE, VELOCITY
from diffbot_report.drawing import Picture
from diffbot_report.drive_metrics import DriveMetrics, Tracking, changes_of
from diffbot_report.drive_recording import DriveRecording, DriveRun
from diffbot_report.drive_results import DriveResults
from diffbot_report.panels import (
    DASHES,
    DOTS,
    DRIVING_TIME,
    LEGEND,
    Panel,
    PanelCurve,
    draw_logarithmic,
    draw_panels,
    picture,
    plain_number,
    rms_text,
)
from diffbot_report.quantity import significant
from diffbot_report.robot_outline import RobotOutline, placed

Colour = tuple[float, float, float]

# Colour of a wide band below the paths; dashes would not be visible where laps overlap.
PALE = "#DCE1E8"
# Minimum and maximum height of the path's drawing area, inch.
LOWEST, HIGHEST = 3.2, 7.2
# Margins of the path's drawing area: left, right, below and above, inch.
LEFT, RIGHT, BELOW, ABOVE = 0.75, 0.15, 0.55, 1.0
HEIGHT = 6.2  # height of the other figures, inch
VELOCITIES = (("v", "m/s"), ("ω", "rad/s"))
# Time before and after a velocity step that is enlarged, s.
STEP_DETAIL = (0.02, 0.18)
# Time for a robot that begins on its path to reach full speed, s.
START_UP = 15.0
# Smallest errors that the logarithmic panels show: mm and degrees.
FLOORS = 1e-2, 1e-3
# Name, unit, its size in SI units, and minimum height of the panel in the unit.
POSE_QUANTITIES = (("x", "m", 1.0, 0.04), ("y", "m", 1.0, 0.04), ("θ", "°", np.degrees(1.0), 4.0))
# Wall time that an animation may take, s.
ANIMATION_TIME = 6.0


def drive_pictures(
    run: DriveRun,
    results: DriveResults,
    recording: DriveRecording,
    robot: Robot,
    title: str,
    animation: bool = True,
) -> list[Picture]:
    """Return the pictures that have data to show, and the animation.

    Args:
        run: At least two samples.
        results: Results of the run.
        recording: Recording of the same run, for the controller's state.
        robot: The robot, for its shape and colours.
        title: What was run.
        animation: Whether drive.gif is made.
    """
    wanted, limits = recording.fields.velocity_name, recording.limits
    shown = (run, results, wanted, title)
    make: dict[str, Callable[[], Figure]] = {}
    if len(run.known_poses):
        outline, colour = RobotOutline.of(robot), robot.appearance.body
        make["path"] = partial(path_figure, run, outline, colour, title)
    if run.has_pose_reference:
        make["pose"] = partial(pose_figure, run, results.metrics, title)
    make["velocities"] = partial(velocities_figure, *shown)
    make[run.commanded.picture] = partial(commands_figure, run, results, limits, title)
    if run.has_pose_reference:
        make["velocity_errors"] = partial(velocity_errors_figure, *shown)
        make |= _adaptation_figures(run, results, recording, title)
    pictures = [picture(name, figure) for name, figure in make.items()]
    if animation and len(run.known_poses):

        def film(path: Path) -> Any:
            return write_animation(path, run, robot, limits, title)

        pictures.append(Picture("drive.gif", film, ANIMATION_TIME))
    return pictures


def _adaptation_figures(
    run: DriveRun, results: DriveResults, recording: DriveRecording, title: str
) -> dict[str, Callable[[], Figure]]:
    """Return the figures for live parameters or changes of the robot."""
    lived, state = recording.adaptation_run(), recording.state
    if state is None:
        return {}
    changes = changes_of(run, lived, results.metrics.window)
    make: dict[str, Callable[[], Figure]] = {}
    errors = partial(adaptation_errors_figure, run, lived, changes, title)
    if run.commanded is VELOCITY:
        if state.law == "adaptive" or lived.changes:
            make["sigma"] = partial(sigma_figure, run, lived, title)
        if lived.changes:
            make["adaptation_errors"] = errors
    elif len(lived) or lived.changes:
        end = float(run.time[-1])
        make["adaptation"] = partial(adapted_parameters_figure, lived, state.parameters, end, title)
        make["adaptation_errors"] = errors
    return make


def source(run: DriveRun, what: str, figures: str) -> str:
    """Return a subtitle: what is shown, and the matching figures of Lages (2018) for a pose."""
    if run.commanded is VELOCITY:
        return f"{what}; law (9)–(12) of Siwek et al. (2023)"
    if run.has_pose_reference:
        return f"{what}; after {figures} of Lages (2018)"
    return f"{what}; velocity loops of Lages (2017), (61)–(72)"


def path_figure(run: DriveRun, outline: RobotOutline, colour: Colour, title: str) -> Figure:
    """Draw y over x: reference, true path, path by odometry; the robot at its start and end.

    Args:
        run: At least one sample.
        outline: Outline of the robot.
        colour: Colour of its body.
        title: What was run.
    """
    poses = [p for p in (run.reference, run.true, run.odometry) if np.isfinite(p).any()]
    points = np.concatenate(poses)[:, :2]
    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0) - 1.15 * outline.reach, points.max(axis=0) + 1.15 * outline.reach
    width = style.WIDTH - LEFT - RIGHT
    height = float(np.clip(width * (high[1] - low[1]) / (high[0] - low[0]), LOWEST, HIGHEST))
    total = height + BELOW + ABOVE
    figure = style.new_figure(
        f"Path of {title}", source(run, "y over x", "Figs. 12, 19 and 29"), total
    )
    axes = figure.add_axes((LEFT / style.WIDTH, BELOW / total, width / style.WIDTH, height / total))
    style.quiet(axes)
    # Equal scales: the shorter side gets the larger margin.
    half = 0.5 * max((high[0] - low[0]) / width, (high[1] - low[1]) / height)
    for side, middle, inches in zip("xy", 0.5 * (low + high), (width, height), strict=True):
        axes.set(**{f"{side}lim": (middle - half * inches, middle + half * inches)})
    axes.set_xlabel("x, m", fontsize=9, color=style.INK)
    axes.set_ylabel("y, m", fontsize=9, color=style.INK)
    _lines(axes, run)
    _robots(axes, run, outline, colour)
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


def _robots(axes: Axes, run: DriveRun, outline: RobotOutline, colour: Colour) -> None:
    known = np.flatnonzero(np.isfinite(run.pose).all(axis=1))
    if not len(known):
        return
    if run.has_pose_reference:
        _robot(axes, run.reference[-1], outline, None, 1.0)
    moved = float(np.linalg.norm(run.pose[known[-1], :2] - run.pose[known[0], :2]))
    # Two labels need enough distance between them.
    names = ("start", "end") if moved > outline.reach else ("", "start and end")
    for at, name, alpha in ((known[0], names[0], 0.35), (known[-1], names[1], 0.9)):
        _robot(axes, run.pose[at], outline, colour, alpha)
        # Place the label beside the robot, clear of its body and of the path ahead.
        x, y, theta = run.pose[at]
        side = np.array([-np.sin(theta), np.cos(theta)]) * 1.35 * outline.half_track
        side *= 1.0 if side[1] < 0.0 or abs(side[1]) < 1e-9 else -1.0
        axes.annotate(
            name, (x + side[0], y + side[1]), fontsize=10, color=style.INK, ha="center",
            va="top", zorder=10,
        )  # fmt: skip


def _robot(
    axes: Axes,
    pose: NDArray[np.float64],
    outline: RobotOutline,
    colour: Colour | None,
    alpha: float,
) -> None:
    """Draw the robot at a pose; without a colour only its dashed outline."""
    if colour is None:
        axes.add_patch(
            Polygon(
                placed(outline.body, pose), fill=False, edgecolor=style.INK, linewidth=1.0,
                linestyle=DASHES, alpha=0.7, zorder=8,
            )
        )  # fmt: skip
        return
    for wheel in outline.wheels:
        axes.add_patch(
            Polygon(placed(wheel, pose), facecolor=style.INK, linewidth=0, alpha=alpha, zorder=2)
        )
    body = placed(outline.body, pose)
    axes.add_patch(
        Polygon(body, facecolor=colour, edgecolor="white", linewidth=0.8, alpha=alpha, zorder=3)
    )
    axes.add_patch(
        Polygon(placed(outline.nose, pose), facecolor="white", linewidth=0, alpha=alpha, zorder=3)
    )


def commands_figure(
    run: DriveRun, results: DriveResults, limits: tuple[float, float], title: str
) -> Figure:
    """Draw the commands with their limits: wheel torques, or velocities with the measured ones.

    Args:
        run: At least two samples.
        results: Results of the run.
        limits: Limits of both commands; 0 if unknown.
        title: What was run.
    """
    what = run.commanded
    peaks = zip(results.peak_command or (np.nan, np.nan), what.units, strict=True)
    figure = style.new_figure(
        f"{what.title} of {title}",
        source(
            run,
            "as commanded, peaks " + " and ".join(f"{peak:.3g} {unit}" for peak, unit in peaks),
            "Figs. 16, 23 and 33",
        ),
        HEIGHT,
    )
    detail = details(run, results)[0]
    rows = []
    for column, (name, unit, limit) in enumerate(zip(what.names, what.units, limits, strict=True)):
        values = run.command[:, column]
        if what is TORQUE:
            colour = (style.BLUE, style.ORANGE)[column]
            curves = [PanelCurve(f"{name} wheel", values, colour, 1.3, steps=True)]
        else:
            curves = [
                PanelCurve("commanded", values, style.BLUE, 1.0, steps=True),
                PanelCurve("measured", run.velocity[:, column], style.ORANGE, 1.4),
            ]
        known = 0.0 < limit < np.inf
        said = rms_text(values, unit) + (f", limit ±{limit:g}" if known else "")
        rows.append(
            Panel(f"{name}, {unit}", said, curves, detail, (-limit, limit) if known else ())
        )
    draw_panels(figure, run.time, rows)
    return figure


def velocities_figure(run: DriveRun, results: DriveResults, wanted_name: str, title: str) -> Figure:
    """Draw the desired and the actual velocities.

    Args:
        run: At least two samples.
        results: Results of the run.
        wanted_name: Symbol of the desired velocity.
        title: What was run.
    """
    figure = style.new_figure(
        f"Velocities of {title}",
        source(run, f"{wanted_name} asked for and u driven", "Figs. 17, 24 and 34"),
        HEIGHT,
    )
    measured = "u by encoders" if run.commanded is TORQUE else "u by odometry"
    rows = []
    for column, ((name, unit), detail) in enumerate(
        zip(VELOCITIES, details(run, results), strict=True)
    ):
        true = run.true_velocity[:, column]
        curves = [
            PanelCurve(measured, run.velocity[:, column], style.ORANGE, 1.1),
            PanelCurve(wanted_name, run.wanted[:, column], style.INK, 1.2, True, True),
        ]
        if np.isfinite(true).any():
            curves.insert(0, PanelCurve("true u", true, style.BLUE, 2.0))
        said = f"max {np.nanmax(np.abs(run.best_velocity[:, column])):.3g} {unit}"
        rows.append(Panel(f"{name}, {unit}", said, curves, detail))
    draw_panels(figure, run.time, rows)
    return figure


def velocity_errors_figure(
    run: DriveRun, results: DriveResults, wanted_name: str, title: str
) -> Figure:
    """Draw the velocity errors, u minus the desired velocity: e_1 and e_2 of (22), (23).

    Args:
        run: At least two samples.
        results: Results of the run.
        wanted_name: Symbol of the desired velocity.
        title: What was run.
    """
    subtitle = source(run, f"u − {wanted_name}", "Figs. 18, 25 and 35")
    figure = style.new_figure(f"Velocity errors of {title}", subtitle, HEIGHT)
    rows = []
    for column, ((_, unit), detail) in enumerate(
        zip(VELOCITIES, details(run, results), strict=True)
    ):
        colour = (style.GREEN, style.PURPLE)[column]
        errors = run.velocity[:, column] - run.wanted[:, column]
        name = run.commanded.error_names[column]
        rows.append(
            Panel(
                f"{name}, {unit}",
                rms_text(errors, unit),
                [PanelCurve(name, errors, colour)],
                detail,
            )
        )
    draw_panels(figure, run.time, rows)
    return figure


def details(run: DriveRun, results: DriveResults) -> Sequence[tuple[float, float]]:
    """Return the part of the run to enlarge, s, for v and for omega.

    It is the first step of each velocity or, without steps, the time until the robot has settled.
    """
    end = float(run.time[-1])
    tracking = results.metrics.true or results.metrics.odometry
    settled = tracking.settling_time if tracking else None
    opening = min(2.0, 0.25 * end)
    if settled is not None:
        opening = float(np.clip(1.3 * settled, min(0.3, end), max(0.4 * end, min(2.0, end))))
    if run.commanded is VELOCITY:
        # A robot that begins on its path has nothing to settle: show the acceleration to full
        # speed.
        opening = min(START_UP, 0.25 * end)
    found = []
    for channel in ("v", "omega"):
        times = [step.time for step in results.steps if step.channel == channel]
        if not times:
            times = [step.time for step in results.steps]
        if times:
            found.append((max(times[0] - STEP_DETAIL[0], 0.0), min(times[0] + STEP_DETAIL[1], end)))
        else:
            found.append((0.0, opening))
    return found


def pose_figure(run: DriveRun, metrics: DriveMetrics, title: str) -> Figure:
    """Draw x, y, theta with the reference, and the position and heading errors.

    Args:
        run: A run with a pose reference.
        metrics: Metrics of the run, for the titles.
        title: What was run.
    """
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
    sizes: tuple[tuple[str, str, float, Callable[[TrackingErrors], NDArray[np.float64]]], ...] = (
        ("distance", "mm", 1e3 * SETTLED_POSITION, lambda e: 1e3 * e.distance),
        (
            "heading error",
            "°",
            np.degrees(SETTLED_HEADING),
            lambda found: np.degrees(found.heading),
        ),
    )
    for row, (name, unit, limit, of) in enumerate(sizes):
        axes = figure.add_subplot(right[row])
        tracking = metrics.true or metrics.odometry
        style.panel_title(axes, f"{name}, {unit}", _settled(tracking) if row == 0 else "")
        curves = [
            (found.time, np.maximum(of(found), FLOORS[row]), label, colour, width)
            for found, label, colour, width in errors
            if found is not None
        ]
        _sizes(axes, curves, limit)
        _over_time(axes, run, row == 1)
        if metrics.window and tracking:
            axes.axvspan(
                metrics.window.begin, metrics.window.end, color=style.GREEN, alpha=0.07, zorder=0
            )
            rms = 1e3 * tracking.rms_position if row == 0 else np.degrees(tracking.rms_heading)
            axes.annotate(
                f"{metrics.window.kind}: rms {significant(rms, 2)} {unit}", (1.0, 1.0), (-4, -12),
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
        # Headings that differ by whole turns are the same.
        true = odometry + np.remainder(true - odometry + np.pi, 2.0 * np.pi) - np.pi
        turns = 2.0 * np.pi * np.round((reference - odometry) / (2.0 * np.pi))
        reference = reference - np.nanmedian(turns)
    axes.plot(run.time, scale * true, color=style.BLUE, linewidth=2.0, label="true pose")
    axes.plot(run.time, scale * odometry, color=style.ORANGE, linewidth=1.1, label="by odometry")
    axes.plot(
        run.time, scale * reference, color=style.INK, linewidth=1.2, linestyle=DASHES,
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
    """Draw errors on a logarithmic scale, with the error that counts as settled.

    Each curve: time, errors, label, colour, width.
    """
    shown = [np.array([limit])]
    for time, values, label, colour, width in curves:
        shown.append(values)
        axes.plot(time, values, color=colour, linewidth=width, label=label)
    axes.axhline(limit, color=style.GREEN, linewidth=1.1, linestyle=DOTS, label="settled: 1 cm, 1°")
    together = np.concatenate(shown)
    draw_logarithmic(axes, 0.5 * together.min(), 3.0 * together.max(), plain_number)


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
