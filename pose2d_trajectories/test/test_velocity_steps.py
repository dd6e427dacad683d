# SPDX-License-Identifier: Apache-2.0
"""Steps of velocity: what holds when, and what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pose2d_trajectories.timing import TrajectoryLimits
from pose2d_trajectories.velocity_steps import DEMONSTRATION, VelocitySteps

TIMES, LINEAR, ANGULAR = DEMONSTRATION
velocities = st.floats(-5.0, 5.0)
sequences = st.lists(st.tuples(st.floats(0.0, 100.0), velocities, velocities), min_size=1).map(
    lambda rows: sorted({row[0]: row for row in rows}.values())
)


@given(sequences, st.floats(-1.0, 101.0))
def test_each_step_holds_until_the_next(rows, t):
    steps = VelocitySteps(*map(list, zip(*rows, strict=True)))
    expected = (0.0, 0.0)
    for begin, linear, angular in rows:
        if begin <= t:
            expected = (linear, angular)
    assert steps.at(t) == expected
    for begin, linear, angular in rows:
        assert steps.at(begin) == (linear, angular)
    assert steps.duration == rows[-1][0]
    assert steps.at(1e9) == rows[-1][1:]


def test_the_demonstration_changes_one_velocity_at_a_time():
    steps = VelocitySteps(
        *DEMONSTRATION, limits=TrajectoryLimits(linear_velocity=1.0, angular_velocity=3.0)
    )
    shown = [steps.at(t) for t in TIMES]
    assert shown[0] == shown[-1] == (0.0, 0.0) and steps.ends_at_rest
    for (v, omega), (v2, omega2) in zip(shown, shown[1:], strict=False):
        assert (v == v2) != (omega == omega2)
    # Forwards, backwards, both with and without a turn, and a turn on the spot.
    assert {(v > 0.0) - (v < 0.0) for v, omega in shown if omega} == {-1, 0, 1}
    assert {(v > 0.0) - (v < 0.0) for v, omega in shown if not omega} == {-1, 0, 1}
    assert steps.duration <= 6.0


@pytest.mark.parametrize(
    "change, message",
    [
        ({"times": []}, "times, linear, angular have 0, 7, 7 numbers: must be one each"),
        ({"times": [], "linear": [], "angular": []}, "at least one step"),
        ({"linear": [0.0]}, "have 7, 1, 7 numbers"),
        ({"linear": [0.0, 1.0, math.nan, 0, 0, 0, 0]}, r"linear\[2\] = nan m/s: must be finite"),
        ({"angular": [-math.inf, *ANGULAR[1:]]}, r"angular\[0\] = -inf rad/s: must be finite"),
        ({"times": [-0.5, *TIMES[1:]]}, r"times\[0\] = -0.5 s: must be >= 0"),
        ({"times": [0, 1, 3, 2, 4, 5, 6]}, r"times\[3\] = 2.0 s: must be > times\[2\] = 3.0 s"),
        ({"times": [0, 1, 1, 2, 4, 5, 6]}, r"times\[2\] = 1.0 s: must be > times\[1\] = 1.0 s"),
        ({"linear": [0, 0, 0, 0, -1.5, 0, 0]}, r"linear\[4\] = -1.5 m/s: must be between -1.0 and"),
        ({"angular": [4, 0, 0, 0, 0, 0, 0]}, r"angular\[0\] = 4.0 rad/s: .* and 3.0 rad/s, the l"),
        ({"linear": ["a", *LINEAR[1:]]}, r"linear\[0\] = 'a': must be a number in m/s"),
    ],
)
def test_what_is_wrong_is_named(change, message):
    limits = TrajectoryLimits(linear_velocity=1.0, angular_velocity=3.0)
    with pytest.raises(ValueError, match=message):
        VelocitySteps(
            **{"times": TIMES, "linear": LINEAR, "angular": ANGULAR, **change}, limits=limits
        )
