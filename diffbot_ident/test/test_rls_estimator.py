# SPDX-License-Identifier: Apache-2.0
"""The estimator's states, its refusals, and that nothing bad stays in it."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.estimate import EstimateState
from diffbot_ident.excitation.body_model import Motion
from diffbot_ident.excitation.prbs import GuardedPrbs as Excitation
from diffbot_ident.rls import PositionRegression, RlsEstimator

GEOMETRY = WheelGeometry(0.075, 0.075, 0.272)
TRUTH = (0.08444, -3.7706, 2.6468, -16.084)


def motion(count, gain=(1.0, 1.0), turning=True, truth=TRUTH):
    """Joint samples of the model under PRBS torque, integrated in 10 steps a period.

    Args:
        gain: factors of the reported efforts [left, right].
        turning: whether the wheels get different torques.
    """
    k5, k6, k7, k8 = truth
    excitation = Excitation(0.5, 20, 10, 10.0)
    v = omega = left = right = 0.0
    torque = (0.0, 0.0)
    for step in range(count):
        speeds = GEOMETRY.wheel_velocity(v, omega)
        reported = (gain[0] * torque[0], gain[1] * torque[1])
        yield JointSample(0.01 * step, (left, right), speeds, reported)
        torque = excitation.torque(Motion(wheel_speeds=speeds))
        if not turning:
            torque = (torque[0], torque[0])
        for _ in range(10):
            # Midpoint rule, 1 ms.
            half_v = v + 0.0005 * (k5 * omega**2 + k7 * (torque[0] + torque[1]))
            half_w = omega + 0.0005 * (k6 * v * omega + k8 * (torque[0] - torque[1]))
            v += 0.001 * (k5 * half_w**2 + k7 * (torque[0] + torque[1]))
            omega += 0.001 * (k6 * half_v * half_w + k8 * (torque[0] - torque[1]))
            speeds = GEOMETRY.wheel_velocity(half_v, half_w)
            left, right = left + 0.001 * speeds[0], right + 0.001 * speeds[1]


def run(samples, **settings):
    estimator = RlsEstimator(PositionRegression(GEOMETRY), **settings)
    for sample in samples:
        estimator.update(sample)
    return estimator.estimate()


def test_finds_the_parameters_of_the_model():
    """30 s without noise; what is left is the curvature of omega^2 within a period."""
    estimate = run(motion(3001))
    assert estimate.state is EstimateState.ESTIMATED and estimate.reason == ""
    assert estimate.samples == 2999
    assert estimate.values == pytest.approx(TRUTH, rel=0.01)


def test_few_samples_are_not_an_estimate():
    estimate = run(motion(50))
    assert estimate.state is EstimateState.UNESTIMATED and "48 of 100 samples" in estimate.reason


def test_straight_driving_does_not_fix_the_turning_parameters():
    estimate = run(motion(1000, turning=False))
    assert estimate.state is EstimateState.UNESTIMATED
    assert all(math.isinf(estimate.variances[index]) for index in (0, 1, 3))
    assert estimate.values[2] == pytest.approx(TRUTH[2], rel=1e-3)
    assert "not identifiable from the motion" in estimate.reason


@pytest.mark.parametrize("gain", [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0)])
def test_flipped_torque_signs_are_never_called_estimated(gain):
    estimate = run(motion(2000, gain=gain))
    assert estimate.state is not EstimateState.ESTIMATED
    if gain == (-1.0, -1.0):
        assert estimate.state is EstimateState.INVALID and "flipped" in estimate.reason


@pytest.mark.parametrize("field", ["position", "velocity", "effort"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_finite_are_refused_and_forgotten(field, bad):
    clean, estimator = run(motion(1000)), RlsEstimator(PositionRegression(GEOMETRY))
    for index, sample in enumerate(motion(1000)):
        if index == 500:
            broken = JointSample(**{**sample.__dict__, field: (0.0, bad)})
            with pytest.raises(ValueError, match=f"{field}.*must be finite"):
                estimator.update(broken)
            continue
        estimator.update(sample)
    estimate = estimator.estimate()
    assert estimate.values == pytest.approx(clean.values, rel=1e-3)
    assert estimate.samples == clean.samples - 3


@pytest.mark.parametrize("jump", [0.0, -1.0, 10.0, math.nan, math.inf])
def test_time_jumps_are_refused_and_not_bridged(jump):
    estimator = RlsEstimator(PositionRegression(GEOMETRY))
    samples = list(motion(600))
    for sample in samples[:300]:
        estimator.update(sample)
    before = estimator.estimate()
    moved = [JointSample(s.stamp - 0.01 + jump, s.position, s.velocity, s.effort) for s in samples]
    with pytest.raises(ValueError, match="time step"):
        estimator.update(moved[300])
    assert repr(estimator.estimate()) == repr(before)  # equal in Python 3.13, too, with NaN
    if math.isfinite(jump):
        for sample in moved[301:]:
            estimator.update(sample)
        assert estimator.estimate().samples == before.samples + 298
        assert estimator.estimate().values == pytest.approx(TRUTH, rel=0.02)


anything = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(anything, *[st.tuples(anything, anything)] * 3), max_size=30))
def test_no_input_makes_the_estimate_nan(inputs):
    estimator = RlsEstimator(PositionRegression(GEOMETRY))
    for index, sample in enumerate(motion(60)):
        estimator.update(sample)
        if index < len(inputs):
            for again in (JointSample(*inputs[index]), sample):
                with contextlib.suppress(ValueError):
                    estimator.update(again)
    estimate = estimator.estimate()
    assert all(map(math.isfinite, estimate.values))
    assert not any(map(math.isnan, estimate.variances))
