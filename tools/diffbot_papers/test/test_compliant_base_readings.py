# SPDX-License-Identifier: Apache-2.0
"""Readings of the 2002 paper's text: drawn from a seed; what the paper says is in all of them."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from diffbot_papers.compliant_base.force_readings import draw_reading, simulate_readings
from diffbot_papers.compliant_base.model import TABLE_1, mean_error
from diffbot_papers.compliant_base.planning import METRICS
from diffbot_papers.compliant_base.simulation import CONSTANT, ExperimentSettings

QUICK = replace(ExperimentSettings(), duration=0.8, population=4, generations=1)


@settings(max_examples=6)
@given(st.integers(0, 10_000))
def test_every_reading_keeps_what_the_paper_gives(seed):
    reading = draw_reading(TABLE_1, seed, QUICK)
    drawn = reading.settings
    assert (drawn.duration, drawn.period, drawn.interval) == (0.8, 0.005, 0.4)
    assert np.all(drawn.noise.fraction <= 0.1)
    assert drawn.published_filter is not None
    assert reading.metric in METRICS
    motion = CONSTANT.motion(np.linspace(0.0, 4.0, 400))
    assert drawn.limits.excess(motion) == 0.0


def test_readings_come_from_their_seeds():
    one, two = (simulate_readings(TABLE_1, seeds, QUICK) for seeds in ([3, 4], [4]))
    assert np.array_equal(one.constant[1], two.constant[0])
    assert np.array_equal(one.variable[1], two.variable[0])
    ratio = mean_error(one.variable, TABLE_1) / mean_error(one.constant, TABLE_1)
    assert np.array_equal(one.ratios, ratio)
    assert not np.array_equal(one.constant[0], one.constant[1])
