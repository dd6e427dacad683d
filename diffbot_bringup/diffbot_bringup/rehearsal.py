"""The identification of launch/ident.launch.xml in one process, without a ROS graph.

The same excitation, sensors and estimator as the nodes': for tests and benchmarks over many seeds.
The nodes' torque limiter is left out; it does not touch an excitation inside the robot's limits.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_description import Robot, load_robot
from diffbot_ident.estimator import DynamicsEstimator, Estimate
from diffbot_ident.excitation import Excitation, wheel_speed_limit
from diffbot_ident.regression import PositionRegression
from diffbot_sim.actuators import Actuator
from diffbot_sim.encoders import Encoders
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import VirtualRobot

PERIOD = 0.01  # control period, s


@dataclass(frozen=True)
class Rehearsal:
    """What one run gave.

    Attributes:
        estimate: of K5..K8.
        truth: closed form of K5..K8 of the simulated robot, shape (4,).
        speeds: largest true |v| and |omega| as shares of the excitation's limits, shape (2,).
    """

    estimate: Estimate
    truth: NDArray[np.float64]
    speeds: NDArray[np.float64]

    @property
    def errors(self) -> NDArray[np.float64]:
        """Errors of K5..K8 in % of the closed form, shape (4,)."""
        return 100.0 * (np.array(self.estimate.values) / self.truth - 1.0)

    @property
    def normalised_errors(self) -> NDArray[np.float64]:
        """Errors of K5..K8 in standard deviations as the estimator states them, shape (4,)."""
        return (np.array(self.estimate.values) - self.truth) / np.sqrt(self.estimate.variances)


def rehearse(
    robot_name: str,
    engine: str,
    seed: int,
    seconds: float,
    encoder_counts: int,
    torque_noise: float = 0.0,
) -> Rehearsal:
    """Excite a simulated robot at rest for a while and identify it.

    Args:
        robot_name: name of a robot, or the path of its YAML.
        engine: "ideal", "mujoco" or "gazebo".
        seed: of the excitation and of the noise.
        seconds: robot time, s.
        encoder_counts: per wheel revolution; 0 for exact angles.
        torque_noise: standard deviation of the acting torque, as a share of it.
    """
    robot = load_robot(robot_name)
    with closing(make_simulator(engine, robot)) as simulator:
        virtual = VirtualRobot(
            simulator,
            Actuator(robot.limits.torque, 0, torque_noise, seed),
            Encoders(encoder_counts, PERIOD, seed),
            PERIOD,
        )
        return _identify(virtual, robot, seed, seconds)


def _identify(virtual: VirtualRobot, robot: Robot, seed: int, seconds: float) -> Rehearsal:
    limits = np.array([robot.excitation.linear_velocity, robot.excitation.angular_velocity])
    geometry = WheelGeometry(robot.wheels.radius, robot.wheels.radius, robot.wheels.separation)
    excitation = Excitation(
        robot.excitation.amplitude,
        robot.excitation.hold,
        robot.excitation.register,
        wheel_speed_limit(*limits, robot.wheels.radius, geometry.half_track),
        seed,
    )
    estimator = DynamicsEstimator(PositionRegression(geometry))
    fastest = np.zeros(2)
    sample = virtual.sample
    for _ in range(round(seconds / PERIOD)):
        estimator.update(sample)
        speeds = geometry.wheel_velocity(*(estimator.velocity or (0.0, 0.0)))
        sample = virtual.advance(excitation.torque(speeds))
        fastest = np.maximum(fastest, np.abs(virtual.engine.velocity()))
    estimator.update(sample)
    truth = virtual.engine.parameters()
    return Rehearsal(
        estimator.estimate(),
        np.array([truth.k5, truth.k6, truth.k7, truth.k8]),
        fastest / limits,
    )
