# SPDX-License-Identifier: Apache-2.0
"""Gazebo and ros_gz_bridge as the simulator node sees them, with the ideal engine as Gazebo.

The first torques are lost, as where two programs have just met; states come in the middle of a
period and at its end, and again and again while the world stands still.
"""

import rclpy
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from diffbot_node import to_stamp
from diffbot_sim.engines import make_simulator

STEP = 0.001


class FakeGz(Node):
    """The bridge's side of the topics of config/gz_bridge.yaml.

    Args:
        robot: the robot in the world.
        lost: how many torques of each wheel are lost at first.
        deaf: how many are seen by the second bridge, yet do not reach the world.
    """

    def __init__(self, robot, lost=3, deaf=0):
        super().__init__("fake_gz")
        self.engine = make_simulator("ideal", robot)
        self.joints = list(robot.joints.names)
        self.torque = [0.0, 0.0]
        self.lost, self.deaf = [lost, lost], deaf
        self.steps = 0
        self.states = self.create_publisher(JointState, "gz/joint_states", 10)
        self.poses = self.create_publisher(Odometry, "gz/odometry", 10)
        self.seen = []
        for index, side in enumerate(("left", "right")):
            topic = f"gz/{side}_wheel_torque"
            self.seen.append(self.create_publisher(Float64, f"{topic}_seen", 10))
            self.create_subscription(
                Float64, topic, lambda message, index=index: self.hear(index, message), 10
            )
        self.create_timer(5 * STEP, self.say)

    def hear(self, index, message):
        if self.lost[index] > 0:
            self.lost[index] -= 1
            return
        self.seen[index].publish(message)
        if message.data != 0.0 and self.deaf > 0:
            self.deaf -= 1
            return
        self.torque[index] = message.data

    def step(self, count):
        """Advance by steps of 1 ms, and tell of it half-way and at the end."""
        for number in range(1, count + 1):
            self.engine.step(tuple(self.torque), STEP)
            self.steps += 1
            if number in (count // 2, count):
                self.say()
        pose = Odometry(child_frame_id="robot/base_link")
        pose.header.stamp = to_stamp(self.steps * STEP)
        pose.pose.pose.position.x, pose.pose.pose.position.y, _ = self.engine.pose()
        self.poses.publish(pose)

    def say(self):
        """The wheels, among other joints and the other way round: names alone tell."""
        message = JointState(name=["arm", *reversed(self.joints)])
        message.header.stamp = to_stamp(self.steps * STEP)
        speeds = self.engine.wheel_velocities()
        message.velocity = [0.0, *reversed(speeds)]
        # As Gazebo's physics steps: positions are half a step ahead of the speeds.
        angles = [
            a + 0.5 * STEP * w for a, w in zip(self.engine.wheel_angles(), speeds, strict=True)
        ]
        message.position = [0.0, *reversed(angles)]
        message.effort = [float("nan")] * 3
        self.states.publish(message)


class FakeWorld:
    """The world's control, in the place of GzWorld; the test gives it the fake."""

    fake = None

    def __init__(self, node, on_refused):
        self.on_refused = on_refused

    def is_ready(self):
        return self.fake is not None

    def step(self, count):
        self.fake.step(count)


def start(*parameters):
    """Begin ROS with the parameters, "name:=value"."""
    words = ["--ros-args"]
    for parameter in parameters:
        words += ["-p", parameter]
    rclpy.init(args=words)
