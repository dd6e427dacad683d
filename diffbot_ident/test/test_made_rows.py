# SPDX-License-Identifier: Apache-2.0
"""Rows of many control periods are learnt part by part."""

import numpy as np
import pytest

from diffbot_ident.samples.series import pseudo_inverse
from diffbot_ident.torque.learning import MadeRows


def test_rows_are_taken_by_control_periods():
    """The first control periods of a segment have no row."""
    rows = np.arange(14.0).reshape(7, 2)
    made = MadeRows(5, rows, np.arange(7) > 3, np.arange(7) > 4)
    parts = [made.take(periods) for periods in (3, 4, 5)]
    assert [part.missing for part in parts] == [3, 2, 0]
    assert [len(part.rows) for part in parts] == [0, 2, 5]
    assert not len(made.rows) and made.missing == 0
    np.testing.assert_array_equal(np.concatenate([part.rows for part in parts]), rows)
    assert np.concatenate([part.turning for part in parts]).tolist() == [False] * 4 + [True] * 3
    assert np.concatenate([part.whole for part in parts]).tolist() == [False] * 5 + [True] * 2


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_the_pseudo_inverse_of_a_symmetric_matrix(rank):
    """As that by singular values, of regular and of singular matrices; seed 3."""
    factor = np.random.default_rng(3).normal(size=(5, rank))
    matrix = factor @ factor.T
    expected = np.linalg.pinv(matrix, rcond=1e-9)
    np.testing.assert_allclose(pseudo_inverse(matrix, 1e-9), expected, rtol=1e-9, atol=1e-9)


def test_a_matrix_without_information_has_the_inverse_0():
    assert not pseudo_inverse(np.zeros((3, 3))).any()
