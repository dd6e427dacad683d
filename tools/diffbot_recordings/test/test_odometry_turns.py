# SPDX-License-Identifier: Apache-2.0
"""Wheels that would have caused an odometry: the motion that they give is the odometry's."""

import numpy as np
import pytest

from arc_odometry import WheelGeometry
from diffbot_recordings.sensor_readings import ReadingsError, WheelPath, WheelTurns, odometry_turns

GEOMETRY = WheelGeometry(0.1, 0.1, 0.4)
STAMPS = 5.0 + 0.1 * np.arange(200)


def poses(yaw_offset=0.0):
    """Return rows [stamp, x, y, yaw] of a drive forwards, backwards and on the spot."""
    t = STAMPS - STAMPS[0]
    left, right = 8.0 * np.sin(0.4 * t), 6.0 * np.sin(0.5 * t) + 2.0 * np.maximum(t - 10.0, 0.0)
    path = WheelPath(WheelTurns(STAMPS, left, right), GEOMETRY).poses(STAMPS)
    path[:, 2] = (path[:, 2] + yaw_offset + np.pi) % (2.0 * np.pi) - np.pi
    cos, sin = np.cos(yaw_offset), np.sin(yaw_offset)
    path[:, :2] = path[:, :2] @ np.array([[cos, sin], [-sin, cos]])
    return np.column_stack((STAMPS, path)), left, right


@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_the_wheels_are_those_that_made_the_odometry(offset):
    rows, left, right = poses(offset)
    turns, lost = odometry_turns(rows, GEOMETRY)
    assert lost == 0
    assert turns.left - turns.left[0] == pytest.approx(left - left[0], abs=1e-9)
    assert turns.right - turns.right[0] == pytest.approx(right - right[0], abs=1e-9)


def test_of_an_odometry_that_is_reset_the_longest_part_counts():
    rows, left, _ = poses()
    rows[60:, 1:3] += 3.0
    turns, lost = odometry_turns(rows, GEOMETRY)
    assert lost == 60 and len(turns.stamps) == 140
    assert turns.left == pytest.approx(left[60:] - left[60], abs=1e-9)


def test_odometry_that_never_moves_and_too_little_of_it_are_refused():
    rows, _, _ = poses()
    with pytest.raises(ReadingsError, match="19 poses: must be 20 or more"):
        odometry_turns(rows[:19], GEOMETRY)
    rows[:, 1:] = 0.0
    with pytest.raises(ReadingsError, match="the pose never changes"):
        odometry_turns(rows, GEOMETRY)
