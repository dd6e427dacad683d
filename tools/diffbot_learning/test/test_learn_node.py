# SPDX-License-Identifier: Apache-2.0
"""The node `learn` in this process: it listens, learns, goes on, and never commands."""

import json
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from geometry_msgs.msg import Twist  # noqa: E402
from launched import wait_for  # noqa: E402
from made_recordings.excited_runs import RunSetting, record  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from test_driven_sizes import TRUE, write_laser_bag  # noqa: E402

from diffbot_description import load_robot  # noqa: E402
from diffbot_export.parameter_changes import read_parameters  # noqa: E402
from diffbot_learning import learn_node  # noqa: E402
from diffbot_learning.learn_node import LEARNED, STATE, STRETCHES, LearnNode  # noqa: E402
from diffbot_learning.proposals import FILE  # noqa: E402
from diffbot_node import to_stamp  # noqa: E402

pytestmark = pytest.mark.one_distribution
TYPE = "sensor_msgs/msg/JointState"


@pytest.fixture
def make(tmp_path, domain):
    """Makes nodes, one after the other, that learn in one folder."""
    nodes = []

    def one(**parameters):
        for node in nodes:
            end(node)
        nodes.clear()
        given = {"results": str(tmp_path), "robot": "twil", **parameters}
        words = [w for name, value in given.items() for w in ("-p", f"{name}:={value}")]
        rclpy.init(args=["--ros-args", *words])
        nodes.append(LearnNode())
        return nodes[0]

    def end(node):
        node.close()
        node.destroy_node()
        rclpy.shutdown()

    yield one
    for node in nodes:
        end(node)


def drive(node, seed=1, seconds=20.0):
    """Let the node hear a robot that is excited."""
    message = JointState(name=list(load_robot("twil").joints.names))
    begin = time.time_ns()
    for sample in record(RunSetting(), seed, seconds).samples:
        message.header.stamp = to_stamp(1e-9 * begin + sample.stamp)
        message.position, message.effort = [*sample.position], [*sample.effort]
        # Header, frame, two names, two positions, no velocity, two efforts; the rest is padding.
        data = bytes(serialize_message(message))[:116]
        node._take("/joint_states", TYPE, data, begin + round(1e9 * sample.stamp))


def learn(node):
    """End the stretch, and wait until it has been learnt from."""
    before = node._learning.stretches + node._learning.refused
    node._end_stretch(submit=True)

    def learnt():
        node._write()
        return node._learning.stretches + node._learning.refused > before

    wait_for(learnt)


def test_a_stretch_becomes_values_and_its_recording_goes(make, tmp_path):
    node = make()
    drive(node)
    learn(node)
    assert node._learning.reason == ""
    values = json.loads((tmp_path / LEARNED).read_text())["values"]
    k7 = values["K7"]
    low, high = k7["interval95"]
    assert low < k7["value"] < high and k7["stretches"] == 1
    assert not list((tmp_path / STRETCHES).iterdir())


def test_a_laser_tells_radii_and_proposes_multipliers(make, tmp_path):
    """Of a stretch that was left by an earlier run; no effort, no odometry."""
    write_laser_bag(tmp_path / STRETCHES / "left")
    node = make()
    wait_for(lambda: node._write() or node._learning.stretches == 1)
    values = json.loads((tmp_path / LEARNED).read_text())["values"]
    for name, true in (("left_radius", TRUE.left_radius), ("track", TRUE.separation)):
        low, high = values[name]["interval95"]
        assert low < true < high and values[name]["coverage"] > 0.2
    proposed = {each.name: each.value for each in read_parameters(tmp_path / FILE).proposed}
    number = proposed["wheel_separation_multiplier"]
    described = load_robot("twil").geometry.separation
    assert number == pytest.approx(TRUE.separation / described, abs=0.005)


def test_after_a_restart_it_goes_on(make, tmp_path):
    """Also with the stretch that had begun, whose recording waits."""
    node = make()
    drive(node)
    learn(node)
    drive(node, seed=2)
    other = make()
    assert other._learning.stretches == 1
    wait_for(lambda: other._write() or other._learning.stretches == 2)
    assert not list((tmp_path / STRETCHES).iterdir())


def test_a_cut_off_recording_still_counts(make, tmp_path):
    """As SIGKILL leaves it: the file has no end, and the folder no metadata."""
    node = make(keep_recordings=True)
    drive(node)
    node._end_stretch(submit=False)
    (folder,) = (tmp_path / STRETCHES).iterdir()
    (folder / "metadata.yaml").unlink()
    (file,) = folder.glob("*.mcap")
    file.write_bytes(file.read_bytes()[:-5000])
    other = make()
    wait_for(lambda: other._write() or other._learning.stretches == 1)


def test_it_ends_while_a_stretch_is_identified_and_keeps_its_recording(make, tmp_path, monkeypatch):
    """Python would wait for the thread, longer than a launch waits after Ctrl-C."""
    begun, hurry = threading.Event(), threading.Event()

    def identify(*_):
        begun.set()
        while not hurry.wait(0.01):
            pass

    monkeypatch.setattr(learn_node, "read_stretch", identify)
    node = make()
    drive(node, seconds=2.0)
    node._end_stretch(submit=True)
    assert begun.wait(60.0)
    node.close()
    ((_, future),) = node._waiting
    try:
        assert isinstance(future.exception(60.0), SystemExit)
    finally:
        hurry.set()
    assert len(list((tmp_path / STRETCHES).iterdir())) == 1


def test_a_damaged_state_is_put_aside(make, tmp_path):
    (tmp_path / STATE).write_text("{")
    node = make()
    assert node._learning.stretches == 0
    assert list(tmp_path.glob("learning.damaged-*"))


def test_two_nodes_do_not_learn_in_one_folder(make):
    make()
    with pytest.raises(ValueError, match="another node learns there"):
        LearnNode()


def test_it_publishes_no_command_and_calls_nobody(make):
    """It has no publisher but those of its diagnostics, and no client of any service."""
    node = make()
    drive(node, seconds=2.0)
    node._look_around()
    published = {publisher.topic_name for publisher in node.publishers}
    assert published - {"/rosout", "/parameter_events"} == {"/diagnostics"}
    assert not list(node.clients)


def test_topics_are_taken_as_they_appear_with_their_type(make):
    node = make()
    other = rclpy.create_node("driver")
    publisher = other.create_publisher(Twist, "cmd_vel", 10)

    def listening():
        node._look_around()
        return "/cmd_vel" in node._listening

    wait_for(listening)
    assert node._listening["/cmd_vel"] == "geometry_msgs/msg/Twist"
    assert "/odom" not in node._listening

    def heard():
        publisher.publish(Twist())
        rclpy.spin_once(node, timeout_sec=0.05)
        return node._writer is not None and node._writer.count > 0

    wait_for(heard)
    other.destroy_node()


def test_diagnostics_name_what_is_known_and_what_is_missing(make):
    node = make()
    published = []
    node._diagnostics = SimpleNamespace(publish=lambda *parts: published.append(parts))
    node._publish()
    _, _, message, _ = published[-1]
    assert "no topic of joint_states" in message
    drive(node)
    learn(node)
    node._listening["/joint_states"] = TYPE
    node._publish()
    *_, values = published[-1]
    assert "+-" in values["K7"]
    assert values["driven: forwards"].endswith(" %")
    assert np.all([text.strip() for text in values.values()])
