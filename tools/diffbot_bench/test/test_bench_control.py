# SPDX-License-Identifier: Apache-2.0
"""`bench --control`: the peers do what was published, and drives are judged."""

import math

import numpy as np
import pytest

from arc_odometry import Arc, Pose, Velocity, WheelGeometry
from diffbot_bench.control.driven import BESIDE, LOST, Driven, driven, path_of
from diffbot_bench.control.peers import (
    LOOK_LEAST,
    SLOW_RADIUS,
    KinematicLaw,
    PathProgress,
    RegulatedPurePursuit,
    SpeedLoops,
)
from diffbot_description.command_kind import CommandKind
from pose2d_trajectories import Reference, make_trajectory

board = pytest.importorskip("diffbot_bench.control.board")
EIGHT = make_trajectory("figure_eight", laps=2, amplitude_x=2.0, amplitude_y=1.2, period=40.0)
STEP = 0.05
REST = Velocity(0.0, 0.0)


def followed(law, start, duration, scheduled=False):
    """Times and poses of a robot that executes commands at once."""
    pose, velocity, rows = start, REST, []
    for k in range(round(duration / STEP)):
        rows.append((*pose,))
        if scheduled:
            velocity = law.command_for(EIGHT.at(STEP * k), pose)
        else:
            velocity = law.command(STEP * k, pose, velocity)
        pose = Arc(velocity.v * STEP, velocity.omega * STEP).end(pose)
    return STEP * np.arange(len(rows)), np.array(rows)


def beside():
    first = EIGHT.at(0.0)
    x, y = -BESIDE * math.sin(first.theta), BESIDE * math.cos(first.theta)
    return Pose(first.x + x, first.y + y, first.theta)


def test_pure_pursuit_steers_by_the_arc_to_a_point_ahead_and_slows_in_turns():
    line = np.column_stack((np.linspace(0.0, 5.0, 501), np.zeros(501)))
    straight = RegulatedPurePursuit(line, 0.5).command(0.0, Pose(0.0, 0.0, 0.0), REST)
    assert straight == Velocity(0.5, 0.0)
    v, omega = RegulatedPurePursuit(line, 0.5).command(0.0, Pose(0.0, 0.2, 0.0), REST)
    # 2 y / L^2 with L the distance of the point, at which the path leaves the look-ahead circle.
    assert omega / v == pytest.approx(-2.0 * 0.2 / LOOK_LEAST**2, rel=0.1)
    assert v == pytest.approx(max(0.25, 0.5 / (SLOW_RADIUS * abs(omega / v))))


def test_pure_pursuit_rests_at_the_end_of_its_path():
    line = np.column_stack((np.linspace(0.0, 2.0, 201), np.zeros(201)))
    _, poses = followed(RegulatedPurePursuit(line, 0.5), Pose(0.0, 0.1, 0.0), 20.0)
    assert poses[-1][:2] == pytest.approx((2.0, 0.0), abs=0.03)
    np.testing.assert_equal(poses[-1], poses[-2])


def test_both_peers_follow_the_path_of_a_robot_without_dynamics():
    start = beside()
    timed = driven(*followed(KinematicLaw(), start, EIGHT.duration, scheduled=True), EIGHT)
    assert timed.from_path < 0.005 and timed.from_schedule < 0.03
    assert timed.settled < 10.0
    points = path_of(EIGHT)
    law = RegulatedPurePursuit(points, 0.01 * len(points) / EIGHT.duration)
    pursuit = driven(*followed(law, start, 1.5 * EIGHT.duration), EIGHT)
    assert timed.from_path < pursuit.from_path < 0.1


def test_a_robot_that_stands_or_leaves_is_lost():
    time = np.arange(0.0, 80.0, 0.1)
    stands = np.tile([*EIGHT.at(0.0).pose], (len(time), 1))
    assert driven(time, stands, EIGHT).from_path == LOST
    poses = np.array([[*EIGHT.at(t).pose] for t in time.tolist()])
    assert driven(time, poses, EIGHT).from_path < 1e-3
    poses[time > 60.0, 0] += 1.0
    assert driven(time, poses, EIGHT).from_path == LOST


def test_progress_does_not_jump_where_a_path_crosses_itself():
    points = path_of(EIGHT)
    progress = PathProgress(points)
    for x, y in points[::5].tolist():
        assert progress.update(x, y) < 1e-9
    assert progress.fraction > 0.99


def test_loops_bring_wheels_to_their_speed_within_the_torque():
    geometry, inertia, limit = WheelGeometry(0.05, 0.05, 0.3), 0.01, 0.4
    loops = SpeedLoops(geometry, inertia, limit, late=0.01)
    speeds, wanted = [0.0, 0.0], Velocity(0.5, 1.0)
    for _ in range(300):
        left, right = speeds
        measured = Velocity(0.025 * (left + right), 0.05 * (right - left) / 0.3)
        torques = loops.torque(wanted, measured, 0.01)
        assert max(map(abs, torques)) <= limit
        # Dry friction that an integral has to find.
        speeds = [w + 0.01 * (t - 0.05) / inertia for w, t in zip(speeds, torques, strict=True)]
    assert speeds == pytest.approx([*geometry.wheel_velocity(0.5, 1.0)], rel=0.01)


def test_a_table_tells_of_the_lost_and_the_refused():
    good, lost = Driven(0.001, 0.002, 3.0, 0.1, 0.5), Driven(LOST, LOST, math.inf, 0.4, 1.0)
    drives = {"diffbot": [good, good, None], "rpp_pid": [lost, good, lost]}
    table = board.ControlBoard({CommandKind.EFFORT: drives}, "Seed 1.").table(CommandKind.EFFORT)
    assert table.rows[0][:-1] == ("diffbot", "1 ... 1", "2 ... 2", "3 ... 3", "10 ... 10",
                                  "0.5 ... 0.5", "0", "1")  # fmt: skip
    assert table.rows[1][:-1] == ("rpp_pid", "500 ... 500", "–", "never ... never", "40 ... 40",
                                  "1 ... 1", "2", "0")  # fmt: skip


def test_a_reference_at_rest_needs_no_command():
    assert KinematicLaw().command_for(Reference(), Pose(0.0, 0.0, 0.0)) == REST
