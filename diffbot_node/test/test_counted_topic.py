# SPDX-License-Identifier: Apache-2.0
"""Counted topics: what a report can miss, and who it is that listens."""

import pytest

rclpy = pytest.importorskip("rclpy")

from outsider import Outsider  # noqa: E402
from std_msgs.msg import Int32  # noqa: E402

from diffbot_msgs.msg import IdentStatus  # noqa: E402
from diffbot_node import COUNTED, CountedTopic, Node  # noqa: E402
from diffbot_node.intra_process import IntraProcess  # noqa: E402


@pytest.fixture
def node(domain):
    rclpy.init(args=[])
    made = Node("publishing")
    yield made
    made.destroy_node()
    rclpy.shutdown()


@pytest.fixture
def others(node):
    made = []

    def make(name):
        made.append(Outsider(name))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_messages_are_counted_from_one_and_say_so(node, others):
    topic, report = CountedTopic(node, IdentStatus, "~/status"), others("report")
    heard = report.hear(IdentStatus, "publishing/status", COUNTED)
    report.until(lambda: topic.subscribers)
    for _ in range(3):
        topic.publish(IdentStatus())
    topic.await_arrival()
    report.until(lambda: len(heard) == 3)
    assert [message.count for message in heard] == [1, 2, 3] and topic.count == 3


def test_a_message_without_the_field_is_counted_too(node):
    topic = CountedTopic(node, Int32, "numbers")
    topic.publish(Int32(data=7))
    assert topic.count == 1 and topic.name == "/numbers"


@pytest.mark.parametrize("observer", ["recorder", "rosbag2_recorder", "_live_view", "_ros2cli_7"])
def test_observers_are_no_report(node, others, observer):
    topic = CountedTopic(node, Int32, "numbers")
    others(observer).hear(Int32, "numbers", COUNTED)
    report = others("report")
    report.until(lambda: topic._publisher.get_subscription_count() == 1)
    report.until(lambda: "_NODE" not in str(node.get_subscriptions_info_by_topic("/numbers")))
    assert topic.missing(1).reason == "1 more subscriber of /numbers needed" and not topic.missing(
        0
    )
    assert topic.missing(3).reason == "3 more subscribers of /numbers needed"
    report.hear(Int32, "numbers", COUNTED)
    report.until(lambda: not topic.missing(1))
    assert not topic.left_by(1) and topic.subscribers == 1
    report.node.destroy_node()
    report.until(lambda: topic.left_by(1))
    assert topic.left_by(1).reason == (
        "0 of 1 subscribers of /numbers are left: the report has ended"
    ) and not topic.left_by(0)


def test_in_one_process_the_report_is_counted_at_once_and_others_are_observers(
    node, others, monkeypatch
):
    monkeypatch.setattr(Node, "room", IntraProcess())
    topic, report = CountedTopic(node, Int32, "numbers"), Node("report")
    heard = []
    assert topic.missing(1)
    logger = others("logger")
    logger.hear(Int32, "numbers", COUNTED)
    logger.until(lambda: topic.subscribers, lambda: Node.room.deliver(0.0))
    subscription = report.create_subscription(Int32, "numbers", heard.append, COUNTED)
    assert not (topic.missing(1) or topic.left_by(1))
    topic.publish(Int32(data=1))
    Node.room.deliver(1.0)
    assert len(heard) == 1
    report.destroy_subscription(subscription)
    assert topic.left_by(1)
    report.destroy_node()
