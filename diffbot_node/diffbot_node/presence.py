# SPDX-License-Identifier: Apache-2.0
"""Who a node works with: how long it waits for them, who takes what it says, who has left.

All by wall time.
"""

from __future__ import annotations

import time
from typing import Any

from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node
from rclpy.publisher import Publisher

# What is still awaited is said after so long, and this often, s.
WAITING_PERIOD = 3.0
# Nodes that only look on, and the beginning of the name of those of the ros2 command.
ONLOOKERS = frozenset(
    {"recorder", "rosbag2_recorder", "live_view", "foxglove_bridge", "plotjuggler"}
)
COMMAND_LINE = "_ros2cli"
# DDS tells of a subscription before the name of its node, which comes within 0.4 s. Whose name has
# not come for so long has none, s of wall time.
NAMELESS, NAMING_TIME = "_NODE_NAME_UNKNOWN_", 1.0


class Presence:
    """The partners of a node.

    Args:
        patience: how long to wait for them in vain, s; 0: for ever.
        parting: who has not been seen for so long does not come back, s.

    Attributes:
        met: whether they were seen once.
    """

    def __init__(self, patience: float, parting: float = 0.0) -> None:
        self._patience, self._parting = patience, parting
        self.met = False
        self._since = self._reminded = time.monotonic()
        self._missed: float | None = None  # when they were first missed, s

    def keep_waiting(self) -> None:
        """What is waited for has come, or is on its way: patience begins anew."""
        self._since = time.monotonic()

    @property
    def waited(self) -> float:
        """Time since patience began, s."""
        return time.monotonic() - self._since

    @property
    def waits_long(self) -> bool:
        """Whether it is time to say what is awaited."""
        return self.waited > WAITING_PERIOD

    @property
    def gave_up(self) -> bool:
        """Whether patience has come to its end."""
        return 0.0 < self._patience < self.waited

    def have_left(self, there: bool) -> bool:
        """Look who is there; whether they have been away for long enough to be given up."""
        self.met = self.met or there
        now = time.monotonic()
        self._missed = None if there else self._missed or now
        return self._missed is not None and now - self._missed >= self._parting

    def leave(self, there: bool, log: RcutilsLogger, gone: str, absent: str) -> int | None:
        """Exit status of a node that ends with its partners; None as long as it goes on.

        Args:
            there: whether they are there now.
            log: where the reason is said.
            gone: the reason when they have left; the status is 0.
            absent: the reason when they have been awaited in vain; the status is 1.
        """
        if not self.have_left(there):
            return None
        if self.met:
            log.info(gone)
            return 0
        if self.gave_up:
            log.error(absent)
            return 1
        return None

    def reminds(self) -> bool:
        """Whether nothing was said for long; then it counts as said."""
        due = time.monotonic() - self._reminded > WAITING_PERIOD
        if due:
            self._reminded = time.monotonic()
        return due


class Takers:
    """Who takes what is published; nodes that only look on, such as a recorder, do not count.

    Args:
        node: publishes.
        publisher: of it.
    """

    def __init__(self, node: Node, publisher: Publisher[Any]) -> None:
        self._node, self._publisher = node, publisher
        self._known = 0  # subscriptions of which somebody took it at the last look
        self._nameless: float | None = None  # since when there is nobody else, s

    def are_there(self) -> bool:
        """Whether anybody takes it."""
        count = self._publisher.get_subscription_count()
        if count == 0 or count != self._known:
            self._known = count if count and self._look() else 0
        return self._known > 0

    def _look(self) -> bool:
        found = self._node.get_subscriptions_info_by_topic(self._publisher.topic_name)
        names = {info.node_name for info in found} - ONLOOKERS
        if any(name != NAMELESS and not name.startswith(COMMAND_LINE) for name in names):
            return True
        if NAMELESS not in names:
            self._nameless = None
            return False
        now = time.monotonic()
        self._nameless = self._nameless or now
        return now - self._nameless > NAMING_TIME
