# SPDX-License-Identifier: Apache-2.0
"""Estimates of the compliant base: exact without noise, and intervals that hold with it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffbot_papers.compliant_base.estimation import (
    ErrorsInVariables,
    ParameterKalmanFilter,
    ParameterPrior,
    PublishedFilter,
    draw_prior,
    pseudo_inverse,
)
from diffbot_papers.compliant_base.experiment import (
    Ensemble,
    ensemble,
    equal_sensors,
    true_channels,
    trust,
)
from diffbot_papers.compliant_base.model import TABLE_1, SensorNoise, mean_error
from diffbot_papers.compliant_base.simulation import CONSTANT, REST, ExperimentSettings, Sinusoid

SETTINGS = ExperimentSettings()
# Seeds that chose the method: 100 to 129.
SEEDS = range(4)


def channels(motion, seconds):
    times = SETTINGS.period * np.arange(1.0, round(seconds / SETTINGS.period) + 1)
    return true_channels(TABLE_1, motion.motion(times), SETTINGS)


def test_without_noise_the_regression_is_exact():
    values = channels(CONSTANT, 2.0)
    assert mean_error(pseudo_inverse(values), TABLE_1) < 1e-4
    assert pseudo_inverse(values)[[4, 6]] == pytest.approx(0.0, abs=1e-9)
    for kind in (ParameterKalmanFilter, ErrorsInVariables):
        filtered = kind(draw_prior(TABLE_1, 0), window=8)
        filtered.update(values, np.zeros((8, 3)))
        assert mean_error(filtered.estimate, TABLE_1) < 1e-4


def test_a_resting_arm_fixes_nothing():
    values = channels(Sinusoid(REST, 0.0, 0.0), 0.1)
    with pytest.raises(ValueError, match="no effect"):
        pseudo_inverse(values)


@pytest.fixture(scope="module")
def constant() -> Ensemble:
    return ensemble(TABLE_1, None, SEEDS, SETTINGS)


@pytest.fixture(scope="module")
def lively() -> Ensemble:
    """Chosen motions with sensors that no jolt makes noisier, 4 s."""
    quick = replace(SETTINGS, duration=4.0, population=4, generations=2)
    return ensemble(TABLE_1, "sum of bits", SEEDS, equal_sensors(TABLE_1, quick))


def filtered(runs: Ensemble, window: int) -> np.ndarray:
    """Scores of the paper's filter on the same measurements."""
    scores = []
    for run in runs.runs:
        kalman = ParameterKalmanFilter(run.prior, window)
        run.estimate_again(kalman)
        scores.append((kalman.estimate - TABLE_1) / kalman.deviation)
    return np.array(scores)


@pytest.mark.parametrize("name", ["constant", "lively"])
def test_intervals_hold_and_those_of_the_filter_do_not(name, request):
    """88 errors of 4 seeds; of 95 % the standard error would be 2.3 % if all were independent.

    So up to 3.5 standard errors too few. benchmarks/compliant_base.py has 40 seeds.
    """
    result = request.getfixturevalue(name)
    covered, size = trust(result.scores)
    assert covered >= 0.87
    assert 0.7 < size < 1.35
    covered, size = trust(filtered(result, 1))
    assert covered < 0.5
    assert size > 3.0


def test_it_is_twice_as_accurate_as_the_filter(constant):
    """With rows of single samples, as the paper's, and of 8."""
    for window in (1, 8):
        ends = []
        for run in constant.runs:
            kalman = ParameterKalmanFilter(run.prior, window)
            run.estimate_again(kalman)
            ends.append(kalman.estimate)
        assert constant.errors.mean() < 0.5 * mean_error(np.array(ends), TABLE_1).mean()


@pytest.mark.parametrize("window", [1, 2, 8])
def test_the_window_is_not_what_makes_it_honest(constant, window):
    scores = []
    for run in constant.runs:
        again = ErrorsInVariables(run.prior, window)
        run.estimate_again(again)
        scores.append((again.estimate - TABLE_1) / again.deviation)
    assert trust(np.array(scores))[0] >= 0.85


def test_estimating_again_is_the_same_estimate(constant):
    again = ErrorsInVariables(constant.runs[0].prior, SETTINGS.window)
    constant.runs[0].estimate_again(again)
    assert np.array_equal(again.estimate, constant.runs[0].estimates[-1])
    assert np.array_equal(again.deviation, constant.runs[0].deviations[-1])


@settings(max_examples=10)
@given(st.integers(0, 1000), st.floats(0.01, 0.3))
def test_never_less_is_known_than_beforehand(seed, fraction):
    """Not even of noise alone, in which nothing moves."""
    random = np.random.default_rng(seed)
    prior = draw_prior(TABLE_1, seed)
    deviation = fraction * np.abs(channels(CONSTANT, 0.4)).max(axis=(0, 1)) + 1e-6
    estimator = ErrorsInVariables(prior, 4)
    estimator.update(deviation * random.standard_normal((3, 80, 8, 3)), deviation)
    assert (estimator.deviation <= prior.deviation * (1.0 + 1e-9)).all()
    assert np.isfinite(estimator.estimate).all()


def test_a_filter_without_drift_does_not_care_how_rows_are_dealt():
    values = channels(CONSTANT, 0.8)
    noise = 0.1 * np.abs(values).max(axis=(0, 1))
    prior = draw_prior(TABLE_1, 2)
    kind = PublishedFilter(outputs_only=True)
    whole, dealt = (ParameterKalmanFilter(prior, 1, kind) for _ in range(2))
    whole.update(values, noise)
    for part in np.split(values, 4, axis=1):
        dealt.update(part, noise)
    assert dealt.estimate == pytest.approx(whole.estimate, rel=1e-9)
    assert dealt.deviation == pytest.approx(whole.deviation, rel=1e-9)


def test_drift_and_caution_know_less():
    values = channels(CONSTANT, 0.8)
    noise = 0.1 * np.abs(values).max(axis=(0, 1))
    prior = draw_prior(TABLE_1, 2)
    plain, drifting, cautious = (
        ParameterKalmanFilter(prior, 1, each)
        for each in (PublishedFilter(), PublishedFilter(drift=0.1), PublishedFilter(caution=10.0))
    )
    for each in (plain, drifting, cautious):
        each.update(values, noise)
        each.update(values, noise)
    assert (drifting.deviation > plain.deviation).all()
    assert (cautious.deviation > plain.deviation).all()


def test_trust_of_normal_scores():
    scores = np.random.default_rng(0).standard_normal(100_000)
    assert trust(scores) == pytest.approx((0.95, 1.0), abs=0.01)


def test_bad_input_is_refused_by_name():
    for kind in (ParameterKalmanFilter, ErrorsInVariables):
        with pytest.raises(ValueError, match="window"):
            kind(ParameterPrior(TABLE_1, np.ones(22)), window=0)
        with pytest.raises(ValueError, match="multiple of the window"):
            kind(ParameterPrior(TABLE_1, np.ones(22)), 3).update(
                np.zeros((3, 80, 8, 3)), np.ones((8, 3))
            )
    with pytest.raises(ValueError, match="factor"):
        draw_prior(TABLE_1, 0, factor=1.0)
    with pytest.raises(ValueError, match="deviation"):
        ParameterPrior(TABLE_1, np.zeros(22))
    with pytest.raises(ValueError, match="drift"):
        PublishedFilter(drift=-1.0)
    with pytest.raises(ValueError, match="caution"):
        PublishedFilter(caution=0.0)
    with pytest.raises(ValueError, match="share"):
        SensorNoise(np.full((8, 3), -0.1))
