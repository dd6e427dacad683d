# SPDX-License-Identifier: Apache-2.0
"""Identification of K5..K8 in one process, without a ROS graph, as by launch/ident.launch.xml.

The nodes' torque limiter is left out: it does not affect an excitation within the robot's limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from arc_odometry import DiffOdometry
from arc_odometry.number_range import Array
from diffbot_description import Robot, load_robot
from diffbot_description.arena import Arena, extent, silhouette
from diffbot_ident.estimate import Estimate, EstimateState, Estimator
from diffbot_ident.estimators import make_estimator
from diffbot_ident.excitation.body_model import BodyPrior, Motion
from diffbot_ident.excitation.excitations import Excitation, make_excitation, nominal_prior
from diffbot_ident.torque.learning import MotionScale
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import Actuator, Encoders, VirtualRobot, periods_in

PERIOD = 0.01  # control period, s
LEARN = 1.0  # period at which the excitation receives the current estimate, s

TorqueSignal = Callable[[float], tuple[float, float]]
"""Returns wheel torques [left, right] in N m that begin at a robot time in s."""


@dataclass(frozen=True)
class IdentificationRun:
    """Results of one run.

    Attributes:
        truth: Closed form of K5..K8 of the simulated robot, shape (4,).
        speeds: Largest true |v| and |omega| as fractions of the excitation's limits, shape (2,).
        extent: Largest true |x| and |y| of any part of the robot, m, shape (2,).
        times: Of the history, s since the beginning, shape (n,).
        history: Estimates of K5..K8 at these times, shape (n, 4).
        information: About K5..K8 from the measured motion, bits; NaN if not computed.
        predicted_information: NaN if the excitation predicts none.
        guarded: Fraction of the wheel torques that were replaced to stay within the limits.
    """

    estimate: Estimate
    truth: Array
    speeds: Array
    extent: Array
    times: Array
    history: Array
    information: float
    predicted_information: float
    guarded: float

    @property
    def errors(self) -> Array:
        """Errors of K5..K8 in % of the closed form, shape (4,)."""
        return 100.0 * (np.array(self.estimate.values) / self.truth - 1.0)

    @property
    def normalised_errors(self) -> Array:
        """Errors of K5..K8 in standard deviations as given by the estimator, shape (4,)."""
        return (np.array(self.estimate.values) - self.truth) / np.sqrt(self.estimate.variances)


def simulate_identification(
    robot: str | Robot,
    engine: str = "ideal",
    seed: int = 0,
    seconds: float = 30.0,
    encoder_counts: int | None = None,
    torque_noise: float = 0.0,
    *,
    excitation: str | TorqueSignal = "prbs",
    arena: Arena | None = None,
    hold: int | None = None,
    register: int | None = None,
    torque_delay: int = 0,
    prior: BodyPrior | None = None,
    record: float = 1.0,
    estimator: str | Estimator = "integral",
) -> IdentificationRun:
    """Excite a simulated robot at rest for a while and identify it.

    Args:
        robot: The robot to simulate, or its name, or the path of its YAML.
        engine: "ideal", "mujoco" or "gazebo".
        seed: Seed of the excitation and of the noise.
        seconds: Robot time, s, at least one control period of 10 ms.
        encoder_counts, torque_noise, torque_delay: See simulate_drive.
        excitation: "prbs", "multisine" or "optimised", or your own signal, which is not guarded:
            see `IdentificationRun.speeds`.
        arena: Area in which the robot should stay; None for no bound.
        hold: Control periods per bit or stage of the excitation; None for the robot's own.
        register: Bits of the PRBS's shift register; None for the robot's own.
        prior: Initial knowledge of the excitation about the robot; None for the closed form.
        record: Time between two entries of the history, s, at least one control period.
        estimator: "integral" or "rls", or your own, new or reset.

    Raises:
        ValueError: An argument is outside its range, there is no such robot, engine, excitation or
            estimator, or a torque of the signal is not finite.
    """
    if not isinstance(robot, Robot):
        robot = load_robot(robot)
    steps, every = periods_in("seconds", seconds, PERIOD), periods_in("record", record, PERIOD)
    source: Excitation
    if isinstance(excitation, str):
        # Making a URDF takes longer than a short run, and prbs without an arena predicts nothing.
        if prior is None and (excitation != "prbs" or arena is not None):
            prior = nominal_prior(robot)
        source = make_excitation(
            excitation, robot, seed,
            hold=hold, register=register, arena=arena, prior=prior, period=PERIOD,
        )  # fmt: skip
    else:
        source = _OpenLoop(excitation)
    counts = robot.encoder.counts if encoder_counts is None else encoder_counts
    with closing(make_simulator(engine, robot)) as simulator:
        virtual = VirtualRobot(
            simulator,
            Actuator(robot.limits.torque, torque_delay, torque_noise, seed, robot.drive.dead_band),
            Encoders(counts, PERIOD, seed),
            PERIOD,
        )
        return _identify(virtual, robot, source, estimator, steps, every)


class _OpenLoop:
    """A torque signal as an Excitation without limits and learning."""

    guarded = 0
    information = math.nan
    predicted_information = math.nan

    def __init__(self, signal: TorqueSignal) -> None:
        self._signal = signal
        self._periods = 0

    def torque(self, _motion: Motion) -> tuple[float, float]:
        torque = self._signal(self._periods * PERIOD)
        try:
            left, right = map(float, torque)
        except (TypeError, ValueError):
            raise ValueError(
                f"the excitation returned {torque!r} at {self._periods * PERIOD:g} s: must be two "
                "torques [left, right] in N m"
            ) from None
        self._periods += 1
        return left, right

    def interrupt(self) -> None:
        pass

    def learn(self, *_: object) -> None:
        pass


def _identify(
    virtual: VirtualRobot,
    robot: Robot,
    source: Excitation,
    which: str | Estimator,
    steps: int,
    record: int,
) -> IdentificationRun:
    own = robot.excitation
    limits = np.array([own.linear_velocity, own.angular_velocity])
    geometry = robot.geometry
    estimator = estimator_of(which, robot) if isinstance(which, str) else which
    odometry = DiffOdometry(geometry)
    corners = silhouette(robot)
    fastest, farthest = np.zeros(2), np.array(extent(corners, (0.0, 0.0, 0.0)))
    history = []
    sample = virtual.sample
    for step in range(1, steps + 1):
        estimator.update(sample.beyond(robot.drive.dead_band))
        odometry.update(sample.stamp, sample.position)
        velocity = estimator.velocity or (0.0, 0.0)
        motion = Motion(odometry.pose, velocity, geometry.wheel_velocity(*velocity))
        sample = virtual.advance(source.torque(motion))
        fastest = np.maximum(fastest, np.abs(virtual.engine.velocity()))
        farthest = np.maximum(farthest, extent(corners, virtual.engine.pose()))
        if step % record == 0:
            history.append(estimator.estimate().values)
        if step % round(LEARN / PERIOD) == 0:
            # As in the ident node, the excitation predicts with the current estimate.
            result = estimator.estimate()
            if result.state is EstimateState.ESTIMATED:
                source.learn(result)
    estimator.update(sample.beyond(robot.drive.dead_band))
    truth = virtual.engine.parameters()
    return IdentificationRun(
        estimate=estimator.estimate(),
        truth=np.array(truth),
        speeds=fastest / limits,
        extent=farthest,
        times=np.array([PERIOD * record * count for count in range(1, len(history) + 1)]),
        history=np.reshape(np.array(history, dtype=float), (-1, 4)),
        information=source.information,
        predicted_information=source.predicted_information,
        guarded=source.guarded / (2 * steps),
    )


def estimator_of(name: str, robot: Robot) -> Estimator:
    """Return a new estimator, "integral" or "rls", of a robot."""
    turning = robot.turning is not None
    return make_estimator(name, robot.geometry, motion_scale(robot), turning=turning)


def motion_scale(robot: Robot) -> MotionScale:
    """Return the typical magnitude of the motion that a robot's excitation causes."""
    own = robot.excitation
    return MotionScale(own.linear_velocity, own.angular_velocity, own.amplitude)
