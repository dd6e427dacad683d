# SPDX-License-Identifier: Apache-2.0
"""A simulated gyro and a simulated pose source read what they are told to, with those errors."""

import math

import numpy as np
import pytest

from arc_odometry import Arc, Pose
from diffbot_sim.simulated_sensors import (
    GyroParameters,
    MotionHistory,
    PoseSourceParameters,
    SimulatedGyro,
    SimulatedPoses,
    composed,
)

PERIOD = 0.01
V, OMEGA, TURNING = 0.5, 1.2, 0.8  # omega(t) = OMEGA + TURNING t


def theta(t):
    return OMEGA * t + 0.5 * TURNING * t * t


def truth(t, steps=4000):
    """Pose and velocity of a robot that goes along a spiral; before 0 it rests at the origin."""
    if t <= 0.0:
        return (0.0, 0.0, 0.0), (V, OMEGA)
    s = (np.arange(steps) + 0.5) * t / steps
    heading = OMEGA * s + 0.5 * TURNING * s * s
    x, y = V * np.cos(heading).sum() * t / steps, V * np.sin(heading).sum() * t / steps
    return (float(x), float(y), theta(t)), (V, OMEGA + TURNING * t)


def driven(sensor, seconds):
    """All readings of a sensor on that robot."""
    readings = []
    for k in range(round(seconds / PERIOD) + 1):
        readings += sensor.note(k * PERIOD, *truth(k * PERIOD))
    return readings


def resting(sensor, seconds):
    readings = []
    for k in range(round(seconds / PERIOD) + 1):
        readings += sensor.note(k * PERIOD, (0.0, 0.0, 0.0), (0.0, 0.0))
    return readings


def test_history_between_two_instants():
    history = MotionHistory(1.0)
    for k in range(60):
        history.note(k * PERIOD, *truth(k * PERIOD))
    for t in (0.003, 0.1234, 0.4567, 0.5888):
        pose, velocity = history.at(t)
        expected, (_, omega) = truth(t)
        assert pose == pytest.approx(expected, abs=2e-7)
        assert velocity.omega == pytest.approx(omega, abs=1e-12)
    assert history.at(-0.1) == (Pose(0.0, 0.0, 0.0), (0.0, 0.0))
    with pytest.raises(ValueError, match=r"stamp = 0.2 s after 0.59"):
        history.note(0.2, (0.0, 0.0, 0.0), (0.0, 0.0))


def test_a_history_forgets_what_is_too_old_and_keeps_what_is_asked_for():
    history = MotionHistory(0.05)
    for k in range(1000):
        history.note(k * PERIOD, *truth(0.0))
    assert len(history._states) < 10
    assert history.at(9.99 - 0.05)[1] == (V, OMEGA)


def test_a_gyro_with_scale_bias_and_delay():
    values = GyroParameters(imu_rate=70.0, imu_bias=0.02, imu_scale=1.03, imu_delay=0.033)
    readings = driven(SimulatedGyro(values), 1.0)
    assert [r.stamp for r in readings] == pytest.approx([k / 70.0 for k in range(71)])
    for stamp, rate in readings[5:]:
        expected = 1.03 * (OMEGA + TURNING * (stamp - 0.033)) + 0.02
        assert rate == pytest.approx(expected, abs=1e-9)


def test_a_gyro_faster_than_the_control_period():
    readings = driven(SimulatedGyro(GyroParameters(imu_rate=1000.0)), 0.2)
    assert len(readings) == 201
    assert readings[77].rate == pytest.approx(OMEGA + TURNING * 0.077, abs=1e-9)


def test_noise_and_walk_of_a_gyro():
    noise = np.array(resting(SimulatedGyro(GyroParameters(imu_noise=0.01), 1), 100.0))[:, 1]
    assert noise.std() == pytest.approx(0.01, rel=0.04)
    assert abs(noise.mean()) < 4.0 * 0.01 / math.sqrt(len(noise))
    ends = [
        resting(SimulatedGyro(GyroParameters(imu_rate=20.0, imu_bias_walk=0.02), seed), 4.0)[
            -1
        ].rate
        for seed in range(200)
    ]
    assert np.std(ends) == pytest.approx(0.02 * math.sqrt(4.0), rel=0.2)


def test_poses_of_a_mounted_sensor_in_a_frame_of_its_own():
    values = PoseSourceParameters(
        pose_source_delay=0.06,
        pose_source_mounting=(0.2, -0.1, 0.5),
        pose_source_frame=(3.0, 1.0, -2.0),
    )
    readings = driven(SimulatedPoses(values), 1.0)
    assert [r.stamp for r in readings] == pytest.approx([0.05 * k for k in range(21)])
    for stamp, x, y, yaw in readings[2:]:
        robot, _ = truth(stamp - 0.06)
        expected = composed(composed((3.0, 1.0, -2.0), robot), (0.2, -0.1, 0.5))
        assert (x, y) == pytest.approx(expected[:2], abs=1e-6)
        assert math.remainder(yaw - expected.theta, math.tau) == pytest.approx(0.0, abs=1e-6)


def test_noise_and_outliers_of_poses():
    values = PoseSourceParameters(
        pose_source_rate=100.0,
        pose_source_noise=(0.01, 0.02),
        pose_source_outliers=0.1,
        pose_source_outlier_size=(1.0, 1.0),
    )
    result = np.array(resting(SimulatedPoses(values, 2), 100.0))
    far = np.hypot(result[:, 1], result[:, 2]) > 0.06
    # Some outliers are near: the share of them within 0.06 m of a Rayleigh of 1 m is 0.2 %.
    assert far.mean() == pytest.approx(0.1, abs=4.0 * math.sqrt(0.1 * 0.9 / len(result)))
    good = result[~far]
    assert good[:, 1:3].std(axis=0) == pytest.approx([0.01, 0.01], rel=0.05)
    assert np.median(np.abs(good[:, 3])) / 0.6745 == pytest.approx(0.02, rel=0.05)


def test_jumps_stay():
    values = PoseSourceParameters(
        pose_source_rate=10.0, pose_source_jump_interval=2.0, pose_source_jump_size=(0.3, 0.1)
    )
    result = np.array(resting(SimulatedPoses(values, 0), 200.0))
    moved = np.flatnonzero(np.hypot(*np.diff(result[:, 1:3], axis=0).T) > 1e-9)
    assert len(moved) == pytest.approx(100, abs=40)
    assert np.hypot(*result[-1, 1:3]) > 0.3


def test_equal_seeds_read_alike_and_settings_do_not_touch_each_other():
    def read(seed, heading_noise=0.0, delay=0.0):
        values = PoseSourceParameters(
            pose_source_noise=(0.01, heading_noise), pose_source_delay=delay
        )
        return np.array(resting(SimulatedPoses(values, seed), 5))

    assert np.array_equal(read(3), read(3))
    assert not np.array_equal(read(3), read(4))
    assert np.array_equal(read(3)[:, 1:3], read(3, heading_noise=0.1, delay=0.1)[:, 1:3])


def test_an_arc_ends_where_arcs_do():
    start = (1.0, 2.0, 0.3)
    end = composed(start, Arc(0.5, 0.2).end(Pose(0.0, 0.0, 0.0)))
    assert end == pytest.approx(Arc(0.5, 0.2).end(Pose(*start)))


@pytest.mark.parametrize(
    "sensor, values, message",
    [
        (SimulatedGyro, GyroParameters(imu_rate=0.0), "'imu_rate' = 0.0: must be finite and >="),
        (SimulatedGyro, GyroParameters(imu_delay=math.nan), "'imu_delay' = nan: must be finite"),
        (SimulatedPoses, PoseSourceParameters(pose_source_outliers=2.0), "outliers' = 2.0: must"),
        (
            SimulatedPoses,
            PoseSourceParameters(pose_source_mounting=(0.0, math.inf, 0.0)),
            r"'pose_source_mounting\[1\]' = inf",
        ),
    ],
)
def test_wrong_values_are_named(sensor, values, message):
    with pytest.raises(ValueError, match=message):
        sensor(values)
