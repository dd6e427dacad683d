# SPDX-License-Identifier: Apache-2.0
"""The recorder node: writes topics to a rosbag2 folder, without rosbag2.

Messages are not deserialised, and are logged in the order and with the time in which they were
sent. A topic is received with the type and reliability that its publishers offer. The node ends
when all publishers that it has seen are gone; a robot's driver stays, then only those of
`ends_with` count.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from diffbot_description.named_paths import expanded
from diffbot_description.run_folder import launch_name
from diffbot_node import Node, declare, parameter, results_folder
from diffbot_node.message_types import message_class
from diffbot_node.parameters import writable_folder
from diffbot_node.presence import Presence
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.topic_nodes import beyond_discovery
from diffbot_node.topic_types import (
    ARRAY,
    JOINT_STATE,
    ODOMETRY,
    TRANSFORMS,
    TWIST_STAMPED,
    TWISTS,
)
from diffbot_recordings.recording_writer import STORAGES, Received, RecordingWriter

# Types implied by the last part of a topic's name.
KNOWN = {
    "joint_states": JOINT_STATE,
    "commands": ARRAY,
    "odom": ODOMETRY,
    "cmd_vel": TWIST_STAMPED,
    "tf": TRANSFORMS,
    "ground_truth": ODOMETRY,
    "reference": "diffbot_msgs/msg/PoseReference",
    "state": "diffbot_msgs/msg/ControllerState",
    "adaptation": "diffbot_msgs/msg/AdaptationStatus",
    "dynamic_parameters": "diffbot_msgs/msg/DynamicParameters",
    "velocity_parameters": "diffbot_msgs/msg/VelocityParameters",
    "verification": "diffbot_msgs/msg/Verification",
}
# By full name: a controller's status has a type of its own.
KNOWN_IN_FULL = {"ident/status": "diffbot_msgs/msg/IdentStatus"}
DEPTH = 2000  # messages that may queue between two polls
POLL_PERIOD, LOOK_PERIOD = 0.02, 0.2  # periods of _poll and _look_around, s of wall time
RELIABLE, BEST_EFFORT = ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT


@dataclass
class _RecordedTopic:
    name: str
    kind: str
    reliability: ReliabilityPolicy = RELIABLE
    subscription: Subscription[Any] | None = None
    connection: Any = None


@dataclass(frozen=True)
class RecorderParameters:
    """Parameters of the recorder."""

    topics: str = parameter(
        "joint_states effort_controller/commands",
        "topics to record, separated by spaces; TOPIC:PACKAGE/msg/TYPE unless the name implies the "
        f"type ({', '.join(KNOWN)})",
    )
    storage: str = parameter("mcap", "storage format: mcap or sqlite3", choices=tuple(STORAGES))
    output: str = parameter("", "new folder; must not exist yet; empty: recording in `results`")
    results: str = parameter("", "folder of the run; empty: output is results/<date>-recording")
    ends_with: str = parameter(
        "",
        "topics of `topics`, separated by spaces; the recording ends when all their publishers are "
        "gone; give the run's own topics if a robot's driver keeps running; empty: all topics",
    )
    patience: float = parameter(
        20.0, "wall time to wait for a publisher, s; 0: for ever", minimum=0.0
    )


class Recorder(Node):
    """ROS interface of the recorder."""

    def __init__(self) -> None:
        super().__init__("recorder")
        self.exit_code: int | None = None
        self.values = declare(self, RecorderParameters)
        default = Path(f"results/{time.strftime('%Y%m%d-%H%M%S')}-recording")
        if self.values.results:
            default = Path(self.values.results, "recording")
        folder = expanded(self.values.output or default)
        # In a launch the recording lies in the folder of the run's results.
        (results_folder if launch_name() else writable_folder)(str(folder.parent))
        if folder.exists():
            raise ValueError(f"parameter 'output' = '{folder}': already exists; give a new folder")
        named = [_topic_and_type(text) for text in self.values.topics.split()]
        if not named:
            raise ValueError("parameter 'topics' is empty: give the topics to record")
        try:
            for _, kind in named:
                message_class(kind)
            self._writer = RecordingWriter(folder, self.values.storage, [kind for _, kind in named])
        except ValueError as error:
            raise ValueError(f"parameter 'topics': {error}") from None
        self._recorded = [_RecordedTopic(self.resolve_topic_name(t), kind) for t, kind in named]
        ending = self.values.ends_with.split()
        if unknown := set(ending) - {topic for topic, _ in named}:
            raise ValueError(
                f"parameter 'ends_with': {', '.join(sorted(unknown))} is not among the topics of "
                "'topics'"
            )
        self._ending = [
            self.resolve_topic_name(topic) for topic, _ in named if not ending or topic in ending
        ]
        self._others = Presence(self.values.patience)
        self._refused: set[str] = set()  # topics whose type is not installed
        self._heard = False  # whether any recorded topic has had a publisher
        self._closed = False
        for recorded in self._recorded:
            # A commanding node takes the type of the subscribers of cmd_vel: it comes first.
            if self.composed or recorded.kind not in TWISTS:
                self._subscribe(recorded)
        create_wall_timer(self, POLL_PERIOD, self._poll)
        create_wall_timer(self, LOOK_PERIOD, self._look_around)
        self.get_logger().info(f"recording {', '.join(t for t, _ in named)} into {folder}")

    def close(self) -> None:
        """Write what has arrived and complete the file; called on every exit."""
        if self._closed:
            return
        self._closed = True
        self._poll()
        try:
            self._writer.close()
        except OSError as error:
            self._fail(error)
        self.get_logger().info(f"{self._writer.count} messages in {self._writer.folder}")

    def _fail(self, error: OSError) -> None:
        if self.exit_code != 1:
            self.get_logger().error(
                f"cannot continue to write {self._writer.folder}: {error.strerror or error}; free "
                "disk space, or give another folder; messages written so far are kept"
            )
        self.exit_code = 1

    def _subscribe(self, recorded: _RecordedTopic, another_kind: bool = False) -> None:
        # One that asks for more than is offered stays: its event may be ready beside the timer that
        # calls this, and rclpy fails on an event of a subscription that is gone.
        if recorded.subscription is not None and another_kind:
            self.destroy_subscription(recorded.subscription)
        qos = QoSProfile(depth=DEPTH, reliability=recorded.reliability)
        asked = recorded.kind, recorded.reliability
        take = Received(partial(self._take, recorded, asked))
        recorded.subscription = self.create_subscription(
            message_class(recorded.kind), recorded.name, take, qos, raw=True
        )

    def _take(
        self,
        recorded: _RecordedTopic,
        asked: tuple[str, ReliabilityPolicy],
        data: bytes,
        sent: int,
    ) -> None:
        if asked != (recorded.kind, recorded.reliability):
            return  # of a subscription that was replaced
        if recorded.connection is None:
            recorded.connection = self._writer.connect(recorded.name, recorded.kind)
        self._writer.take(recorded.connection, data, sent)

    def _match(self, recorded: _RecordedTopic) -> None:
        """Subscribe anew where the publishers offer less, or another type, than is asked."""
        offers = self.get_publishers_info_by_topic(recorded.name)
        kinds = {offer.topic_type for offer in offers}
        kind, reliability = recorded.kind, recorded.reliability
        if len(kinds) == 1 and recorded.connection is None:
            (kind,) = kinds
        # Best effort receives from every publisher, reliable only from reliable ones.
        if any(offer.qos_profile.reliability == BEST_EFFORT for offer in offers):
            reliability = BEST_EFFORT
        waits = offers and recorded.subscription is None
        if not waits and (kind, reliability) == (recorded.kind, recorded.reliability):
            return
        try:
            message_class(kind)
            self._writer.define(kind)
        except ValueError as error:
            if recorded.name not in self._refused:
                self._refused.add(recorded.name)
                self.get_logger().error(f"{recorded.name} is not recorded: {error}")
            return
        if kind != recorded.kind:
            self.get_logger().info(f"{recorded.name} is of type {kind}, not {recorded.kind}")
        another_kind = kind != recorded.kind
        recorded.kind, recorded.reliability = kind, reliability
        self._subscribe(recorded, another_kind)

    def _poll(self) -> None:
        try:
            self._writer.flush()
        except OSError as error:
            self._fail(error)

    def _look_around(self) -> None:
        for recorded in self._recorded:
            self._match(recorded)
        names = [recorded.name for recorded in self._recorded]
        self._heard = self._heard or any(map(self.count_publishers, names))
        there = any(self.count_publishers(topic) for topic in self._ending)
        if not there and not self._others.met and self._others.reminds():
            self.get_logger().info(f"waiting: no node publishes {', '.join(self._ending)} yet")
        if self._others.have_left(there) and self._others.met:
            self.exit_code = 0
        elif self._others.gave_up and not self._heard:
            self.get_logger().error(
                f"no node published any of `topics` within {self.values.patience:g} s of wall "
                f"time: start the robot's driver, or correct `topics`{beyond_discovery()}"
            )
            self.exit_code = 1
        elif self._others.gave_up and not self._others.met:
            self.get_logger().error(
                f"no node published {', '.join(self._ending)} within {self.values.patience:g} s of "
                "wall time, so that the recording would not end: correct `ends_with`"
            )
            self.exit_code = 1


def _topic_and_type(text: str) -> tuple[str, str]:
    topic, _, kind = text.partition(":")
    kind = kind or KNOWN_IN_FULL.get(topic, "") or KNOWN.get(topic.rsplit("/", 1)[-1], "")
    if kind.count("/") != 2:
        raise ValueError(
            f"parameter 'topics': the type of '{text}' is unknown; write TOPIC:PACKAGE/msg/TYPE, "
            "such as scan:sensor_msgs/msg/LaserScan"
        )
    return topic, kind
