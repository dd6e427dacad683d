# SPDX-License-Identifier: Apache-2.0
"""Poses: against circles, against numerical integration, and what symmetry demands."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arc_odometry import Arc, DiffOdometry, Pose, WheelGeometry

length = st.floats(0.01, 1.0)
geometries = st.builds(WheelGeometry, length, length, length)
turn = st.floats(-20.0, 20.0)
turns = st.tuples(turn, turn)
poses = st.tuples(st.floats(-10.0, 10.0), st.floats(-10.0, 10.0), st.floats(-7.0, 7.0))
HOME = Pose(0.0, 0.0, 0.0)


def odometry(geometry, pose=HOME, **options):
    return DiffOdometry(geometry, pose=pose, **options)


def driven(geometry, pose, *steps):
    """The pose after some steps of wheel turns."""
    made = odometry(geometry, pose)
    for step in steps:
        made.advance(step, 0.01)
    return made.pose


def circle(radius, angle):
    """A point of the circle that is left around (0, radius) from the origin, from its centre."""
    return radius * math.sin(angle), radius * (1.0 - math.cos(angle))


@pytest.mark.parametrize("radius", [-50.0, -1.0, -0.136, 0.02, 0.3, 4.0, 1e3])
@pytest.mark.parametrize("angle", [1e-6, 0.01, 0.5, 3.0, 2.0 * math.pi, 20.0])
@pytest.mark.parametrize("steps", [1, 7])
def test_circles_of_any_size_are_exact(radius, angle, steps):
    """Wheels of different radii, each rolled along its own circle around the same centre."""
    geometry = WheelGeometry(0.07, 0.08, 0.272)
    angle = math.copysign(angle, radius)  # forwards on either side
    left = (radius - 0.136) * angle / 0.07 / steps
    right = (radius + 0.136) * angle / 0.08 / steps
    x, y, theta = driven(geometry, HOME, *[(left, right)] * steps)
    # The turn is a small difference of the wheels' long paths, which are rounded.
    rounding = 1e-15 * abs(angle) * (1.0 + abs(radius) / 0.272)
    assert theta == pytest.approx(angle, abs=rounding)
    assert (x, y) == pytest.approx(circle(radius, angle), abs=abs(radius) * (rounding + 1e-15))


def integrated(v, theta, seconds, pieces):
    """Simpson's rule on x' = v cos theta, y' = v sin theta, for functions of arrays of times."""
    times = np.linspace(0.0, seconds, 2 * pieces + 1)
    weights = np.ones_like(times)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    weights *= seconds / (6.0 * pieces)
    return tuple(weights @ (v(times) * direction(theta(times))) for direction in (np.cos, np.sin))


@given(geometries, turns, poses)
def test_an_arc_is_the_integral_of_the_kinematics(geometry, step, start):
    """One step of any size against the integral of the contact points' mean velocity."""
    left, right = geometry.left_radius * step[0], geometry.right_radius * step[1]
    path, turned = 0.5 * (left + right), (right - left) / geometry.separation
    assume(abs(turned) < 60.0)
    x, y = integrated(
        lambda fraction: path * np.ones_like(fraction),
        lambda fraction: start[2] + turned * fraction,
        1.0,
        4000,
    )
    # Simpson's error: (60 / 8000)^4 / 180 of the path at most.
    assert driven(geometry, start, step) == pytest.approx(
        (start[0] + x, start[1] + y, start[2] + turned), abs=1e-9 * (1.0 + abs(path))
    )


def test_a_robot_that_steers_all_the_time_is_followed():
    """10 s at v = 0.5 + 0.3 sin t, omega = 2 cos 1.3 t; a step leaves out its change of curvature.

    The error is of second order in the period: measured 7.0e-5 m at 10 ms.
    """
    truth = integrated(
        lambda time: 0.5 + 0.3 * np.sin(time),
        lambda time: 2.0 / 1.3 * np.sin(1.3 * time),
        10.0,
        4000,
    )
    errors = []
    for period in (0.02, 0.01):
        made = odometry(WheelGeometry(0.075, 0.075, 0.272))
        for k in range(round(10.0 / period) + 1):
            time = k * period
            path = 0.5 * time + 0.3 * (1.0 - math.cos(time))
            bend = 0.136 * 2.0 / 1.3 * math.sin(1.3 * time)
            made.update(time, ((path - bend) / 0.075, (path + bend) / 0.075))
        errors.append(math.dist(made.pose[:2], truth))
    assert errors[1] < 8e-5
    assert 3.9 < errors[0] / errors[1] < 4.1


def straight(arc: Arc, start: Pose, direction: float) -> Pose:
    """Return the end of the arc's length straight in a direction [rad], with the arc's turn."""
    x = start.x + arc.length * math.cos(direction)
    y = start.y + arc.length * math.sin(direction)
    return Pose(x, y, start.theta + arc.turn)


def euler_end(arc: Arc, start: Pose) -> Pose:
    return straight(arc, start, start.theta)


def midpoint_end(arc: Arc, start: Pose) -> Pose:
    return straight(arc, start, start.theta + 0.5 * arc.turn)


def test_arc_beats_midpoint_beats_straight_line():
    """A quarter circle of 1 m: in 4 steps and in 100. benchmarks/odometry.py shows more."""
    truth = circle(1.0, math.pi / 2.0)
    for steps in (4, 100):
        piece = Arc(math.pi / 2.0, math.pi / 2.0).fraction(1.0 / steps)
        error = {}
        for end in (Arc.end, midpoint_end, euler_end):
            pose = HOME
            for _ in range(steps):
                pose = end(piece, pose)
            error[end] = math.dist(pose[:2], truth)
        assert error[Arc.end] < 1e-14 * steps
        # By hand: all of the midpoint's chords, and so the whole, are a / 2 / sin(a / 2) too long.
        half = 0.5 * piece.turn
        assert error[midpoint_end] == pytest.approx(
            math.sqrt(2.0) * (half / math.sin(half) - 1.0), rel=1e-6
        )
        # And Euler's polygon is turned by a / 2 besides.
        factor = half / math.sin(half) * complex(math.cos(half), -math.sin(half)) - 1.0
        assert error[euler_end] == pytest.approx(math.sqrt(2.0) * abs(factor), rel=1e-6)
        assert error[euler_end] > 10.0 * error[midpoint_end]


@given(geometries, st.lists(turns, max_size=8), poses)
def test_the_same_way_back_returns_to_the_start(geometry, steps, start):
    back = [(-left, -right) for left, right in reversed(steps)]
    assert driven(geometry, start, *steps, *back) == pytest.approx(start, abs=1e-9)


@given(geometries, st.lists(turns, max_size=5), poses)
def test_the_frame_does_not_matter(geometry, steps, frame):
    """Driving from a pose is driving from the origin, seen from a frame at that pose."""
    x, y, theta = driven(geometry, HOME, *steps)
    c, s = math.cos(frame[2]), math.sin(frame[2])
    expected = (frame[0] + c * x - s * y, frame[1] + s * x + c * y, frame[2] + theta)
    # Angles of thousands of rad are rounded to 1e-12.
    assert driven(geometry, frame, *steps) == pytest.approx(expected, abs=1e-8)


@given(geometries, turns, st.floats(0.0, 1.0))
def test_a_step_may_be_cut(geometry, step, fraction):
    first = tuple(fraction * wheel for wheel in step)
    second = tuple(wheel - part for wheel, part in zip(step, first, strict=True))
    expected = driven(geometry, HOME, step)
    assert driven(geometry, HOME, first, second) == pytest.approx(expected, abs=1e-9)


@given(geometries, st.lists(turns, max_size=5))
def test_the_mirrored_robot_drives_the_mirrored_way(geometry, steps):
    mirrored = WheelGeometry(geometry.right_radius, geometry.left_radius, geometry.separation)
    x, y, theta = driven(geometry, HOME, *steps)
    pose = driven(mirrored, HOME, *[(right, left) for left, right in steps])
    assert pose == pytest.approx((x, -y, -theta), abs=1e-9)


def test_velocity_is_the_mean_over_the_step():
    made = odometry(WheelGeometry(0.1, 0.1, 0.5))
    assert made.velocity == (0.0, 0.0)
    made.update(1.0, (3.0, 3.0))
    assert made.velocity == (0.0, 0.0)
    made.update(1.5, (3.5, 4.0))
    assert made.velocity == pytest.approx((0.5 * (0.05 + 0.1) / 0.5, 0.05 / 0.5 / 0.5))


def test_heading_counts_whole_turns():
    made = odometry(WheelGeometry(0.1, 0.1, 0.2))
    for k in range(101):
        made.update(0.1 * k, (-float(k), float(k)))
    assert made.pose == pytest.approx((0.0, 0.0, 100.0), abs=1e-12)


def test_geometry_and_pose_may_change_on_the_way():
    made = odometry(WheelGeometry(0.1, 0.1, 0.5))
    made.update(0.0, (0.0, 0.0))
    made.update(0.1, (1.0, 1.0))
    made.set_geometry(WheelGeometry(0.2, 0.2, 0.5))
    made.update(0.2, (2.0, 2.0))
    assert made.pose == pytest.approx((0.3, 0.0, 0.0))
    made.set_pose((5.0, 6.0, math.pi / 2.0))
    made.update(0.3, (3.0, 3.0))
    assert made.pose == pytest.approx((5.0, 6.2, math.pi / 2.0))
