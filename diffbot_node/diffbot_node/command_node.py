# SPDX-License-Identifier: Apache-2.0
"""The base of every node that commands a robot; it guarantees safe commands (docs/safety.md).

Interfaces: `emergency_stop` (std_msgs/Bool, true: pressed), `~/enable` (std_srvs/SetBool) and
`diagnostics`.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from rclpy.duration import Duration
from rclpy.publisher import Publisher

from diffbot_node.checks import Moment
from diffbot_node.command_checks import CommandChecks
from diffbot_node.command_guard import Pair
from diffbot_node.command_interfaces import CommandLaw, CommandParameters, RobotInterface
from diffbot_node.command_loop import CommandLoop
from diffbot_node.command_output import CommandOutput
from diffbot_node.counted_topic import ARRIVAL_PATIENCE
from diffbot_node.intra_process import Node
from diffbot_node.launch_supervision import say_last_words
from diffbot_node.parameters import declare
from diffbot_node.presence import PARTING, Presence
from diffbot_node.robot_messages import NodeClock, create_wall_timer
from diffbot_node.state_age import StateClock
from diffbot_node.state_subscription import Stall, StateSubscription
from diffbot_node.verdicts import Verdict

# Period of the timer that checks the age of the inputs, s of wall time.
WATCH_PERIOD = 0.01


# Covariant: parameters are frozen, so a node may hold those of a subclass.
P_co = TypeVar("P_co", bound=CommandParameters, covariant=True)


class CommandNode(Node, CommandLaw, Generic[P_co]):
    """A law that runs as a node; a subclass implements `on_sample` and calls `connect`.

    Attributes:
        last_words: Why the node ended on its own.
        presence: Presence of the robot, judged by the usable states that arrive.

    Raises:
        ValueError: A parameter is wrong.
    """

    leaves_first = True

    def __init__(self, name: str, parameters: type[P_co]) -> None:
        super().__init__(name)
        self.last_words = ""
        self._stood = ""  # value of stopped_by when the node ended
        self.values: P_co = declare(self, parameters)

    def connect(self, robot: RobotInterface) -> None:
        """Subscribe to a robot's states and start the command loop."""
        values, composed = self.values, self.composed
        self.output = CommandOutput(self, values, robot)
        self.clock = NodeClock(self)
        self.presence = Presence(values.patience, PARTING)
        self.states = StateSubscription(self, robot, lambda *state: self.loop.on_state(*state))
        age = StateClock(self.clock, values.input_timeout, robot.state_name)
        self._checks = CommandChecks(
            robot, self, self.states, self.output, self.clock, age, self.presence, composed
        )
        stall = Stall(values.input_timeout)
        self.loop = CommandLoop(
            *(robot, self._checks, self, self.output, age, self.presence, self.clock, stall),
            lock_step=composed,
        )
        create_wall_timer(self, WATCH_PERIOD, lambda: self.loop.look())

    @property
    def commanded(self) -> Pair:
        return self.output.guard.command

    @property
    def stopped_by(self) -> str:
        """Why it waits for somebody to enable it; empty if it does not."""
        return self.output.stopped_by

    @property
    def refused(self) -> int:
        return self.output.refused

    def waits_for(self) -> Verdict:
        """What is missing before commands may begin."""
        return self._checks.checklist.first(Moment.BEGIN)

    def complain(self, what: str) -> None:
        self.output.complain(what)

    def interruption(self) -> str:
        """Why the node ended, for its last state: a signal if there is no other reason."""
        stood = self._stood or self.stopped_by
        while_stopped = f" while stopped: {stood}" if stood else ""
        return self.last_words or f"interrupted{while_stopped}"

    def finish(self, exit_code: int, last_words: str = "") -> None:
        """Command zero, and end the process after this callback.

        `last_words` say why; they are logged as an error if the exit status is not 0.
        """
        self.output.end(last_words or "done")
        self.last_words = last_words
        if last_words and exit_code:
            say_last_words(self, last_words)
        elif last_words:
            self.get_logger().info(last_words)
        self.exit_code = exit_code

    def close(self) -> None:
        self._stood = self.stopped_by
        self.output.close()

    def await_arrival(self, publisher: Publisher[Any]) -> None:
        publisher.wait_for_all_acked(Duration(seconds=ARRIVAL_PATIENCE))
