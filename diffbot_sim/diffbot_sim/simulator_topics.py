# SPDX-License-Identifier: Apache-2.0
"""Topics of simulators of torque-controlled robots, and ground truth topics of any simulator."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray

from arc_odometry import JointSample
from arc_odometry.odometry_messages import quaternion
from diffbot_description import DynamicParameters as TrueParameters
from diffbot_description import Robot
from diffbot_description.robot import Pair
from diffbot_msgs.msg import DynamicParameters, VelocityParameters
from diffbot_node import Node, to_stamp
from diffbot_node.senders import Origin, WithOrigin
from diffbot_sim.simulated_sensors import (
    GyroAndPoseParameters,
    GyroReading,
    PoseReading,
    SimulatedGyro,
    SimulatedPoses,
)
from diffbot_sim.simulator import Triple

COMMANDS = "effort_controller/commands"

OnCommand = Callable[[Pair, Origin], None]
"""Called with a command and its origin."""
DEPTH = 200


class TruthTopics:
    """Publishers of a simulated robot's ground truth, which its controllers never use.

    `ground_truth` (nav_msgs/Odometry, base_link in odom), and latched
    `ground_truth/dynamic_parameters` or `ground_truth/velocity_parameters`, by the type given.
    """

    NAMES = {DynamicParameters: "dynamic_parameters", VelocityParameters: "velocity_parameters"}

    def __init__(self, node: Node, parameters_type: type = DynamicParameters) -> None:
        self._motion = node.create_publisher(Odometry, "ground_truth", DEPTH)
        name = f"ground_truth/{self.NAMES[parameters_type]}"
        qos = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._parameters = node.create_publisher(parameters_type, name, qos)

    def publish_motion(self, stamp: float, pose: Triple, velocity: Pair) -> None:
        """Publish the true pose x, y, theta (m, rad) and velocity v, omega (m/s, rad/s)."""
        if not self._motion.get_subscription_count():
            return
        message = Odometry(child_frame_id="base_link")
        message.header.frame_id = "odom"
        x, y, theta = pose
        message.header.stamp = to_stamp(stamp)
        message.pose.pose.position.x, message.pose.pose.position.y = float(x), float(y)
        message.pose.pose.orientation = quaternion(theta)
        message.twist.twist.linear.x = float(velocity[0])
        message.twist.twist.angular.z = float(velocity[1])
        self._motion.publish(message)

    def publish_parameters(self, stamp: float, parameters: Any) -> None:
        """Publish true parameters, valid from a stamp, s, which becomes the message's."""
        parameters.header.stamp = to_stamp(stamp)
        parameters.header.frame_id = "base_link"
        self._parameters.publish(parameters)


def closed_form_message(truth: TrueParameters) -> DynamicParameters:
    """Return the closed-form K5..K8 as a message without a header."""
    return DynamicParameters(
        k5=truth.k5, k6=truth.k6, k7=truth.k7, k8=truth.k8, state=DynamicParameters.ESTIMATED
    )


class JointTopic:
    """`joint_states` of a robot, once per control period."""

    def __init__(self, node: Node, robot: Robot) -> None:
        self.publisher = node.create_publisher(JointState, "joint_states", 10)
        self._names = robot.joints
        self._drive = robot.drive

    def publish(self, sample: JointSample) -> None:
        """Publish the wheels' state; the joints of a side turn alike and share its effort."""
        names = self._names
        joints = JointState(name=list(names.names))
        joints.header.stamp = to_stamp(sample.stamp)
        joints.position = names.published(sample.position)
        joints.velocity = names.published(sample.velocity)
        joints.effort = names.shared(self._drive.effort_of(sample.effort))
        self.publisher.publish(joints)


class SimulatorTopics:
    """`joint_states` and `clock`, once per control period, in this order.

    The node that answers a state takes its time from the stamp. `publishers` are those of both.
    """

    def __init__(self, node: Node, robot: Robot) -> None:
        self._clock = node.create_publisher(ClockMessage, "clock", 10)
        self._joints = JointTopic(node, robot)
        self.publishers = (self._joints.publisher, self._clock)

    def publish_sample(self, sample: JointSample) -> None:
        """Publish the wheels' state and its time."""
        self._joints.publish(sample)
        self._clock.publish(ClockMessage(clock=to_stamp(sample.stamp)))


def second_publisher(node: Node, publishers: tuple[Publisher[Any], ...]) -> str | None:
    """Return what is wrong if another node publishes one of these topics, too; else None."""
    for publisher in publishers:
        topic = node.resolve_topic_name(publisher.topic)
        if node.count_publishers(topic) > 1:
            return (
                f"another node publishes {topic}, perhaps a second simulator; stop it, or give "
                "each run its own ROS_DOMAIN_ID"
            )
    return None


class CommandTopic:
    """Subscription to `effort_controller/commands`, [left, right] in the drive's effort_unit.

    If a side has several joints, there is a value for each; their sum moves the side. `on_command`
    is called with every command, N m; for a refused one with the last good one, which stays active.
    """

    def __init__(self, node: Node, robot: Robot, on_command: OnCommand) -> None:
        self._node = node
        self._robot = robot
        self._on_command = on_command
        self._command = (0.0, 0.0)
        node.create_subscription(Float64MultiArray, COMMANDS, WithOrigin(self._receive), 10)

    def _receive(self, message: Float64MultiArray, came_from: Origin) -> None:
        command = tuple(message.data)
        joints = self._robot.joints
        if len(command) == len(joints.names) and all(map(math.isfinite, command)):
            self._command = self._robot.drive.torque_of(joints.summed(command))
            self._check_traction()
        else:
            self._node.get_logger().warning(
                f"command {list(command)} refused: must be {len(joints.names)} finite efforts "
                f"{list(joints.names)}; "
                f"{list(self._command)} N m remains applied",
                throttle_duration_sec=1.0,
            )
        self._on_command(self._command, came_from)

    def _check_traction(self) -> None:
        traction = self._robot.limits.traction
        if max(map(abs, self._command)) > traction:
            self._node.get_logger().warning(
                f"torque {list(self._command)} N m is beyond limits.traction = {traction} N m of "
                f"{self._robot.name}: its wheels may slip or lift, and odometry is then wrong; "
                "lower torque_limit",
                once=True,
            )


IMU_TOPIC, POSE_TOPIC = "imu/data", "pose"
IMU_FRAME, POSE_FRAME = "imu_link", "map"
# Indices of the variances of x, y and yaw in a pose's covariance, and of a yaw rate's.
POSE_DIAGONAL, RATE_Z = (0, 7, 35), 8
NOT_MEASURED = -1.0


class SensorTopics:
    """Publishers of the selected sensors; ValueError for a wrong parameter."""

    def __init__(self, node: Node, values: GyroAndPoseParameters, seed: int) -> None:
        self._sensors: list[tuple[Publisher[Any], Any, Callable[[Any], Any]]] = []
        if values.imu:
            topic = node.create_publisher(Imu, IMU_TOPIC, DEPTH)
            self._sensors.append((topic, SimulatedGyro(values, seed), partial(_imu, values)))
        if values.pose_source:
            topic = node.create_publisher(PoseWithCovarianceStamped, POSE_TOPIC, DEPTH)
            self._sensors.append((topic, SimulatedPoses(values, seed), partial(_pose, values)))
        self._waiting: list[tuple[Publisher[Any], Any]] = []

    def __bool__(self) -> bool:
        return bool(self._sensors)

    def note(self, stamp: float, pose: Triple, velocity: Pair) -> None:
        """Take readings at a new state; see MotionHistory.note."""
        for topic, sensor, fill in self._sensors:
            self._waiting += [(topic, fill(r)) for r in sensor.note(stamp, pose, velocity)]

    def publish(self) -> None:
        """Publish the readings since the last call; a repeated state adds none."""
        for topic, message in self._waiting:
            topic.publish(message)
        self._waiting.clear()


def _imu(values: GyroAndPoseParameters, reading: GyroReading) -> Imu:
    message = Imu()
    message.header.frame_id = IMU_FRAME
    message.header.stamp = to_stamp(reading.stamp)
    message.angular_velocity.z = reading.rate
    message.angular_velocity_covariance[RATE_Z] = values.imu_noise**2
    message.orientation_covariance[0] = NOT_MEASURED
    message.linear_acceleration_covariance[0] = NOT_MEASURED
    return message


def _pose(values: GyroAndPoseParameters, reading: PoseReading) -> PoseWithCovarianceStamped:
    message = PoseWithCovarianceStamped()
    message.header.frame_id = POSE_FRAME
    message.header.stamp = to_stamp(reading.stamp)
    pose = message.pose.pose
    pose.position.x, pose.position.y = reading.x, reading.y
    pose.orientation = quaternion(reading.yaw)
    position, heading = values.pose_source_noise
    for place, deviation in zip(POSE_DIAGONAL, (position, position, heading), strict=True):
        message.pose.covariance[place] = deviation**2
    return message
