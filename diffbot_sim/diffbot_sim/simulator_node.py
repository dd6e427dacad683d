# SPDX-License-Identifier: Apache-2.0
"""The simulator node: an engine behind the topics of ros2_control.

Publishes `joint_states`, `clock`, `ground_truth` and `ground_truth/dynamic_parameters` (latched),
and `imu/data` and `pose` if selected. Subscribes to `effort_controller/commands` ([left, right],
N m), and to `reference`, to draw it. Serves `~/set_payload` and `~/set_paused`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffbot_description import Robot, load_robot
from diffbot_description.robot import Pair
from diffbot_msgs.msg import PoseReference
from diffbot_msgs.srv import SetPayload
from diffbot_node import parameter, pose_from_text
from diffbot_node.launch_supervision import say_last_words
from diffbot_sim.engines import ENGINES, make_simulator
from diffbot_sim.paced_simulator import PacedSimulator, PacingParameters
from diffbot_sim.simulator_parameters import SensorParameters, make_actuator, make_encoders
from diffbot_sim.simulator_topics import (
    COMMANDS,
    CommandTopic,
    SensorTopics,
    SimulatorTopics,
    TruthTopics,
    closed_form_message,
)
from diffbot_sim.virtual_robot import (
    STEEPEST,
    PayloadSchedule,
    SlopedFloor,
    VirtualRobot,
    payload_from_text,
)


@dataclass(frozen=True)
class EngineParameters(SensorParameters, PacingParameters):
    """Parameters of the node simulator."""

    engine: str = parameter("mujoco", "physics engine", choices=tuple(ENGINES))
    payload: str = parameter(
        "none",
        "load put on the robot at payload_time: mass,x,z,yaw_inertia in kg, m, m, kg m^2; or a "
        "share such as 50%, by which equivalent mass and yaw inertia increase; none: no load",
    )
    payload_time: float = parameter(
        -1.0, "robot time at which the load is put on, s; below 0: never"
    )
    slope: float = parameter(0.0, "slope of the floor, degrees", minimum=0.0, maximum=STEEPEST)
    downhill: float = parameter(
        0.0, "direction in which the floor falls, in odom, degrees, counter-clockwise from x"
    )
    gui: bool = parameter(False, "show the engine's own window (gazebo)")
    camera: bool = parameter(False, "put a camera into the world (gazebo)")
    results: str = parameter(
        "results", "folder of the run; the camera saves pictures in its folder camera"
    )


Point = tuple[float, float]

# Colour (red, green, blue), height and width (m) of paths on the floor.
DRIVEN = ((0.9, 0.35, 0.05), 0.004, 0.008)
WANTED = ((0.10, 0.25, 0.65), 0.002, 0.022)
# Shortest line of a path, m.
LENGTH = 0.04
# A point further away begins a new path, m.
JUMP = 0.5


class FloorPath:
    """A path that an engine draws on its floor as a chain of lines between points (x, y in m)."""

    def __init__(self, draw: Callable[[Point, Point], None]) -> None:
        self._draw = draw
        self._end: Point | None = None

    def extend(self, point: Point) -> None:
        """Extend the path to a point; a line is drawn once it is long enough."""
        if self._end is None:
            self._end = point
            return
        distance = math.dist(self._end, point)
        if LENGTH <= distance <= JUMP:
            self._draw(self._end, point)
        if distance >= LENGTH:
            self._end = point


class SimulatorNode(PacedSimulator[EngineParameters]):
    """ROS interface of the simulation; VirtualRobot has the physics and the sensors."""

    def __init__(self) -> None:
        super().__init__("simulator", EngineParameters)
        self.robot = load_robot(self.values.robot)
        self._virtual = self._make_robot(load_robot(self.values.moved_robot))
        self.sensors = SensorTopics(self, self.values, self.values.seed)
        self._read_sensors()
        self._topics = SimulatorTopics(self, self.robot)
        self.truth = TruthTopics(self)
        CommandTopic(self, self.robot, self.take_command)
        self.create_service(SetPayload, "~/set_payload", self._on_set_payload)
        self._draw_paths()
        self._publish_parameters()
        self.run(self._topics.publishers, COMMANDS, "torque")

    def _make_robot(self, robot: Robot) -> VirtualRobot:
        values = self.values
        start = pose_from_text("start", values.start)
        actuator = make_actuator(robot, values)
        encoders = make_encoders(robot, values, values.period)
        load = payload_from_text(values.payload, robot)
        self._payload = PayloadSchedule(load, values.payload_time)
        pictures = str(Path(values.results, "camera")) if values.camera else None
        engine = make_simulator(values.engine, robot, values.gui, pictures, values.seed)
        engine.reset(start)
        floor = SlopedFloor(robot, values.slope, values.downhill) if values.slope > 0.0 else None
        return VirtualRobot(engine, actuator, encoders, values.period, floor)

    @property
    def stamp(self) -> float:
        return self._virtual.sample.stamp

    @property
    def paused(self) -> bool:
        return self._virtual.engine.paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        self._virtual.engine.paused = paused

    def advance(self, command: Pair) -> None:
        """Advance by one period with the command; put the payload on when it is due."""
        stamp = self.stamp
        try:
            if self._payload.apply(self._virtual.engine, stamp):
                self.get_logger().info(f"payload put on at {stamp:g} s of robot time")
                self._publish_parameters()
        except ValueError as error:
            say_last_words(self, f"parameter 'payload' refused at {stamp:g} s: {error}")
            self.exit_code = 1
        self._virtual.advance(command)
        if self.sensors:
            self._read_sensors()

    def _read_sensors(self) -> None:
        engine = self._virtual.engine
        self.sensors.note(self.stamp, engine.pose(), engine.velocity())

    def publish_state(self) -> None:
        sample, engine = self._virtual.sample, self._virtual.engine
        self._topics.publish_sample(sample)
        self.sensors.publish()
        self.truth.publish_motion(sample.stamp, engine.pose(), engine.velocity())
        if self._driven is not None:
            self._driven.extend(engine.pose()[:2])

    def _publish_parameters(self) -> None:
        parameters = closed_form_message(self._virtual.engine.parameters())
        self.truth.publish_parameters(self.stamp, parameters)

    def close(self) -> None:
        super().close()
        self._virtual.engine.close()

    def _on_set_payload(
        self, request: SetPayload.Request, response: SetPayload.Response
    ) -> SetPayload.Response:
        try:
            self._virtual.engine.set_payload(
                request.mass, request.x, request.z, request.yaw_inertia
            )
        except ValueError as error:
            response.success, response.message = False, str(error)
            return response
        self._publish_parameters()
        response.success = True
        return response

    def _draw_paths(self) -> None:
        self._driven: FloorPath | None = None
        engine: Any = self._virtual.engine
        if not getattr(engine, "draws", False):
            return
        draw = engine.draw_line
        self._driven = FloorPath(lambda start, end: draw(start, end, *DRIVEN))
        wanted = FloorPath(lambda start, end: draw(start, end, *WANTED))

        def on_reference(message: PoseReference) -> None:
            if not self.paused:
                wanted.extend((message.x, message.y))

        self.create_subscription(PoseReference, "reference", on_reference, 10)
