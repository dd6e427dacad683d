# SPDX-License-Identifier: Apache-2.0
"""Robots that take wheel torque: joint states and efforts, and the node that commands them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from arc_odometry import JointReader, JointSample
from diffbot_description import Robot, load_robot
from diffbot_node.command_guard import Pair, TorqueLimiter
from diffbot_node.command_interfaces import CommandParameters, RobotInterface
from diffbot_node.command_node import CommandNode
from diffbot_node.intra_process import Node
from diffbot_node.parameter_fields import RobotParameters, parameter
from diffbot_node.stop_inputs import Pulse
from diffbot_node.topic_nodes import LATCHED
from diffbot_node.verdicts import GOOD, Level, Verdict, judged
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
_HOLDS = Verdict(Level.HOLD, "effort_watchdog holds the torque at zero; see its diagnostics")
E_co = TypeVar("E_co", bound=EffortParameters, covariant=True)


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
