# SPDX-License-Identifier: Apache-2.0
"""Information in bits: known cases, additivity, monotony, invariance."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_ident.excitation.information import bits_each, joint_bits, sum_of_bits


def information(seed, size=5, rows=9):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((rows, size))
    return a.T @ a + 0.1 * np.eye(size)


def test_four_times_the_data_is_one_bit_a_parameter():
    before = information(1)
    assert joint_bits(before, 4.0 * before) == pytest.approx(5.0)
    assert bits_each(before, 4.0 * before) == pytest.approx(np.ones(5))


def test_joint_bits_are_the_mutual_information_of_a_gaussian_channel():
    """One unknown of variance s^2 seen once in noise of variance n^2: log2(1 + s^2 / n^2) / 2."""
    before = np.array([[1.0 / 3.0**2]])
    after = before + 1.0 / 2.0**2
    assert joint_bits(before, after) == pytest.approx(0.5 * math.log2(1.0 + 9.0 / 4.0))


@given(st.integers(0, 1000))
def test_bits_of_some_are_those_of_their_marginal(seed):
    before, after = information(seed), information(seed) + information(seed + 1)
    batch = np.ix_([0, 2], [0, 2])  # of the covariance: all others are unknown, too
    marginals = (np.linalg.inv(np.linalg.inv(one)[batch]) for one in (before, after))
    assert joint_bits(before, after, [0, 2]) == pytest.approx(float(joint_bits(*marginals)))


@given(st.integers(0, 1000), st.lists(st.floats(-5.0, 5.0), min_size=5, max_size=5))
def test_no_measurement_takes_information_away(seed, row):
    before = information(seed)
    after = before + np.outer(row, row)
    assert joint_bits(before, after) >= -1e-9
    assert joint_bits(before, after, [0, 1]) >= -1e-9
    assert (bits_each(before, after) >= -1e-9).all()


@given(st.integers(0, 1000))
def test_bits_do_not_depend_on_units(seed):
    before, after = information(seed), information(seed) + information(seed + 1)
    units = np.diag([1e-3, 1.0, 50.0, 2.0, 1e4])
    scaled = [units @ one @ units for one in (before, after)]
    assert joint_bits(*scaled) == pytest.approx(float(joint_bits(before, after)), rel=1e-6)
    assert sum_of_bits(*scaled) == pytest.approx(float(sum_of_bits(before, after)), rel=1e-6)


def test_sum_of_bits_does_not_count_correlation():
    """A sum of two unknowns seen exactly: one is then known given the other, neither is alone."""
    before, row = np.eye(2), np.array([1.0, 1.0])
    after = before + 1e12 * np.outer(row, row)
    assert sum_of_bits(before, after) == pytest.approx(2 * 0.5, abs=1e-3)
    assert joint_bits(before, after) > 15.0


def test_better_information_is_worth_more():
    """Sujan and Dubowsky's (16) fails here: of r^2 = 1 - rho + rho^2, rho = 1/2 is the least."""
    before = np.eye(1)
    bits = [float(joint_bits(before, before + 1.0 / noise**2)) for noise in (2.0, 1.0, 0.5)]
    assert bits == sorted(bits)


def test_leading_axes_are_kept():
    before = np.stack([information(seed) for seed in range(6)]).reshape(2, 3, 5, 5)
    after = before + np.eye(5)
    assert joint_bits(before, after, [1, 2]).shape == (2, 3)
    assert sum_of_bits(before, after, [1]).shape == (2, 3)
