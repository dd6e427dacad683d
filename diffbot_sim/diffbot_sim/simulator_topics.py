"""What every simulator of the suite publishes: wheels, clock, true motion and true parameters."""

from __future__ import annotations

import math
from collections.abc import Callable

from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from arc_odometry import JointSample
from diffbot_description import DynamicParameters as TrueParameters
from diffbot_description import Robot
from diffbot_msgs.msg import DynamicParameters
from diffbot_node import KeptTopic, to_stamp
from diffbot_node.stamps import named_by
from diffbot_node.state_sources import WithSender


class MotionTopic:
    """Publisher of how a simulated robot truly moves; never an input of what drives it.

    `ground_truth` (nav_msgs/Odometry, base_link in odom).

    Args:
        node: publishes.
        resume: see KeptTopic; None: nobody is waited for.

    Attributes:
        motion_topic: that it is sent on.
    """

    def __init__(self, node: Node, resume: Callable[[], None] | None = None) -> None:
        self.motion_topic = KeptTopic(node, Odometry, "ground_truth", resume)
        self._odometry = Odometry(child_frame_id="base_link")
        self._odometry.header.frame_id = "odom"

    def is_watched(self) -> bool:
        """Tell whether somebody listens to the true motion."""
        return self.motion_topic.subscribers > 0

    def publish_motion(
        self, stamp: float, pose: tuple[float, float, float], velocity: tuple[float, float]
    ) -> None:
        """Publish the true pose x, y, theta (m, rad) and velocity v, omega (m/s, rad/s)."""
        message = self._odometry
        x, y, theta = pose
        message.header.stamp = to_stamp(stamp)
        message.pose.pose.position.x, message.pose.pose.position.y = float(x), float(y)
        message.pose.pose.orientation.z = math.sin(0.5 * theta)
        message.pose.pose.orientation.w = math.cos(0.5 * theta)
        message.twist.twist.linear.x = float(velocity[0])
        message.twist.twist.angular.z = float(velocity[1])
        self.motion_topic.publish(message)


class TruthTopics(MotionTopic):
    """Publishers of what is true of a robot that takes torques.

    Besides its motion: `ground_truth/dynamic_parameters` (latched).

    Args:
        node: publishes.
        resume: see KeptTopic; None: nobody is waited for.

    Attributes:
        parameters_topic: that the parameters are sent on.
    """

    def __init__(self, node: Node, resume: Callable[[], None] | None = None) -> None:
        super().__init__(node, resume)
        self.parameters_topic = KeptTopic(
            node, DynamicParameters, "ground_truth/dynamic_parameters", resume, latched=True
        )

    def publish_parameters(self, stamp: float, truth: TrueParameters) -> None:
        """Publish the closed-form K5..K8."""
        message = DynamicParameters(
            k5=truth.k5, k6=truth.k6, k7=truth.k7, k8=truth.k8, state=DynamicParameters.ESTIMATED
        )
        message.header.stamp = to_stamp(stamp)
        message.header.frame_id = "base_link"
        self.parameters_topic.publish(message)


class SimulatorTopics(TruthTopics):
    """All publishers of a simulator node that drives the robot itself.

    Besides what is true: `joint_states` and `clock`, once per control period.

    Args:
        node: publishes.
        robot: names the joints.
        resume: see KeptTopic; None: nobody is waited for.
    """

    def __init__(self, node: Node, robot: Robot, resume: Callable[[], None] | None = None) -> None:
        super().__init__(node, resume)
        self._node = node
        self._clock_topic = node.create_publisher(ClockMessage, "clock", 10)
        self._joints_topic = node.create_publisher(JointState, "joint_states", 10)
        self._joints = JointState(name=[robot.joints.left, robot.joints.right])

    def publish_sample(self, sample: JointSample) -> None:
        """Publish the wheels' state and the time of it."""
        stamp = to_stamp(sample.stamp)
        self._clock_topic.publish(ClockMessage(clock=stamp))
        joints = self._joints
        joints.header.stamp = stamp
        joints.position = sample.position
        joints.velocity = sample.velocity
        joints.effort = sample.effort
        self._joints_topic.publish(joints)

    def rival(self) -> str | None:
        """What is wrong when somebody else publishes joint states or the clock, too; else None."""
        return rival_of(self._node, self._joints_topic, self._clock_topic)


def rival_of(node: Node, *publishers: Publisher) -> str | None:
    """What is wrong when somebody else publishes the same topics, too; else None."""
    for publisher in publishers:
        topic = node.resolve_topic_name(publisher.topic)
        if node.count_publishers(topic) > 1:
            return (
                f"somebody else publishes {topic}, perhaps another simulator; stop it, or give "
                "each run its own ROS_DOMAIN_ID"
            )
    return None


# ---
# The torque commands that a simulator obeys.

COMMANDS = "effort_controller/commands"


class CommandTopic:
    """Subscription of `effort_controller/commands`, [left, right] in N m.

    Args:
        node: whose subscription it is.
        robot: more torque than its wheels carry without slip is warned of, once.
        on_command: called with every command, the stamp of the state that it names, s (None: no
            name), and who has sent it (None: not known); after one that is refused with the last
            good one, which stays on, as with ros2_control's forward controller.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        on_command: Callable[[tuple[float, float], float | None, object], None],
    ) -> None:
        self._node = node
        self._robot = robot
        self._on_command = on_command
        self._command = (0.0, 0.0)
        node.create_subscription(Float64MultiArray, COMMANDS, WithSender(self._receive), 10)

    def _receive(self, message: Float64MultiArray, sender: object) -> None:
        command = tuple(message.data)
        if len(command) == 2 and all(map(math.isfinite, command)):
            self._command = command
            self._check_traction()
        else:
            self._node.get_logger().warning(
                f"command {list(command)} refused: must be 2 finite torques [left, right] in N m; "
                f"{list(self._command)} N m stays on",
                throttle_duration_sec=1.0,
            )
        self._on_command(self._command, named_by(message), sender)

    def _check_traction(self) -> None:
        traction = self._robot.limits.traction
        if max(map(abs, self._command)) > traction:
            self._node.get_logger().warning(
                f"torque {list(self._command)} N m is beyond limits.traction = {traction} N m of "
                f"{self._robot.name}: its wheels may slip or lift, and odometry is then wrong; "
                "lower torque_limit",
                once=True,
            )
