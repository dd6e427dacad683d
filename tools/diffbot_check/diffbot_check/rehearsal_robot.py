# SPDX-License-Identifier: Apache-2.0
"""A simulated robot in real time, sound or with one beginner's fault: `start --rehearse`.

Its topics are those of a driver: it publishes whether anybody listens or not, and stamps by this
computer's clock.

    python -m diffbot_check.rehearsal_robot ROBOT FAULT
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import rclpy
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray

from arc_odometry.odometry_messages import quaternion
from diffbot_check.rehearsal_faults import RehearsalFault
from diffbot_description import Robot, load_robot
from diffbot_description.sigma import Sigma
from diffbot_node.robot_messages import to_stamp
from diffbot_sim.engines.ideal import IdealSimulator
from diffbot_sim.velocity_robot import VelocityRobot

PERIOD, TIMEOUT, DELAY = 0.01, 0.5, 0.02  # s
# Friction of the simulated wheels, as a part of the largest torque; viscous per rad/s.
FRICTION, VISCOUS = 0.02, 0.001
SIGMA = Sigma(0.2, 0.15, 1.0, 1.0)
LATE, AMPERES = 0.4, 4.0  # s; reported A for 1 N m
# Environment variable: a file for true headings, and the period of its lines, s.
HEADINGS_FILE, HEADINGS = "DIFFBOT_REHEARSAL_HEADINGS", 0.02
# Longest time that is simulated at once after a pause of this process, s.
LONGEST = 0.5


@dataclass(frozen=True)
class RehearsalWires:
    """How commands [0, 1] reach the motors [left, right]."""

    fault: RehearsalFault

    def motors(self, command: tuple[float, float]) -> tuple[float, float]:
        left, right = command
        if self.fault is RehearsalFault.SWAPPED:
            left, right = right, left
        if self.fault is RehearsalFault.REVERSED:
            left = -left
        return left, 0.0 if self.fault is RehearsalFault.DEAD else right


class RehearsalRobot(Node):
    """The driver of a simulated robot."""

    def __init__(self, robot: Robot, fault: RehearsalFault) -> None:
        super().__init__("rehearsal_robot")
        self._parent = os.getppid()
        self._robot, self._fault, self._wires = robot, fault, RehearsalWires(fault)
        self._commands: deque[tuple[float, tuple[float, float]]] = deque()
        self._command, self._heard = (0.0, 0.0), 0.0
        self._time = self._began = time.monotonic()
        self._epoch = time.time() - self._began
        if robot.takes_velocity:
            self._velocity = VelocityRobot(SIGMA)
            self._topic: Any = self.create_publisher(Odometry, "odom", 10)
            self.create_subscription(Twist, "cmd_vel", self._on_twist, 10)
        else:
            torque = robot.limits.torque
            friction = replace(
                robot.friction,
                coulomb=(FRICTION * torque, FRICTION * torque),
                viscous=(VISCOUS * torque, VISCOUS * torque),
            )
            self._engine = IdealSimulator(replace(robot, friction=friction))
            self._topic = self.create_publisher(JointState, "joint_states", 10)
            self.create_subscription(
                Float64MultiArray, "effort_controller/commands", self._on_efforts, 10
            )
        self._gyro = self.create_publisher(Imu, "imu/data", 10)
        timeout = 0.0 if fault is RehearsalFault.NO_TIMEOUT else TIMEOUT
        self._timeout = timeout
        self.declare_parameter("cmd_vel_timeout", Parameter.Type.DOUBLE)
        self.set_parameters([Parameter("cmd_vel_timeout", value=timeout)])
        self.create_timer(PERIOD, self._advance)

    @property
    def heading(self) -> float:
        """True heading, rad, from the start on."""
        if self._robot.takes_velocity:
            return self._velocity.pose()[2]
        return self._engine.pose()[2]

    def _on_twist(self, message: Twist) -> None:
        self._take((message.linear.x, message.angular.z))

    def _on_efforts(self, message: Float64MultiArray) -> None:
        if len(message.data) == 2:
            self._take((message.data[0], message.data[1]))

    def _take(self, command: tuple[float, float]) -> None:
        self._heard = time.monotonic()
        self._commands.append((self._heard + DELAY, command))

    def _advance(self) -> None:
        if os.getppid() != self._parent:
            raise KeyboardInterrupt  # whoever rehearsed is gone
        now = time.monotonic()
        self._time = max(self._time, now - LONGEST)
        while self._time + PERIOD <= now:
            self._time += PERIOD
            while self._commands and self._commands[0][0] <= self._time:
                self._command = self._commands.popleft()[1]
            if self._timeout and self._time - self._heard > self._timeout:
                self._command = (0.0, 0.0)
            self._step_velocity() if self._robot.takes_velocity else self._step_torque()

    def _stamp(self) -> Any:
        late = LATE if self._fault is RehearsalFault.LATE else 0.0
        return to_stamp(self._epoch + self._time - late)

    def _step_torque(self) -> None:
        limit = self._robot.limits.torque
        command = tuple(max(-limit, min(limit, each)) for each in self._command)
        self._engine.step(self._wires.motors((command[0], command[1])), PERIOD)
        joints = self._robot.joints
        message = JointState(name=[*joints.names])
        if self._fault is RehearsalFault.NAMES:
            message.name = ["wheel_left", "wheel_right"]
        message.header.stamp = self._stamp()
        angles, speeds = self._engine.wheel_angles(), self._engine.wheel_velocities()
        if self._fault is RehearsalFault.STUCK:
            angles, speeds = (0.0, angles[1]), (0.0, speeds[1])
        unit = AMPERES if self._fault is RehearsalFault.AMPERE else 1.0
        message.position = joints.published(angles)
        message.velocity = joints.published(speeds)
        message.effort = joints.published((unit * command[0], unit * command[1]))
        self._topic.publish(message)
        self._publish_yaw_rate(self._engine.velocity()[1])

    def _step_velocity(self) -> None:
        geometry = self._robot.geometry
        wheels = self._wires.motors(geometry.wheel_velocity(*self._command))
        self._velocity.step(geometry.body_velocity(*wheels), PERIOD)
        v, omega = self._velocity.velocity()
        self._publish_yaw_rate(omega)
        if self._fault is RehearsalFault.STUCK:
            v, omega = geometry.body_velocity(0.0, geometry.wheel_velocity(v, omega)[1])
        message = Odometry(child_frame_id="base_link")
        message.header.frame_id, message.header.stamp = "odom", self._stamp()
        x, y, theta = self._velocity.pose()
        place = message.pose.pose
        place.position.x, place.position.y = x, y
        place.orientation = quaternion(theta)
        message.twist.twist.linear.x, message.twist.twist.angular.z = v, omega
        self._topic.publish(message)

    def _publish_yaw_rate(self, rate: float) -> None:
        message = Imu()
        message.header.frame_id, message.header.stamp = "base_link", self._stamp()
        message.orientation_covariance[0] = -1.0  # there is no orientation
        message.angular_velocity.z = rate
        self._gyro.publish(message)


def teleoperation(robot: Robot) -> Node:
    """Return the node of RehearsalFault.SECOND: it commands zero."""
    node = Node("teleoperation")
    message: Any = Twist() if robot.takes_velocity else Float64MultiArray(data=[0.0, 0.0])
    topic = "cmd_vel" if robot.takes_velocity else "effort_controller/commands"
    publisher: Any = node.create_publisher(type(message), topic, 10)
    node.create_timer(0.1, lambda: publisher.publish(message))
    return node


def note_headings(node: RehearsalRobot, path: str) -> None:
    """Append time, s since the epoch, and true heading, rad, to a file, for those who judge."""
    file = open(path, "a", buffering=1, encoding="utf-8")  # noqa: SIM115  (until the process ends)

    def note() -> None:
        file.write(f"{time.time():.3f} {node.heading:.5f}\n")

    node.create_timer(HEADINGS, note)


def main(words: list[str]) -> int:
    """Run the robot until SIGTERM or SIGINT."""
    robot, fault = load_robot(words[0]), RehearsalFault(words[1])
    rclpy.init(args=[])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    node = RehearsalRobot(robot, fault)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    if fault is RehearsalFault.SECOND:
        executor.add_node(teleoperation(robot))
    if path := os.environ.get(HEADINGS_FILE):
        note_headings(node, path)
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
