# SPDX-License-Identifier: Apache-2.0
"""Base of the simulator nodes that move a robot themselves: time, pauses, and commanders.

In one process with the node that commands, a simulator is in lock-step, and obeys no other: it
publishes a state, waits until a command has arrived and everything that the state has caused is
done (intra_process.py), and advances by one control period. In a process of its own its time
advances by the wall clock with the latest command.

`~/set_paused` (std_srvs/SetBool) pauses and resumes the robot's time. The node ends with status 1
when another node publishes its robot's states, and obeys no command while two nodes command.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rclpy.publisher import Publisher
from std_srvs.srv import SetBool

from diffbot_description.robot import Pair
from diffbot_node import Node, declare, parameter
from diffbot_node.launch_supervision import say_last_words
from diffbot_node.presence import Presence
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.senders import Origin, Senders
from diffbot_sim.simulated_sensors import GyroAndPoseParameters
from diffbot_sim.simulator_parameters import SimulatorParameters, check_lengths
from diffbot_sim.simulator_topics import second_publisher


@dataclass(frozen=True)
class PacingParameters(GyroAndPoseParameters, SimulatorParameters):
    """Parameters of simulators that move a robot themselves."""

    period: float = parameter(0.01, "control period, s", above=0.0, maximum=0.1)
    speed: float = parameter(
        0.0,
        "robot time per wall time; 0: as fast as it goes in one process with the node that "
        "commands, otherwise real time",
        minimum=0.0,
    )
    paused: bool = parameter(
        False, "begin with the robot's time standing still, until ~/set_paused"
    )
    patience: float = parameter(
        20.0,
        "with leave_when_alone: wall time to wait for the first commands, s; then status 1",
        above=0.0,
    )


S_co = TypeVar("S_co", bound=PacingParameters, covariant=True)

# Wall time between two checks of partners, and after which a state is repeated, s.
LOOK_PERIOD = 0.05
# Shortest and longest wall time between two looks whether robot time is due, s.
SHORTEST_TICK, LONGEST_TICK = 0.001, 0.05
# Largest lag that is caught up, s; after a longer one the schedule restarts.
LARGEST_LAG = 0.1
# Wall time for which a sender counts as a commander after a command, s.
RECENT = 1.0


class Pacer:
    """Ties robot time to a monotonic wall clock, s; it never sleeps itself.

    `speed`: robot seconds per wall second, >= 0; 1 is real time, 0 is as fast as possible.
    """

    def __init__(self, speed: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._speed, self._clock = speed, clock
        self.restart(0.0)

    def restart(self, robot_time: float) -> None:
        """Restart the schedule at this robot time (s) now."""
        self._anchor = (self._clock(), robot_time)

    def delay(self, robot_time: float) -> float:
        """Return the wall time (s) to wait until robot_time (s) is due."""
        if self._speed == 0.0:
            return 0.0
        wall, start = self._anchor
        now = self._clock()
        ahead = wall + (robot_time - start) / self._speed - now
        if -ahead > LARGEST_LAG:
            self._anchor = (now, robot_time)
        return max(ahead, 0.0)


class CommandPublishers:
    """Checks how many nodes publish commands on a topic: none, one, or a conflicting number.

    Args:
        node: The node that takes the commands.
        topic: Name of the topic, relative to the node's namespace.
        patience: Wall time to wait for the first publisher, s.
        quantity: The commanded quantity, for messages.
    """

    def __init__(self, node: Node, topic: str, patience: float, quantity: str = "torque") -> None:
        self._node = node
        self.topic = node.resolve_topic_name(topic)
        self._patience = patience
        self._quantity = quantity
        self.presence = Presence(patience)
        self._senders = Senders()
        self._heard: dict[object, float] = {}  # when each sender last commanded, s of wall time

    def heard(self, came_from: Origin) -> None:
        """Note the origin of a command."""
        self._heard[self._senders.identify(came_from)] = time.monotonic()

    @property
    def count(self) -> int:
        return self._node.count_publishers(self.topic)

    def conflict(self) -> str | None:
        """Return what is wrong while more than one node commands; else None."""
        now = time.monotonic()
        self._heard = {who: at for who, at in self._heard.items() if now - at <= RECENT}
        count = self.count if None in self._heard else min(len(self._heard), self.count)
        if count < 2:
            return None
        return (
            f"{count} nodes publish commands on {self.topic}, limit 1: zero {self._quantity} "
            "until only one does; stop the others, or give each run its own ROS_DOMAIN_ID"
        )

    def exit_code(self) -> int | None:
        """Return the exit status if no node commands any more (0) or ever did (1); else None."""
        return self.presence.leave(
            self.count > 0,
            self._node.get_logger(),
            f"no node commands {self._quantity} any more; the simulation ends",
            f"no node commanded {self._quantity} within {self._patience:g} s of wall time: "
            f"start a node that publishes {self.topic}",
        )


class PacedSimulator(Node, ABC, Generic[S_co]):
    """Moves a robot period by period; `parameters` is the class of the node's parameters."""

    paused = False
    """Whether the robot's time must stand still."""

    def __init__(self, name: str, parameters: type[S_co]) -> None:
        super().__init__(name)
        self.exit_code: int | None = None
        self.values: S_co = declare(self, parameters)
        check_lengths(self.values)
        self._command = (0.0, 0.0)
        self._answered = False  # whether a command has arrived since the newest state
        self._obeyed = False  # whether any command was obeyed so far
        self._conflict = False
        self._published = time.monotonic()
        self._pacer = Pacer(self.values.speed or (0.0 if self.composed else 1.0))

    def run(self, states: tuple[Publisher[Any], ...], commands: str, quantity: str) -> None:
        """Start time; call it once the robot and its topics exist.

        Args:
            states: Publishers of topics that no other node may publish.
            commands: Topic of the commands.
            quantity: The commanded quantity, for messages.
        """
        self._states = states
        self._commanders = CommandPublishers(self, commands, self.values.patience, quantity)
        self._foreigners = self.foreigners(self._commanders.topic)
        self.create_service(SetBool, "~/set_paused", self._on_set_paused)
        if self.values.paused:
            self.paused = True
            self.get_logger().info(
                f"paused; to go on: ros2 service call {self.get_fully_qualified_name()}/set_paused "
                "std_srvs/srv/SetBool '{data: false}', or Gazebo's play button"
            )
        create_wall_timer(self, LOOK_PERIOD, self._look_around)
        speed = self.values.speed
        if self.room is not None:
            self.room.when_idle(self._go_on)
            if speed > 0.0:  # the executor wakes up when robot time is due
                tick = self.values.period / speed / 4.0
                create_wall_timer(self, min(max(tick, SHORTEST_TICK), LONGEST_TICK), lambda: None)
        else:
            create_wall_timer(self, self.values.period / (speed or 1.0), self._run_on)

    @property
    @abstractmethod
    def stamp(self) -> float:
        """Robot time of the newest state, s."""

    @abstractmethod
    def advance(self, command: Pair) -> None:
        """Advance by one period with a command."""

    @abstractmethod
    def publish_state(self) -> None:
        """Publish the newest state."""

    def take_command(self, command: Pair, came_from: Origin) -> None:
        """Process a received command, and its origin."""
        self._commanders.heard(came_from)
        self._commanders.presence.met = True
        if self._foreigners.include(came_from):
            return
        self._command = (0.0, 0.0) if self._conflict else command
        self._answered = True

    def _go_on(self) -> bool:
        if not self._answered or self.paused or self.exit_code is not None:
            return False
        if not self._obeyed:
            self._obeyed = True
            self._pacer.restart(self.stamp)
        elif self._pacer.delay(self.stamp + self.values.period) > 0.0:
            return False
        self._answered = False
        self.advance(self._command)
        self._send_state()
        return True

    def _run_on(self) -> None:
        if not self.paused and self.exit_code is None:
            self.advance(self._command)
            self._send_state()

    def _send_state(self) -> None:
        self.publish_state()
        self._published = time.monotonic()

    def _look_around(self) -> None:
        if self.exit_code is not None:
            return
        if why := second_publisher(self, self._states):
            say_last_words(self, why)
            self.exit_code = 1
            return
        if self.values.leave_when_alone:
            self.exit_code = self._commanders.exit_code()
        self._check_for_conflict()
        stands_still = self.paused or (self.composed and not self._answered)
        if stands_still and time.monotonic() - self._published >= LOOK_PERIOD:
            # A commander that was not ready answers this one; a paused robot must not look dead.
            self._send_state()

    def _check_for_conflict(self) -> None:
        conflict = self._commanders.conflict()
        if conflict and not self._conflict:
            self._command = (0.0, 0.0)
            self.get_logger().error(conflict)
        self._conflict = conflict is not None

    def _on_set_paused(
        self, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        self.paused = request.data
        if not request.data:
            self._pacer.restart(self.stamp)
        response.success = True
        response.message = "time stands still" if request.data else "time goes on"
        return response

    def close(self) -> None:
        if self.room is not None:
            self.room.forget(self._go_on)
