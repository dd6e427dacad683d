# SPDX-License-Identifier: Apache-2.0
"""Wheels that would have caused an odometry: for robots that publish odometry, not joint states."""

from __future__ import annotations

import math

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_recordings.sensor_readings import Array, ReadingsError, WheelTurns

FEWEST = 20
# A step that needs this many times the speed of nearly all steps is a jump or a reset.
JUMP, USUAL = 5.0, 95.0
# Smallest speed of a rim that counts as a jump, m/s.
SLOWEST_JUMP = 0.5


def odometry_turns(poses: Array, geometry: WheelGeometry) -> tuple[WheelTurns, int]:
    """Return the turns of wheels whose odometry, by exact arcs, is the longest part without jumps.

        >>> rows = [(0.1 * k, 0.05 * k, 0.0, 0.0) for k in range(30)]
        >>> turns, _ = odometry_turns(np.array(rows), WheelGeometry(0.1, 0.1, 0.4))
        >>> round(float(turns.left[-1]), 3)
        14.5

    Args:
        poses: Rows [stamp s, x m, y m, yaw rad] in the order of ascending stamps, (n, 4).
        geometry: Of the wheels; where the driver's own differs, only the angles do.

    Returns:
        The turns, and the number of poses that were left out.

    Raises:
        ReadingsError: There are too few poses, or they never move.
    """
    if len(poses) < FEWEST:
        raise ReadingsError(
            f"odometry: {len(poses)} poses: must be {FEWEST} or more; record longer"
        )
    stamps, x, y, yaw = poses.T
    turn = (np.diff(yaw) + math.pi) % math.tau - math.pi
    middle = yaw[:-1] + 0.5 * turn
    chord = np.cos(middle) * np.diff(x) + np.sin(middle) * np.diff(y)
    length = chord / np.sinc(turn / math.tau)
    across = np.abs(np.cos(middle) * np.diff(y) - np.sin(middle) * np.diff(x))
    rims = np.abs(length) + geometry.half_track * np.abs(turn) + across
    usual = float(np.percentile(rims / np.diff(stamps), USUAL))
    if usual == 0.0:
        raise ReadingsError("odometry: the pose never changes: drive while it is recorded")
    # Readings that came late move further in a short time: a jump is one by any usual period.
    period = np.maximum(np.diff(stamps), float(np.median(np.diff(stamps))))
    torn = np.flatnonzero(rims > max(JUMP * usual, SLOWEST_JUMP) * period) + 1
    ends = [0, *torn.tolist(), len(stamps)]
    begin, end = max(zip(ends[:-1], ends[1:], strict=True), key=lambda pair: pair[1] - pair[0])
    kept = slice(begin, end - 1)
    rolled = [
        np.concatenate(([0.0], np.cumsum(length[kept] + side * geometry.half_track * turn[kept])))
        for side in (-1.0, 1.0)
    ]
    turns = WheelTurns(
        stamps[begin:end], rolled[0] / geometry.left_radius, rolled[1] / geometry.right_radius
    )
    return turns, len(stamps) - (end - begin)
