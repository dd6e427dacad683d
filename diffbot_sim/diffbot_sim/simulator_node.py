"""The simulator node: an engine behind the topics that ros2_control speaks.

Publishes what simulator_topics.py lists. Subscribes to `effort_controller/commands` ([left, right],
N m), and to `reference` for drawing it where the engine can. Serves `~/set_payload`, and
`~/set_paused` (std_srvs/SetBool) to let the robot's time stand still or go on.

In lock-step it publishes a state, waits for the command that answers it, and advances by one
control period: a run repeats to the last digit and is as fast as its nodes. Else it runs on by
itself with the latest command, as a robot does.
"""

from __future__ import annotations

import time

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_srvs.srv import SetBool

from arc_odometry import JointSample
from diffbot_description import load_robot
from diffbot_msgs.msg import PoseReference
from diffbot_msgs.srv import SetPayload
from diffbot_node import Parameter, declare, pose_from_text
from diffbot_sim.command_topic import COMMANDS, CommandTopic
from diffbot_sim.command_watch import CommandWatch
from diffbot_sim.engines import ENGINES, make_simulator
from diffbot_sim.pacing import Pacer
from diffbot_sim.payload import PayloadSchedule, payload_from_text
from diffbot_sim.simulator_parameters import (
    LEAVE_WHEN_ALONE,
    PAYLOAD,
    ROBOT,
    SENSORS_AND_MOTORS,
    START,
    make_actuator,
    make_encoders,
)
from diffbot_sim.simulator_topics import SimulatorTopics
from diffbot_sim.trails import Trail
from diffbot_sim.virtual_robot import VirtualRobot

PARAMETERS = (
    ROBOT,
    Parameter("engine", "mujoco", "physics engine", choices=tuple(ENGINES)),
    Parameter("period", 0.01, "control period, s", above=0.0, maximum=0.1),
    Parameter("lock_step", True, "wait for the command that answers each joint state"),
    Parameter("speed", 0.0, "robot time per wall time; 0: as fast as lock-step goes", minimum=0.0),
    *SENSORS_AND_MOTORS,
    START,
    *PAYLOAD,
    Parameter("paused", False, "begin with the robot's time standing still, until ~/set_paused"),
    Parameter("gui", False, "show the engine's own window (gazebo)"),
    Parameter("camera", False, "put a camera into the world (gazebo)"),
    Parameter("pictures", "pictures", "folder for what the camera takes"),
    LEAVE_WHEN_ALONE,
    Parameter(
        "patience",
        20.0,
        "with leave_when_alone: wall time to wait for the first commands, s; then status 1",
        above=0.0,
    ),
)

# Colour (red, green, blue), height and width (m) of the paths that the engine draws on its floor.
DRIVEN = ((0.9, 0.35, 0.05), 0.004, 0.008)
WANTED = ((0.10, 0.25, 0.65), 0.002, 0.022)
# How often the node looks who is there, s of wall time; the first state is said again as often.
LOOK_PERIOD = 0.05
# Silence in lock-step is reported after this, s of wall time.
SILENCE = 2.0


class SimulatorNode(Node):
    """ROS side of the simulation; the physics and the sensors are VirtualRobot's."""

    def __init__(self) -> None:
        super().__init__("simulator")
        self.exit_code: int | None = None
        self.values = declare(self, PARAMETERS)
        if not self.values.lock_step and self.values.speed == 0.0:
            raise ValueError(
                "parameter 'speed' = 0.0: must be > 0 without lock_step, which alone can go as "
                "fast as possible; set speed to 1.0 for real time"
            )
        self.robot = load_robot(self.values.robot)
        self._virtual = self._make_robot()
        self._command = (0.0, 0.0)
        self._unanswered = False
        self._driven: Trail | None = None
        self._answered = False
        self._warned = False
        self._last_answer = time.monotonic()
        self._pacer = Pacer(self.values.speed)
        self._make_topics()
        if self.values.paused:
            self._virtual.engine.paused = True
            self.get_logger().info(
                f"paused; to go on: ros2 service call {self.get_fully_qualified_name()}/set_paused "
                "std_srvs/srv/SetBool '{data: false}', or Gazebo's play button"
            )
        self._publish_truth()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_PERIOD, self._look_around, clock=steady)
        if not self.values.lock_step:
            self.create_timer(self.values.period / self.values.speed, self._run_on, clock=steady)

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
        self._topics = SimulatorTopics(self, self.robot)
        self._commands = CommandTopic(self, self.robot, self._on_command)
        self._watch = CommandWatch(self, COMMANDS, self.values.patience)
        self.create_service(SetPayload, "~/set_payload", self._on_set_payload)
        self.create_service(SetBool, "~/set_paused", self._on_set_paused)
        draw = getattr(self._virtual.engine, "draw_line", None)
        if draw is not None and self._virtual.engine.draws:
            self._driven = Trail(lambda a, b: draw(a, b, *DRIVEN))
            self._wanted = Trail(lambda a, b: draw(a, b, *WANTED))
            self.create_subscription(PoseReference, "reference", self._on_reference, 10)

    # Time.

    def _on_command(self, command: tuple[float, float]) -> None:
        self._command = command
        if self.values.lock_step:
            self._unanswered = True
            self._go_on()

    def _go_on(self) -> None:
        """Answer the command that waits, unless time stands still."""
        if self._unanswered and not self._virtual.engine.paused:
            self._unanswered = False
            self._answer()

    def _answer(self) -> None:
        """Advance in lock-step by the period that the command just taken is for."""
        now = time.monotonic()
        if not self._answered:
            self._answered = True
            self._pacer.restart(self._virtual.sample.stamp)
        self._last_answer, self._warned = now, False
        sample = self._advance()
        if (delay := self._pacer.delay(sample.stamp)) > 0.0:
            time.sleep(delay)
        self._publish_state()

    def _advance(self) -> JointSample:
        """One period with the latest command, and with the payload from its time on."""
        engine, stamp = self._virtual.engine, self._virtual.sample.stamp
        try:
            if self._payload.apply(engine, stamp):
                self.get_logger().info(f"payload put on at {stamp:g} s of robot time")
                self._publish_truth()
        except ValueError as error:
            self.get_logger().error(f"parameter 'payload' refused at {stamp:g} s: {error}")
            self.exit_code = 1
        return self._virtual.advance(self._command)

    def _run_on(self) -> None:
        """Advance without lock-step, with the latest command."""
        if not self._virtual.engine.paused:
            self._advance()
            self._publish_state()

    def _look_around(self) -> None:
        paused = self._virtual.engine.paused
        if paused:
            self._last_answer = time.monotonic()
        self._go_on()
        if self.exit_code is None and self.values.leave_when_alone:
            self.exit_code = self._watch.end()
        if self.exit_code is not None:
            return
        waiting = self.values.lock_step and not self._answered
        if waiting and (rival := self._topics.rival()):
            self.get_logger().error(rival)
            self.exit_code = 1
        elif waiting or paused:
            # Said again until somebody is there to answer, and so that a robot whose time stands
            # still is not taken for a dead one; the stamp stays the same.
            self._publish_state()
        elif self.values.lock_step and not self._warned and self._is_silent():
            self._warned = True
            self.get_logger().warning(
                f"no command for {SILENCE} s of wall time: the robot's time stands still in "
                "lock-step until one comes"
            )

    def _is_silent(self) -> bool:
        """Whether those who command say nothing."""
        silence = time.monotonic() - self._last_answer
        return silence > SILENCE and self.count_publishers(COMMANDS) > 0

    def close(self) -> None:
        """End the engine; nothing has to be said."""
        self._virtual.engine.close()

    # Messages.

    def _publish_state(self) -> None:
        sample, engine = self._virtual.sample, self._virtual.engine
        self._topics.publish_sample(sample)
        if self._topics.is_watched():
            self._topics.publish_motion(sample.stamp, engine.pose(), engine.velocity())
        if self._driven is not None:
            self._driven.extend(engine.pose()[:2])

    def _on_reference(self, message: PoseReference) -> None:
        if not self._virtual.engine.paused:
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

    def _on_set_paused(
        self, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        self._virtual.engine.paused = request.data
        response.success = True
        response.message = "time stands still" if request.data else "time goes on"
        return response
