# SPDX-License-Identifier: Apache-2.0
"""Encoders of few counts: K5 and K6 are refused where their products of velocities are not seen.

Runs of excited_runs, 30 s at 100 Hz, seeds from 300 on. Before, K5 and K6 of twil with 48 to 96
counts per wheel revolution were 46 to 73 % off with intervals of 17 to 27 %.
"""

import math

import numpy as np
import pytest
from made_recordings.excited_runs import RunSetting, record

from diffbot_ident.estimate import EstimateState
from diffbot_ident.samples.timed_readings import CountsPerReading
from diffbot_ident.torque.integral_estimator import IntegralEstimator
from diffbot_ident.torque.judgement import FEWEST_COUNTS


def estimated(counts, seed, robot="twil"):
    run = record(RunSetting(robot=robot, counts=counts), seed, 30.0)
    estimator = IntegralEstimator(run.geometry, run.scale)
    for sample in run.samples:
        estimator.update(sample)
    return run, estimator.estimate()


@pytest.mark.parametrize("counts", [48, 64, 96])
@pytest.mark.parametrize("seed", [300, 301])
def test_products_that_coarse_encoders_do_not_show_are_refused(counts, seed):
    run, result = estimated(counts, seed)
    assert result.state is EstimateState.UNESTIMATED
    for i in (0, 1):
        assert result.parameter_states[i] is EstimateState.UNESTIMATED
        spread = 1.96 * math.sqrt(result.covariance[i][i])
        assert abs(result.values[i] - run.truth[i]) < 2.0 * spread
    reasons = " ".join(result.parameter_reasons)
    assert "counts of their encoders per sample" in reasons or "not the torques" in reasons


@pytest.mark.parametrize(("robot", "counts"), [("twil", 200), ("twil", 300), ("agv", 300)])
def test_encoders_that_are_just_fine_enough_give_values_that_hold(robot, counts):
    """Largest of 4 x 3 errors in the ensemble of the module: 1.2 half widths."""
    for seed in (300, 301, 302):
        run, result = estimated(counts, seed, robot)
        assert "counts of their encoders" not in " ".join(result.parameter_reasons)
        half = 1.96 * np.sqrt(np.diag(result.covariance))
        assert (np.abs(np.array(result.values) - run.truth) < 1.6 * half).all()


def test_the_other_parameters_hold():
    run, result = estimated(96, 300, "turtlebot2")
    half = 1.96 * np.sqrt(np.diag(result.covariance))
    assert (half[2:] < 0.1 * np.abs(run.truth[2:])).all()
    assert (np.abs(np.array(result.values) - run.truth) < 1.6 * half).all()
    assert result.parameter_states[2:] == (EstimateState.ESTIMATED,) * 2


def test_counts_are_those_of_fast_wheels():
    count = math.tau / 500
    counted = CountsPerReading()
    assert counted.typical() == math.inf
    still = np.zeros((200, 2))
    moving = count * np.floor(0.3 * np.arange(1000))[:, None] * np.ones(2)
    for part in (still, moving[:333], moving[333:]):
        counted.add(part)
    assert counted.typical() == pytest.approx(0.3, rel=0.03)
    assert counted.typical(10) == pytest.approx(3.0, rel=0.03)
    assert counted.typical() < FEWEST_COUNTS
