# SPDX-License-Identifier: Apache-2.0
"""What a CommandLoop is made of that differs between nodes: the robot's messages, and the law."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from diffbot_node.command_guard import Pair, PairLimiter


class RobotInterface(ABC):
    """How a robot tells its states and takes its commands.

    Args:
        states: type of message, with a header, and name of the topic.
        commands: type of message and name of the topic.
        limiter: of the commands.

    Attributes:
        hardware: name of the robot, for `diagnostics`; empty where it is not known.
        counts: encoder counts per turn of the angles of `outline`; 0: not known.
        state_name: what a message of the robot is, in the singular, for messages.
        command_name: what is commanded, for messages.
        taker: who takes the commands, for messages.
    """

    hardware = ""
    counts = 0
    state_name = "state"
    command_name = "command"
    taker = "the robot"

    def __init__(
        self, states: tuple[type, str], commands: tuple[type, str], limiter: PairLimiter
    ) -> None:
        self.states, self.commands, self.limiter = states, commands, limiter

    @abstractmethod
    def read(self, stamp: float, message: Any) -> Any:
        """The sample in a message, with this stamp, s.

        Raises:
            ValueError: it cannot be used; zero is commanded and the reason is reported.
        """

    @abstractmethod
    def message_of(self, command: Pair, answered: float) -> Any:
        """The message that says a command; it may be the same object each time.

        Args:
            command: the command.
            answered: stamp of the state that it names, s; see robot_messages.py.
        """

    def concerns(self, message: Any) -> bool:
        """Whether a message is about this robot."""
        return True

    def outline(self, sample: Any) -> tuple[float, ...]:
        """What tells states of two sources apart besides stamps: wheels' angles, rad."""
        return ()

    def contradiction(self, sample: Any, commanded: Pair, anew: bool) -> str | None:
        """Why the robot does not do what it was commanded, which stops it; None when it does.

        Args:
            sample: the newest.
            commanded: for the period that it ends.
            anew: what came before it is not to be compared with it.
        """
        return None

    def held_by(self) -> str:
        """Why zero is to be commanded for now, though the state is good; empty otherwise."""
        return ""

    def cut_off(self) -> str:
        """Why commands do not reach the robot any more, asked every few ms; empty if they do."""
        return ""


class CommandLaw(Protocol):
    """What gives commands, and is told what has become of them.

    Attributes:
        refused: states and inputs that could not be used.
    """

    refused: int = 0

    @abstractmethod
    def on_sample(self, sample: Any) -> Pair:
        """The command for the next control period.

        A ValueError refuses the sample: zero is commanded and the reason is reported. A sample
        whose stamp is late, or does not follow the last one, is asked for, too, and then refused.
        """

    def on_commanded(self, sample: Any, command: Pair) -> None:
        """Called after the command is out, for telemetry; it is what was commanded."""

    def on_refused(self, sample: Any) -> None:
        """Called after zero was commanded because the sample was refused."""

    def on_left_out(self, sample: Any) -> None:
        """Called with a good sample that has no answer, as a newer one came; zero is commanded.

        What it tells of the robot's way is not lost.
        """

    def on_stopped(self, sample: Any) -> None:
        """Called, instead of `on_sample`, after zero was commanded because the node is stopped."""

    def on_silence(self) -> None:
        """Called after zero was commanded because no state came in time, or none to be used."""

    def awaits(self, sample: Any) -> str:
        """What has to come before the sample can be answered; empty when nothing has to.

        Only for inputs that belong to a sample, where a run shall repeat to the last digit. The
        law's node calls `resume` when something has come. A sample that has no answer when the
        next one comes is refused.
        """
        return ""

    @abstractmethod
    def held_by(self) -> str:
        """Why zero is to be commanded for now, though the state is good; empty otherwise."""

    @property
    def in_lock_step(self) -> bool:
        """Whether the robot is a simulator in lock-step.

        A run that met another one ends then, or whose wheels contradict their torque: it is to
        repeat to the last digit, and nobody will enable it again.
        """
        return False

    @abstractmethod
    def waits_for(self) -> str:
        """What is missing before anything may be commanded; empty when nothing is."""

    @abstractmethod
    def has_left(self) -> str:
        """Who of a run that has begun is gone, so that it ends with status 1; empty if nobody."""

    @abstractmethod
    def complain(self, what: str) -> None:
        """Warn of something that was refused."""

    @abstractmethod
    def finish(self, exit_code: int, last_words: str = "") -> None:
        """End the process after this callback; calls the loop's `end`."""
