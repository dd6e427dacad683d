# SPDX-License-Identifier: Apache-2.0
"""The extended Kalman filter: its Jacobian, its values, and what it does with bad readings."""

import contextlib
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from made_recordings.excited_runs import RunSetting, record

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.torque.estimate import EstimateState
from diffbot_ident.torque.kalman import LACKING, STATES, KalmanEstimator, KalmanModel

GEOMETRY = WheelGeometry(0.075, 0.075, 0.272)
NOISY = RunSetting(noise=0.01)
THETA = (0.084, -3.77, 2.65, -16.1, 0.008, 0.012, 0.04, 0.05)


@cache
def run(setting=NOISY, seconds=8.0):
    return record(setting, 0, seconds)


def fed(recorded, samples=None, **settings):
    estimator = KalmanEstimator(recorded.geometry, recorded.scale, **settings)
    for sample in samples or recorded.samples:
        estimator.update(sample)
    return estimator


def test_jacobian_is_that_of_finite_differences():
    """At 20 random motions, wheels not turning round; central differences are good to 1e-6."""
    model, generator = KalmanModel(GEOMETRY), np.random.default_rng(1)
    for _ in range(20):
        state = np.array([0.0, 0.0, *generator.uniform((0.6, -2.0), (1.0, 2.0)), *THETA])
        torque = tuple(generator.uniform(-0.4, 0.4, 2).tolist())
        _, jacobian, effect, turning = model.step(state, torque, 0.01)
        assert (turning == 0.0).all()
        for i in range(STATES):
            step = np.zeros(STATES)
            step[i] = 1e-5
            sides = [model.step(state + s * step, torque, 0.01)[0] for s in (1.0, -1.0)]
            slope = (sides[0] - sides[1]) / 2e-5
            np.testing.assert_allclose(jacobian[:, i], slope, atol=1e-6, err_msg=str(i))
        sides = [model.step(state, (torque[0] + s, torque[1]), 0.01)[0] for s in (1e-4, -1e-4)]
        slope = (sides[0] - sides[1]) / 2e-4
        np.testing.assert_allclose(effect[:, 0], slope, rtol=0.1, atol=1e-6)


def test_step_follows_the_exact_motion():
    """Exact angles of the ideal engine with friction, 1 s: to 1e-5 rad in each period.

    Speeds are those of the engine at the period's beginning; the worst are reversals.
    """
    recorded = run(RunSetting(counts=0, noise=0.0), seconds=1.0)
    model = KalmanModel(recorded.geometry)
    friction = (0.008, 0.012, 0.04, 0.05)
    for before, after in zip(recorded.samples[50:], recorded.samples[51:], strict=False):
        velocity = recorded.geometry.body_velocity(*before.velocity)
        state = np.array([0.0, 0.0, *velocity, *recorded.truth, *friction])
        new, _, _, turning = model.step(state, after.effort, 0.01)
        turned = np.subtract(after.position, before.position)
        np.testing.assert_allclose(new[:2], turned, atol=1e-5 if not turning.any() else 1e-3)


def test_values_are_within_five_stated_deviations_and_as_good_as_promised():
    """8 s, 4096 counts, torque noise of 1 % and 5 %, friction: 8 errors."""
    for noise, bounds in ((0.01, (0.03, 0.03, 5e-3, 5e-3)), (0.05, (0.1, 0.1, 0.02, 0.02))):
        recorded = run(RunSetting(noise=noise))
        estimate = fed(recorded).estimate()
        assert estimate.state is EstimateState.ESTIMATED, estimate.reason
        off = np.array(estimate.values) - recorded.truth
        assert (np.abs(off) < 5.0 * np.sqrt(estimate.variances)).all()
        assert (np.abs(off / recorded.truth) < bounds).all()
        np.testing.assert_allclose(estimate.friction.values, (0.008, 0.012, 0.04, 0.05), atol=0.005)


def test_torque_noise_is_found():
    """5 % in the run: the filter's own figure is within a factor of 1.6 after 8 s."""
    estimator = fed(run(RunSetting(noise=0.05)))
    assert 0.03 < estimator.filter.torque_noise < 0.08


def test_jumping_encoder_is_left_out_with_a_warning():
    """One wheel jumps by half a rad for good at 6.5 s: one reading is lost, the values stay."""
    recorded = run()
    samples = [
        replace(s, position=(s.position[0] + (0.5 if i >= 650 else 0.0), s.position[1]))
        for i, s in enumerate(recorded.samples)
    ]
    estimate = fed(recorded, samples).estimate()
    assert any("1 readings did not fit" in warning for warning in estimate.warnings)
    assert (np.abs(np.array(estimate.values) / recorded.truth - 1.0)[2:] < 0.01).all()


def test_nonsense_makes_it_start_again_and_never_nan():
    """After 6 s every angle is up to 0.4 rad off: the filter gives up, says so, stays finite."""
    recorded, generator = run(), np.random.default_rng(3)
    samples = [
        s if i < 600 else replace(s, position=tuple(s.position + generator.uniform(-0.4, 0.4, 2)))
        for i, s in enumerate(recorded.samples)
    ]
    estimator = fed(recorded, samples)
    estimate = estimator.estimate()
    assert all(map(math.isfinite, estimate.values)) and estimator.restarts >= 1
    assert not any(map(math.isnan, np.ravel(estimate.covariance)))


def test_bad_samples_gaps_and_wrapping_encoders():
    """NaN refused, a gap of a second not bridged, encoders that wrap at a turn: still right."""
    recorded = run()
    estimator = KalmanEstimator(recorded.geometry, recorded.scale)
    refused = 0
    for i, s in enumerate(recorded.samples):
        wrapped = tuple(math.remainder(angle, math.tau) for angle in s.position)
        s = JointSample(s.stamp + (1.0 if i > 600 else 0.0), wrapped, s.velocity, s.effort)
        if i == 550:
            s = replace(s, position=(math.nan, 0.0))
        with contextlib.suppress(ValueError):
            estimator.update(s)
            continue
        refused += 1
    estimate = estimator.estimate()
    assert refused == 2 and estimate.state is EstimateState.ESTIMATED and estimate.warnings == ()
    assert (np.abs(np.array(estimate.values) / recorded.truth - 1.0)[2:] < 0.01).all()


def test_covariance_stays_symmetric_and_positive():
    estimator = fed(run())
    scale = np.sqrt(np.diag(estimator.filter.covariance))
    correlation = estimator.filter.covariance / np.outer(scale, scale)
    np.testing.assert_array_equal(estimator.filter.covariance, estimator.filter.covariance.T)
    # Angles are known to one reading, so that the least eigenvalue is 0 but for rounding.
    assert np.linalg.eigvalsh(correlation)[0] > -1e-12


def test_parked_robot_learns_nothing():
    recorded = run()
    estimator = fed(recorded)
    last = recorded.samples[-1]
    parked = replace(last, velocity=(0.0, 0.0), effort=(0.0, 0.0))
    with contextlib.suppress(ValueError):
        estimator.update(replace(parked, stamp=last.stamp + 1.0))
    before = estimator.estimate()
    for step in range(100):
        estimator.update(replace(parked, stamp=last.stamp + 1.01 + 0.01 * step))
    after = estimator.estimate()
    np.testing.assert_allclose(after.values, before.values, rtol=1e-3)
    np.testing.assert_allclose(after.covariance, before.covariance, rtol=0.05, atol=1e-9)


def test_wrong_resolution_is_named():
    with pytest.raises(ValueError, match="resolution = nan rad: must be finite"):
        KalmanEstimator(run().geometry, run().scale, resolution=math.nan)


def test_wrong_wiring_is_reported_once_with_what_follows():
    recorded = run(seconds=4.0)
    swapped = [replace(s, effort=s.effort[::-1]) for s in recorded.samples]
    result = fed(recorded, swapped).estimate()
    assert result.state is EstimateState.INVALID and "swapped" in result.reason
    assert result.explanation.count("torque stays off") == 1


def test_stamps_that_are_late_leave_the_values_to_the_other_estimator():
    """Up to 3 ms late, 100 Hz: the filter, which takes stamps as they are, knows less."""
    recorded, generator = run(seconds=20.0), np.random.default_rng(4)
    samples = [
        replace(s, stamp=s.stamp + float(generator.uniform(0.0, 0.003))) for s in recorded.samples
    ]
    estimator = fed(recorded, samples)
    estimate = estimator.estimate()
    assert LACKING in estimate.warnings
    assert any("stamps are late" in text for text in estimate.warnings)
    deviations = np.sqrt(np.diag(np.array(estimate.covariance)))
    assert (np.abs(np.array(estimate.values) - recorded.truth) < 3.0 * deviations).all()
    assert estimator.filter is not None
    alone = np.sqrt(np.diag(estimator.filter.covariance)[4:8])
    assert (deviations[:2] < 0.4 * alone[:2]).all()
