# SPDX-License-Identifier: Apache-2.0
"""Base of the simulator nodes that move a robot themselves: pacing, lock-step, and commanders.

In lock-step a node publishes a state, waits for the command that answers it, and advances by one
control period: a run repeats to the last digit and is as fast as its nodes. Commands name the state
that they answer (diffbot_node/robot_messages.py); an answer to another state moves nothing, and a
state is repeated until its answer arrives. The node waits for readers that must receive every
message (diffbot_node/kept_topic.py). Without lock-step time advances with the latest command, like
that of a real robot.

`~/set_paused` (std_srvs/SetBool) pauses and resumes the robot's time. The node ends with status 1
when another node publishes its robot's states, too, and obeys no command while two nodes command.
In a run that has a name (diffbot_node/own_run.py) it obeys only the run's own commander, and ends
with that. If it meets another run, it stays silent for a while before it ends, so that the nodes of
both runs detect each other.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rclpy.node import Node
from rclpy.publisher import Publisher
from std_srvs.srv import SetBool

from diffbot_node import declare, parameter
from diffbot_node.kept_topic import await_readers_of
from diffbot_node.own_run import COMMANDER, REFUSAL_TIME, ROBOT, OwnRun
from diffbot_node.robot_messages import NOTHING, Presence, answers, create_wall_timer
from diffbot_node.running import say_last_words
from diffbot_node.senders import Origin, Senders
from diffbot_sim.sensor_topics import GyroAndPoseParameters, SensorTopics
from diffbot_sim.simulator_parameters import SimulatorParameters, check_lengths
from diffbot_sim.simulator_topics import TruthTopics, second_publisher


@dataclass(frozen=True)
class PacingParameters(GyroAndPoseParameters, SimulatorParameters):
    """Parameters of simulators that move a robot themselves."""

    simulated_robot: str = parameter(
        "none",
        "robot to simulate if it differs from the one given to the nodes (robot): name "
        "or path; none: the same",
    )
    period: float = parameter(0.01, "control period, s", above=0.0, maximum=0.1)
    lock_step: bool = parameter(True, "wait for the command that answers each state of the robot")
    speed: float = parameter(
        0.0, "robot time per wall time; 0: as fast as lock-step goes", minimum=0.0
    )
    paused: bool = parameter(
        False, "begin with the robot's time standing still, until ~/set_paused"
    )
    listeners: int = parameter(
        0,
        "in lock-step: subscribers of ground_truth to wait for before the first state, and "
        "whenever they fall behind; see kept_topic.py",
        minimum=0,
    )
    parameter_listeners: int = parameter(
        0, "the same of ground_truth/dynamic_parameters, or velocity_parameters", minimum=0
    )
    patience: float = parameter(
        20.0,
        "with leave_when_alone: wall time to wait for the first commands, s; then status 1",
        above=0.0,
    )


S_co = TypeVar("S_co", bound=PacingParameters, covariant=True)

SAME = "none"  # value of simulated_robot: the nodes' robot is the one that is moved
# Period at which a node checks for its partners, and repeats a state, s of wall time.
LOOK_PERIOD = 0.05
# Silence in lock-step is reported after this, s of wall time.
SILENCE = 2.0
# A sender counts as a commander for so long after its last command, s of wall time.
RECENT = 1.0


class Pacer:
    """Ties robot time to a wall clock; it never sleeps itself.

    Args:
        speed: Robot seconds per wall second, >= 0; 1 is real time, 0 is as fast as possible.
        largest_lag: Largest lag behind the wall clock that is caught up, s of wall time. After a
            longer one the schedule restarts, so that no burst follows a stall.
        clock: Monotonic wall clock, s.

    Raises:
        ValueError: An argument is outside its range.
    """

    def __init__(
        self,
        speed: float,
        largest_lag: float = 0.1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not (math.isfinite(speed) and speed >= 0.0):
            raise ValueError(
                f"speed = {speed}: must be finite and >= 0; 1.0 is real time, 0 as fast as possible"
            )
        if not largest_lag >= 0.0:
            raise ValueError(f"largest_lag = {largest_lag} s: must be >= 0")
        self._speed = float(speed)
        self._largest_lag = float(largest_lag)
        self._clock = clock
        self.restart(0.0)

    def restart(self, robot_time: float) -> None:
        """Restart the schedule at this robot time (s) now."""
        self._anchor = (self._clock(), robot_time)

    def delay(self, robot_time: float) -> float:
        """Return the wall time (s, >= 0) to wait until robot_time (s) is due; 0 means now."""
        if self._speed == 0.0:
            return 0.0
        wall, start = self._anchor
        now = self._clock()
        ahead = wall + (robot_time - start) / self._speed - now
        if -ahead > self._largest_lag:
            self._anchor = (now, robot_time)
        return max(ahead, 0.0)


class CommandPublishers:
    """Checks how many nodes publish commands on a topic: none, one, or a conflicting number.

    Args:
        node: The node that takes the commands.
        topic: Name of the topic, relative to the node's namespace.
        patience: Wall time to wait for the first publisher, s.
        own_run: The run that the node belongs to.
        quantity: The commanded quantity, for messages.

    Attributes:
        presence: Presence of the publishers.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        patience: float,
        own_run: OwnRun,
        quantity: str = "torque",
    ) -> None:
        self._node, self._own_run = node, own_run
        self._topic = node.resolve_topic_name(topic)
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
        """Number of publishers of the topic."""
        return self._node.count_publishers(self._topic)

    def conflict(self) -> str | None:
        """Return what is wrong while more than one node commands; else None.

        If senders are unknown, all publishers of the topic count.
        """
        now = time.monotonic()
        self._heard = {who: at for who, at in self._heard.items() if now - at <= RECENT}
        count = self.count if None in self._heard else min(len(self._heard), self.count)
        if count < 2:
            return None
        return (
            f"{count} nodes publish commands on {self._topic}, limit 1: zero {self._quantity} "
            "until only one does; stop the others, or give each run its own ROS_DOMAIN_ID"
        )

    def exit_code(self) -> int | None:
        """Return the exit status if no node commands any more (0) or ever did (1); else None."""
        # In a run that has a name only its own commander counts: another run's may follow it.
        own = self._own_run
        return self.presence.leave(
            own.has(COMMANDER) if own.named else self.count > 0,
            self._node.get_logger(),
            f"no node commands {self._quantity} any more; the simulation ends",
            f"no node commanded {self._quantity} within {self._patience:g} s of wall time: "
            f"start a node that publishes {self._topic}",
        )


class Refusal:
    """Ends a simulator if another node publishes its states, or if its run ended before it began.

    In a run with a name the simulator first stays silent for REFUSAL_TIME, so that the other nodes
    detect the conflict.

    Args:
        node: The simulator.
        states: Publishers of topics that no other node may publish.
        own_run: The run that the node belongs to.
    """

    def __init__(self, node: Node, states: tuple[Publisher[Any], ...], own_run: OwnRun) -> None:
        self._node, self._states, self._own_run = node, states, own_run
        self._since: float | None = None  # s of wall time

    @property
    def stands(self) -> bool:
        """Whether the simulator must end, and moves nothing any more."""
        return self._since is not None

    def exit_code(self, begun: bool) -> int | None:
        """Check the graph; return the exit status once the simulator must end, else None.

        Args:
            begun: Whether the run has begun; partners that leave later are handled elsewhere.
        """
        if self._since is None:
            why = second_publisher(self._node, self._states)
            if self._own_run.named and not begun:
                why = why or self._own_run.left()
            if not why:
                return None
            self._since = time.monotonic()
            say_last_words(self._node, why)
        stays = REFUSAL_TIME if self._own_run.named else 0.0
        return 1 if time.monotonic() - self._since >= stays else None


class PacedSimulator(Node, ABC, Generic[S_co]):
    """Moves a robot period by period.

    Args:
        name: Name of the node.
        parameters: Class of the node's parameters.

    Attributes:
        exit_code: See RunnableNode.
        values: The node's parameters.
        truth: Topics whose listeners are waited for in lock-step; a subclass sets it before `run`.
        sensors: Likewise.
        resume: For the node's kept topics: continues in lock-step if nothing is awaited any more;
            None without lock-step.

    Raises:
        ValueError: A parameter is wrong; the message states which one and why.
    """

    truth: TruthTopics
    sensors: SensorTopics
    paused = False
    """Whether the robot's time must stand still."""

    def __init__(self, name: str, parameters: type[S_co]) -> None:
        super().__init__(name)
        self._own_run = OwnRun(self, ROBOT)
        self.exit_code: int | None = None
        self.values: S_co = declare(self, parameters)
        check_lengths(self.values)
        if not self.values.lock_step and self.values.speed == 0.0:
            raise ValueError(
                "parameter 'speed' = 0.0: must be > 0 without lock_step, which alone can go as "
                "fast as possible; set speed to 1.0 for real time"
            )
        self.resume = self._go_on if self.values.lock_step else None
        self._command = (0.0, 0.0)
        self._waits = False  # whether an answer waits to be applied
        self._answered = False  # whether any state was answered so far
        self._obeyed = False  # whether any command was obeyed so far
        self._warned = False  # whether silence or waiting was logged since the last answer
        self._conflict = False
        self._last_answer = self._published = time.monotonic()
        self._pacer = Pacer(self.values.speed)

    def run(self, states: tuple[Publisher[Any], ...], commands: str, quantity: str) -> None:
        """Start time; call it once the robot and its topics exist.

        Args:
            states: Publishers of topics that no other node may publish.
            commands: Topic of the commands.
            quantity: The commanded quantity, for messages.
        """
        self._refusal = Refusal(self, states, self._own_run)
        self._commanders = CommandPublishers(
            self, commands, self.values.patience, self._own_run, quantity
        )
        self.create_service(SetBool, "~/set_paused", self._on_set_paused)
        if self.values.paused:
            self.paused = True
            self.get_logger().info(
                f"paused; to go on: ros2 service call {self.get_fully_qualified_name()}/set_paused "
                "std_srvs/srv/SetBool '{data: false}', or Gazebo's play button"
            )
        create_wall_timer(self, LOOK_PERIOD, self._look_around)
        if not self.values.lock_step:
            create_wall_timer(self, self.values.period / self.values.speed, self._run_on)

    @property
    def moved_robot(self) -> str:
        """Name or file of the simulated robot."""
        own = self.values.simulated_robot
        return self.values.robot if own == SAME else own

    # What a subclass implements.

    @property
    @abstractmethod
    def stamp(self) -> float:
        """Robot time of the newest state, s."""

    @abstractmethod
    def advance(self, command: tuple[float, float]) -> None:
        """Advance by one period with a command."""

    @abstractmethod
    def publish_state(self) -> None:
        """Publish the newest state."""

    # A period.

    def take_command(
        self, command: tuple[float, float], named: float | None, came_from: Origin
    ) -> None:
        """Process a received command; in lock-step only one that answers the newest state.

        Args:
            command: The command as received.
            named: Stamp of the state that it names, s; None: the newest.
            came_from: Its origin.
        """
        self._commanders.heard(came_from)
        if self._refusal.stands or (not self._obeyed and self._own_run.missing()):
            return
        if self.values.lock_step and not answers(named, self.stamp):
            return
        # A zero from a node that ends before it began does not begin the run.
        self._obeyed = self._obeyed or named != NOTHING
        self._commanders.presence.met = True
        self._command = (0.0, 0.0) if self._conflict else command
        if self.values.lock_step:
            self._waits = True
            self._go_on()

    def _go_on(self) -> None:
        """Advance in lock-step by one period with the waiting answer, unless time stands still."""
        if not self._waits or self.paused or self._refusal.stands or self._awaited():
            return
        self._waits = False
        if not self._answered:
            self._answered = True
            self._pacer.restart(self.stamp)
        self._last_answer, self._warned = time.monotonic(), False
        self.advance(self._command)
        if (delay := self._pacer.delay(self.stamp)) > 0.0:
            time.sleep(delay)
        self._send_state()

    def _run_on(self) -> None:
        """Advance without lock-step, with the latest command."""
        if not self.paused and not self._refusal.stands:
            self.advance(self._command)
            self._send_state()

    def _send_state(self) -> None:
        self.publish_state()
        self._published = time.monotonic()

    def _awaited(self) -> str | None:
        """Return which listeners lock-step must wait for: missing or slow ones; None if none."""
        if not self.values.lock_step:
            return None
        motion, parameters = self.truth.motion, self.truth.parameters
        if not self._answered:
            missing = parameters.missing(self.values.parameter_listeners)
            missing = missing or motion.missing(self.values.listeners) or self.sensors.missing()
            if missing:
                return missing
        return parameters.holds() or motion.holds() or self.sensors.holds() or None

    # Partners.

    def _look_around(self) -> None:
        paused = self.paused
        if paused:
            self._last_answer = time.monotonic()
        self._go_on()
        if self._ends():
            return
        self._check_for_conflict()
        if self.values.lock_step and not self._answered and (awaited := self._awaited()):
            if self._is_silent():
                self._warned = True
                self.get_logger().info(f"waiting: {awaited}")
        elif self.values.lock_step or paused:
            self._repeat_state()

    def _ends(self) -> bool:
        """Set the exit code of a node that should end; whether it ends, or a refusal stands."""
        if self.exit_code is None:
            self.exit_code = self._refusal.exit_code(self._obeyed)
        if self._refusal.stands:
            return True
        begun = self._obeyed or not self._own_run.named
        if self.exit_code is None and self.values.leave_when_alone and begun:
            self.exit_code = self._commanders.exit_code()
        return self.exit_code is not None

    def _is_silent(self) -> bool:
        """Whether no answer has arrived for long, of which the user has not been warned."""
        return not self._warned and time.monotonic() - self._last_answer > SILENCE

    def _repeat_state(self) -> None:
        # With the same stamp: the state or its answer may have been lost, and a paused robot must
        # not be taken for a dead one.
        if time.monotonic() - self._published >= LOOK_PERIOD:
            self._send_state()
        if self._answered and self._is_silent() and self._commanders.count:
            self._warned = True
            self.get_logger().warning(
                f"no command for {SILENCE} s of wall time: the robot's time stands still in "
                "lock-step until one arrives"
            )

    def _check_for_conflict(self) -> None:
        """Obey no command while two nodes command, neither of which knows the other's commands."""
        conflict = self._commanders.conflict()
        if conflict and not self._conflict:
            self._command = (0.0, 0.0)
            self.get_logger().error(conflict)
        self._conflict = conflict is not None

    def _on_set_paused(
        self, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        self.paused = request.data
        response.success = True
        response.message = "time stands still" if request.data else "time goes on"
        return response

    def close(self) -> None:
        """Wait until listeners have all truth and sensor messages, which ending would lose."""
        topics = (self.truth.motion, self.truth.parameters, *self.sensors.kept)
        await_readers_of(topics, self.exit_code is not None)
