# SPDX-License-Identifier: Apache-2.0
"""Runs of many excited robots at once, recorded with the batched engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from arc_odometry import JointSample
from arc_odometry.number_range import Array
from diffbot_description import Robot
from diffbot_ident.excitation.body_model import Motion
from diffbot_ident.excitation.excitations import excited_wheel_speed
from diffbot_ident.excitation.prbs import GuardedPrbs
from diffbot_sim.engines.ideal_batch import IdealBatch
from diffbot_sim.virtual_robot import BatchActuator, BatchEncoders
from diffbot_study.driving import PERIOD


def prbs_of(robot: Robot, seed: int, levels: int = 2) -> GuardedPrbs:
    """Return the excitation of a robot within its own limits, of 2 or 4 torque levels."""
    own, limit = robot.excitation, excited_wheel_speed(robot)
    return GuardedPrbs(own.amplitude, own.hold, own.register, limit, seed, levels)


@dataclass(frozen=True)
class BatchRecording:
    """Joint samples of n robots at m instants.

    Attributes:
        stamps: Stamps, s, shape (m,).
        positions: Measured angles of the wheels [left, right], rad, shape (m, 2, n).
        efforts: Reported torques of the period that ends, N m, shape (m, 2, n).
        truth: K5 to K8 of each robot, shape (4, n).
        motions: True x, y, theta, v and omega, m, rad, m/s and rad/s, shape (m, 5, n).
    """

    stamps: Array
    positions: Array
    efforts: Array
    truth: Array
    motions: Array

    def samples(self, index: int) -> list[JointSample]:
        """Return the joint samples of one robot, without speeds."""
        positions = self.positions[:, :, index].tolist()
        efforts = self.efforts[:, :, index].tolist()
        still = (0.0, 0.0)
        return [
            JointSample(stamp, (angle[0], angle[1]), still, (effort[0], effort[1]))
            for stamp, angle, effort in zip(self.stamps.tolist(), positions, efforts, strict=True)
        ]


def record_batch(
    robots: Sequence[Robot],
    seeds: Sequence[int],
    seconds: float,
    *,
    torque_noise: ArrayLike = 0.0,
    torque_delay: int = 0,
    period: float = PERIOD,
) -> BatchRecording:
    """Excite robots at rest with guarded PRBS, each within its own limits; see simulate_drives.

    `seeds` are of each robot's excitation, noise and encoder phases; `seconds` are robot time.
    """
    sources = [prbs_of(robot, seed) for robot, seed in zip(robots, seeds, strict=True)]
    engine = IdealBatch(robots)
    bands = np.array([robot.drive.dead_band for robot in robots]).T
    actuator = BatchActuator(
        [robot.limits.torque for robot in robots], torque_delay, torque_noise, seeds, bands
    )
    encoders = BatchEncoders([robot.encoder.counts for robot in robots], period, seeds)
    steps = round(seconds / period)
    positions, efforts = (np.zeros((steps + 1, 2, len(robots))) for _ in range(2))
    positions[0] = encoders.read(engine.angles)
    motions = np.zeros((steps + 1, 5, len(robots)))
    speeds = np.zeros((2, len(robots)))
    for step in range(1, steps + 1):
        torque = np.array(
            [
                source.torque(Motion(wheel_speeds=(left, right)))
                for source, left, right in zip(sources, *speeds.tolist(), strict=True)
            ]
        ).T
        efforts[step], acting = actuator.apply(torque)
        engine.step(acting, period)
        positions[step] = encoders.read(engine.angles)
        motions[step] = engine.x, engine.y, engine.theta, engine.v, engine.omega
        speeds = (positions[step] - positions[step - 1]) / period
    stamps = np.asarray(period * np.arange(steps + 1), dtype=np.float64)
    return BatchRecording(stamps, positions, efforts, np.array(engine.parameters), motions)
