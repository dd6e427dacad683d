# SPDX-License-Identifier: Apache-2.0
"""Charts of a calibration: sizes with intervals, paths before and after, drift, residuals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from arc_odometry import WheelGeometry
from diffbot_calibration.calibration import Calibration
from diffbot_calibration.drive_parameters import Fit
from diffbot_recordings.sensor_readings import Array
from diffbot_recordings.wheel_path import WheelPath
from diffbot_report.chart import Chart, ChartGroup, Curve, Intervals, Role

# Name of each size, its unit and the unit's size in SI units.
SIZES = {
    "left_radius": ("Left radius", "mm", 1e3),
    "right_radius": ("Right radius", "mm", 1e3),
    "track": ("Track", "mm", 1e3),
    "track_over_mean_radius": ("Track / radius", "", 1.0),
    "radius_ratio": ("Right / left", "", 1.0),
    "linear_scale": ("Linear scale", "", 1.0),
    "angular_scale": ("Angular scale", "", 1.0),
    "heading_drift": ("Drift of heading", "mrad/m", 1e3),
}
BEFORE, AFTER = "odometry before", "odometry after"
POSES, LEFT_OUT = "pose source", "left out"
# Distance around the path of the pose source that is shown, m.
AROUND = 0.5


def sizes_group(calibration: Calibration) -> ChartGroup:
    """Chart each size: estimated with its interval, and given."""
    charts = []
    for name, before in calibration.before.items():
        title, unit, factor = SIZES[name]
        result, nan = calibration.quantities[name], math.nan
        value, lower, upper = (
            (factor * each for each in (result.value, result.lower, result.upper))
            if result.identified
            else (nan, nan, nan)
        )
        charts.append(
            Intervals(
                f"size_{name}", title, unit, ["found", "before"], [value, factor * before],
                [upper - value, nan], note="" if result.identified else "not identified",
                below=[value - lower, nan],
            )
        )  # fmt: skip
    title = f"Calibration by {calibration.source}: {calibration.outcome.value}"
    return ChartGroup("calibration", title, "", charts)


def evidence_groups(calibration: Calibration) -> Iterator[ChartGroup]:
    """Yield the robot's way and the drift of odometry, if the calibration has a fit."""
    fit = calibration.fit
    if fit is None:
        return
    if fit.drive.poses is not None:
        text = "Pose source, and odometry before and after, aligned at the start."
        yield ChartGroup("way", "Way", text, [path_chart(ways(calibration, fit))])
    text = "Drift of odometry on held-out motion, and residuals of the fit."
    yield ChartGroup("drift", "Drift", text, [*_drift(calibration), _residuals(fit)])


def path_chart(ways: Mapping[str, ArrayLike]) -> Chart:
    """Chart named paths [x, y], m, shape (n, 2) each, in one; a pose source as dots."""
    roles = (Role.FIRST, Role.SECOND, Role.QUIET, Role.THIRD, Role.FOURTH)
    curves = []
    for (name, path), role in zip(ways.items(), roles, strict=False):
        x, y = np.asarray(path, float).reshape(-1, 2).T
        curves.append(Curve(name, x, y, role, dots=name in (POSES, LEFT_OUT)))
    # Draw the lines last: dots would hide them.
    curves.sort(key=lambda curve: not curve.dots)
    # Without odometry that strays and poses that are wrong.
    kept = [curve.y for curve in curves if curve.name not in (BEFORE, LEFT_OUT)]
    y = np.concatenate([np.zeros(0), *(np.asarray(each, float) for each in kept)])
    shown = (float(y.min()) - AROUND, float(y.max()) + AROUND) if len(y) else None
    return Chart("way", "Way", "y, m", curves, "x, m", None, y_range=shown, equal=True)


def ways(calibration: Calibration, fit: Fit) -> dict[str, Array]:
    """Return paths [x, y], m, (n, 2), in the pose source's frame up to its first jump, by name."""
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
    jumps = np.flatnonzero(fit.drive.breaks)
    return int(jumps[0]) + 1 if len(jumps) else len(fit.drive.stamps)


def _in_frame(fit: Fit, geometry: WheelGeometry, taken: Array) -> tuple[Array, Array]:
    odometry = WheelPath(fit.drive.wheels, geometry).poses(taken)
    first = WheelPath(fit.drive.wheels, fit.geometry(1.0)).poses(taken[:1])[0]
    a, c = fit.walk[0, 0], fit.walk[0, 1:3]
    path = (odometry[:, 0] - odometry[0, 0]) + 1j * (odometry[:, 1] - odometry[0, 1])
    turn = first[2] - odometry[0, 2]
    place = complex(*first[:2]) + path * np.exp(1j * turn)
    lever = complex(fit.value("mount_x"), fit.value("mount_y"))
    place = place + lever * np.exp(1j * (odometry[:, 2] + turn))
    place = complex(*c) + place * np.exp(1j * a)
    return place.real, place.imag


def _drift(calibration: Calibration) -> Iterator[Chart]:
    result = calibration.held_out
    if result is None:
        return
    errors = result.errors
    sizes = [("heading", "°", np.degrees(np.abs(errors[..., 0])))]
    if result.after.position is not None:
        sizes.append(("position", "mm", 1e3 * np.hypot(errors[..., 1], errors[..., 2])))
    windows = np.arange(len(errors))
    for name, unit, drift in sizes:
        curves = [
            Curve("before", windows, drift[:, 0], Role.SECOND),
            Curve("after", windows, drift[:, 1]),
        ]
        where = f"window of {result.window:g} s"
        yield Chart(f"drift_{name}", f"Drift of {name}", unit, curves, where, None)


def _residuals(fit: Fit) -> Chart:
    time = fit.drive.stamps - fit.drive.stamps[0]
    if fit.drive.poses is None:
        curves = [Curve("residual", time, 1e3 * fit.residuals[:, -1], Role.THIRD, dots=True)]
        return Chart("residuals", "Residual of the gyro", "mrad", curves)
    used = fit.used
    curves = [
        Curve(f"residual in {axis}", time[used], 1e3 * fit.residuals[used, i], role, dots=True)
        for i, (axis, role) in enumerate((("x", Role.THIRD), ("y", Role.QUIET)))
    ]
    return Chart("residuals", "Residuals", "mm", curves)
