# SPDX-License-Identifier: Apache-2.0
"""A robot that changes in mid-run is found, and K5..K8 are not those of neither robot."""

import math

import numpy as np
import pytest
from test_regression import GEOMETRY, K7, K8

from arc_odometry import JointSample
from diffbot_ident.estimate import EstimateState
from diffbot_ident.torque.effect_search import EffectSearch
from diffbot_ident.torque.integral_estimator import IntegralEstimator
from diffbot_ident.torque.learning import MotionScale
from diffbot_ident.torque.parameter_change import (
    SIGNIFICANT_CHANGE,
    ChangeWatch,
    _split,
    _trends,
    _UnitFits,
)

COUNT = 2.0 * np.pi / 4096  # of the encoders, rad
PERIOD = 0.01  # s


def samples(seed, factors, noise=0.02):
    """Samples of the linear plant under commands held for 0.2 s.

    Args:
        seed: of the commands and of the torques' noise.
        factors: factors on K7 and K8 in each period, shape (n, 2).
        noise: standard deviation of the acting torques as a share of them.
    """
    generator = np.random.default_rng(seed)
    commands = generator.uniform(-1.0, 1.0, (len(factors) // 40 + 1, 1, 2))
    # There and back, so that the velocities stay bounded.
    reported = np.repeat((commands * [[1.0], [-1.0]]).reshape(-1, 2), 20, axis=0)
    acting = reported * (1.0 + noise * generator.standard_normal(reported.shape))
    angles, velocity = np.zeros(2), np.zeros(2)
    for step, (factor, torque) in enumerate(zip(factors, acting, strict=False)):
        gained = PERIOD * factor * (K7 * torque.sum(), K8 * (torque[0] - torque[1]))
        angles += GEOMETRY.wheel_velocity(*(PERIOD * (velocity + 0.5 * gained)).tolist())
        velocity += gained
        read = tuple((np.floor(angles / COUNT) * COUNT).tolist())
        stamp = 100.0 + PERIOD * (step + 1)
        yield JointSample(stamp, read, (0.0, 0.0), tuple(reported[step].tolist()))


def changing(*parts):
    """Factors on K7 and K8 from parts of (duration in s, factor on K7, factor on K8)."""
    return np.concatenate([np.tile(own, (round(time / PERIOD), 1)) for time, *own in parts])


def identified(seed, factors, **arguments):
    estimator = IntegralEstimator(GEOMETRY, MotionScale(1.0, 3.0, 1.0), **arguments)
    for sample in samples(seed, factors):
        estimator.update(sample)
    return estimator.estimate()


def named(result):
    return [each for each in (*result.warnings, result.reason) if "the robot changed" in each]


@pytest.mark.parametrize(
    ("k7", "k8"), [(1.0 / 1.3, 1.0), (0.5, 0.8), (1.3, 1.0), (1.0, 0.75), (0.9, 0.95)]
)
def test_a_payload_in_mid_run_is_named_and_the_values_are_those_with_it(k7, k8):
    """Averaged over both, K7 and K8 are those of neither."""
    errors = []
    for seed in range(4):
        result = identified(seed, changing((12.0, 1.0, 1.0), (13.0, k7, k8)))
        assert result.parameter_states[2:] == (EstimateState.ESTIMATED,) * 2
        errors.append((np.array(result.values[2:]) / (k7, k8) - (K7, K8)) * (k7, k8))
        errors[-1] /= np.sqrt(result.variances[2:])
        (warning,) = named(result)
        at = float(warning.split("changed ")[1].split(" s")[0])
        assert at == pytest.approx(12.0, abs=1.2)
        assert 112.0 <= result.since < 115.0
        assert result.samples == pytest.approx((125.0 - result.since) / PERIOD, abs=2.0)
    # Eight normal errors: their rms is beyond 1.7 less than once in 200.
    assert np.sqrt(np.mean(np.square(errors))) < 1.7


def test_a_load_that_comes_and_goes_leaves_the_values_of_the_end():
    result = identified(1, changing((12.0, 1.0, 1.0), (12.0, 0.6, 0.8), (12.0, 1.0, 1.0)))
    np.testing.assert_allclose(result.values[2:], (K7, K8), rtol=0.01)
    (warning,) = named(result)
    assert "changed 24 s" in warning


def test_a_change_just_before_the_end_leaves_no_values():
    """Values of the old robot are no longer valid, and of the new one there is too little."""
    result = identified(1, changing((20.0, 1.0, 1.0), (1.6, 0.6, 0.8)))
    assert result.state is EstimateState.UNESTIMATED
    assert "(the robot changed 20 s after its first sample" in result.reason
    assert result.explanation.endswith("; wait")
    assert result.since == pytest.approx(121.0, abs=0.7)


def test_a_robot_that_stays_as_it_is_does_not_change():
    """6 seeds of 30 s: the residuals of a unit scatter by 1 to 2 % of the torque's effect."""
    for seed in range(6):
        result = identified(seed, changing((30.0, 1.0, 1.0)))
        assert named(result) == []
        assert math.isnan(result.since)


def test_one_unit_that_differs_at_the_end_is_no_change_yet():
    """As by repeated readings or static friction, while torques are small: before, the robot was
    forgotten, and its run ended without values."""
    effect = 0.005 * np.random.default_rng(3).standard_normal(21)
    weight = np.ones(21)
    effect[-1], weight[-1] = 0.275, 0.155
    assert _split(effect, weight)[0] < SIGNIFICANT_CHANGE
    effect[-2:], weight[-2:] = 0.275, 0.155
    ratio, at = _split(effect, weight)
    assert ratio > SIGNIFICANT_CHANGE and at == 19


def test_a_small_change_is_no_change():
    """2 % is less than a battery or the ground makes of it."""
    for seed in range(4):
        assert named(identified(seed, changing((12.0, 1.0, 1.0), (13.0, 0.98, 0.98)))) == []


def test_recordings_of_different_loads_are_averaged_if_asked_for():
    result = identified(1, changing((12.0, 1.0, 1.0), (13.0, 0.6, 0.8)), steady=False)
    assert named(result) == [] and 0.7 * K7 < result.values[2] < 0.95 * K7


def test_the_change_is_found_at_the_same_sample_however_often_estimates_are_asked_for():
    factors = changing((12.0, 1.0, 1.0), (10.0, 0.7, 0.9))
    result = identified(3, factors)
    asked = IntegralEstimator(GEOMETRY, MotionScale(1.0, 3.0, 1.0))
    for i, sample in enumerate(samples(3, factors)):
        asked.update(sample)
        if i % 37 == 0:
            asked.estimate()
    assert asked.estimate().since == result.since
    np.testing.assert_allclose(asked.estimate().values, result.values, rtol=1e-6)


def test_a_long_run_is_watched_in_constant_memory():
    """Ten minutes are divided into at most 32 units; a change in the tenth one is found."""
    factors = changing((560.0, 1.0, 1.0), (60.0, 0.75, 1.0))
    result = identified(2, factors)
    (warning,) = named(result)
    at = float(warning.split("changed ")[1].split(" s")[0])
    assert at == pytest.approx(560.0, abs=20.0)
    assert result.values[2] == pytest.approx(0.75 * K7, rel=0.01)


def test_parts_of_a_run_that_disagree_widen_the_intervals(monkeypatch):
    """Torques that err for half a second at a time: the noise of single periods does not tell."""
    # By chance such torques look as if they were rounded, too.
    monkeypatch.setattr(EffectSearch, "rounding", lambda *_: np.zeros((2, 6)))
    sizes = []
    for _ in range(2):
        errors = []
        for seed in range(8):
            random = np.random.default_rng(seed)
            factors = 1.0 + 0.05 * np.repeat(random.standard_normal((40, 2)), 50, axis=0)
            result = identified(seed, factors)
            error = np.array(result.values[2:]) - (K7, K8)
            errors.append(error / np.sqrt(result.variances[2:]))
        sizes.append(np.sqrt(np.mean(np.square(errors))))
        monkeypatch.setattr(ChangeWatch, "widened", lambda _, axes, *__: axes)
    assert sizes[0] < 2.0 < 2.5 < sizes[1]


def test_a_drift_by_mere_noise_is_as_large_as_its_deviation():
    """Of 20 units, the first of which lasts five times as long: chi squared of three drifts is 3.

    400 draws tell its mean to 0.12: 3.3, as the scatter is estimated, too. By a covariance of the
    units' own scores it was 7.3.
    """
    generator = np.random.default_rng(51)
    ends = np.concatenate(([0.0], np.arange(5.0, 25.0))) / 24.0
    time, rows = 0.5 * (ends[1:] + ends[:-1]) - 0.5, (40 * np.diff(24.0 * ends)).astype(int)
    theta = generator.uniform(0.5, 1.5, (2, 6))
    sizes = []
    for _ in range(400):
        units = np.empty((2, 20, 7, 7))
        for axis, unit in np.ndindex(2, 20):
            x = generator.standard_normal((rows[unit], 6))
            z = np.column_stack((x, x @ theta[axis] + generator.standard_normal(len(x))))
            units[axis, unit] = z.T @ z
        total = units.sum(axis=1)
        fitted = np.linalg.solve(total[:, :-1, :-1], total[:, :-1, -1:])[..., 0]
        values, information = _trends(_UnitFits(units, fitted), time)
        together = information.sum(axis=0)
        weighted = np.einsum("aij,aj->i", information, values)
        sizes.append(float(weighted @ np.linalg.solve(together, weighted)))
    assert np.mean(sizes) == pytest.approx(3.2, abs=0.4)
