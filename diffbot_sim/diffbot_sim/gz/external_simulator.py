# SPDX-License-Identifier: Apache-2.0
"""Base of the nodes of simulators in programs of their own, which the node starts and ends."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

from nav_msgs.msg import Odometry

from diffbot_description import load_robot
from diffbot_node import Node, declare, parameter, pose_from_text, seconds
from diffbot_node.launch_supervision import say_last_words
from diffbot_node.robot_messages import create_wall_timer
from diffbot_sim.child_processes import Launch
from diffbot_sim.engines import make_simulator
from diffbot_sim.gz.launches import STEP, check_installed, left_out
from diffbot_sim.gz.stepped_robot import GzPose
from diffbot_sim.paced_simulator import LOOK_PERIOD, CommandPublishers
from diffbot_sim.simulator_parameters import SimulatorParameters
from diffbot_sim.simulator_topics import COMMANDS, TruthTopics, closed_form_message


@dataclass(frozen=True)
class ExternalParameters(SimulatorParameters):
    """Parameters of these nodes; what the simulators do not support is refused."""

    paused: bool = parameter(False, "must be false: time goes on as soon as all is ready")
    camera: bool = parameter(False, "must be false: there is none")
    imu: bool = parameter(False, "must be false: there is no gyro")
    pose_source: bool = parameter(False, "must be false: there is none")
    slope: float = parameter(0.0, "must be 0: the floor is level", minimum=0.0)
    gui: bool = parameter(False, "open the simulator's window")
    patience: float = parameter(
        60.0,
        "wall time for each thing that has to start, and with leave_when_alone to wait for the "
        "first commands, s; then status 1",
        above=0.0,
    )


def refuse_unsupported(values: ExternalParameters) -> None:
    """Raise ValueError when a parameter asks for what the simulators do not offer."""
    for name in ("paused", "camera", "imu", "pose_source"):
        if getattr(values, name):
            raise ValueError(
                f"parameter '{name}' = true: this simulator does not offer it; leave it out, or "
                "use sim:=gazebo"
            )
    if values.slope:
        raise ValueError(
            f"parameter 'slope' = {values.slope:g}: must be 0, as the floor of this simulator is "
            "level; use sim:=gazebo"
        )


E_co = TypeVar("E_co", bound=ExternalParameters, covariant=True)


class ExternalSimulator(Node, ABC, Generic[E_co]):
    """Publishes the ground truth, and ends with the programs and with the commanders.

    Attributes:
        exit_code: See RunnableNode.
        values: The node's parameters, of the class given.
        robot: The robot.

    Raises:
        ValueError: A parameter is wrong.
    """

    def __init__(self, parameters: type[E_co]) -> None:
        super().__init__("simulator")
        self.exit_code: int | None = None
        self.values: E_co = declare(self, parameters)
        refuse_unsupported(self.values)
        self.robot = load_robot(self.values.moved_robot)
        self._start = pose_from_text("start", self.values.start)
        self._launch = Launch()

    def _prepare(self, sim: str, starts: bool, odometry: str) -> None:
        """Check what is installed and supported; create truth topics, and the timer.

        Args:
            sim: Name of the simulator.
            starts: Whether the node starts its programs.
            odometry: Topic of the poses (nav_msgs/Odometry) of Gazebo's odometry publisher.

        Raises:
            ImportError: A program is missing.
        """
        if starts:
            check_installed(sim)
        if absent := left_out(self.robot, sim):
            self.get_logger().warning(
                f"{', '.join(absent)} of {self.robot.name}: not supported by this simulator; "
                "sim:=ideal, mujoco and gazebo do"
            )
        self._truth = TruthTopics(self)
        truth = make_simulator("ideal", self.robot).parameters()
        self._truth.publish_parameters(0.0, closed_form_message(truth))
        self._true_pose = GzPose(STEP)
        self.create_subscription(Odometry, odometry, self._on_odometry, 10)
        self._commanders = CommandPublishers(self, COMMANDS, self.values.patience)
        create_wall_timer(self, LOOK_PERIOD, self._look_around)

    def _on_odometry(self, message: Odometry) -> None:
        stamp, there = seconds(message.header.stamp), message.pose.pose
        theta = 2.0 * math.atan2(there.orientation.z, there.orientation.w)
        pose = self._true_pose.update(stamp, there.position.x, there.position.y, theta)
        self._truth.publish_motion(stamp, *pose)

    @abstractmethod
    def _look_around(self) -> None:
        """Check the programs and the partners; set `exit_code` at the end."""

    def _fail(self, why: str) -> None:
        if self.exit_code is None:
            say_last_words(self, why)
            self.exit_code = 1

    def close(self) -> None:
        """Stop the simulator and all other programs started."""
        self._launch.stop()
