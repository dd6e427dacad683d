# SPDX-License-Identifier: Apache-2.0
"""The velocity_ident node: excites a robot that takes velocity commands, within a room.

It subscribes to `odom`, or to `joint_states` or /tf, and publishes `cmd_vel`, for each answered
message, `~/status`, from which velocity_ident_report (diffbot_recordings) identifies the robot.
What that knows already, on `velocity_ident_report/velocity_parameters`, may end the excitation
early. At the end it measures when the driver stops by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from arc_odometry import Velocity
from arc_odometry.odometry_checks import OdometrySample
from diffbot_description import Robot, load_robot
from diffbot_ident.excitation.velocity_course import VelocityCourse, VelocityCourseSettings
from diffbot_ident.identification_run import Phase
from diffbot_ident.parameters_message import quantities_of
from diffbot_ident.precision import VelocityPrecision
from diffbot_ident.until import VELOCITY_EXAMPLE
from diffbot_msgs.msg import IdentStatus, VelocityParameters
from diffbot_node import CommandNode, CommandParameters, CountedTopic, RobotParameters, parameter
from diffbot_node.odometry_sources import (
    SHORTEST_TIMEOUT,
    OdometrySource,
    OdometryTopic,
    SourceKind,
    TransformTopic,
    WheelAngles,
    look_at,
)
from diffbot_node.robot_messages import to_stamp
from diffbot_node.velocity_interface import TWISTS, VelocityInterface, is_stamped
from diffbot_node.verdicts import GOOD, Verdict

KNOWN_TOPIC = "velocity_ident_report/velocity_parameters"


@dataclass(frozen=True)
class VelocityIdentParameters(VelocityCourseSettings, CommandParameters, RobotParameters):
    """Parameters of the velocity_ident node."""

    twist: str = parameter(
        TWISTS[0],
        "type of cmd_vel: Twist, TwistStamped, or auto, that of the subscriber",
        choices=TWISTS,
    )
    odometry_source: str = parameter(
        SourceKind.AUTO.value,
        "where the robot's motion is read: odom (pose and twist), odom_poses (the pose only), "
        "joint_states (the wheels' angles), tf, or auto, the first of odom, joint_states and tf "
        "that is published",
        choices=tuple(kind.value for kind in SourceKind),
    )
    odom_frame: str = parameter("odom", "fixed frame of the transform, with tf")
    base_frame: str = parameter(
        "", "the robot's frame of the transform, with tf; empty: base_link, base_footprint or base"
    )
    input_timeout: float = parameter(
        0.0,
        "age of the newest state of the robot after which zero is commanded, and longest time "
        "between two of them, s; the room allows for it; 0: as rate and age of the states need, "
        "0.25 to 1",
        minimum=0.0,
        maximum=1.0,
    )
    until: str = parameter(
        "",
        "precision at which the excitation ends early, not before 20 s: half widths of the 95 % "
        f"intervals, such as '{VELOCITY_EXAMPLE}'; empty or none: never",
    )
    driver_stop: bool = parameter(
        True,
        "measure at the end when the driver stops without commands: the robot turns on the spot at "
        "a quarter of its yaw rate; not in one process with the simulator",
    )
    listeners: int = parameter(0, "subscribers of ~/status to wait for before starting", minimum=0)


class VelocityIdentNode(CommandNode[VelocityIdentParameters]):
    """ROS interface of a VelocityExcitation.

    Raises:
        ValueError: A parameter is wrong; the message states which one and why.
    """

    def __init__(self) -> None:
        super().__init__("velocity_ident", VelocityIdentParameters)
        values = self.values
        robot = load_robot(values.robot)
        source, timeout = self._look(robot)
        self.values = replace(values, input_timeout=timeout)
        self._source = source
        log = self.get_logger()
        self._course = VelocityCourse(
            robot,
            values,
            timeout,
            measures_stop=values.driver_stop and not self.composed,
            use_poses=self._use_poses,
            inform=log.info,
            warn=log.warning,
        )
        self._until = VelocityPrecision.parse(values.until)
        self._status_topic = CountedTopic(self, IdentStatus, "~/status")
        if self._until is not None and not self.composed:  # there, the end would come by chance
            self.create_subscription(VelocityParameters, KNOWN_TOPIC, self._on_known, 10)
        stamped = self.composed if values.twist == TWISTS[0] else values.twist == TWISTS[2]
        if values.twist == TWISTS[0] and not self.composed:
            stamped = is_stamped(self, values.patience)
        self.connect(VelocityInterface(self._course.limits, source, stamped))

    def _look(self, robot: Robot) -> tuple[OdometrySource, float]:
        """Return what the robot publishes of its motion, and the input timeout, s.

        Raises:
            ValueError: It publishes nothing that can be used.
        """
        values, kinds = self.values, SourceKind
        all_sources: dict[SourceKind, Callable[[], OdometrySource]] = {
            kinds.ODOM: OdometryTopic,
            kinds.ODOM_POSES: lambda: OdometryTopic(by_poses=True),
            kinds.JOINT_STATES: lambda: WheelAngles(robot),
            kinds.TF: lambda: TransformTopic(values.odom_frame, values.base_frame),
        }
        asked = SourceKind(values.odometry_source)
        if self.composed or (asked is not kinds.AUTO and values.input_timeout):
            kind = kinds.ODOM if asked is kinds.AUTO else asked
            return all_sources[kind](), values.input_timeout or SHORTEST_TIMEOUT
        searched = (kinds.ODOM, kinds.JOINT_STATES, kinds.TF) if asked is kinds.AUTO else (asked,)
        arrivals = look_at(self, [all_sources[kind]() for kind in searched], values.patience)
        timeout = arrivals.timeout()
        source = arrivals.source
        self.get_logger().info(
            f"reading the robot's motion from {source.states[1]} ({source.kind.value}), input "
            f"timeout {values.input_timeout or timeout:.2f} s"
            + (f"; {source.remark}" if source.remark else "")
        )
        return source, values.input_timeout or timeout

    # The law.

    def needs(self) -> Verdict:
        return self._status_topic.missing(self.values.listeners) or GOOD

    def has_left(self) -> Verdict:
        return self._status_topic.left_by(self.values.listeners)

    def on_sample(self, sample: OdometrySample) -> Velocity:
        commanded = Velocity(*self.commanded)
        command = self._course.update(sample, commanded)
        self.output.withheld = command is None
        if self._course.ended:
            self._end()
        return commanded if command is None else command

    def _use_poses(self) -> bool:
        """Read velocities from the poses from now on; return whether the twist was used."""
        source = self._source
        if not isinstance(source, OdometryTopic) or source.by_poses:
            return False
        source.by_poses = True
        return True

    def _on_known(self, message: VelocityParameters) -> None:
        assert self._until is not None
        self._course.precise = self._until.is_reached(quantities_of(message))

    def on_commanded(self, sample: OdometrySample, command: tuple[float, float]) -> None:
        if self.exit_code is None:
            self._publish(command)

    def on_refused(self, sample: OdometrySample) -> None:
        self._course.refuse(sample)
        self._publish((0.0, 0.0))

    def on_left_out(self, sample: OdometrySample) -> None:
        self.on_refused(sample)

    def on_silence(self) -> None:
        """Restart the excitation after an interruption; the driver's stop is not measured then."""
        self._course.interrupt()

    def on_stopped(self, sample: OdometrySample) -> None:
        self._course.stand_by(sample)
        self._publish((0.0, 0.0))

    # The end.

    def _end(self) -> None:
        problem = self._course.problem
        self.finish(1 if problem else 0, f"{problem or 'done'} after {self._course.elapsed:.1f} s")
        self._publish((0.0, 0.0))

    def close(self) -> None:
        """Command zero on any exit, and report the end."""
        super().close()
        if not self._course.ended:
            self._course.end(Phase.STOPPED, self.interruption())
            self._publish((0.0, 0.0))
        self._status_topic.await_arrival()

    def _publish(self, command: tuple[float, float]) -> None:
        course, stop = self._course, self._course.driver
        status = IdentStatus(phase=int(course.phase), elapsed=course.elapsed)
        status.header.frame_id = "base_link"
        if math.isfinite(course.newest):
            status.header.stamp = to_stamp(course.newest)
        status.message = course.problem or self.stopped_by
        status.duration, status.refused = self.values.duration, self.refused
        status.arena[:] = (course.arena.length, course.arena.width)
        status.pose[:], status.command[:] = course.pose, command
        status.linear_velocity, status.angular_velocity = course.velocity
        status.information = status.predicted_information = math.nan
        status.guarded = course.guarded
        status.command_timeout, status.command_timeout_error = stop.seconds, stop.error
        status.command_timeout_reason = stop.reason
        self._status_topic.publish(status)
