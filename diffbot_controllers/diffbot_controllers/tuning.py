# SPDX-License-Identifier: Apache-2.0
"""Tuning of the control laws' gains to the accelerations that a robot can reach."""

from __future__ import annotations

import math
from dataclasses import replace

from arc_odometry import UNLIMITED_RIMS, MotionLimits, RimLimit, Velocity
from arc_odometry.number_range import check_positive
from diffbot_controllers.laws.backstepping_standard import (
    StandardBackstepping,
    TrackerGains,
    VelocityServo,
)
from diffbot_controllers.laws.feedback_linearization import LinearizingController, PiDesign
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.gradual_set_points import GradualSetPoints
from diffbot_controllers.laws.polar_approach import ApproachGains
from diffbot_controllers.laws.polar_pose import PolarPoseController
from diffbot_description import DynamicParameters

# Shares of the acceleration at full torque for driving and turning.
DRIVE, TURN = 0.45, 0.6
# Share of these with which braking is planned; the rest is for corrections.
BRAKE = 0.6
# In gamma2 = FIRMNESS sqrt(largest yaw acceleration / rad): from 1.2 to 1.5 robots park from
# anywhere; with a fixed gamma2 of 12 weak ones oscillate.
FIRMNESS = 1.3
# Maximum of gamma2, 1/s: about a seventh of the servo's rate of 92 1/s.
FASTEST = 12.0
# gamma2 / gamma1; the robot points towards its goal well before it reaches it.
GAMMA_RATIO = 2.4
LATERAL = 5.0  # default of the maximum lateral acceleration, m/s^2
# Share of the torque that f(u) may take at the largest omega and |v omega|, so that v stays
# controlled.
DRIFT = 0.35
# A robot held by friction has arrived within NEAREST, m, or within READINGS encoder counts.
NEAREST, READINGS = 1e-3, 3.0
LARGEST_FRICTION = 0.8  # largest share of the torque limit that friction may take
# Least rise time of the torque to its limit, s: the pose law's loops oscillate with 0.1 s.
RISE = 0.06
SLOWEST = 0.1  # minimum share of its speed limit that a robot must reach against friction


def approach_gains(
    dynamics: DynamicParameters,
    torque_limit: float,
    linear_velocity: float,
    angular_velocity: float,
    lateral_acceleration: float = LATERAL,
    gamma1: float | None = None,
    gamma2: float | None = None,
    ratio: float | None = None,
    near: float = ApproachGains.near,
    friction: float = 0.0,
    turning_friction: float = 0.0,
    rims: RimLimit = UNLIMITED_RIMS,
) -> ApproachGains:
    """Return the gains of the approach for a robot.

    Example:
        >>> from diffbot_description import closed_form, load_robot
        >>> dynamics = closed_form(load_robot("twil").model)
        >>> gains = approach_gains(dynamics, 5.0, linear_velocity=1.0, angular_velocity=3.0)
        >>> gains.gamma1, gains.gamma2
        (5.0, 12.0)

    Args:
        torque_limit: Of a wheel, N m, > 0, finite.
        linear_velocity: Maximum |v|, m/s, > 0, or infinite.
        angular_velocity: Maximum |omega|, rad/s, > 0, or infinite; reduced where f(u) would take
            too much of the torque (DRIFT), like `lateral_acceleration`, the maximum |v omega|,
            m/s^2.
        gamma1: 1/s, > 0, as in ApproachGains; None: tuned, like `gamma2` and `ratio`.
        near: Distance at which the robot has arrived, m, > 0.
        friction: Torque of a wheel that friction takes, N m, >= 0.
        turning_friction: Further torque of a wheel that turning takes, N m, >= 0.

    Raises:
        ValueError: A limit or a gain is not > 0.
    """
    limits = servo_limits(dynamics, torque_limit)
    drive, turn = (
        DRIFT * limits.linear_acceleration / DRIVE,
        DRIFT * limits.angular_acceleration / TURN,
    )
    if dynamics.k5 != 0.0:
        angular_velocity = min(angular_velocity, math.sqrt(drive / abs(dynamics.k5)))
    if dynamics.k6 != 0.0:
        lateral_acceleration = min(lateral_acceleration, turn / abs(dynamics.k6))
    limits = servo_limits(dynamics, torque_limit - friction, turning_friction=turning_friction)
    tuned = min(FASTEST, FIRMNESS * math.sqrt(limits.angular_acceleration))
    return ApproachGains(
        gamma1=tuned / GAMMA_RATIO if gamma1 is None else gamma1,
        gamma2=tuned if gamma2 is None else gamma2,
        ratio=ApproachGains.ratio if ratio is None else ratio,
        linear_velocity=linear_velocity,
        angular_velocity=angular_velocity,
        deceleration=BRAKE * limits.linear_acceleration,
        angular_deceleration=BRAKE * limits.angular_acceleration,
        lateral_acceleration=lateral_acceleration,
        rims=rims,
        near=near,
    )


def arrival(wheels: KnownWheels) -> float:
    """Return the distance at which a robot has arrived, m; see ApproachGains.near.

    If friction holds it, it does not oscillate with the encoders' noise and may come closer.
    """
    if not wheels.hold:
        return ApproachGains.near
    return min(ApproachGains.near, max(NEAREST, READINGS * wheels.resolution))


def servo_limits(
    dynamics: DynamicParameters,
    torque_limit: float,
    linear_velocity: float = math.inf,
    angular_velocity: float = math.inf,
    turning_friction: float = 0.0,
    rims: RimLimit = UNLIMITED_RIMS,
) -> MotionLimits:
    """Return the limits of a law's velocities and accelerations for a robot; see approach_gains.

    Example:
        >>> from diffbot_description import closed_form, load_robot
        >>> dynamics = closed_form(load_robot("twil").model)
        >>> limits = servo_limits(dynamics, torque_limit=5.0)
        >>> round(limits.linear_acceleration, 2)
        11.91
    """
    check_positive("tuning", torque_limit=torque_limit)
    most = dynamics.checked().input_acceleration((torque_limit, torque_limit)).v
    left = torque_limit - turning_friction
    turn = dynamics.input_acceleration((-left, left)).omega
    return MotionLimits(linear_velocity, angular_velocity, DRIVE * most, TURN * turn, rims)


def friction_at_rest(torque_limit: float, wheels: KnownWheels) -> float:
    """Return the torque of a wheel that dry friction takes, N m, and its gears at the limit.

    Raises:
        ValueError: Hardly any torque is left for driving.
    """
    laws = [law.under(torque_limit) for law in wheels.friction]
    most = max(law.sliding(direction) for law in laws for direction in (1.0, -1.0))
    if not most <= LARGEST_FRICTION * torque_limit:
        geared = " with gear losses" if any(law.gear_loss for law in wheels.friction) else ""
        raise ValueError(
            f"Coulomb friction{geared} = {most:g} N m: must be <= {LARGEST_FRICTION:g} of the "
            f"torque limit of {torque_limit:g} N m, else the robot hardly moves; raise "
            "torque_limit, or correct the friction in the robot's YAML"
        )
    return most


def floor_torque(torque_limit: float, wheels: KnownWheels) -> float:
    """Return the torque of a wheel that the floor takes in turns, besides friction_at_rest, N m.

    Four-wheeled robots need nearly all torque that their tyres transmit to turn on the spot: at
    least 1 - LARGEST_FRICTION of the limit is assumed to remain for the gains.
    """
    room = LARGEST_FRICTION * torque_limit - friction_at_rest(torque_limit, wheels)
    return min(wheels.turning_torque, room)


def speeds_against_friction(
    torque_limit: float, wheels: KnownWheels, linear_velocity: float, angular_velocity: float
) -> Velocity:
    """Return limits of |v| and |omega| at which friction takes at most LARGEST_FRICTION of torque.

    Beyond them a law would always be at its torque limit. The given limits, m/s and rad/s, are
    those without friction.

    Raises:
        ValueError: The robot could only creep.
    """
    room = LARGEST_FRICTION * torque_limit - friction_at_rest(torque_limit, wheels)
    viscous = max(law.viscous for law in wheels.friction)
    rim = min(wheels.geometry.left_radius, wheels.geometry.right_radius)
    fastest = room / viscous * rim if viscous > 0.0 else math.inf
    if math.isfinite(linear_velocity) and fastest < SLOWEST * linear_velocity:
        raise ValueError(
            f"friction of the wheels, viscous = {viscous:g} N m s/rad and the rest: with it "
            f"{LARGEST_FRICTION:g} of the torque limit of {torque_limit:g} N m drive the robot at "
            f"{fastest:.3g} m/s, which must be >= {SLOWEST:g} of its {linear_velocity:g} m/s; "
            "correct the friction in the robot's YAML, raise torque_limit, or lower the limit of "
            "velocity"
        )
    half_track = wheels.geometry.half_track
    drag = viscous * half_track / rim
    floor = wheels.torque_of_moment(wheels.turning.viscous)
    turning = fastest / half_track
    if floor > 0.0:
        left = max(room - wheels.turning_torque, SLOWEST * torque_limit)
        turning = left / (drag + floor)
    return Velocity(min(linear_velocity, fastest), min(angular_velocity, turning))


def _limited(wheels: KnownWheels, torque_limit: float) -> KnownWheels:
    """Return the wheels with this torque limit and, with dry friction, a rise time of >= RISE.

    Without dry friction a robot has no gears to protect, and parks faster without a rise time.
    """
    rise = max(wheels.rise, RISE) if wheels.hold else wheels.rise
    return replace(wheels, limit=min(wheels.limit, torque_limit), rise=rise)


def _tuned(
    dynamics: DynamicParameters,
    torque_limit: float,
    speeds: Velocity,
    wheels: KnownWheels | None,
    lateral_acceleration: float,
    given: tuple[float | None, float | None, float | None],
) -> tuple[KnownWheels | None, ApproachGains, MotionLimits]:
    """Return wheels with limits, gains and limits of motion; `given`: gamma1, gamma2, ratio."""
    if wheels is None:
        gains = approach_gains(dynamics, torque_limit, *speeds, lateral_acceleration, *given)
        return None, gains, servo_limits(dynamics, torque_limit, *speeds)
    wheels = _limited(wheels, torque_limit)
    friction, floor = friction_at_rest(torque_limit, wheels), floor_torque(torque_limit, wheels)
    speeds = speeds_against_friction(torque_limit, wheels, *speeds)
    gains = approach_gains(
        dynamics,
        torque_limit,
        *speeds,
        lateral_acceleration,
        *given,
        near=arrival(wheels),
        friction=friction,
        turning_friction=floor,
        rims=wheels.rims,
    )
    limits = servo_limits(dynamics, torque_limit - friction, *speeds, floor, wheels.rims)
    return wheels, gains, limits


def tuned_backstepping(
    dynamics: DynamicParameters,
    torque_limit: float,
    linear_velocity: float = 3.0,
    angular_velocity: float = 10.0,
    direction: str = "either",
    mean_velocity: bool = False,
    lateral_acceleration: float = LATERAL,
    gamma1: float | None = None,
    gamma2: float | None = None,
    ratio: float | None = None,
    wheels: KnownWheels | None = None,
) -> StandardBackstepping:
    """Return the standard backstepping law with gains tuned to a robot.

    The speed limits determine how fast the robot parks. If tyres slip or the robot tips over before
    the motors' maximum torque is reached, pass that smaller torque.

    Example:
        >>> from diffbot_description import closed_form, load_robot
        >>> dynamics = closed_form(load_robot("twil").model)
        >>> from arc_odometry import Pose, Velocity
        >>> from diffbot_controllers import State
        >>> from pose2d_trajectories import Reference
        >>> law = tuned_backstepping(dynamics, torque_limit=5.0)
        >>> state = State(Pose(0.0, 0.0, 0.0), Velocity(0.0, 0.0))
        >>> left, right = law.update(state, Reference(1.0, 0.0, 0.0), dt=0.01)
        >>> round(left, 3), round(right, 3)
        (2.25, 2.25)

    Args:
        torque_limit: Of a wheel, N m, > 0, finite.
        linear_velocity: Maximum |v|, m/s, > 0, or infinite.
        angular_velocity: Maximum |omega|, rad/s, > 0, or infinite.
        direction: In which the robot arrives: "forwards", "backwards" or "either".
        mean_velocity: Whether State.velocity is the mean over the last period (encoders).
        lateral_acceleration: Maximum |v omega|, m/s^2, > 0, or infinite.
        gamma1: 1/s, > 0, as in ApproachGains; None: tuned, like `gamma2` and `ratio`.
        wheels: Friction, encoders, delay; None: unknown.

    Raises:
        ValueError: A number is not > 0, or the direction is wrong.
    """
    wheels, gains, limits = _tuned(
        dynamics,
        torque_limit,
        Velocity(linear_velocity, angular_velocity),
        wheels,
        lateral_acceleration,
        (gamma1, gamma2, ratio),
    )
    return StandardBackstepping(
        dynamics,
        gains,
        TrackerGains(along=gains.gamma1, turning=0.5 * gains.gamma1),
        VelocityServo(limits=limits, torque_limit=torque_limit),
        direction,
        mean_velocity=mean_velocity,
        wheels=wheels,
    )


def tuned_polar_pose(
    dynamics: DynamicParameters,
    torque_limit: float,
    linear_velocity: float = 3.0,
    angular_velocity: float = 10.0,
    direction: str = "either",
    mean_velocity: bool = False,
    gamma1: float | None = None,
    gamma2: float | None = None,
    ratio: float | None = None,
    settling_time: float = 0.05,
    damping: float = 1.0,
    wheels: KnownWheels | None = None,
) -> PolarPoseController:
    """Return the polar pose law with velocity loops, (61)-(83) of Lages (2017), tuned to a robot.

    Arguments and errors are those of tuned_backstepping, and settling time (to 1 %, s, > 0) and
    damping ratio (> 0) of the loops; see PiDesign.

    Example:
        >>> from diffbot_description import closed_form, load_robot
        >>> dynamics = closed_form(load_robot("twil").model)
        >>> law = tuned_polar_pose(dynamics, torque_limit=5.0, direction="forwards")
        >>> law.record is None  # until the first update
        True
    """
    wheels, gains, limits = _tuned(
        dynamics,
        torque_limit,
        Velocity(linear_velocity, angular_velocity),
        wheels,
        LATERAL,
        (gamma1, gamma2, ratio),
    )
    loops = LinearizingController(
        dynamics, PiDesign(settling_time, damping), torque_limit, mean_velocity, wheels=wheels
    )
    return PolarPoseController(
        loops,
        gains,
        direction,
        None if wheels is None or not wheels.hold else GradualSetPoints.within(limits, wheels.rise),
    )
