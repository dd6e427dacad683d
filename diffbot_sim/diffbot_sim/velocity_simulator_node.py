# SPDX-License-Identifier: Apache-2.0
"""The velocity_simulator node: a robot that takes velocity commands, (3) of Siwek et al. (2023).

Publishes `odom` (with covariance), `clock` and `/tf` once per control period, `ground_truth`, and
`ground_truth/velocity_parameters` (latched); `joint_states`, `imu/data` and `pose` if selected.
Subscribes to `cmd_vel` (TwistStamped, or Twist with stamped = false).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from geometry_msgs.msg import Twist, TwistStamped
from rosgraph_msgs.msg import Clock as ClockMessage

from arc_odometry import JointSample
from arc_odometry.odometry_messages import OdometryPublisher
from diffbot_description import load_robot
from diffbot_description.robot import Pair
from diffbot_msgs.msg import VelocityParameters
from diffbot_node import parameter, pose_from_text, to_stamp
from diffbot_node.parameter_fields import SpeedLimitParameters
from diffbot_node.senders import Origin, WithOrigin
from diffbot_sim.paced_simulator import PacedSimulator, PacingParameters
from diffbot_sim.simulated_velocity_robot import SimulatedVelocityRobot, VelocityRobotParameters
from diffbot_sim.simulator_topics import JointTopic, SensorTopics, TruthTopics

COMMANDS = "cmd_vel"


@dataclass(frozen=True)
class VelocitySimulatorParameters(SpeedLimitParameters, VelocityRobotParameters, PacingParameters):
    """Parameters of velocity_simulator."""

    stamped: bool = parameter(True, "whether cmd_vel is a TwistStamped; else a Twist")
    command_timeout: float = parameter(
        0.5,
        "robot time without a command after which the driver stops, s; not in one process with "
        "the node that commands",
        above=0.0,
    )
    publish_tf: bool = parameter(True, "whether odom -> base_link is sent on /tf")
    frame_prefix: str = parameter("", "prefix of the names of these frames, such as one/")
    joint_states: bool = parameter(
        False, "whether the wheels' angles, by encoders, are published on joint_states"
    )


class VelocitySimulatorNode(PacedSimulator[VelocitySimulatorParameters]):
    """ROS interface of VelocityRobot and VelocityOdometry; ValueError for a wrong parameter."""

    def __init__(self) -> None:
        super().__init__("velocity_simulator", VelocitySimulatorParameters)
        self._silent = 0.0  # robot time since the last command, s
        values, robot = self.values, load_robot(self.values.robot)
        self._simulated = SimulatedVelocityRobot(
            values,
            robot,
            load_robot(values.moved_robot).geometry,
            values.period,
            pose_from_text("start", values.start),
            (values.linear_velocity, values.angular_velocity),
        )
        self.sensors = SensorTopics(self, self.values, self.values.seed)
        self._read_sensors()
        frames = f"{values.frame_prefix}odom", f"{values.frame_prefix}base_link"
        self._odometry = OdometryPublisher(self, "odom", frames, values.publish_tf)
        self._clock_topic = self.create_publisher(ClockMessage, "clock", 10)
        self._joints = JointTopic(self, robot) if self.values.joint_states else None
        self.truth = TruthTopics(self, VelocityParameters)
        kind = TwistStamped if self.values.stamped else Twist
        self.create_subscription(kind, COMMANDS, WithOrigin(self._on_command), 10)
        self._publish_parameters()
        self.run((self._odometry.topic, self._clock_topic), COMMANDS, "velocity")

    @property
    def stamp(self) -> float:
        return self._simulated.stamp

    def _on_command(self, message: Twist | TwistStamped, came_from: Origin) -> None:
        """Take a command; zero for one that is not finite, as a robot's driver would stop."""
        twist = message.twist if self.values.stamped else message
        command = (twist.linear.x, twist.angular.z)
        if not all(map(math.isfinite, command)):
            self.get_logger().warning(
                f"command v = {command[0]} m/s, omega = {command[1]} rad/s refused: must be "
                "finite; zero is commanded",
                throttle_duration_sec=1.0,
            )
            command = (0.0, 0.0)
        self._silent = 0.0
        self.take_command(command, came_from)

    def advance(self, command: Pair) -> None:
        if not self.composed and self._silent > self.values.command_timeout:
            command = (0.0, 0.0)
        now = self.stamp
        if self._simulated.advance(command):
            factor = self.values.change
            self.get_logger().info(f"sigma1 and sigma2 times {factor:g} at {now:g} s")
            self._publish_parameters(now)
        self._silent += self.values.period
        self._read_sensors()

    def _read_sensors(self) -> None:
        robot = self._simulated.robot
        self.sensors.note(self.stamp, robot.pose(), robot.velocity())

    def publish_state(self) -> None:
        now = to_stamp(self.stamp)
        # Before the clock: the node that answers it has the time from its stamp.
        self._odometry.publish(now, self._simulated.odometry)
        self._clock_topic.publish(ClockMessage(clock=now))
        if self._joints is not None:
            angles, speeds = self._simulated.odometry.wheels
            self._joints.publish(JointSample(self.stamp, angles, speeds, (0.0, 0.0)))
        self.sensors.publish()
        robot = self._simulated.robot
        self.truth.publish_motion(self.stamp, robot.pose(), robot.velocity())

    def _publish_parameters(self, stamp: float = 0.0) -> None:
        dead_time = [self.values.dead_time] * 2
        message = VelocityParameters(
            sigma=self._simulated.robot.sigma.as_array(),
            dead_time=dead_time,
            dead_band=self.values.dead_band,
        )
        self.truth.publish_parameters(stamp, message)
