# SPDX-License-Identifier: Apache-2.0
"""Patterns of other frictions in the residuals are found, and only those."""

import numpy as np
import pytest

from diffbot_ident.torque.axis_fit import ANGULAR, LINEAR, fit
from diffbot_ident.torque.integral_rows import (
    DOMEGA,
    DRAG_OMEGA,
    DRAG_V,
    DV,
    ONE,
    SLOW_LEFT,
    SLOW_RIGHT,
    TORQUES,
    RowSums,
    kernels,
)
from diffbot_ident.torque.oddities import (
    BREAKAWAY,
    DIRECTION,
    DRAG,
    MIN_PROBABILITY,
    doubtful_oddity,
    extra_columns,
    likely_oddities,
)
from diffbot_ident.torque.torque_delay import delay_columns

WINDOW, SMOOTHING = 10, 5
PATTERNS = {DIRECTION: (ONE,), BREAKAWAY: (SLOW_LEFT, SLOW_RIGHT), DRAG: (DRAG_V, DRAG_OMEGA)}


def sums(seed, pattern=(), size=0.2, count=4000):
    """Of rows whose outputs hold all regressors, noise, and some more columns."""
    generator = np.random.default_rng(seed)
    columns = TORQUES + 2 * delay_columns(1)
    white = generator.standard_normal((columns, count + 39))
    rows = np.array([np.convolve(w, np.ones(40) / 40.0**0.5, "valid") for w in white]).T
    rows[:, ONE] = 1.0
    for axis in (LINEAR, ANGULAR):
        noise = sum(
            0.03 * np.convolve(generator.standard_normal(count + len(k) - 1), k, "valid")
            for k in kernels(WINDOW, SMOOTHING)
        )
        torque = 0.5 * (rows[:, axis.torque.start] + rows[:, axis.torque.start + 2])
        rows[:, axis.output] = 2.0 * torque + 0.1 * rows[:, axis.product] + noise
    for column in pattern:
        for output, others in ((DV, DRAG_OMEGA), (DOMEGA, DRAG_V)):
            rows[:, output] -= size * rows[:, column] * (column != others)
    found = RowSums(WINDOW, SMOOTHING, 0.01)
    found.add(rows, np.ones(count, dtype=bool))
    return found.delayed(0.0)


def test_nothing_is_found_where_nothing_is():
    """20 seeds; each of four patterns is named by chance once in more than 10 000 runs."""
    assert [likely_oddities(sums(seed)) for seed in range(20)] == [()] * 20


@pytest.mark.parametrize("oddity", PATTERNS, ids=["direction", "breakaway", "drag"])
def test_a_pattern_is_found_and_taken_out(oddity):
    """Its columns make the fit right again: errors of the torque's gain as stated, 5 seeds."""
    normalised = []
    for seed in range(5):
        own = sums(seed, PATTERNS[oddity])
        assert likely_oddities(own) == (oddity,)
        for axis, extra in zip((LINEAR, ANGULAR), extra_columns((oddity,)), strict=True):
            found = fit(own, axis, None, extra)
            normalised.append((found.theta[1] - 2.0) / np.sqrt(found.covariance[1, 1]))
    # Ten normal errors: their rms is beyond 2 less than once in 1000.
    assert np.sqrt(np.mean(np.square(normalised))) < 2.0


def test_two_patterns_are_told_apart():
    own = sums(1, (ONE, DRAG_V, DRAG_OMEGA))
    assert set(likely_oddities(own)) == {DIRECTION, DRAG}


def test_a_pattern_becomes_likely_before_it_is_sure():
    """Casters that drag more and more: unlikely, likely but not named, named; 5 seeds."""
    windows = 4000.0 / (WINDOW + SMOOTHING)
    for seed in range(5):
        doubts, named = [], []
        for size in np.linspace(0.0, 0.04, 21):
            own = sums(seed, PATTERNS[DRAG], size)
            named.append(likely_oddities(own) == (DRAG,))
            doubt = doubtful_oddity(own, (), windows)
            doubts.append(doubt[1] if doubt is not None and doubt[0] is DRAG else 0.0)
        assert not named[0] and doubts[0] == 0.0
        assert named[-1] and doubts[-1] > 0.99
        assert named == sorted(named)
        between = [p for p, sure in zip(doubts, named, strict=True) if not sure and p > 0.0]
        assert between and min(between) > MIN_PROBABILITY
        # What is found already is in doubt no more.
        known = doubtful_oddity(sums(seed, PATTERNS[DRAG], 0.2), (DRAG,), windows)
        assert known is None or known[0] is not DRAG
