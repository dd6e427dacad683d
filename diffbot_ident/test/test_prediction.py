# SPDX-License-Identifier: Apache-2.0
"""Prediction of velocities: what a model takes from an estimate, and late torques."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import WheelGeometry
from diffbot_ident.estimate import Estimate, FrictionEstimate
from diffbot_ident.prediction_model import Model
from diffbot_ident.torque.torque_delay import delayed

VALUES = (0.08, -3.8, 2.6, -16.0)


def test_unknown_friction_is_none():
    """A negative one stays: what it lacks another one of the same fit has too much."""
    friction = FrictionEstimate((-0.01, 0.02, 0.03, 0.04), (1e-6, 1e-6, 1e-6, math.inf))
    assert Model.of(Estimate(VALUES, friction=friction)).friction == (-0.01, 0.02, 0.03, 0.0)
    assert Model.of(Estimate(VALUES)).friction == (0.0,) * 4


@pytest.mark.parametrize("count", [4, 6], ids=["friction", "gear losses"])
def test_doubts_are_the_covariance_of_what_is_known(count):
    rng = np.random.default_rng(3)
    known, friction = (
        rows @ rows.T for rows in (rng.standard_normal((size, size)) for size in (4, count))
    )
    known *= np.outer(VALUES, VALUES) * 1e-4
    estimate = Estimate(
        VALUES,
        tuple(map(tuple, known.tolist())),
        friction=FrictionEstimate.of(np.full(count, 0.01), 1e-8 * friction),
    )
    doubts = np.array(Model.of(estimate).doubts)
    expected = np.zeros((10, 10))
    expected[:4, :4], expected[4 : 4 + count, 4 : 4 + count] = known, 1e-8 * friction
    sizes = np.sqrt(expected.diagonal())
    sizes[sizes == 0.0] = 1.0
    shape = np.outer(sizes, sizes)
    assert doubts.T @ doubts / shape == pytest.approx(expected / shape, abs=1e-9)
    model = Model.of(estimate)
    moved = [model.moved(one) for one in np.eye(4 + count)]
    changes = [(*each.values, *each.friction, *each.gear_loss) for each in moved]
    base = (*VALUES, *(0.01,) * count, *(0.0,) * (6 - count))
    assert np.array(changes) - base == pytest.approx(doubts)


def test_no_doubt_is_of_what_is_not_known():
    friction = FrictionEstimate((0.0,) * 4, (1e-6, math.inf, 0.0, 4e-6))
    doubts = np.array(Model.of(Estimate(VALUES, friction=friction)).doubts)
    assert sorted(doubts.sum(axis=0)) == pytest.approx([0.0] * 8 + [1e-3, 2e-3])


@pytest.mark.parametrize(
    ("given_delay", "used"), [(1.4, 1.4), (2, 2.0), (math.nan, 0.0), (math.inf, 0.0), (-0.2, 0.0)]
)
def test_delay_of_an_estimate(given_delay, used):
    assert Model.of(Estimate(VALUES, delay=given_delay)).delay == used


@given(st.integers(0, 4), st.floats(0.0, 0.999))
def test_a_ramp_of_torque_comes_later_by_the_delay(whole, fraction):
    """What is linear in time is shifted exactly, whatever part of a period the delay is."""
    ramp = np.array([[1.0], [-2.0]]) * np.arange(30.0)
    late = delayed(ramp, whole + fraction)
    assert late.shape == ramp.shape
    expected = np.array([[1.0], [-2.0]]) * (np.arange(30.0) - whole - fraction)
    assert late[:, whole + 1 :] == pytest.approx(expected[:, whole + 1 :])


def test_no_delay_leaves_torques_alone():
    torque = np.random.default_rng(0).standard_normal((2, 20))
    assert (delayed(torque, 0.0) == torque).all()


@pytest.mark.parametrize(
    ("start", "torque"),
    [
        (np.zeros(2), np.zeros((10, 2))),
        (np.zeros((2, 1)), np.zeros((10, 2))),
        (np.zeros((1, 2)), np.zeros((10, 1, 2))),
        (np.zeros((2, 3)), np.zeros((10, 2, 1))),
    ],
)
def test_arrays_of_other_shapes_are_refused(start, torque):
    """Of the first NumPy had made two predictions, and no error."""
    model = Model((0.08, -3.8, 2.6, -16.1))
    with pytest.raises(ValueError, match=r"must be \(2, n\) and \(m, 2, n\)"):
        model.predict(start, torque, 0.01, WheelGeometry(0.075, 0.075, 0.272))
