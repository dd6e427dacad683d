"""Gains that suit a robot's strength."""

from __future__ import annotations

import math

from diffbot_controllers.approach_settings import ApproachGains
from diffbot_controllers.backstepping_standard import StandardBackstepping
from diffbot_controllers.checks import check_positive
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.tracker import TrackerGains
from diffbot_controllers.velocity_servo import ServoLimits, VelocityServo

# Shares of the acceleration that all torque would give: to drive and to turn, together about 1.
DRIVE, TURN = 0.45, 0.6
# Share of those that braking is planned with; the rest is for corrections.
BRAKE = 0.6
# gamma2 = FIRMNESS sqrt(largest yaw acceleration / rad). With 1.2 and 1.5 all of 60 random poses
# (within 2 m, half of them within 10 cm) park on twil at 5 and 0.5 N m and on agv at 25 N m; with a
# fixed gamma2 of 12 the weak ones swing, and 1 in 20 does not settle in 8 s.
FIRMNESS = 1.3
# Limit of gamma2, 1/s: a seventh of the servo's rate of 92 1/s.
FASTEST = 12.0
GAMMA_RATIO = 2.4  # gamma2 / gamma1: the robot points to its way well before it is there
LATERAL = 5.0  # m/s^2, default of the largest lateral acceleration


def approach_gains(
    dynamics: BodyDynamics,
    torque_limit: float,
    linear_velocity: float,
    angular_velocity: float,
    lateral_acceleration: float = LATERAL,
) -> ApproachGains:
    """Gains of the approach for a robot.

    Args:
        dynamics: K5..K8.
        torque_limit: of a wheel, N m, > 0, finite.
        linear_velocity: largest |v|, m/s, > 0, or infinite.
        angular_velocity: largest |omega|, rad/s, > 0, or infinite.
        lateral_acceleration: largest |v omega|, m/s^2, > 0, or infinite.

    Raises:
        ValueError: a limit is not > 0.
    """
    limits = servo_limits(dynamics, torque_limit)
    gamma2 = min(FASTEST, FIRMNESS * math.sqrt(limits.angular_acceleration))
    return ApproachGains(
        gamma1=gamma2 / GAMMA_RATIO,
        gamma2=gamma2,
        linear_velocity=linear_velocity,
        angular_velocity=angular_velocity,
        deceleration=BRAKE * limits.linear_acceleration,
        angular_deceleration=BRAKE * limits.angular_acceleration,
        lateral_acceleration=lateral_acceleration,
    )


def servo_limits(dynamics: BodyDynamics, torque_limit: float) -> ServoLimits:
    """Limits of the servo for a robot whose wheels have a torque limit, N m, > 0."""
    check_positive("tuning", torque_limit=torque_limit)
    most = dynamics.input_acceleration((torque_limit, torque_limit)).v
    turn = dynamics.input_acceleration((-torque_limit, torque_limit)).omega
    return ServoLimits(torque_limit, DRIVE * most, TURN * turn)


def tuned_backstepping(
    dynamics: BodyDynamics,
    torque_limit: float,
    linear_velocity: float = 3.0,
    angular_velocity: float = 10.0,
    direction: str = "either",
    mean_velocity: bool = False,
    lateral_acceleration: float = LATERAL,
) -> StandardBackstepping:
    """The standard backstepping law with gains for a robot; arguments as above and of the class.

    The speeds bound how fast the robot parks. The parking times of benchmarks/parking.py are with
    3 m/s and 10 rad/s; 5 m in 2.8 s take more than 2 m/s.

    Where tyres slip or the robot tips before its torque limit is met, give a smaller torque_limit:
    accelerations and gains follow it. Robot twil on engine mujoco parks with 1 N m from everywhere
    and loses its true pose with 5 N m.
    """
    gains = approach_gains(
        dynamics, torque_limit, linear_velocity, angular_velocity, lateral_acceleration
    )
    return StandardBackstepping(
        dynamics,
        gains,
        TrackerGains(along=gains.gamma1, turning=0.5 * gains.gamma1),
        VelocityServo(limits=servo_limits(dynamics, torque_limit)),
        direction,
        mean_velocity=mean_velocity,
    )
