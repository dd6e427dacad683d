# SPDX-License-Identifier: Apache-2.0
"""The base of every node that commands a robot; it guarantees safe commands (docs/safety.md).

Interfaces: `emergency_stop` (std_msgs/Bool, true: pressed), `~/enable` (std_srvs/SetBool) and
`diagnostics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rclpy.duration import Duration
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from arc_odometry import JointReader, JointSample
from diffbot_description import Robot, load_robot
from diffbot_node.checks import GOOD, Level, Moment, Verdict, judged
from diffbot_node.command_checks import CommandChecks
from diffbot_node.command_guard import Pair, TorqueLimiter
from diffbot_node.command_interfaces import CommandLaw, RobotInterface
from diffbot_node.command_loop import CommandLoop
from diffbot_node.command_output import CommandOutput
from diffbot_node.intra_process import Node
from diffbot_node.launch_supervision import say_last_words
from diffbot_node.parameter_fields import RobotParameters, parameter
from diffbot_node.parameters import CommandParameters, declare
from diffbot_node.presence import PARTING, Presence
from diffbot_node.robot_messages import NodeClock, create_wall_timer
from diffbot_node.state_age import StateClock
from diffbot_node.state_subscription import Stall, StateSubscription
from diffbot_node.stop_inputs import LATCHED, Pulse
from diffbot_node.topic_nodes import ARRIVAL_PATIENCE
from diffbot_node.wheel_watch import WheelWatch


@dataclass(frozen=True)
class EffortParameters(CommandParameters, RobotParameters):
    """Parameters of nodes that command wheel torque."""

    torque_limit: float = parameter(
        0.0,
        "largest wheel torque commanded, N m; 0: the robot's limits.traction",
        minimum=0.0,
    )
    wheel_watch: bool = parameter(
        True,
        "stop if the wheels' motion contradicts the torque: stuck encoder, flipped or swapped "
        "torque",
    )


WATCHDOG_HOLDS = "effort_watchdog/holds"
# Silence after which the watchdog counts as dead, s of wall time: five of its pulses.
WATCHDOG_PATIENCE = 0.5
# Period of the timer that checks the age of the inputs, s of wall time.
WATCH_PERIOD = 0.01

_HOLDS = Verdict(Level.HOLD, "effort_watchdog holds the torque at zero; see its diagnostics")

# Covariant: parameters are frozen, so a node may hold those of a subclass.
P_co = TypeVar("P_co", bound=CommandParameters, covariant=True)
E_co = TypeVar("E_co", bound=EffortParameters, covariant=True)


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


class TorqueInterface(RobotInterface):
    """Wheels that publish `joint_states` and take `effort_controller/commands`, [left, right].

    Both topics are in the robot's `drive.effort_unit`, this class in N m. Several joints of a side
    get equal shares of the command, in the order of the robot file.

    Args:
        fields: Required fields of the joint states, of position, velocity and effort.
        watch: Stops wheels that contradict their torque; None: nothing does.
    """

    state_name = "joint state"
    command_name = "torque"
    subscriber = "the effort controller"

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
        self._parts = [*zip(robot.joints.sides, shares, strict=True)]
        self._reader = robot.joint_reader(fields)
        self._watch = watch
        self._watchdog_holds, self._pulse = False, Pulse(WATCHDOG_PATIENCE)
        node.create_subscription(Bool, WATCHDOG_HOLDS, self._on_watchdog, LATCHED)

    def concerns(self, message: JointState) -> bool:
        return self._reader.concerns(message.name)

    def read(self, stamp: float, message: JointState) -> JointSample:
        return self._reader.read(
            stamp, message.name, message.position, message.velocity, message.effort
        )

    def wheel_angles(self, sample: JointSample) -> Pair:
        return sample.position

    def unrelated(self) -> Verdict:
        return judged(Level.WAIT, self._reader.mismatch)

    def contradiction(self, sample: JointSample, commanded: Pair, anew: bool) -> Verdict:
        if self._watch is None:
            return GOOD
        if anew:
            self._watch.reset()
            self._reader.compare_anew()
        wrong = self._watch.update(sample, commanded) or self._reader.disagreement
        return judged(Level.STOP, wrong)

    def held_by(self) -> Verdict:
        if self._watchdog_holds:
            return _HOLDS
        return judged(Level.HOLD, self._watch.late) if self._watch else GOOD

    def cut_off(self) -> Verdict:
        silence = self._pulse.look()
        why = f"no message from effort_watchdog for {silence}: it has died or hangs"
        return judged(Level.STOP, silence and why)

    def _on_watchdog(self, message: Bool) -> None:
        self._watchdog_holds = message.data
        self._pulse.beat()

    def message_of(self, command: Pair) -> Float64MultiArray:
        return Float64MultiArray(
            data=[float(fraction * command[side]) for side, fraction in self._parts]
        )


class EffortNode(CommandNode[E_co]):
    """A CommandNode on a TorqueInterface: `on_sample` maps a JointSample to torque, N m.

    Attributes:
        torque_limit: Largest torque that will be commanded, N m.
    """

    def __init__(self, name: str, parameters: type[E_co]) -> None:
        super().__init__(name, parameters)
        self.robot: Robot = load_robot(self.values.robot)
        _check_torques(self.robot)
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
        return JointReader.FIELDS

    def largest_torque(self) -> float:
        """Return the largest torque that the law will demand, N m; the limit of WheelWatch."""
        return self.torque_limit

    def _make_limiter(self) -> TorqueLimiter:
        limits, asked = self.robot.limits, self.values.torque_limit
        self.robot.check_limit("torque_limit", asked, "torque", "N m")
        if asked > limits.traction:
            self.get_logger().warning(
                f"torque_limit = {asked} N m is more than limits.traction = {limits.traction} N m "
                f"of robot '{self.robot.name}': its wheels may slip or lift, and odometry is then "
                "wrong"
            )
        return TorqueLimiter(asked or limits.traction, limits.torque_rate)


def _check_torques(robot: Robot) -> None:
    """Refuse a robot that takes velocities and whose masses are assumed."""
    if robot.takes_velocity and "body.mass" in robot.assumed:
        raise ValueError(
            f"robot '{robot.name}' takes velocities (drive.command) and its file states no masses: "
            "torques cannot be computed for it; drive it by cmd_vel, or describe it fully with "
            "drive.command: effort"
        )
