"""The simulator node: an engine behind the topics that ros2_control speaks.

Publishes what simulator_topics.py lists. Subscribes to `effort_controller/commands` ([left, right],
N m), and to `reference` for drawing it where the engine can. Serves `~/set_payload`, and
`~/set_paused` (std_srvs/SetBool) to let the robot's time stand still or go on.

In lock-step it publishes a state, waits for the command that answers it, and advances by one
control period: a run repeats to the last digit and is as fast as its nodes. Else it runs on by
itself with the latest command, as a robot does.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from diffbot_description import load_robot
from diffbot_msgs.msg import PoseReference
from diffbot_msgs.srv import SetPayload
from diffbot_node import Parameter, pose_from_text
from diffbot_sim.engines import ENGINES, make_simulator
from diffbot_sim.paced_simulator import PACE, PacedSimulator
from diffbot_sim.simulator_topics import COMMANDS, CommandTopic, SimulatorTopics
from diffbot_sim.virtual_robot import (
    PAYLOAD,
    ROBOT,
    SENSORS_AND_MOTORS,
    START,
    PayloadSchedule,
    VirtualRobot,
    make_actuator,
    make_encoders,
    payload_from_text,
)

# ---
# Paths as chains of short lines, for engines that can draw on their floor.

Point = tuple[float, float]

# A line is drawn when its end is this far from its beginning, m.
LENGTH = 0.04
# A point further away than this begins a new path: nothing has driven there, m.
JUMP = 0.5


class Trail:
    """One path.

    Args:
        draw: draws a line from one point (x, y in m) to another.
    """

    def __init__(self, draw: Callable[[Point, Point], None]) -> None:
        self._draw = draw
        self._end: Point | None = None

    def extend(self, point: Point) -> None:
        """Go on to a point; a line is drawn once it is long enough."""
        if self._end is None:
            self._end = point
            return
        distance = math.dist(self._end, point)
        if LENGTH <= distance <= JUMP:
            self._draw(self._end, point)
        if distance >= LENGTH:
            self._end = point


PARAMETERS = (
    ROBOT,
    Parameter("engine", "mujoco", "physics engine", choices=tuple(ENGINES)),
    *PACE,
    *SENSORS_AND_MOTORS,
    START,
    *PAYLOAD,
    Parameter("gui", False, "show the engine's own window (gazebo)"),
    Parameter("camera", False, "put a camera into the world (gazebo)"),
    Parameter("pictures", "pictures", "folder for what the camera takes"),
)

# Colour (red, green, blue), height and width (m) of the paths that the engine draws on its floor.
DRIVEN = ((0.9, 0.35, 0.05), 0.004, 0.008)
WANTED = ((0.10, 0.25, 0.65), 0.002, 0.022)


class SimulatorNode(PacedSimulator):
    """ROS side of the simulation; the physics and the sensors are VirtualRobot's."""

    def __init__(self) -> None:
        super().__init__("simulator", PARAMETERS)
        self.robot = load_robot(self.values.robot)
        self._virtual = self._make_robot()
        self._driven: Trail | None = None
        self._make_topics()
        self._publish_truth()
        self.run(COMMANDS, "torque")

    def _make_robot(self) -> VirtualRobot:
        values, robot = self.values, self.robot
        start = pose_from_text("start", values.start)
        # The cheap things first: they refuse what is wrong before a server is started.
        actuator, encoders = make_actuator(robot, values), make_encoders(robot, values)
        load = payload_from_text(values.payload, robot)
        self._payload = PayloadSchedule(load, values.payload_time)
        pictures = values.pictures if values.camera else None
        engine = make_simulator(values.engine, robot, values.gui, pictures, values.seed)
        engine.reset(start)
        return VirtualRobot(engine, actuator, encoders, values.period)

    def _make_topics(self) -> None:
        self._topics = SimulatorTopics(
            self, self.robot, self.resume if self.values.lock_step else None
        )
        self._commands = CommandTopic(self, self.robot, self.take_command)
        self.create_service(SetPayload, "~/set_payload", self._on_set_payload)
        draw = getattr(self._virtual.engine, "draw_line", None)
        if draw is not None and self._virtual.engine.draws:
            self._driven = Trail(lambda a, b: draw(a, b, *DRIVEN))
            self._wanted = Trail(lambda a, b: draw(a, b, *WANTED))
            self.create_subscription(PoseReference, "reference", self._on_reference, 10)

    # Time.

    @property
    def stamp(self) -> float:
        """Robot time of the newest state, s."""
        return self._virtual.sample.stamp

    @property
    def paused(self) -> bool:
        """Whether the engine's owner, or its window, lets time stand still."""
        return self._virtual.engine.paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        self._virtual.engine.paused = paused

    def advance(self, command: tuple[float, float]) -> None:
        """One period with the command, and with the payload from its time on."""
        engine, stamp = self._virtual.engine, self.stamp
        try:
            if self._payload.apply(engine, stamp):
                self.get_logger().info(f"payload put on at {stamp:g} s of robot time")
                self._publish_truth()
        except ValueError as error:
            self.get_logger().error(f"parameter 'payload' refused at {stamp:g} s: {error}")
            self.exit_code = 1
        self._virtual.advance(command)

    def awaits(self) -> str:
        """Reports, which listen to what is true."""
        return self.awaits_listeners(self._topics.motion_topic, self._topics.parameters_topic)

    def rival(self) -> str | None:
        """Somebody else who publishes joint states."""
        return self._topics.rival()

    def close(self) -> None:
        """What is on its way arrives, and the engine ends."""
        self.await_arrival(self._topics.motion_topic, self._topics.parameters_topic)
        self._virtual.engine.close()

    # Messages.

    def publish_state(self) -> None:
        """Wheels, clock and true motion."""
        sample, engine = self._virtual.sample, self._virtual.engine
        self._topics.publish_sample(sample)
        if self._topics.is_watched():
            self._topics.publish_motion(sample.stamp, engine.pose(), engine.velocity())
        if self._driven is not None:
            self._driven.extend(engine.pose()[:2])

    def _on_reference(self, message: PoseReference) -> None:
        if not self.paused:
            self._wanted.extend((message.x, message.y))

    def _publish_truth(self) -> None:
        self._topics.publish_parameters(
            self._virtual.sample.stamp, self._virtual.engine.parameters()
        )

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
        self._publish_truth()
        response.success = True
        return response
