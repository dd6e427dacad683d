# SPDX-License-Identifier: Apache-2.0
"""Parameters that the simulator nodes have in common, and the parts that they configure."""

from __future__ import annotations

from dataclasses import dataclass, fields

from diffbot_description import Robot
from diffbot_node import RobotParameters, parameter
from diffbot_sim.virtual_robot import Actuator, Encoders

SAME = "none"  # value of simulated_robot: the nodes' robot is the one that is moved


@dataclass(frozen=True)
class MovedRobot(RobotParameters):
    """Parameters that name the robot to simulate."""

    simulated_robot: str = parameter(
        "none",
        "robot to simulate if it differs from the one given to the nodes (robot): name "
        "or path; none: the same",
    )

    @property
    def moved_robot(self) -> str:
        """Name or file of the simulated robot."""
        return self.robot if self.simulated_robot == SAME else self.simulated_robot


@dataclass(frozen=True)
class SimulatorParameters(MovedRobot):
    """Parameters of all simulators."""

    start: str = parameter("0,0,0", "start pose x,y,theta in the odom frame, m, m, rad")
    leave_when_alone: bool = parameter(False, "end when no node publishes commands any more")


@dataclass(frozen=True)
class NoiseParameters:
    """Parameters of simulators to which this package adds noise."""

    seed: int = parameter(0, "seed of the sensors' and actuators' noise", minimum=0)


@dataclass(frozen=True)
class SensorParameters(NoiseParameters):
    """Parameters of simulators whose encoders and motors this package simulates."""

    encoder_counts: int = parameter(
        -1, "counts per wheel revolution; 0: exact; -1: the robot's", minimum=-1
    )
    torque_noise: float = parameter(
        0.0, "standard deviation of the torque, as a share of it", minimum=0.0
    )
    torque_delay: int = parameter(0, "control periods between command and torque", minimum=0)


def check_lengths(values: SimulatorParameters) -> None:
    """Raise ValueError for a list that has not as many numbers as its default."""
    for each in fields(values):
        default, given = each.default, getattr(values, each.name)
        if isinstance(default, tuple) and default and len(given) != len(default):
            raise ValueError(
                f"parameter '{each.name}' = {list(given)}: must be {len(default)} numbers"
            )


def make_actuator(robot: Robot, values: SensorParameters) -> Actuator:
    """Return the robot's motors."""
    return Actuator(
        robot.limits.torque,
        values.torque_delay,
        values.torque_noise,
        values.seed,
        robot.drive.dead_band,
    )


def make_encoders(robot: Robot, values: SensorParameters, period: float) -> Encoders:
    """Return the robot's encoders, read once per control period (s)."""
    return Encoders(robot.encoder.counts_or(values.encoder_counts), period, values.seed)
