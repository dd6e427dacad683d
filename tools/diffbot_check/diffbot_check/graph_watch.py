# SPDX-License-Identifier: Apache-2.0
"""Looks at a running graph for a while; publishes nothing.

It subscribes as best effort, which every publisher fits, and reliably only to what is latched. It
asks controller manager and drivers for lists and parameters, by services that change nothing.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.client import Client
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.utilities import get_rmw_implementation_identifier

from diffbot_check.message_values import append
from diffbot_check.observation import (
    TYPES,
    ListedController,
    Machine,
    Observation,
    TopicNames,
    TopicStream,
)
from diffbot_node.hidden_node import HiddenNode
from diffbot_node.message_types import message_class
from diffbot_node.senders import Origin, WithOrigin
from diffbot_node.topic_nodes import beyond_discovery, endpoints_of

TRANSFORMS = ("/tf", "/tf_static")
DESCRIPTION = "/robot_description"
LIST_CONTROLLERS = "controller_manager/list_controllers"
BEST_EFFORT = ReliabilityPolicy.BEST_EFFORT
# Earlier messages of a latched topic reach reliable subscriptions only.
LASTING = QoSProfile(
    depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
LOOK_PERIOD = 0.2
# Topics whose messages are looked at, by their use: not the commands.
LISTENED = ("joint_states", "odom", "imu", "pose")
DEPTH = 500
# Parameters of drivers and controllers that end a motion when commands end, s.
TIMEOUT = "timeout"
# Type of a parameter of floating point, of whole numbers, in ParameterValue.
DOUBLE, INTEGER = 3, 2


class GraphWatch:
    """A node that only listens to the messages of topics; use it as a context manager."""

    def __init__(self, topics: TopicNames, namespace: str = "") -> None:
        self._topics, self._namespace = topics, namespace.strip("/")
        self._streams: dict[str, TopicStream] = {}
        self._transforms: set[tuple[str, str]] = set()
        self._description = ""
        self._controllers: list[ListedController] | None = None
        self._timeouts: dict[str, float] = {}
        self._subscribed: set[str] = set()
        self._asked: set[str] = set()
        self._pending: list[tuple[Any, Callable[[Any], None]]] = []

    def __enter__(self) -> GraphWatch:
        self._hidden = HiddenNode("check", args=[]).__enter__()
        self._node, self._executor = self._hidden.node, self._hidden.executor
        self._epoch = time.time() - time.monotonic()
        self._began = self.now()
        return self

    def __exit__(self, *error: object) -> None:
        self._hidden.__exit__(*error)

    def watch(
        self,
        seconds: float,
        progress: Callable[[float], None],
        enough: Callable[[Observation], bool] = lambda _: False,
    ) -> Observation:
        """Look for so many seconds of wall time, or until what was seen so far is `enough`.

        `progress` gets the time that is left, s.
        """
        began = time.monotonic()
        looked = -LOOK_PERIOD
        while (elapsed := time.monotonic() - began) < seconds:
            if elapsed - looked >= LOOK_PERIOD:
                looked = elapsed
                progress(seconds - elapsed)
                self._look()
                if enough(self._seen()):
                    break
            self._executor.spin_once(timeout_sec=min(0.05, max(0.0, seconds - elapsed)))
            self._collect()
        return replace(self._seen(), endpoints=tuple(endpoints_of(self._node)))

    def now(self) -> float:
        """Return the time by which arrivals are counted, s."""
        return self._epoch + time.monotonic()

    def _seen(self) -> Observation:
        return Observation(
            round(self.now() - self._began, 1),
            (),
            self._streams,
            frozenset(self._transforms),
            self._controllers,
            self._timeouts,
            self._description,
            this_machine(os.environ),
        )

    def _look(self) -> None:
        """Subscribe to what has appeared, and ask who takes commands."""
        wanted = {getattr(self._topics, use): TYPES[use] for use in LISTENED}
        for topic, types in self._node.get_topic_names_and_types():
            if topic in self._subscribed or not self._node.count_publishers(topic):
                continue
            if topic in wanted:
                kind = next((each for each in types if each in wanted[topic]), types[0])
                self._subscribe(topic, kind, self._keeps(topic, kind))
            elif topic in TRANSFORMS:
                self._subscribe(topic, types[0], self._on_transforms, topic != TRANSFORMS[0])
            elif topic == self._own(DESCRIPTION):
                self._subscribe(topic, types[0], self._on_description, lasting=True)
        self._ask_controllers()
        for topic in (self._topics.efforts, self._topics.cmd_vel):
            for info in self._node.get_subscriptions_info_by_topic(topic):
                self._ask_timeouts(f"{info.node_namespace.rstrip('/')}/{info.node_name}")

    def _own(self, name: str) -> str:
        prefix = f"/{self._namespace}" if self._namespace else ""
        return f"{prefix}/{name.lstrip('/')}"

    def _subscribe(
        self, topic: str, kind: str, callback: Callable[..., None], lasting: bool = False
    ) -> None:
        self._subscribed.add(topic)
        try:
            message = message_class(kind)
        except ValueError:
            return  # its type is told by the endpoints
        qos = LASTING if lasting else QoSProfile(depth=DEPTH, reliability=BEST_EFFORT)
        self._node.create_subscription(message, topic, WithOrigin(callback), qos)

    def _keeps(self, topic: str, kind: str) -> Callable[[Any, Origin], None]:
        stream = self._streams[topic] = TopicStream(topic, kind)

        def keep(message: Any, origin: Origin) -> None:
            append(message, kind, stream, self.now(), origin)

        return keep

    def _on_transforms(self, message: Any, origin: Origin) -> None:
        for each in message.transforms:
            parent, child = each.header.frame_id.strip("/"), each.child_frame_id.strip("/")
            self._transforms.add((parent, child))

    def _on_description(self, message: Any, origin: Origin) -> None:
        self._description = message.data

    # Services that only answer.

    def _ask_controllers(self) -> None:
        name = self._own(LIST_CONTROLLERS)
        types = dict(self._node.get_service_names_and_types()).get(name)
        if types is None or name in self._asked:
            return
        self._asked.add(name)
        try:
            kind: Any = message_class(types[0])
        except ValueError:
            return  # its package is not installed here

        def on_answer(answer: Any) -> None:
            self._controllers = [
                ListedController(each.name, each.type, each.state) for each in answer.controller
            ]

        self._ask(kind, name, kind.Request(), on_answer)

    def _ask_timeouts(self, node: str) -> None:
        if node in self._asked or "/_" in node:
            return
        self._asked.add(node)

        def on_names(answer: Any) -> None:
            names = [name for name in answer.result.names if TIMEOUT in name]
            if names:
                request = GetParameters.Request(names=names)
                self._ask(
                    GetParameters,
                    f"{node}/get_parameters",
                    request,
                    lambda values: self._on_timeouts(node, names, values),
                )

        self._ask(ListParameters, f"{node}/list_parameters", ListParameters.Request(), on_names)

    def _on_timeouts(self, node: str, names: Sequence[str], answer: Any) -> None:
        for name, value in zip(names, answer.values, strict=True):
            if value.type in (DOUBLE, INTEGER):
                number = value.double_value if value.type == DOUBLE else value.integer_value
                self._timeouts[f"{node} {name}"] = float(number)

    def _ask(self, kind: Any, name: str, request: Any, on_answer: Callable[[Any], None]) -> None:
        client: Client[Any, Any] = self._node.create_client(kind, name)
        if not client.wait_for_service(timeout_sec=0.5):
            return
        self._pending.append((client.call_async(request), on_answer))

    def _collect(self) -> None:
        done = [pair for pair in self._pending if pair[0].done()]
        self._pending = [pair for pair in self._pending if not pair[0].done()]
        for future, on_answer in done:
            if future.result() is not None:
                on_answer(future.result())


def this_machine(environment: Mapping[str, str]) -> Machine:
    """Return what is known about this computer and the ROS settings of this process."""
    _, hard = resource.getrlimit(resource.RLIMIT_RTPRIO)
    return Machine(
        domain=int(environment.get("ROS_DOMAIN_ID") or 0),
        middleware=str(get_rmw_implementation_identifier()),
        beyond=beyond_discovery(environment),
        real_time=hard != 0 or os.geteuid() == 0,
        load=os.getloadavg()[0],
        processors=len(os.sched_getaffinity(0)),
    )
