# SPDX-License-Identifier: Apache-2.0
"""The simulator node for simulators in which ros2_control drives the robot.

The simulator itself obeys `effort_controller/commands` and publishes `joint_states`. This node
starts it with all that it needs, and ends it when it ends itself. It publishes the other topics of
the suite's simulators: `clock` at the control rate, `ground_truth` and
`ground_truth/dynamic_parameters` (latched).

The simulator runs freely, like a real robot, and the efforts that it reports are not reliable
(gz_ros2_control reports none): identify with `effort_source: commands`.
"""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage

from diffbot_description import load_robot
from diffbot_node import declare, parameter, pose_from_text, seconds
from diffbot_node.own_run import ROBOT, OwnRun
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.running import say_last_words
from diffbot_sim.child_processes import Launch
from diffbot_sim.engines import make_simulator
from diffbot_sim.gz.gz_simulator_node import hear_true_motion
from diffbot_sim.gz.launches import HARDWARE, check_installed, launch_ros2_control, left_out
from diffbot_sim.paced_simulator import LOOK_PERIOD, CommandPublishers
from diffbot_sim.simulator_parameters import ExternalParameters, refuse_unsupported
from diffbot_sim.simulator_topics import COMMANDS, TruthTopics, closed_form_message


@dataclass(frozen=True)
class Ros2ControlParameters(ExternalParameters):
    """Parameters of ros2_control_simulator."""

    sim: str = parameter("gz_ros2_control", "simulator to start", choices=tuple(HARDWARE))
    speed: float = parameter(1.0, "simulated time per wall time", above=0.0, maximum=10.0)
    gui: bool = parameter(False, "open the simulator's window")
    start_simulator: bool = parameter(True, "start the simulator; false: it runs already")
    patience: float = parameter(
        60.0,
        "wall time for each thing that has to start, and with leave_when_alone to wait for the "
        "first commands, s; then status 1",
        above=0.0,
    )


# Time between two messages on `clock`, s of simulated time; each costs every node computing time.
CLOCK_PERIOD = 0.01


class Ros2ControlSimulatorNode(Node):
    """Starts, monitors and stops the simulator, and relays its time and the true pose."""

    def __init__(self) -> None:
        super().__init__("simulator")
        self._own_run = OwnRun(self, ROBOT)
        self.exit_code: int | None = None
        self.values = values = declare(self, Ros2ControlParameters)
        refuse_unsupported(values)
        self.robot = load_robot(values.robot)
        if self.robot.drive.torque_constant is not None:
            raise ValueError(
                f"drive.effort_unit = {self.robot.drive.effort_unit} of {self.robot.name}: the "
                f"controllers of sim:={values.sim} take N m; use sim:=mujoco, ideal, gazebo or gz"
            )
        if absent := left_out(self.robot, values.sim):
            self.get_logger().warning(
                f"{', '.join(absent)} of {self.robot.name}: not supported by this simulator; "
                "sim:=ideal, mujoco and gazebo do"
            )
        start = pose_from_text("start", values.start)
        if values.start_simulator:
            check_installed(values.sim)
        self._logged_ready = False
        self._time = float("-inf")
        self._clock_topic = self.create_publisher(ClockMessage, "clock", 10)
        self._truth = TruthTopics(self)
        truth = make_simulator("ideal", self.robot).parameters()
        self._truth.publish_parameters(0.0, closed_form_message(truth))
        self.create_subscription(ClockMessage, "gazebo/clock", self._on_clock, 10)
        hear_true_motion(self, "gazebo/odometry", self._truth.publish_motion)
        self._commanders = CommandPublishers(self, COMMANDS, values.patience, self._own_run)
        self._launch = Launch()
        if values.start_simulator:
            self._launch = launch_ros2_control(
                values.sim, self.robot, start, values.speed, values.gui, values.patience
            )
        create_wall_timer(self, LOOK_PERIOD, self._look_around)

    def _on_clock(self, message: ClockMessage) -> None:
        now = seconds(message.clock)
        # Half a physics step of tolerance: stamps are rounded.
        if now < self._time or now - self._time > CLOCK_PERIOD - 5e-4:
            self._time = now
            self._clock_topic.publish(message)

    def _look_around(self) -> None:
        if self.exit_code is not None:
            return
        if why := self._launch.fault() or self._own_run.met():
            say_last_words(self, why)
            self.exit_code = 1
            return
        if not self._launch.is_ready:
            self._commanders.presence.keep_waiting()
        elif not self._logged_ready:
            self._logged_ready = True
            self.get_logger().info("the robot can be driven")
        if self.values.leave_when_alone:
            self.exit_code = self._commanders.exit_code()

    def close(self) -> None:
        """Stop the simulator and all other programs started."""
        self._launch.stop()
