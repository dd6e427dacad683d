# SPDX-License-Identifier: Apache-2.0
"""Radius, track and gyro in K5..K8."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import JointSample, WheelGeometry
from diffbot_description import load_robot
from diffbot_description.dynamics import accelerations, closed_form
from diffbot_description.robot import Uncertainty
from diffbot_ident.estimate import Estimate, EstimateState, GyroFit
from diffbot_ident.interpretation.geometry_errors import (
    BY_RADIUS,
    BY_TRACK,
    DimensionedEstimator,
    as_wheels_see,
    widened,
    with_gyro,
)
from diffbot_ident.interpretation.yaw_gyro import GyroError, YawGyro

TRUE = WheelGeometry(0.075, 0.075, 0.272)
FIT = GyroFit(1.05, 1e-3, 0.0, 1e-3, 0.01, 0.02, 1e-4, 0.99, 100)
GOOD = Estimate(
    values=(0.08, -3.8, 2.6, -16.0),
    covariance=tuple(map(tuple, np.diag([1e-6, 1e-4, 1e-6, 1e-4]).tolist())),
    parameter_states=(EstimateState.ESTIMATED,) * 4,
    parameter_reasons=("",) * 4,
    state=EstimateState.ESTIMATED,
)


class Fixed:
    """An estimator whose estimate is given."""

    velocity = None

    def __init__(self, estimate):
        self._estimate = estimate

    def update(self, sample):
        return False

    def estimate(self):
        return self._estimate

    def suspicion(self):
        return None


def motion(seconds=12.0, period=0.01, seed=0):
    """Stamps, yaw rates (rad/s) and wheel angles of a robot that turns and drives at random."""
    generator = np.random.default_rng(seed)
    fine = 1e-3
    stamps = np.arange(0.0, seconds, fine)
    knots = np.arange(0.0, seconds + 1.0, 0.25)
    v = np.interp(stamps, knots, generator.normal(0.0, 0.3, len(knots)))
    omega = np.interp(stamps, knots, generator.normal(0.0, 1.0, len(knots)))
    left, right = TRUE.wheel_velocity(1.0, 0.0), TRUE.wheel_velocity(0.0, 1.0)
    angles = [
        np.concatenate(([0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * fine)))
        for speed in (v * left[i] + omega * right[i] for i in (0, 1))
    ]
    samples = [
        JointSample(
            float(stamps[i]), (float(angles[0][i]), float(angles[1][i])), (0.0, 0.0), (0.0, 0.0)
        )
        for i in range(0, len(stamps), round(period / fine))
    ]
    return stamps, omega, samples


def compared(
    reported, *, scale=1.0, bias=0.01, delay=0.03, noise=0.003, rate=100.0, clock=0.0, **kind
):
    """A YawGyro that was told a geometry and got a motion and a gyro."""
    stamps, omega, samples = motion(**kind)
    gyro = YawGyro(reported)
    generator = np.random.default_rng(1)
    for stamp in np.arange(0.0, stamps[-1], 1.0 / rate):
        seen = scale * np.interp(stamp - delay, stamps, omega) + bias
        gyro.add(float(stamp + clock), float(seen + noise * generator.standard_normal()))
    for sample in samples:
        gyro.add_wheels(sample)
    return gyro


@pytest.mark.numeric
@pytest.mark.parametrize(("rate", "period"), [(100.0, 0.01), (50.0, 0.005), (200.0, 0.02)])
def test_scale_delay_bias_and_radii_are_found(rate, period):
    reported = WheelGeometry(0.075 * 1.005, 0.075 * 0.995, 0.272 * 1.05)
    results = [
        compared(reported, rate=rate, period=period, seed=seed, delay=0.005 * seed).fit()
        for seed in range(8)
    ]
    for name, truth in (
        ("scale", 1.05),
        ("radius_difference", 0.01),
        ("delay", 0.005 * np.arange(8)),
    ):
        values = np.array([getattr(fit, name) for fit in results])
        stds = np.array([getattr(fit, f"{name}_std") for fit in results])
        # Chi-square of 8: beyond 26 once in 1000 times.
        assert np.sum(((values - truth) / stds) ** 2) < 26.0, name
    assert max(fit.scale_std for fit in results) < 1e-3
    assert np.allclose([fit.bias for fit in results], 0.01, atol=1e-3)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"scale": math.degrees(1.0)}, "degrees per second; publish rad/s"),
        ({"scale": -math.degrees(1.0)}, "axis points down"),
        ({"scale": -1.0}, "axis points down; flip the sign"),
        ({"scale": 0.0}, "does not follow the wheels"),
        ({"scale": 0.0, "noise": 0.0}, "it is defective"),
        ({"scale": 2.0}, "must be 0.3 to 1.5"),
        ({"delay": 0.8}, "does not follow the wheels"),
        ({"delay": 0.35}, "is 0.30 s late or more"),
        ({"clock": 1e6}, "do not overlap; let both drivers use one clock"),
    ],
)
def test_a_gyro_that_is_another_one_is_refused(wrong, said):
    with pytest.raises(GyroError, match=said):
        compared(TRUE, **wrong).fit()


def test_a_gyro_that_says_nothing_is_named():
    gyro = YawGyro(TRUE)
    for sample in motion()[2]:
        gyro.add_wheels(sample)
    with pytest.raises(GyroError, match="no reading of the gyro received"):
        gyro.fit()


def test_readings_that_cannot_be_used_are_refused():
    gyro = YawGyro(TRUE)
    gyro.add(1.0, 0.1)
    with pytest.raises(ValueError, match="must rise"):
        gyro.add(1.0, 0.1)
    with pytest.raises(ValueError, match="must be finite"):
        gyro.add(2.0, math.nan)
    assert gyro.readings == 1


def test_a_robot_that_does_not_turn_tells_nothing():
    gyro = YawGyro(TRUE)
    for k in range(2000):
        gyro.add(0.01 * k, 0.0)
        gyro.add_wheels(JointSample(0.01 * k, (0.02 * k, 0.02 * k), (2.0, 2.0), (0.0, 0.0)))
    assert gyro.fit() is None


def test_gaps_of_wheels_and_gyro_are_left_out():
    stamps, omega, samples = motion(20.0)
    gyro = YawGyro(TRUE)
    for stamp, rate in zip(stamps[::10], omega[::10], strict=True):
        if not 5.0 < stamp < 6.0:
            gyro.add(float(stamp), float(rate))
    jump = 0.0
    for sample in samples:
        if 12.0 < sample.stamp < 12.5:
            continue
        if sample.stamp > 15.0 and not jump:
            jump = 0.7
            gyro.interrupt()
        moved = (sample.position[0] + jump, sample.position[1])
        gyro.add_wheels(replace(sample, position=moved))
    result = gyro.fit()
    assert result.scale == pytest.approx(1.0, abs=3.0 * result.scale_std)
    assert result.scale_std < 5e-4
    assert result.windows < 90


robots = st.tuples(*(st.floats(0.8, 1.25),) * 2)


@given(wrong=robots, state=st.tuples(*(st.floats(-2.0, 2.0),) * 4))
def test_what_the_wheels_see_follows_from_radius_and_track(wrong, state):
    """The algebra of the module: the model in the file's odometry, and with the gyro's rate."""
    rho, beta = wrong
    v, omega, left, right = state
    k = closed_form(load_robot("twil").model)
    dv, domega = accelerations(k, v, omega, left, right)
    seen = (k.k5 * beta**2 / rho, k.k6 / rho, k.k7 * rho, k.k8 * rho / beta)
    turn = rho / beta
    assert np.allclose(
        accelerations(seen, rho * v, turn * omega, left, right), (rho * dv, turn * domega)
    )
    estimate = replace(GOOD, values=tuple(map(float, seen)))
    gyro = with_gyro(estimate, replace(FIT, scale=beta / rho))
    assert np.allclose(gyro.values, (k.k5 * rho, k.k6 / rho, k.k7 * rho, k.k8))
    assert np.allclose(as_wheels_see(gyro), seen)
    assert np.allclose(accelerations(gyro.values, rho * v, omega, left, right), (rho * dv, domega))


def test_small_errors_add_up_as_the_powers_say():
    rho, beta = 1.0 - 1e-6, 1.0 - 2e-6  # the robot's are larger
    change = np.array([rho / beta**2, rho, 1.0 / rho, beta / rho]) - 1.0
    assert np.allclose(change, 1e-6 * BY_RADIUS + 2e-6 * BY_TRACK, atol=1e-10)


def test_without_gyro_and_uncertainty_nothing_changes():
    assert DimensionedEstimator(Fixed(GOOD), TRUE).estimate() is GOOD


def test_intervals_include_radius_and_track_and_say_so():
    result = DimensionedEstimator(Fixed(GOOD), TRUE, Uncertainty(radius=1.0, track=2.0)).estimate()
    added = np.sqrt(np.diag(np.array(result.covariance) - GOOD.covariance))
    size = 0.01 * np.abs(GOOD.values)
    assert np.allclose(added, size * [math.hypot(1, 4), 1.0, 1.0, math.hypot(1, 2)])
    assert any("1 % of the radius and 2 % of the track" in text for text in result.warnings)
    vague = DimensionedEstimator(Fixed(GOOD), TRUE, Uncertainty(track=6.0)).estimate()
    assert vague.state is EstimateState.UNESTIMATED
    assert "measure radius and track better" in vague.reason


def test_with_a_gyro_the_track_counts_for_nothing():
    wide = widened(replace(GOOD, gyro=FIT), Uncertainty(radius=1.0, track=9.0))
    added = np.sqrt(np.diag(np.array(wide.covariance) - GOOD.covariance))
    scale = FIT.scale_std / FIT.scale
    size = np.abs(GOOD.values)
    assert np.allclose(added, size * [math.hypot(0.01, 2 * scale), 0.01, 0.01, scale])
    doubted = widened(replace(GOOD, gyro=FIT), Uncertainty(gyro=2.0))
    extra = np.array(doubted.covariance)[3, 3] - 1e-4
    assert extra == pytest.approx((16.0 * math.hypot(0.02, scale)) ** 2)


def estimated(inner, **kind):
    """The estimate of a DimensionedEstimator with a gyro, and of a wrong track."""
    reported = WheelGeometry(0.075, 0.075, 0.272 * 1.05)
    gyro = compared(reported, **kind)
    return DimensionedEstimator(Fixed(inner), reported, Uncertainty(), gyro).estimate()


def test_the_result_says_what_the_gyro_says():
    result = estimated(GOOD)
    assert result.state is EstimateState.ESTIMATED
    assert result.values[3] == pytest.approx(-16.0 * 1.05, rel=2e-3)
    text = " ".join(result.warnings)
    assert "K5 and K8 rest on the gyro's yaw rate: with the file's radius the track is 0.27" in text
    assert "% too large by the gyro" in text


def test_a_refused_gyro_makes_the_estimate_invalid():
    result = estimated(GOOD, scale=-1.0)
    assert result.state is EstimateState.INVALID
    assert result.reason.endswith("or do not use the gyro")
    # What is wrong with the wheels is said first.
    wired = GOOD.as_a_whole(EstimateState.INVALID, "the wheels are swapped")
    assert estimated(wired, scale=-1.0) is wired


def test_before_the_robot_has_turned_nothing_is_used():
    result = estimated(GOOD, seconds=3.0)
    assert result.state is EstimateState.UNESTIMATED
    assert "not turned enough" in result.reason
