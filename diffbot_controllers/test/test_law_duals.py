# SPDX-License-Identifier: Apache-2.0
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arc_odometry import Arc, Pose, Velocity
from diffbot_controllers import Approach, ApproachGains, TrackerGains
from diffbot_controllers.laws.backstepping_standard import tracking_velocity
from diffbot_controllers.laws.dual import Dual
from diffbot_controllers.laws.polar_approach import moving_offset

coordinate = st.floats(-2.0, 2.0)
angle = st.floats(-6.0, 6.0)
speed = st.floats(-2.0, 2.0)
H = 1e-6  # s, of the central differences


def moved(pose, u, time):
    return Arc(u.v * time, u.omega * time).end(Pose(*pose))


def difference(function):
    """Value at 0 and central difference of a pair of functions of time."""
    after, before = function(H), function(-H)
    return [(a - b) / (2.0 * H) for a, b in zip(after, before, strict=True)]


@given(coordinate, coordinate, angle, speed, speed, speed, speed)
def test_rate_of_the_approach_is_that_along_the_motion(x, y, theta, v, omega, gv, gomega):
    assume(math.hypot(x, y) > 0.05)
    gains = ApproachGains(deceleration=3.0, angular_deceleration=40.0, linear_velocity=1.9)
    u, motion = Velocity(v, omega), Velocity(gv, gomega)

    def at(time, approach):
        offset = moving_offset(
            moved((x, y, theta), u, time), u, moved((0.0, 0.0, 0.0), motion, time), motion
        )
        return approach.velocity(*offset)

    approach = Approach(gains)
    result = at(0.0, approach)

    def values(time):
        # The driving direction is kept by the state of `approach`.
        return [rate.value for rate in at(time, approach)]

    # Where a bound begins the slope has a step, and alpha has one at +-pi: not on these.
    slopes = [difference(lambda t, o=o: values(t + o)) for o in (-3.0 * H, 3.0 * H)]
    assume(all(abs(a - b) < 1e-3 * (1 + abs(a)) for a, b in zip(*slopes, strict=True)))
    numeric = difference(values)
    for rate, slope in zip(result, numeric, strict=True):
        assert rate.rate == pytest.approx(slope, abs=1e-4 * (1.0 + abs(slope)))


@given(coordinate, coordinate, st.floats(-3.0, 3.0), speed, speed, speed, speed)
def test_rate_of_the_tracker_is_that_along_the_motion(x, y, theta, v, omega, rv, romega):
    u, motion = Velocity(v, omega), Velocity(rv, romega)
    dv, domega = 0.3, -0.7

    def at(time):
        # The reference accelerates: its place changes by that to second order only.
        robot, reference = moved((0.0, 0.0, 0.0), u, time), moved((x, y, theta), motion, time)
        return tracking_velocity(
            *moving_offset(reference, motion, robot, u),
            Dual(rv + dv * time, dv),
            Dual(romega + domega * time, domega),
            TrackerGains(),
        )

    numeric = difference(lambda t: [rate.value for rate in at(t)])
    for rate, slope in zip(at(0.0), numeric, strict=True):
        assert rate.rate == pytest.approx(slope, abs=1e-5 * (1.0 + abs(slope)) + 1e-5)


@given(coordinate, coordinate, st.floats(-3.0, 3.0), speed, speed)
def test_tracker_descends_on_its_lyapunov_function(x, y, theta, rv, romega):
    gains = TrackerGains(along=3.0, reach=0.2, turning=1.0)
    v, omega = tracking_velocity(Dual(x), Dual(y), Dual(theta), Dual(rv), Dual(romega), gains)
    u = Velocity(v.value, omega.value)
    dx, dy, dtheta = moving_offset(Pose(x, y, theta), Velocity(rv, romega), Pose(0.0, 0.0, 0.0), u)
    b = 1.0 / 0.2**2
    slope = b * (x * dx.rate + y * dy.rate) + theta * dtheta.rate
    k3 = 2.0 * math.sqrt(romega**2 + b * rv**2 + 0.25)
    size = b * (abs(x) + abs(y)) * (1.0 + abs(u.omega) * 3.0 + abs(u.v)) + 1.0
    assert slope == pytest.approx(-b * 3.0 * x**2 - k3 * theta**2, abs=1e-9 * size)
