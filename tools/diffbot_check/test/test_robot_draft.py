# SPDX-License-Identifier: Apache-2.0
"""Robot files from what is seen of a robot: what is in them, and what the person is asked for."""

import re

import pytest

from diffbot_check.observation import JointValues, Observation, TopicNames, TopicStream
from diffbot_check.robot_draft import UNSEEN, write_draft
from diffbot_description import load_robot, urdf
from diffbot_node.endpoints import Endpoint, EndpointRole
from diffbot_node.topic_types import ARRAY, JOINT_STATE, TWISTS

TOPICS = TopicNames()
VALUES = {"wheels.radius": 0.033, "wheels.separation": 0.16, "body.shape.rear": -0.07}


def takes(*topics):
    kinds = {TOPICS.cmd_vel: TWISTS[0], TOPICS.efforts: ARRAY}
    return [Endpoint(EndpointRole.SUBSCRIBES, t, kinds[t], "/driver") for t in topics]


def joints(*names):
    stream = TopicStream(TOPICS.joint_states, JOINT_STATE)
    stream.add(0.0, 1.0, JointValues(names, (0.0,) * len(names)))
    return {TOPICS.joint_states: stream}


def filled(file):
    """The file with numbers typed in where they are missing."""
    lines = []
    for line in file.read_text().splitlines():
        key = line.partition(":")[0].strip()
        typed = next((v for name, v in VALUES.items() if name.endswith(f".{key}")), 0.2)
        lines.append(re.sub(r":   # TYPE IT.*", f": {typed}", line))
    file.write_text("\n".join(lines))


def test_a_file_from_topics_asks_for_what_no_topic_shows(tmp_path):
    seen = Observation(5.0, takes(TOPICS.cmd_vel), joints("arm", "l_wheel", "r_wheel"))
    draft = write_draft(seen, TOPICS, tmp_path)
    assert [entry.partition(":")[0] for entry in draft.missing] == [*UNSEEN]
    assert "wheels.radius: rolling radius under load, m" in draft.missing
    # As it stands it is refused with the first field that is missing.
    with pytest.raises(ValueError, match=r"wheels\.radius = None must be a number"):
        load_robot(draft.file)
    filled(draft.file)
    robot = load_robot(draft.file)
    assert robot.takes_velocity and robot.joints.first == ("l_wheel", "r_wheel")
    assert "body.mass" in robot.assumed


@pytest.mark.parametrize(
    "names",
    [(), ("arm",), ("left_wheel",), ("left_a", "left_b", "right_a", "right_b")],
)
def test_wheels_that_are_not_known_are_told(names, tmp_path):
    seen = Observation(5.0, takes(TOPICS.cmd_vel), joints(*names) if names else {})
    draft = write_draft(seen, TOPICS, tmp_path)
    assert "joints" not in draft.file.read_text()
    expected = "which of the joints" if names else "no joint states on /joint_states"
    assert any(expected in sentence for sentence in draft.seen)


def test_a_name_that_was_seen_stays_a_name(tmp_path):
    wheels = "left_wheel: 1\nname: x", "right_wheel"
    seen = Observation(5.0, takes(TOPICS.cmd_vel), joints(*wheels))
    draft = write_draft(seen, TOPICS, tmp_path)
    filled(draft.file)
    with pytest.raises(ValueError, match=r"joints\.left = .* must be text"):
        load_robot(draft.file)


@pytest.mark.parametrize("name", ["twil", "turtlebot2"])
def test_a_robot_with_a_description_needs_nothing_typed(name, tmp_path):
    own = load_robot(name)
    seen = Observation(5.0, takes(TOPICS.cmd_vel), description=urdf(own))
    draft = write_draft(seen, TOPICS, tmp_path)
    assert draft.missing == ()
    robot = load_robot(draft.file)
    assert robot.takes_velocity == own.takes_velocity  # as its <ros2_control> says
    assert robot.wheels.radius == pytest.approx(own.wheels.radius)


def test_what_a_description_does_not_say_of_the_commands_is_taken_from_the_subscribers(tmp_path):
    text = re.sub(r"<ros2_control.*?</ros2_control>", "", urdf(load_robot("twil")), flags=re.DOTALL)
    seen = Observation(5.0, takes(TOPICS.cmd_vel), description=text)
    assert load_robot(write_draft(seen, TOPICS, tmp_path).file).takes_velocity


def test_a_description_that_cannot_be_used_is_told_and_the_topics_are_used(tmp_path):
    seen = Observation(5.0, takes(TOPICS.cmd_vel), description="<robot name='a'/>")
    draft = write_draft(seen, TOPICS, tmp_path)
    assert any("/robot_description cannot be used" in sentence for sentence in draft.seen)
    assert draft.missing


def test_a_robot_that_takes_torques_needs_its_urdf(tmp_path):
    draft = write_draft(Observation(5.0, takes(TOPICS.efforts)), TOPICS, tmp_path)
    assert draft.file is None and "make its file from a URDF" in draft.seen[-1]


@pytest.mark.parametrize(
    ("topics", "says"),
    [((), "no node subscribes to"), ((TOPICS.cmd_vel, TOPICS.efforts), "both /cmd_vel and")],
)
def test_what_the_subscribers_do_not_say_is_told(topics, says, tmp_path):
    draft = write_draft(Observation(5.0, takes(*topics), joints("arm")), TOPICS, tmp_path)
    assert says in draft.seen[0] and draft.file is not None


def test_where_no_robot_is_no_file_is_made(tmp_path):
    draft = write_draft(Observation(5.0), TOPICS, tmp_path)
    assert draft.file is None and "start its driver" in draft.seen[-1]
    assert [*tmp_path.iterdir()] == []
