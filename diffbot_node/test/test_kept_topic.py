# SPDX-License-Identifier: Apache-2.0
"""On a kept topic nothing is lost in lock-step, whenever a reader comes and however slow it is."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import SimpleNamespace

import pytest
import rclpy
from nav_msgs.msg import Odometry
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from diffbot_node import KEPT, KEPT_LATCHED, KeptTopic, Receipts
from diffbot_node.kept_topic import DEPTH, LAST_PATIENCE, WINDOW, await_readers_of
from diffbot_node.robot_messages import NAMELESS

PATIENCE = 20.0  # s of wall time; discovery and a repetition by DDS take up to seconds
MESSAGES = 3 * DEPTH


class Writer(Node):
    """Publishes as fast as its readers allow."""

    def __init__(self, lock_step: bool = True, latched: bool = False) -> None:
        super().__init__("writer")
        self.resumed = 0
        resume = self.on_resume if lock_step else None
        self.topic = KeptTopic(self, Odometry, "kept", resume, latched)

    def on_resume(self) -> None:
        self.resumed += 1

    def write(self, total: int) -> None:
        """Publish until so many are out, or a reader is too far behind."""
        while self.topic.count < total and not self.topic.holds():
            message = Odometry()
            message.header.stamp.sec = self.topic.count + 1
            self.topic.publish(message)


class Reader(Node):
    """Takes when it is told to."""

    def __init__(self, latched: bool = False) -> None:
        super().__init__("reader")
        self.taken: list[int] = []
        qos = KEPT_LATCHED if latched else KEPT
        self.subscription = self.create_subscription(Odometry, "kept", lambda _: None, qos)
        self.receipts = Receipts(self, "kept")

    def take(self) -> None:
        while (found := self.subscription.handle.take_message(Odometry, False)) is not None:
            self.taken.append(found[0].header.stamp.sec)
            self.receipts.taken(found[0].header.stamp)


@pytest.fixture
def graph(domain):
    """A writer, a function that makes a reader, and one that lets the writer work."""
    rclpy.init()
    executor = SingleThreadedExecutor()
    nodes: list[Node] = []

    def make(kind, *args):
        nodes.append(kind(*args))
        if kind is Writer:
            executor.add_node(nodes[-1])  # the reader takes by itself
        return nodes[-1]

    def until(done, work=lambda: None):
        deadline = time.monotonic() + PATIENCE
        while not done() and time.monotonic() < deadline:
            work()
            executor.spin_once(timeout_sec=0.005)
        return done()

    yield make, until
    executor.shutdown()
    for node in nodes:
        node.destroy_node()
    rclpy.try_shutdown()


def test_a_reader_gets_all_though_it_takes_seldom(graph):
    make, until = graph
    writer, reader = make(Writer), make(Reader)
    assert until(lambda: not writer.topic.missing(1))
    turns = 0

    def work():
        nonlocal turns
        turns += 1
        writer.write(MESSAGES)
        if turns % 5 == 0:
            reader.take()

    assert until(lambda: len(reader.taken) == MESSAGES, work)
    assert reader.taken == list(range(1, MESSAGES + 1))
    assert writer.resumed


def test_the_writer_waits_for_a_reader_that_takes_nothing_until_it_leaves(graph):
    make, until = graph
    writer, reader = make(Writer), make(Reader)
    assert until(lambda: not writer.topic.missing(1))
    assert until(lambda: writer.topic.count == WINDOW, lambda: writer.write(MESSAGES))
    assert "/reader has not yet received" in writer.topic.holds()
    # DDS tells of a reader before its name.
    writer.topic._present = {f"{NAMELESS}/{NAMELESS}"}
    writer.topic._looked = time.monotonic() + PATIENCE
    assert writer.topic.holds().startswith("a node of unknown name has not yet received")
    writer.topic._looked = 0.0
    reader.receipts.leave()
    assert until(lambda: writer.topic.count == MESSAGES, lambda: writer.write(MESSAGES))


def test_a_writer_without_readers_goes_on(graph):
    make, _ = graph
    writer = make(Writer)
    writer.write(MESSAGES)
    assert writer.topic.count == MESSAGES


def test_the_first_receipt_says_that_a_reader_is_there(graph):
    make, until = graph
    writer = make(Writer)
    assert "1 more subscriber of /kept needed" in writer.topic.missing(1)
    listener = make(Node, "listener")
    listener.create_subscription(Odometry, "kept", lambda _: None, KEPT)
    assert until(lambda: writer.topic.subscribers == 1)
    assert writer.topic.missing(1), "who sends no receipts may miss what is sent"
    make(Reader)
    assert until(lambda: not writer.topic.missing(1))


def test_nobody_is_waited_for_with_a_robot_that_moves_on_by_itself(graph):
    make, until = graph
    writer, reader = make(Writer, False), make(Reader)
    assert until(lambda: not writer.topic.missing(1))
    writer.write(MESSAGES)
    assert writer.topic.count == MESSAGES
    assert len(reader.taken) == 0


def test_a_signal_ends_the_wait_for_a_reader_that_does_not_take_what_was_sent(graph):
    make, until = graph
    writer = make(Writer)
    make(Reader)
    assert until(lambda: not writer.topic.missing(1))
    writer.write(WINDOW)
    noted = []
    before = signal.signal(signal.SIGINT, lambda *_: noted.append(1))
    thread = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    thread.start()
    try:
        await_readers_of((writer.topic, writer.topic), ended=True)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert noted and 0.2 <= time.monotonic() - begin < 0.5 * LAST_PATIENCE


def test_an_ending_writer_waits_for_the_last_receipt(graph):
    make, until = graph
    writer, reader = make(Writer), make(Reader)
    assert until(lambda: not writer.topic.missing(1))
    writer.write(WINDOW)
    begin = time.monotonic()
    writer.topic.await_readers(0.2)
    assert time.monotonic() - begin >= 0.2, "nothing was taken yet"
    assert until(lambda: len(reader.taken) == WINDOW, reader.take)
    begin = time.monotonic()
    writer.topic.await_readers(PATIENCE)
    assert time.monotonic() - begin < PATIENCE


def test_a_time_that_is_set_back_does_not_count_as_taken(graph):
    make, until = graph
    writer, reader = make(Writer), make(Reader)
    assert until(lambda: not writer.topic.missing(1))
    late = Odometry()
    late.header.stamp.sec = 10 * MESSAGES
    writer.topic.publish(late)
    assert until(lambda: len(reader.taken) == 1, reader.take)
    assert until(lambda: not writer.topic._open)
    assert until(lambda: bool(writer.topic.holds()), lambda: writer.write(MESSAGES))


def test_a_latched_topic_waits_until_each_message_is_taken_however_late_its_reader(graph):
    make, until = graph
    writer = make(Writer, True, True)
    first = Odometry()  # with the stamp 0, as a robot's first state may have
    writer.topic.publish(first)
    assert not writer.topic.holds()
    reader = make(Reader, True)
    assert until(lambda: not writer.topic.missing(1))
    assert "/reader has not yet received 1 message of" in writer.topic.holds()
    assert until(lambda: not writer.topic.holds(), reader.take)
    assert reader.taken == [0]


def test_what_a_reader_took_counts_though_its_name_comes_later(graph, monkeypatch):
    """DDS tells of a publisher up to 0.4 s before the name of its node, on a busy machine."""
    make, until = graph
    writer, reader = make(Writer, True, True), make(Reader, True)
    writer.topic.publish(Odometry())

    def nameless(_topic):
        return [SimpleNamespace(node_namespace="_UNKNOWN_", node_name="_UNKNOWN_")]

    with monkeypatch.context() as patch:
        patch.setattr(writer, "get_publishers_info_by_topic", nameless)
        assert until(lambda: bool(writer.topic.holds()))
        assert until(lambda: reader.taken == [0], reader.take)
        deadline = time.monotonic() + 1.0
        assert until(lambda: bool(writer.topic.holds()) and time.monotonic() > deadline)
    assert until(lambda: not writer.topic.holds(), reader.take)
