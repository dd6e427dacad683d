"""The robot's path seen from above."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.figure_source import source
from diffbot_bringup.drive_report.robot_outline import RobotOutline, placed
from diffbot_ident import figure_style as style

Colour = tuple[float, float, float]

DASHES = (0, (5, 3))
# A wide band below the paths: where laps cover each other, dashes would not be seen.
PALE = "#DCE1E8"
# Height of the drawing area, inch, at the least and at most.
LOWEST, HIGHEST = 3.2, 7.2
# Top of the legend, inch below the figure's top.
LEGEND = 0.62
# Drawing area: what the margins leave of the width; inch below and above it.
LEFT, RIGHT, BELOW, ABOVE = 0.75, 0.15, 0.55, 1.0


def path_figure(run: DriveRun, outline: RobotOutline, colour: Colour, title: str) -> Figure:
    """Y over x: reference, true path, path by odometry; the robot at its start and end.

    Args:
        run: at least one sample.
        outline: of the robot.
        colour: of its body.
        title: what was run.
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
    # Equal scales: the shorter side gets more room.
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
    for at, name, alpha in ((known[0], "start", 0.35), (known[-1], "end", 0.9)):
        _robot(axes, run.pose[at], outline, colour, alpha)
        # Beside the robot, where neither its own body nor the way ahead is.
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
    """The robot at a pose; without a colour only its dashed outline."""
    if colour is None:
        edge = {"fill": False, "edgecolor": style.INK, "linewidth": 1.0, "linestyle": DASHES}
        axes.add_patch(Polygon(placed(outline.body, pose), zorder=8, alpha=0.7, **edge))
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
