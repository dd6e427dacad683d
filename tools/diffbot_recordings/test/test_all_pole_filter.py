# SPDX-License-Identifier: Apache-2.0
"""Filters without zeros: as SciPy's, of any order and shape."""

import numpy as np
import pytest
from scipy.signal import lfilter

from diffbot_recordings.all_pole_filter import after_one_sample, all_pole


@pytest.mark.parametrize("coefficients", [(1.0,), (1.0, -0.95), (1.0, -1.85, 0.9, 0.01)])
@pytest.mark.parametrize("shape", [(1,), (2,), (700,), (700, 3)])
def test_all_pole_is_scipys_to_the_last_digits(coefficients, shape):
    values = np.random.default_rng(1).standard_normal(shape)
    expected = lfilter((1.0,), coefficients, values, axis=0)
    assert all_pole(coefficients, values) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("shape", [(0,), (1,), (700,), (700, 3)])
def test_a_held_input_acts_one_sample_later(shape):
    values = np.random.default_rng(2).standard_normal(shape)
    expected = lfilter((0.0, 1.0), (1.0, -0.9), values, axis=0)
    assert after_one_sample(0.9, values) == pytest.approx(expected, rel=1e-12, abs=1e-12)
