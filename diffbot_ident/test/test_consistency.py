# SPDX-License-Identifier: Apache-2.0
"""What energy and geometry demand of K5..K8."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_ident.torque.judgement import ContradictionError, make_consistent

size = st.floats(0.05, 20.0)
noise = st.floats(-1.0, 1.0)


def robot(half_track, k7, k8, k5):
    """K5..K8 of a robot: K6 is what K5 K8 = b K6 K7 makes it."""
    return np.array([k5, -k5 * k8 / (half_track * k7), k7, -k8])


@given(st.floats(0.05, 1.0), size, size, st.floats(-0.2, 0.2))
def test_consistent_values_stay(half_track, k7, k8, k5):
    values = robot(half_track, k7, k8, k5)
    covariance = np.diag(np.square(0.02 * np.abs(values) + 1e-3))
    result, _ = make_consistent(values, covariance, half_track)
    np.testing.assert_allclose(result, values, rtol=1e-9, atol=1e-12)


@given(st.floats(0.05, 1.0), size, size, st.floats(0.01, 0.2), st.tuples(*[noise] * 4))
def test_values_become_consistent_and_more_certain(half_track, k7, k8, k5, errors):
    """Errors of 1 %: the gap shrinks to second order, no variance grows, P stays positive."""
    truth = robot(half_track, k7, k8, k5)
    values = truth * (1.0 + 0.01 * np.array(errors))
    covariance = np.diag(np.square(0.01 * values))
    result, fused = make_consistent(values, covariance, half_track)

    def gap(k):
        return abs(k[0] * k[3] - half_track * k[1] * k[2]) / abs(k[0] * k[3])

    assert gap(result) < 2e-3
    assert (np.diag(fused) <= np.diag(covariance) * (1.0 + 1e-9)).all()
    scale = np.sqrt(np.diag(covariance))
    assert np.linalg.eigvalsh(fused / np.outer(scale, scale))[0] > -1e-9


def test_it_halves_the_error_of_what_is_known_twice():
    """K5 is also b K6 K7 / K8: with K7, K8 exact, two equally good values average. 4000 draws."""
    truth, generator = robot(0.136, 2.65, 16.1, 0.084), np.random.default_rng(9)
    std = np.abs(truth) * (0.02, 0.02, 1e-6, 1e-6)
    errors = [
        make_consistent(truth + std * generator.standard_normal(4), np.diag(std**2), 0.136)[0]
        / truth
        - 1.0
        for _ in range(4000)
    ]
    np.testing.assert_allclose(np.std(errors, axis=0)[:2], 0.02 / np.sqrt(2.0), rtol=0.05)


def test_a_gain_of_energy_is_named():
    values = np.array([0.08, 3.8, 2.6, -16.0])
    with pytest.raises(ContradictionError, match="K5 = 0.08.*same sign"):
        make_consistent(values, np.diag(np.square(0.01 * values)), 0.136)


def test_contradicting_sizes_are_named_only_when_sure_and_large():
    values = robot(0.136, 2.65, 16.1, 0.084) * (1.0, 1.3, 1.0, 1.0)
    with pytest.raises(ContradictionError, match="must be equal.*slip"):
        make_consistent(values, np.diag(np.square(0.01 * values)), 0.136)
    make_consistent(values, np.diag(np.square(0.1 * values)), 0.136)
    small = robot(0.136, 2.65, 16.1, 0.084) * (1.0, 1.05, 1.0, 1.0)
    make_consistent(small, np.diag(np.square(1e-4 * small)), 0.136)


def test_centre_of_mass_on_the_axle_is_consistent():
    values = np.array([1e-4, 2e-3, 2.6, -16.0])
    result, _ = make_consistent(values, np.diag([1e-6, 1e-3, 1e-4, 1e-2]), 0.136)
    assert np.isfinite(result).all()
