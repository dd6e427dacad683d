# SPDX-License-Identifier: Apache-2.0
"""May the values be used? States and reasons."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from diffbot_ident.estimate import Advice, Estimate, EstimateState
from diffbot_ident.torque.judgement import judge

GOOD = (0.084, -3.77, 2.65, -16.1)
SIGNIFICANT = (0.001, 0.05, 0.01, 0.05)
B = 0.136
E, U, INVALID = EstimateState.ESTIMATED, EstimateState.UNESTIMATED, EstimateState.INVALID


def judged(values=GOOD, deviations=SIGNIFICANT, problem=None, samples=1000, **windows):
    covariance = np.diag(np.square(deviations))
    estimate = Estimate(samples=samples).with_values(np.array(values), covariance)
    return judge(estimate, B, problem=problem, **windows)


def test_sure_values_of_a_robot_may_be_used():
    result = judged()
    assert result.state is E and result.reason == ""
    assert result.parameter_states == (E,) * 4 and result.parameter_reasons == ("",) * 4


def test_few_samples_wait():
    result = judged(samples=99)
    assert result.state is U and result.reason == "99 of 100 samples" == result.parameter_reasons[0]
    assert result.advice is Advice.WAIT and result.explanation == "99 of 100 samples; wait"


def test_advice_to_a_driving_robot_is_another_one_about_a_recording():
    waiting = judged(samples=99)
    reported = replace(waiting, advice=waiting.advice.of_recording)
    assert reported.explanation == "99 of 100 samples; give a longer recording"
    swapped = judged(problem="the wheels are swapped")
    assert swapped.explanation == "the wheels are swapped; torque stays off"
    reported = replace(swapped, advice=swapped.advice.of_recording)
    assert reported.explanation == "the wheels are swapped" == reported.reason
    assert judged().explanation == ""


@pytest.mark.parametrize(
    ("deviations", "states", "word"),
    [
        ((0.001, 0.05, 0.01, 9.0), (U, U, E, U), "wheels move together"),
        ((0.001, 0.05, 1.0, 0.05), (U, U, U, E), "torque in common"),
        ((0.03, 1.9, 0.01, 0.05), (U, U, E, E), "yaw rate"),
        ((0.03, 0.9, 9.0, math.inf), (U, U, U, U), "wheels move together"),
        ((math.inf, math.inf, 0.01, 0.05), (U, U, E, E), "yaw rate"),
    ],
)
def test_what_is_not_identifiable_is_named_with_its_reason(deviations, states, word):
    result = judged(deviations=deviations)
    assert result.state is U and result.parameter_states == states
    for name, state, reason in zip(
        ("K5", "K6", "K7", "K8"), states, result.parameter_reasons, strict=True
    ):
        assert (state is U) == bool(reason)
        named = [group.split(" not identifiable")[0] for group in result.reason.split("; ")]
        assert any(name in group for group in named) == (state is U)
    assert word in result.reason


def test_centre_of_mass_on_the_axle_is_known_and_may_be_used():
    result = judged(values=(0.0005, -0.02, 2.65, -16.1))
    assert result.state is E and result.parameter_states == (U, U, E, E)
    assert "on the axle" in result.parameter_reasons[0]


@pytest.mark.parametrize("index", [2, 3])
def test_sure_wrong_signs_are_invalid(index):
    values = [*GOOD]
    values[index] *= -1.0
    result = judged(values=values)
    assert result.state is INVALID and result.parameter_states == (INVALID,) * 4
    assert f"K{5 + index}" in result.reason and "wrong sign" in result.reason


def test_problems_win_over_everything():
    result = judged(problem="the wheels are swapped", samples=1)
    assert result.state is INVALID and result.reason == "the wheels are swapped"
    assert result.explanation == "the wheels are swapped; torque stays off"


def test_values_that_are_not_precise_enough_wait():
    # The others are too vague to make K7 much more precise by K5 K8 = b K6 K7.
    result = judged(deviations=(0.019, 0.85, 0.2, 0.05))
    assert result.state is U and re.match(r"K7 = 2\.6\d* \+- 0\.38 is not precise", result.reason)


anything = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e6, max_value=1e6)


@given(st.tuples(*[anything] * 4), st.tuples(*[st.floats(0.0, 1e9)] * 4))
@example((0.0, 1.0, 1.0, -1.0), (0.0, 0.0, 0.0, 0.0))
def test_an_unusable_estimate_says_why(values, deviations):
    result = judged(values=values, deviations=deviations)
    assert (result.state is E) == (result.reason == "")
    for state, reason in zip(result.parameter_states, result.parameter_reasons, strict=True):
        assert (state is E) == (reason == "")
    if result.state is E:
        assert values[2] > 0.0 > values[3]


def test_what_is_known_is_made_consistent():
    """K6 is 5 % off; K5 K8 = b K6 K7 afterwards, and more precise."""
    consistent = GOOD[0] * GOOD[3] / (B * GOOD[2])
    result = judged((GOOD[0], 1.05 * consistent, *GOOD[2:]), deviations := (0.002, 0.2, 0.01, 0.05))
    assert result.state is E
    new = result.values
    assert new[0] * new[3] == pytest.approx(B * new[1] * new[2], rel=1e-2)
    assert result.covariance[1][1] < deviations[1] ** 2


def test_vague_values_are_left_alone():
    result = judged(GOOD, deviations := (0.1, 9.0, 2.0, 0.1))
    assert result.values == GOOD and result.state is U
    assert (np.array(result.covariance) == np.diag(np.square(deviations))).all()


def test_a_wrong_sign_is_named_before_the_contradiction_that_it_makes():
    result = judged((GOOD[0], GOOD[1], GOOD[2], -GOOD[3]))
    assert result.state is INVALID and "K8 = 16.1 has the wrong sign" in result.reason


def test_a_contradiction_leaves_the_values_as_they_came():
    values = (GOOD[0], -GOOD[1], *GOOD[2:])
    result = judged(values)
    assert result.state is INVALID and result.values == values
    assert "same sign" in result.parameter_reasons[0]


def test_a_contradiction_waits_until_unknown_friction_has_been_looked_for():
    values = (GOOD[0], -GOOD[1], *GOOD[2:])
    result = judged(values, windows=39.0, significant_windows=40.0)
    assert (
        result.state is U and "same sign" in result.reason and "39 of 40 windows" in result.reason
    )
    assert judged(values, windows=40.0, significant_windows=40.0).state is INVALID
