# SPDX-License-Identifier: Apache-2.0
"""Estimators under any sequence of good, late, repeated, missing and senseless samples.

Hypothesis draws the troubles and a seed; each plan becomes a thousand samples of a robot that obeys
the model, with encoders and noise of the torque.
"""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arc_odometry import JointSample, WheelGeometry
from arc_odometry.joints import LONGEST_STEP
from diffbot_description import load_robot
from diffbot_description.sigma import Sigma
from diffbot_ident.estimate import EstimateState
from diffbot_ident.estimators import ESTIMATORS, make_estimator, make_live_estimator
from diffbot_ident.torque.learning import MotionScale
from diffbot_ident.velocity.sigma_fit import RecursiveFit

GEOMETRY = WheelGeometry(0.075, 0.075, 0.272)
TRUTH = (0.0844, 0.0844 * -16.08 / (0.136 * 2.647), 2.647, -16.08)  # K5 K8 = b K6 K7
PERIOD, COUNT, COUNTS = 0.01, 1000, 4096
NAMES = (*ESTIMATORS, "live")
# Refused by their values, by their stamp, or as a jump; none of them may teach anything.
KINDS = (
    *("nan angle", "infinite torque", "absurd angle", "absurd torque", "nan speed", "nan stamp"),
    *("twice", "late", "pause", "reset", "jump"),
)
plans = st.lists(
    st.tuples(st.integers(1, COUNT - 100), st.sampled_from(KINDS)), min_size=1, max_size=12
)
seeds = st.integers(0, 4)  # each is a motion of its own


def rates(v, omega, left, right):
    k5, k6, k7, k8 = TRUTH
    return k5 * omega * omega + k7 * (left + right), k6 * v * omega + k8 * (left - right)


@functools.cache
def good_samples(seed):
    """Random torques that hold for 0.2 s and turn a fast robot back; Heun's rule in 5 steps."""
    random = np.random.default_rng(seed)
    step, count = PERIOD / 5, math.tau / COUNTS
    v = omega = 0.0
    angles, result = random.random(2) * count, []
    for k in range(COUNT):
        if k % 20 == 0:
            torque = random.choice((-0.4, 0.4), 2)
            speeds = GEOMETRY.wheel_velocity(v, omega)
            torque = np.where(np.abs(speeds) > 8.0, -0.4 * np.sign(speeds), torque)
        acting = torque * (1.0 + 0.01 * random.standard_normal(2))
        for _ in range(5):
            dv, domega = rates(v, omega, *acting)
            end = rates(v + step * dv, omega + step * domega, *acting)
            mean = v + 0.5 * step * dv, omega + 0.5 * step * domega
            v, omega = v + 0.5 * step * (dv + end[0]), omega + 0.5 * step * (domega + end[1])
            angles = angles + step * np.array(GEOMETRY.wheel_velocity(*mean))
        read = tuple((np.floor(angles / count) * count).tolist())
        result.append(JointSample((k + 1) * PERIOD, read, (0.0, 0.0), tuple(torque.tolist())))
    return result


def messages(plan, seed):
    """Samples, and whether each is a good one that its predecessor may be joined with."""
    troubles, offset, jumped, pause, last = dict(plan), 0.0, 0.0, 0, None
    parted = False  # whether the last one was late by more than may be joined
    for k, sample in enumerate(good_samples(seed)):
        kind = troubles.get(k, "")
        offset -= 50.0 * (kind == "reset")
        jumped += 2.0 * (kind == "jump")
        pause = 12 if kind == "pause" else max(0, pause - 1)
        if pause:
            continue
        (left, right), effort = sample.position, sample.effort
        sample = replace(sample, stamp=sample.stamp + offset, position=(left + jumped, right))
        spoiled = {
            "nan angle": {"position": (math.nan, right)},
            "infinite torque": {"effort": (math.inf, 0.0)},
            "absurd angle": {"position": (left, 1e12)},
            "absurd torque": {"effort": (effort[0], -1e9)},
            "nan speed": {"velocity": (math.nan, 0.0)},
            "nan stamp": {"stamp": math.nan},
        }.get(kind)
        if spoiled:
            yield replace(sample, **spoiled), False
            continue
        yield sample, kind not in ("reset", "jump") and not parted
        parted = kind == "late" and sample.stamp + PERIOD - last.stamp > LONGEST_STEP
        if kind == "twice":
            yield sample, False
        elif kind == "late":
            yield last, False
        last = sample


def made(name):
    scale = MotionScale(1.0, 5.0, 0.4)
    if name != "live":
        return make_estimator(name, GEOMETRY, scale)
    wrong = tuple(np.multiply(TRUTH, (1.2, 0.8, 1.2, 0.8)).tolist())
    return make_live_estimator(load_robot("twil"), wrong)


def check(estimate):
    """Never NaN, covariance symmetric positive semidefinite, states by their rules."""
    values, covariance = np.array(estimate.values), np.array(estimate.covariance)
    assert np.isfinite(values).all() and not np.isnan(covariance).any()
    assert all(variance >= 0.0 for variance in estimate.variances)
    assert (estimate.reason == "") == (estimate.state is EstimateState.ESTIMATED)
    if np.isfinite(covariance).all():
        scale = np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
        correlation = covariance / np.outer(scale, scale)
        assert np.abs(correlation - correlation.T).max() < 1e-9
        assert np.linalg.eigvalsh(0.5 * (correlation + correlation.T))[0] > -1e-9
    if estimate.state is EstimateState.ESTIMATED:
        assert estimate.samples >= 100
        assert np.isfinite(estimate.variances[2:]).all()
        assert values[2] > 0.0 > values[3]
    assert estimate.state is not EstimateState.INVALID, (
        estimate.reason
    )  # there is no wrong robot here


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=3)
@given(plans, seeds)
@example([(1, "pause"), (13, "late")], 0)
def test_troubles_teach_nothing_and_leave_the_truth_in_the_intervals(name, plan, seed):
    estimator, looked, refused = made(name), 0, 0
    for number, (sample, is_good) in enumerate(messages(plan, seed)):
        before = estimator.estimate() if not is_good and looked < 6 else None
        try:
            estimator.update(sample)
        except ValueError:
            refused += is_good
        if before is not None:
            looked += 1
            after = estimator.estimate()
            assert (after.values, after.state) == (before.values, before.state)
        if number % 100 == 99:
            check(estimator.estimate())
    # The first one after a pause, or after a stamp that was no number, follows nothing.
    assert refused <= sum(kind in ("pause", "nan stamp") for kind in dict(plan).values())
    result = estimator.estimate()
    check(result)
    if result.state is EstimateState.ESTIMATED:
        off = np.abs(np.subtract(result.values, TRUTH))
        # 16 values in each of some runs: chance alone reaches 4 standard deviations. Those of rls
        # are known to be too small for its bias, of a few percent of K5 and K6.
        bias = 0.1 if name == "rls" else 0.0
        assert (off <= 5.0 * np.sqrt(result.variances) + bias * np.abs(TRUTH)).all()


@pytest.mark.parametrize("name", NAMES)
def test_stamps_since_1970_lose_no_precision(name):
    """They are rounded to 2.4e-7 s: 2.4e-5 of a control period, and less of K5..K8's intervals."""
    early, late = made(name), made(name)
    for sample in good_samples(3):
        early.update(sample)
        late.update(replace(sample, stamp=1.7e9 + sample.stamp))
    before, since = early.estimate(), late.estimate()
    assert before.state is since.state is EstimateState.ESTIMATED
    change = np.subtract(since.values, before.values)
    assert (np.abs(change) < 0.1 * np.sqrt(before.variances)).all()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_sample_that_is_left_out_counts_as_one_that_cannot_be_used(name):
    reported, refusing, bridging = made(name), made(name), made(name)
    for number, sample in enumerate(good_samples(3)):
        if number % 50 != 25:
            for estimator in (reported, refusing, bridging):
                estimator.update(sample)
            continue
        reported.interrupt()
        with pytest.raises(ValueError):
            refusing.update(replace(sample, position=(math.nan, math.nan)))
    assert repr(reported.estimate()) == repr(refusing.estimate()) != repr(bridging.estimate())


SIGMA = Sigma(0.3, 0.2, 1.0, 0.9)


@settings(max_examples=4)
@given(
    st.lists(
        st.tuples(
            st.integers(5, 3900),
            st.sampled_from(["nan", "infinite", "spike", "late", "pause", "reset", "twice"]),
        ),
        max_size=12,
    ),
    seeds,
)
def test_sigma_stays_true_whatever_is_wrong_with_some_odometry(plan, seed):
    """Without troubles 20 seeds leave errors of 0.7 % at most, 0.4 % in standard deviation.

    Pauses and resets take some of the motion away: hence 3 %.
    """
    random, troubles = np.random.default_rng(seed), dict(plan)
    fit, speeds, offset, pause = RecursiveFit(Sigma(0.4, 0.3, 1.2, 1.2)), np.zeros(2), 0.0, 0
    noise = random.normal(0.0, (0.01, 0.02), (4000, 2))
    command = np.zeros(2)
    inertia, drag = np.array([SIGMA.s1, SIGMA.s2]), np.array([SIGMA.s3, SIGMA.s4])
    for k in range(4000):
        kind = troubles.get(k, "")
        stamp, velocity = k * PERIOD + offset, tuple((speeds + noise[k]).tolist())
        pause = 80 if kind == "pause" else max(0, pause - 1)
        offset -= 20.0 * (kind == "reset")
        if not pause and kind in ("nan", "infinite"):
            with pytest.raises(ValueError, match="not finite"):
                bad = {"nan": math.nan, "infinite": -math.inf}[kind]
                fit.update(stamp, (bad, velocity[1]), tuple(command))
        elif not pause:
            spike = 5.0 * (kind == "spike")
            fit.update(stamp, (velocity[0] + spike, velocity[1]), tuple(command))
            if kind in ("late", "twice"):
                fit.update(stamp - 0.015 * (kind == "late"), velocity, tuple(command))
        if k % 500 == 499:
            assert np.isfinite(fit.values).all() and np.isfinite(fit.covariance).all()
            assert np.linalg.eigvalsh(fit.covariance)[0] > 0.0
            assert np.abs(fit.covariance - fit.covariance.T).max() < 1e-12
            assert min(fit.trusted.as_array()) >= 0.0
        if k % 70 == 0:
            command = random.uniform(-0.6, 0.6, 2)
        decay = np.exp(-drag / inertia * PERIOD)
        speeds = speeds * decay + command / drag * (1.0 - decay)
    assert fit.reasons() == (None, None)
    assert fit.trusted.as_array() == pytest.approx(SIGMA.as_array(), rel=0.03)
