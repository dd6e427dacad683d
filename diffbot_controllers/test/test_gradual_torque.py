# SPDX-License-Identifier: Apache-2.0
"""Torque that rises gradually, and set points that the velocity loops can follow."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import REST, Pose, Velocity, WheelGeometry
from diffbot_controllers import LinearizingController, State
from diffbot_controllers.laws.drivetrain import Drivetrain
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.gradual_set_points import GradualSetPoints, gradual
from diffbot_controllers.tuning import (
    DRIVE,
    RISE,
    TURN,
    servo_limits,
    tuned_backstepping,
    tuned_polar_pose,
)
from diffbot_description import DynamicParameters, FrictionLaw
from pose2d_trajectories import Reference

GEOMETRY = WheelGeometry(0.08, 0.08, 0.42)
K = DynamicParameters(-0.05, 1.0, 0.44, -1.7)
LAW = FrictionLaw(viscous=0.05, coulomb=0.35)
LIMIT, DT = 4.0, 0.01
GOAL = Reference(0.0, 0.0, 0.0)

laws = pytest.mark.parametrize("make", [tuned_backstepping, tuned_polar_pose])


def wheels(**more):
    return KnownWheels(GEOMETRY, (LAW, LAW), 5.0, **more)


poses = st.builds(Pose, *(st.floats(-3.0, 3.0) for _ in range(3)))
velocities = st.builds(Velocity, st.floats(-1.0, 1.0), st.floats(-3.0, 3.0))
torques = st.tuples(*(st.floats(-LIMIT, LIMIT) for _ in range(2)))


@laws
@given(poses, velocities, torques)
def test_torque_changes_by_no_more_than_its_rise_allows_from_what_acted(make, pose, u, acted):
    law = make(K, LIMIT, 1.2, 3.0, wheels=wheels())
    torque = law.update(State(pose, u, acted), GOAL, DT)
    if torque == (0.0, 0.0):  # it rests
        return
    for before, now in zip(acted, torque, strict=True):
        assert abs(now - before) <= LIMIT * DT / RISE * (1.0 + 1e-9) and abs(now) <= LIMIT


@laws
def test_torque_that_is_wanted_for_longer_is_reached(make):
    law = make(K, LIMIT, 1.2, 3.0, wheels=wheels())
    free = make(K, LIMIT, 1.2, 3.0)
    state = State(Pose(-2.0, 0.0, 0.0), REST)
    for _ in range(math.ceil(RISE / DT) + 1):
        torque = law.update(state, GOAL, DT)
        wanted = free.update(state, GOAL, DT)
    friction = 0.5 * 0.35
    assert all(now >= min(then, LIMIT) - friction for now, then in zip(torque, wanted, strict=True))


@laws
def test_a_law_that_is_told_nothing_of_the_wheels_is_as_published(make):
    law = make(K, LIMIT, 1.2, 3.0)
    torque = law.update(State(Pose(-2.0, 0.0, 0.0), REST), GOAL, DT)
    assert min(torque) > 0.4 * LIMIT


@laws
def test_a_robot_without_dry_friction_is_driven_as_fast_as_before(make):
    free = FrictionLaw(viscous=0.05, coulomb=0.0)
    law = make(K, LIMIT, 1.2, 3.0, wheels=KnownWheels(GEOMETRY, (free, free), 5.0))
    assert min(law.update(State(Pose(-2.0, 0.0, 0.0), REST), GOAL, DT)) > 0.4 * LIMIT


def test_velocity_loops_of_their_own_answer_a_step_at_once():
    loops = LinearizingController(K, torque_limit=LIMIT, wheels=wheels())
    assert loops.update(State(Pose(0.0, 0.0, 0.0), REST), Velocity(1.0, 0.0), DT)[0] == LIMIT


@given(st.lists(poses, min_size=2, max_size=10))
def test_the_pose_laws_loops_are_told_velocities_within_the_robots_accelerations(places):
    law = tuned_polar_pose(K, LIMIT, 1.2, 3.0, wheels=wheels())
    most = servo_limits(K, LIMIT - 0.35)
    reported = REST
    for place in places:
        law.update(State(place, REST), GOAL, DT)
        now = law.record.velocity_reference
        assert abs(now.v - reported.v) <= most.linear_acceleration * DT * (1.0 + 1e-9)
        assert abs(now.omega - reported.omega) <= most.angular_acceleration * DT * (1.0 + 1e-9)
        reported = now
    assert most.linear_acceleration == pytest.approx(DRIVE * 2.0 * (LIMIT - 0.35) * K.k7)
    assert most.angular_acceleration == pytest.approx(TURN * 2.0 * (LIMIT - 0.35) * -K.k8)


def test_a_robot_in_motion_is_told_velocities_from_its_own_on():
    law = tuned_polar_pose(K, LIMIT, 1.2, 3.0, wheels=wheels())
    law.update(State(Pose(-2.0, 0.0, 0.0), Velocity(0.8, 0.0)), GOAL, DT)
    assert law.record.velocity_reference.v == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(
    ("acceleration", "rise", "name"),
    [
        (Velocity(0.0, 1.0), RISE, "linear_acceleration = 0"),
        (Velocity(1.0, math.nan), RISE, "angular_acceleration = nan"),
        (Velocity(1.0, 1.0), 0.0, "rise = 0"),
    ],
)
def test_limits_that_no_set_points_have_are_refused(acceleration, rise, name):
    with pytest.raises(ValueError, match=name):
        GradualSetPoints(acceleration, rise)


@given(
    st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=5),
    st.sampled_from([0.001, 0.01, 0.02]),
)
def test_a_set_point_reaches_what_is_wanted_within_its_acceleration_and_jerk(steps, dt):
    most, rise = 2.0, RISE
    jerk = most / rise
    value = change = 0.0
    for wanted in steps:
        distance = abs(wanted - value) + abs(change) * rise
        for _ in range(math.ceil((distance / most + 4.0 * rise) / dt)):
            rate = gradual(wanted - value, change, most, jerk, dt)
            assert abs(rate) <= most * (1.0 + 1e-9)
            assert abs(rate - change) <= jerk * dt * (1.0 + 1e-9)
            value, change = value + rate * dt, rate
        assert value == pytest.approx(wanted, abs=jerk * dt * dt)


def test_a_set_point_from_rest_does_not_overshoot():
    most, value, change = 2.0, 0.0, 0.0
    for _ in range(100):
        change = gradual(1.0 - value, change, most, most / RISE, DT)
        value += change * DT
        assert value <= 1.0 + 1e-9
    assert value == pytest.approx(1.0, abs=1e-9)


@laws
def test_set_points_near_the_goal_change_gradually_when_the_robot_arrives(make):
    # On arrival the robot no longer aims at the goal's position but turns to its heading.
    law = make(K, LIMIT, 1.2, 3.0, wheels=wheels())
    before = [(-0.0045, 0.002, 0.6)] * 40
    after = [(-0.0005, 0.0002, 0.6)] * 8
    reported = []
    for place in before + after:
        law.update(State(Pose(*place), REST), GOAL, DT)
        record = law.record
        reported.append(getattr(record, "velocity_reference", None) or record.backstep_set_point)
    turns = [point.omega for point in reported]
    rates = [(b - a) / DT for a, b in zip(turns, turns[1:], strict=False)]
    most = servo_limits(K, LIMIT - 0.35).angular_acceleration
    assert abs(turns[-1] - turns[39]) > 0.1  # the desired yaw rate has another value there
    for a, b in zip(rates, rates[1:], strict=False):
        assert abs(b - a) <= most * DT / RISE * (1.0 + 1e-9)


@given(torques, torques)
def test_a_wheels_torque_turns_round_at_the_goal_with_half_of_its_friction_at_the_least(last, now):
    drivetrain = Drivetrain(K, True, wheels())
    drivetrain.command(last)
    drivetrain.command((0.0, 0.0))  # which does not turn it round
    for result, wanted, before in zip(drivetrain.turned_round(now), now, last, strict=True):
        withheld = wanted * before < 0.0 and abs(wanted) < 0.5 * 0.35
        assert result == (0.0 if withheld else wanted)


def test_torque_of_a_robot_without_dry_friction_turns_round_as_it_is_wanted():
    free = FrictionLaw(viscous=0.05, coulomb=0.0)
    for known in (None, KnownWheels(GEOMETRY, (free, free), 5.0)):
        drivetrain = Drivetrain(K, True, known)
        drivetrain.command((1.0, -1.0))
        assert drivetrain.turned_round((-1e-9, 1e-9)) == (-1e-9, 1e-9)
