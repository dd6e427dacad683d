# SPDX-License-Identifier: Apache-2.0
"""Multisine: peak, crest factor, lines, independence of the wheels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_ident.excitation.multisine import LINES, STRETCHES_PER_PERIOD, Multisine, schroeder


def crest_factor(signal):
    """Return the peak over the root mean square; sqrt(2) for a sine, 1 for a binary signal."""
    return np.abs(signal).max() / np.sqrt(np.mean(signal**2))


@given(st.integers(4, 40))
def test_schroeder_keeps_the_peak_low(count):
    lines = np.arange(1, count + 1)
    assert crest_factor(schroeder(lines, 32 * count)) < 2.0
    # The same sines in phase: sqrt(2 K).
    in_phase = np.cos(np.outer(np.arange(32 * count), lines) * 2 * np.pi / (32 * count)).sum(axis=1)
    assert crest_factor(in_phase) == pytest.approx(np.sqrt(2 * count), rel=0.01)


@given(st.integers(0, 1000), st.sampled_from([5, 10, 20]))
def test_torques_reach_the_amplitude_and_not_more(seed, hold):
    out = Multisine(0.4, hold, seed).take(STRETCHES_PER_PERIOD * hold)
    assert np.abs(out).max(axis=1) == pytest.approx([0.4, 0.4])


@given(st.integers(0, 1000))
def test_wheels_have_lines_of_their_own(seed):
    out = Multisine(1.0, 10, seed).take(STRETCHES_PER_PERIOD * 10)
    left, right = np.abs(np.fft.rfft(out, axis=1)) > 1.0
    assert np.flatnonzero(left).tolist() == list(range(1, 2 * LINES, 2))
    assert np.flatnonzero(right).tolist() == list(range(2, 2 * LINES + 1, 2))
    assert abs(out[0] @ out[1]) < 1e-9 * out.shape[1]


def test_pieces_join_and_repeat():
    whole, pieces = Multisine(1.0, 5, 3), Multisine(1.0, 5, 3)
    period = STRETCHES_PER_PERIOD * 5
    both = whole.take(2 * period)
    assert (both[:, :period] == both[:, period:]).all()
    assert (np.concatenate([pieces.take(7) for _ in range(10)], axis=1) == both[:, :70]).all()


def test_lines_beyond_half_the_rate_are_refused():
    with pytest.raises(ValueError, match="lines"):
        schroeder(np.array([1, 9]), 16)
