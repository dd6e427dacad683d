# SPDX-License-Identifier: Apache-2.0
"""The simulator node for Gazebo (Ionic or newer), driven step by step through ros_gz_bridge.

It has the topics of simulator_node.py, but for sensors, and starts and ends Gazebo and the bridge.
Gazebo's world stands still between two control periods. A command is sent to Gazebo repeatedly
until its arrival is confirmed; then the world is stepped by one period, and the state at its end
published with the torque that acted. So nothing depends on how long a message takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from arc_odometry import JointSample
from diffbot_description import Robot
from diffbot_description.robot import Pair
from diffbot_node import Node, parameter
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.senders import Origin
from diffbot_sim.gz.external_simulator import ExternalParameters, ExternalSimulator
from diffbot_sim.gz.launches import CONTROL_SERVICE, PREFIX, STEP, launch_gz
from diffbot_sim.gz.stepped_robot import (
    NANOSECONDS,
    SteppedRobot,
    WheelReading,
    damping_gains,
    moves_at_any_torque,
)
from diffbot_sim.paced_simulator import LOOK_PERIOD, Pacer
from diffbot_sim.simulator_parameters import SensorParameters, make_actuator, make_encoders
from diffbot_sim.simulator_topics import CommandTopic, SimulatorTopics, second_publisher

SIDES = ("left", "right")


class GzTopics:
    """Sends torques to Gazebo; its topics are those of config/gz_bridge.yaml.

    `on_reading` is called with the wheels' angles and speeds, `on_seen` when the arrival of a
    torque in Gazebo is confirmed.
    """

    def __init__(
        self,
        node: Node,
        robot: Robot,
        on_reading: Callable[[WheelReading], None],
        on_seen: Callable[[], None],
    ) -> None:
        self._names = robot.joints.first
        self._gains = damping_gains(robot, STEP)
        self._on_reading, self._on_seen = on_reading, on_seen
        self._seen: list[float | None] = [None, None]
        self._torques = [
            node.create_publisher(Float64, f"{PREFIX}{side}_wheel_torque", 10) for side in SIDES
        ]
        for index, side in enumerate(SIDES):
            node.create_subscription(
                Float64,
                f"{PREFIX}{side}_wheel_torque_seen",
                partial(self._on_torque_seen, index),
                10,
            )
        node.create_subscription(JointState, f"{PREFIX}joint_states", self._on_joint_states, 1)

    def send(self, torque: Pair) -> None:
        """Send Gazebo the torques [left, right] in N m."""
        for publisher, value in zip(self._torques, self._undamped(torque), strict=True):
            publisher.publish(Float64(data=value))

    def has_seen(self, torque: Pair) -> bool:
        """Whether the newest torques confirmed by Gazebo are these, in N m."""
        return tuple(self._seen) == self._undamped(torque)

    def _undamped(self, torque: Pair) -> Pair:
        left, right = (float(t * gain) for t, gain in zip(torque, self._gains, strict=True))
        return left, right

    def _on_torque_seen(self, index: int, message: Float64) -> None:
        self._seen[index] = message.data
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
    """Client of the service that advances a paused world; says why it is refused."""

    def __init__(self, node: Node, on_refused: Callable[[str], None]) -> None:
        # So that the rest can be tested without Gazebo.
        from ros_gz_interfaces.srv import ControlWorld

        self._type = ControlWorld
        self._on_refused = on_refused
        self._client: Any = node.create_client(ControlWorld, CONTROL_SERVICE)

    def is_ready(self) -> bool:
        """Whether the bridge offers the service."""
        return bool(self._client.service_is_ready())

    def step(self, count: int) -> None:
        """Advance by `count` steps of the physics, and pause again."""
        request = self._type.Request()
        request.world_control.pause = True
        request.world_control.multi_step = count
        self._client.call_async(request).add_done_callback(self._on_reply)

    def _on_reply(self, future: Any) -> None:
        if not future.result().success:
            self._on_refused(f"{CONTROL_SERVICE} refused to step the world")


@dataclass(frozen=True)
class GzParameters(SensorParameters, ExternalParameters):
    """Parameters of gz_simulator."""

    engine: str = parameter("gz", "simulator to start", choices=("gz",))
    period: float = parameter(0.01, "control period, s; whole ms", minimum=0.001, maximum=0.1)
    speed: float = parameter(
        0.0,
        "robot time per wall time; 0: as fast as it goes (real time in a process of its own)",
        minimum=0.0,
    )
    start_gazebo: bool = parameter(True, "start Gazebo and its bridge; false: they run already")


# Wall time after which an unconfirmed torque is sent again, s.
REPEAT_PERIOD = 0.05
# Wall time for the discovery of the other topics after the first confirmed torque, s.
SETTLING = 0.5
# Wall time between two looks whether robot time is due, and of Gazebo's silence that ends a run, s.
TICK, SILENCE = 0.002, 10.0


def steps_per_period(period: float) -> int:
    """Return how many steps of the physics make a control period, s; ValueError unless whole."""
    steps = round(period / STEP)
    if abs(steps * STEP - period) > 1e-9:
        raise ValueError(
            f"parameter 'period' = {period} s: must be a whole number of ms, the step of "
            "Gazebo's world"
        )
    return steps


class Exchange(Enum):
    """Phase of the node between two states of the robot."""

    STARTING = auto()
    """Gazebo, its bridge and the robot are starting."""
    ASKING = auto()
    """A state awaits the command that answers it."""
    SENDING = auto()
    """A torque is on its way to Gazebo."""
    STEPPING = auto()
    """The world advances by one period."""


class GzSimulatorNode(ExternalSimulator[GzParameters]):
    """ROS interface of the simulation; SteppedRobot decides which torque acts when."""

    def __init__(self) -> None:
        super().__init__(GzParameters)
        values = self.values
        self._steps = steps_per_period(values.period)
        self._stepped = SteppedRobot(
            make_actuator(self.robot, values),
            make_encoders(self.robot, values, values.period),
            values.period,
            grips=moves_at_any_torque(self.robot),
        )
        self._phase = Exchange.STARTING
        self._sample = JointSample(0.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
        self._ignored = 0
        self._answered = False  # whether a command has arrived since the newest state
        self._obeyed = False  # whether any command was obeyed so far
        self._command = (0.0, 0.0)
        self._sent = self._published = self._progress = time.monotonic()
        self._first_seen: float | None = None
        self._pacer = Pacer(values.speed or (0.0 if self.composed else 1.0))
        self._prepare("gz", values.start_gazebo, f"{PREFIX}odometry")
        self._topics = SimulatorTopics(self, self.robot)
        self._gz = GzTopics(self, self.robot, self._on_reading, self._on_seen)
        self._world = GzWorld(self, self._fail)
        CommandTopic(self, self.robot, self._on_command)
        if self.room is not None:
            self.room.when_idle(self._go_on)
        if values.speed > 0.0 or self.room is None:
            create_wall_timer(self, TICK, self._look_whether_due)
        if values.start_gazebo:
            self._launch = launch_gz(self.robot, self._start, values.gui)
            partition = self._launch.environment["GZ_PARTITION"]
            self.get_logger().info(f"Gazebo starts; GZ_PARTITION={partition}")

    def _on_command(self, command: Pair, _came_from: Origin) -> None:
        self._command, self._answered = command, True
        if self.room is None:
            self._go_on()

    def _go_on(self) -> bool:
        if not self._answered or self._phase is not Exchange.ASKING or self.exit_code is not None:
            return False
        if not self._obeyed:
            self._obeyed = True
            self._pacer.restart(self._sample.stamp)
        elif self._pacer.delay(self._sample.stamp + self.values.period) > 0.0:
            return False
        self._answered = False
        self._stepped.command(self._command)
        self._phase = Exchange.SENDING
        self._progress = time.monotonic()
        self._send()
        self._on_seen()
        return True

    def _look_whether_due(self) -> None:
        self._go_on()

    def _send(self) -> None:
        self._sent = time.monotonic()
        self._gz.send(self._stepped.acting)

    def _on_seen(self) -> None:
        if not self._gz.has_seen(self._stepped.acting):
            return
        if self._first_seen is None:
            self._first_seen = time.monotonic()
        if self._phase is Exchange.SENDING:
            self._phase = Exchange.STEPPING
            self._stepped.step()
            self._world.step(self._steps)

    def _on_reading(self, reading: WheelReading) -> None:
        if self._phase is Exchange.STARTING:
            self._begin(reading)
            return
        sample = self._stepped.read(reading)
        if sample is None:
            return
        self._phase = Exchange.ASKING
        self._progress = time.monotonic()
        self._sample = sample
        if self._stepped.ignored > self._ignored:
            self._ignored = self._stepped.ignored
            self.get_logger().warning("Gazebo had not received the torque yet; it is reported as 0")
        self._send_state()

    def _begin(self, reading: WheelReading) -> None:
        self._launch.retries = False  # the robot is in the world
        if self._first_seen is None or not self._world.is_ready():
            return
        if time.monotonic() - self._first_seen >= SETTLING:
            self._sample = self._stepped.begin(reading)
            self._phase = Exchange.ASKING
            self.get_logger().info("Gazebo is ready")
            self._ask_again()

    def _ask_again(self) -> None:
        """Publish the state again, with the same stamp, as it is not answered yet."""
        if not self._obeyed:
            # Gazebo publishes no pose before the world has advanced.
            self._truth.publish_motion(self._sample.stamp, self._start, (0.0, 0.0))
        self._send_state()

    def _send_state(self) -> None:
        self._published = time.monotonic()
        self._topics.publish_sample(self._sample)

    def _look_around(self) -> None:
        if self.exit_code is not None:
            return
        why = second_publisher(self, self._topics.publishers) or self._launch.fault()
        if why is not None:
            self._fail(why)
            return
        if self._phase is Exchange.STARTING:
            self._send()  # zero; its confirmation shows that torques reach Gazebo
            self._commanders.presence.keep_waiting()
        if self.values.leave_when_alone:
            self.exit_code = self._commanders.exit_code()
        silence = time.monotonic() - self._progress
        if self._phase is Exchange.STARTING:
            if silence > self.values.patience:
                self._fail(f"after {self.values.patience:g} s of wall time {self._missing()}")
            return
        if self._phase is Exchange.ASKING:
            if not self._answered and time.monotonic() - self._published >= LOOK_PERIOD:
                self._ask_again()
            return
        if self._phase is Exchange.SENDING and time.monotonic() - self._sent > REPEAT_PERIOD:
            self._send()
        if silence > SILENCE:
            stepping = self._phase is Exchange.STEPPING
            what = "the world did not step" if stepping else "the torque was not seen"
            self._fail(f"Gazebo is silent for {SILENCE:g} s of wall time: {what}")

    def _missing(self) -> str:
        if not self._world.is_ready():
            return "the bridge does not offer the control of Gazebo's world"
        if self._first_seen is None:
            return "torques do not get through the bridge to Gazebo"
        return (
            f"Gazebo publishes no joint states of robot '{self.robot.name}': see the output above, "
            "and check that ros_gz is built for the release that `gz sim` starts"
        )

    def close(self) -> None:
        """Send zero torque, and stop Gazebo, the bridge and all other programs started."""
        if self.room is not None:
            self.room.forget(self._go_on)
        self._gz.send((0.0, 0.0))
        super().close()
