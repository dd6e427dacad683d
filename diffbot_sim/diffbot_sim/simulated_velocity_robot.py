# SPDX-License-Identifier: Apache-2.0
"""A simulated robot that takes velocities, with its odometry, period by period; its settings."""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import Velocity, WheelGeometry
from diffbot_description import Robot
from diffbot_description.command_ramp import UNLIMITED, CommandRamp
from diffbot_description.dead_band import DeadBandKind
from diffbot_description.robot import Pair
from diffbot_description.sigma import Sigma
from diffbot_node.parameter_fields import parameter
from diffbot_sim.simulator import Triple
from diffbot_sim.simulator_parameters import NoiseParameters
from diffbot_sim.velocity_robot import DriveDeadBand, VelocityOdometry, VelocityRobot
from diffbot_sim.virtual_robot import TOLERANCE

LARGEST_DEAD_BAND = 10.0  # m/s, rad/s


@dataclass(frozen=True)
class VelocityRobotParameters(NoiseParameters):
    """Properties of the robot and its sensors."""

    sigma: tuple[float, float, float, float] = parameter(
        (3.446, 4.576, 0.86, 0.254), "true sigma1 in s, sigma2 in s, sigma3, sigma4", above=0.0
    )
    dead_time: float = parameter(
        0.0, "from a command to its effect, s", minimum=0.0, maximum=VelocityRobot.LONGEST_DEAD_TIME
    )
    dead_band: tuple[float, float] = parameter(
        (0.0, 0.0),
        "largest commands of [v, omega] that move nothing, m/s, rad/s",
        minimum=0.0,
        maximum=LARGEST_DEAD_BAND,
    )
    wheel_dead_band: tuple[float, float] = parameter(
        (0.0, 0.0),
        "largest commands of the [left, right] wheel that do not move it, m/s at the rim",
        minimum=0.0,
        maximum=LARGEST_DEAD_BAND,
    )
    dead_band_kind: str = parameter(
        DeadBandKind.OFFSET.value,
        "effect on larger commands: offset (the dead band is subtracted), threshold (none)",
        choices=tuple(kind.value for kind in DeadBandKind),
    )
    stiction: float = parameter(
        1.0,
        "command that moves an axis or wheel at rest, over its dead band",
        minimum=1.0,
        maximum=10.0,
    )
    acceleration_limit: tuple[float, float] = parameter(
        (0.0, 0.0),
        "limits of the change of the commands of [v, omega], as of a smoother, m/s^2, rad/s^2; "
        "0: none",
        minimum=0.0,
    )
    change: float = parameter(1.0, "factor on sigma1 and sigma2 from change_time on", above=0.0)
    change_time: float = parameter(-1.0, "robot time of that change, s; below 0: never")
    command_noise: tuple[float, float] = parameter(
        (0.0, 0.0),
        "standard deviations of the drive's error in a command, [m/s, rad/s]",
        minimum=0.0,
    )
    velocity_noise: tuple[float, float] = parameter(
        (0.0, 0.0), "standard deviations of measured [v, omega], m/s, rad/s", minimum=0.0
    )
    pose_noise: tuple[float, float, float] = parameter(
        (0.0, 0.0, 0.0), "standard deviations of measured [x, y, theta], m, m, rad", minimum=0.0
    )
    encoder_counts: int = parameter(
        -1, "counts per wheel revolution; 0: exact pose and velocity; -1: the robot's", minimum=-1
    )
    path_noise: float = parameter(
        1e-6,
        "variance of a wheel's path per path driven, in the covariance of odom, m^2/m",
        minimum=0.0,
    )


class SimulatedVelocityRobot:
    """A robot at rest, and what it measures.

    Args:
        robot: The robot that its users assume.
        wheels: The true wheels.
        period: Control period, s.
        start: Its pose, m, m, rad.
        limits: Largest (v, omega) that it accepts, m/s and rad/s; 0: the robot's own.

    Attributes:
        robot, odometry: Motion and measurement.
    """

    def __init__(
        self,
        values: VelocityRobotParameters,
        robot: Robot,
        wheels: WheelGeometry,
        period: float,
        start: Triple = (0.0, 0.0, 0.0),
        limits: Pair = (0.0, 0.0),
    ) -> None:
        self._values, self._period, self._steps = values, period, 0
        self._changed = values.change_time < 0.0
        self.robot = VelocityRobot(
            Sigma(*values.sigma),
            speed_limits=(
                limits[0] or robot.limits.linear_velocity,
                limits[1] or robot.limits.angular_velocity,
            ),
            rims=robot.rim_limit,
            ramp=_ramp(values.acceleration_limit),
            dead_time=values.dead_time,
            command_noise=values.command_noise,
            dead_band=DriveDeadBand(
                values.dead_band,
                values.wheel_dead_band,
                DeadBandKind.named(values.dead_band_kind),
                values.stiction,
                robot.geometry.separation,
            ),
            seed=values.seed,
        )
        self.robot.reset(start)
        self.odometry = VelocityOdometry(
            self.robot,
            period,
            robot.geometry,
            counts=robot.encoder.counts_or(values.encoder_counts),
            velocity_noise=values.velocity_noise,
            pose_noise=values.pose_noise,
            seed=values.seed,
            wheels=wheels,
            path_noise=values.path_noise,
        )
        self.odometry.read()

    @property
    def stamp(self) -> float:
        """Robot time of the newest state, s."""
        return self._steps * self._period

    def advance(self, command: Pair) -> bool:
        """Advance by one period with a command of (v, omega); return whether sigma has changed."""
        changes = not self._changed and self.stamp >= self._values.change_time - TOLERANCE
        if changes:
            sigma, factor = self.robot.sigma, self._values.change
            self.robot.sigma = Sigma(factor * sigma.s1, factor * sigma.s2, sigma.s3, sigma.s4)
            self._changed = True
        self.robot.step(command, self._period)
        self._steps += 1
        self.odometry.read()
        return changes


def _ramp(limits: Pair) -> CommandRamp | None:
    slopes = Velocity(*(limit or math.inf for limit in limits))
    return None if slopes == UNLIMITED else CommandRamp(slopes, slopes, before_band=True)
