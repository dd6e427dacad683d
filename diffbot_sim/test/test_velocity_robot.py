# SPDX-License-Identifier: Apache-2.0
"""The velocity-commanded robot against scipy's integrator, and its driver and sensors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from arc_odometry import Velocity
from diffbot_description.command_ramp import CommandRamp
from diffbot_description.sigma import Sigma
from diffbot_sim.velocity_robot import VelocityOdometry, VelocityRobot

TRUE = Sigma(3.446, 4.576, 0.86, 0.254)
speeds = st.floats(-2.0, 2.0)


def motion(robot):
    return (*robot.pose(), *robot.velocity())


@given(speeds, speeds, speeds, st.floats(0.02, 1.0))
def test_a_step_is_the_solution_of_the_equations(v, omega, first, duration):
    quick = Sigma(0.3, 0.5, 0.86, 0.254)
    robot = VelocityRobot(quick)
    robot.reset((1.0, -2.0, 0.5))
    robot.step((first, -first), 0.3)

    def rates(_t, s):
        return (
            s[3] * math.cos(s[2]),
            s[3] * math.sin(s[2]),
            s[4],
            *quick.acceleration(s[3:], (v, omega)),
        )

    start = motion(robot)
    robot.step((v, omega), duration)
    ivp = solve_ivp(rates, (0.0, duration), start, method="DOP853", rtol=1e-12, atol=1e-13)
    assert motion(robot) == pytest.approx(ivp.y[:, -1], rel=1e-10, abs=1e-11)


def test_the_end_does_not_depend_on_how_time_is_cut():
    ends = []
    for pieces in (1, 7):
        robot = VelocityRobot(TRUE, dead_time=0.123)
        for command in ((1.0, 0.5), (-0.5, 2.0)):
            for _ in range(pieces):
                robot.step(command, 0.7 / pieces)
        ends.append((*motion(robot), robot.distance))
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)


def test_a_dead_time_delays_and_nothing_else():
    late, prompt = VelocityRobot(TRUE, dead_time=0.05), VelocityRobot(TRUE)
    commands = [(math.sin(k), math.cos(k)) for k in range(50)]
    for command in commands:
        prompt.step(command, 0.02)
    for command in [*commands, (9.0, 9.0), (9.0, 9.0)]:
        late.step(command, 0.02)
    late.step((9.0, 9.0), 0.01)
    assert motion(late) == pytest.approx(motion(prompt), rel=1e-10)


def test_the_driver_keeps_to_its_limits():
    slopes = Velocity(1.0, math.inf)
    robot = VelocityRobot(TRUE, speed_limits=(0.7, 3.0), ramp=CommandRamp(slopes, slopes))
    assert robot.step((5.0, -5.0), 0.1) == pytest.approx((0.1, -3.0))
    for _ in range(20):
        taken = robot.step((5.0, -5.0), 0.1)
    assert taken == pytest.approx((0.7, -3.0))


def test_a_load_changes_the_motion_from_then_on():
    robot = VelocityRobot(TRUE)
    robot.step((1.0, 0.0), 1.0)
    before = robot.velocity()
    robot.sigma = Sigma(2.0 * TRUE.s1, TRUE.s2, TRUE.s3, TRUE.s4)
    assert robot.velocity() == before
    robot.step((1.0, 0.0), 0.5)
    rate = TRUE.s3 / (2.0 * TRUE.s1)
    final = 1.0 / TRUE.s3
    assert robot.velocity()[0] == pytest.approx(
        final + (before[0] - final) * math.exp(-0.5 * rate), rel=1e-12
    )


def test_equal_seeds_repeat_and_others_do_not():
    def run(seed):
        robot = VelocityRobot(TRUE, command_noise=(0.1, 0.1), seed=seed)
        sensor = VelocityOdometry(
            robot, 0.02, counts=500, velocity_noise=(0.01, 0.01), pose_noise=(0.1,) * 3, seed=seed
        )
        rows = []
        for _ in range(20):
            robot.step((0.5, 0.3), 0.02)
            pose, velocity = sensor.read()
            rows.append((*pose, *velocity))
        return np.array(rows)

    assert np.array_equal(run(1), run(1))
    assert not np.any(run(1) == run(2))


def test_odometry_by_encoders_stays_within_their_counts():
    robot = VelocityRobot(TRUE)
    robot.reset((1.0, 2.0, 3.0))
    sensor = VelocityOdometry(robot, 0.02, counts=2578, seed=3)
    measured = []
    for k in range(500):
        robot.step((0.6, 0.4 * math.sin(0.02 * k)), 0.02)
        pose, velocity = sensor.read()
        measured.append(velocity)
    # A count is 0.086 mm of a wheel; the heading's error is that over the track of 0.23 m.
    assert pose[2] == pytest.approx(robot.pose()[2], abs=2 * 8.6e-5 / 0.23)
    assert pose[:2] == pytest.approx(robot.pose()[:2], abs=2e-3)
    assert np.mean(measured[-50:], axis=0) == pytest.approx(robot.velocity(), abs=0.02)


def test_bad_input_is_refused_by_name_and_changes_nothing():
    robot = VelocityRobot(TRUE)
    with pytest.raises(ValueError, match="command = .*must be finite; send 0 to stop"):
        robot.step((math.nan, 0.0), 0.1)
    assert robot.time == 0.0
    with pytest.raises(ValueError, match="dead_time = -1"):
        VelocityRobot(TRUE, dead_time=-1.0)
    with pytest.raises(ValueError, match="speed_limits"):
        VelocityRobot(TRUE, speed_limits=(0.0, 1.0))
    with pytest.raises(FloatingPointError, match="limit the commands"):
        robot.step((1e9, 1e9), 1.0)
