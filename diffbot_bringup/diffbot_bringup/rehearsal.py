"""The identification of launch/ident.launch.xml in one process, without a ROS graph.

The same excitation, sensors and estimator as the nodes': for tests and benchmarks over many seeds.
The nodes' torque limiter is left out; it does not touch an excitation inside the robot's limits.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from arc_odometry import DiffOdometry, WheelGeometry
from diffbot_description import Robot, load_robot
from diffbot_ident.arena import Arena, extent, outline
from diffbot_ident.body_model import BodyPrior
from diffbot_ident.coverage import MotionScale
from diffbot_ident.estimate import Estimate, Estimator, State
from diffbot_ident.estimators import make_estimator
from diffbot_ident.excitations import Excitation, make_excitation, nominal_prior
from diffbot_ident.motion import Motion
from diffbot_sim.actuators import Actuator
from diffbot_sim.encoders import Encoders
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import VirtualRobot

PERIOD = 0.01  # control period, s
LEARN = 1.0  # time after which the excitation learns the estimate, again and again, s


@dataclass(frozen=True)
class Rehearsal:
    """What one run gave.

    Attributes:
        estimate: of K5..K8.
        truth: closed form of K5..K8 of the simulated robot, shape (4,).
        speeds: largest true |v| and |omega| as shares of the excitation's limits, shape (2,).
        extent: largest true |x| and |y| of any part of the robot, m, shape (2,).
        times: of the history, s since the beginning, shape (n,).
        history: estimates of K5..K8 at these times, shape (n, 4).
        information: bits about K5..K8 that the measured motion gained; NaN where not counted.
        predicted_information: the same as predicted; NaN where the excitation predicts nothing.
        guarded: share of the wheel torques that were replaced to keep to the limits.
    """

    estimate: Estimate
    truth: NDArray[np.float64]
    speeds: NDArray[np.float64]
    extent: NDArray[np.float64]
    times: NDArray[np.float64]
    history: NDArray[np.float64]
    information: float
    predicted_information: float
    guarded: float

    @property
    def errors(self) -> NDArray[np.float64]:
        """Errors of K5..K8 in % of the closed form, shape (4,)."""
        return 100.0 * (np.array(self.estimate.values) / self.truth - 1.0)

    @property
    def error_history(self) -> NDArray[np.float64]:
        """Errors of K5..K8 in % of the closed form at the times of the history, (n, 4)."""
        return 100.0 * (self.history / self.truth - 1.0)

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
    *,
    excitation: str = "prbs",
    arena: Arena | None = None,
    hold: int | None = None,
    register: int | None = None,
    friction: tuple[tuple[float, float], tuple[float, float]] | None = None,
    torque_delay: int = 0,
    prior: BodyPrior | None = None,
    record: float = 1.0,
    estimator: str = "integral",
) -> Rehearsal:
    """Excite a simulated robot at rest for a while and identify it.

    Args:
        robot_name: name of a robot, or the path of its YAML.
        engine: "ideal", "mujoco" or "gazebo".
        seed: of the excitation and of the noise.
        seconds: robot time, s.
        encoder_counts: per wheel revolution; 0 for exact angles.
        torque_noise: standard deviation of the acting torque, as a share of it.
        excitation: "prbs", "multisine" or "optimised".
        arena: that the robot should stay in; None for no bound.
        hold: control periods of a bit or stage of the excitation; None for the robot's own.
        register: bits of the PRBS's shift register; None for the robot's own.
        friction: viscous [left, right] in N m s/rad and Coulomb [left, right] in N m; None for the
            robot's own.
        torque_delay: control periods between a torque's command and its action.
        prior: what the excitation believes of the robot at the beginning; None for the closed form.
        record: time between two entries of the history, s.
        estimator: "integral", "rls" or "kalman".
    """
    robot = load_robot(robot_name)
    if friction is not None:
        viscous, coulomb = friction
        robot = replace(robot, friction=replace(robot.friction, viscous=viscous, coulomb=coulomb))
    # Making a URDF takes longer than a short run; prbs without an arena predicts nothing.
    if prior is None and (excitation != "prbs" or arena is not None):
        prior = nominal_prior(load_robot(robot_name))
    source = make_excitation(
        excitation,
        robot,
        seed,
        hold=hold,
        register=register,
        arena=arena,
        prior=prior,
        period=PERIOD,
    )
    with closing(make_simulator(engine, robot)) as simulator:
        virtual = VirtualRobot(
            simulator,
            Actuator(robot.limits.torque, torque_delay, torque_noise, seed),
            Encoders(encoder_counts, PERIOD, seed),
            PERIOD,
        )
        steps, every = round(seconds / PERIOD), round(record / PERIOD)
        return _identify(virtual, robot, source, estimator, steps, every)


def _identify(
    virtual: VirtualRobot,
    robot: Robot,
    source: Excitation,
    estimator_name: str,
    steps: int,
    record: int,
) -> Rehearsal:
    limits = np.array([robot.excitation.linear_velocity, robot.excitation.angular_velocity])
    geometry = WheelGeometry(robot.wheels.radius, robot.wheels.radius, robot.wheels.separation)
    scale = MotionScale(*limits.tolist(), robot.excitation.amplitude)
    estimator = make_estimator(estimator_name, geometry, scale)
    odometry = DiffOdometry(geometry)
    corners = outline(robot)
    fastest, farthest = np.zeros(2), np.array(extent(corners, (0.0, 0.0, 0.0)))
    history = []
    sample = virtual.sample
    for step in range(1, steps + 1):
        estimator.update(sample)
        odometry.update(sample.stamp, sample.position)
        velocity = estimator.velocity or (0.0, 0.0)
        motion = Motion(odometry.pose, velocity, geometry.wheel_velocity(*velocity))
        sample = virtual.advance(source.torque(motion))
        fastest = np.maximum(fastest, np.abs(virtual.engine.velocity()))
        farthest = np.maximum(farthest, extent(corners, virtual.engine.pose()))
        if step % record == 0:
            history.append(estimator.estimate().values)
        if step % round(LEARN / PERIOD) == 0:
            _teach(source, estimator)
    estimator.update(sample)
    truth = virtual.engine.parameters()
    return Rehearsal(
        estimator.estimate(),
        np.array([truth.k5, truth.k6, truth.k7, truth.k8]),
        fastest / limits,
        farthest,
        PERIOD * record * np.arange(1, len(history) + 1),
        np.reshape(history, (-1, 4)),
        source.information,
        source.predicted_information,
        source.guarded / (2 * steps),
    )


def _teach(source: Excitation, estimator: Estimator) -> None:
    """Let the excitation predict with what is known by now, as the ident node does."""
    found = estimator.estimate()
    if found.state is State.ESTIMATED:
        pairs = (found.friction.values[:2], found.friction.values[2:]) if found.friction else ()
        source.learn(found.values, found.variances, *pairs)
