# SPDX-License-Identifier: Apache-2.0
"""The simulator node for simulators in which ros2_control drives the robot.

The simulator itself obeys `effort_controller/commands` and publishes `joint_states`; this node
starts and ends it, and publishes `clock` at the control rate, `ground_truth` and
`ground_truth/dynamic_parameters` (latched). The simulator runs freely, and its efforts are not
reliable: identify with `effort_source: commands`.
"""

from __future__ import annotations

from dataclasses import dataclass

from rosgraph_msgs.msg import Clock as ClockMessage

from diffbot_node import parameter, seconds
from diffbot_sim.gz.external_simulator import ExternalParameters, ExternalSimulator
from diffbot_sim.gz.launches import HARDWARE, launch_ros2_control


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
    """Starts, monitors and stops the simulator, and relays its time and the true pose."""

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
