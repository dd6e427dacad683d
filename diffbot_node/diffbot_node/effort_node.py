"""The base of every node that commands wheel torque; CommandNode keeps its promises."""

from __future__ import annotations

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from arc_odometry import JointReader, JointSample, WheelGeometry
from diffbot_description import Robot, load_robot
from diffbot_node.answers import effort_command, label
from diffbot_node.command_guard import Pair, TorqueLimiter
from diffbot_node.command_loop import RobotInterface
from diffbot_node.command_node import COMMAND_PARAMETERS, CommandNode
from diffbot_node.parameters import Parameter
from diffbot_node.stopping import LATCHED
from diffbot_node.wheel_watch import WheelWatch

EFFORT_PARAMETERS = (
    Parameter("robot", "twil", "name of a robot of the suite, or the path of a robot's YAML"),
    Parameter(
        "torque_limit",
        0.0,
        "largest wheel torque commanded, N m; 0 takes what the robot's wheels carry (traction)",
        minimum=0.0,
    ),
    Parameter(
        "wheel_watch",
        True,
        "stop when the wheels contradict the torque: a stuck encoder, flipped or swapped torque",
    ),
    *COMMAND_PARAMETERS,
)
WATCHDOG_HOLDS = "effort_watchdog/holds"


class TorqueInterface(RobotInterface):
    """Wheels that tell `joint_states` and take `effort_controller/commands` ([left, right], N m).

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
        self._reader = JointReader(robot.joints.left, robot.joints.right, fields)
        self._watch = watch
        self._watchdog_holds = False
        node.create_subscription(Bool, WATCHDOG_HOLDS, self._on_watchdog, LATCHED)
        self._command = effort_command()

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
        """What WheelWatch says of the wheels' motion under the torque commanded so far."""
        if self._watch is None:
            return None
        if anew:
            self._watch.reset()
        return self._watch.update(sample, commanded)

    def held_by(self) -> str:
        """The watchdog, as long as it gives the wheels zero whatever is commanded.

        It lets commands pass from zero on only: who went on commanding would never pass.
        """
        return "effort_watchdog holds zero; its diagnostics say why" if self._watchdog_holds else ""

    def _on_watchdog(self, message: Bool) -> None:
        self._watchdog_holds = message.data

    def message_of(self, command: Pair, answered: float) -> Float64MultiArray:
        """Torques [left, right], N m, and the stamp of the state that they answer, s."""
        self._command.data[0], self._command.data[1] = float(command[0]), float(command[1])
        self._command.layout.dim[0].label = label(answered)
        return self._command


class EffortNode(CommandNode):
    """A CommandNode on a TorqueInterface: `on_sample` is told a JointSample and gives torque, N m.

    Args:
        name: name of the node.
        parameters: the subclass's own parameters; EFFORT_PARAMETERS are added.

    Attributes:
        robot: that the parameter names.
        geometry: of its wheels.
        torque_limit: largest torque that will be commanded, N m.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    def __init__(self, name: str, parameters: tuple[Parameter, ...] = ()) -> None:
        super().__init__(name, (*EFFORT_PARAMETERS, *parameters))
        self.robot: Robot = load_robot(self.values.robot)
        wheels = self.robot.wheels
        self.geometry = WheelGeometry(wheels.radius, wheels.radius, wheels.separation)
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
