"""How a robot's states come in: from drivers of either reliability, and from one source only."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from diffbot_node.source_watch import Finding, SourceWatch

try:
    from rclpy.event_handler import SubscriptionEventCallbacks as SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks as SubscriptionEventCallbacks

DEPTH = 10  # messages


def subscribe_to_states(
    node: Node, message_type: type, topic: str, callback: Callable[..., None]
) -> Subscription[Any]:
    """Subscribe to the states of a robot.

    The subscription is reliable: a lost message would stop a lock-step simulation for ever. A
    driver that offers best effort only, as is usual for sensors, never matches such a one; it gets
    a second subscription as soon as it shows.

    Args:
        node: subscribes.
        message_type: of the states.
        topic: name of the topic.
        callback: takes a message; WithSender where it matters who has sent it.

    Returns:
        The reliable subscription.
    """
    others: list[Subscription[Any]] = []

    def on_incompatible(event: Any) -> None:
        if event.last_policy_kind == QoSPolicyKind.RELIABILITY and not others:
            qos = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
            others.append(node.create_subscription(message_type, topic, callback, qos))

    return node.create_subscription(
        message_type,
        topic,
        callback,
        DEPTH,
        event_callbacks=SubscriptionEventCallbacks(incompatible_qos=on_incompatible),
    )


class WithSender:
    """A callback that is told who has sent a message, as a subscription takes it.

    rclpy gives a callback of two arguments what it knows of the message besides; its
    EventsExecutor gives both as one tuple (Kilted), which no function of two arguments takes.

    Args:
        callback: is called with the message and with what tells publishers apart, None where the
            middleware does not say (rclpy before Kilted).
    """

    __signature__ = Signature(
        [Parameter(name, Parameter.POSITIONAL_ONLY) for name in ("message", "information")]
    )

    def __init__(self, callback: Callable[[Any, Any], None]) -> None:
        self._callback = callback

    def __call__(self, *arguments: Any) -> None:
        """Hand a message on."""
        message, information = arguments[0] if len(arguments) == 1 else arguments
        gid = information.get("publisher_gid") if isinstance(information, dict) else None
        self._callback(message, None if gid is None else bytes(gid["data"]))


class StateSubscription:
    """The states of one robot, watched for a second source of them; see SourceWatch.

    Args:
        node: subscribes.
        states: type of message and name of the topic.
        callback: is called with a message and what tells its sender.
        name: of a state, for messages.
        counts: of the encoders per turn; 0: not known.
    """

    def __init__(
        self,
        node: Node,
        states: tuple[type, str],
        callback: Callable[[Any, Any], None],
        name: str,
        counts: int,
    ) -> None:
        self._node, self._name = node, name
        self._watch = SourceWatch(self.publishers, counts)
        self.topic = subscribe_to_states(node, *states, WithSender(callback)).topic_name

    def publishers(self) -> int:
        """How many nodes publish the topic."""
        return self._node.count_publishers(self.topic)

    @property
    def knows_senders(self) -> bool:
        """Whether the middleware says who sends states, so that two are told apart for sure."""
        return self._watch.knows_senders

    def take(
        self, stamp: float, outline: tuple[float, ...] | None, now: float, sender: object
    ) -> Finding | None:
        """Take in a message; see SourceWatch.update."""
        return self._watch.update(stamp, outline, now, sender)

    def doubt(self, now: float) -> str:
        """Why the newest states may come from two sources; empty where nothing speaks for it.

        Args:
            now: wall time, s.
        """
        doubt = self._watch.doubt(now)
        return doubt and f"two sources may tell {self._name}s on {self.topic}: {doubt}"

    def two_sources(self, finding: Finding) -> str:
        """The sentence about a sign of a second source that is sure, with who they are."""
        names = sorted(
            f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for info in self._node.get_publishers_info_by_topic(self.topic)
        )
        publish = "publishes" if len(names) == 1 else "publish"
        return (
            f"two sources tell {self._name}s of this robot: {finding.text}; {len(names)} {publish} "
            f"{self.topic} ({', '.join(names)}); stop all sources but one"
        )
