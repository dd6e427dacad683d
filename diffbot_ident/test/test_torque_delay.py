# SPDX-License-Identifier: Apache-2.0
"""Torques that act late by any share of a period, and the groups of a fast robot's samples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_regression import GEOMETRY, K7, K8, samples_of_linear_plant

from diffbot_ident.torque.columns import DOMEGA, DV
from diffbot_ident.torque.effects import DIFFERENCE, SUM
from diffbot_ident.torque.rows import IntegralRows
from diffbot_ident.torque.torque_delay import (
    BATCHES,
    DELAYS,
    EARLIEST,
    FINE_DELAYS,
    FINEST,
    LAG_PARTS,
    REACH,
    Decimation,
    DelaySearch,
    TorqueDelay,
    acting_weights,
    delay_columns,
    delay_weights,
    delayed,
)

delays = st.floats(EARLIEST, DELAYS - 1.0)


@given(delays, st.integers(1, FINEST))
def test_weights_add_up_to_one_and_lie_at_the_delay(delay, fine):
    """A constant torque is itself at any delay, and a ramp is late by the delay."""
    delay = delay / fine if delay < 0.0 else delay
    weights = delay_weights(delay, fine)
    assert weights.shape == (delay_columns(fine),)
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ lateness(fine) == pytest.approx(delay, abs=1e-9)


def lateness(fine):
    """How late the torques of the columns are, control periods.

    With one sample in a period, column i is the torque half a period before delay i.
    """
    if fine == 1:
        single = np.arange(DELAYS + 1.0) - 0.5
    else:
        single = np.append(
            np.arange((FINE_DELAYS - 1) * fine + 2) / fine, range(FINE_DELAYS, DELAYS)
        )
    ends = single[-1] + np.cumsum(BATCHES)
    return np.append(single, ends - 0.5 * (np.array(BATCHES) - 1.0))


@given(st.floats(0.0, 3.5), st.floats(0.1, 2.0), st.integers(1, FINEST))
def test_a_lag_is_a_delay_on_average(delay, lag, fine):
    """Up to the parts of the exponential, and what is later than all columns."""
    weights = delay_weights(delay, fine, lag)
    assert weights.sum() == pytest.approx(1.0) and weights.min() >= 0.0
    assert weights @ lateness(fine) == pytest.approx(delay + lag, abs=0.02 * lag)


@given(delays, st.floats(1e-4, 4.5), st.integers(1, FINEST))
def test_weights_of_a_lag_are_means_of_those_of_later_delays(delay, lag, fine):
    """Against the parts of equal weight of the exponential, one by one; also before time 0."""
    delay = delay / fine if delay < 0.0 else delay
    parts = -np.log1p(-(np.arange(LAG_PARTS) + 0.5) / LAG_PARTS)
    each = [acting_weights(np.array([delay + lag * part]), np.zeros(1), fine)[0] for part in parts]
    np.testing.assert_allclose(delay_weights(delay, fine, lag), np.mean(each, axis=0), atol=1e-12)


class Bowl:
    """Residuals that are least at a certain delay and lag, with one sample per period."""

    power = np.ones(2)

    def __init__(self, delay, lag):
        self._best = delay_weights(delay, 1, lag)

    def at(self, weights):
        apart = np.square(weights - self._best).sum(axis=1)
        return np.array([0.01 + apart, 0.02 + apart])


@given(st.floats(0.5, 3.0), st.floats(0.2, 3.0))
def test_a_search_without_the_gain_ends_early_as_low(delay, lag):
    bowl = Bowl(delay, lag)
    search = DelaySearch(bowl, 200.0, 1)
    whole, early = search.with_lag(), search.with_lag(gain=False)
    assert whole.gain > 0.0 and math.isnan(early.gain)
    # The bowl has kinks, at which the whole search ends some 1e-4 of a period beside its floor.
    assert (early.value, early.lag) == pytest.approx((whole.value, whole.lag), abs=1e-3)
    # So both have the same floor, up to the square of what they are beside it.
    low, high = (bowl.at(delay_weights(own.value, 1, own.lag)[None]) for own in (early, whole))
    assert (low <= high + 1e-3**2).all()


@pytest.mark.parametrize("delay", [0.0, 1.3, 3.5])
@pytest.mark.parametrize("lag", [0.3, 1.0, 2.0])
def test_torques_that_follow_with_a_lag_are_those_of_their_weights(delay, lag):
    """Torques held for 10 periods, of a plant in steps of a twentieth of a period.

    What the means of the last columns leave is below a hundredth.
    """
    parts, h = 20, 0.01
    reported = np.repeat(np.random.default_rng(2).uniform(-1.0, 1.0, (30, 2)), 10, axis=0)
    aim = np.repeat(reported, parts, axis=0)
    shift = round(delay * parts)
    aim = np.concatenate((np.repeat(aim[:1], shift, axis=0), aim))[: len(aim)]
    fraction = math.exp(-1.0 / (lag * parts))
    acting, torque = [], aim[0]
    for now in aim:
        before, torque = torque, now + (torque - now) * fraction
        acting.append((h / parts, *(now + (before - now) * (1.0 - fraction) * lag * parts)))
    plant = samples_of_linear_plant(acting, False)
    samples = np.array([(s.stamp, *s.position, 0.0, 0.0, 0.0) for s in plant])[::parts]
    samples[1:, 3:5] = reported[: len(samples) - 1]
    rows, _, _ = IntegralRows(GEOMETRY, 10, 5, period=h).make(samples)
    weights = delay_weights(delay, 1, lag)
    for output, torques, gain in ((DV, SUM, K7), (DOMEGA, DIFFERENCE, K8)):
        error = rows[REACH:, output] - gain * rows[REACH:, torques] @ weights
        assert np.abs(error).max() < 0.01 * np.abs(rows[:, output]).max()
    # `delayed` gives the same torques, period by period, up to what is left of a torque after 8
    # time constants; roughly where a delay is not whole.
    means = np.array(acting)[:, 1:].reshape(-1, parts, 2).mean(axis=1)
    exact = 1e-3 if delay == 0.0 else 0.3
    np.testing.assert_allclose(delayed(reported.T, delay, lag).T[40:], means[40:], atol=exact)


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


@pytest.mark.parametrize(("lag", "named"), [(0.04, False), (0.09, False), (0.15, True)])
def test_a_lag_that_moves_nothing_is_not_named(lag, named):
    # Of 30 robots with a delay alone, 3 were told of lags of 0.04 to 0.09 periods.
    torque_delay = TorqueDelay(1.3, 1.3, True, 0.01, lag, 0.01, 0.0, 100.0, 10.0)
    assert any("gradually" in text for text in torque_delay.warnings(0.01, 1)) is named
