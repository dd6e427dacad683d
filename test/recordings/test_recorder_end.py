# SPDX-License-Identifier: Apache-2.0
"""A recording of a real robot ends with the run: the robot's driver goes on publishing."""

import errno
import time

import pytest

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("rosbags")

from sensor_msgs.msg import JointState  # noqa: E402

from diffbot_msgs.msg import IdentStatus  # noqa: E402
from diffbot_recordings.recorder_node import Recorder  # noqa: E402


@pytest.fixture
def recorder(domain, tmp_path):
    """Makes a recorder of a robot's states and of ident, with the words for `ends_with`."""
    made = []

    def make(ends_with, *more):
        words = [*more, "topics:=joint_states ident/status", f"output:={tmp_path}/bag"]
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
