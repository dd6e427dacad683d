# SPDX-License-Identifier: Apache-2.0
"""Time of the in-process graph, and one node on its bus."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.clock import ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

# Packages whose nodes are put on a bus; a simulator's own processes need the true time.
PACKAGES = (
    *("diffbot_node.", "diffbot_controllers.", "diffbot_ident."),
    *("pose2d_trajectories.", "diffbot_sim.faults.", "diffbot_sim.paced_simulator."),
)
# Tells a person at a terminal how long it will take.
OF_THE_TERMINAL = "diffbot_ident.progress"


def nanoseconds(seconds: float) -> int:
    """A time in s as whole ns."""
    return round(seconds * 1e9)


class BusClock:
    """A node's clock.

    Args:
        now: time of the bus, ns.
        simulated: whether the node believes that a simulator gives the time (use_sim_time).
    """

    clock_type = ClockType.ROS_TIME

    def __init__(self, now: Callable[[], int], simulated: bool) -> None:
        self._now = now
        self.ros_time_is_active = simulated

    def now(self) -> Time:
        """The time of the bus."""
        return Time(nanoseconds=self._now(), clock_type=self.clock_type)

    def sleep_for(self, duration: Duration) -> bool:
        """Not offered: a node that sleeps by its clock would stand still."""
        raise NotImplementedError("nodes on a bus sleep by time.sleep only")


class BusTime:
    """What nodes' modules find as the module `time`.

    Args:
        now: time of the bus, ns.
        sleep: lets a time pass on the bus, s.
    """

    def __init__(self, now: Callable[[], int], sleep: Callable[[float], None]) -> None:
        self.monotonic_ns = self.time_ns = self.perf_counter_ns = now
        self.sleep = sleep
        self._patched: list[Any] = []

    def monotonic(self) -> float:
        """Time of the bus, s."""
        return 1e-9 * self.monotonic_ns()

    time = perf_counter = monotonic

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def install(self) -> None:
        """Take the place of `time` in the nodes' modules that are loaded by now."""
        for name, module in list(sys.modules.items()):
            of_a_node = f"{name}.".startswith(PACKAGES) and name != OF_THE_TERMINAL
            if of_a_node and vars(module).get("time") is time:
                module.time = self
                self._patched.append(module)

    def remove(self) -> None:
        """Give the modules the true time back."""
        for module in self._patched:
            module.time = time
        self._patched.clear()


# One node on a bus, with what it was given, what it says and how it ended.


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
