# SPDX-License-Identifier: Apache-2.0
"""Sums over rows: blocks, forgetting, and the kernels that noise is seen through."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_ident.torque.effects import TORQUES
from diffbot_ident.torque.sums import AVERAGED_PARTS, GAP_WEIGHT, TURNING_WEIGHT, RowSums, kernels
from diffbot_ident.torque.torque_delay import delay_columns

COLUMNS = TORQUES + 2 * delay_columns(1)
SUMS = ("products", "weights", "rows")


def make_rows(count, seed=1):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((count, COLUMNS)), generator.random(count) < 0.8


def summed(batches, window=4, smoothing=2):
    sums = RowSums(window, smoothing, 0.01)
    for rows, turning in batches:
        sums.add(rows, turning)
    return sums


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 3))
def test_the_size_of_blocks_does_not_matter(sizes, smoothing):
    rows, turning = make_rows(sum(sizes))
    ends = np.cumsum(sizes)[:-1]
    cut = zip(np.split(rows, ends), np.split(turning, ends), strict=True)
    whole, batches = summed([(rows, turning)], 4, smoothing), summed(cut, 4, smoothing)
    for name in SUMS:
        np.testing.assert_allclose(getattr(batches, name), getattr(whole, name), atol=1e-9)
    assert batches.rows == whole.rows


def test_sums_are_those_of_loops():
    """Against plain loops, with rows in which a wheel reverses, a sample was lost, or all is 0."""
    rows, turning = make_rows(60)
    rows[45] = 0.0
    whole = np.arange(60) != 20
    sums = RowSums(4, 2, 0.01)
    sums.add(rows, turning, whole)
    weights = np.where(turning, 1.0, TURNING_WEIGHT) * np.where(whole, 1.0, GAP_WEIGHT)
    weights[45] = 0.0
    moments = sum(w * np.outer(z, z) for w, z in zip(weights, rows, strict=True))
    np.testing.assert_allclose(sums.moments, moments, atol=1e-9)
    assert sums.part == 2
    within = [slice(k, k + 2 * AVERAGED_PARTS) for k in range(0, 60 - 2 * AVERAGED_PARTS + 1, 2)]
    means = [rows[part].mean(axis=0) for part in within]
    least = [weights[part].min() for part in within]
    smooth = sum(2.0 * w * np.outer(z, z) for w, z in zip(least, means, strict=True))
    np.testing.assert_allclose(sums.products[:2], [moments, smooth], atol=1e-9)
    np.testing.assert_allclose(sums.weights, [sum(weights), 2.0 * sum(least)])


@pytest.mark.parametrize(("window", "smoothing"), [(4, 2), (10, 5), (3, 1), (4, 4)])
def test_kernels_are_what_single_disturbances_do_to_rows(window, smoothing):
    """A unit of speed gained in one period, and one wrong reading, through the rows' definition.

    A row is the mean over `smoothing` starts of the difference of two speeds a window apart, a
    speed being the difference of two readings.
    """

    def outputs(readings):
        speeds = np.diff(readings)
        gains = speeds[window:] - speeds[:-window]
        return np.convolve(gains, np.ones(smoothing) / smoothing, "valid")

    size = 3 * (window + smoothing)
    wrong = np.zeros(size)
    wrong[size // 2] = 1.0
    seen = np.trim_zeros(outputs(wrong))
    torque, reading = kernels(window, smoothing)
    # Rows see a disturbance in the opposite order.
    np.testing.assert_allclose(seen[::-1], np.trim_zeros(reading), atol=1e-12)
    # The speed gained evenly over a period: half of it shows in the mean speed of that period.
    speeds = np.zeros(size)
    speeds[size // 2] = 0.5
    speeds[size // 2 + 1 :] = 1.0
    seen = np.trim_zeros(outputs(np.concatenate(([0.0], np.cumsum(speeds)))), "f")
    np.testing.assert_allclose(seen[: len(torque)], torque, atol=1e-12)


def test_noise_sums_are_sums_over_kernels():
    """psi of every period and reading that the rows have seen to their end, by plain loops."""
    window, smoothing = 4, 2
    rows, turning = make_rows(40)
    turning[:] = True
    sums = summed([(rows, turning)], window, smoothing)
    padded = np.concatenate((np.zeros((window + smoothing, COLUMNS)), rows))
    for kernel, result in zip(kernels(window, smoothing), sums.products[2:], strict=True):
        psi = [kernel @ padded[k : k + len(kernel)] for k in range(len(padded) - len(kernel) + 1)]
        expected = sum(np.outer(p, p) for p in psi)
        np.testing.assert_allclose(result, expected, atol=1e-9)


def test_forgetting_weighs_the_past_down():
    first, second = make_rows(30, 1), make_rows(30, 2)
    sums = summed([first])
    sums.forget(0.5)
    sums.interrupt()
    sums.add(*second)
    one, two = summed([first]), summed([second])
    for name in ("weights", "rows"):
        expected = 0.5 * getattr(one, name) + getattr(two, name)
        np.testing.assert_allclose(getattr(sums, name), expected, atol=1e-9)
    # Sums of squares of weighted rows: a weight counts twice.
    factors = np.array([0.5, 0.5, 0.25, 0.25])[:, None, None]
    expected = factors * one.products + two.products
    np.testing.assert_allclose(sums.products, expected, atol=1e-9)


def test_interruption_averages_nothing_across_it():
    first, second = make_rows(20, 1), make_rows(20, 2)
    sums = summed([first])
    sums.interrupt()
    sums.add(*second)
    one, two = summed([first]), summed([second])
    np.testing.assert_allclose(sums.products[:2], one.products[:2] + two.products[:2], atol=1e-9)
