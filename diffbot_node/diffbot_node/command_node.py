# SPDX-License-Identifier: Apache-2.0
"""The base of every node that commands a robot; it keeps the suite's promises on commands.

- What is sent is finite and inside its limits and rate limits.
- Nothing is commanded before somebody sends states and somebody takes commands.
- Zero is sent when a state cannot be used, within `input_timeout` when they stop, and as the last
  command on every way out of the process.
- Zero stays when somebody stops it (`emergency_stop`, `~/enable`), when another node commands the
  same robot, or when the robot does not do what it is commanded, until somebody enables it.

EffortNode is the base of those that command wheel torque. CommandLoop keeps the promises;
CommandGuard has the states that it goes through. Besides states and commands there are
`emergency_stop` (std_msgs/Bool, true: pressed), `~/enable` (std_srvs/SetBool) and `diagnostics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from arc_odometry import JointReader, JointSample
from diffbot_description import Robot, load_robot
from diffbot_node.command_guard import Pair, TorqueLimiter
from diffbot_node.command_interfaces import CommandLaw, RobotInterface
from diffbot_node.command_loop import CommandLoop
from diffbot_node.complaints import Complaints
from diffbot_node.own_run import COMMANDER, OwnRun
from diffbot_node.parameters import CommandParameters, RobotParameters, declare, parameter
from diffbot_node.robot_messages import effort_command, label
from diffbot_node.running import say_last_words
from diffbot_node.stopping import LATCHED, Pulse
from diffbot_node.wheel_watch import WheelWatch


@dataclass(frozen=True)
class EffortParameters(CommandParameters, RobotParameters):
    """Of nodes that command wheel torque."""

    torque_limit: float = parameter(
        0.0,
        "largest wheel torque commanded, N m; 0 takes what the robot's wheels carry (traction)",
        minimum=0.0,
    )
    wheel_watch: bool = parameter(
        True,
        "stop when the wheels contradict the torque: a stuck encoder, flipped or swapped torque",
    )


WATCHDOG_HOLDS = "effort_watchdog/holds"
# Silence of the watchdog after which it counts as dead, s of wall time: five of its pulses.
WATCHDOG_PATIENCE = 0.5
# How long a last message may take to arrive, s of wall time.
ARRIVAL_PATIENCE = 0.5

# What a node may do with its parameters, a subclass may: they are frozen.
P_co = TypeVar("P_co", bound=CommandParameters, covariant=True)
E_co = TypeVar("E_co", bound=EffortParameters, covariant=True)


class CommandNode(Node, CommandLaw, Generic[P_co]):
    """A law that runs as a node; a subclass gives `on_sample`, and calls `connect`.

    Args:
        name: name of the node.
        parameters: of the node.

    Attributes:
        exit_code: see RunnableNode.
        last_words: why the node ended by itself.
        values: the parameters.
        refused: states and inputs that could not be used.
        own_run: that the node belongs to.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    def __init__(self, name: str, parameters: type[P_co]) -> None:
        super().__init__(name)
        self.own_run = OwnRun(self, COMMANDER)
        self.exit_code: int | None = None
        self.last_words = ""
        self._stood = ""  # stopped_by when it ended
        self.values: P_co = declare(self, parameters)
        self._complaints = Complaints()

    def connect(self, robot: RobotInterface) -> None:
        """Subscribe to a robot's states and begin to watch over what is commanded."""
        self.loop = CommandLoop(self, self.values, robot, self, self.own_run)

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
    def pending(self) -> Any | None:
        """The sample that waits, mostly for what `awaits` names; None when none does."""
        return self.loop.pending

    def resume(self) -> None:
        """Answer the sample that waits, if nothing is missing any more."""
        self.loop.resume()

    def waits_for(self) -> str:
        """What is missing before anything may be commanded; empty when nothing is."""
        return self.loop.waits_for()

    def held_by(self) -> str:
        """Why zero is to be commanded for now, though the state is good; empty otherwise."""
        return ""

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

    def interruption(self) -> str:
        """Why it ends where nothing but a signal may have ended it, for its last state."""
        stood = self._stood or self.stopped_by
        while_stopped = f" while stopped: {stood}" if stood else ""
        return self.last_words or f"interrupted{while_stopped}"

    def finish(self, exit_code: int, last_words: str = "") -> None:
        """End the process after this callback; zero goes out on the way.

        Args:
            exit_code: status of the process.
            last_words: why; logged as an error when the status is not 0.
        """
        self.loop.end(last_words or "done")
        self.last_words = last_words
        if last_words and exit_code:
            say_last_words(self, last_words)
        elif last_words:
            self.get_logger().info(last_words)
        self.exit_code = exit_code

    def close(self) -> None:
        """Zero as the last thing on the wire."""
        self._stood = self.stopped_by
        self.loop.output.close(self.refused)

    def await_arrival(self, publisher: Publisher[Any]) -> None:
        """Wait a little until all who listen have a last message, which an ending process loses.

        Call it after zero has gone out.
        """
        publisher.wait_for_all_acked(Duration(seconds=ARRIVAL_PATIENCE))


class TorqueInterface(RobotInterface):
    """Wheels that tell `joint_states` and take `effort_controller/commands`, [left, right].

    Both are in the robot's `drive.effort_unit`; here, everything is in N m. Of several joints of a
    side each gets an equal part of the command, in the order of the robot file.

    Args:
        node: hears from the watchdog.
        robot: whose wheels they are.
        limiter: of their torque.
        fields: what the joint states must hold, of position, velocity and effort.
        watch: stops them when they contradict their torque; None: nothing does.
    """

    state_name = "joint state"
    command_name = "torque"
    taker = "the effort controller"

    def __init__(
        self,
        node: Node,
        robot: Robot,
        limiter: TorqueLimiter,
        fields: tuple[str, ...],
        watch: WheelWatch | None,
    ) -> None:
        super().__init__(
            (JointState, "joint_states"), (Float64MultiArray, "effort_controller/commands"), limiter
        )
        self.hardware, self.counts = robot.name, robot.encoder.counts
        # Side of each joint, and its effort for 1 N m of that side.
        shares = robot.joints.shared(robot.drive.effort_of((1.0, 1.0)))
        self._parts = [*enumerate(zip(robot.joints.repeated((0, 1)), shares, strict=True))]
        self._reader = JointReader(
            robot.joints.left, robot.joints.right, fields, robot.drive.torque_of((1.0, 1.0))
        )
        self._watch = watch
        self._watchdog_holds, self._pulse = False, Pulse(WATCHDOG_PATIENCE)
        node.create_subscription(Bool, WATCHDOG_HOLDS, self._on_watchdog, LATCHED)
        self._command = effort_command(len(robot.joints.names))

    def concerns(self, message: JointState) -> bool:
        """Whether it names the wheels."""
        return self._reader.concerns(message.name)

    def read(self, stamp: float, message: JointState) -> JointSample:
        """The wheels' sample."""
        return self._reader.read(
            stamp, message.name, message.position, message.velocity, message.effort
        )

    def outline(self, sample: JointSample) -> Pair:
        """The wheels' angles [left, right], rad."""
        return sample.position

    def contradiction(self, sample: JointSample, commanded: Pair, anew: bool) -> str | None:
        """What WheelWatch says of the wheels' motion under the torque commanded so far.

        Or that wheels of one side do not turn alike, where it has several.
        """
        if self._watch is None:
            return None
        if anew:
            self._watch.reset()
            self._reader.compare_anew()
        return self._watch.update(sample, commanded) or self._reader.disagreement or None

    def held_by(self) -> str:
        """The watchdog, as long as it gives the wheels zero whatever is commanded.

        It lets commands pass from zero on only: who went on commanding would never pass. And a
        driver that does not take commands: what it will take next should be zero.
        """
        if self._watchdog_holds:
            return "effort_watchdog holds zero; its diagnostics say why"
        return self._watch.late if self._watch else ""

    def cut_off(self) -> str:
        """The watchdog, if it was alive and is silent: nobody passes commands on to the wheels."""
        silence = self._pulse.look()
        return silence and f"nothing from effort_watchdog for {silence}: it died or hangs"

    def _on_watchdog(self, message: Bool) -> None:
        self._watchdog_holds = message.data
        self._pulse.beat()

    def message_of(self, command: Pair, answered: float) -> Float64MultiArray:
        """Torques [left, right], N m, and the stamp of the state that they answer, s."""
        for index, (side, share) in self._parts:
            self._command.data[index] = float(share * command[side])
        self._command.layout.dim[0].label = label(answered)
        return self._command


class EffortNode(CommandNode[E_co]):
    """A CommandNode on a TorqueInterface: `on_sample` is told a JointSample and gives torque, N m.

    Args:
        name: name of the node.
        parameters: of the node.

    Attributes:
        robot: that the parameter names.
        geometry: of its wheels.
        torque_limit: largest torque that will be commanded, N m.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    def __init__(self, name: str, parameters: type[E_co]) -> None:
        super().__init__(name, parameters)
        self.robot: Robot = load_robot(self.values.robot)
        self.geometry = self.robot.geometry
        limiter = self._make_limiter()
        self.torque_limit = limiter.limit
        watch = WheelWatch(self.robot, self.largest_torque())
        self.connect(
            TorqueInterface(
                self,
                self.robot,
                limiter,
                self.required_fields(),
                watch if self.values.wheel_watch else None,
            )
        )

    def required_fields(self) -> tuple[str, ...]:
        """What the joint states must hold, of position, velocity and effort."""
        return JointReader.FIELDS

    def largest_torque(self) -> float:
        """Largest torque that will be asked for, N m; what WheelWatch takes for a strong one."""
        return self.torque_limit

    def _make_limiter(self) -> TorqueLimiter:
        limits, asked = self.robot.limits, self.values.torque_limit
        if asked > limits.torque:
            raise ValueError(
                f"parameter 'torque_limit' = {asked} N m: must be <= {limits.torque} N m, the "
                f"torque limit of robot '{self.robot.name}'; lower it or correct the robot's YAML"
            )
        if asked > limits.traction:
            self.get_logger().warning(
                f"torque_limit = {asked} N m is more than limits.traction = {limits.traction} N m "
                f"of robot '{self.robot.name}': its wheels may slip or lift, and odometry is then "
                "wrong"
            )
        return TorqueLimiter(asked or limits.traction, limits.torque_rate)
