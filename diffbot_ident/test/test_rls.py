"""Recursive least squares: equals the batch solution, and its variances are honest."""

import numpy as np
import pytest
from diffbot_ident.rls import RecursiveLeastSquares
from hypothesis import given, settings
from hypothesis import strategies as st


def rows(seed, count, size, noise):
    random = np.random.default_rng(seed)
    theta = random.normal(size=size) * 10.0
    phi = random.normal(size=(count, size)) * random.uniform(0.1, 10.0, size)
    return theta, phi, phi @ theta + noise * random.normal(size=count)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(10, 80))
def test_equals_batch_least_squares_with_the_same_prior(seed, size, count):
    """Against the normal equations with prior covariance c I, not against the recursion."""
    _, phi, y = rows(seed, count, size, 1.0)
    rls = RecursiveLeastSquares(size, initial_covariance=1e4)
    for row, output in zip(phi, y, strict=True):
        rls.update(row, output)
    information = phi.T @ phi + np.eye(size) / 1e4
    theta = np.linalg.solve(information, phi.T @ y)
    np.testing.assert_allclose(rls.theta, theta, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(rls.p, np.linalg.inv(information), rtol=1e-5, atol=1e-12)
    residual = y - phi @ theta
    total = residual @ residual + theta @ theta / 1e4
    assert rls.noise_variance == pytest.approx(total / (count - size), rel=1e-6)
    assert (rls.p == rls.p.T).all()


def test_variances_cover_white_noise():
    """Errors in 400 runs of 100 rows: the normalised squares average to 1 (4 sigma band)."""
    ratios = []
    for seed in range(400):
        theta, phi, y = rows(seed, 100, 2, 0.7)
        rls = RecursiveLeastSquares(2)
        for row, output in zip(phi, y, strict=True):
            rls.update(row, output)
        ratios.append((rls.theta - theta) ** 2 / rls.variances)
    mean = np.mean(ratios, axis=0)
    assert mean == pytest.approx([1.0, 1.0], abs=4.0 * np.sqrt(2.0 / 400))


def test_unexcited_parameter_has_infinite_variance():
    rls = RecursiveLeastSquares(2)
    for step in range(1000):
        rls.update((1e-9, np.sin(step)), 2.0 * np.sin(step))
    assert rls.variances[0] == np.inf and np.isfinite(rls.variances[1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [0, 1, 2])
def test_values_that_are_not_finite_change_nothing(bad, where):
    rls = RecursiveLeastSquares(2)
    rls.update((1.0, 2.0), 3.0)
    theta, p = rls.theta.copy(), rls.p.copy()
    row = [1.0, 1.0, 1.0]
    row[where] = bad
    with pytest.raises(ValueError, match="must be finite"):
        rls.update(row[:2], row[2])
    assert (rls.theta == theta).all() and (rls.p == p).all() and rls.samples == 1


@pytest.mark.parametrize(("size", "c"), [(0, 1.0), (2, 0.0), (2, np.inf), (2, np.nan)])
def test_bad_settings_are_refused(size, c):
    with pytest.raises(ValueError, match=r"size|initial_covariance"):
        RecursiveLeastSquares(size, c)
