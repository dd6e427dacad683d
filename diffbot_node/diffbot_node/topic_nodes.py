# SPDX-License-Identifier: Apache-2.0
"""The nodes on a topic: their names, and how many of them receive its messages, counted or not."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rclpy.node import Node, NodeNameNonExistentError
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from diffbot_node.endpoints import Endpoint, EndpointRole, instead
from diffbot_node.intra_process import LocalPublisher
from diffbot_node.topic_types import COMMANDS

# Nodes that only observe, besides hidden ones, whose names begin with HIDDEN.
ONLOOKERS = frozenset({"recorder", "learn", "rosbag2_recorder", "foxglove_bridge", "plotjuggler"})
HIDDEN = "_"
# DDS announces a subscription up to 0.4 s before its node's name. Without one after NAMING_TIME, s
# of wall time, it belongs to no named node.
NAMELESS, NAMING_TIME = "_NODE_NAME_UNKNOWN_", 1.0


def full_name(info: TopicEndpointInfo) -> str:
    """Return namespace and name of the node of an endpoint, which may not be known for a moment."""
    if info.node_name == NAMELESS:
        return "a node whose name is not known yet"
    return f"{info.node_namespace.rstrip('/')}/{info.node_name}"


# Profiles of Fast DDS by which ./diffbot limits discovery to this machine (docs/security.md).
_PROFILE_VARIABLES = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")
_CLOSED_PROFILES = {"fastdds_local.xml", "fastdds2_local.xml"}


def beyond_discovery(environment: Mapping[str, str] = os.environ) -> str:
    """Return that nodes on other computers are not seen, and the remedy; empty if they may be."""
    profiles = {Path(environment.get(name, "")).name for name in _PROFILE_VARIABLES}
    closed = (
        environment.get("ROS_AUTOMATIC_DISCOVERY_RANGE") in ("LOCALHOST", "OFF")
        or environment.get("ROS_LOCALHOST_ONLY") == "1"
        or not profiles.isdisjoint(_CLOSED_PROFILES)
    )
    if not closed:
        return ""
    return (
        " (nodes on other computers are not seen, as discovery is limited to this one: "
        "ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET opens it)"
    )


def endpoint(role: EndpointRole, topic: str, info: TopicEndpointInfo) -> Endpoint:
    """Return what ROS reports of a publisher or subscription."""
    qos = info.qos_profile
    return Endpoint(
        role,
        topic,
        info.topic_type,
        full_name(info),
        qos.reliability != ReliabilityPolicy.BEST_EFFORT,
        qos.durability == DurabilityPolicy.TRANSIENT_LOCAL,
    )


def endpoints_of(node: Node, roles: Iterable[EndpointRole] = EndpointRole) -> list[Endpoint]:
    """Return all publishers and subscriptions but those of hidden nodes and of `node` itself."""
    ask = {
        EndpointRole.PUBLISHES: node.get_publishers_info_by_topic,
        EndpointRole.SUBSCRIBES: node.get_subscriptions_info_by_topic,
    }
    own = node.get_fully_qualified_name()
    return [
        each
        for topic, _ in node.get_topic_names_and_types()
        for role in roles
        for info in ask[role](topic)
        if not info.node_name.startswith(HIDDEN) or info.node_name == NAMELESS
        if (each := endpoint(role, topic, info)).node != own
    ]


class Instead:
    """What there is in place of a partner of a node; looked for once in LOOK_PERIOD.

    `kinds`: classes that the topic's messages may have.
    """

    LOOK_PERIOD = 1.0  # s of wall time: it asks for all topics

    def __init__(self, node: Node, role: EndpointRole, topic: str, *kinds: type) -> None:
        self._node, self._role, self._topic = node, role, topic
        self._types = [f"{kind.__module__.partition('.')[0]}/msg/{kind.__name__}" for kind in kinds]
        self._looked, self._text = -math.inf, ""

    def text(self) -> str:
        """Return a clause; empty if there is nothing."""
        now = time.monotonic()
        if now - self._looked >= self.LOOK_PERIOD:
            there = endpoints_of(self._node, (self._role,))
            self._text = instead(self._role, self._topic, self._types, there)
            self._looked = now
        return self._text


class Subscribers:
    """Counts who takes what a node publishes, on the topic with the most; observers do not count.

    Those are a recorder and its like; nodes of other processes, once one of its own has
    subscribed; and with `followers`, once a node that commands a robot has, all that do not.
    """

    def __init__(self, node: Node, *publishers: Publisher[Any], followers: bool = False) -> None:
        self._node, self._publishers, self._followers = node, publishers, followers
        self._subscriptions: list[int] = []  # at the last look
        self._subscribers = 0
        self._nameless: float | None = None  # since when nameless nodes subscribe, s
        self._has_local = self._has_follower = False

    def are_there(self) -> bool:
        return self.count() > 0

    def count(self) -> int:
        local = max(map(_local_subscribers, self._publishers))
        self._has_local = self._has_local or local > 0
        if self._has_local:
            return local
        now = [publisher.get_subscription_count() for publisher in self._publishers]
        if now != self._subscriptions or not self._subscribers or self._nameless is not None:
            self._subscriptions, self._subscribers = now, self._look() if any(now) else 0
        return self._subscribers

    def _look(self) -> int:
        topics = [
            self._node.get_subscriptions_info_by_topic(publisher.topic_name)
            for publisher in self._publishers
        ]
        subscribers = [[info for info in infos if _counts(info.node_name)] for infos in topics]
        if self._followers:
            followers = [list(filter(self._commands, infos)) for infos in subscribers]
            self._has_follower = self._has_follower or any(followers)
            subscribers = followers if self._has_follower else subscribers
        most: int = max(map(len, subscribers))
        nameless = sum(info.node_name == NAMELESS for infos in topics for info in infos)
        if not nameless:
            self._nameless = None
            return most
        now = time.monotonic()
        self._nameless = self._nameless or now
        return most + int(nameless) * (now - self._nameless > NAMING_TIME)

    def _commands(self, info: TopicEndpointInfo) -> bool:
        try:
            topics = self._node.get_publisher_names_and_types_by_node(
                info.node_name, info.node_namespace
            )
        except NodeNameNonExistentError:
            return False
        return any(kind in COMMANDS for _, kinds in topics for kind in kinds)


def _local_subscribers(publisher: Publisher[Any]) -> int:
    if not isinstance(publisher, LocalPublisher):
        return 0
    return sum(map(_counts, publisher.receiving_nodes))


def _counts(name: str) -> bool:
    return name not in ONLOOKERS and not name.startswith(HIDDEN)


LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""QoS of states that late subscribers must receive, too."""
