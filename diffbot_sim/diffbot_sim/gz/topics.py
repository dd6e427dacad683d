"""The ROS side of ros_gz_bridge: torques out and seen, wheels and pose in.

Gazebo's physics (DART) first changes the speeds by a step's accelerations and then moves everything
by the new speeds: positions are half a step ahead of the speeds. At 1 ms this is a twentieth of a
control period between torque and motion, which the identification takes for physics: K6 comes out
wrong by percents. So positions are set back by half a step.
"""

from __future__ import annotations

from collections.abc import Callable

from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from diffbot_description import Robot
from diffbot_node import seconds
from diffbot_sim.gz.commands import PREFIX, STEP
from diffbot_sim.gz.pose import GzPose, angle_at_speed, yaw
from diffbot_sim.stepped_robot import NANOSECONDS, WheelReading

SIDES = ("left", "right")


class GzTopics:
    """Topics of config/gz_bridge.yaml.

    Args:
        node: whose topics they are.
        robot: gives the joints' names.
        on_reading: called with the wheels' angles and speeds.
        on_seen: called when a torque was seen in Gazebo.
        on_motion: called with the time (s), true pose (m, m, rad) and velocity (m/s, rad/s) of
            base_link.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        on_reading: Callable[[WheelReading], None],
        on_seen: Callable[[], None],
        on_motion: Callable[[float, tuple[float, float, float], tuple[float, float]], None],
    ) -> None:
        self._names = (robot.joints.left, robot.joints.right)
        self._on_reading, self._on_seen, self._on_motion = on_reading, on_seen, on_motion
        self._pose = GzPose(STEP)
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
        node.create_subscription(Odometry, f"{PREFIX}odometry", self._on_odometry, 10)

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
        velocities = (message.velocity[left], message.velocity[right])
        angles = (
            angle_at_speed(message.position[left], velocities[0], STEP),
            angle_at_speed(message.position[right], velocities[1], STEP),
        )
        self._on_reading(WheelReading(stamp, angles, velocities))

    def _on_odometry(self, message: Odometry) -> None:
        stamp, pose = seconds(message.header.stamp), message.pose.pose
        theta = yaw(pose.orientation.z, pose.orientation.w)
        self._on_motion(stamp, *self._pose.update(stamp, pose.position.x, pose.position.y, theta))
