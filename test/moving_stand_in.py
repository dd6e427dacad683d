# SPDX-License-Identifier: Apache-2.0
"""A stand-in of a driver whose wheels turn: a MovingPlant behind the topics of a robot."""

import time

from geometry_msgs.msg import Twist
from moving_plant import MovingPlant
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray

from diffbot_description import load_robot
from diffbot_description.command_kind import CommandKind

ROBOTS = {CommandKind.EFFORT: "twil", CommandKind.VELOCITY: "turtlebot2"}


def moving(kind, wiring=None, more=lambda robot: None, **plant):
    """Return what makes a StandIn of this kind; `more` adds to it."""

    def make(robot):
        robot.plant = own = MovingPlant(load_robot(ROBOTS[kind]), kind, wiring, **plant)
        began = time.monotonic()

        def take(message):
            own.advance(time.monotonic() - began)
            torque = kind is CommandKind.EFFORT
            command = tuple(message.data) if torque else (message.linear.x, message.angular.z)
            robot.received.append(command)
            own.take(command)

        def wheels(message, _now):
            own.advance(time.monotonic() - began)
            reading = own.reading()
            message.position, message.effort = [*reading.angles], [*reading.efforts]
            message.velocity = [*own.speeds]

        def odometry(message, _now):
            last = robot.last
            own.advance(time.monotonic() - began)
            robot.last = own.time, own.reading().angles
            step = max(robot.last[0] - last[0], 1e-6)
            left, right = (
                (after - angle) / step for after, angle in zip(robot.last[1], last[1], strict=True)
            )
            radius, track = own.robot.wheels.radius, own.robot.wheels.separation
            message.header.frame_id = "odom"
            message.twist.twist.linear.x = radius * (left + right) / 2
            message.twist.twist.angular.z = radius * (right - left) / track

        def gyro(message, _now):
            own.advance(time.monotonic() - began)
            radius, track = own.robot.wheels.radius, own.robot.wheels.separation
            message.angular_velocity.z = radius * (own.speeds[1] - own.speeds[0]) / track

        robot.last = 0.0, own.reading().angles
        if kind is CommandKind.EFFORT:
            robot.node.create_subscription(
                Float64MultiArray, "effort_controller/commands", take, 10
            )
            robot.joint_states(change=wheels)
        else:
            robot.node.create_subscription(Twist, "cmd_vel", take, 10)
            robot.publishes(Odometry, "odom", change=odometry, child_frame_id="base_link")
        if own.wiring.gyro:
            robot.publishes(Imu, "imu/data", change=gyro)
        more(robot)

    return make
