# SPDX-License-Identifier: Apache-2.0
"""What the first edges tell of the encoders' first reading, and when they tell nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest

from arc_odometry import DiffOdometry, JointSample
from diffbot_controllers import tuned_backstepping
from diffbot_controllers.laws.count_offsets import WINDOW, FirstReading, put_right
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.motion import WheelFeedback
from diffbot_description import DynamicParameters, FrictionLaw, load_robot
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import Encoders

AGV = load_robot("agv")  # with friction
PERIOD = 0.01
# Of a wheel: a uniform phase has a standard deviation of 0.29 counts.
ROUNDING = math.sqrt(1.0 / 12.0)


def joint_sample(k, angles):
    return JointSample(k * PERIOD, tuple(angles), (0.0, 0.0), (0.0, 0.0))


def started(seed, counts=2048, reported=1.0, roll=0.0, heavier=1.0, samples=60, read=None):
    """Both odometries of a robot that sets out, without and with the first reading put right.

    Args:
        seed: of the torque and the encoders' phases.
        counts: of the encoders.
        told: factor on the friction that the law is told.
        roll: time for which the robot is pushed before the first reading, s.
        heavier: factor on the masses that the law does not know of.
        samples: periods that it drives.
        read: what becomes of the angles read, rad; None: nothing.

    Returns:
        Feedbacks (plain, put right), and what the readings are ahead on average, counts, (2,).
    """
    engine = make_simulator("ideal", AGV)
    draw = np.random.default_rng(seed)
    torque = tuple(draw.uniform(0.5, 1.0, 2) * draw.choice([-1.0, 1.0], 2) * AGV.limits.traction)
    for _ in range(round(roll / PERIOD)):
        engine.step(torque, PERIOD)
    encoders = Encoders(counts, PERIOD, seed)
    known = KnownWheels.of(AGV, counts)
    laws = tuple(FrictionLaw(reported * f.viscous, reported * f.coulomb) for f in known.friction)
    dynamics = DynamicParameters(*(heavier * k for k in engine.parameters()))
    plain, better = WheelFeedback(AGV.geometry), WheelFeedback(AGV.geometry)
    better.correct_by(FirstReading(dynamics, replace(known, friction=laws)))
    count = math.tau / counts
    ahead = [
        (angle / count + phase) % 1.0 - 0.5
        for angle, phase in zip(engine.wheel_angles(), encoders.phase, strict=True)
    ]
    acted = (0.0, 0.0)
    for k in range(samples):
        angles, _ = encoders.read(engine.wheel_angles(), engine.wheel_velocities())
        sample = joint_sample(k, angles if read is None else read(angles))
        for feedback in (plain, better):
            feedback.update(sample, acted)
        acted = (0.0, 0.0) if k < 3 else torque
        engine.step(acted, PERIOD)
    return plain, better, np.array(ahead)


def determined(plain, better, counts=2048):
    """Offsets of [left, right] by which the pose was put right, counts."""
    pose = np.array(plain.odometry.pose)
    offsets = []
    for side in (0, 1):
        by = DiffOdometry(AGV.geometry, pose=(0.0, 0.0, 0.0))
        by.set_pose(pose)
        put_right(by, plain_start(), side, math.tau / counts, 0.0)
        offsets.append(pose - np.array(by.pose))
    change = pose - np.array(better.odometry.pose)
    return np.linalg.lstsq(np.array(offsets).T, change, rcond=None)[0]


def plain_start():
    return DiffOdometry(AGV.geometry).pose


@pytest.mark.parametrize(("counts", "most"), [(512, 0.09), (2048, 0.15), (4096, 0.2)])
def test_it_is_found_to_a_fraction_of_a_count(counts, most):
    # 30 starts: 0.06, 0.11 and 0.15 counts.
    errors = []
    for seed in range(30):
        plain, better, ahead = started(seed, counts)
        errors.append(determined(plain, better, counts) - ahead)
    assert np.sqrt(np.mean(np.square(errors))) < most < ROUNDING


def test_the_covariance_counts_what_is_left():
    # Squares of errors of x, y and heading by their covariance: 3 on average.
    squares = []
    for seed in range(40):
        plain, better, ahead = started(seed)
        truth = DiffOdometry(AGV.geometry)
        truth.set_pose(plain.odometry.pose)
        for side in (0, 1):
            offset = float(ahead[side]) * math.tau / 2048
            put_right(truth, plain_start(), side, offset, 0.0)
        error = np.subtract(better.odometry.pose, truth.pose)
        # Two numbers are unknown, so the covariance has the rank 2.
        squares.append(error @ np.linalg.pinv(better.odometry.covariance, 1e-9) @ error)
    assert 1.2 < np.mean(squares) < 3.0


def test_to_put_it_right_is_to_have_read_it_right():
    offset = (3e-4, -5e-4)
    wrong, right = DiffOdometry(AGV.geometry), DiffOdometry(AGV.geometry)
    for odometry, first in ((wrong, (0.0, 0.0)), (right, offset)):
        odometry.update(0.0, first)
        for k in range(1, 200):
            odometry.update(k * PERIOD, (0.02 * k, 0.03 * k))
    for side in (0, 1):
        put_right(wrong, plain_start(), side, offset[side], 0.0)
    assert wrong.pose == pytest.approx(right.pose, abs=1e-6)  # of 8e-5 m and 1.6e-4 rad
    assert not wrong.covariance.any()


@pytest.mark.parametrize(
    "fault",
    [{"roll": 0.2}, {"heavier": 1.5}, {"reported": 3.0}, {"reported": 0.0}, {"counts": 2000}],
)
def test_a_model_that_does_not_explain_the_readings_changes_nothing(fault):
    for seed in range(10):
        if "counts" in fault:  # another encoder than the law was told of
            plain, better, _ = started(seed, read=lambda angles: [a * 1.024 for a in angles])
        else:
            plain, better, _ = started(seed, **fault)
        assert better.odometry.pose == plain.odometry.pose
        # The whole rounding of both wheels is in the covariance.
        turn = AGV.geometry.left_radius * math.tau / 2048 / AGV.geometry.separation
        assert better.odometry.covariance[2, 2] == pytest.approx(2.0 * (turn * ROUNDING) ** 2)


def test_the_pose_is_put_right_once_per_wheel_and_by_half_a_count_at_most():
    plain, better, _ = started(3)
    early, same_yet, _ = started(3, samples=round(WINDOW / PERIOD))
    assert early.odometry.pose == same_yet.odometry.pose
    later, same, _ = started(3, samples=200)
    assert np.all(np.abs(determined(plain, better)) <= 0.5)
    assert determined(later, same) == pytest.approx(determined(plain, better), abs=1e-3)


def test_exact_encoders_and_laws_without_an_observer_have_none():
    k, limit = make_simulator("ideal", AGV).parameters(), AGV.limits.traction
    wheels = KnownWheels.of(AGV, 0)
    for known in (wheels, replace(wheels, counts=512, observer=False), None):
        law = tuned_backstepping(k, limit, mean_velocity=True, wheels=known)
        assert law.drivetrain.first_reading() is None


def test_one_that_comes_after_the_first_sample_is_left_out():
    plain, late = WheelFeedback(AGV.geometry), WheelFeedback(AGV.geometry)
    engine, encoders = make_simulator("ideal", AGV), Encoders(2048, PERIOD, 1)
    for k in range(100):
        angles, _ = encoders.read(engine.wheel_angles(), engine.wheel_velocities())
        for feedback in (plain, late):
            feedback.update(joint_sample(k, angles), (0.0, 0.0) if k == 0 else (5.0, 6.0))
        if k == 0:
            late.correct_by(FirstReading(engine.parameters(), KnownWheels.of(AGV, 2048)))
        engine.step((5.0, 6.0), PERIOD)
    assert late.odometry.pose == plain.odometry.pose
