# SPDX-License-Identifier: Apache-2.0
"""Excites and records many robots at once: recorded_runs.record with a robot axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arc_odometry import JointSample
from diffbot_description import Robot, closed_form
from diffbot_ident.excitation.excitations import excited_wheel_speed
from diffbot_ident.excitation.signals import GuardedPrbs
from diffbot_sim.engines.ideal_block import IdealBlock
from diffbot_sim.virtual_robot import BlockActuator, BlockEncoders
from diffbot_study.driving import PERIOD
from diffbot_study.recorded_runs import RecordedRun, RunSetting, make_run, record

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BlockRecording:
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


def record_block(
    robots: Sequence[Robot],
    seeds: Sequence[int],
    seconds: float,
    *,
    encoder_counts: Sequence[int] | None = None,
    torque_noise: ArrayLike = 0.0,
    torque_delay: int = 0,
    period: float = PERIOD,
) -> BlockRecording:
    """Excite robots at rest with guarded PRBS, each within its own limits.

    Args:
        robots: n robots.
        seeds: Seed of each robot's excitation, noise and encoder phases.
        seconds: Robot time, s.
        encoder_counts: Encoder counts per wheel revolution of each robot; None: the robots' own.
        torque_noise: Standard deviation of the acting torque as a fraction of it; a number, or
            (n,).
        torque_delay: Delay of the motors, control periods.
        period: Control period, s.

    Raises:
        ValueError: As raised by IdealBlock, BlockActuator and BlockEncoders.
    """
    sources = [_excitation(robot, seed) for robot, seed in zip(robots, seeds, strict=True)]
    engine = IdealBlock(robots)
    bands = np.array([robot.drive.dead_band for robot in robots]).T
    actuator = BlockActuator(
        [robot.limits.torque for robot in robots], torque_delay, torque_noise, seeds, bands
    )
    counts = [r.encoder.counts for r in robots] if encoder_counts is None else encoder_counts
    encoders = BlockEncoders(list(counts), period, seeds)
    steps = round(seconds / period)
    positions, efforts = (np.zeros((steps + 1, 2, len(robots))) for _ in range(2))
    positions[0] = encoders.read(engine.angles)
    motions = np.zeros((steps + 1, 5, len(robots)))
    speeds = np.zeros((2, len(robots)))
    for step in range(1, steps + 1):
        torque = np.array(
            [
                source.torque((left, right))
                for source, left, right in zip(sources, *speeds.tolist(), strict=True)
            ]
        ).T
        efforts[step], acting = actuator.apply(torque)
        engine.step(acting, period)
        positions[step] = encoders.read(engine.angles)
        motions[step] = engine.x, engine.y, engine.theta, engine.v, engine.omega
        speeds = (positions[step] - positions[step - 1]) / period
    stamps = np.asarray(period * np.arange(steps + 1), dtype=np.float64)
    return BlockRecording(stamps, positions, efforts, np.array(engine.parameters), motions)


def record_runs(setting: RunSetting, seeds: Sequence[int], seconds: float) -> list[RecordedRun]:
    """Do the same as recorded_runs.record for each seed, in one block if possible.

    Runs are recorded one after the other if the wiring is not left to left, the torques are equal,
    or there is a payload.

    Raises:
        ValueError: As raised by record_block.
    """
    if setting.straight or setting.on_axle or setting.wiring != RunSetting.wiring:
        return [record(setting, seed, seconds) for seed in seeds]
    robot = setting.make_robot()
    count = len(seeds)
    block = record_block(
        [robot] * count,
        seeds,
        seconds,
        encoder_counts=[setting.counts] * count,
        torque_noise=setting.noise,
        torque_delay=setting.delay,
        period=setting.period,
    )
    k = closed_form(robot.model)
    return [make_run(robot, k, block.samples(index)) for index in range(count)]


def _excitation(robot: Robot, seed: int) -> GuardedPrbs:
    own = robot.excitation
    limit = excited_wheel_speed(robot)
    return GuardedPrbs(own.amplitude, own.hold, own.register, limit, seed)
