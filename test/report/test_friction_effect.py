# SPDX-License-Identifier: Apache-2.0
"""What friction did in a run, in numbers and in a sentence."""

import math
from dataclasses import replace

import numpy as np
import pytest
from ident_example import FRICTION, example_estimate, example_recording

from diffbot_description import RobotModel
from diffbot_ident.estimate import EstimateState, FrictionEstimate
from diffbot_report.friction_effect import FrictionEffect

MODEL = RobotModel(0.075, 0.136, 4.2375, 0.0544, 0.1004, 0.25, 0.00084375, 0.000441)


class Recorded:
    """A recording of nothing but a motion and an estimate."""

    def __init__(self, motion, **more):
        self.estimate = replace(example_estimate(20.0), **more)
        self._motion = np.array(motion)

    def motion(self):
        return np.arange(len(self._motion)), self._motion


def effect_of(motion, **more):
    return FrictionEffect.of(Recorded(motion, **more), MODEL)


def test_share_of_a_straight_drive():
    """At 10 rad/s friction is 10 c + f; torques of 1 and 2 N m."""
    c_l, c_r, f_l, f_r = FRICTION
    result = effect_of([[0.75, 0.0, 1.0, -2.0], [-0.75, 0.0, -1.0, 2.0]])
    left, right = 10.0 * c_l + f_l, 10.0 * c_r + f_r
    assert result.left == pytest.approx(left)
    assert result.right == pytest.approx(right / 2.0)
    assert result.both == pytest.approx(math.hypot(left, right) / math.hypot(1.0, 2.0))


def test_wheels_of_a_robot_that_turns_in_place_turn_opposite_ways():
    c_l, _, f_l, _ = FRICTION
    result = effect_of([[0.0, 2.0, -1.0, 1.0], [0.0, 2.0, -1.0, 1.0]])
    assert result.left == pytest.approx(2.0 * 0.136 / 0.075 * c_l + f_l)


def test_smallest_torque_and_its_interval():
    entry = effect_of([[0.75, 0.0, 1.0, 1.0]]).keys()["smallest_torque"]
    value = 0.5 * (FRICTION[2] + FRICTION[3])
    assert entry["value"] == pytest.approx(value)
    # The largest standard deviation that any correlation allows: 1e-3 N m.
    assert entry["interval95"] == pytest.approx([value - 1.96e-3, value + 1.96e-3], rel=1e-4)
    assert entry["unit"] == "N m"


def test_gears_take_their_share_of_any_torque():
    """At 10 rad/s, driving and braking; equal torques start the robot by its mean efficiency."""
    c_l, c_r, f_l, f_r = FRICTION
    motion = [[0.75, 0.0, 1.0, -2.0], [-0.75, 0.0, -1.0, 2.0]]
    geared = replace(
        example_estimate(20.0).friction, gear_loss=(0.1, 0.3), gear_variances=(1e-6, 1e-6)
    )
    result = effect_of(motion, friction=geared)
    assert result.left == pytest.approx(10.0 * c_l + f_l + 0.1)
    assert result.right == pytest.approx((10.0 * c_r + f_r) / 2.0 + 0.3)
    entry = result.keys()["smallest_torque"]
    value = (f_l + f_r) / (0.9 + 0.7)
    assert entry["value"] == pytest.approx(value)
    assert entry["interval95"][1] == pytest.approx(value + 1.96e-3 / 0.8, rel=1e-4)
    assert f"from {f_l / 0.9:.2g} + {f_r / 0.7:.2g} N m on" in result.note(example_estimate(20.0))


def test_note_names_both_wheels():
    result = effect_of([[0.75, 0.0, 0.5, 0.5]])
    note = result.note(example_estimate(20.0))
    assert (
        note == "friction takes 26 % of the torque (rms); the robot moves from 0.031 + 0.029 N m on"
    )


def test_friction_that_is_not_known_is_not_said():
    unknown = FrictionEstimate(FRICTION, (4e-8, 4e-8, math.inf, 1e-6))
    result = effect_of([[0.75, 0.0, 0.5, 0.5]], friction=unknown)
    assert result.left is None and result.both is None and result.right is not None
    assert result.keys()["smallest_torque"]["value"] is None
    assert result.note(example_estimate(20.0)) is None


def test_coulomb_friction_that_may_be_none_moves_nothing():
    """0.03 +- 0.2 N m: only the share is said."""
    rough = FrictionEstimate(FRICTION, (4e-8, 4e-8, 1e-2, 1e-2))
    note = effect_of([[0.75, 0.0, 0.5, 0.5]], friction=rough).note(example_estimate(20.0))
    assert note.endswith("of the torque (rms)")


@pytest.mark.parametrize("motion", [np.empty((0, 4)), [[0.5, 0.0, 0.0, 0.0]]])
def test_without_torque_there_is_no_share(motion):
    assert effect_of(motion).both is None


def test_nothing_of_an_estimator_without_friction():
    assert effect_of([[0.5, 0.0, 1.0, 1.0]], friction=None) is None


def test_nothing_is_said_of_an_estimate_that_may_not_be_used():
    recording = example_recording()
    friction_effect = FrictionEffect.of(recording, MODEL)
    assert 0.0 < friction_effect.both < 1.0
    assert friction_effect.note(replace(recording.estimate, state=EstimateState.INVALID)) is None
