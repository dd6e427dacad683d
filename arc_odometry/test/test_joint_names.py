# SPDX-License-Identifier: Apache-2.0
"""Of names that do not agree the one that is meant is told, and never that of the other side."""

import pytest

from arc_odometry.joint_names import likely, meant, side_of

NEEDED = ("left_wheel_joint", "right_wheel_joint")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("wheel_left_joint", "wheel_right_joint"),
        ("wheel_l_joint", "wheel_r_joint"),
        ("leftWheel", "rightWheel"),
        ("WheelL_joint", "WheelR_joint"),
        ("robot/left_wheel_joint", "robot/right_wheel_joint"),
        ("left_whel_joint", "right_whel_joint"),
        ("front_left_wheel_joint", "front_right_wheel_joint"),
        ("drive_lh_wheel", "drive_rh_wheel"),
    ],
)
def test_usual_names_are_recognised(left, right):
    there = ["arm_joint_1", right, "gripper", left]
    assert [likely(name, there) for name in NEEDED] == [left, right]
    assert (
        meant(NEEDED, there) == f"; '{NEEDED[0]}' may be '{left}', '{NEEDED[1]}' may be '{right}'"
    )


def test_the_other_side_is_never_meant():
    assert likely("left_wheel_joint", ["right_wheel_joint"]) == ""
    assert meant(NEEDED, ["right_wheel_joint"]) == ""


def test_nothing_is_guessed_of_names_that_are_unlike():
    assert (
        meant(NEEDED, ["pan", "tilt", "joint_1"])
        == meant(NEEDED, [])
        == meant(NEEDED, NEEDED)
        == ""
    )


def test_a_name_with_both_sides_has_none():
    assert side_of("left_right_bar") == "" and side_of("LeftWheel") == "left"
