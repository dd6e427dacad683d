# SPDX-License-Identifier: Apache-2.0
"""Topics whose every message a reader must have, such as those that a report is made of.

The writer, a KeptTopic, keeps many messages for readers that are late. A reader sends receipts on
`<topic>/receipts` (std_msgs/Header, latched): the stamp of the newest message that it has taken,
and in `frame_id` who it is. In lock-step the writer's node does not go on while a reader that
sends receipts is more than WINDOW messages behind, which is far less than what either side keeps:
nothing can be overwritten before it was taken, however late or slow the reader is. With a robot
that moves on by itself, nothing ever waits for a reader, and `count` tells it what it has missed.

Why not the acknowledgements of DDS: they say that a message has arrived, not that it was taken, and
Fast DDS asks for them every 3 s only. Why not TRANSIENT_LOCAL for all: whoever looks at a topic in
mid-run would get what is long past. Where that is wanted, as with values that hold until the next
ones, the topic is `latched`.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Header

from diffbot_node.robot_messages import NAMELESS, NANOSECONDS, create_wall_timer
from diffbot_node.running import Interrupted, interruptible
from diffbot_node.stopping import LATCHED

# Messages that both sides keep, and that a reader may be behind in lock-step. Of all topics
# together Fast DDS loses what a process has not looked at, and repeats it only 3 s later: beyond
# 512 messages in shared memory, some 330 over UDP where the kernel gives a socket 208 kB at most.
DEPTH, WINDOW = 2000, 100
KEPT = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE)
# Of a kept topic that is latched: who comes later shall know what changed before.
KEPT_LATCHED = QoSProfile(
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# How often a writer that waits looks who is still there, s of wall time.
LOOK_PERIOD = 0.05
# How long an ending process waits for its readers, s of wall time: see `await_readers`.
LAST_PATIENCE, HURRIED_PATIENCE = 10.0, 0.5


def receipts_of(topic: str) -> str:
    """Name of the topic that receipts for a topic are sent on."""
    return f"{topic}/receipts"


class KeptTopic:
    """The writer's side.

    Args:
        node: publishes.
        message_type: has a header with a stamp; a field `count`, where it has one, is filled in.
        topic: its name.
        resume: for lock-step: called when a reader that the node waits for may have caught up.
            None: nobody is waited for.
        latched: readers that come later get the newest messages, too. They are few: the node does
            not go on while a reader has not taken one of them.

    Attributes:
        count: messages published so far.
    """

    def __init__(
        self,
        node: Node,
        message_type: Any,
        topic: str,
        resume: Callable[[], None] | None = None,
        latched: bool = False,
    ) -> None:
        self.count = 0
        self._latched, self._window = latched, 1 if latched else WINDOW
        self._node, self._in_lock_step = node, resume is not None
        self._counts = "count" in message_type.get_fields_and_field_types()
        self._publisher: Publisher[Any] = node.create_publisher(
            message_type, topic, KEPT_LATCHED if latched else KEPT
        )
        self._open: deque[int] = deque(maxlen=DEPTH)  # stamps not taken by all readers yet, ns
        self._told: dict[str, int] = {}  # newest stamp taken, by whoever was a reader, ns
        self._present: set[str] = set()  # who is there
        self._newest = -1  # stamp published last, ns
        self._looked = -1e9
        self._receipts_topic = node.resolve_topic_name(receipts_of(topic))
        if resume is not None:
            self._resume = resume
            self._receipts: Any = node.create_subscription(
                Header, self._receipts_topic, self._on_receipt, KEPT_LATCHED
            )
            create_wall_timer(node, LOOK_PERIOD, self._look)

    @property
    def name(self) -> str:
        """Of the topic."""
        return self._publisher.topic_name

    @property
    def subscribers(self) -> int:
        """How many listen."""
        return self._publisher.get_subscription_count()

    def publish(self, message: Any) -> None:
        """Send a message."""
        self.count += 1
        if self._counts:
            message.count = self.count
        if self._in_lock_step:
            stamp = _nanoseconds(message.header)
            if stamp < self._newest:  # time was set back
                self._open.clear()
                self._told.clear()
            self._newest = stamp
            self._open.append(stamp)
        self._publisher.publish(message)

    @property
    def readers(self) -> int:
        """How many of them send receipts; who only looks on sends none and is not waited for."""
        return min(self.subscribers, self._node.count_publishers(self._receipts_topic))

    def missing(self, readers: int) -> str:
        """What has to come before the first message, for so many readers; empty when nothing."""
        there = self.readers if readers else 0
        if self._in_lock_step:
            there = min(there, len(self._present))
        if there >= readers:
            return ""
        more = readers - there
        awaited = "subscriber" if more == 1 else "subscribers"
        return f"{more} more {awaited} of {self.name} to come"

    def left_by(self, readers: int) -> str:
        """Why a run that so many readers have begun has no sense any more; empty when it has."""
        there = self.readers if readers else 0
        if there >= readers:
            return ""
        return f"{there} of {readers} still listen to {self.name}: the report has gone"

    def holds(self) -> str:
        """Why the node must not go on in lock-step; empty when it may."""
        if not self._in_lock_step or len(self._open) < self._window:
            return ""
        if time.monotonic() - self._looked >= LOOK_PERIOD:
            self._looked = time.monotonic()
            self._see_who_is_there()
        if len(self._open) < self._window or not self._present:
            return ""
        slowest = min(self._present, key=self._taken)
        who = "a node whose name is not known yet" if NAMELESS in slowest else slowest
        messages = "message" if len(self._open) == 1 else "messages"
        return f"{who} has still to take {len(self._open)} {messages} of {self.name}"

    def await_readers(self, patience: float) -> None:
        """Wait until all have arrived, which an ending process loses; call it once zero is out.

        Args:
            patience: LAST_PATIENCE in lock-step, HURRIED_PATIENCE after a signal, s of wall time.
        """
        if not self._in_lock_step:
            self._publisher.wait_for_all_acked(Duration(seconds=min(patience, HURRIED_PATIENCE)))
            return
        deadline = time.monotonic() + patience
        while self._open:
            self._take_receipts()
            self._see_who_is_there()
            if not (self._open and self._present) or time.monotonic() >= deadline:
                return
            time.sleep(0.005)

    def _on_receipt(self, receipt: Header) -> None:
        self._note(receipt)
        self._resume()

    def _note(self, receipt: Header) -> None:
        stamp = _nanoseconds(receipt)
        # One from before time was set back says nothing about what came after it.
        self._told[receipt.frame_id] = stamp if stamp <= self._newest else -1
        self._present.add(receipt.frame_id)
        self._drop()

    def _taken(self, reader: str) -> int:
        """Newest stamp that a reader has taken, ns."""
        return self._told.get(reader, -1)

    def _drop(self) -> None:
        """Forget what all readers have taken."""
        slowest = min(map(self._taken, self._present), default=None)
        if slowest is None:
            if not self._latched:
                self._open.clear()
            return
        while self._open and self._open[0] <= slowest:
            self._open.popleft()

    def _see_who_is_there(self) -> None:
        """Leave out readers that have left, and count in those whose first receipt is on its way.

        A new reader's name comes after its receipts at times, and is another one until then: so
        what a reader has told is kept though nobody of its name is there.
        """
        self._present = {
            f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for info in self._node.get_publishers_info_by_topic(self._receipts_topic)
        }
        self._drop()

    def _take_receipts(self) -> None:
        """Take receipts where no executor does any more."""
        with self._receipts.handle:
            while (taken := self._receipts.handle.take_message(Header, False)) is not None:
                self._note(taken[0])

    def _look(self) -> None:
        if len(self._open) >= self._window and not self.holds():
            self._resume()


def await_readers_of(topics: Iterable[KeptTopic], ended: bool) -> None:
    """Wait until the readers of an ending node's topics have all; a signal ends the wait.

    Args:
        topics: of the node.
        ended: whether the node has ended by itself; else a signal ends it, and time is short.
    """
    with contextlib.suppress(Interrupted), interruptible():
        for topic in topics:
            topic.await_readers(LAST_PATIENCE if ended else HURRIED_PATIENCE)


class Receipts:
    """The reader's side: tells the writer of a kept topic what has been taken.

    Subscribe with KEPT. The first receipt, that of nothing, says that the reader is there.

    Args:
        node: reads.
        topic: that it reads.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._node = node
        # Before all time: a message may have the stamp 0.
        self._receipt = Header(frame_id=node.get_fully_qualified_name(), stamp=Time(sec=-1))
        publisher: Publisher[Header] = node.create_publisher(Header, receipts_of(topic), LATCHED)
        publisher.publish(self._receipt)
        self._publisher: Publisher[Header] | None = publisher

    def taken(self, stamp: Time) -> None:
        """The newest message taken, by its stamp; the older ones were taken, too."""
        if self._publisher is not None:
            self._receipt.stamp = stamp
            self._publisher.publish(self._receipt)

    def leave(self) -> None:
        """Nothing more will be taken: nobody has to wait."""
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
            self._publisher = None


def _nanoseconds(header: Header) -> int:
    return int(header.stamp.sec * NANOSECONDS + header.stamp.nanosec)
