# SPDX-License-Identifier: Apache-2.0
"""Safe root finding, against roots that are known beforehand."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from diffbot_sim.engines.motion_series import evaluate, first_root, shifted

root = st.floats(-2, 2)


@given(st.lists(root, min_size=1, max_size=5))
def test_finds_the_first_of_known_roots(roots):
    inside = sorted(r for r in roots if r > 0)
    separate = np.diff(sorted(roots)) > 1e-2
    assume(np.all(separate) and all(abs(r) > 1e-2 and abs(r - 1) > 1e-2 for r in roots))
    result = first_root(np.polynomial.polynomial.polyfromroots(roots).tolist(), 1.0)
    if inside and inside[0] < 1.0:
        assert result == pytest.approx(inside[0], abs=1e-9)
    else:
        assert result is None


def test_a_near_miss_is_no_root_and_a_narrow_pair_is_found():
    assert first_root([0.25 + 1e-9, -1.0, 1.0], 1.0) is None
    assert first_root([0.25 - 1e-9, -1.0, 1.0], 1.0) == pytest.approx(0.5 - 1e-9**0.5, abs=1e-12)


def test_a_root_at_the_start_counts():
    assert first_root([0.0, 1.0], 1.0) == 0.0


@given(st.lists(root, min_size=1, max_size=8), root, root)
def test_shift_moves_the_argument(coefficients, offset, t):
    expected = np.polynomial.polynomial.polyval(t + offset, coefficients)
    assert evaluate(shifted(coefficients, offset), t) == pytest.approx(expected, abs=1e-9)
