# SPDX-License-Identifier: Apache-2.0
"""PRBS generator: maximal length, balance, whiteness; against scipy's generator."""

import itertools

import numpy as np
import pytest
from scipy.signal import max_len_seq

from diffbot_ident.excitation.prbs import PRIMITIVE_TAPS, Prbs


@pytest.mark.parametrize("register", PRIMITIVE_TAPS)
def test_period_is_maximal_and_white(register):
    """One spike in the circular autocorrelation, -1 elsewhere, and one more 1 than 0."""
    period = 2**register - 1
    bits = np.fromiter(itertools.islice(Prbs(register), 2 * period), dtype=int)
    assert (bits[:period] == bits[period:]).all()
    assert bits[:period].sum() == 2 ** (register - 1)
    spectrum = np.fft.rfft(1.0 - 2.0 * bits[:period])
    correlation = np.fft.irfft(abs(spectrum) ** 2, period)
    assert correlation[0] == pytest.approx(period)
    assert correlation[1:] == pytest.approx(np.full(period - 1, -1.0), abs=1e-6 * period)


def test_is_scipys_sequence_or_its_mirror():
    """scipy makes maximal sequences too; ours is one of its shifts, forwards or backwards."""
    ours = "".join(map(str, itertools.islice(Prbs(10), 1023)))
    theirs = "".join(map(str, max_len_seq(10)[0]))
    assert ours in theirs * 2 or ours in theirs[::-1] * 2


@pytest.mark.parametrize("start", [0, 1, 5, 126, 127, 128, 1000])
def test_start_is_a_place_in_the_period(start):
    whole = list(itertools.islice(Prbs(7), 254))
    assert list(itertools.islice(Prbs(7, start), 127)) == whole[start % 127 : start % 127 + 127]


@pytest.mark.parametrize("register", [0, 6, 16, -1])
def test_other_registers_are_refused(register):
    with pytest.raises(ValueError, match=f"register = {register}.*7 to 15"):
        Prbs(register)
