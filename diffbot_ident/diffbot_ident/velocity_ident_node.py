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
from contextlib import suppress
from dataclasses import dataclass, replace

from arc_odometry import REST, Pose, Velocity
from arc_odometry.odometry_checks import OdometrySample, OdometryStamps, PoseContinuity
from diffbot_description import Robot, load_robot
from diffbot_description.arena import Arena, reach
from diffbot_ident.excitation.driver_stop import DriverStop, DriverStopTest
from diffbot_ident.excitation.velocity_excitation import (
    MOVING,
    STANDING,
    VelocityExcitation,
    is_faster,
)
from diffbot_ident.excitation.velocity_watch import VelocityWatch
from diffbot_ident.identification_run import Phase
from diffbot_ident.parameters_message import quantities_of
from diffbot_ident.precision import MIN_TIME, VELOCITY_EXAMPLE, VelocityPrecision
from diffbot_msgs.msg import IdentStatus, VelocityParameters
from diffbot_node import CommandNode, CommandParameters, CountedTopic, RobotParameters, parameter
from diffbot_node.checks import GOOD, Verdict
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

# Room where none is given, m.
DEFAULT_ARENA = Arena(3.0, 3.0)
KNOWN_TOPIC = "velocity_ident_report/velocity_parameters"
# Longest rest at the end, s.
LONGEST_REST = 10.0
_NOT_TRIED = "it was not tried (driver_stop, or a simulator in the same process, which waits)"


@dataclass(frozen=True)
class VelocityIdentParameters(CommandParameters, RobotParameters):
    """Parameters of the velocity_ident node."""

    duration: float = parameter(60.0, "duration of the excitation, s of robot time", above=0.0)
    arena: str = parameter(
        "",
        "room to keep the whole robot in, length x width in m, such as 3x3; it starts in the "
        "middle, heading along the length; empty: 3x3",
    )
    linear_velocity: float = parameter(
        0.0, "largest |v| commanded, m/s; 0: limits.linear_velocity of the robot", minimum=0.0
    )
    angular_velocity: float = parameter(
        0.0,
        "largest |omega| commanded, rad/s; 0: limits.angular_velocity of the robot",
        minimum=0.0,
    )
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
    seed: int = parameter(0, "seed of all random choices of the excitation", minimum=0)
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
        self._limits = robot.speed_limits(values.linear_velocity, values.angular_velocity)
        self._arena = Arena.parse(values.arena) or DEFAULT_ARENA

        def new_excitation() -> VelocityExcitation:
            return VelocityExcitation(
                self._arena.room(reach(robot)),
                self._limits,
                robot.rim_limit,
                latency=timeout,
                seed=values.seed,
            )

        self._until = VelocityPrecision.parse(values.until)
        self._new_excitation = new_excitation
        self._excitation, self._source = new_excitation(), source
        self._watch = VelocityWatch(self._limits)
        self._over: float | None = None  # robot time at which the excitation ended, s
        self._stop_test: DriverStopTest | None = None
        self._continuity = PoseContinuity(self._watch.fastest)
        self._stamps = OdometryStamps(timeout)
        self._start: Pose | None = None  # pose at the beginning, in the odometry's frame
        self._newest, self._elapsed = math.nan, 0.0  # stamp of the newest odometry; robot time, s
        self._pose, self._velocity = Pose(0.0, 0.0, 0.0), REST
        self._phase, self._problem = Phase.WAITING, ""
        self._status_topic = CountedTopic(self, IdentStatus, "~/status")
        self._precise = False
        if self._until is not None and not self.composed:  # there, the end would come by chance
            self.create_subscription(VelocityParameters, KNOWN_TOPIC, self._on_known, 10)
        stamped = self.composed if values.twist == TWISTS[0] else values.twist == TWISTS[2]
        if values.twist == TWISTS[0] and not self.composed:
            stamped = is_stamped(self, values.patience)
        self.connect(VelocityInterface(self._limits, source, stamped))

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
        """Return what is missing before the excitation may begin: the report."""
        return self._status_topic.missing(self.values.listeners) or GOOD

    def has_left(self) -> Verdict:
        """Return whether the report has left the run."""
        return self._status_topic.left_by(self.values.listeners)

    def on_sample(self, sample: OdometrySample) -> Velocity:
        """Return the next command; rest at the end, and then end the run."""
        if anomaly := self._stamps.check(sample.stamp):
            raise ValueError(anomaly.text)
        self._continuity.check(sample.stamp, sample.pose)
        if self._start is None:
            self._begin(sample)
        step = 0.0 if self._phase is Phase.WAITING else max(sample.stamp - self._newest, 0.0)
        if self._phase is Phase.WAITING:
            self._phase = Phase.EXCITING
        self._elapsed += step
        self._newest, self._velocity = sample.stamp, sample.velocity
        self._pose = sample.pose.relative_to(self._start or sample.pose)
        command = Velocity(*self.commanded)
        problem = self._watch.update(command, self._pose, self._velocity, step) or self._outside()
        if problem and not (self._watch.twist_differs and self._begin_again(problem)):
            self._end(Phase.STOPPED, problem)
        if problem:
            return REST
        if self._stop_test is not None:
            return self._silence(self._stop_test, sample.velocity)
        if self._is_over():
            return self._rest()
        return self._excitation.command(self._elapsed, self._pose, sample.velocity)

    def _begin(self, sample: OdometrySample) -> None:
        if is_faster(sample.velocity, self._limits, MOVING):
            raise ValueError("the robot moves already: it must stand at the beginning")
        self._start = sample.pose
        arena = self._arena
        self.get_logger().info(
            f"exciting the robot for {self.values.duration:g} s within {arena.length:g} m x "
            f"{arena.width:g} m, at most {self._limits.v:g} m/s and {self._limits.omega:g} rad/s"
        )

    def _begin_again(self, why: str) -> bool:
        """Begin the run again, with velocities from poses; what was recorded is not used.

        Return whether the twist was used until now.
        """
        source = self._source
        if not isinstance(source, OdometryTopic) or source.by_poses:
            return False
        source.by_poses = True
        self._watch, self._excitation = VelocityWatch(self._limits), self._new_excitation()
        self._elapsed, self._over, self._stop_test = 0.0, None, None
        self._phase, self._precise = Phase.EXCITING, False
        self.get_logger().warning(f"{why}; its poses are used instead, and the run begins again")
        return True

    def _is_over(self) -> bool:
        """Whether the excitation has lasted long enough, or tells all that was asked for."""
        if self._over is None and self._elapsed >= self.values.duration:
            self._over = self._elapsed
        if self._over is None and self._precise and self._elapsed >= MIN_TIME:
            self._over = self._elapsed
            self.get_logger().info(
                f"identified after {self._elapsed:.1f} s, as the precision asked for (until) is "
                "reached"
            )
        return self._over is not None

    def _on_known(self, message: VelocityParameters) -> None:
        """Take what the report knows already."""
        assert self._until is not None
        self._precise = self._until.is_reached(quantities_of(message))

    def _rest(self) -> Velocity:
        """Return zero; once the robot stands, test the driver or end the run."""
        stands = not is_faster(self._velocity, self._limits, STANDING)
        rested = self._elapsed - (self._over or 0.0)
        if rested > LONGEST_REST or (stands and rested > self._excitation.stop_time.seconds):
            if not stands or self.composed or not self.values.driver_stop:
                self._end(Phase.DONE)
            else:
                self._phase = Phase.VERIFYING
                self._stop_test = DriverStopTest(self._limits.omega, self._excitation.stop_time)
        return REST

    def _silence(self, test: DriverStopTest, velocity: Velocity) -> Velocity:
        """Return the command of the test of the driver, or withhold it; end the run at its end."""
        command = test.command(self._newest, velocity)
        self.output.withheld = command is None
        if test.result is not None:
            (self.get_logger().warning if test.result.runs_on else self.get_logger().info)(
                str(test.result)
            )
            self._end(Phase.DONE)
        return Velocity(*self.commanded) if command is None else command

    def _outside(self) -> str:
        """Return that the robot has left its arena; empty if it has not."""
        for name, at, size in (
            ("length", self._pose.x, self._arena.length),
            ("width", self._pose.y, self._arena.width),
        ):
            if abs(at) > 0.5 * size:
                return (
                    f"the robot is {abs(at):.2f} m from its start and has left the arena's {name}: "
                    "it drives on longer after a stop than it showed before; give it a larger "
                    "arena, or a lower linear_velocity"
                )
        return ""

    def on_commanded(self, sample: OdometrySample, command: tuple[float, float]) -> None:
        """Publish the status."""
        if self.exit_code is None:
            self._publish(command)

    def on_refused(self, sample: OdometrySample) -> None:
        """Restart the excitation after an interruption, in which zero was commanded."""
        self._newest, self._velocity = sample.stamp, sample.velocity
        self.on_silence()
        self._publish((0.0, 0.0))

    def on_left_out(self, sample: OdometrySample) -> None:
        """Restart the excitation after an interruption, in which zero was commanded."""
        self.on_refused(sample)

    def on_silence(self) -> None:
        """Restart the excitation after an interruption; the driver's stop is not measured then."""
        self._excitation.interrupt()
        if self._stop_test is not None:
            self._stop_test.interrupt("the test was interrupted")

    def on_stopped(self, sample: OdometrySample) -> None:
        """Pause until the node is enabled again."""
        self._stamps.check(sample.stamp)
        with suppress(ValueError):
            self._continuity.check(sample.stamp, sample.pose)
        self.on_refused(sample)

    # The end.

    def _end(self, phase: Phase, problem: str = "") -> None:
        self._phase, self._problem = phase, problem
        self.finish(1 if problem else 0, f"{problem or 'done'} after {self._elapsed:.1f} s")
        self._publish((0.0, 0.0))

    def close(self) -> None:
        """Command zero on any exit, and report the end."""
        super().close()
        if self._phase in (Phase.WAITING, Phase.EXCITING, Phase.VERIFYING):
            self._phase, self._problem = Phase.STOPPED, self.interruption()
            self._publish((0.0, 0.0))
        self._status_topic.await_arrival()

    def _publish(self, command: tuple[float, float]) -> None:
        status = IdentStatus(phase=int(self._phase), elapsed=self._elapsed)
        status.header.frame_id = "base_link"
        if math.isfinite(self._newest):
            status.header.stamp = to_stamp(self._newest)
        status.message = self._problem or self.stopped_by
        status.duration, status.refused = self.values.duration, self.refused
        status.arena[:] = (self._arena.length, self._arena.width)
        status.pose[:], status.command[:] = self._pose, command
        status.linear_velocity, status.angular_velocity = self._velocity
        status.information = status.predicted_information = math.nan
        status.guarded = self._excitation.shortened
        untried = DriverStop(reason=_NOT_TRIED if self._phase is Phase.DONE else "")
        stop = (self._stop_test and self._stop_test.result) or untried
        status.command_timeout, status.command_timeout_error = stop.seconds, stop.error
        status.command_timeout_reason = stop.reason
        self._status_topic.publish(status)
