# SPDX-License-Identifier: Apache-2.0
"""Trajectories that begin where the robot stands, within a room around it."""

import math

import numpy as np
import pytest

from arc_odometry import Pose
from pose2d_trajectories.shapes import from_pose, make_trajectory

START = Pose(1.0, -2.0, 2.5)


def places(trajectory, end):
    """Positions relative to START, (n, 2), and the largest difference of v to their own motion."""
    times = np.linspace(0.0, end, 4001)
    rows = [trajectory.at(t) for t in times]
    relative = np.array([row.pose.relative_to(START)[:2] for row in rows])
    moved = np.hypot(*np.diff(relative, axis=0).T) / np.diff(times)
    speeds = np.abs([row.v for row in rows])
    return relative, np.abs(moved - 0.5 * (speeds[1:] + speeds[:-1])).max()


@pytest.mark.parametrize("laps", [0, 1])
@pytest.mark.parametrize("name", ["figure_eight", "siwek_eight", "circle", "rounded_square"])
def test_a_trajectory_begins_at_a_pose_and_stays_in_its_room(name, laps):
    room = (0.8, 0.5)
    placed = from_pose(make_trajectory(name, laps=laps), START, room)
    assert placed.at(0.0).pose == pytest.approx(START)
    relative, difference = places(placed, min(placed.duration, 200.0))
    size = np.abs(relative).max(axis=0)
    assert (size <= np.array(room) * (1.0 + 1e-3)).all()
    # It is as large as the room allows.
    assert (size / room).max() == pytest.approx(1.0, abs=1e-2)
    assert difference < 1e-3


def test_a_small_trajectory_keeps_its_size_and_its_direction():
    shape = make_trajectory("circle", radius=0.3)
    placed = from_pose(shape, START, (2.0, 2.0))
    for t in (0.0, 3.0, 7.0):
        expected = shape.at(t).pose.relative_to(shape.at(0.0).pose)
        assert placed.at(t).pose.relative_to(START) == pytest.approx(expected, abs=1e-12)
        assert placed.at(t).v == shape.at(t).v
    back = from_pose(make_trajectory("line", backwards=True), START)
    assert back.at(0.0).pose == pytest.approx(START)
    ahead = back.at(back.duration).pose.relative_to(START)
    assert ahead.x < 0.0 and ahead.y == pytest.approx(0.0, abs=1e-12)
    assert math.isfinite(back.duration)
