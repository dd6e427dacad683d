# SPDX-License-Identifier: Apache-2.0
"""What a drive has told: readings as messages bring them, and what is missing."""

import math

import numpy as np
import pytest

from arc_odometry import WheelGeometry
from diffbot_calibration.collected_readings import FEWEST, Collected
from diffbot_recordings.laser_poses import LASER_ERRORS, LaserPoses

GEOMETRY = WheelGeometry(0.1, 0.1, 0.4)


def filled(wheels=50, gyro=50, poses=50):
    collected = Collected()
    for k in range(wheels):
        collected.add_wheels(0.01 * k, (0.1 * k, 0.2 * k))
    for k in range(gyro):
        collected.add_rate(0.01 * k, 0.5)
    for k in range(poses):
        collected.add_pose(0.05 * k, 1.0, 2.0, 3.0)
    return collected


def test_readings_come_back():
    collected = filled()
    assert collected.missing() is None
    result = collected.readings(GEOMETRY)
    assert result.wheels.right == pytest.approx(0.2 * np.arange(50))
    assert result.gyro.rate == pytest.approx(0.5 * np.ones(50))
    assert result.poses.yaw == pytest.approx(3.0 * np.ones(50))
    assert result.poses.stamps == pytest.approx(0.05 * np.arange(50))


def test_encoders_that_wrap_are_counted_on():
    collected, true = Collected(), np.linspace(0.0, 40.0, 400)
    for k, angle in enumerate(true.tolist()):
        collected.add_wheels(0.01 * k, (math.remainder(angle, math.tau), -angle))
    turns = collected.readings(GEOMETRY).wheels
    assert turns.left == pytest.approx(true)
    assert turns.right == pytest.approx(-true)


def test_what_is_said_again_counts_once_and_what_is_late_is_told():
    collected = filled()
    before = len(collected.poses.rows)
    collected.add_pose(0.05 * 49, 9.0, 9.0, 9.0)
    assert len(collected.poses.rows) == before
    assert collected.poses.refused == 0
    collected.add_pose(0.1, 9.0, 9.0, 9.0)
    collected.add_rate(10.0, math.nan)
    collected.add_wheels(0.491, (2.0, 0.0))
    assert [source.refused for source in collected.sources] == [1, 1, 1]
    assert "must ascend" in collected.poses.reason
    assert "must be finite" in collected.gyro.reason
    assert "left wheel jumped" in collected.wheels.reason


@pytest.mark.parametrize("speed, refused", [(180.0, 0), (220.0, 1)])
def test_a_wheel_is_as_fast_as_in_a_recording(speed, refused):
    """The same limit splits a recording where an encoder was reset; here it was 300 rad/s."""
    collected = Collected()
    for k in range(2):
        collected.add_wheels(0.01 * k, (0.01 * speed * k, 0.0))
    assert collected.wheels.refused == refused


@pytest.mark.parametrize(
    "counts, message",
    [
        ((3, 50, 50), "3 readings of both wheels received on joint_states, must be at least 20"),
        ((50, 4, 5), "4 readings of a gyro received on imu/data and 5 of a pose source on pose"),
    ],
)
def test_what_is_missing_is_named(counts, message):
    assert message in filled(*counts).missing()


def test_one_sensor_is_enough():
    assert filled(gyro=FEWEST, poses=0).missing() is None
    assert filled(gyro=0, poses=FEWEST).missing() is None
    assert filled(gyro=0).readings(GEOMETRY).gyro is None
    assert filled(poses=0).readings(GEOMETRY).poses is None


def test_poses_of_a_laser_carry_their_common_errors_and_the_map_that_they_are_in():
    collected = Collected()
    for k in range(30):
        collected.add_wheels(0.1 * k, (0.1 * k, 0.1 * k))
        collected.add_laser(LaserPoses(rows=[(0.1 * k, 0.01 * k, 0.0, 0.0, float(k > 20))]))
    readings = collected.readings(GEOMETRY)
    assert readings.pose_errors == LASER_ERRORS
    assert readings.poses.frame.sum() == 9.0
