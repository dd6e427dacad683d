# SPDX-License-Identifier: Apache-2.0
"""Recursive least squares: equals the batch solution, and its variances are honest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_ident.rls import RecursiveLeastSquares


def rows(seed, count, noise, size=2):
    random = np.random.default_rng(seed)
    theta = random.normal(size=size) * 10.0
    phi = random.normal(size=(count, size)) * random.uniform(0.1, 10.0, size)
    return theta, phi, phi @ theta + noise * random.normal(size=count)


@given(st.integers(0, 10**6), st.integers(10, 80))
def test_equals_batch_least_squares_with_the_same_prior(seed, count):
    """Against the normal equations with prior covariance c I, not against the recursion."""
    _, phi, y = rows(seed, count, 1.0)
    rls = RecursiveLeastSquares(initial_covariance=1e4)
    for row, output in zip(phi, y, strict=True):
        rls.update(row, output)
    information = phi.T @ phi + np.eye(2) / 1e4
    theta = np.linalg.solve(information, phi.T @ y)
    np.testing.assert_allclose(rls.theta, theta, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(rls.p, np.linalg.inv(information), rtol=1e-5, atol=1e-12)
    residual = y - phi @ theta
    total = residual @ residual + theta @ theta / 1e4
    assert rls.noise_variance == pytest.approx(total / (count - 2), rel=1e-6)
    assert (rls.p == rls.p.T).all()


def mean_square_of_normalised_errors(runs, count, noise, window):
    """Mean over seeds of (error / standard deviation)^2, per parameter; 1 is honest.

    Args:
        noise: from a generator and a count to a noise sequence.
    """
    ratios = []
    for seed in range(runs):
        random = np.random.default_rng(seed)
        theta = random.normal(size=2)
        # Regressors that change slowly, as body velocities do.
        phi = np.repeat(random.normal(size=(count // 10, 2)), 10, axis=0)
        rls = RecursiveLeastSquares(window=window)
        for row, output in zip(phi, phi @ theta + noise(random, count), strict=True):
            rls.update(row, output)
        ratios.append((rls.theta - theta) ** 2 / rls.variances)
    return np.mean(ratios, axis=0)


def white(random, count):
    return random.normal(size=count)


def coloured(random, count):
    """Moving average of ten: errors that last."""
    return np.convolve(random.normal(size=count + 9), np.ones(10) / 10.0, "valid")


@pytest.mark.parametrize(
    ("noise", "count", "window", "low", "high"),
    [(white, 200, 1, 0.75, 1.3), (white, 200, 20, 0.75, 1.5), (coloured, 400, 20, 0.75, 1.7)],
)
def test_variances_are_honest(noise, count, window, low, high):
    """120 runs of 200 or 400 rows; the standard error of each mean is 0.13."""
    ratios = mean_square_of_normalised_errors(120, count, noise, window)
    assert (ratios > low).all() and (ratios < high).all(), ratios


def test_taking_coloured_noise_for_white_is_overconfident():
    """What the window is for: without it errors are far larger than the variances say."""
    ratios = mean_square_of_normalised_errors(60, 400, coloured, 1)
    assert (ratios > 3.0).all(), ratios


def test_unexcited_parameter_has_infinite_variance():
    rls = RecursiveLeastSquares()
    for step in range(1000):
        rls.update((1e-9, np.sin(step)), 2.0 * np.sin(step))
    assert rls.variances[0] == np.inf and np.isfinite(rls.variances[1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [0, 1, 2])
def test_values_that_are_not_finite_change_nothing(bad, where):
    rls = RecursiveLeastSquares()
    rls.update((1.0, 2.0), 3.0)
    theta, p = rls.theta.copy(), rls.p.copy()
    row = [1.0, 1.0, 1.0]
    row[where] = bad
    with pytest.raises(ValueError, match="must be finite"):
        rls.update(row[:2], row[2])
    assert (rls.theta == theta).all() and (rls.p == p).all() and rls.samples == 1


@pytest.mark.parametrize("c", [0.0, np.inf, np.nan])
def test_bad_settings_are_refused(c):
    with pytest.raises(ValueError, match="initial_covariance"):
        RecursiveLeastSquares(c)


def test_bad_window_is_refused():
    with pytest.raises(ValueError, match="window = 0"):
        RecursiveLeastSquares(window=0)
