# SPDX-License-Identifier: Apache-2.0
"""Messages between nodes of one process, and between them and nodes of other processes."""

import time
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

rclpy = pytest.importorskip("rclpy")

from outsider import Outsider  # noqa: E402
from rclpy.duration import Duration  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from std_msgs.msg import Int32, String  # noqa: E402

from diffbot_node import COUNTED, Node  # noqa: E402
from diffbot_node.intra_process import IntraProcess  # noqa: E402
from diffbot_node.node_process import make_executor  # noqa: E402
from diffbot_node.senders import WithOrigin  # noqa: E402

LATCHED = QoSProfile(depth=3, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


class Process:
    """Two nodes with a queue."""

    def __init__(self):
        rclpy.init(args=["--ros-args", "-r", "old:=new"])
        self.room = Node.room = IntraProcess()
        self.one, self.two = Node("one"), Node("two")
        self.executor = make_executor()
        for node in (self.one, self.two):
            self.executor.add_node(node)

    def deliver(self):
        while self.room.deliver(1.0):
            pass

    def turn(self, seconds=0.0):
        """Let both ways deliver, for so long."""
        end = time.monotonic() + seconds
        while True:
            self.deliver()
            self.executor.spin_once(timeout_sec=0.005)
            if time.monotonic() >= end:
                break

    def close(self):
        self.executor.shutdown()
        for node in (self.one, self.two):
            node.destroy_node()
        Node.room = None
        rclpy.shutdown()


@pytest.fixture
def process(domain):
    made = Process()
    yield made
    made.close()


@pytest.fixture
def outsider(process):
    made = Outsider()
    yield made
    made.close()


def numbers(heard):
    return [message.data for message in heard]


def test_the_very_object_arrives_and_only_when_delivered(process):
    heard = []
    process.two.create_subscription(Int32, "topic", heard.append, 10)
    publisher = process.one.create_publisher(Int32, "topic", 10)
    message = Int32(data=7)
    publisher.publish(message)
    assert heard == []  # not within `publish`
    process.deliver()
    assert len(heard) == 1 and heard[0] is message


def test_names_are_resolved(process):
    heard, others = [], []
    process.two.create_subscription(Int32, "/new", heard.append, 10)
    process.two.create_subscription(Int32, "~/new", others.append, 10)
    process.one.create_publisher(Int32, "old", 10).publish(Int32(data=1))
    process.deliver()
    assert numbers(heard) == [1] and others == []


def test_a_chain_of_answers_needs_no_stack(process):
    """Each callback ends before what it has published is received."""
    seen, running = [], []
    publisher = process.one.create_publisher(Int32, "topic", 10)

    def answer(message):
        running.append(message)
        assert len(running) == 1
        seen.append(message.data)
        if message.data < 5000:  # Python allows 1000 calls within each other
            publisher.publish(Int32(data=message.data + 1))
        running.pop()

    process.two.create_subscription(Int32, "topic", answer, 10)
    publisher.publish(Int32(data=0))
    process.deliver()
    assert seen == list(range(5001))


@given(
    wiring=st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=4, max_size=4),
    first=st.lists(st.integers(0, 3), min_size=1, max_size=5),
)
def test_messages_arrive_in_the_order_of_their_publication(wiring, first):
    """As in a model: one queue of (topic, text), whose heads cause what the wiring says."""
    process = Process()
    try:
        heard, publishers = [], []

        def react(topic, message):
            heard.append((topic, message.data))
            if len(message.data) < 3:
                for other in wiring[topic]:
                    publishers[other].publish(String(data=message.data + str(other)))

        for topic in range(4):
            node, peer = (process.one, process.two)[:: 1 if topic % 2 else -1]
            publishers.append(node.create_publisher(String, f"topic{topic}", 10))
            peer.create_subscription(
                String, f"topic{topic}", lambda message, topic=topic: react(topic, message), 10
            )
        expected, queue = [], deque((topic, str(topic)) for topic in first)
        while queue:
            topic, text = queue.popleft()
            expected.append((topic, text))
            if len(text) < 3:
                queue.extend((other, text + str(other)) for other in wiring[topic])
        for topic in first:
            publishers[topic].publish(String(data=str(topic)))
        process.deliver()
        assert heard == expected
    finally:
        process.close()


def test_when_idle_is_called_when_all_is_delivered_and_as_long_as_it_does_something(process):
    log = []
    publisher = process.one.create_publisher(Int32, "topic", 10)
    process.two.create_subscription(Int32, "topic", lambda message: log.append(message.data), 10)

    def step():
        count = log.count("idle")
        log.append("idle")
        if count < 2:
            publisher.publish(Int32(data=count))
        return count < 2

    process.room.when_idle(step)
    publisher.publish(Int32(data=8))
    publisher.publish(Int32(data=9))
    assert not process.room.deliver(1.0)
    assert log == [8, 9, "idle", 0, "idle", 1, "idle"]
    process.room.forget(step)
    assert not process.room.deliver(1.0) and log[-1] == "idle" and len(log) == 7


def test_delivery_is_interrupted_when_its_time_is_over_and_loses_nothing(process):
    heard = []
    publisher = process.one.create_publisher(Int32, "topic", 10)
    process.two.create_subscription(Int32, "topic", heard.append, 10)
    for k in range(3):
        publisher.publish(Int32(data=k))
    assert process.room.deliver(0.0) and numbers(heard) == [0]
    assert process.room.deliver(0.0) and numbers(heard) == [0, 1]
    process.deliver()
    assert numbers(heard) == [0, 1, 2]
    process.room.when_idle(lambda: True)  # a simulation that never rests
    assert process.room.deliver(0.0)


def test_a_late_subscription_gets_what_a_latched_topic_keeps_once(process):
    publisher = process.one.create_publisher(Int32, "latched", LATCHED)
    for k in range(5):
        publisher.publish(Int32(data=k))
    late, volatile = [], []
    process.two.create_subscription(Int32, "latched", late.append, LATCHED)
    process.two.create_subscription(Int32, "latched", volatile.append, 10)
    process.turn(0.3)  # the middleware brings its copies, too
    assert (numbers(late), volatile) == ([2, 3, 4], [])
    publisher.publish(Int32(data=5))
    process.turn(0.3)
    assert (numbers(late), numbers(volatile)) == ([2, 3, 4, 5], [5])


@pytest.mark.parametrize(
    ("offered", "wanted", "fits"),
    [
        (BEST_EFFORT, 10, False),  # 10 is reliable and volatile
        (10, LATCHED, False),
        (10, BEST_EFFORT, True),
        (LATCHED, 10, True),
        (LATCHED, BEST_EFFORT, True),
    ],
)
def test_quality_of_service_must_fit(process, offered, wanted, fits):
    heard = []
    process.two.create_subscription(Int32, "topic", heard.append, wanted)
    publisher = process.one.create_publisher(Int32, "topic", offered)
    publisher.publish(Int32(data=1))
    process.turn(0.2)
    assert numbers(heard) == [1] * fits
    assert publisher.get_subscription_count() == fits


def test_a_destroyed_subscription_receives_nothing_not_even_what_waits(process):
    heard = []
    subscription = process.two.create_subscription(Int32, "topic", heard.append, 10)
    publisher = process.one.create_publisher(Int32, "topic", 10)
    publisher.publish(Int32(data=1))
    assert process.two.destroy_subscription(subscription)
    publisher.publish(Int32(data=2))
    process.deliver()
    assert heard == [] and publisher.get_subscription_count() == 0
    process.two.create_subscription(Int32, "topic", heard.append, 10)
    assert process.one.destroy_publisher(publisher)
    process.one.create_publisher(Int32, "topic", 10).publish(Int32(data=3))
    process.deliver()
    assert numbers(heard) == [3]


def test_the_subscriptions_of_a_destroyed_node_receive_nothing(process):
    heard, other = [], Node("third")
    other.create_subscription(Int32, "topic", heard.append, 10)
    publisher = process.one.create_publisher(Int32, "topic", 10)
    publisher.publish(Int32(data=1))
    other.destroy_node()
    process.deliver()
    assert heard == []


def test_raw_subscriptions_get_bytes_from_both_ways(process, outsider):
    heard = []
    process.two.create_subscription(Int32, "topic", heard.append, 10, raw=True)
    process.one.create_publisher(Int32, "topic", 10).publish(Int32(data=1))
    process.deliver()
    publisher = outsider.node.create_publisher(Int32, "topic", 10)
    outsider.until(publisher.get_subscription_count)
    publisher.publish(Int32(data=2))
    outsider.until(lambda: len(heard) == 2, process.turn)
    assert [deserialize_message(bytes(data), Int32) for data in heard] == [
        Int32(data=1),
        Int32(data=2),
    ]


def test_copies_of_own_messages_are_dropped_and_those_of_others_are_not(process, outsider):
    heard = []
    process.two.create_subscription(Int32, "topic", heard.append, 10)
    publisher = process.one.create_publisher(Int32, "topic", 20)
    abroad = outsider.hear(Int32, "topic", 20)
    theirs = outsider.node.create_publisher(Int32, "topic", 10)
    outsider.until(lambda: publisher.get_subscription_count() > 1, process.turn)
    outsider.until(theirs.get_subscription_count)
    for k in range(20):
        publisher.publish(Int32(data=k))
    outsider.until(lambda: len(abroad) == 20, process.turn)
    # What is sent before both sides have found each other is lost.
    outsider.until(lambda: theirs.publish(Int32(data=-1)) or -1 in numbers(heard), process.turn)
    process.turn(0.2)
    assert numbers(heard)[:21] == [*range(20), -1] and set(numbers(heard)[21:]) <= {-1}


def test_the_middleware_sees_messages_only_while_others_listen(process, outsider):
    publisher = process.one.create_publisher(Int32, "topic", 10)
    heard = []
    process.two.create_subscription(Int32, "topic", heard.append, 10)
    sent = []
    real, publisher._publisher = publisher._publisher, None

    class Counting:
        """The publisher in the middleware."""

        def publish(self, data):
            sent.append(data)
            real.publish(data)

        def __getattr__(self, name):
            return getattr(real, name)

    publisher._publisher = Counting()
    publisher.publish(Int32(data=1))
    process.turn(0.1)
    assert sent == [] and numbers(heard) == [1]
    abroad = outsider.hear(Int32, "topic")
    outsider.until(lambda: publisher.get_subscription_count() > 1, process.turn)
    publisher.publish(Int32(data=2))
    outsider.until(lambda: abroad, process.turn)
    assert numbers(abroad) == [2] and sent == [serialize_message(Int32(data=2))]
    process.turn(0.1)
    assert numbers(heard) == [1, 2]


def test_a_late_outsider_gets_what_a_latched_topic_keeps(process, outsider):
    publisher = process.one.create_publisher(Int32, "latched", LATCHED)
    publisher.publish(Int32(data=4))
    abroad = outsider.hear(Int32, "latched", LATCHED)
    outsider.until(lambda: abroad, process.turn)
    assert numbers(abroad) == [4]


def test_copies_are_dropped_also_when_they_come_late(process, outsider):
    """The longest queue of a subscription of the suite is that of counted topics."""
    heard, abroad = [], outsider.hear(Int32, "topic", COUNTED)
    process.two.create_subscription(Int32, "topic", heard.append, COUNTED)
    publisher = process.one.create_publisher(Int32, "topic", COUNTED)
    outsider.until(lambda: publisher.get_subscription_count() > 1, process.turn)
    last = 3 * COUNTED.depth
    for k in range(last + 1):
        publisher.publish(Int32(data=k))
    outsider.until(lambda: last in numbers(abroad), process.turn)
    process.turn(0.2)
    assert numbers(heard) == list(range(last + 1))


def test_copies_are_dropped_also_when_their_publisher_has_left(process, outsider):
    """Otherwise a report takes the last states of its run for a run that begins anew."""
    heard, abroad = [], outsider.hear(Int32, "topic", COUNTED)
    process.two.create_subscription(Int32, "topic", heard.append, COUNTED)
    publisher = process.one.create_publisher(Int32, "topic", COUNTED)
    outsider.until(lambda: publisher.get_subscription_count() > 1, process.turn)
    for k in range(20):
        publisher.publish(Int32(data=k))
    process.deliver()
    publisher.wait_for_all_acked(Duration(seconds=10))
    process.one.destroy_publisher(publisher)
    outsider.until(lambda: len(abroad) == 20)
    process.turn(0.2)
    assert numbers(heard) == list(range(20))


def test_callbacks_learn_the_sender_of_both_kinds(process, outsider):
    """Two publishers of this process are told apart, and each from one outside."""
    reported = []
    process.two.create_subscription(
        Int32, "topic", lambda message, info: reported.append((message.data, info)), 10
    )
    for k in range(2):
        process.one.create_publisher(Int32, "topic", 10).publish(Int32(data=k))
    process.deliver()
    theirs = outsider.node.create_publisher(Int32, "topic", 10)
    outsider.until(theirs.get_subscription_count)
    theirs.publish(Int32(data=2))
    outsider.until(lambda: len(reported) == 3, process.turn)
    assert [number for number, _ in reported] == [0, 1, 2]
    first, second, third = (info for _, info in reported)
    assert first != second and "publisher_gid" in first
    assert third.get("publisher_gid") not in (first["publisher_gid"], second["publisher_gid"])


def test_messages_of_other_processes_are_foreign_where_this_one_publishes(process, outsider):
    foreign, mixed = [], process.two.foreigners("/topic")
    process.two.create_subscription(
        Int32,
        "topic",
        WithOrigin(lambda message, origin: foreign.append((message.data, mixed.include(origin)))),
        10,
    )
    theirs = outsider.node.create_publisher(Int32, "topic", 10)
    outsider.until(theirs.get_subscription_count)
    theirs.publish(Int32(data=1))  # nobody in the process publishes yet: a driver, for instance
    outsider.until(lambda: foreign, process.turn)
    for publisher in [process.one.create_publisher(Int32, "topic", 10) for _ in range(2)]:
        publisher.publish(Int32(data=2))
    process.deliver()
    theirs.publish(Int32(data=3))
    outsider.until(lambda: len(foreign) == 4, process.turn)
    assert foreign == [(1, False), (2, False), (2, False), (3, True)]


def test_a_node_alone_in_its_process_is_an_ordinary_node(domain):
    rclpy.init(args=[])
    node = Node("alone")
    try:
        assert not node.composed
        assert type(node.create_publisher(Int32, "topic", 10)).__module__.startswith("rclpy")
    finally:
        node.destroy_node()
        rclpy.shutdown()
