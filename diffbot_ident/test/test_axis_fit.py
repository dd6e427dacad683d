# SPDX-License-Identifier: Apache-2.0
"""Least squares of an axis: known parameters and known noise come back."""

import numpy as np
import pytest

from diffbot_ident.torque.axis_fit import (
    ANGULAR,
    AXES,
    LINEAR,
    AxisPrior,
    DelayedResiduals,
    fit_axes,
)
from diffbot_ident.torque.columns import DOMEGA, DV, NO_COLUMNS, AxisFit, averaged
from diffbot_ident.torque.effects import DIFFERENCE, SUM, TORQUES
from diffbot_ident.torque.sums import RowSums, kernels
from diffbot_ident.torque.torque_delay import (
    DELAYS,
    acting_weights,
    delay_columns,
    delay_weights,
)

WINDOW, SMOOTHING = 10, 5
COLUMNS = TORQUES + 2 * delay_columns(1)
THETA = np.array([0.08, 2.6, -0.3, 0.02, -0.1, -0.2])


def simulated(axis, noise, seed, count=3000, delay=0):
    """Sums of rows with random smooth regressors and the noise that the covariance is made for.

    Args:
        noise: standard deviations of the speed gained in a period and of a reading.
    """
    generator = np.random.default_rng(seed)
    rows = np.zeros((count, COLUMNS))
    # Independent regressors with a correlation of about 20 rows.
    white = generator.standard_normal((count + 39, 6))
    smooth = np.array([np.convolve(w, np.ones(40) / 40.0**0.5, "valid") for w in white.T]).T
    rows[:, axis.regressors] = smooth
    # Columns are the torques of single periods; half of either counts at a whole delay.
    for late in range(DELAYS + 1):
        columns = axis.torque.start + 2 * late
        rows[:, columns] = np.roll(smooth[:, 1], 10 * (late - delay))
    smooth[:, 1] = rows[:, axis.torque] @ delay_weights(float(delay), 1)
    errors = sum(
        std * np.convolve(generator.standard_normal(count + len(kernel) - 1), kernel, "valid")
        for std, kernel in zip(noise, kernels(WINDOW, SMOOTHING), strict=True)
    )
    rows[:, axis.output] = smooth @ THETA + errors
    sums = RowSums(WINDOW, SMOOTHING, 0.01)
    sums.add(rows, np.ones(count, dtype=bool))
    return sums


def fitted(axis, noise, seed, prior=None, count=3000):
    priors = None if prior is None else (prior, prior)
    return fit(simulated(axis, noise, seed, count), axis, priors)


def fit(sums, axis, priors=None):
    """The fit of one axis, with torques that act at once."""
    return fit_axes(sums.delayed(0.0), priors=priors or (None, None))[AXES.index(axis)]


@pytest.mark.parametrize("axis", [LINEAR, ANGULAR])
def test_exact_rows_give_exact_parameters(axis):
    dead_time_fit = fitted(axis, (0.0, 0.0), 1)
    np.testing.assert_allclose(dead_time_fit.theta, THETA, rtol=1e-6, atol=1e-8)
    assert dead_time_fit.variance < 1e-9 and max(dead_time_fit.noise) < 1e-9


def test_axes_are_what_they_say():
    assert LINEAR.regressors[1] == SUM.start and LINEAR.output == DV
    assert ANGULAR.regressors[1] == DIFFERENCE.start and ANGULAR.output == DOMEGA


@pytest.mark.parametrize("noise", [(0.02, 0.0), (0.0, 0.05), (0.02, 0.05)])
def test_noise_variances_are_recovered_and_errors_are_as_stated(noise):
    """10 seeds, 3000 rows: what either noise adds to a row to 20 % of both in the mean.

    The mean square of 60 correlated normal errors lies within 0.5 and 1.7 but for bad luck of
    about 1 in 1000; twice too small a covariance gives 2.
    """
    runs = [fitted(LINEAR, noise, seed) for seed in range(10)]
    power = np.array([kernel @ kernel for kernel in kernels(WINDOW, SMOOTHING)])
    result, given = np.mean([run.noise for run in runs], axis=0) * power, np.square(noise) * power
    np.testing.assert_allclose(result, given, atol=0.2 * given.sum())
    normalised = [(run.theta - THETA) / np.sqrt(np.diag(run.covariance)) for run in runs]
    assert 0.5 < np.mean(np.square(normalised)) < 1.7


@pytest.mark.parametrize("ratio", [0.0, 50.0, 150.0])
def test_torque_noise_is_seen_through_coarse_encoders(ratio):
    """20 seeds, 3000 rows: the mean of the torques' variance to 25 %, none below 0.15 of it.

    With readings 150 times as noisy as the speed gained in a period, the residuals hardly differ
    from those without torque noise, but slow regressors are as uncertain as it makes them. Over
    100 other seeds the means were 0.94 to 1, the least 0.23, the largest 2.05.
    """
    noises = [fitted(LINEAR, (0.001, 0.001 * ratio), seed).noise[0] for seed in range(20)]
    assert min(noises) > 0.15e-6 and np.mean(noises) == pytest.approx(1e-6, rel=0.25)


def test_rounding_in_rows_without_noise_is_no_negative_variance():
    """Residuals and their scatter are 0 to rounding, as of a robot that rests."""
    result = simulated(LINEAR, (0.0, 0.0), 3)
    result.products[:, LINEAR.output, :] = result.products[:, :, LINEAR.output] = 0.0
    result.products[1, LINEAR.output, LINEAR.output] = -1e-19
    assert max(fit(result, LINEAR).noise) < 1e-12


@pytest.mark.parametrize("delay", range(DELAYS))
@pytest.mark.parametrize("axis", [LINEAR, ANGULAR])
def test_residuals_are_least_at_the_true_delay(axis, delay):
    sums = simulated(axis, (0.02, 0.02), 5, delay=delay)
    weights = acting_weights(np.arange(float(DELAYS)), np.zeros(DELAYS), 1)
    assert np.argmin(DelayedResiduals(sums, NO_COLUMNS).at(weights)[AXES.index(axis)]) == delay


def test_missing_motion_leaves_a_huge_variance_and_nothing_else():
    """Without torque the gain is unknown by any measure; nothing is infinite or NaN."""
    sums = simulated(LINEAR, (0.02, 0.02), 6)
    sums.products[:, SUM, :] = sums.products[:, :, SUM] = 0.0
    result = fit(sums, LINEAR)
    assert np.isfinite(result.covariance).all()
    assert result.covariance[1, 1] > 1e3 * result.covariance[0, 0]


def test_prior_bounds_the_covariance_and_pulls_the_values():
    """40 rows and much noise: with a tight prior the values stay at it, within its deviation."""
    variance = np.square(0.01 * np.abs(THETA))
    prior = AxisPrior(THETA, np.diag(1.0 / variance))
    dead_time_fit = fitted(LINEAR, (0.3, 0.3), 7, prior, count=60)
    assert (np.abs(dead_time_fit.theta - THETA) < 0.04 * np.abs(THETA)).all()
    assert (np.diag(dead_time_fit.covariance) < 5.0 * variance).all()
    free = AxisPrior(THETA, np.zeros((6, 6)))
    np.testing.assert_allclose(
        fitted(LINEAR, (0.1, 0.1), 7, free).theta, fitted(LINEAR, (0.1, 0.1), 7).theta
    )


@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_two_fits_are_averaged_as_their_mixture(fraction):
    """Mean and covariance of 200 000 draws from either fit, to 2 % of the largest deviation."""
    generator = np.random.default_rng(4)
    fits = []
    for size in (6, 7):
        root = generator.standard_normal((size, size))
        fits.append(AxisFit(generator.standard_normal(size), root @ root.T, 1.0, (0.0, 0.0)))
    result = averaged(*fits, fraction)
    draws = np.concatenate(
        [
            generator.multivariate_normal(each.theta[:6], each.covariance[:6, :6], int(count))
            for each, count in zip(
                fits, 200_000 * np.array([1.0 - fraction, fraction]), strict=True
            )
        ]
    )
    largest = np.sqrt(np.diag(result.covariance).max())
    np.testing.assert_allclose(draws.mean(axis=0), result.theta, atol=0.02 * largest)
    np.testing.assert_allclose(np.cov(draws.T), result.covariance, atol=0.02 * largest**2)
