# SPDX-License-Identifier: Apache-2.0
"""Pictures of a calibration: sizes with intervals, paths before and after, drift, residuals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from arc_odometry import WheelGeometry
from diffbot_ident.calibration.calibrate import Calibration, sizes_of
from diffbot_ident.calibration.readings import Array
from diffbot_ident.calibration.wheel_geometry import Fit
from diffbot_ident.calibration.wheel_path import WheelPath
from diffbot_ident.figure_style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    QUIET,
    legend,
    new_figure,
    panel_title,
    quiet,
    say,
)

SIZES = {
    "left_radius": ("left radius in mm", 1e3),
    "right_radius": ("right radius in mm", 1e3),
    "track": ("track in mm", 1e3),
    "track_over_mean_radius": ("track / radius", 1.0),
    "radius_ratio": ("right / left", 1.0),
}
BEFORE, AFTER = "odometry before", "odometry after"
POSES, LEFT_OUT = "pose source", "left out"
# Maximum number of characters of a reason below a title.
MOST = 118
# Distance of the legend from the top, inch: below the reason, which may fill the width.
LEGEND = 0.62


def draw(calibration: Calibration, folder: Path) -> list[Path]:
    """Draw all pictures that the calibration allows; return their paths."""
    figures = {"calibration.png": sizes_figure(calibration)}
    if calibration.fit is not None:
        if calibration.fit.drive.poses is not None:
            figures["way.png"] = way_figure(calibration, calibration.fit)
        figures["drift.png"] = drift_figure(calibration, calibration.fit)
    paths = []
    for name, figure in figures.items():
        figure.savefig(folder / name)
        paths.append(folder / name)
    return paths


def sizes_figure(calibration: Calibration) -> Figure:
    """Draw each size: given, and estimated with its interval."""
    figure = new_figure(
        f"Calibration by {calibration.source}: {calibration.outcome.value}",
        _cut(calibration.reason),
        3.5,
    )
    before = sizes_of(calibration.given)
    panels = figure.subplots(
        1,
        5,
        gridspec_kw={"left": 0.06, "right": 0.985, "top": 0.68, "bottom": 0.11, "wspace": 0.55},
    )
    for axes, (name, (label, factor)) in zip(panels, SIZES.items(), strict=True):
        quantity = calibration.quantities[name]
        quiet(axes)
        axes.set_xticks([])
        axes.set_xlim(-1.0, 1.0)
        axes.axhline(before[name] * factor, color=QUIET, linestyle="--", label="given")
        if quantity.identified:
            value = quantity.value * factor
            ends = [[value - quantity.lower * factor], [quantity.upper * factor - value]]
            axes.errorbar([0.0], [value], ends, fmt="o", color=BLUE, capsize=5, label="95 %")
        else:
            say(axes, "not\nidentified")
        axes.ticklabel_format(useOffset=False)
        axes.set_title(label, fontsize=10, color=INK)
    legend(figure, LEGEND)
    return figure


def way_figure(calibration: Calibration, fit: Fit) -> Figure:
    """Draw the pose source's path, and odometry before and after, aligned at the start."""
    figure = new_figure("Way of the robot: pose source and odometry", _cut(calibration.reason), 5.2)
    axes = figure.add_axes((0.08, 0.1, 0.9, 0.69))
    quiet(axes)
    found = ways(calibration, fit)
    span = found[POSES]
    axes.plot(*span.T, ".", color=QUIET, markersize=3, label=POSES)
    axes.plot(*found[LEFT_OUT].T, "x", color=INK, markersize=4, label=LEFT_OUT)
    for label, colour in ((BEFORE, ORANGE), (AFTER, BLUE)):
        axes.plot(*found[label].T, color=colour, linewidth=1.2, label=label)
    if len(span):
        low, high = span.min(axis=0) - 0.5, span.max(axis=0) + 0.5
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel("x in m")
    axes.set_ylabel("y in m")
    legend(figure, 0.75)
    return figure


def ways(calibration: Calibration, fit: Fit) -> dict[str, Array]:
    """Return the paths up to the first jump of the pose source's frame.

    Args:
        calibration: The calibration.
        fit: Its fit, with a pose source.

    Returns:
        [x, y] in the pose source's frame, m, (n, 2) each, by name.
    """
    poses = fit.drive.poses
    assert poses is not None
    taken = fit.taken(fit.drive.stamps)
    begin = _first_jump(fit)
    used, places = fit.used[:begin], poses[:begin, :2]
    odometry = {
        name: np.stack(_in_frame(fit, geometry, taken[:begin]), axis=1)
        for name, geometry in ((AFTER, calibration.geometry), (BEFORE, calibration.given))
    }
    return {**odometry, POSES: places[used], LEFT_OUT: places[~used]}


def _first_jump(fit: Fit) -> int:
    """Return the number of poses before the pose source's frame first jumps."""
    jumps = np.flatnonzero(fit.drive.breaks)
    return int(jumps[0]) + 1 if len(jumps) else len(fit.drive.stamps)


def _in_frame(fit: Fit, geometry: WheelGeometry, taken: Array) -> tuple[Array, Array]:
    """Return the sensor's path by odometry, in the pose source's frame at the start."""
    odometry = WheelPath(fit.drive.wheels, geometry).poses(taken)
    first = WheelPath(fit.drive.wheels, fit.geometry(1.0)).poses(taken[:1])[0]
    a, c = fit.walk[0, 0], fit.walk[0, 1:3]
    way = (odometry[:, 0] - odometry[0, 0]) + 1j * (odometry[:, 1] - odometry[0, 1])
    turn = first[2] - odometry[0, 2]
    place = complex(*first[:2]) + way * np.exp(1j * turn)
    lever = complex(fit.value("mount_x"), fit.value("mount_y"))
    place = place + lever * np.exp(1j * (odometry[:, 2] + turn))
    place = complex(*c) + place * np.exp(1j * a)
    return place.real, place.imag


def drift_figure(calibration: Calibration, fit: Fit) -> Figure:
    """Draw the drift on held-out windows, and residuals of the fit."""
    figure = new_figure("Drift of odometry on held-out motion", _cut(calibration.reason), 3.8)
    panels = figure.subplots(
        1, 3, gridspec_kw={"left": 0.07, "right": 0.985, "top": 0.69, "bottom": 0.14, "wspace": 0.3}
    )
    found = calibration.held_out
    for axes, (label, unit, size) in zip(
        panels, (("heading", "deg", 180.0 / math.pi), ("position", "mm", 1e3)), strict=False
    ):
        quiet(axes)
        panel_title(axes, label, unit)
        if found is None or (label == "position" and found.after.position is None):
            say(axes, "no held-out windows" if found is None else "no pose source")
            continue
        errors = found.errors
        shown = np.abs(errors[..., 0]) if label == "heading" else np.hypot(*errors[..., 1:].T).T
        at = np.arange(len(errors))
        for i, colour in enumerate((ORANGE, BLUE)):
            axes.bar(
                at + 0.4 * i - 0.2,
                shown[:, i] * size,
                0.38,
                color=colour,
                label=("before", "after")[i],
            )
        axes.set_xlabel(f"window of {found.window:g} s")
    _residuals(panels[2], fit)
    legend(figure, LEGEND)
    return figure


def _residuals(axes: Axes, fit: Fit) -> None:
    quiet(axes)
    time = fit.drive.stamps - fit.drive.stamps[0]
    if fit.drive.poses is not None:
        panel_title(axes, "residuals", "mm")
        used = fit.used
        for column, colour in ((0, GREEN), (1, QUIET)):
            axes.plot(
                time[used], 1e3 * fit.residuals[used, column], ".", color=colour, markersize=2
            )
            # Default marker size in the legend, where a single dot must be visible.
            axes.plot([], [], ".", color=colour, label=f"residual in {'xy'[column]}")
    else:
        panel_title(axes, "residual of the gyro", "mrad")
        axes.plot(time, 1e3 * fit.residuals[:, -1], ".", color=GREEN, markersize=2)
    axes.set_xlabel("s")


def _cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[: MOST - 1].rstrip()}…"
