# SPDX-License-Identifier: Apache-2.0
"""Recordings of real robots: what their drivers offer is heard, and they end with the run."""

import errno
import time

import pytest

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("rosbags")

from geometry_msgs.msg import Twist  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from rosbags.rosbag2 import Reader  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from diffbot_msgs.msg import IdentStatus  # noqa: E402
from diffbot_recordings.recorder_node import Recorder  # noqa: E402


@pytest.fixture
def recorder(domain, tmp_path):
    """Makes a recorder of a robot's states and of ident, with the words for `ends_with`."""
    made = []

    def make(ends_with, *more, topics="joint_states ident/status"):
        words = [*more, f"topics:={topics}", f"output:={tmp_path}/bag"]
        words += [f"ends_with:={ends_with}"] if ends_with else []
        arguments = [part for word in words for part in ("-p", word)]
        rclpy.init(args=["--ros-args", *arguments], domain_id=domain)
        made.append(Recorder())
        return made[0]

    yield make
    for node in made:
        node.close()
        node.destroy_node()
    if rclpy.ok():
        rclpy.shutdown()


@pytest.fixture
def other_process(domain):
    """Makes a node that may have a topic with another type, which one participant may not."""
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    yield lambda name: rclpy.create_node(name, context=context)
    context.shutdown()


def spin(node, until, patience):
    end = time.monotonic() + patience
    while not until() and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.05)
    return until()


@pytest.mark.parametrize(("ends_with", "ends"), [("ident/status", True), ("", False)])
def test_it_ends_with_the_run_though_the_driver_goes_on(recorder, ends_with, ends):
    node = recorder(ends_with)
    run, driver = rclpy.create_node("run"), rclpy.create_node("driver")
    driver.create_publisher(JointState, "joint_states", 1)
    run.create_publisher(IdentStatus, "ident/status", 1)
    topics = ("joint_states", "ident/status")
    assert spin(node, lambda: all(map(node.count_publishers, topics)), 10.0)
    spin(node, lambda: False, 0.5)
    assert node.exit_code is None
    run.destroy_node()
    spin(node, lambda: node.exit_code is not None, 10.0 if ends else 1.5)
    assert node.exit_code == (0 if ends else None)
    driver.destroy_node()


def test_it_does_not_wait_for_ever_for_an_end_that_nobody_publishes(recorder, capfd):
    node, driver = recorder("ident/status", "patience:=0.5"), rclpy.create_node("driver")
    driver.create_publisher(JointState, "joint_states", 1)
    assert spin(node, lambda: node.exit_code is not None, 10.0)
    assert node.exit_code == 1
    driver.destroy_node()
    assert "no node published /ident/status within 0.5 s" in capfd.readouterr().err


def test_a_topic_that_is_not_recorded_is_refused(recorder):
    with pytest.raises(ValueError, match="'ends_with': odom is not among the topics"):
        recorder("odom")


def test_a_full_disk_is_a_sentence_and_a_status(recorder, monkeypatch, capfd):
    node = recorder("")

    def full():
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(node._writer, "close", full)
    node.close()
    assert node.exit_code == 1
    said = capfd.readouterr().err
    assert "cannot continue to write" in said and "bag: No space left on device; free" in said


def test_best_effort_sensors_and_another_type_of_command_are_recorded(
    recorder, other_process, tmp_path, capfd
):
    """A driver that is there before the recorder, and one that comes later."""
    node, driver = recorder("", topics="joint_states odom cmd_vel"), other_process("driver")
    states = driver.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
    commands = driver.create_publisher(Twist, "cmd_vel", 10)
    driver.create_publisher(JointState, "odom", 10)  # a type that is not the one of the name
    sent = 0

    def send():
        nonlocal sent
        sent += 1
        states.publish(JointState(name=["a"], position=[float(sent)]))
        commands.publish(Twist())
        return node._writer.count > 20

    assert spin(node, send, 20.0)
    more = driver.create_publisher(JointState, "joint_states", 10)  # reliable, beside it
    before = node._writer.count
    assert spin(node, lambda: send() and node._writer.count > before + 10, 20.0)
    driver.destroy_publisher(more)
    node.close()
    driver.destroy_node()
    with Reader(tmp_path / "bag") as reader:
        kinds = {each.topic: each.msgtype for each in reader.connections}
        data = [raw for each, _, raw in reader.messages() if each.topic == "/joint_states"]
    assert kinds == {
        "/joint_states": "sensor_msgs/msg/JointState",
        "/cmd_vel": "geometry_msgs/msg/Twist",
    }
    assert len(data) == len(set(map(bytes, data))), "a message is recorded twice"
    assert "/cmd_vel is of type geometry_msgs/msg/Twist, not" in capfd.readouterr().err


def test_a_type_that_is_not_installed_is_told_once(recorder, other_process, monkeypatch, capfd):
    node, driver = recorder("", topics="joint_states"), other_process("driver")
    driver.create_publisher(Twist, "joint_states", 10)

    def missing(kind):
        raise ValueError(f"no definition of '{kind}' is installed")

    monkeypatch.setattr(node._writer, "define", missing)
    spin(node, lambda: False, 1.0)
    driver.destroy_node()
    text = "/joint_states is not recorded: no definition of 'geometry_msgs/msg/Twist'"
    assert capfd.readouterr().err.count(text) == 1
