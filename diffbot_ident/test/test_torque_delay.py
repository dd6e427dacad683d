# SPDX-License-Identifier: Apache-2.0
"""Torques that act late by any share of a period, and the groups of a fast robot's samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_regression import GEOMETRY, K7, K8, samples_of_linear_plant

from diffbot_ident.torque.integral_rows import DIFFERENCE, DOMEGA, DV, SUM, IntegralRows
from diffbot_ident.torque.torque_delay import (
    DELAYS,
    EARLIEST,
    FINEST,
    Decimation,
    delay_columns,
    delay_weights,
)

delays = st.floats(EARLIEST, DELAYS - 1.0)


@given(delays, st.integers(1, FINEST))
def test_weights_add_up_to_one_and_lie_at_the_delay(delay, fine):
    """A constant torque is itself at any delay, and a ramp is late by the delay."""
    delay = delay / fine if delay < 0.0 else delay
    weights = delay_weights(delay, fine)
    assert weights.shape == (delay_columns(fine),)
    assert weights.sum() == pytest.approx(1.0)
    # With one sample in a period, column i is the torque half a period before delay i.
    late = np.arange(len(weights)) / fine - (0.5 if fine == 1 else 0.0)
    assert weights @ late == pytest.approx(delay, abs=1e-9)


def late_samples(torques, delay, fine, h):
    """Samples every h / fine of the linear plant whose torques act `delay` periods late."""
    parts = 10
    shift = round(delay * fine * parts)
    small = np.repeat(torques, parts, axis=0)
    acting = np.concatenate((np.zeros((shift, 2)), small))[: len(small)]
    plant = samples_of_linear_plant([(h / fine / parts, *pair) for pair in acting], False)
    kept = np.array([(s.stamp, *s.position, 0.0, 0.0, 0.0) for s in plant])[::parts]
    kept[1:, 3:5] = torques
    return kept


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 34), st.integers(0, 5))
def test_broken_delays_are_exact(tenths, seed):
    """With one sample in a period every row holds to rounding at any delay."""
    torques = np.random.default_rng(seed).uniform(-1.0, 1.0, (40, 2))
    samples = late_samples(torques, tenths / 10.0, 1, 0.02)
    rows, _, _ = IntegralRows(GEOMETRY, 5, 2, period=0.02).make(samples)
    weights = delay_weights(tenths / 10.0, 1)
    np.testing.assert_allclose(rows[:, DV], K7 * rows[:, SUM] @ weights, atol=1e-9)
    np.testing.assert_allclose(rows[:, DOMEGA], K8 * rows[:, DIFFERENCE] @ weights, atol=1e-9)


@pytest.mark.parametrize("fine", [2, 4])
def test_torques_within_a_period_are_told_apart(fine):
    """Delays of whole samples of a fast robot are exact though angles are read less often."""
    torques = np.random.default_rng(3).uniform(-1.0, 1.0, (40 * fine, 2))
    for late in (0, 1, 3):
        samples = late_samples(torques, late / fine, fine, 0.008)[1:]
        rows, _, _ = IntegralRows(GEOMETRY, 5, 2, fine, 0.008).make(samples)
        assert len(rows) > 5
        weights = delay_weights(late / fine, fine)
        np.testing.assert_allclose(rows[:, DV], K7 * rows[:, SUM] @ weights, atol=1e-9)


@given(st.integers(1, 40))
def test_groups_keep_the_last_angle_and_the_mean_torque(factor):
    decimation = Decimation(factor)
    assert factor % decimation.fine == 0 and decimation.fine <= FINEST
    samples = np.arange(6.0 * 3 * factor).reshape(-1, 6)
    # In two parts, the first of which ends within a group.
    parts = [decimation.take(samples[: factor + 1]), decimation.take(samples[factor + 1 :])]
    taken = np.concatenate(parts)
    assert len(taken) == 3 * decimation.fine
    np.testing.assert_array_equal(taken[-1, :3], samples[-1, :3])
    assert taken[:, 3].mean() == pytest.approx(samples[:, 3].mean())
