# SPDX-License-Identifier: Apache-2.0
"""The velocity_tracking_controller node: tracking for robots with velocity commands, see law.py.

Subscribes to `odom` (nav_msgs/Odometry), `~/reference` (diffbot_msgs/PoseReference, in the
odometry's frame), `~/command` (geometry_msgs/Pose2D: a set point, to park at) and, if it watches
for slip, `imu/data`. Publishes
`cmd_vel` (geometry_msgs/TwistStamped, or Twist), `~/status` (diffbot_msgs/VelocityTrackingStatus,
once per odometry), `~/state` (diffbot_msgs/ControllerState, latched) and `~/parameters`
(diffbot_msgs/VelocityParameters in use, latched).
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

from arc_odometry import REST, Velocity
from arc_odometry.odometry_checks import OdometrySample, OdometryStamps, PoseContinuity
from diffbot_controllers.nodes.references import (
    PoseReferences,
    ReferenceNode,
    ReferenceParameters,
    ReferenceRun,
)
from diffbot_controllers.velocity_tracking.law import (
    TrackerRecord,
    TrackerSettings,
    VelocityTracker,
)
from diffbot_controllers.velocity_tracking.slip_guard import (
    SlipAction,
    SlipGuard,
    SlipParameters,
)
from diffbot_controllers.velocity_tracking.tracking_setup import (
    NO_ROBOT,
    InUse,
    TrackerParameters,
    estimator,
    fastest,
    identified,
    tracker_settings,
)
from diffbot_description import load_robot
from diffbot_msgs.msg import ControllerState, VelocityParameters, VelocityTrackingStatus
from diffbot_node import parameter, to_stamp
from diffbot_node.odometry_sources import OdometryTopic
from diffbot_node.topic_nodes import LATCHED
from diffbot_node.velocity_interface import VelocityInterface
from diffbot_node.verdicts import GOOD, Verdict
from pose2d_trajectories import Reference

# Dead time that differs by more from the assumed one is told, s.
WRONG_DEAD_TIME = 0.02


@dataclass(frozen=True)
class TrackingParameters(TrackerParameters, SlipParameters, ReferenceParameters):
    """Parameters of velocity_tracking_controller."""

    stamped: bool = parameter(True, "whether cmd_vel is a TwistStamped; else a Twist")
    odom_frame: str = parameter("odom", "frame of odometry and references")


def fill(in_use: InUse, message: VelocityTrackingStatus | VelocityParameters) -> None:
    """Write what the tracker assumes to a message."""
    message.sigma[:] = in_use.sigma.as_array()
    message.dead_band[:] = [float(known.width) for known in in_use.dead_band]
    message.dead_band_variance[:] = in_use.band_variances
    message.dead_time[:] = in_use.dead_times
    message.dead_time_variance[:] = in_use.dead_time_variances


def fill_status(
    status: VelocityTrackingStatus,
    settings: TrackerSettings,
    sample: OdometrySample,
    reference: Reference,
    record: TrackerRecord,
) -> None:
    """Write all but what the node knows of the robot to a message."""
    status.header.stamp = to_stamp(sample.stamp)
    status.damping, status.b = float(settings.gains.damping), float(settings.gains.b)
    status.k_v, status.k_w = float(settings.k_v), float(settings.k_w)
    limits = settings.limits
    status.limits[:] = [float(limits.linear_velocity), float(limits.angular_velocity)]
    for message, pose in (
        (status.set_point, reference),
        (status.process_value, sample.pose),
        (status.error, record.error),
    ):
        message.x, message.y, message.theta = float(pose.x), float(pose.y), float(pose.theta)
    status.reference_velocity[:] = [float(reference.v), float(reference.omega)]
    status.velocity[:] = sample.velocity
    status.wanted_velocity[:] = record.wanted
    status.wanted_acceleration[:] = record.acceleration
    status.limited = [bool(limited) for limited in record.limited]


class VelocityTrackingNode(ReferenceNode[TrackingParameters]):
    """ROS interface of the tracker; a ValueError if a parameter is wrong."""

    def __init__(self) -> None:
        super().__init__("velocity_tracking_controller", TrackingParameters, VelocityTrackingStatus)
        values = self.values
        self._known = identified(values)
        self._settings = tracker_settings(values, self._known, values.input_timeout)
        self._estimator = (
            estimator(values, self._known, self._settings) if values.adaptive else None
        )
        self._tracker = VelocityTracker(self._settings, self._known.sigma, self._estimator)
        self._stamps = OdometryStamps(values.input_timeout)
        self._continuity = PoseContinuity(fastest(self._settings.limits, self._known))
        self._reference: Reference | None = None  # reference of the tracker's last update
        self._warned = False
        self._answered: float | None = None  # stamp of the last answered sample, s
        self.state.parameters_source = values.parameters
        self.state.header.frame_id = "base_link"
        self._parameters_topic = self.create_publisher(VelocityParameters, "~/parameters", LATCHED)
        limits = self._settings.limits
        fastest_commands = Velocity(limits.linear_velocity, limits.angular_velocity)
        source = OdometryTopic(values.odom_frame)
        self._slip = None
        if values.imu:
            self._slip = SlipGuard(self, SlipAction(values.slip_action), fastest_commands)
        slips = None if self._slip is None else self._slip.judge
        self.connect(VelocityInterface(fastest_commands, source, values.stamped, slips))
        self._odom = self.resolve_topic_name("odom")
        self.references = PoseReferences(self, values.odom_frame, set_points=True)
        # With two publishers of odometry, poses of both would alternate.
        robot = None if values.robot == NO_ROBOT else load_robot(values.robot)
        self.run = ReferenceRun(self, self.references, lone_topics=(self._odom,), robot=robot)

    # The loop.

    def needs(self) -> Verdict:
        missing = super().needs()
        return missing if missing or self._slip is None else self._slip.needs()

    def held_by(self) -> Verdict:
        if self.states.knows_senders:
            return GOOD
        return self.run.crowd(self._odom)

    @property
    def law_name(self) -> str:
        return "adaptive" if self.values.adaptive else "fixed"

    def on_sample(self, sample: OdometrySample) -> Velocity:
        self._reference = None
        self.run.advance_to(sample.stamp, self._stamps.check(sample.stamp))
        self._continuity.check(sample.stamp, sample.pose)
        reference = self.references.input.at(sample.stamp)
        if reference is None:
            self.on_silence()
            return REST
        if self.run.begin(sample.stamp):
            self._log_start()
        arrived = self.references.arrived(sample.pose)
        if self.run.ends_now(sample.pose, reference.pose, arrived):
            return REST
        command = self._tracker.update(
            sample.stamp,
            reference,
            sample.pose,
            sample.velocity,
            self.commanded,
            set_point=not self.references.input.is_stream,
        )
        self._reference = reference
        part = 1.0 if self._slip is None else self._slip.part
        return Velocity(part * command.v, part * command.omega)

    def _log_start(self) -> None:
        limits, sigma = self._settings.limits, self._tracker.sigma
        v, omega = self._tracker.dead_band
        bands = f"dead band {v.width:g} m/s ({v.kind.value}) and {omega.width:g} rad/s "
        bands = f"{bands}({omega.kind.value}), " if v.width or omega.width else ""
        if (ramp := self._settings.ramp) is not None:
            slopes = ramp.slowest
            bands += (
                f"commands change by at most {slopes.v:.3g} m/s² and {slopes.omega:.3g} rad/s², "
            )
        rims = limits.rims.speed
        wheels = f", and {rims:.3g} m/s at the rim of each wheel" if rims < math.inf else ""
        late = " and ".join(f"{each:.3g} s" for each in dict.fromkeys(self._tracker.dead_time))
        if self._estimator is not None and not all(
            map(math.isfinite, self._estimator.dead_time_variances)
        ):
            late = "not known"
        self.get_logger().info(
            f"driving with {self.law_name} {sigma} from {self.values.parameters}, dead time "
            f"{late}, {bands}at most {limits.linear_velocity:g} m/s and "
            f"{limits.angular_velocity:g} rad/s{wheels}"
        )

    def on_commanded(self, sample: OdometrySample, command: tuple[float, float]) -> None:
        if self.exit_code is not None:
            return
        record = self._tracker.last
        if self._reference is not None and record is not None:
            status, in_use = VelocityTrackingStatus(), self._in_use()
            status.header.frame_id = self.values.odom_frame
            fill_status(status, self._settings, sample, self._reference, record)
            fill(in_use, status)
            status.sigma_variance[:] = in_use.variances
            status.dead_band_estimate[:] = in_use.bands
            status.command[:] = command
            before = sample.stamp if self._answered is None else self._answered
            status.time_step = float(sample.stamp - before)
            self.status_topic.publish(status)
        self._answered = sample.stamp
        self._warn_of_dead_time()
        self.run.tell_state(sample.stamp)

    def on_refused(self, sample: OdometrySample) -> None:
        self.on_silence()

    def on_stopped(self, sample: OdometrySample) -> None:
        self.run.newest = sample.stamp
        self._stamps.check(sample.stamp)
        with suppress(ValueError):  # a stopped robot may be carried to another place
            self._continuity.check(sample.stamp, sample.pose)
        self.on_silence()

    def on_silence(self) -> None:
        """Reset tracker and estimator, as zero was commanded without them."""
        self._tracker.reset()
        if self._estimator is not None:
            self._estimator.interrupt()
        self._answered = None

    # Telemetry.

    def _in_use(self) -> InUse:
        return InUse.of(self.values, self._known, self._tracker, self._estimator)

    def _warn_of_dead_time(self) -> None:
        """Warn once if a given dead time, or 0, proves to be wrong."""
        if self._estimator is None or self._warned:
            return
        pairs = zip(self._settings.dead_time, self._tracker.dead_time, strict=True)
        for axis, (assumed, result) in zip(Velocity._fields, pairs, strict=True):
            if abs(result - assumed) > WRONG_DEAD_TIME and not self._warned:
                self._warned = True
                self.get_logger().warning(
                    f"the robot's dead time of {axis} is {result:.3f} s, not {assumed:g} s: it is "
                    "used from now on; set dead_time to begin with it"
                )

    def complete_state(self, state: ControllerState) -> None:
        parameters, in_use = VelocityParameters(header=state.header), self._in_use()
        fill(in_use, parameters)
        parameters.covariance_diagonal[:] = in_use.variances
        parameters.time_constant_variance[:] = [math.nan] * 2
        self._parameters_topic.publish(parameters)
