"""One node on a bus, with what it was given, what it says and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

from diffbot_bringup.faults.bus_time import nanoseconds


class Member:
    """What a process with one node is on a machine.

    Args:
        parameters: of the node.
        remap: names of topics, as -r gives them.
        namespace: of the node.
        simulated: whether its clock counts as a simulator's.
        phase: when its timers fire first, s after they are made; as processes start whenever they
            do, it is any.

    Attributes:
        name: full name of the node.
        node: it; None once it has ended, or when it could not be made.
        status: exit status of the process; None while it runs.
        log: (level, text) of all that the node said.
        clock_offset: how far its clock is ahead of the bus, ns.
        told_time: what a simulator has last said on /clock, ns; None: it goes by the bus.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        remap: Mapping[str, str],
        namespace: str,
        simulated: bool,
        phase: float,
    ) -> None:
        self.overrides = [Parameter(name, value=_plain(v)) for name, v in parameters.items()]
        self.remap = dict(remap)
        self.namespace = namespace
        self.simulated = simulated
        self.phase = nanoseconds(phase)
        self.clock_offset = 0
        self.told_time: int | None = None
        self.name = ""
        self.node: Node | None = None
        self.status: int | None = None
        self.ending = False
        self.log: list[tuple[str, str]] = []
        self.logger = BusLogger(self.log)

    def hear_clock(self, message: Clock) -> None:
        """Take what a simulator says on /clock."""
        self.told_time = Time.from_msg(message.clock).nanoseconds

    @property
    def runs(self) -> bool:
        """Whether its callbacks are called."""
        return self.status is None and not self.ending

    def said(self, *words: str) -> bool:
        """Whether one line of the log has all these words; without any, always."""
        return not words or any(all(word in text for word in words) for _, text in self.log)


class BusLogger:
    """Looks like rclpy's logger."""

    def __init__(self, log: list[tuple[str, str]]) -> None:
        self._log = log

    def _keep(self, level: str, text: str) -> bool:
        self._log.append((level, str(text)))
        return True

    def debug(self, message: str, **_: Any) -> bool:
        """Left out."""
        return True

    def info(self, message: str, **_: Any) -> bool:
        """Keep a line."""
        return self._keep("info", message)

    def warning(self, message: str, **_: Any) -> bool:
        """Keep a line."""
        return self._keep("warning", message)

    warn = warning

    def error(self, message: str, **_: Any) -> bool:
        """Keep a line."""
        return self._keep("error", message)

    def fatal(self, message: str, **_: Any) -> bool:
        """Keep a line."""
        return self._keep("fatal", message)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
