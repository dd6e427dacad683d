# SPDX-License-Identifier: Apache-2.0
"""First guess of track and mounting of a pose source from its displacements.

See docs/theory/calibration.md#first-guess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_recordings.sensor_readings import PoseReadings, WheelTurns
from diffbot_recordings.sensor_turns import (
    RATIO,
    CalibrationError,
    Turns,
    robust_regression,
    windows,
)
from diffbot_recordings.wheel_path import WheelPath

# Length of the windows, s, over which displacements are compared.
PATH_WINDOW = 1.0
# Least ratio of singular values at which track and mounting can be told apart.
DISTINCT = 0.03


@dataclass(frozen=True)
class Mounting:
    """Track and place [x ahead, y left] of a pose source, m, its yaw, rad, and the misfit, m."""

    track: float
    x: float
    y: float
    yaw: float
    residual: float


def mounting(
    wheels: WheelTurns, poses: PoseReadings, turns: Turns, geometry: WheelGeometry
) -> Mounting:
    """Return a first guess of track and mounting for known turns.

    Raises:
        CalibrationError: The displacements are mirrored, in another unit, or do not suffice.
    """
    result = _mounting(wheels, poses, turns, mirrored=False)
    mirror = _mounting(wheels, poses, turns, mirrored=True)
    if mirror.residual < 0.5 * result.residual:
        raise CalibrationError(
            "the pose source's path bends opposite to its yaw: its frame is mirrored (y down); "
            "change the sign of y"
        )
    ratio = result.track / geometry.separation
    if not RATIO[0] < ratio < RATIO[1]:
        unit = " (mm instead of m?)" if 500.0 < ratio < 2000.0 else ""
        unit = " (cm instead of m?)" if 50.0 < ratio < 200.0 else unit
        raise CalibrationError(
            f"the pose source's path is {ratio:.3g} times as long as that of wheels of this "
            f"radius{unit}, must be {RATIO[0]:g} to {RATIO[1]:g}: give x and y in m, and check "
            "the wheels' radius in the robot file"
        )
    return result


def _mounting(wheels: WheelTurns, poses: PoseReadings, turns: Turns, mirrored: bool) -> Mounting:
    pairs, _ = windows(poses.stamps, PATH_WINDOW)
    unit = WheelPath(wheels, WheelGeometry(turns.left, turns.right, 1.0))
    there = unit.poses(poses.stamps - turns.delay)
    place = there[:, 0] + 1j * there[:, 1]
    source = poses.x + (-1j if mirrored else 1j) * poses.y
    begin, end = pairs.T
    path = (source[end] - source[begin]) * np.exp(-1j * poses.yaw[begin])
    q = (place[end] - place[begin]) * np.exp(-1j * there[begin, 2])
    turn = np.exp(1j * (there[end, 2] - there[begin, 2])) - 1.0
    design = np.stack((q / max(float(np.std(np.abs(q))), 1e-9), turn), axis=1)
    sizes = np.linalg.svd(design, compute_uv=False)
    if not (np.mean(np.abs(q)) > 1e-3 and sizes[1] > DISTINCT * sizes[0]):
        raise CalibrationError(
            "too little motion: with turns on the spot or one circle only, the track cannot be "
            "distinguished from the sensor's position; drive straight legs, and turns both ways"
        )
    (u, lever), residual = robust_regression(np.stack((q, turn), axis=1), path)
    m = lever * np.exp(-1j * np.angle(u))
    return Mounting(float(abs(u)), float(m.real), float(m.imag), float(-np.angle(u)), residual)
