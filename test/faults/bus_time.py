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

# Packages whose modules use the bus time; a simulator's own processes need the true time.
PACKAGES = (
    *("diffbot_node.", "diffbot_node.", "diffbot_controllers.", "diffbot_ident."),
    *("pose2d_trajectories.", "diffbot_sim.faults.", "diffbot_sim.paced_simulator."),
)
# Shows the remaining time at a terminal; it keeps the true time.
OF_THE_TERMINAL = "diffbot_report.progress"


def nanoseconds(seconds: float) -> int:
    """Convert a time in s to whole ns."""
    return round(seconds * 1e9)


class BusClock:
    """A node's clock.

    Args:
        now: Returns the time of the bus, ns.
        simulated: Whether the node gets its time from a simulator (use_sim_time).
    """

    clock_type = ClockType.ROS_TIME

    def __init__(self, now: Callable[[], int], simulated: bool) -> None:
        self._now = now
        self.ros_time_is_active = simulated

    def now(self) -> Time:
        """Return the time of the bus."""
        return Time(nanoseconds=self._now(), clock_type=self.clock_type)

    def set_ros_time_override(self, time: Time) -> None:
        """Do nothing: the bus has the time; in Lyrical a node's time source calls this."""

    def _set_ros_time_is_active(self, enabled: bool) -> None:
        """Do nothing, likewise."""

    def sleep_for(self, duration: Duration) -> bool:
        """Not supported: a node that sleeps by its clock would block the bus."""
        raise NotImplementedError("nodes on a bus sleep by time.sleep only")


class BusTime:
    """Replacement for the module `time` in the nodes' modules.

    Args:
        now: Returns the time of the bus, ns.
        sleep: Advances the bus by a time, s.
    """

    def __init__(self, now: Callable[[], int], sleep: Callable[[float], None]) -> None:
        self.monotonic_ns = self.time_ns = self.perf_counter_ns = now
        self.sleep = sleep
        self._patched: list[Any] = []

    def monotonic(self) -> float:
        """Return the time of the bus, s."""
        return 1e-9 * self.monotonic_ns()

    time = perf_counter = monotonic

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def install(self) -> None:
        """Replace `time` in the nodes' modules that are loaded so far."""
        for name, module in list(sys.modules.items()):
            of_a_node = f"{name}.".startswith(PACKAGES) and name != OF_THE_TERMINAL
            if of_a_node and vars(module).get("time") is time:
                module.time = self
                self._patched.append(module)

    def remove(self) -> None:
        """Restore the true time in the modules."""
        for module in self._patched:
            module.time = time
        self._patched.clear()


# One node on a bus, with its settings, its log and its exit status.


class Member:
    """One node on a bus; corresponds to a process with one node on a machine.

    Args:
        parameters: Parameters of the node.
        remap: Remapped topic names, as with -r.
        namespace: Namespace of the node.
        simulated: Whether its clock counts as a simulator's.
        phase: Time from the creation of its timers until they first fire, s; arbitrary, because
            processes start at any time.

    Attributes:
        name: Full name of the node.
        node: The node; None after it has ended, or if it could not be created.
        status: Exit status of the process; None while it runs.
        log: (level, text) of all log messages of the node.
        clock_offset: Time by which its clock is ahead of the bus, ns.
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
        self.name = ""
        self.node: Node | None = None
        self.status: int | None = None
        self.ending = False
        self.log: list[tuple[str, str]] = []
        self.logger = BusLogger(self.log)

    @property
    def runs(self) -> bool:
        """Whether the node runs, so that its callbacks are called."""
        return self.status is None and not self.ending

    def said(self, *words: str) -> bool:
        """Whether one line of the log contains all these words; True without words."""
        return not words or any(all(word in text for word in words) for _, text in self.log)


class BusLogger:
    """Logger with the interface of rclpy's."""

    def __init__(self, log: list[tuple[str, str]]) -> None:
        self._log = log

    def _keep(self, level: str, text: str) -> bool:
        self._log.append((level, str(text)))
        return True

    def debug(self, message: str, **_: Any) -> bool:
        """Discard a line."""
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
