"""Time of the in-process graph, in the places where nodes look for time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from rclpy.clock import ClockType
from rclpy.duration import Duration
from rclpy.time import Time

# Packages whose nodes are put on a bus; a simulator's own processes need the true time.
PACKAGES = (
    *("diffbot_node.", "diffbot_controllers.", "diffbot_ident."),
    *("pose2d_trajectories.", "diffbot_sim.faults.", "diffbot_sim.paced_simulator."),
    *("diffbot_sim.command_watch.", "diffbot_sim.pacing."),
)


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
            if f"{name}.".startswith(PACKAGES) and vars(module).get("time") is time:
                module.time = self
                self._patched.append(module)

    def remove(self) -> None:
        """Give the modules the true time back."""
        for module in self._patched:
            module.time = time
        self._patched.clear()
