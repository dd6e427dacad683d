"""Whether anybody is there to command a simulated robot."""

from __future__ import annotations

import time

from rclpy.node import Node


class CommandWatch:
    """Counts who publishes a topic of commands; it subscribes to nothing.

    Args:
        node: asks for it.
        topic: name of the topic, relative to the node's namespace.
        patience: wall time to wait for the first commander, s.
        what: is commanded, for messages.
    """

    def __init__(self, node: Node, topic: str, patience: float, what: str = "torque") -> None:
        self._what = what
        self._node = node
        self._topic = node.resolve_topic_name(topic)
        self._patience = patience
        self._met = False
        self._since = time.monotonic()

    def keep_waiting(self) -> None:
        """What is waited for is on its way: patience begins anew."""
        self._since = time.monotonic()

    def crowd(self) -> str:
        """What is wrong while more than one node commands; empty while none or one does."""
        count = self._node.count_publishers(self._topic)
        if count < 2:
            return ""
        return (
            f"{count} nodes publish {self._topic}, limit 1: zero {self._what} until all but one "
            "have left; give each run its own ROS_DOMAIN_ID (a node that was killed outright "
            "counts for some 20 s more)"
        )

    def end(self) -> int | None:
        """Exit status when nobody commands any more (0) or never did (1); None to go on."""
        if self._node.count_publishers(self._topic):
            self._met = True
            return None
        if self._met:
            self._node.get_logger().info(
                f"nobody commands {self._what} any more; the simulation ends"
            )
            return 0
        if time.monotonic() - self._since > self._patience:
            self._node.get_logger().error(
                f"nobody commanded {self._what} within {self._patience:g} s of wall time: start a "
                f"node that publishes {self._topic}"
            )
            return 1
        return None
