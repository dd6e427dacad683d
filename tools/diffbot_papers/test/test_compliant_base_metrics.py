# SPDX-License-Identifier: Apache-2.0
"""Measures of an excitation: the published mutual information and what replaces it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from diffbot_papers.compliant_base.planning import (
    METRICS,
    MOST_BITS,
    RANGE,
    published,
    reading_information,
    shares,
)


def test_reading_information_is_15_summed_state_by_state():
    states, deviation = 2**4, 0.3
    width = 2.0 / states
    # The range is -1 to 1 and the reading in the middle of the state right of 0.
    q = np.array([
        norm.cdf(-1.0 + (i + 1) * width, 0.5 * width, deviation)
        - norm.cdf(-1.0 + i * width, 0.5 * width, deviation)
        for i in range(states)
    ])  # fmt: skip
    q /= q.sum()
    expected = np.log2(states) + (q * np.log2(q)).sum()
    assert reading_information(np.array(deviation), 4) == pytest.approx(expected)


@given(st.floats(1e-4, 10.0), st.floats(1.05, 3.0))
def test_less_error_is_more_information(deviation, factor):
    more, less = reading_information(np.array([deviation, deviation * factor]))
    assert 0.0 <= less <= more <= MOST_BITS


def test_half_the_error_is_one_bit_more():
    """While the error is wide against a state, 1/512, and narrow against the range."""
    two = reading_information(np.array([0.1, 0.05]))
    assert two[1] - two[0] == pytest.approx(1.0, abs=1e-3)


def test_a_sensor_of_many_states_saturates_at_its_bits():
    assert reading_information(np.array(1e-5)) == pytest.approx(MOST_BITS)


def scaled(deviation):
    return np.eye(3) / deviation**2


def test_16_prefers_half_of_the_bits():
    """The published fault: less information than before is a better excitation."""
    deviations = np.geomspace(1.0, 1e-3, 200)
    costs = np.array([published(None, scaled(each)[None])[0] for each in deviations])
    rho = np.array([shares(scaled(each))[0] for each in deviations])
    assert rho[np.argmin(costs)] == pytest.approx(0.5, abs=0.01)
    assert costs[-1] > costs.min()
    assert costs.min() == pytest.approx(3 * 0.75, abs=1e-3)


@pytest.mark.parametrize("name", [each for each in METRICS if "published" not in each])
@given(st.integers(0, 1000))
def test_measures_do_not_depend_on_the_order_of_parameters(name, seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((9, 4))
    now, after = np.eye(4), np.eye(4) + a.T @ a
    order = rng.permutation(4)
    one = METRICS[name](now, after[None])
    assert METRICS[name](now, after[None][:, order][:, :, order]) == pytest.approx(one)


@pytest.mark.parametrize("name", ["sum of bits", "joint bits", "published, rising"])
def test_more_data_is_better(name):
    a = np.random.default_rng(3).standard_normal((9, 4))
    now = np.eye(4)
    after = np.stack([now + a.T @ a, now + 2.0 * a.T @ a])
    less, more = METRICS[name](now, after)
    assert more < less


def test_condition_number_is_that_of_the_columns():
    a = np.random.default_rng(4).standard_normal((9, 4))
    expected = np.log10(np.linalg.cond(a))
    after = (np.eye(4) + a.T @ a)[None]
    assert METRICS["condition number"](np.eye(4), after)[0] == pytest.approx(expected)


def test_share_of_the_start_is_small():
    """log2(6 / sqrt(2 pi e)) bits: a normal density's entropy, 0.4 % of it cut off at the ends."""
    bits = np.log2(2.0 * RANGE / np.sqrt(2.0 * np.pi * np.e))
    assert MOST_BITS * shares(np.eye(2)) == pytest.approx(bits, abs=0.03)
