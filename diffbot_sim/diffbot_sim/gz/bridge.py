"""The ROS side of ros_gz_bridge: torques out and seen, wheels and pose in, and the world's steps.

Its topics are those of config/gz_bridge.yaml.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from diffbot_description import Robot
from diffbot_node import seconds
from diffbot_sim.gz.launches import CONTROL_SERVICE, PREFIX, STEP
from diffbot_sim.gz.stepped_robot import NANOSECONDS, GzPose, WheelReading

SIDES = ("left", "right")

OnMotion = Callable[[float, tuple[float, float, float], tuple[float, float]], None]
"""Called with the time (s), true pose (m, m, rad) and velocity (m/s, rad/s) of base_link."""


def hear_true_motion(node: Node, topic: str, on_motion: OnMotion) -> None:
    """Subscribe to the poses (nav_msgs/Odometry) that Gazebo's odometry publisher gives."""
    pose = GzPose(STEP)

    def on_odometry(message: Odometry) -> None:
        stamp, there = seconds(message.header.stamp), message.pose.pose
        theta = 2.0 * math.atan2(there.orientation.z, there.orientation.w)
        on_motion(stamp, *pose.update(stamp, there.position.x, there.position.y, theta))

    node.create_subscription(Odometry, topic, on_odometry, 10)


class GzTopics:
    """Torques and wheels.

    Args:
        node: whose topics they are.
        robot: gives the joints' names.
        on_reading: called with the wheels' angles and speeds.
        on_seen: called when a torque was seen in Gazebo.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        on_reading: Callable[[WheelReading], None],
        on_seen: Callable[[], None],
    ) -> None:
        self._names = (robot.joints.left, robot.joints.right)
        self._on_reading, self._on_seen = on_reading, on_seen
        self._seen: list[float | None] = [None, None]
        self._torques = [
            node.create_publisher(Float64, f"{PREFIX}{side}_wheel_torque", 10) for side in SIDES
        ]
        for index, side in enumerate(SIDES):
            node.create_subscription(
                Float64,
                f"{PREFIX}{side}_wheel_torque_seen",
                lambda message, index=index: self._on_torque_seen(index, message.data),
                10,
            )
        # The newest alone is of use: a state is said again until the next period begins.
        node.create_subscription(JointState, f"{PREFIX}joint_states", self._on_joint_states, 1)

    def send(self, torque: tuple[float, float]) -> None:
        """Give Gazebo the torques [left, right] in N m."""
        for publisher, value in zip(self._torques, torque, strict=True):
            publisher.publish(Float64(data=float(value)))

    def has_seen(self, torque: tuple[float, float]) -> bool:
        """Whether the newest torques seen in Gazebo are these, in N m."""
        return tuple(self._seen) == tuple(torque)

    def _on_torque_seen(self, index: int, value: float) -> None:
        self._seen[index] = value
        self._on_seen()

    def _on_joint_states(self, message: JointState) -> None:
        try:
            left, right = (list(message.name).index(name) for name in self._names)
        except ValueError:
            return  # before both wheels are there
        stamp = message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec
        speeds = (message.velocity[left], message.velocity[right])
        angles = (
            message.position[left] - 0.5 * STEP * speeds[0],
            message.position[right] - 0.5 * STEP * speeds[1],
        )
        self._on_reading(WheelReading(stamp, angles, speeds))


class GzWorld:
    """Client of the service that lets a world that stands still advance by some steps.

    Args:
        node: whose client it is.
        on_refused: called with what was said when Gazebo refuses.

    Raises:
        ImportError: ros_gz_interfaces is not installed.
    """

    def __init__(self, node: Node, on_refused: Callable[[str], None]) -> None:
        # Here: a machine without Gazebo does not have it, and shall still be able to test the rest.
        from ros_gz_interfaces.srv import ControlWorld

        self._type = ControlWorld
        self._on_refused = on_refused
        self._client: Any = node.create_client(ControlWorld, CONTROL_SERVICE)

    def is_ready(self) -> bool:
        """Whether the bridge offers the service."""
        return bool(self._client.service_is_ready())

    def step(self, count: int) -> None:
        """Advance by so many steps of the physics, and stand still again."""
        request = self._type.Request()
        request.world_control.pause = True
        request.world_control.multi_step = count
        self._client.call_async(request).add_done_callback(self._on_reply)

    def _on_reply(self, future: Any) -> None:
        if not future.result().success:
            self._on_refused(f"{CONTROL_SERVICE} refused to step the world")
