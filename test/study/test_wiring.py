# SPDX-License-Identifier: Apache-2.0
"""Swapped wheels and flipped signs are named; a robot that is wired well is left alone."""

from dataclasses import replace
from functools import cache

import pytest
from made_recordings.excited_runs import RunSetting, record

from diffbot_ident.estimate import EstimateState
from diffbot_ident.torque.integral_estimator import IntegralEstimator
from diffbot_ident.torque.wiring import Wiring

# What a wheel's torque is reported as, given those that they got.
REPORTS = {
    "": lambda left, right: (left, right),
    "both wheels turn against": lambda left, right: (-left, -right),
    "the left wheel turns against": lambda left, right: (-left, right),
    "the right wheel turns against": lambda left, right: (left, -right),
    "the wheels are swapped: a torque": lambda left, right: (right, left),
    "the wheels are swapped and both": lambda left, right: (-right, -left),
    "swapped, and the sign of the left": lambda left, right: (-right, left),
    "swapped, and the sign of the right": lambda left, right: (right, -left),
}


@cache
def run(seed):
    """2 s and a little more, so that torques can be reported up to 3 periods before they act."""
    return record(RunSetting(noise=0.05), seed, 2.03)


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("words", REPORTS)
def test_wiring_is_named_within_two_seconds(words, delay):
    """4 seeds, 4096 counts, 5 % torque noise, friction; every half second, never a wrong name."""
    for seed in range(4):
        recorded = run(seed)
        estimator = IntegralEstimator(recorded.geometry, recorded.scale)
        results = []
        for step, (sample, later) in enumerate(
            zip(recorded.samples, recorded.samples[delay:], strict=False)
        ):
            estimator.update(replace(sample, effort=REPORTS[words](*later.effort)))
            if step % 50 == 0:
                estimate = estimator.estimate()
                if estimate.state is EstimateState.INVALID:
                    results.append(estimate.reason)
        if not words:
            assert results == []
            continue
        assert results and words in results[-1], (seed, results)


def test_patterns_are_all_different():
    assert len({(w.total, w.difference) for w in Wiring}) == len(Wiring) == 8
