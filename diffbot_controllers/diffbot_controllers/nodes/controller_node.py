# SPDX-License-Identifier: Apache-2.0
"""Base class of the controllers' nodes: parameters K5..K8, odometry, and the run.

Subscribes to `joint_states` and, with `parameters` = topic or adaptive, to `dynamic_parameters`
(diffbot_msgs/DynamicParameters); each of these estimates is judged on `~/adaptation`
(diffbot_msgs/AdaptationStatus). Publishes `effort_controller/commands`, `~/odom`
(nav_msgs/Odometry), `/tf` (odom_frame -> base_frame), `~/state` (diffbot_msgs/ControllerState,
latched) and `~/status`. A subclass adds its references and its law.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, TypeVar

from arc_odometry import AnomalyKind, JointSample, Pose, Velocity
from arc_odometry.joints import RateLimit
from arc_odometry.odometry_messages import OdometryPublisher
from diffbot_controllers.laws.friction import KnownWheels, Laws
from diffbot_controllers.laws.motion import State, WheelFeedback
from diffbot_controllers.laws.polar_approach import PolarError
from diffbot_controllers.nodes.dynamics_source import (
    LIVE,
    DynamicsParameters,
    DynamicsSource,
    known_dynamics,
)
from diffbot_controllers.nodes.live_dynamics import live_dynamics
from diffbot_controllers.nodes.references import (
    PoseReferences,
    ReferenceNode,
    ReferenceRun,
    ReferenceSource,
)
from diffbot_controllers.parameter_reader import LONGEST_DELAY
from diffbot_description import DynamicParameters, Torque
from diffbot_msgs.msg import ControllerState
from diffbot_msgs.msg import PolarError as PolarErrorMessage
from diffbot_node import CountedTopic, EffortNode, parameter, pose_from_text, to_stamp
from diffbot_node.verdicts import Verdict
from pose2d_trajectories import Reference
from pose2d_trajectories.pose_message import Pose2D

FROM_FILE = -1.0  # value of torque_delay for the delay in the file of parameters
OBSERVER, POSITION, VELOCITY = "observer", "position", "velocity"


@dataclass(frozen=True)
class ControllerParameters(DynamicsParameters):
    """Parameters of the controllers that command wheel torque."""

    start: str = parameter("0,0,0", "pose at the first joint state, x,y,theta in m, m, rad")
    velocity_source: str = parameter(
        OBSERVER,
        "pose and velocities by an observer from the wheels' angles, torques and the model; from "
        "differences of the angles; or velocities as the joint states report them",
        choices=(OBSERVER, POSITION, VELOCITY),
    )
    encoder_counts: int = parameter(
        -1,
        "counts per wheel revolution, which the observer's gain follows; 0: exact; -1: the robot's",
        minimum=-1,
        maximum=2**31 - 1,
    )
    integral_action: bool = parameter(
        True,
        "whether the standard backstepping law compensates accelerations that the observer cannot "
        "explain, up to 30 % of those at full torque and 40 % of those at torque_limit; the other "
        "laws have PI loops, or no such compensation",
    )
    torque_delay: float = parameter(
        FROM_FILE,
        "time from a command to its torque, s, over which the observer predicts the motion; -1: "
        "as identified in the file of `parameters`, else 0",
        minimum=FROM_FILE,
        maximum=LONGEST_DELAY,
    )
    path_noise: float = parameter(
        1e-6,
        "variance of a wheel's path per path driven, m^2/m; 1e-6 is 1 mm after 1 m",
        minimum=0.0,
    )
    odom_frame: str = parameter("odom", "frame of the pose; parent in tf")
    odom_rate: float = parameter(
        50.0,
        "maximum rate of ~/odom and /tf in robot time, Hz; 0: one per joint state",
        minimum=0.0,
    )
    publish_tf: bool = parameter(True, "whether odom_frame -> base_frame is sent on /tf")


C_co = TypeVar("C_co", bound=ControllerParameters, covariant=True)


class ControllerNode(ReferenceNode[C_co], EffortNode[C_co]):
    """Runs a control law on a robot; the law and WheelFeedback implement the mathematics.

    `fastest`: speed limits of the law, m/s and rad/s; infinite if it has none.

    Raises:
        ValueError: A parameter is wrong.
    """

    def __init__(self, name: str, parameters: type[C_co], status_type: type) -> None:
        super().__init__(name, parameters, status_type)
        self.fastest = Velocity(math.inf, math.inf)
        values = self.values
        self._feedback = WheelFeedback(
            self.geometry,
            pose_from_text("start", values.start),
            values.path_noise,
            values.velocity_source != VELOCITY,
        )
        self._dt = 0.0  # time since the previous sample, s; 0: the law was not updated
        self._status_type = status_type
        frames = values.odom_frame, values.base_frame
        self._odometry_topic = OdometryPublisher(self, "~/odom", frames, values.publish_tf)
        self._odometry_due = RateLimit(values.odom_rate)
        self.state.torque_limit = self.torque_limit
        self.state.parameters_source = values.parameters
        self.state.header.frame_id = values.base_frame
        self.references = self.make_references()
        self.run = ReferenceRun(self, self.references, robot=self.robot)
        self._known = known_dynamics(self.robot, values)
        self._torque_delay = self._given_delay()  # s
        self._dynamics = self._make_dynamics()

    def make_references(self) -> ReferenceSource[Any]:
        """Return the source of references: set points and moving poses, unless overridden."""
        return PoseReferences(self, self.values.odom_frame, set_points=True, count=self.one_count)

    @abstractmethod
    def make_law(self, dynamics: DynamicParameters, wheels: KnownWheels) -> Any:
        """Return a law with `update(state, reference, dt)`, `reset()`, `record`, and parameters.

        The parameters are `dynamics` and `friction`, which may be replaced.
        """

    @abstractmethod
    def fill_status(self, status: Any, stamp: float, dt: float, torque: Torque) -> None:
        """Write `law.record` to a message; stamp and period in s, commanded torque in N m."""

    def _make_dynamics(self) -> DynamicsSource:
        known = self._known
        if self.values.parameters in LIVE:
            return live_dynamics(self, known, self._on_dynamics)
        dynamics = known.dynamics
        self._on_dynamics(dynamics, known.friction)
        return DynamicsSource(dynamics)

    def _on_dynamics(self, dynamics: DynamicParameters, friction: Laws) -> None:
        if not self.run.began:
            # Before the run the law is made again, with tuned gains.
            self.law = self.make_law(dynamics, self._wheels(friction))
            self._feedback.correct_by(self.law.drivetrain.first_reading())
        else:
            self.law.dynamics = dynamics
            self.law.friction = friction

    def _wheels(self, friction: Laws) -> KnownWheels:
        values = self.values
        return KnownWheels(
            self.geometry,
            friction,
            self.robot.limits.torque,
            self._counts,
            self._torque_delay,
            observer=values.velocity_source == OBSERVER,
            integral=values.integral_action,
            limit=self.torque_limit,
            turning=self._known.turning,
            rims=self.robot.rim_limit,
        )

    @property
    def _counts(self) -> int:
        return self.robot.encoder.counts_or(self.values.encoder_counts)

    @property
    def one_count(self) -> tuple[float, float]:
        """Path and turn of the robot per encoder count of one wheel, m and rad."""
        angle = math.tau / self._counts if self._counts else 0.0
        return self.geometry.body_velocity(0.0, angle)

    def _given_delay(self) -> float:
        given = self.values.torque_delay
        if given == FROM_FILE:
            return self._known.delay
        if given < 0.0:
            raise ValueError(
                f"torque_delay = {given:g} s: must be >= 0, or {FROM_FILE:g} for the one in the "
                "file of parameters"
            )
        return given

    @property
    def counted_topics(self) -> tuple[CountedTopic, ...]:
        return (self.status_topic, *self._dynamics.counted_topics)

    @property
    def dynamics(self) -> DynamicParameters | None:
        """K5..K8 in use; None before valid ones have arrived."""
        return self._dynamics.newest

    def needs(self) -> Verdict:
        return self._dynamics.needs() or super().needs()

    def required_fields(self) -> tuple[str, ...]:
        speeds = self.values.velocity_source == VELOCITY
        return ("position", "velocity") if speeds else ("position",)

    def awaits(self, sample: JointSample) -> Verdict:
        return super().awaits(sample) or self._dynamics.awaits(sample.stamp)

    def on_sample(self, sample: JointSample) -> Torque:
        self._dt = 0.0
        reading = self._feedback.update(sample, self.commanded)
        if reading.anomaly is not None and reading.anomaly.kind is AnomalyKind.RESET:
            self._dynamics.reset(sample.stamp)
        self.run.advance_to(sample.stamp, reading.anomaly)
        self._dynamics.advance(sample.stamp)
        reference = self.references.input.at(sample.stamp)
        if reading.state is None or reference is None:
            self.law.reset()
            return 0.0, 0.0
        if self.run.begin(sample.stamp):
            self._log_start()
        pose = reading.state.pose
        goal = reference.pose if isinstance(reference, Reference) else None
        if self.run.ends_now(pose, goal, self.references.arrived(pose)):
            return 0.0, 0.0
        torque = self.drive(reading.state, reference, reading.dt)
        self._dt = reading.dt
        return torque

    def drive(self, state: State, reference: Any, dt: float) -> Torque:
        """Update the law and return its torque; a subclass may limit the reference first."""
        fastest, most = self.fastest, self.robot.limits.wheel_velocity
        rims = self.robot.rim_limit
        if (
            abs(reference.v) > fastest.v
            or abs(reference.omega) > fastest.omega
            or (math.isfinite(fastest.v) and rims.rim(reference.v, reference.omega) > rims.speed)
        ):
            and_wheels = "" if most is None else f" (wheels {most:g} rad/s)"
            self.complain(
                f"reference asks for {reference.v:.3g} m/s, {reference.omega:.3g} rad/s: the law "
                f"keeps to {fastest.v:.3g} m/s, {fastest.omega:.3g} rad/s{and_wheels} with "
                f"{self.torque_limit:g} N m, and falls behind; make the trajectory slower (a "
                "longer period), or raise torque_limit if the robot can bear it"
            )
        torque: Torque = self.law.update(state, reference, dt)
        return torque

    def _log_start(self) -> None:
        self.get_logger().info(
            f"driving robot '{self.robot.name}' by law '{self.law_name}' with at most "
            f"{self.torque_limit:g} N m, parameters from {self.values.parameters}: "
            f"{self.dynamics}"
        )

    def on_commanded(self, sample: JointSample, torque: Torque) -> None:
        if self.exit_code is not None:
            return
        if self._dt > 0.0 and self.law.record is not None:
            status = self._status_type()
            status.header.frame_id = self.values.odom_frame
            self.fill_status(status, sample.stamp, self._dt, torque)
            self.status_topic.publish(status)
        self._publish_odometry()
        self.run.tell_state(sample.stamp)

    def on_refused(self, sample: JointSample) -> None:
        self.law.reset()
        self._publish_odometry()

    def on_left_out(self, sample: JointSample) -> None:
        """One arc over all skipped samples would be wrong."""
        self._count_distance(sample)

    def on_stopped(self, sample: JointSample) -> None:
        """Somebody may push the robot around."""
        self._dt = 0.0
        self._count_distance(sample)
        self.law.reset()
        self._publish_odometry()

    def _count_distance(self, sample: JointSample) -> None:
        try:
            anomaly = self._feedback.update(sample, self.commanded).anomaly
            self.run.advance_to(sample.stamp, anomaly)
        except ValueError as error:
            self.complain(str(error))

    def close(self) -> None:
        super().close()
        self._dynamics.close()

    def _publish_odometry(self) -> None:
        odometry, stamp = self._feedback.odometry, self.run.newest
        odometry.settle()
        if odometry.time is not None and self._odometry_due.due(stamp):
            self._odometry_topic.publish(to_stamp(stamp), odometry)

    def complete_state(self, state: ControllerState) -> None:
        state.judgements = sum(topic.count for topic in self._dynamics.counted_topics)
        if (k := self.dynamics) is not None:
            state.k5, state.k6, state.k7, state.k8 = k


def fill_pose(message: Pose2D, pose: Pose) -> None:
    """Write a pose, m and rad, to a message."""
    message.x, message.y, message.theta = float(pose.x), float(pose.y), float(pose.theta)


def fill_polar(message: PolarErrorMessage, error: PolarError) -> None:
    """Write e, psi and alpha to a message."""
    message.range, message.angle = float(error.e), float(error.psi)
    message.orientation = float(error.alpha)
