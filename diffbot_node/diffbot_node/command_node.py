"""The base of every node that commands a robot; it keeps the suite's promises on commands.

- What is sent is finite and inside its limits and rate limits.
- Nothing is commanded before somebody sends states and somebody takes commands.
- Zero is sent when a state cannot be used, within `input_timeout` when they stop, and as the last
  command on every way out of the process.
- Zero stays when somebody stops it (`emergency_stop`, `~/enable`), when another node commands the
  same robot, or when the robot does not do what it is commanded, until somebody enables it.

CommandLoop keeps them; CommandGuard has the states that it goes through. Besides states and
commands there are `emergency_stop` (std_msgs/Bool, true: pressed), `~/enable` (std_srvs/SetBool)
and `diagnostics`.
"""

from __future__ import annotations

from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher

from diffbot_node.command_guard import Pair
from diffbot_node.command_loop import CommandLoop, Law, RobotInterface
from diffbot_node.complaints import Complaints
from diffbot_node.parameters import Parameter, declare

COMMAND_PARAMETERS = (
    Parameter(
        "input_timeout",
        0.07,
        "age of the newest state of the robot (joint state or odometry) after which zero is "
        "commanded, and longest time between two of them, s of the node's clock and of the stamps",
        above=0.0,
        maximum=1.0,
    ),
    Parameter(
        "patience",
        0.0,
        "wall time without good states of the robot after which the node ends with status 1, s; "
        "0: never",
        minimum=0.0,
    ),
    Parameter(
        "enabled",
        True,
        "whether it may command from the start; false: not before ~/enable is called with true",
    ),
    Parameter(
        "emergency_stop_timeout",
        0.0,
        "wall time within which something has to come on emergency_stop, else it counts as "
        "pressed, s; 0: only what comes counts",
        minimum=0.0,
    ),
)
# How long a last message may take to arrive, s of wall time.
ARRIVAL_PATIENCE = 0.5


class CommandNode(Node, Law):
    """A law that runs as a node; a subclass gives `on_sample`, and calls `connect`.

    Args:
        name: name of the node.
        parameters: all of the node; COMMAND_PARAMETERS are among them.

    Attributes:
        exit_code: see RunnableNode.
        last_words: why the node ended by itself.
        values: the parameters.
        refused: states and inputs that could not be used.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    def __init__(self, name: str, parameters: tuple[Parameter, ...]) -> None:
        super().__init__(name)
        self.exit_code: int | None = None
        self.last_words = ""
        self.values = declare(self, parameters)
        self._complaints = Complaints()

    def connect(self, robot: RobotInterface) -> None:
        """Subscribe to a robot's states and begin to watch over what is commanded."""
        self.loop = CommandLoop(self, self.values, robot, self)

    @property
    def state_name(self) -> str:
        """What a message of the robot is, in the singular, for messages."""
        return self.loop.robot.state_name

    @property
    def commanded(self) -> Pair:
        """What was commanded last."""
        return self.loop.guard.command

    @property
    def stopped_by(self) -> str:
        """Why it is stopped until somebody enables it; empty when it is not."""
        return self.loop.stopped_by

    @property
    def is_pending(self) -> bool:
        """Whether a sample waits for what `awaits` names."""
        return self.loop.is_pending

    def resume(self) -> None:
        """Answer the sample that waits, if nothing is missing any more."""
        self.loop.resume()

    def waits_for(self) -> str:
        """What is missing before anything may be commanded; empty when nothing is."""
        return self.loop.waits_for()

    def has_left(self) -> str:
        """Who of a run that has begun is gone, so that it ends with status 1; empty if nobody."""
        return self.loop.has_left()

    def keep_waiting(self) -> None:
        """What is waited for is on its way: `patience` begins anew."""
        self.loop.presence.keep_waiting()

    def complain(self, what: str) -> None:
        """Warn, at most once a second for sentences that differ in numbers only."""
        if self._complaints.due(what):
            self.get_logger().warning(what)

    def finish(self, exit_code: int, last_words: str = "") -> None:
        """End the process after this callback; zero goes out on the way.

        Args:
            exit_code: status of the process.
            last_words: why; logged as an error when the status is not 0.
        """
        self.loop.end(last_words or "done")
        self.last_words = last_words
        if last_words:
            (self.get_logger().error if exit_code else self.get_logger().info)(last_words)
        self.exit_code = exit_code

    def close(self) -> None:
        """Zero as the last thing on the wire."""
        self.loop.output.close(self.refused)

    def await_arrival(self, publisher: Publisher[Any]) -> None:
        """Wait a little until all who listen have a last message, which an ending process loses.

        Call it after zero has gone out.
        """
        publisher.wait_for_all_acked(Duration(seconds=ARRIVAL_PATIENCE))
