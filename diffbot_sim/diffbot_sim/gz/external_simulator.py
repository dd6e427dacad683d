# SPDX-License-Identifier: Apache-2.0
"""Nodes of simulators in programs of their own, and that of those in which ros2_control drives."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock as ClockMessage

from diffbot_description import load_robot
from diffbot_node import Node, declare, parameter, pose_from_text, seconds
from diffbot_node.launch_supervision import say_last_words
from diffbot_node.robot_messages import create_wall_timer
from diffbot_sim.child_processes import Launch
from diffbot_sim.engines import make_simulator
from diffbot_sim.gz.launches import HARDWARE, STEP, check_installed, launch_ros2_control, left_out
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
    """Publishes the ground truth, and ends with the programs and with the commanders."""

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

        `starts`: whether the node starts the programs of `sim`, else ImportError if one is missing;
        `odometry`: topic of Gazebo's odometry publisher.
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
        self._launch.stop()


@dataclass(frozen=True)
class Ros2ControlParameters(ExternalParameters):
    """Parameters of ros2_control_simulator."""

    engine: str = parameter("gz_ros2_control", "simulator to start", choices=tuple(HARDWARE))
    speed: float = parameter(
        0.0, "simulated time per wall time; 0: real time", minimum=0.0, maximum=10.0
    )
    start_simulator: bool = parameter(True, "start the simulator; false: it runs already")


# Simulated time between two messages on `clock`, s.
CLOCK_PERIOD = 0.01


class Ros2ControlSimulatorNode(ExternalSimulator[Ros2ControlParameters]):
    """Starts, monitors and stops the simulator, and relays its time and the true pose.

    The simulator itself obeys `effort_controller/commands` and publishes `joint_states`; the node
    publishes `clock` at the control rate, `ground_truth` and `ground_truth/dynamic_parameters`. The
    simulator runs freely, and its efforts are not reliable: use `effort_source: commands`.
    """

    def __init__(self) -> None:
        super().__init__(Ros2ControlParameters)
        values = self.values
        if self.robot.drive.torque_constant is not None:
            raise ValueError(
                f"drive.effort_unit = {self.robot.drive.effort_unit} of {self.robot.name}: the "
                f"controllers of sim:={values.engine} take N m; use sim:=mujoco, ideal, gazebo or "
                "gz"
            )
        self._prepare(values.engine, values.start_simulator, "gazebo/odometry")
        self._logged_ready = False
        self._time = float("-inf")
        self._clock_topic = self.create_publisher(ClockMessage, "clock", 10)
        self.create_subscription(ClockMessage, "gazebo/clock", self._on_clock, 10)
        if values.start_simulator:
            self._launch = launch_ros2_control(
                values.engine,
                self.robot,
                self._start,
                values.speed or 1.0,
                values.gui,
                values.patience,
            )

    def _on_clock(self, message: ClockMessage) -> None:
        now = seconds(message.clock)
        # Half a physics step of tolerance: stamps are rounded.
        if now < self._time or now - self._time > CLOCK_PERIOD - 5e-4:
            self._time = now
            self._clock_topic.publish(message)

    def _look_around(self) -> None:
        if self.exit_code is not None:
            return
        if why := self._launch.fault():
            self._fail(why)
            return
        if not self._launch.is_ready:
            self._commanders.presence.keep_waiting()
        elif not self._logged_ready:
            self._logged_ready = True
            self.get_logger().info("the robot can be driven")
        if self.values.leave_when_alone:
            self.exit_code = self._commanders.exit_code()
