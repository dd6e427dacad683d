# SPDX-License-Identifier: Apache-2.0
"""Least squares beside a random walk, against the same problem with dense matrices."""

import numpy as np
import pytest

from arc_odometry import Arc, DiffOdometry, Pose, WheelGeometry
from arc_odometry.pose_covariance import Spread, propagate
from diffbot_calibration.random_walk_fit import LinearProblem, solve
from diffbot_recordings.sensor_readings import WheelPath, WheelTurns


def test_it_is_generalised_least_squares() -> None:
    """With the walk integrated out, the covariance of all measurements is dense: solve that."""
    rng = np.random.default_rng(0)
    count, measured, n, p = 12, 2, 2, 3
    h, j = rng.normal(size=(count, measured, n)), rng.normal(size=(count, measured, p))
    r = rng.normal(size=(count, measured))
    variances = rng.uniform(0.5, 2.0, (count, measured))
    roots = rng.normal(size=(count - 1, n, n))
    q = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(n)
    eye = np.tile(np.eye(n), (count - 1, 1, 1))
    problem = LinearProblem(r, h, j, np.zeros((count - 1, n)), eye, eye, np.zeros(p), np.zeros(p))
    result = solve(problem, 1.0 / variances, np.linalg.inv(q), 0.0)

    begin = 1e6  # variance of where the walk begins
    walk = np.zeros((count * n, count * n))
    for a in range(count):
        for b in range(count):
            walk[a * n : a * n + n, b * n : b * n + n] = begin * np.eye(n) + q[: min(a, b)].sum(0)
    big = np.zeros((count * measured, count * n))
    for k in range(count):
        big[k * measured : (k + 1) * measured, k * n : (k + 1) * n] = h[k]
    covariance = big @ walk @ big.T + np.diag(variances.ravel())
    weight = np.linalg.inv(covariance)
    flat = j.reshape(-1, p)
    information = flat.T @ weight @ flat
    # 1e6 stands for infinity: what it leaves is 1e-5.
    np.testing.assert_allclose(result.information, information, rtol=1e-4, atol=1e-4)
    beta = np.linalg.solve(information, flat.T @ weight @ r.ravel())
    np.testing.assert_allclose(result.beta, beta, rtol=1e-3, atol=1e-4)


def test_arcs_are_those_of_the_odometry() -> None:
    rng = np.random.default_rng(4)
    stamps = np.arange(50) * 0.01
    wheels = WheelTurns(stamps, *np.cumsum(rng.normal(0.0, 0.05, (2, 50)), axis=1))
    geometry = WheelGeometry(0.076, 0.074, 0.25)
    odometry = DiffOdometry(geometry)
    for stamp, left, right in zip(stamps, wheels.left, wheels.right, strict=True):
        odometry.update(stamp, (left, right))
    result = WheelPath(wheels, geometry).poses(stamps[-1:])[0]
    assert result == pytest.approx(np.array(odometry.pose), abs=1e-12)


def test_between_readings_the_robot_is_on_the_arc() -> None:
    wheels = WheelTurns(np.array([0.0, 1.0]), np.array([0.0, 2.0]), np.array([0.0, 5.0]))
    geometry = WheelGeometry(0.1, 0.1, 0.3)
    arc = Arc(*geometry.body_velocity(2.0, 5.0))
    result = WheelPath(wheels, geometry).poses(np.array([0.25]))[0]
    assert result == pytest.approx(np.array(arc.fraction(0.25).end(Pose(0.0, 0.0, 0.0))), abs=1e-12)


def test_held_out_covariance_is_that_of_the_odometry() -> None:
    """Slip summed over a window in arrays, against arc_odometry's exact sum."""
    from types import SimpleNamespace

    from diffbot_calibration import held_out

    geometry = WheelGeometry(0.075, 0.075, 0.27)
    stamps = np.arange(0.0, held_out.WINDOW + 0.001, 0.01)
    wheels = WheelTurns(stamps, 5.0 * stamps, 8.0 * stamps)
    k = 1e-5
    noise = SimpleNamespace(path=k, gyro_walk=0.0, gyro_angle=0.0, bias_walk=0.0, yaw=0.0)
    noise.position = 0.0
    fit = SimpleNamespace(noise=noise, value=lambda _name: 0.0)
    ends = np.array([[0.0, held_out.WINDOW]])
    total, _ = held_out._covariances(wheels, ends, geometry, fit, True)
    left, right = 0.075 * 5.0 * held_out.WINDOW, 0.075 * 8.0 * held_out.WINDOW
    arc = Arc(0.5 * (left + right), (right - left) / 0.27)
    spread = propagate(Spread(*[0.0] * 6), Pose(0, 0, 0), arc, (k * left, k * right), 0.27)
    xx, xy, xt, yy, yt, tt = spread
    exact = np.array([[xx, xy, xt], [xy, yy, yt], [xt, yt, tt]])
    order = [2, 0, 1]
    sizes = np.sqrt(np.diag(exact)[order])
    # Steps of 0.1 s: the sum is that of midpoints.
    difference = (total[0] - exact[np.ix_(order, order)]) / np.outer(sizes, sizes)
    assert np.max(np.abs(difference)) < 0.01
