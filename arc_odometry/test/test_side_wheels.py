# SPDX-License-Identifier: Apache-2.0
"""Several joints of a side: their mean and sum, wraps, and joints that do not turn alike."""

import math

import pytest

from arc_odometry import JointReader

NAMES = ["front_left", "rear_left", "front_right", "rear_right"]
LEFT, RIGHT = NAMES[:2], NAMES[2:]


def reader():
    return JointReader(LEFT, RIGHT)


def read(joints, stamp, position, velocity=(0.0,) * 4, effort=(0.0,) * 4, names=NAMES):
    return joints.read(stamp, names, position, velocity, effort)


def wrapped(angle):
    return math.remainder(angle, math.tau)


def drive(joints, factors, steps=200, turn=0.05, start=(0.0,) * 4, where=wrapped):
    """Turn each joint by its factor times `turn` in each step; the samples."""
    return [
        read(
            joints,
            0.01 * i,
            [where(s + f * turn * i) for s, f in zip(start, factors, strict=True)],
        )
        for i in range(steps)
    ]


def test_a_side_has_the_mean_angle_and_speed_and_the_sum_of_efforts():
    order = ["rear_right", "front_left", "arm", "rear_left", "front_right"]
    sample = reader().read(
        1.0, order, [4.0, 1.0, 9.0, 2.0, 3.0], [40.0, 10.0, 90.0, 20.0, 30.0], [4, 1, 9, 2, 3]
    )
    assert sample.position == (1.5, 3.5)
    assert sample.velocity == (15.0, 35.0)
    assert sample.effort == (3.0, 7.0)


def test_the_unit_of_efforts_holds_for_the_sum():
    joints = JointReader(LEFT, RIGHT, torque_of_unit=(0.5, 2.0))
    assert read(joints, 0.0, [0.0] * 4, effort=(1.0, 2.0, 3.0, 4.0)).effort == (1.5, 14.0)


def test_joints_may_wrap_each_at_its_own_moment():
    samples = drive(reader(), (1.0, 1.0, -1.0, -1.0), start=(0.0, 2.5, -2.0, 1.0))
    for before, after in zip(samples, samples[1:], strict=False):
        turns = [
            wrapped(new - old) for new, old in zip(after.position, before.position, strict=True)
        ]
        assert turns == pytest.approx([0.05, -0.05], abs=1e-9)


@pytest.mark.parametrize("slip", [0.0, 0.2, -0.3])
def test_wheels_that_slip_a_little_agree(slip):
    joints = reader()
    drive(joints, (1.0, 1.0 - slip, 1.0, 1.0 + slip), steps=2000)
    assert joints.disagreement == ""


@pytest.mark.parametrize("stuck", range(4))
def test_a_stuck_encoder_is_named_before_the_others_have_turned_far(stuck):
    joints = reader()
    factors = [1.0] * 4
    factors[stuck] = 0.0
    drive(joints, factors, steps=48)  # the others have turned by 2.35 rad
    assert f"joint '{NAMES[stuck]}' keeps the same angle" in joints.disagreement


def test_a_wheel_that_turns_the_other_way_is_named_with_the_other():
    joints = reader()
    drive(joints, (1.0, 1.0, 1.0, -1.0), steps=60)
    assert "'front_right' by" in joints.disagreement
    assert "'rear_right' by -" in joints.disagreement
    assert "left" not in joints.disagreement


def test_one_bump_is_no_disagreement_and_one_that_was_seen_to_is_forgotten():
    joints = reader()
    drive(joints, (1.0, 0.0, 1.0, 1.0), steps=22)  # fails once
    assert joints.disagreement == ""
    drive(joints, (1.0, 0.0, 1.0, 1.0), steps=60)
    assert joints.disagreement
    joints.compare_anew()
    assert joints.disagreement == ""


def test_states_of_two_robots_in_turn_stay_two_lines():
    """The check for two sources knows them by their angles, which the mean has to keep apart."""
    joints = reader()
    one, other = [0.0, 0.5, 1.0, 1.5], [1.0, -2.0, 0.3, 2.0]
    results = [read(joints, 0.01 * i, (one, other)[i % 2]).position for i in range(8)]
    assert results[2:4] == results[4:6] == pytest.approx(results[6:8])
    assert results[2] != pytest.approx(results[3])


@pytest.mark.parametrize("lost", range(4))
def test_a_missing_joint_is_named(lost):
    names = [name for name in NAMES if name != NAMES[lost]]
    with pytest.raises(ValueError, match=f"joint '{NAMES[lost]}' appears 0 times"):
        read(reader(), 0.0, [0.0] * 3, names=names)


def test_a_joint_of_both_sides_is_refused():
    with pytest.raises(ValueError, match="'front_left'"):
        JointReader(LEFT, ["front_left", "rear_right"])
