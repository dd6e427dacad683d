"""What the backstepping laws tell about themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import Pose
from diffbot_controllers.approach import PolarError
from diffbot_controllers.motion import Torque, Velocity


@dataclass(frozen=True)
class BackstepRecord:
    """Every variable that Listing 3 publishes, under the names of its status message.

    Attributes:
        set_point: x_r, m, m, rad.
        process_value: pose of the robot, m, m, rad.
        process_value_dot: its rate of change, m/s, m/s, rad/s.
        error: set_point - process_value, m, m, rad; the published law does not wrap the heading.
        time_step: period that the law took, s.
        command: torque [left, right], N m.
        gammas: gamma_i of the law, 1/s: all four (published), or gamma_1, gamma_2 (standard).
        lambdas: lambda_i of the law: all five (published), or lambda_2, lambda_3 (standard, where
            only their ratio counts).
        polar_error: e, psi, alpha.
        backstep_set_point: eta, m/s and rad/s.
        backstep_set_point_dot: its rate of change as the law knows it.
        backstep_process_value: u, m/s and rad/s.
        backstep_error: u - eta, (22), (23).
        backstep_command: v_bar, (30), (31), m/s^2 and rad/s^2.
        linear_dynamics_command: v, (33), (34), m/s^2 and rad/s^2.
        mode: which part of the law was at work.
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
    mode: str


def pose_rate(pose: Pose, u: Velocity) -> Pose:
    """Rate of change of a pose, m/s, m/s, rad/s; (1), (2)."""
    return Pose(u.v * math.cos(pose.theta), u.v * math.sin(pose.theta), u.omega)
