# SPDX-License-Identifier: Apache-2.0
"""Covariances: against ensembles of noisy robots, and what must hold for every one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import DiffOdometry, WheelGeometry

GEOMETRY = WheelGeometry(0.07, 0.08, 0.272)
RADII = np.array([0.07, 0.08])
turn = st.floats(-3.0, 3.0)
steps = st.lists(st.tuples(turn, turn), min_size=1, max_size=8)
headings = st.floats(-4.0, 4.0)

# Ways of a few metres as wheel turns in rad; each number of pieces is one step of the odometry.
WAYS = {
    "straight": [(40.0, 35.0)],
    "backwards": [(-40.0, -35.0)],
    "on the spot": [(-12.0, 10.5)],
    "one large arc": [(20.0, 40.0)],
    "an S in 60 steps": [(0.8, 1.1)] * 30 + [(1.1, 0.6)] * 30,
    "there and back": [(20.0, 25.0), (-20.0, -25.0)],
    "one wheel at a time": [(0.0, 15.0), (15.0, 0.0), (0.0, 10.0)],
}


def driven(steps, theta=0.0, noise=1e-6, geometry=GEOMETRY):
    made = DiffOdometry(geometry, noise, pose=(0.0, 0.0, theta))
    for step in steps:
        made.advance(step, 0.1)
    return made


def ensemble(steps, noise, size, seed):
    """End poses (size, 3) of robots whose wheels' paths have white noise along the way.

    Straight pieces with a kick at each end of a fine cut: neither the arcs nor the integrals of
    the code under test.
    """
    generator = np.random.default_rng(seed)
    x, y, theta = np.zeros((3, size))
    for step in steps:
        pieces = max(4, math.ceil(np.max(np.abs(step)) / 0.1))
        piece = RADII * step / pieces
        for _ in range(pieces):
            left, right = piece[:, None] + np.sqrt(noise * np.abs(piece))[
                :, None
            ] * generator.standard_normal((2, size))
            theta_after = theta + (right - left) / 0.272
            middle = 0.5 * (theta + theta_after)
            x, y = (
                x + 0.5 * (left + right) * np.cos(middle),
                y + 0.5 * (left + right) * np.sin(middle),
            )
            theta = theta_after
    return np.stack([x, y, theta], axis=1)


@pytest.mark.parametrize("direction", WAYS)
def test_ensembles_spread_as_the_covariance_says(direction):
    """4000 robots, seed 1. In the covariance's own axes an ensemble's should be the identity.

    Its entries then have the standard deviation sqrt(2 / 4000) = 0.022 on the diagonal and 0.016
    beside it; 5 of them are allowed. Heading noise stays below 0.03 rad, for first order.
    """
    size, noise = 4000, 1e-6
    stated = driven(WAYS[direction], noise=noise).covariance
    errors = ensemble(WAYS[direction], noise, size, seed=1)
    spread = np.cov(errors.T)
    whiten = np.linalg.inv(np.linalg.cholesky(stated))
    deviation = whiten @ spread @ whiten.T - np.eye(3)
    assert np.max(np.abs(deviation)) < 5.0 * math.sqrt(2.0 / size)
    assert math.sqrt(stated[2, 2]) < 0.03


def test_a_straight_way_by_hand():
    """L = 1 m: var x = k L / 2, var theta = 2 k L / (2 b)^2, var y = var theta L^2 / 3."""
    k, track = 1e-6, 0.5
    made = driven([(10.0, 10.0)], noise=k, geometry=WheelGeometry(0.1, 0.1, track))
    heading = 2.0 * k / track**2
    expected = np.diag([k / 2.0, heading / 3.0, heading])
    expected[1, 2] = expected[2, 1] = heading / 2.0
    assert made.covariance == pytest.approx(expected, abs=1e-18)


def test_one_wheel_only_turns_the_robot_about_the_other():
    """The noise d theta about the contact at (0, b) moves the pose by d theta J (p - contact)."""
    made = driven([(0.0, 2.0)])
    x, y, theta = made.pose
    assert (x, y) == pytest.approx((0.136 * math.sin(theta), 0.136 * (1.0 - math.cos(theta))))
    lever = np.array([-(y - 0.136), x, 1.0])
    expected = 1e-6 * 2.0 * 0.08 / 0.272**2 * np.outer(lever, lever)
    assert made.covariance == pytest.approx(expected, abs=1e-18)


def test_velocity_covariance_by_hand():
    """Wheel paths of 0.1 m and 0.2 m in 0.1 s: variances k 0.1 / 0.01 and k 0.2 / 0.01."""
    made = driven([(1.0, 2.0)], noise=1e-4, geometry=WheelGeometry(0.1, 0.1, 0.5))
    body = np.array([[0.5, 0.5], [-2.0, 2.0]])
    expected = body @ np.diag([1e-3, 2e-3]) @ body.T
    assert made.velocity_covariance == pytest.approx(expected, rel=1e-12)
    made.restart()
    assert not made.velocity_covariance.any()


@given(steps, headings, st.one_of(st.just(0.0), st.floats(1e-12, 1.0)))
def test_symmetric_and_positive_semidefinite(steps, theta, noise):
    covariance = driven(steps, theta, noise).covariance
    assert np.array_equal(covariance, covariance.T)
    # Rounding: below the 15th digit of the largest entry, and of numbers with fewer digits.
    smallest = np.linalg.eigvalsh(covariance)[0]
    assert smallest >= -1e-15 * np.max(np.abs(covariance)) - 1e-300


@given(steps, headings)
def test_the_frame_does_not_matter(steps, theta):
    turn = np.array(
        [[math.cos(theta), -math.sin(theta), 0], [math.sin(theta), math.cos(theta), 0], [0, 0, 1]]
    )
    expected = turn @ driven(steps).covariance @ turn.T
    assert driven(steps, theta).covariance == pytest.approx(expected, abs=1e-16)


@given(st.tuples(turn, turn), st.floats(0.05, 0.95))
def test_a_step_may_be_cut(step, fraction):
    first = tuple(fraction * wheel for wheel in step)
    second = tuple(wheel - part for wheel, part in zip(step, first, strict=True))
    cut, whole = driven([first, second]).covariance, driven([step]).covariance
    assert cut == pytest.approx(whole, abs=1e-11 * np.max(np.abs(whole)) + 1e-30)


@pytest.mark.parametrize("turns, tolerance", [(0.5, 1e-11), (5.0, 1e-6)])
def test_a_large_step_is_integrated_as_finely_as_stated(turns, tolerance):
    wheel = turns * math.tau * 0.272
    step = np.array([1.0 / 0.07, (1.0 + wheel) / 0.08])
    whole = driven([tuple(step)]).covariance
    cut = driven([tuple(step / 1000)] * 1000).covariance
    assert whole == pytest.approx(cut, abs=tolerance * np.max(np.abs(cut)))


@given(steps)
def test_the_mirrored_robot_has_the_mirrored_covariance(steps):
    mirror = np.diag([1.0, -1.0, -1.0])
    geometry = WheelGeometry(GEOMETRY.right_radius, GEOMETRY.left_radius, GEOMETRY.separation)
    mirrored = driven([(right, left) for left, right in steps], geometry=geometry)
    expected = mirror @ driven(steps).covariance @ mirror
    assert mirrored.covariance == pytest.approx(expected, abs=1e-18)


@given(steps)
def test_driving_never_makes_the_heading_surer(steps):
    """Nor the pose: each step adds, seen from the end of the way."""
    made = DiffOdometry(GEOMETRY, 1e-6)
    last = 0.0
    for step in steps:
        made.advance(step, 0.1)
        now = made.covariance
        assert now[2, 2] >= last
        last = now[2, 2]


def test_a_known_pose_is_sure_and_a_given_uncertainty_is_carried_along():
    made = driven([(10.0, 10.0)])
    made.set_pose((1.0, 2.0, 0.0))
    assert not made.covariance.any()
    made.set_path_noise(0.0)
    made.set_geometry(WheelGeometry(0.1, 0.1, 0.5))
    made.set_pose((1.0, 2.0, 0.0), np.diag([0.01, 0.04, 0.09]))
    made.advance((20.0, 20.0), 1.0)  # 2 m ahead: y = 2 theta
    expected = [[0.01, 0.0, 0.0], [0.0, 0.04 + 4.0 * 0.09, 0.18], [0.0, 0.18, 0.09]]
    assert made.covariance == pytest.approx(np.array(expected))


def test_it_is_the_same_whenever_it_is_asked_for():
    """After each step, after all of them, or after a change of the geometry that comes between."""
    asked, waiting = driven([]), driven([])
    for step in WAYS["an S in 60 steps"]:
        asked.advance(step, 0.1)
        asked.settle()
        waiting.advance(step, 0.1)
    other = WheelGeometry(0.07, 0.08, 0.5)
    for odometry in (asked, waiting):
        odometry.set_geometry(other)
    assert (asked.covariance == waiting.covariance).all()
    assert asked.covariance[2, 2] > 0.0


def test_a_step_beyond_all_numbers_is_refused_though_the_covariance_alone_is():
    odometry = driven([(1.0, 1.0)], noise=1e280)
    before = odometry.pose, odometry.covariance
    with pytest.raises(ValueError, match="beyond the numbers"):
        odometry.advance((8e13, 7e13), 0.1)
    assert odometry.pose == before[0] and (odometry.covariance == before[1]).all()
