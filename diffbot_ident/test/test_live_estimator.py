# SPDX-License-Identifier: Apache-2.0
"""An estimator that is held while the motion says nothing, and when that is."""

import math
from dataclasses import replace

import numpy as np
import pytest

from arc_odometry import JointSample, WheelGeometry
from diffbot_description import load_robot
from diffbot_ident.estimate import EstimateState
from diffbot_ident.estimators import ExcitationMonitor, make_live_estimator

GEOMETRY = WheelGeometry(0.075, 0.075, 0.272)
NOMINAL = (0.0844, -3.77, 2.647, -16.08)
PERIOD = 0.01


def samples(speeds, counts=4096, begin=0.0, torque=lambda t: (0.0, 0.0)):
    """Joint samples of wheels that turn at these speeds, rad/s, read by encoders."""
    turned = np.cumsum(PERIOD * np.asarray(speeds), axis=0)
    step = math.tau / counts
    for k, row in enumerate(turned, start=1):
        angles = tuple(float(step * math.floor(a / step)) for a in row)
        time = begin + k * PERIOD
        yield JointSample(time, angles, (0.0, 0.0), torque(time))


def wheels(v, omega):
    """Wheel speeds of body velocities, arrays."""
    return np.column_stack([v - 0.136 * omega, v + 0.136 * omega]) / 0.075


T = np.arange(0.0, 4.0, PERIOD)
SWING = 0.3 * np.sin(2.0 * T)  # rms of the acceleration 0.42


@pytest.mark.parametrize(
    ("v", "omega", "lacks"),
    [
        (0.0 * T, 0.0 * T, "too little change of speed"),
        (0.05 + 0.0 * T, 0.0 * T, "too little change of speed"),
        (SWING, 0.0 * T, "too little change of yaw rate"),
        (0.3 + 0.0 * T, SWING, "too little change of speed"),
        (SWING, SWING, None),
    ],
)
def test_both_speeds_have_to_change(v, omega, lacks):
    monitor = ExcitationMonitor(GEOMETRY, 0.02, 0.03)
    assert monitor.lacks() == "too short a motion"
    for sample in samples(wheels(v, omega)):
        monitor.update(sample)
    result = monitor.lacks()
    assert result is None if lacks is None else result is not None and result.startswith(lacks)


@pytest.mark.parametrize("begin", [100.0, -100.0])
def test_after_a_pause_or_a_reset_of_time_it_begins_anew_and_says_so_once(begin):
    monitor = ExcitationMonitor(GEOMETRY, 0.02, 0.03)
    for sample in samples(wheels(SWING, SWING)):
        monitor.update(sample)
    first, *others = samples(wheels(SWING, SWING)[:20], begin=begin)
    with pytest.raises(ValueError, match="time step = "):
        monitor.update(first)
    for sample in others:
        monitor.update(sample)
    assert monitor.lacks() == "too short a motion"


def test_a_robot_of_20_hz_whose_stamps_are_not_exact_is_monitored():
    monitor = ExcitationMonitor(GEOMETRY, 0.02, 0.03)
    random = np.random.default_rng(3)
    for k, sample in enumerate(samples(wheels(SWING, SWING))):
        if k % 5 == 0:
            late = float(random.uniform(-0.004, 0.004))  # of a step of 0.05 s
            monitor.update(replace(sample, stamp=sample.stamp + late))
    assert monitor.lacks() is None


def test_a_jump_of_an_encoder_at_rest_does_not_look_like_motion():
    monitor = ExcitationMonitor(GEOMETRY, 0.02, 0.03)
    still = list(samples(wheels(0.0 * T, 0.0 * T)))
    for sample in still[:200]:
        monitor.update(sample)
    jumped = [replace(s, position=(s.position[0] + 2.0, s.position[1])) for s in still[200:]]
    with pytest.raises(ValueError, match="left wheel jumps by 2 rad"):
        monitor.update(jumped[0])
    for sample in jumped[1:]:
        monitor.update(sample)
        assert monitor.lacks()


def test_a_robot_at_rest_that_answers_its_encoders_noise_teaches_nothing():
    """Without the monitor K7 and K8 grow without bound, for the torque follows the noise."""
    estimator = make_live_estimator(load_robot("twil"), NOMINAL)
    random = np.random.default_rng(5)
    angles = np.zeros(2)
    for k in range(6000):
        toggled = math.tau / 4096 * random.integers(-1, 2, 2)
        torque = tuple((-20.0 * toggled).tolist())
        estimator.update(
            JointSample(k * PERIOD, tuple((angles + toggled).tolist()), (0.0, 0.0), torque)
        )
    estimate = estimator.estimate()
    assert estimate.state is EstimateState.UNESTIMATED and estimate.coverage == (0.0,) * 4
    assert "held as it was: too little change" in estimate.warnings[-1]
