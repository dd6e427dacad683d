"""Whether anybody is there to command a simulated robot, and whether it is one only."""

from __future__ import annotations

import time

from rclpy.node import Node

# Who commanded so lately, s of wall time, commands still.
RECENT = 1.0


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
        self._heard: dict[object, float] = {}  # when each sender last commanded, s of wall time

    def keep_waiting(self) -> None:
        """What is waited for is on its way: patience begins anew."""
        self._since = time.monotonic()

    def heard(self, sender: object) -> None:
        """Note who has commanded; None where the middleware does not tell."""
        self._heard[sender] = time.monotonic()

    def crowd(self) -> str:
        """What is wrong while more than one node commands; empty while none or one does.

        Where senders are not known all count who publish the topic.
        """
        now = time.monotonic()
        self._heard = {who: at for who, at in self._heard.items() if now - at <= RECENT}
        publishers = self._node.count_publishers(self._topic)
        count = publishers if None in self._heard else min(len(self._heard), publishers)
        if count < 2:
            return ""
        return (
            f"{count} nodes command on {self._topic}, limit 1: zero {self._what} until one is "
            "left; stop the others, or give each run its own ROS_DOMAIN_ID"
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
