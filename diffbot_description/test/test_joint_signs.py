# SPDX-License-Identifier: Apache-2.0
"""Signs of joints: messages hold them, samples and side values are positive forward."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_description import load_robot, save_robot, urdf
from diffbot_description.robot import Joints

SIGNS = st.tuples(*[st.sampled_from([1, -1])] * 4)
FOUR = Joints(("a", "b"), ("c", "d"))


@given(signs=SIGNS)
def test_commands_and_states_of_forward_motion_have_the_signs(signs):
    joints = replace(FOUR, signs=signs)
    assert joints.published((2.0, 2.0)) == [2.0 * sign for sign in signs]
    assert joints.shared((3.0, 3.0)) == [1.5 * sign for sign in signs]
    assert joints.summed(joints.shared((3.0, -5.0))) == pytest.approx((3.0, -5.0))


@given(signs=SIGNS, angle=st.floats(-9.0, 9.0))
def test_the_reader_returns_what_was_published(signs, angle):
    robot = replace(load_robot("twil"), joints=replace(FOUR, signs=signs))
    values = robot.joints.published((angle, 0.5 - angle))
    efforts = robot.joints.shared((0.3, -0.4))
    sample = robot.joint_reader().read(0.0, robot.joints.names, values, values, efforts)
    assert sample.position == pytest.approx((angle, 0.5 - angle))
    assert sample.velocity == pytest.approx((angle, 0.5 - angle))
    assert sample.effort == pytest.approx((0.3, -0.4))


def test_a_side_has_the_sign_of_its_first_joint():
    joints = replace(FOUR, signs=(-1, 1, 1, 1))
    assert joints.sign_of("left_position") == joints.sign_of("command_left") == -1
    assert joints.sign_of("right_position") == joints.sign_of("time") == 1


def test_a_robot_file_keeps_them_and_its_urdf_turns_about_minus_y(tmp_path):
    twil = load_robot("twil")
    signed = replace(twil, joints=replace(twil.joints, signs=(1, -1)))
    assert load_robot(save_robot(signed, tmp_path / "r.yaml")).joints.signs == (1, -1)
    assert signed.with_forward_joints().joints == twil.joints
    axes = {
        joint.get("name"): joint.find("axis").get("xyz")
        for joint in ElementTree.fromstring(urdf(signed)).findall("joint[axis]")
    }
    assert axes == {"left_wheel_joint": "0 1 0", "right_wheel_joint": "0 -1 0"}
