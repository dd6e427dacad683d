# SPDX-License-Identifier: Apache-2.0
"""The velocity_tracking_controller node: tracking for robots with velocity commands, see law.py.

Subscribes to `odom` (nav_msgs/Odometry), `~/reference` (diffbot_msgs/PoseReference, in the
odometry's frame) and `~/command` (geometry_msgs/Pose2D: a set point, to park at). Publishes
`cmd_vel` (geometry_msgs/TwistStamped, or Twist), `~/status` (diffbot_msgs/VelocityTrackingStatus,
once per odometry), `~/state` (diffbot_msgs/ControllerState, latched) and `~/parameters`
(diffbot_msgs/VelocityParameters in use, latched).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arc_odometry import REST, UNLIMITED_RIMS, MotionLimits, Velocity
from arc_odometry.odometry_checks import OdometrySample, OdometryStamps, PoseContinuity
from diffbot_controllers.laws.polar_approach import DIRECTIONS
from diffbot_controllers.nodes.references import (
    PoseReferences,
    ReferenceNode,
    ReferenceParameters,
    ReferenceRun,
)
from diffbot_controllers.velocity_tracking.dead_band_compensation import BandPair
from diffbot_controllers.velocity_tracking.law import (
    KinematicGains,
    TrackerRecord,
    TrackerSettings,
    VelocityTracker,
)
from diffbot_description import Sigma, load_robot
from diffbot_description.dead_band import DeadBand, DeadBandKind
from diffbot_description.velocity_parameters import IdentifiedSigma, read_sigma, sigma_from
from diffbot_ident.velocity.sigma_fit import RecursiveFit, RecursiveSettings
from diffbot_msgs.msg import ControllerState, VelocityParameters, VelocityTrackingStatus
from diffbot_node import parameter, to_stamp
from diffbot_node.checks import GOOD, Verdict
from diffbot_node.odometry_sources import OdometryTopic
from diffbot_node.stop_inputs import LATCHED
from diffbot_node.velocity_interface import VelocityInterface
from pose2d_trajectories import Reference

FROM_PARAMETER = "sigma"
NO_ROBOT = "none"
DEFAULTS = TrackerSettings()
# Dead time that differs by more from the assumed one is told, s.
WRONG_DEAD_TIME = 0.02


@dataclass(frozen=True)
class TrackingParameters(ReferenceParameters):
    """Parameters of velocity_tracking_controller."""

    stamped: bool = parameter(True, "whether cmd_vel is a TwistStamped; else a Twist")
    odom_frame: str = parameter("odom", "frame of odometry and references")
    robot: str = parameter(
        NO_ROBOT,
        "robot of the suite, or a robot's YAML, URDF or xacro file, whose limits of velocity and "
        "wheels the commands keep to; none: those of linear_velocity and angular_velocity alone",
    )
    parameters: str = parameter(
        FROM_PARAMETER,
        "sigma of the robot: 'sigma' (the parameter of that name), or the path of a "
        "velocity_parameters.yaml, which holds dead times, dead bands and limits of acceleration "
        "too",
    )
    sigma: tuple[float, ...] = parameter(
        (), "sigma1 in s, sigma2 in s, sigma3, sigma4 of the robot; each > 0", above=0.0
    )
    adaptive: bool = parameter(
        False, "whether sigma is identified while driving, starting from the given one"
    )
    direction: str = parameter(
        DEFAULTS.direction,
        "direction in which the robot arrives at a set point",
        choices=tuple(DIRECTIONS),
    )
    damping: float = parameter(DEFAULTS.gains.damping, "epsilon of (11)", above=0.0, maximum=10.0)
    b: float = parameter(DEFAULTS.gains.b, "b of (11), 1/m^2", above=0.0)
    k_v: float = parameter(DEFAULTS.k_v, "k_v of (12), 1/s", above=0.0)
    k_w: float = parameter(DEFAULTS.k_w, "k_omega of (12), 1/s", above=0.0)
    dead_time: float = parameter(
        -1.0,
        "time from a command to its effect, s; negative: that of the file of `parameters`, else "
        "identified while driving if adaptive, else 0",
        maximum=1.0,
    )
    dead_band: tuple[float, ...] = parameter(
        (-1.0, -1.0),
        "largest commands of [v, omega] that do not move the robot, m/s, rad/s, below the largest "
        "commanded; negative: that of the file of `parameters`, else 0, none",
        maximum=10.0,
    )
    dead_band_kind: str = parameter(
        DeadBandKind.OFFSET.value,
        "effect on larger commands if dead_band is given: offset (the dead band is subtracted), "
        "threshold (none)",
        choices=tuple(kind.value for kind in DeadBandKind),
    )
    linear_velocity: float = parameter(
        0.0, "largest |v| commanded, m/s; 0: limits.linear_velocity of robot", minimum=0.0
    )
    angular_velocity: float = parameter(
        0.0, "largest |omega| commanded, rad/s; 0: limits.angular_velocity of robot", minimum=0.0
    )
    linear_acceleration: float = parameter(
        0.0,
        "largest |dv/dt| of the law, m/s^2; 0: limits.linear_acceleration of robot, if any",
        minimum=0.0,
    )
    angular_acceleration: float = parameter(
        0.0,
        "largest |domega/dt| of the law, rad/s^2; 0: limits.angular_acceleration of robot, if any",
        minimum=0.0,
    )


def identified(values: TrackingParameters) -> IdentifiedSigma:
    """Return the robot's properties given by the parameters.

    Raises:
        ValueError: sigma is missing or is not that of a robot, or the file cannot be used.
    """
    if values.parameters != FROM_PARAMETER:
        return read_sigma(values.parameters)
    try:
        return IdentifiedSigma(sigma_from(values.sigma))
    except ValueError as error:
        raise ValueError(
            f"parameter 'sigma': {error}; give sigma, or the file of identified ones as parameters"
        ) from None


def motion_limits(values: TrackingParameters) -> MotionLimits:
    """Return the limits of commands: those of the parameters, and of the robot if there is one.

    Raises:
        ValueError: Its file is wrong, a parameter exceeds its limit, or there is neither.
    """
    v, omega, rims = values.linear_velocity, values.angular_velocity, UNLIMITED_RIMS
    dv, domega = values.linear_acceleration or math.inf, values.angular_acceleration or math.inf
    if values.robot != NO_ROBOT:
        robot = load_robot(values.robot)
        v, omega = robot.speed_limits(v, omega)
        rims = robot.rim_limit
        dv, domega = robot.acceleration_limits(
            values.linear_acceleration, values.angular_acceleration
        )
    elif not (v and omega):
        raise ValueError(
            f"parameters 'linear_velocity' = {v} m/s and 'angular_velocity' = {omega} rad/s: must "
            "be > 0 without a robot; give robot, whose limits are then used, or both"
        )
    return MotionLimits(
        # The wheels bound v and omega alone; a larger limit could never be reached.
        min(v, rims.speed),
        min(omega, rims.turning(0.0)),
        dv,
        domega,
        rims,
    )


def known_dead_time(
    values: TrackingParameters, known: IdentifiedSigma
) -> tuple[float, float] | None:
    """Return the given dead times of v and omega, s; None: not known."""
    if values.dead_time >= 0.0:
        return values.dead_time, values.dead_time
    return known.dead_time


def tracker_settings(values: TrackingParameters, known: IdentifiedSigma) -> TrackerSettings:
    """Return the settings of the tracker."""
    if len(values.dead_band) != 2:
        raise ValueError(f"parameter 'dead_band' = {list(values.dead_band)}: must be 2 numbers")
    kind = DeadBandKind.named(values.dead_band_kind)
    v, omega = (
        DeadBand(width, kind) if width >= 0.0 else of_file
        for width, of_file in zip(values.dead_band, known.dead_band, strict=True)
    )
    return TrackerSettings(
        gains=KinematicGains(values.damping, values.b),
        k_v=values.k_v,
        k_w=values.k_w,
        limits=motion_limits(values),
        dead_time=known_dead_time(values, known) or (0.0, 0.0),
        dead_band=(v, omega),
        ramp=known.ramp,
        direction=values.direction,
        # After a longer gap the sample is rejected, and zero is commanded.
        longest_gap=values.input_timeout,
    )


def fastest(limits: MotionLimits, known: IdentifiedSigma) -> Velocity:
    """Return the speeds that the robot reaches at the limits of its commands, m/s and rad/s.

    By (3), command / sigma3 or sigma4; at least the command, as sigma may still be wrong.
    """
    (_, drag), (_, turning_drag) = known.sigma.axis(0), known.sigma.axis(1)
    return Velocity(
        limits.linear_velocity / min(drag, 1.0), limits.angular_velocity / min(turning_drag, 1.0)
    )


def estimator(
    values: TrackingParameters, known: IdentifiedSigma, settings: TrackerSettings
) -> RecursiveFit:
    """Return the estimator that identifies sigma while driving, starting from known values."""
    variances = np.array(known.variances)
    significant = bool((np.isfinite(variances) & (variances > 0.0)).all())
    return RecursiveFit(
        known.sigma,
        np.diag(variances) if significant else None,
        RecursiveSettings(
            dead_time=known_dead_time(values, known),
            longest_gap=settings.longest_gap,
            dead_band=settings.dead_band,
            largest_dead_band=(
                settings.limits.linear_velocity / 3.0,
                settings.limits.angular_velocity / 3.0,
            ),
        ),
    )


class InUse(NamedTuple):
    """What the tracker assumes of the robot, and estimates of it while driving.

    Attributes:
        variances: Of sigma1..sigma4; NaN where unknown.
        dead_band: Of the commands of (v, omega).
        bands: Estimated dead bands, m/s and rad/s; NaN where nothing is identified.
        band_variances: NaN likewise, infinite where not identifiable.
        dead_times: Of v and omega, s.
        dead_time_variances: 0 where given, NaN or infinite where not known.
    """

    sigma: Sigma
    variances: Sequence[float]
    dead_band: BandPair
    bands: Sequence[float]
    band_variances: Sequence[float]
    dead_times: Sequence[float]
    dead_time_variances: Sequence[float]

    def fill(self, message: VelocityTrackingStatus | VelocityParameters) -> None:
        message.sigma[:] = self.sigma.as_array()
        message.dead_band[:] = [float(known.width) for known in self.dead_band]
        message.dead_band_variance[:] = self.band_variances
        message.dead_time[:] = self.dead_times
        message.dead_time_variance[:] = self.dead_time_variances


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
        self._settings = tracker_settings(values, self._known)
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
        self.connect(VelocityInterface(fastest_commands, source, values.stamped))
        self._odom = self.resolve_topic_name("odom")
        self.references = PoseReferences(self, values.odom_frame, set_points=True)
        # With two publishers of odometry, poses of both would alternate.
        robot = None if values.robot == NO_ROBOT else load_robot(values.robot)
        self.run = ReferenceRun(self, self.references, lone_topics=(self._odom,), robot=robot)

    # The loop.

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
        return command

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
            in_use.fill(status)
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
        tracker, nothing = self._tracker, (math.nan, math.nan)
        if (result := self._estimator) is None:
            late = known_dead_time(self.values, self._known)
            return InUse(
                tracker.sigma,
                self._known.variances,
                tracker.dead_band,
                nothing,
                nothing,
                late or (0.0, 0.0),
                nothing if late is None else (0.0, 0.0),
            )
        return InUse(
            tracker.sigma,
            result.covariance.diagonal().tolist(),
            tracker.dead_band,
            result.dead_band_values.tolist(),
            result.dead_band_variances.tolist(),
            result.dead_time,
            result.dead_time_variances.tolist(),
        )

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
        in_use.fill(parameters)
        parameters.covariance_diagonal[:] = in_use.variances
        parameters.time_constant_variance[:] = [math.nan] * 2
        self._parameters_topic.publish(parameters)
