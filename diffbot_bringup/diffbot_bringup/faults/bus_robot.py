"""A simulated robot on a bus: it holds the last torque, as ros2_control does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from diffbot_bringup.faults.bus import Bus
from diffbot_bringup.faults.bus_time import nanoseconds
from diffbot_bringup.faults.bus_topics import BusTimer
from diffbot_bringup.faults.command_history import CommandHistory, Pair
from diffbot_description import Robot, load_robot
from diffbot_node import to_stamp
from diffbot_sim.actuators import Actuator
from diffbot_sim.encoders import Encoders
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import VirtualRobot

PERIOD = 0.01  # control period, s


def unchanged(torque: Pair) -> Pair:
    """A motor that does what it is told."""
    return torque


def reported(message: JointState) -> Sequence[JointState]:
    """A driver that tells what is."""
    return (message,)


class BusRobot:
    """Publishes `joint_states` every control period and takes `effort_controller/commands`.

    As ros2_control's forward controller it drops commands that are not finite or not two numbers
    and holds the one before.

    Args:
        bus: that it is on.
        engine: physics, by name.
        robot: that is simulated; None: twil. The nodes' robot may differ.
        encoder_counts: per turn of a wheel; None: the robot's own.

    Attributes:
        held: torque that is applied until the next command, [left, right], N m.
        history: of the commands, N m.
        limit: largest torque that a node may command, N m.
        rate: largest change of it, N m/s.
        unit: of what is told of commands.
        motor: what becomes of the torque on its way to the wheels.
        driver: what is published for each joint state.
    """

    unit = "N m"

    def __init__(
        self,
        bus: Bus,
        engine: str,
        robot: Robot | None = None,
        encoder_counts: int | None = None,
    ) -> None:
        self.robot = robot or load_robot("twil")
        counts = self.robot.encoder.counts if encoder_counts is None else encoder_counts
        self.simulator = make_simulator(engine, self.robot)
        self._virtual = VirtualRobot(
            self.simulator,
            Actuator(self.robot.limits.torque),
            Encoders(counts, PERIOD),
            PERIOD,
        )
        self.held: Pair = (0.0, 0.0)
        limits = self.robot.limits
        self.limit, self.rate = limits.traction, limits.torque_rate
        self.history = CommandHistory((self.limit, self.limit), self.limit)
        self.motor: Callable[[Pair], Pair] = unchanged
        self.driver: Callable[[JointState], Sequence[JointState]] = reported
        self._bus = bus
        joints = self.robot.joints
        self._names = [joints.left, joints.right]
        self.states = bus.publisher(JointState, "joint_states")
        self.commands = bus.subscribe(
            Float64MultiArray, "effort_controller/commands", self._on_command
        )
        period = nanoseconds(PERIOD)
        BusTimer(bus, None, period, self._step, bus.now_ns + period)

    def close(self) -> None:
        """End what belongs to the engine."""
        self.simulator.close()

    def _on_command(self, message: Float64MultiArray) -> None:
        values = tuple(message.data)
        self.history.add(self._bus.time, values)
        if len(values) == 2 and all(map(math.isfinite, values)):
            self.held = values

    def _step(self) -> None:
        sample = self._virtual.advance(self.motor(self.held))
        message = JointState(name=self._names)
        message.header.stamp = to_stamp(self._bus.time)
        message.position, message.velocity = list(sample.position), list(sample.velocity)
        message.effort = list(sample.effort)
        for each in self.driver(message):
            self.states.publish(each)
