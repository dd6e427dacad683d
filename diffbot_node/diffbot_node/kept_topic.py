# SPDX-License-Identifier: Apache-2.0
"""Topics of which a reader must receive every message, such as those that a report is made from.

The writer, a KeptTopic, keeps many messages for slow readers. A reader sends receipts on
`<topic>/receipts` (std_msgs/Header, latched): the stamp of the newest message that it has taken,
with its own name in `frame_id`. In lock-step the writer's node does not continue while a reader
that sends receipts is WINDOW messages behind. This is far less than either side keeps, so no
message is overwritten before it is taken, however late or slow the reader is. With a robot that
runs in real time, nothing ever waits for a reader; `count` shows the reader what it has missed.

Why not DDS acknowledgements: they confirm that a message has arrived, not that it was taken, and by
default Fast DDS requests them only every 3 s. Why not TRANSIENT_LOCAL for all: a subscriber that
joins in mid-run would receive outdated messages. Where these are wanted, as with values that are
valid until the next ones, the topic is `latched`.
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

# Number of messages that both sides keep, and by which a reader may be behind in lock-step. WINDOW
# is small because Fast DDS drops messages that a process has not read, and by default repeats them
# only 3 s later: beyond 512 of all topics together in shared memory, some 330 over UDP where the
# kernel limits a socket to 208 kB.
DEPTH, WINDOW = 2000, 100
KEPT = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE)
# QoS of a latched kept topic: late subscribers receive the earlier changes, too.
KEPT_LATCHED = QoSProfile(
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# Period at which a waiting writer checks which readers are still there, s of wall time.
LOOK_PERIOD = 0.05
# How long an ending process waits for its readers, s of wall time: see `await_readers`.
LAST_PATIENCE, HURRIED_PATIENCE = 10.0, 0.5


def receipts_of(topic: str) -> str:
    """Return the name of the topic on which receipts for a topic are sent."""
    return f"{topic}/receipts"


class KeptTopic:
    """The writer's side of a kept topic.

    Args:
        node: The node that publishes.
        message_type: Must have a header with a stamp; its field `count`, if any, is filled in.
        topic: Name of the topic.
        resume: For lock-step: called when a reader that the node waits for may have caught up.
            None: the node waits for no reader.
        latched: Whether late subscribers receive the newest messages, too. For rare messages: in
            lock-step the node does not continue while a reader has one still to take.

    Attributes:
        count: Number of messages published so far.
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
        self._taken_stamps: dict[str, int] = {}  # newest stamp taken by each reader so far, ns
        self._present: set[str] = set()  # names of the readers that are there
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
        """Name of the topic."""
        return self._publisher.topic_name

    @property
    def subscribers(self) -> int:
        """Number of subscribers."""
        return self._publisher.get_subscription_count()

    def publish(self, message: Any) -> None:
        """Publish a message."""
        self.count += 1
        if self._counts:
            message.count = self.count
        if self._in_lock_step:
            stamp = _nanoseconds(message.header)
            if stamp < self._newest:  # time was set back
                self._open.clear()
                self._taken_stamps.clear()
            self._newest = stamp
            self._open.append(stamp)
        self._publisher.publish(message)

    @property
    def readers(self) -> int:
        """Number of subscribers that send receipts; observers send none and are not waited for."""
        return min(self.subscribers, self._node.count_publishers(self._receipts_topic))

    def missing(self, readers: int) -> str:
        """What must arrive before the first message for so many readers; empty if nothing."""
        there = self.readers if readers else 0
        if self._in_lock_step:
            there = min(there, len(self._present))
        if there >= readers:
            return ""
        more = readers - there
        awaited = "subscriber" if more == 1 else "subscribers"
        return f"{more} more {awaited} of {self.name} needed"

    def left_by(self, readers: int) -> str:
        """Why a run that began with so many readers must end; empty if all are still there."""
        there = self.readers if readers else 0
        if there >= readers:
            return ""
        return f"{there} of {readers} subscribers of {self.name} are left: the report has ended"

    def holds(self) -> str:
        """Why the node must not continue in lock-step; empty when it may."""
        if not self._in_lock_step or len(self._open) < self._window:
            return ""
        if time.monotonic() - self._looked >= LOOK_PERIOD:
            self._looked = time.monotonic()
            self._see_who_is_there()
        if len(self._open) < self._window or not self._present:
            return ""
        slowest = min(self._present, key=self._taken)
        who = "a node of unknown name" if NAMELESS in slowest else slowest
        messages = "message" if len(self._open) == 1 else "messages"
        return f"{who} has not yet received {len(self._open)} {messages} of {self.name}"

    def await_readers(self, patience: float) -> None:
        """Wait until the readers have all messages, which an ending process would lose.

        Call it after the last zero command is sent.

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
        # A receipt from before time was set back proves nothing about later messages.
        self._taken_stamps[receipt.frame_id] = stamp if stamp <= self._newest else -1
        self._present.add(receipt.frame_id)
        self._drop()

    def _taken(self, reader: str) -> int:
        """Return the newest stamp that a reader has taken, ns."""
        return self._taken_stamps.get(reader, -1)

    def _drop(self) -> None:
        """Forget the messages that all readers have taken."""
        slowest = min(map(self._taken, self._present), default=None)
        if slowest is None:
            if not self._latched:
                self._open.clear()
            return
        while self._open and self._open[0] <= slowest:
            self._open.popleft()

    def _see_who_is_there(self) -> None:
        """Remove readers that have left, and add those whose first receipt is on its way.

        A new reader's name may arrive after its receipts; until then DDS lists another name. So
        receipts are kept even if no reader of their name is there.
        """
        self._present = {
            f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for info in self._node.get_publishers_info_by_topic(self._receipts_topic)
        }
        self._drop()

    def _take_receipts(self) -> None:
        """Take receipts when no executor does so any more."""
        with self._receipts.handle:
            while (taken := self._receipts.handle.take_message(Header, False)) is not None:
                self._note(taken[0])

    def _look(self) -> None:
        if len(self._open) >= self._window and not self.holds():
            self._resume()


def await_readers_of(topics: Iterable[KeptTopic], ended: bool) -> None:
    """Wait until the readers of an ending node's topics have all messages; a signal ends the wait.

    Args:
        topics: The node's kept topics.
        ended: Whether the node ended on its own; otherwise a signal ended it, and time is short.
    """
    with contextlib.suppress(Interrupted), interruptible():
        for topic in topics:
            topic.await_readers(LAST_PATIENCE if ended else HURRIED_PATIENCE)


class Receipts:
    """The reader's side: reports to the writer of a kept topic which messages were taken.

    Subscribe with KEPT. The first receipt confirms no message; it announces the reader.

    Args:
        node: The node that reads.
        topic: Name of the kept topic.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._node = node
        # Earlier than any stamp: a message may have the stamp 0.
        self._receipt = Header(frame_id=node.get_fully_qualified_name(), stamp=Time(sec=-1))
        publisher: Publisher[Header] = node.create_publisher(Header, receipts_of(topic), LATCHED)
        publisher.publish(self._receipt)
        self._publisher: Publisher[Header] | None = publisher

    def taken(self, stamp: Time) -> None:
        """Confirm the newest message taken, by its stamp, and so all older ones."""
        if self._publisher is not None:
            self._receipt.stamp = stamp
            self._publisher.publish(self._receipt)

    def leave(self) -> None:
        """Stop taking messages, so that no writer waits for this reader."""
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
            self._publisher = None


def _nanoseconds(header: Header) -> int:
    return int(header.stamp.sec * NANOSECONDS + header.stamp.nanosec)
