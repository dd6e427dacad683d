# SPDX-License-Identifier: Apache-2.0
"""Kinematic and dynamic law on the simulated robot, from many starts and within limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import REST, Arc, MotionLimits, Pose, Velocity
from diffbot_controllers.velocity_tracking.law import (
    KinematicGains,
    PoseError,
    TrackerSettings,
    VelocityTracker,
    kinematic_velocity,
    pose_error,
    published_velocity,
)
from diffbot_description.command_ramp import CommandRamp, RampCoupling
from diffbot_description.sigma import Sigma
from diffbot_sim.velocity_robot import VelocityRobot
from pose2d_trajectories import Reference, make_trajectory

TRUE = Sigma(3.446, 4.576, 0.86, 0.254)
PERIOD = 0.02
TURTLEBOT = MotionLimits(linear_velocity=0.7, angular_velocity=math.pi)
angles = st.floats(-3.1, 3.1)
metres = st.floats(-2.0, 2.0)


def on_circle(t, v=0.4, omega=0.3):
    """An exact reference, after its own formula."""
    turn = omega * t
    radius = v / omega
    return Reference(radius * math.sin(turn), radius * (1.0 - math.cos(turn)), turn, v, omega)


def at_rest(_t):
    return Reference(0.2, 0.1, 0.3)


def run(reference, start, duration, tracker=None, robot=None):
    """Largest distance and heading error of the true pose over the last second."""
    robot = robot or VelocityRobot(TRUE)
    tracker = tracker or VelocityTracker(TrackerSettings(), TRUE)
    robot.reset(start)
    errors = []
    for k in range(round(duration / PERIOD)):
        wanted = reference(k * PERIOD)
        x, y, theta = robot.pose()
        errors.append(
            (math.hypot(wanted.x - x, wanted.y - y), math.remainder(wanted.theta - theta, math.tau))
        )
        robot.step(tracker.update(k * PERIOD, wanted, robot.pose(), robot.velocity()), PERIOD)
    return np.abs(errors[-round(1.0 / PERIOD) :]).max(axis=0)


@given(metres, metres, angles, angles, metres, angles)
def test_the_error_shrinks_from_anywhere_by_the_kinematic_law(x, y, theta, heading, v, omega):
    # V' by differences of the exact motion, for gains without a bound of the approach.
    gains = KinematicGains(approach=1e9)
    reference = Reference(0.0, 0.0, heading, v, omega)
    pose = Pose(x, y, heading - theta)

    def energy(dt):
        error = pose_error(reference, pose)
        u = kinematic_velocity(error, reference, gains)
        moved = Pose(
            pose.x + dt * u.v * math.cos(pose.theta),
            pose.y + dt * u.v * math.sin(pose.theta),
            pose.theta + dt * u.omega,
        )
        goal = Reference(
            dt * v * math.cos(heading), dt * v * math.sin(heading), heading + dt * omega, v, omega
        )
        e = pose_error(goal, moved)
        return 0.5 * (gains.b * (e.x**2 + e.y**2) + e.theta**2), error

    h = 1e-7
    (after, error), (before, _) = energy(h), energy(-h)
    k = 2.0 * gains.damping * gains.frequency(v, omega)
    slope = -gains.b * k * error.x**2 - k * error.theta**2
    assert (after - before) / (2.0 * h) == pytest.approx(slope, rel=1e-4, abs=1e-3)


@given(angles, st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_without_an_error_the_reference_velocity_is_left(heading, v, omega):
    reference = Reference(1.0, 2.0, heading, v, omega)
    error = pose_error(reference, Pose(1.0, 2.0, heading))
    assert kinematic_velocity(error, reference, KinematicGains()) == pytest.approx((v, omega))


def test_small_errors_get_the_gains_of_the_paper_with_the_right_signs():
    gains = KinematicGains(floor=0.0)
    reference = Reference(v=-0.5, omega=0.3)
    wn = math.sqrt(0.3**2 + 40.0 * 0.5**2)
    k = 2.0 * 0.8 * wn
    for error, expected in (
        (PoseError(1e-6, 0.0, 0.0), (k, 0.0)),
        (PoseError(0.0, 1e-6, 0.0), (0.0, -40.0 * 0.5)),
        (PoseError(0.0, 0.0, 1e-6), (0.0, k)),
    ):
        u = kinematic_velocity(error, reference, gains)
        assert ((u.v + 0.5) / 1e-6, (u.omega - 0.3) / 1e-6) == pytest.approx(expected, abs=1e-5)
    printed = published_velocity(PoseError(0.0, 1e-6, 1e-6), Velocity(-0.5, 0.3), gains)
    assert printed == pytest.approx((0.0, -1e-6 * (-40.0 * 0.5 + k)), abs=1e-12)


@pytest.mark.parametrize("limits", [MotionLimits(), TURTLEBOT])
@pytest.mark.parametrize("v", [0.4, -0.4])
def test_it_comes_onto_a_circle_from_beside_it_either_way_round(limits, v):
    start = np.random.default_rng(1).uniform(-1.0, 1.0, 3) * (1.0, 1.0, 3.0)
    tracker = VelocityTracker(TrackerSettings(limits=limits), TRUE)
    distance, heading = run(lambda t: on_circle(t, v), start, 18.0, tracker)
    assert distance < 1e-3 and heading < 1e-3


def test_a_reference_at_rest_ahead_is_reached_and_beside_is_not_left():
    ahead = run(lambda _t: Reference(0.3, 0.0, 0.0), (0.0, 0.0, 0.2), 8.0)
    assert ahead[0] < 0.05 and ahead[1] < 0.01  # across, a robot at rest cannot be moved
    x, y = at_rest(0.0).x, at_rest(0.0).y
    assert run(at_rest, (0.0, 0.0, 0.0), 8.0)[0] < math.hypot(x, y)


def test_a_turn_on_the_spot_is_followed():
    assert run(lambda t: Reference(theta=0.5 * t, omega=0.5), (0.0, 0.0, -1.0), 8.0)[1] < 1e-3


def test_a_dead_time_that_is_known_does_not_hurt():
    late = [
        run(
            on_circle,
            (0.0, 0.1, 0.0),
            10.0,
            VelocityTracker(TrackerSettings(limits=TURTLEBOT, dead_time=(known, known)), TRUE),
            VelocityRobot(TRUE, dead_time=0.25),
        )
        for known in (0.25, 0.0)
    ]
    assert late[0].max() < 1e-3
    assert late[1].max() > 20.0 * late[0].max()


def test_commands_keep_to_the_limits_and_the_record_says_so():
    limits = MotionLimits(0.7, math.pi, 0.3, 1.0)
    tracker = VelocityTracker(TrackerSettings(limits=limits), TRUE)
    command = tracker.update(0.0, Reference(x=3.0, y=1.0, v=0.5), (0.0, 0.0, 0.0), (0.0, 0.0))
    last = tracker.last
    assert abs(command.v) <= 0.7 and abs(command.omega) <= math.pi
    assert abs(last.acceleration.v) <= 0.3 and abs(last.acceleration.omega) <= 1.0
    assert last.limited == (True, True)
    assert last.error == (3.0, 1.0, 0.0) and last.command == command and last.sigma == TRUE


def test_what_cannot_be_is_refused_and_changes_nothing():
    tracker = VelocityTracker(TrackerSettings(), TRUE)
    tracker.update(1.0, Reference(), (0.0, 0.0, 0.0), (0.0, 0.0))
    before = tracker.last
    with pytest.raises(ValueError, match="v = nan"):
        tracker.update(1.1, Reference(), (0.0, 0.0, 0.0), (math.nan, 0.0))
    with pytest.raises(ValueError, match="must rise"):
        tracker.update(1.0, Reference(), (0.0, 0.0, 0.0), (0.0, 0.0))
    assert tracker.last is before
    for bad in ({"k_v": 0.0}, {"dead_time": (0.1, -1.0)}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            TrackerSettings(**bad)
    with pytest.raises(ValueError, match="damping"):
        KinematicGains(damping=math.nan)


SLOPES = Velocity(0.4, 1.2)
RAMPED = Sigma(0.3, 0.2, 1.05, 0.95)


def ahead_on_a_line(t):
    return Reference(0.5 + 0.3 * t, 0.0, 0.0, 0.3, 0.0)


def ahead_on_the_spot(t):
    return Reference(0.0, 0.0, 1.5 + t, 0.0, 1.0)


def beyond(reference, ramp, known, dead_time):
    """How far a robot that starts at rest passes what it catches up with, m or rad.

    Also its largest error in the last 2 s.
    """
    robot = VelocityRobot(RAMPED, ramp=ramp, dead_time=dead_time)
    settings = TrackerSettings(limits=TURTLEBOT, dead_time=(dead_time,) * 2, ramp=known)
    tracker = VelocityTracker(settings, RAMPED)
    robot.reset()
    errors = []
    for k in range(round(15.0 / PERIOD)):
        wanted = reference(k * PERIOD)
        error = pose_error(wanted, Pose(*robot.pose()))
        errors.append(error.x + error.theta)
        robot.step(tracker.update(k * PERIOD, wanted, robot.pose(), robot.velocity()), PERIOD)
    return -min(errors), max(map(abs, errors[-round(2.0 / PERIOD) :]))


@pytest.mark.parametrize("reference", [ahead_on_a_line, ahead_on_the_spot])
@pytest.mark.parametrize(
    ("coupling", "dead_time"), [(RampCoupling.OWN, 0.3), (RampCoupling.SCALED, 0.0)]
)
def test_a_ramp_that_is_known_is_planned_with(reference, coupling, dead_time):
    """It brakes in time, where a law that does not know of the ramp passes its reference."""
    ramp = CommandRamp(SLOPES, SLOPES, coupling)
    unplanned, _ = beyond(reference, ramp, None, dead_time)
    planned, late = beyond(reference, ramp, ramp, dead_time)
    assert late < 1e-3
    assert unplanned > 0.02
    assert planned < 0.3 * unplanned


@pytest.mark.parametrize("late", [(0.1, 0.35), (0.4, 0.05), (0.0, 0.2)])
def test_each_axis_has_a_dead_time_of_its_own(late):
    """A figure of 8 with lags far shorter than the difference; the mean for both is far worse."""
    lags, means = Sigma(0.1, 0.1, 1.0, 1.0), (0.5 * sum(late),) * 2
    trajectory = make_trajectory("figure_eight", laps=1, amplitude_x=0.8, amplitude_y=0.6)

    def largest_error(known):
        tracker = VelocityTracker(TrackerSettings(limits=TURTLEBOT, dead_time=known), lags)
        commands, velocity, pose, errors = [], REST, Pose(*trajectory.at(0.0).pose), []
        for k in range(round(30.0 / PERIOD)):
            now = k * PERIOD
            wanted = trajectory.at(now)
            error = pose_error(wanted, pose)
            errors.append(math.hypot(error.x, error.y))
            commands.append(
                tracker.update(
                    now, wanted, pose, velocity, ahead=lambda d, t=now: trajectory.at(t + d)
                )
            )
            sent = [commands[max(k - round(each / PERIOD), 0)] for each in late]
            waits = [now < each - 1e-9 for each in late]
            acting = Velocity(
                *(0.0 if w else c[i] for i, (w, c) in enumerate(zip(waits, sent, strict=True)))
            )
            after = lags.after(velocity, acting, PERIOD)
            half = 0.5 * PERIOD
            path = Arc(half * (velocity.v + after.v), half * (velocity.omega + after.omega))
            pose, velocity = path.end(pose), after
        return max(errors[round(10.0 / PERIOD) :])

    alone, mean = largest_error(late), largest_error(means)
    assert alone < 0.002 and mean > 5.0 * alone
