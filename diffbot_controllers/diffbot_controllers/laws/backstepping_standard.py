# SPDX-License-Identifier: Apache-2.0
"""The recommended backstepping controller: Lages (2018), (5)-(34), corrected for practical use.

The outer part, Approach far from the reference and the tracker near a moving one, computes the
desired velocity eta; VelocityServo follows it. Derivation: docs/theory/backstepping.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from arc_odometry import REST, Arc, MotionLimits, Pose, Velocity
from arc_odometry.number_range import check_finite, check_limit, check_positive
from diffbot_controllers.laws import dual
from diffbot_controllers.laws.drivetrain import Drivetrain, DrivetrainLaw, limit_torque
from diffbot_controllers.laws.dual import Dual
from diffbot_controllers.laws.feedback_linearization import ACCURACY
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.gradual_set_points import GradualSetPoints
from diffbot_controllers.laws.motion import State, check_period
from diffbot_controllers.laws.polar_approach import (
    Approach,
    ApproachGains,
    PolarError,
    moving_offset,
    to_goal,
)
from diffbot_description import DynamicParameters, Torque
from pose2d_trajectories import Reference
from pose2d_trajectories.reference import check_reference


@dataclass(frozen=True)
class TrackerGains:
    """Gains of the tracker, each > 0, else a ValueError.

    Attributes:
        along: Rate at which the error along the robot's axis decays, 1/s.
        reach: Distance driven in which the lateral error decays by the factor e, m.
        turning: Minimum rate at which the heading error decays, 1/s.
    """

    along: float = 4.5
    reach: float = 0.2
    turning: float = 2.0

    def __post_init__(self) -> None:
        check_positive("tracker gains", along=self.along, reach=self.reach, turning=self.turning)


def tracking_velocity(
    x: Dual, y: Dual, theta: Dual, v: Dual, omega: Dual, gains: TrackerGains
) -> tuple[Dual, Dual]:
    """Return velocities eta = [v, omega] that follow a reference in either driving direction.

    eta_1 = v cos(theta) + k1 x, eta_2 = omega + b v sinc(theta) y + k3 theta (Samson 1993),
    b = 1 / reach^2, k1 = along, k3 = 2 sqrt(omega^2 + b v^2 + (turning / 2)^2).

    Args:
        x, y, theta: Pose of the reference in the robot's frame, m, m, rad within +-pi.
        v, omega: Velocity of the reference, m/s and rad/s, with its rate of change.
    """
    b = 1.0 / gains.reach**2
    k3 = 2.0 * dual.sqrt(omega * omega + b * v * v + 0.25 * gains.turning**2)
    eta1 = v * dual.cos(theta) + gains.along * x
    eta2 = omega + b * v * dual.sinc(theta) * y + k3 * theta
    return eta1, eta2


@dataclass(frozen=True)
class VelocityServo:
    """Velocity servo v = eta' - (1 - p) / T (u - eta): (24), (25) with a sampled-data gain.

    Example:
        >>> rest, eta = Velocity(0.0, 0.0), Velocity(0.1, 0.0)
        >>> round(VelocityServo(settling_time=0.05).unbounded(rest, eta, rest, 0.01).v, 2)
        6.02

    Attributes:
        settling_time: Time in which the velocity error decays to 1 %, s, > 0; p = 0.01^(T / it).
        limits: Limits of the acceleration, and of the velocity to which it may lead.
        torque_limit: Maximum |torque| of a wheel, N m, > 0; infinite: no limit.
    """

    settling_time: float = 0.05
    limits: MotionLimits = MotionLimits()
    torque_limit: float = math.inf

    def __post_init__(self) -> None:
        check_positive("velocity servo", settling_time=self.settling_time)
        check_limit("velocity servo", torque_limit=self.torque_limit)

    def unbounded(self, u: Velocity, eta: Velocity, rate: Velocity, dt: float) -> Velocity:
        """Return the command v of (24), (25) within the velocity limits only, m/s^2 and rad/s^2.

        Args:
            eta: Desired velocity at this instant, and its `rate` eta'; a ValueError if not finite.
            dt: Control period, s.
        """
        check_finite("eta is beyond floating point", v=eta.v, omega=eta.omega)
        check_finite("eta' is beyond floating point", v=rate.v, omega=rate.omega)
        gain = (1.0 - ACCURACY ** (dt / self.settling_time)) / dt
        # eta is within its speed limit, but following eta' could lead beyond it.
        coming = self.limits.velocity(
            Velocity(eta.v + rate.v / gain, eta.omega + rate.omega / gain)
        )
        return Velocity(gain * (coming.v - u.v), gain * (coming.omega - u.omega))

    def torque(
        self,
        drivetrain: Drivetrain,
        u: Velocity,
        eta: Velocity,
        unbounded: Velocity,
        dt: float,
        at_goal: bool = False,
    ) -> Torque:
        """Return the torque of (5) within its limit, [left, right], N m; f is its mean.

        With `at_goal` Drivetrain.turned_round filters the torque.
        """
        acceleration = self.limits.acceleration(unbounded)
        drift = drivetrain.dynamics.mean_drift(u, acceleration, dt)
        torque = drivetrain.torque(u, eta, acceleration, drift, dt, unbounded)
        if at_goal:
            torque = drivetrain.turned_round(torque)
        limit = self.torque_limit
        return drivetrain.slew_limited(limit_torque(torque, limit), limit, dt)


class Mode(str, Enum):
    """The published law, or the active part of the standard law."""

    PUBLISHED = "published"
    APPROACH = "approach"
    TRACK = "track"


@dataclass(frozen=True)
class BackstepRecord:
    """All variables that Listing 3 publishes, with the names of its status message.

    Attributes:
        error: set_point - process_value, m, m, rad; the published law does not wrap the heading.
        time_step: Period that the law used, s.
        command: Torque [left, right], N m.
        gammas: gamma_i, 1/s: all four (published), or gamma_1, gamma_2.
        lambdas: All five (published), or lambda_2, lambda_3.
        backstep_set_point: eta, m/s and rad/s.
        backstep_set_point_dot: eta' as fed forward; 0 for gradual set points.
        backstep_process_value: u, m/s and rad/s.
        backstep_error: u - eta, (22), (23).
        backstep_command: v_bar, (30), (31), m/s^2 and rad/s^2.
        linear_dynamics_command: v, (33), (34), m/s^2 and rad/s^2.
    """

    set_point: Pose
    process_value: Pose
    process_value_dot: Pose
    error: Pose
    time_step: float
    command: Torque
    gammas: tuple[float, ...]
    lambdas: tuple[float, ...]
    polar_error: PolarError
    backstep_set_point: Velocity
    backstep_set_point_dot: Velocity
    backstep_process_value: Velocity
    backstep_error: Velocity
    backstep_command: Velocity
    linear_dynamics_command: Velocity
    mode: Mode


def pose_rate(pose: Pose, u: Velocity) -> Pose:
    """Return the rate of change of a pose, m/s, m/s, rad/s; (1), (2)."""
    return Pose(u.v * math.cos(pose.theta), u.v * math.sin(pose.theta), u.omega)


STANDSTILL = 1e-3  # a reference slower than this, m/s or rad/s, is at rest


class StandardBackstepping(DrivetrainLaw):
    """Parks at poses and follows trajectories, forwards or backwards, without spikes or lag.

    `tuned_backstepping` makes one with gains for a robot. Its `record` holds all variables of the
    last update; `dynamics` may be replaced.

    Args:
        servo: Velocity servo, with the limits of torque and acceleration.
        direction: In which the robot arrives at a set point: "forwards", "backwards" or "either".
            The tracker drives in the reference's direction.
        capture: Distance to a moving reference, m, > 0, below which the tracker takes over; beyond
            twice this distance the approach does again.
        mean_velocity: Whether State.velocity is the mean over the last period (encoders).
        wheels: Friction, encoders and delay; None: unknown.
    """

    def __init__(
        self,
        dynamics: DynamicParameters,
        gains: ApproachGains = ApproachGains(),  # noqa: B008  (frozen)
        tracker: TrackerGains = TrackerGains(),
        servo: VelocityServo = VelocityServo(),
        direction: str = "either",
        capture: float = 0.6,
        mean_velocity: bool = False,
        wheels: KnownWheels | None = None,
    ) -> None:
        check_positive("standard backstepping", capture=capture)
        self.gains, self.tracker, self.servo = gains, tracker, servo
        self.direction, self.capture = direction, capture
        self.mean_velocity, self.wheels = mean_velocity, wheels
        self.drivetrain = Drivetrain(dynamics, mean_velocity, wheels)
        self._approach = Approach(gains, direction)
        rise = 0.0 if wheels is None else wheels.rise
        self._set_points = GradualSetPoints.within(servo.limits, rise)
        self.reset()

    def reset(self) -> None:
        """Forget the past."""
        self.drivetrain.reset()
        self._approach.reset()
        if self._set_points is not None:
            self._set_points.reset()
        self._mode = Mode.APPROACH
        self.record: BackstepRecord | None = None

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        """Return the torque [left, right], N m, for the next period, dt s after the last update.

        A number that is not finite, or dt <= 0, is a ValueError.
        """
        check_reference(reference)
        check_period(dt)
        motion = self.drivetrain.motion(state, dt)
        wanted = self.drivetrain.reference(reference, dt)
        u = motion.velocity
        self._mode = self._next_mode(motion.pose, wanted)
        eta, rate = self._desired(motion.pose, u, wanted, dt)
        unbounded = self.servo.unbounded(u, eta, rate, dt)
        v = self.servo.limits.acceleration(unbounded)
        ahead, turn = self._left_to_goal(motion.pose, wanted)
        torque = self.servo.torque(
            self.drivetrain, u, eta, unbounded, dt, at_goal=math.isfinite(ahead)
        )
        if self.drivetrain.rests(ahead, turn, motion):
            torque = self.drivetrain.resting_torque()
        self.drivetrain.command(torque)
        set_point, pose = reference.pose, state.pose
        error = Pose(
            set_point.x - pose.x,
            set_point.y - pose.y,
            math.remainder(set_point.theta - pose.theta, math.tau),
        )
        polar = self._approach.error
        if self._mode == Mode.TRACK:
            polar = PolarError(math.hypot(error.x, error.y), 0.0, -error.theta)
        self.record = BackstepRecord(
            set_point=set_point,
            process_value=pose,
            process_value_dot=pose_rate(pose, u),
            error=error,
            time_step=dt,
            command=torque,
            gammas=(self.gains.gamma1, self.gains.gamma2),
            lambdas=(1.0, self.gains.ratio),
            polar_error=polar,
            backstep_set_point=eta,
            backstep_set_point_dot=rate,
            backstep_process_value=u,
            backstep_error=Velocity(u.v - eta.v, u.omega - eta.omega),
            backstep_command=Velocity(v.v - rate.v, v.omega - rate.omega),
            linear_dynamics_command=v,
            mode=self._mode,
        )
        return torque

    def _left_to_goal(self, pose: Pose, reference: Reference) -> tuple[float, float]:
        """Return distance (m) and turn (rad) left to a near set point; infinite without one."""
        if reference.velocity != REST:
            return math.inf, math.inf
        return to_goal(pose, reference.pose, self.gains.near)

    def _next_mode(self, pose: Pose, reference: Reference) -> Mode:
        """Return TRACK near a moving reference, if aligned with it, else APPROACH."""
        if max(abs(reference.v), abs(reference.omega)) < STANDSTILL:
            return Mode.APPROACH
        distance = math.hypot(reference.x - pose.x, reference.y - pose.y)
        if self._mode == Mode.TRACK:
            return Mode.TRACK if distance < 2.0 * self.capture else Mode.APPROACH
        turned = abs(math.remainder(reference.theta - pose.theta, math.tau))
        return Mode.TRACK if distance < self.capture and turned < 0.5 * math.pi else Mode.APPROACH

    def _desired(
        self, pose: Pose, u: Velocity, reference: Reference, dt: float
    ) -> tuple[Velocity, Velocity]:
        """Return eta of the active part and the rate fed forward, 0 for gradual set points."""
        part = self._track if self._mode == Mode.TRACK else self._drive_near
        eta1, eta2 = part(pose, u, reference)
        eta, rate = Velocity(eta1.value, eta2.value), Velocity(eta1.rate, eta2.rate)
        if self._set_points is None:
            return eta, rate
        if self._mode == Mode.TRACK:
            self._set_points.skip(eta)
            return eta, rate
        return self._set_points.limited(eta, u, dt), REST

    def _drive_near(self, pose: Pose, u: Velocity, reference: Reference) -> tuple[Dual, Dual]:
        """Return eta towards the reference's position 1 / gamma_1 later: no lag by (14)."""
        ahead = 1.0 / self.gains.gamma1
        goal = Arc(reference.v * ahead, reference.omega * ahead).end(reference.pose)
        offset = moving_offset(pose, u, goal, reference.velocity)
        return self._approach.velocity(*offset, u.v)

    def _track(self, pose: Pose, u: Velocity, reference: Reference) -> tuple[Dual, Dual]:
        """Return eta of the tracker within the speed limits."""
        self._approach.reset()
        v, omega = Dual(reference.v, reference.dv), Dual(reference.omega, reference.domega)
        # The reference in the robot's frame: (7) with the roles exchanged.
        x, y, theta = moving_offset(reference.pose, reference.velocity, pose, u)
        eta1, eta2 = tracking_velocity(x, y, theta, v, omega, self.tracker)
        return self._approach.bounded(eta1, eta2, u.v)
