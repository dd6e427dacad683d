# SPDX-License-Identifier: Apache-2.0
"""Prediction of velocities: what a model takes from an estimate, and late torques."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_ident.torque.estimate import Estimate, FrictionEstimate
from diffbot_ident.torque.torque_delay import delayed
from diffbot_ident.verification import Model

VALUES = (0.08, -3.8, 2.6, -16.0)


def test_negative_and_unknown_friction_are_none():
    friction = FrictionEstimate((-0.01, 0.02, 0.03, 0.04), (1e-6, 1e-6, 1e-6, math.inf))
    assert Model.of(Estimate(VALUES, friction=friction)).friction == (0.0, 0.02, 0.03, 0.0)
    assert Model.of(Estimate(VALUES)).friction == (0.0,) * 4


@pytest.mark.parametrize(
    ("given_delay", "used"), [(1.4, 1.4), (2, 2.0), (math.nan, 0.0), (math.inf, 0.0), (-0.2, 0.0)]
)
def test_delay_of_an_estimate(given_delay, used):
    assert Model.of(Estimate(VALUES, delay=given_delay)).delay == used


@given(st.integers(0, 4), st.floats(0.0, 0.999))
def test_a_ramp_of_torque_comes_later_by_the_delay(whole, share):
    """What is linear in time is shifted exactly, whatever part of a period the delay is."""
    ramp = np.array([[1.0], [-2.0]]) * np.arange(30.0)
    late = delayed(ramp, whole + share)
    assert late.shape == ramp.shape
    expected = np.array([[1.0], [-2.0]]) * (np.arange(30.0) - whole - share)
    assert late[:, whole + 1 :] == pytest.approx(expected[:, whole + 1 :])


def test_no_delay_leaves_torques_alone():
    torque = np.random.default_rng(0).standard_normal((2, 20))
    assert (delayed(torque, 0.0) == torque).all()
