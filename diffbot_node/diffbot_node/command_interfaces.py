# SPDX-License-Identifier: Apache-2.0
"""The parts of a CommandLoop that differ between nodes: the robot's messages, and the law."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

from diffbot_node.command_guard import Pair, PairLimiter
from diffbot_node.parameter_fields import parameter
from diffbot_node.verdicts import GOOD, Verdict


class RobotInterface(ABC):
    """How a robot publishes its states and receives its commands; (type, topic) of each.

    `hardware` is the robot's name, empty if unknown; `counts`: encoder counts per turn of
    `wheel_angles`, 0 if unknown. The other names are for messages.
    """

    hardware = ""
    counts = 0
    state_name = "state"
    command_name = "command"
    subscriber = "the robot"

    def __init__(
        self, states: tuple[type, str], commands: tuple[type, str], limiter: PairLimiter
    ) -> None:
        self.states, self.commands, self.limiter = states, commands, limiter

    @abstractmethod
    def read(self, stamp: float, message: Any) -> Any:
        """Return the sample in a message with this stamp, s; a ValueError refuses it."""

    def stamp(self, message: Any) -> Any:
        """Return the stamp of a message that concerns this robot, builtin_interfaces/Time."""
        return message.header.stamp

    @abstractmethod
    def message_of(self, command: Pair) -> Any:
        """Return a new message of a command."""

    def concerns(self, message: Any) -> bool:
        return True

    def unrelated(self) -> Verdict:
        """Whether the messages that arrive do not concern this robot."""
        return GOOD

    def wheel_angles(self, sample: Any) -> tuple[float, ...]:
        """Return what tells states of two sources apart besides stamps: wheel angles, rad."""
        return ()

    def contradiction(self, sample: Any, commanded: Pair, anew: bool) -> Verdict:
        """Whether the robot does not obey its commands, which stops it.

        `commanded` acted over the period that the sample ends; `anew`: forget earlier samples.
        """
        return GOOD

    def held_by(self) -> Verdict:
        """Whether zero must be commanded for now although the state is good."""
        return GOOD

    def cut_off(self) -> Verdict:
        """Whether commands no longer reach the robot; called every few ms."""
        return GOOD


class CommandLaw(Protocol):
    """Computes commands, and is notified of what was commanded instead or in the end."""

    @abstractmethod
    def on_sample(self, sample: Any) -> Pair:
        """Return the command for the next period; a ValueError refuses the sample.

        Also called for a sample whose stamp is wrong, which is refused afterwards.
        """

    def on_commanded(self, sample: Any, command: Pair) -> None:
        """Called after `command` was sent as the answer, for telemetry."""

    def on_refused(self, sample: Any) -> None:
        """Called after zero was commanded because the sample was refused."""

    def on_left_out(self, sample: Any) -> None:
        """Called with a good sample that a newer one has replaced; zero is commanded."""

    def on_stopped(self, sample: Any) -> None:
        """Called, instead of `on_sample`, after zero because the node is stopped."""

    def on_silence(self) -> None:
        """Called after zero because no usable state arrived in time."""

    def needs(self) -> Verdict:
        """What else than robot and clock is missing before commands may begin."""
        return GOOD

    def awaits(self, sample: Any) -> Verdict:
        """Which input must arrive before the sample can be answered, in runs that must repeat.

        The node calls `loop.resume` when one has arrived.
        """
        return GOOD

    def held_by(self) -> Verdict:
        """Whether zero must be commanded for now although the state is good."""
        return GOOD

    def has_left(self) -> Verdict:
        """Which partner of a begun run, other than the robot, has left, so that the run ends."""
        return GOOD

    @abstractmethod
    def finish(self, exit_code: int, last_words: str = "") -> None:
        """Command zero, and end the process after this callback."""


@dataclass(frozen=True)
class CommandParameters:
    """Parameters of all nodes that command a robot."""

    input_timeout: float = parameter(
        0.07,
        "age of the newest state of the robot (joint state or odometry) after which zero is "
        "commanded, and longest time between two of them, s of the node's clock and of the stamps",
        above=0.0,
        maximum=1.0,
    )
    patience: float = parameter(
        0.0,
        "wall time without good states of the robot after which the node ends with status 1, s; "
        "0: never",
        minimum=0.0,
    )
    enabled: bool = parameter(
        True,
        "whether it may command from the start; false: not before ~/enable is called with true",
    )
    emergency_stop_timeout: float = parameter(
        0.0,
        "longest wall time without a message on emergency_stop before it counts as pressed, s; "
        "0: no limit",
        minimum=0.0,
    )
