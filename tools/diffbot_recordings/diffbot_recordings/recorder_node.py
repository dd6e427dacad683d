# SPDX-License-Identifier: Apache-2.0
"""The recorder node: writes topics to a rosbag2 folder, without rosbag2.

Messages are not deserialised, and are logged in the order and with the time in which they were
sent. The node ends when all publishers that it has seen are gone; a robot's driver stays, then only
those of `ends_with` count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ament_index_python.packages import get_package_share_directory
from rclpy.qos import QoSProfile

from diffbot_description.named_paths import expanded
from diffbot_node import Node, declare, parameter, results_folder
from diffbot_node.message_types import message_class
from diffbot_node.parameters import writable_folder
from diffbot_node.presence import Presence
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.run_folder import launch_name
from diffbot_node.senders import WITH_METADATA, message_and_metadata
from diffbot_node.topic_nodes import beyond_discovery

try:
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    from rosbags.typesys.store import Typestore
except ModuleNotFoundError:
    # Only the executable loads this module; rosdep does not know the package.
    raise SystemExit(
        "recorder: the Python package rosbags is not installed: run pip install rosbags"
    ) from None

STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
# Types implied by the last part of a topic's name.
KNOWN = {
    "joint_states": "sensor_msgs/msg/JointState",
    "commands": "std_msgs/msg/Float64MultiArray",
    "odom": "nav_msgs/msg/Odometry",
    "cmd_vel": "geometry_msgs/msg/TwistStamped",
    "tf": "tf2_msgs/msg/TFMessage",
    "ground_truth": "nav_msgs/msg/Odometry",
    "reference": "diffbot_msgs/msg/PoseReference",
    "state": "diffbot_msgs/msg/ControllerState",
    "adaptation": "diffbot_msgs/msg/AdaptationStatus",
    "dynamic_parameters": "diffbot_msgs/msg/DynamicParameters",
    "verification": "diffbot_msgs/msg/Verification",
}
# By full name: a controller's status has a type of its own.
KNOWN_IN_FULL = {"ident/status": "diffbot_msgs/msg/IdentStatus"}
VERSION: Literal[9] = 9  # version of the format; ROS 2 Humble and newer read it
DEPTH = 2000  # messages that may queue between two polls
POLL_PERIOD, LOOK_PERIOD = 0.02, 0.2  # periods of _poll and _look_around, s of wall time


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


class Received:
    """A callback that gives serialized messages, and the wall time of sending, ns, to `take`."""

    __signature__ = WITH_METADATA

    def __init__(self, take: Callable[[bytes, int], None]) -> None:
        self._take = take

    def __call__(self, *arguments: Any) -> None:
        """Receive a message; in this process it arrives as it is sent, and has no time."""
        data, information = message_and_metadata(arguments)
        sent = information.get("source_timestamp") or information.get("received_timestamp")
        self._take(bytes(data), sent or time.time_ns())


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
            types = [message_class(kind) for _, kind in named]
        except ValueError as error:
            raise ValueError(f"parameter 'topics': {error}") from None
        self._writer = Writer(folder, version=VERSION, storage_plugin=STORAGES[self.values.storage])
        self._writer.open()
        store = _definitions([kind for _, kind in named])
        self._wanted = [
            (message_type, topic, self._connect(topic, kind, store))
            for (topic, kind), message_type in zip(named, types, strict=True)
        ]
        self._waiting: list[tuple[int, Any, bytes]] = []
        ending = self.values.ends_with.split()
        if unknown := set(ending) - {topic for topic, _ in named}:
            raise ValueError(
                f"parameter 'ends_with': {', '.join(sorted(unknown))} is not among the topics of "
                "'topics'"
            )
        self._topics = [self.resolve_topic_name(topic) for topic, _ in named]
        self._ending = [
            self.resolve_topic_name(topic) for topic, _ in named if not ending or topic in ending
        ]
        self._count = 0
        self._others = Presence(self.values.patience)
        self._heard = False  # whether any recorded topic has had a publisher
        self._closed = False
        self._subscribe()
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
        self.get_logger().info(f"{self._count} messages in {self._writer.path}")

    def _fail(self, error: OSError) -> None:
        if self.exit_code != 1:
            self.get_logger().error(
                f"cannot continue to write {self._writer.path}: {error.strerror or error}; free "
                "disk space, or give another folder; messages written so far are kept"
            )
        self.exit_code = 1

    def _connect(self, topic: str, kind: str, store: Typestore) -> Any:
        name = self.resolve_topic_name(topic)
        return self._writer.add_connection(name, kind, typestore=store)

    def _subscribe(self) -> None:
        for message_type, topic, connection in self._wanted:
            take = Received(partial(self._take, connection))
            qos = QoSProfile(depth=DEPTH)
            self.create_subscription(message_type, topic, take, qos, raw=True)

    def _take(self, connection: Any, data: bytes, sent: int) -> None:
        self._waiting.append((sent, connection, data))

    def _poll(self) -> None:
        """Write the messages that have arrived, in the order in which they were sent."""
        waiting, self._waiting = self._waiting, []
        try:
            for sent, connection, data in sorted(waiting, key=lambda message: message[0]):
                self._writer.write(connection, sent, data)
                self._count += 1
        except OSError as error:
            self._fail(error)

    def _look_around(self) -> None:
        """End when the publishers are gone."""
        self._heard = self._heard or any(map(self.count_publishers, self._topics))
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


def _definitions(kinds: Sequence[str]) -> Typestore:
    """Return the message definitions for the recording: viewers need no package of ours."""
    store = get_typestore(Stores.LATEST)
    for package in {kind.split("/")[0] for kind in kinds if kind not in store.fielddefs}:
        folder = Path(get_package_share_directory(package)) / "msg"
        for path in sorted(folder.glob("*.msg")):
            text = path.read_text(encoding="utf-8")
            store.register(get_types_from_msg(text, f"{package}/msg/{path.stem}"))
    for kind in kinds:
        if kind not in store.fielddefs:
            raise ValueError(f"parameter 'topics': no definition of '{kind}' is installed")
    return store
