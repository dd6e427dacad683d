# SPDX-License-Identifier: Apache-2.0
"""The parts of a CommandLoop that differ between nodes: the robot's messages, and the law."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from diffbot_node.command_guard import Pair, PairLimiter


class RobotInterface(ABC):
    """How a robot publishes its states and receives its commands.

    Args:
        states: Type of the states' message, with a header, and topic name.
        commands: Type of the commands' message, and topic name.
        limiter: Limiter of the commands.

    Attributes:
        hardware: Name of the robot, for `diagnostics`; empty if unknown.
        counts: Encoder counts per turn of the angles of `wheel_angles`; 0: unknown.
        state_name: What a state is called, in the singular, for messages.
        command_name: The commanded quantity, for messages.
        subscriber: What receives the commands, for messages.
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
        """Return the sample in a message with this stamp, s.

        Raises:
            ValueError: The message cannot be used; zero is commanded and the reason is reported.
        """

    @abstractmethod
    def message_of(self, command: Pair) -> Any:
        """Return a new message of a command."""

    def concerns(self, message: Any) -> bool:
        """Whether a message concerns this robot."""
        return True

    def unrelated(self) -> str:
        """Why the messages that arrive do not concern this robot; empty if they do."""
        return ""

    def wheel_angles(self, sample: Any) -> tuple[float, ...]:
        """Return what tells states of two sources apart besides stamps: wheel angles, rad."""
        return ()

    def contradiction(self, sample: Any, commanded: Pair, anew: bool) -> str | None:
        """Why the robot does not obey its commands, which stops it; None if it does.

        Args:
            sample: The newest sample.
            commanded: The command for the period that the sample ends.
            anew: Whether to restart the comparison: earlier samples are not comparable.
        """
        return None

    def held_by(self) -> str:
        """Why zero must be commanded for now although the state is good; empty otherwise."""
        return ""

    def cut_off(self) -> str:
        """Why commands no longer reach the robot, called every few ms; empty if they do."""
        return ""


class CommandLaw(Protocol):
    """Computes commands, and is notified of what was commanded instead or in the end.

    Attributes:
        refused: Number of states and inputs that could not be used.
    """

    refused: int = 0

    @abstractmethod
    def on_sample(self, sample: Any) -> Pair:
        """Return the command for the next control period.

        A ValueError refuses the sample: zero is commanded and the reason is reported. The method is
        also called for a sample whose stamp is late or does not follow the last one, which is then
        refused.
        """

    def on_commanded(self, sample: Any, command: Pair) -> None:
        """Called after `command` was sent as the answer to the sample, for telemetry."""

    def on_refused(self, sample: Any) -> None:
        """Called after zero was commanded because the sample was refused."""

    def on_left_out(self, sample: Any) -> None:
        """Called with a good sample that a newer one has replaced unanswered; zero is commanded.

        The law can still use it as a measurement of the robot's motion.
        """

    def on_stopped(self, sample: Any) -> None:
        """Called, instead of `on_sample`, after zero was commanded because the node is stopped."""

    def on_silence(self) -> None:
        """Called after zero was commanded because no usable state arrived in time."""

    def awaits(self, sample: Any) -> str:
        """Which input must arrive before the sample can be answered; empty if none.

        Only for inputs that belong to a sample, in runs that must repeat to the last digit. The
        law's node calls `resume` when an input has arrived. A sample that is still unanswered when
        the next one arrives is refused.
        """
        return ""

    @abstractmethod
    def held_by(self) -> str:
        """Why zero must be commanded for now although the state is good; empty otherwise."""

    @property
    def in_lock_step(self) -> bool:
        """Whether the robot is a simulator in this process, which waits for each command.

        If so, the run ends when another node commands its robot, or when its wheels contradict
        their torque: nobody will enable it again. A simulator that stands still is not silent: it
        continues with the answer to its last state.
        """
        return False

    @abstractmethod
    def waits_for(self) -> str:
        """What is missing before commands may begin; empty if nothing is."""

    @abstractmethod
    def has_left(self) -> str:
        """Which partner of a begun run has left, so that it ends with status 1; empty if none."""

    @abstractmethod
    def complain(self, what: str) -> None:
        """Log a warning about something that was refused."""

    @abstractmethod
    def finish(self, exit_code: int, last_words: str = "") -> None:
        """End the process after this callback; calls the loop's `end`."""
