# SPDX-License-Identifier: Apache-2.0
"""When wheels turn round, by the angles and by the torques."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from test_regression import GEOMETRY

from diffbot_ident.samples.wheel_speeds import (
    UNKNOWN_RESPONSE,
    TorqueResponse,
    WheelSpeeds,
    turns,
    wheel_speeds,
)

H = 0.01


def course(begin, end, change=0.0):
    """One period in which both wheels go from one speed to another, rad/s."""
    one = np.ones((1, 2))
    middle = 0.5 * (begin + end) * one
    return WheelSpeeds(begin * one, end * one, middle, change * one, np.array([H]))


@given(st.floats(0.1, 5.0), st.floats(0.1, 5.0))
def test_integral_of_the_sign_where_a_wheel_turns_round(before, after):
    """Without friction (after - before) / (after + before) of the period, by both weights."""
    rising, falling = course(-before, after).sign_integrals()
    expected = H * (after - before) / (after + before)
    np.testing.assert_allclose(rising + falling, expected, atol=1e-12)


def test_friction_bends_the_course_where_the_speed_is_zero():
    """Slopes 3 before and 1 after: from -1.5 h to 0.5 h the wheel turns round in the middle."""
    rising, falling = course(-1.5 * H, 0.5 * H, change=1.0 * H).sign_integrals()
    np.testing.assert_allclose(rising + falling, 0.0, atol=1e-12)
    np.testing.assert_allclose(rising, 0.25 * H)


@given(st.floats(0.02, 0.98), st.floats(0.0, 0.95))
def test_the_time_of_turning_round_is_exact_whatever_the_friction(fraction, friction):
    """Slopes 1 + f before and 1 - f after: begin and end follow, and give the share back."""
    begin, end = -(1.0 + friction) * fraction * H, (1.0 - friction) * (1.0 - fraction) * H
    rising, falling = course(begin, end, change=friction * H).sign_integrals()
    np.testing.assert_allclose(rising + falling, H * (1.0 - 2.0 * fraction), atol=1e-9 * H)
    np.testing.assert_allclose(rising, H * (0.5 - fraction**2), atol=1e-9 * H)


def test_a_robot_turns_round_while_its_wheels_roll_on():
    """Driving ahead on sliding wheels: the floor's friction bends the course of the yaw rate.

    Exact angles: omega rises by 1.3 d until it is 0 and by 0.7 d after, d = 10 rad/s^2. What is
    left of an error is that the floor's friction is first left out.
    """
    b, d, friction = GEOMETRY.half_track, 10.0, 3.0
    radius = 0.5 * (GEOMETRY.left_radius + GEOMETRY.right_radius)
    k8 = -b / radius  # a moment of 1 N m makes 1 rad/s^2
    known = TorqueResponse(1.0, k8, 0.0, turning=(0.0, friction))
    time = H * np.arange(-12, 13)
    period = np.full(len(time) - 1, H)
    impulse = np.array([0.0 * period, d / k8 * period])
    for at in H * np.linspace(0.02, 0.98, 25):
        slope = np.where(time < at, d + friction, d - friction)
        turn, path = 0.5 * slope * np.square(time - at), 1.0 * time
        speed = np.diff(np.column_stack((path - b * turn, path + b * turn)) / radius, axis=0) / H
        result = wheel_speeds(speed, period, impulse, known, GEOMETRY, 4)
        assert (result.begin > 0.0).all()
        rising, falling = result.of_yaw(GEOMETRY, known).sign_integrals()
        expected = (time[-1] - at) - (at - time[0])
        assert abs((rising + falling).sum() - expected) < 0.02 * H


def time_error(response, torque, slopes):
    """Root mean square error of the time at which wheels turn round, s, over 200 phases.

    Encoders of 500 counts; both wheels go straight, with one slope (rad/s^2) before and one after.
    """
    time = H * np.arange(-20, 21)
    count = 2.0 * np.pi / 500
    period = np.full(len(time) - 1, H)
    impulse = np.array([2.0 * torque * period, 0.0 * period])
    errors = []
    for phase, offset in np.random.default_rng(2).random((200, 2)):
        at = H * phase
        angle = 0.5 * np.where(time < at, *slopes) * np.square(time - at)
        read = np.floor(angle / count + offset) * count
        speed = np.repeat(np.diff(read)[:, None] / H, 2, axis=1)
        result = wheel_speeds(speed, period, impulse, response, GEOMETRY, 4)
        rising, falling = result.sign_integrals()
        # The sign's integral is what turning forward lasts less what turning backward does.
        whole = (rising + falling)[:, 0].sum()
        errors.append(0.5 * (time[-1] - at - (at - time[0]) - whole))
    return float(np.sqrt(np.mean(np.square(errors))))


def test_torques_tell_when_coarse_encoders_do_not():
    """Friction of 0.4 of the torque: the time is at least twice as good as by angles alone."""
    torque, coulomb = 1.0, 0.4
    gain = 2.0 / (0.5 * (GEOMETRY.left_radius + GEOMETRY.right_radius))
    slopes = gain * (torque + coulomb), gain * (torque - coulomb)
    known = TorqueResponse(1.0, -1.0 / GEOMETRY.half_track, 0.0, (0.0, 0.0, coulomb, coulomb))
    by_torques = time_error(known, torque, slopes)
    assert by_torques < 0.004
    assert 2.0 * by_torques < time_error(UNKNOWN_RESPONSE, torque, slopes)


def test_a_wheel_whose_angle_stays_stands():
    speed, period = np.zeros((20, 2)), np.full(20, H)
    impulse = np.full((2, 20), 0.01)
    result = wheel_speeds(speed, period, impulse, TorqueResponse(1.0, -5.0), GEOMETRY, 4)
    assert not result.begin.any() and not result.middle.any()


@given(st.floats(0.01, 0.1))
def test_counts_forward_and_back_give_no_direction_whatever_their_rounding_errors(count):
    """A wheel that flickers between two counts stands on the mean, and its friction has no sign."""
    angles = np.tile([[0.0], [count], [count], [0.0], [0.0]], (10, 2))
    period = np.diff(100.0 + H * np.arange(50))
    speed = turns(angles) / period[:, None]
    result = wheel_speeds(speed, period, np.zeros((2, 49)), UNKNOWN_RESPONSE, GEOMETRY, side=2)
    assert not result.middle[4:45].any()
