# SPDX-License-Identifier: Apache-2.0
"""The printed tables of Sujan and Dubowsky (2002), recomputed, beside a short ensemble."""

from dataclasses import replace

import numpy as np
import pytest

from diffbot_papers import sujan2002 as published
from diffbot_papers.compliant_base.experiment import ensemble
from diffbot_papers.compliant_base.model import TABLE_1, mean_error
from diffbot_papers.compliant_base.simulation import ExperimentSettings
from diffbot_papers.page import RowVerdict
from diffbot_papers.sujan2002 import intervals_table, table_1, table_2


def test_printed_averages_are_not_those_of_the_rows():
    """110.1 and 21.8 % over the 20 rows that are not zero in truth; printed 108.8 and 18.9."""
    own = [
        mean_error(each, TABLE_1)
        for each in (published.TABLE_1_CONSTANT, published.TABLE_1_VARIABLE)
    ]
    assert own == pytest.approx([110.1, 21.8], abs=0.05)


def test_averages_of_the_experiment_follow_from_its_rows():
    averages = [row for row in table_2().rows if "average" in row.quantity]
    assert [row.verdict for row in averages] == [RowVerdict.REPRODUCED] * 2
    others = [row for row in table_2().rows if "average" not in row.quantity]
    assert len(others) == 10
    assert {row.verdict for row in others} == {RowVerdict.CANNOT_BE}


def test_table_1_has_every_parameter_and_the_ensembles_mean():
    result = ensemble(TABLE_1, None, range(2), replace(ExperimentSettings(), duration=0.8))
    readings = TABLE_1 + np.linspace(-1.0, 1.0, 21)[:, None]
    rows = table_1("constant", published.TABLE_1_CONSTANT, readings, result).rows
    assert len(rows) == 22 + 2
    assert [row.ours for row in rows[:22]] == pytest.approx(list(TABLE_1), abs=1e-9)
    inside = np.abs(published.TABLE_1_CONSTANT - TABLE_1) <= 0.9
    assert [row.verdict is RowVerdict.WITHIN for row in rows[:22]] == inside.tolist()
    assert rows[-1].ours == pytest.approx(result.errors.mean())


def test_intervals_are_judged_by_what_they_hold():
    result = ensemble(TABLE_1, None, range(2), replace(ExperimentSettings(), duration=0.8))
    (row,) = intervals_table({"constant": result}).rows
    assert row.ours == pytest.approx(100.0 * result.coverage.mean())
    assert (row.verdict is RowVerdict.REPRODUCED) == (90.0 <= row.ours <= 98.0)
