"""The pose_step command: one set point for a controller, as pose_step.sh of Lages (2018), 5.1.

    ros2 run pose2d_trajectories pose_step X Y THETA --ros-args -r command:=CONTROLLER/command

Publishes one geometry_msgs/Pose2D on `command` once somebody subscribes to it, and ends.
"""

from __future__ import annotations

import sys
import time

import rclpy
from geometry_msgs.msg import Pose2D
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.utilities import remove_ros_args

from pose2d_trajectories.checks import finite
from pose2d_trajectories.node_parameters import Entry, declare

USAGE = """\
usage: pose_step X Y THETA [--ros-args -r command:=CONTROLLER/command]

Sends the set point (x in m, y in m, theta in rad, in the odom frame) to a controller.
Parameter patience: wall time to wait for a subscriber, s (10)."""
PARAMETERS = {"patience": Entry(10.0, "wall time to wait for a subscriber of command, s, >= 0")}


def read_pose(words: list[str]) -> tuple[float, float, float]:
    """The set point (x in m, y in m, theta in rad) from the words of a command line.

    Raises:
        ValueError: not three finite numbers.
    """
    if len(words) != 3:
        raise ValueError(f"{len(words)} numbers are given: must be 3, X Y THETA")
    pose = []
    for name, word, unit in zip(("X", "Y", "THETA"), words, ("m", "m", "rad"), strict=True):
        try:
            number = float(word)
        except ValueError:
            raise ValueError(f"{name} = {word!r}: must be a number in {unit}") from None
        pose.append(finite(name, number, unit))
    return tuple(pose)


class PoseStepNode(Node):
    """Sends one set point."""

    def __init__(self) -> None:
        super().__init__("pose_step")
        self.patience = declare(self, PARAMETERS).patience
        self._topic = self.create_publisher(Pose2D, "command", 10)

    def send(self, x: float, y: float, theta: float) -> None:
        """Wait for a subscriber, publish (m, m, rad), and wait until it has arrived.

        Raises:
            TimeoutError: there is none, or it does not confirm.
        """
        end = time.monotonic() + self.patience
        while not self._topic.get_subscription_count():
            if time.monotonic() >= end:
                raise TimeoutError(
                    f"nobody subscribed to {self._topic.topic_name} within {self.patience:g} s; "
                    "start a controller, or remap: --ros-args -r command:=CONTROLLER/command"
                )
            rclpy.spin_once(self, timeout_sec=0.02)
        self._topic.publish(Pose2D(x=x, y=y, theta=theta))
        # A process that ends at once takes the message with it.
        if not self._topic.wait_for_all_acked(Duration(seconds=max(self.patience, 1.0))):
            raise TimeoutError(f"the subscriber of {self._topic.topic_name} did not confirm")
        self.get_logger().info(
            f"sent to {self._topic.topic_name}: x {x:g} m, y {y:g} m, theta {theta:g} rad"
        )


def main(args: list[str] | None = None) -> int:
    """Entry point of the `pose_step` executable; returns the exit status."""
    args = sys.argv if args is None else args
    words = remove_ros_args(args)[1:]
    if set(words) & {"-h", "--help"}:
        print(USAGE)
        return 0
    try:
        pose = read_pose(words)
    except ValueError as error:
        print(f"pose_step: {error}\n{USAGE}", file=sys.stderr)
        return 2
    rclpy.init(args=args)
    try:
        PoseStepNode().send(*pose)
    except (ValueError, TimeoutError) as error:
        get_logger("pose_step").error(str(error))
        return 1
    except (KeyboardInterrupt, ExternalShutdownException):
        return 130
    finally:
        rclpy.try_shutdown()
    return 0
