# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the driver of a robot that takes cmd_vel, as a process; for tests of graphs.

It has a time constant of 0.2 s and a dead time of 0.1 s on both axes, a dead band of 0.02 m/s and
0.06 rad/s (offset), and stops 0.5 s after the last command, or never. It ends with SIGTERM, and
then prints "moved" and the path that the robot has driven, m.
"""

from __future__ import annotations

import argparse
import math
import signal
import time
from collections import deque
from pathlib import Path

import rclpy
from geometry_msgs.msg import TransformStamped, Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from arc_odometry.odometry_messages import quaternion
from diffbot_node.robot_messages import to_stamp

TIME_CONSTANT, DEAD_TIME, BAND = 0.2, 0.1, (0.02, 0.06)
RADIUS, TRACK, TIMEOUT, STEP = 0.033, 0.16, 0.5, 0.005
WHEELS = ("left_wheel_joint", "right_wheel_joint")


class Driver(Node):
    """Publishes what `publish` says at a rate, with stamps of a clock that may differ."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__("driver")
        self.options, self.path = options, 0.0
        self._commands: deque[tuple[float, tuple[float, float]]] = deque()
        self._command, self._heard = (0.0, 0.0), 0.0
        self._pose, self._angles, self._velocity = [0.0, 0.0, 0.4], [0.0, 0.0], [0.0, 0.0]
        self._late: deque[tuple[float, object]] = deque()
        self._time = time.monotonic()
        kind = {"joint_states": JointState, "tf": TFMessage}.get(options.publish, Odometry)
        name = options.publish if kind is JointState else "/tf" if kind is TFMessage else "odom"
        self._topic = self.create_publisher(kind, name, 10)
        self._sensor = None
        if options.joint_states:
            best_effort = rclpy.qos.qos_profile_sensor_data
            self._sensor = self.create_publisher(JointState, "joint_states", best_effort)
        taken = TwistStamped if options.stamped else Twist
        self.create_subscription(taken, "cmd_vel", self._take, 10)
        self.create_timer(1.0 / options.rate, self._publish)
        if options.description:
            text = Path(options.description).read_text(encoding="utf-8")
            latched = rclpy.qos.QoSProfile(
                depth=1, durability=rclpy.qos.DurabilityPolicy.TRANSIENT_LOCAL
            )
            self._description = self.create_publisher(String, "robot_description", latched)
            self._description.publish(String(data=text))

    def _take(self, message: Twist | TwistStamped) -> None:
        self._move()
        twist = message.twist if self.options.stamped else message
        self._heard = time.monotonic()
        self._commands.append((self._heard + DEAD_TIME, (twist.linear.x, twist.angular.z)))

    def _move(self) -> None:
        """Advance to now; called before anything that it does not foresee."""
        now = time.monotonic()
        while self._time < now:
            self._time += STEP
            while self._commands and self._commands[0][0] <= self._time:
                self._command = self._commands.popleft()[1]
            silent = self._time - self._heard >= (math.inf if self.options.runs_on else TIMEOUT)
            command = (0.0, 0.0) if silent else self._command
            for axis, (each, band) in enumerate(zip(command, BAND, strict=True)):
                effective = math.copysign(max(abs(each) - band, 0.0), each)
                self._velocity[axis] += (effective - self._velocity[axis]) * STEP / TIME_CONSTANT
            v, omega = self._velocity
            self._pose[0] += v * STEP * math.cos(self._pose[2])
            self._pose[1] += v * STEP * math.sin(self._pose[2])
            self._pose[2] += omega * STEP
            self.path += abs(v) * STEP
            for side, sign in ((0, -1.0), (1, 1.0)):
                self._angles[side] += (v + sign * omega * TRACK / 2) * STEP / RADIUS

    def _publish(self) -> None:
        self._move()
        options, now = self.options, self.get_clock().now().nanoseconds * 1e-9
        stamp = to_stamp(0.0 if options.no_stamps else max(now + options.clock, 0.0))
        if self._sensor is not None:
            self._sensor.publish(self._wheels(stamp))
        self._late.append((time.monotonic() + options.late, self._message(stamp)))
        while self._late and self._late[0][0] <= time.monotonic():
            self._topic.publish(self._late.popleft()[1])

    def _wheels(self, stamp: object) -> JointState:
        message = JointState(name=["arm_joint", *WHEELS], position=[0.0, *self._angles])
        message.header.stamp = stamp
        return message

    def _message(self, stamp: object) -> object:
        options, (x, y, theta), (v, omega) = self.options, self._pose, self._velocity
        if options.publish == "joint_states":
            return self._wheels(stamp)
        transform = TransformStamped(child_frame_id="base_footprint")
        transform.header.stamp, transform.header.frame_id = stamp, "odom"
        transform.transform.translation.x, transform.transform.translation.y = x, y
        transform.transform.rotation = quaternion(theta)
        if options.publish == "tf":
            other = TransformStamped(child_frame_id="odom")
            other.header.stamp, other.header.frame_id = stamp, "map"
            return TFMessage(transforms=[other, transform])
        message = Odometry(header=transform.header, child_frame_id="base_footprint")
        message.pose.pose.position.x, message.pose.pose.position.y = x, y
        message.pose.pose.orientation = transform.transform.rotation
        if options.publish == "world":
            message.twist.twist.linear.x = v * math.cos(theta + 1.2)
            message.twist.twist.linear.y = v * math.sin(theta + 1.2)
            message.twist.twist.angular.z = omega
        elif options.publish == "odom":
            message.twist.twist.linear.x, message.twist.twist.angular.z = v, omega
        if options.publish == "odom_frame":
            message.child_frame_id = "odom"
        return message


def main() -> None:
    """Run the driver until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--publish",
        choices=("odom", "world", "no_twist", "odom_frame", "joint_states", "tf"),
        default="odom",
    )
    parser.add_argument("--rate", type=float, default=30.0)
    parser.add_argument("--stamped", action="store_true")
    parser.add_argument("--runs-on", action="store_true", help="it never stops by itself")
    parser.add_argument("--joint-states", action="store_true", help="beside it, best effort")
    parser.add_argument("--late", type=float, default=0.0, help="delay of the messages, s")
    parser.add_argument("--clock", type=float, default=0.0, help="lead of the stamps' clock, s")
    parser.add_argument("--no-stamps", action="store_true")
    parser.add_argument("--description", default="", help="URDF on robot_description")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    driver = Driver(options)
    try:
        rclpy.spin(driver)
    except BaseException:
        print("moved", driver.path, flush=True)


if __name__ == "__main__":
    main()
