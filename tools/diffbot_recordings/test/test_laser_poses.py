# SPDX-License-Identifier: Apache-2.0
"""Poses from the scans of a laser, in rooms and corridors that a ray caster makes."""

import math

import numpy as np
import pytest
from made_recordings.made_laser import MadeLaser, corridor, room, scans
from made_recordings.made_readings import calibration_legs, simulated_drive

from arc_odometry import WheelGeometry
from diffbot_recordings.laser_poses import LaserPoses, Scan, ScanFault, scan_of

DRIVE = simulated_drive(
    WheelGeometry(0.075, 0.075, 0.272), calibration_legs(30.0), np.random.default_rng(0)
)


def seen(walls, laser, seed=1, seconds=30.0):
    poses = LaserPoses()
    begin = DRIVE.wheels.stamps[0]
    rng = np.random.default_rng(seed)
    for scan in scans(DRIVE.truth.poses, walls, laser, begin, begin + seconds, rng):
        poses.add(scan)
    return poses


def errors(poses):
    """Distance (m) and turn (rad) of each pose from the true one, in the frame of the first."""
    rows = np.array(poses.rows)
    true = DRIVE.truth.poses(rows[:, 0])
    place = (true[:, 0] + 1j * true[:, 1] - complex(*true[0, :2])) * np.exp(-1j * true[0, 2])
    turn = rows[:, 3] - rows[0, 3] - (true[:, 2] - true[0, 2])
    seen = (rows[:, 1] - rows[0, 1] + 1j * (rows[:, 2] - rows[0, 2])) * np.exp(-1j * rows[0, 3])
    return abs(seen - place), np.abs(np.angle(np.exp(1j * turn)))


@pytest.mark.parametrize(
    ("seed", "view", "limit"),
    [(1, math.tau, 0.005), (2, math.tau, 0.005), (2, 1.5 * math.pi, 0.01)],
)
def test_a_room_gives_every_pose(seed, view, limit):
    laser = MadeLaser(view=view, rays=round(720 * view / math.tau))
    poses = seen(room(np.random.default_rng(seed)), laser)
    assert len(poses.rows) >= 299 and not poses.faults and not poses.sentence()
    apart, turned = errors(poses)
    assert np.sqrt(np.mean(apart**2)) < limit and apart.max() < 4.0 * limit
    assert np.sqrt(np.mean(turned**2)) < 0.003


def test_a_scan_that_takes_time_is_straightened():
    walls = room(np.random.default_rng(4))
    apart, _ = errors(seen(walls, MadeLaser()))
    unknown = LaserPoses()
    rng = np.random.default_rng(1)
    begin = DRIVE.wheels.stamps[0]
    for scan in scans(DRIVE.truth.poses, walls, MadeLaser(), begin, begin + 30.0, rng):
        unknown.add(Scan(scan.stamp + 0.04, *list(vars(scan).values())[1:-1], 0.0))
    assert np.sqrt(np.mean(apart**2)) < 0.5 * np.sqrt(np.mean(errors(unknown)[0] ** 2))


def test_people_who_walk_past_do_not_move_it():
    poses = seen(room(np.random.default_rng(5)), MadeLaser(people=3))
    apart, _ = errors(poses)
    assert len(poses.rows) > 280 and np.sqrt(np.mean(apart**2)) < 0.02


def test_a_corridor_gives_none():
    poses = seen(corridor(), MadeLaser(), seconds=10.0)
    assert len(poses.rows) == 1
    assert poses.faults[ScanFault.OPEN_DIRECTION] > 0.6 * poses.faults.total()
    assert "walls in one direction only, as in a corridor" in poses.sentence()


def carried(seconds=12.0):
    """Scans in one room, and after 6 s in another, as of a robot that is carried there."""
    rng = np.random.default_rng(1)
    begin = DRIVE.wheels.stamps[0]
    rooms = [room(np.random.default_rng(7)), room(np.random.default_rng(8)) + 40.0]
    for k, walls in enumerate(rooms):
        moved = (lambda t: DRIVE.truth.poses(t) + (40.0, 40.0, 0.0)) if k else DRIVE.truth.poses
        at = begin + 6.0 * k
        yield from scans(moved, walls, MadeLaser(), at, at + seconds - 6.0, rng)


def test_a_robot_that_is_carried_begins_a_new_map_and_claims_no_motion_between():
    poses = LaserPoses()
    for scan in carried():
        poses.add(scan)
    assert "began anew 1 times" in poses.sentence()
    rows = np.array(poses.rows)
    assert len(rows) > 95 and {*rows[:, 4]} == {1.0, 2.0}
    for frame in (1.0, 2.0):
        part = LaserPoses(rows=[tuple(row) for row in rows[rows[:, 4] == frame]])
        assert errors(part)[0].max() < 0.03


def test_a_hall_beyond_its_range_gives_none():
    poses = seen(corridor(40.0), MadeLaser(), seconds=3.0)
    assert not poses.rows and poses.faults == {ScanFault.FEW_POINTS: 30}


def test_repeated_and_older_scans_are_left_out():
    walls, begin = room(np.random.default_rng(6)), DRIVE.wheels.stamps[0]
    rng = np.random.default_rng(1)
    made = list(scans(DRIVE.truth.poses, walls, MadeLaser(), begin, begin + 1.0, rng))
    poses = LaserPoses()
    given = made[0], made[1], made[1], made[0]
    assert [poses.add(scan) for scan in given] == [True, True, False, False]


class Message:
    def __init__(self, **changes):
        self.header = type("H", (), {"stamp": type("S", (), {"sec": 5, "nanosec": 0})})
        self.angle_min, self.angle_increment = -3.0, 0.01
        self.range_min, self.range_max, self.time_increment = 0.1, 10.0, 1e-4
        self.ranges = [1.0, math.nan, math.inf, -1.0, 1e300]
        vars(self).update(changes)


def test_a_message_is_a_scan_or_nothing():
    scan = scan_of(Message())
    points, times = scan.points()
    assert len(points) == len(times) == 1 and scan.middle == pytest.approx(5.0002)
    for changes in (
        {"angle_min": math.nan},
        {"ranges": []},
        {"range_max": math.inf},
        {"ranges": "far"},
    ):
        assert scan_of(Message(**changes)) is None
    assert scan_of(Message(time_increment=1e6)).middle < 6.0
    assert len(scan_of(Message(range_max=1e308)).points()[0]) == 1
