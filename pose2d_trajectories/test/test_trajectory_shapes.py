# SPDX-License-Identifier: Apache-2.0
"""The shapes are the ones that their names promise."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arc_odometry import Pose
from pose2d_trajectories import TrajectoryLimits, make_trajectory
from pose2d_trajectories.paths import Corner, legs


def test_the_eight_of_2018():
    trajectory = make_trajectory("figure_eight", ramp_up=0.0, y=0.2)
    w = 2.0 * math.pi / 40.0
    for t in (0.0, 1.0, 10.0, 17.3, 40.0, 1003.0):
        now = trajectory.at(t)
        assert now.x == pytest.approx(math.sin(2.0 * w * t), abs=1e-12)
        assert now.y == pytest.approx(0.2 - 0.5 * math.cos(w * t), abs=1e-12)
    # Its start as in Fig. 26: half a metre beside the robot, in the same direction.
    start = make_trajectory("figure_eight").at(0.0)
    assert (start.x, start.y, start.theta) == (0.0, -0.5, 0.0)


@pytest.mark.parametrize("backwards", [False, True])
def test_the_eight_of_2023(backwards):
    trajectory = make_trajectory("siwek_eight", ramp_up=0.0, backwards=backwards)
    for t in (0.0, 1.0, 10.0, 30.0, 45.0):
        now = trajectory.at(t)
        assert now.x == pytest.approx(2.0 * math.sin(0.25 * t), abs=1e-12)
        assert now.y == pytest.approx(2.0 * math.cos(0.125 * t), abs=1e-12)
        dx, dy = 0.5 * math.cos(0.25 * t), -0.25 * math.sin(0.125 * t)
        expected = math.atan2(dy, dx) + math.pi * backwards  # (8) with k = 0 and 1
        assert math.remainder(now.theta - expected, 2.0 * math.pi) == pytest.approx(0.0, abs=1e-12)


def test_circle():
    trajectory = make_trajectory("circle", radius=2.0, speed=0.5, laps=1)
    path = 4.0 * math.pi
    assert trajectory.duration == pytest.approx(path / 0.5 + 2.0)  # two ramps cost 1 s each
    now = trajectory.at(0.5 * trajectory.duration)
    assert (now.x, now.y, now.theta) == pytest.approx((0.0, 2.0, math.pi))
    assert (now.v, now.omega, now.dv, now.domega) == pytest.approx((0.5, 0.25, 0.0, 0.0))


@pytest.mark.parametrize("rounding", [0.1, 0.5, 1.0])
def test_rounded_square(rounding):
    trajectory = make_trajectory("rounded_square", rounding=rounding, laps=1, theta=0.0)
    points = [trajectory.at(trajectory.duration * k / 2000.0) for k in range(2001)]
    outermost = max(max(abs(p.x), abs(p.y)) for p in points)
    assert outermost == pytest.approx(1.0, abs=1e-6)
    # It looks the same from all four sides, and its corners are cut.
    quarter = [(-p.y, p.x) for p in points]
    for x, y in quarter[::100]:
        assert min(math.dist((x, y), (p.x, p.y)) for p in points) < 0.01
    diagonal = max(abs(p.x) + abs(p.y) for p in points)
    assert 2.0 - rounding < diagonal < 2.0 - 0.3 * rounding


def test_line():
    trajectory = make_trajectory("line", length=3.0, x=1.0, y=1.0, theta=math.pi / 2.0)
    end = trajectory.at(trajectory.duration)
    assert (end.x, end.y, end.theta) == pytest.approx((1.0, 4.0, math.pi / 2.0))
    # 3 m at 0.3 m/s and two ramps of 1.875 * 0.3 / 0.5 s, each of which costs half its time.
    assert trajectory.duration == pytest.approx(10.0 + 1.875 * 0.3 / 0.5)


@pytest.mark.parametrize("turn", [-2.7, -0.5, 1e-6, 1.0, math.pi / 2.0, 2.7])
def test_the_end_of_a_corner_against_simpson(turn):
    corner = Corner(Pose(1.0, 2.0, 0.7), turn, Corner.length_for(turn, 0.4))
    number = 20_000
    u = np.linspace(0.0, 1.0, number + 1)
    headings = 0.7 + turn * (6.0 * u**5 - 15.0 * u**4 + 10.0 * u**3)
    weights = np.ones(number + 1)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    weights *= corner.length / (3.0 * number)
    end = corner.at(corner.length)
    assert end.x - 1.0 == pytest.approx(float(weights @ np.cos(headings)), abs=1e-12)
    assert end.y - 2.0 == pytest.approx(float(weights @ np.sin(headings)), abs=1e-12)
    # Both tangents meet 0.4 m from its beginning and from its end.
    meeting = (1.0 + 0.4 * math.cos(0.7), 2.0 + 0.4 * math.sin(0.7))
    assert math.dist(meeting, (end.x, end.y)) == pytest.approx(0.4, abs=1e-12)
    curvatures = [abs(corner.at(corner.length * k / 1000.0).dtheta) for k in range(1001)]
    sharpness = [abs(corner.at(corner.length * k / 1000.0).ddtheta) for k in range(1001)]
    assert max(curvatures) == pytest.approx(corner.max_curvature, rel=1e-5)
    assert max(sharpness) == pytest.approx(corner.max_sharpness, rel=1e-5)


coordinates = st.floats(-5.0, 5.0)
ways = st.lists(st.tuples(coordinates, coordinates), min_size=2, max_size=6)


def far_apart(points):
    return all(math.dist(a, b) > 0.1 for a, b in zip(points, points[1:], strict=False))


@given(ways.filter(far_apart))
def test_waypoints_with_stops_rest_at_every_point(points):
    trajectory = make_trajectory("waypoints", points=points, corners="stop", speed=0.7)
    number = 4000
    samples = [trajectory.at(trajectory.duration * k / number) for k in range(number + 1)]
    dt = trajectory.duration / number
    for a, b in zip(samples, samples[1:], strict=False):
        assert math.dist((a.x, a.y), (b.x, b.y)) <= 0.7 * dt * (1.0 + 1e-6) + 1e-12
        assert abs(b.theta - a.theta) <= 1.0 * dt * (1.0 + 1e-6) + 1e-12
        assert a.v == 0.0 or a.omega == 0.0
    for x, y in points:
        near = min(samples, key=lambda s: math.dist((s.x, s.y), (x, y)))
        assert math.dist((near.x, near.y), (x, y)) < 0.02
        assert near.v < 0.25
    assert math.dist((samples[-1].x, samples[-1].y), points[-1]) < 1e-9


@given(ways.filter(far_apart), st.floats(0.05, 3.0))
def test_smooth_waypoints_pass_near_every_point_and_do_not_stop(points, rounding):
    headings = [leg.start.theta for leg in legs(points)]
    turns = [b - a for a, b in zip(headings, headings[1:], strict=False)]
    assume(all(abs(turn) < math.radians(150.0) for turn in turns))
    limits = TrajectoryLimits(linear_velocity=0.6, angular_velocity=0.8)
    trajectory = make_trajectory(
        "waypoints", points=points, rounding=rounding, speed=1.0, limits=limits
    )
    number = 4000
    dt = trajectory.duration / number
    samples = [trajectory.at(k * dt) for k in range(number + 1)]
    for a, b in zip(samples, samples[1:], strict=False):
        assert math.dist((a.x, a.y), (b.x, b.y)) <= 0.6 * dt * (1.0 + 1e-6) + 1e-12
    assert math.dist((samples[-1].x, samples[-1].y), points[-1]) < 1e-9
    for x, y in points:
        distance = min(math.dist((s.x, s.y), (x, y)) for s in samples)
        assert distance <= rounding + 0.6 * dt
    # Never at rest on the way: only within the first and the last ramp.
    inner = [s.v for s in samples[number // 20 : -number // 20]]
    assert min(inner) > 0.0


def test_corners_are_slower_than_straights():
    points = [(0.0, 0.0), (3.0, 0.0), (3.0, 3.0)]
    limits = TrajectoryLimits(angular_velocity=0.5)
    trajectory = make_trajectory("waypoints", points=points, speed=0.8, limits=limits)
    samples = [trajectory.at(trajectory.duration * k / 5000.0) for k in range(5001)]
    corner = [s.v for s in samples if abs(s.omega) > 1e-6]
    assert max(s.v for s in samples) == pytest.approx(0.8)
    assert max(abs(s.omega) for s in samples) == pytest.approx(0.5, rel=1e-4)
    assert max(corner) == pytest.approx(min(corner)) and max(corner) < 0.3
