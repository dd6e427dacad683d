# SPDX-License-Identifier: Apache-2.0
"""Runs of excited robots, recorded once so that several estimators can use them.

`record` records one robot in any surroundings; `record_block` records many robots at once, with the
batched engine, and `record_runs` one robot with many seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arc_odometry import JointSample, WheelGeometry
from diffbot_description import DynamicParameters, Robot, closed_form, load_robot
from diffbot_ident.excitation.excitations import excited_wheel_speed
from diffbot_ident.excitation.signals import GuardedPrbs
from diffbot_ident.torque.integral_rows import MotionScale
from diffbot_sim.engines import make_simulator
from diffbot_sim.engines.ideal_block import IdealBlock
from diffbot_sim.virtual_robot import Actuator, BlockActuator, BlockEncoders, Encoders, VirtualRobot
from diffbot_study.driving import PERIOD
from diffbot_study.identification import motion_scale

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RunSetting:
    """One kind of run.

    Attributes:
        robot: Name of a robot.
        counts: Encoder counts per wheel revolution; 0 for exact angles.
        noise: Standard deviation of the acting torque as a fraction of it.
        viscous: Friction [left, right] in N m s/rad per N m of the excitation's amplitude.
        coulomb: Friction [left, right] as fractions of the excitation's amplitude.
        fast: Whether the excitation may use the robot's own speed limits instead of those that its
            YAML sets for the excitation.
        delay: Control periods between a torque's command and its action.
        on_axle: Whether a payload moves the centre of mass onto the axle, d = 0.
        straight: Whether both wheels get the same torque.
        wiring: Command, "l" or "r", that each wheel gets, with "-" for a flipped sign.
        period: Control period, s, > 0.
    """

    robot: str = "twil"
    counts: int = 4096
    noise: float = 0.01
    viscous: tuple[float, float] = (0.02, 0.03)
    coulomb: tuple[float, float] = (0.1, 0.125)
    fast: bool = False
    delay: int = 0
    on_axle: bool = False
    straight: bool = False
    wiring: tuple[str, str] = ("l", "r")
    period: float = 0.01

    def make_robot(self) -> Robot:
        """Return the robot with only this setting's friction, and with its speed limits."""
        robot = load_robot(self.robot)
        amplitude = robot.excitation.amplitude
        friction = replace(
            robot.friction,
            viscous=(amplitude * self.viscous[0], amplitude * self.viscous[1]),
            coulomb=(amplitude * self.coulomb[0], amplitude * self.coulomb[1]),
            coulomb_backward=None,
            static=None,
            stribeck_velocity=None,
        )
        excitation = robot.excitation
        if self.fast:
            excitation = replace(
                excitation,
                linear_velocity=robot.limits.linear_velocity,
                angular_velocity=robot.limits.angular_velocity,
            )
        return replace(robot, friction=friction, excitation=excitation)


@dataclass(frozen=True)
class RecordedRun:
    """Data of a run.

    Attributes:
        samples: Joint samples, one per control period, the first one at rest.
        truth: Closed form of K5..K8 of the robot, shape (4,).
        geometry: Wheel radii and separation.
        scale: Scale of the motions and torques.
    """

    samples: list[JointSample]
    truth: Array
    geometry: WheelGeometry
    scale: MotionScale


def record(setting: RunSetting, seed: int, seconds: float) -> RecordedRun:
    """Excite a robot at rest with guarded PRBS for a while, on the ideal engine.

    Args:
        setting: Setting of the robot and its surroundings.
        seed: Seed of the excitation and of the noise.
        seconds: Robot time, s.
    """
    robot = setting.make_robot()
    source, actuator, encoders = driver(setting, robot, seed)
    with closing(make_simulator("ideal", robot)) as engine:
        if setting.on_axle:
            body = robot.body
            engine.set_payload(0.5 * body.mass, -2.0 * body.center_of_mass.x, 0.1, 0.0)
        virtual = VirtualRobot(engine, actuator, encoders, setting.period)
        samples = [virtual.sample]
        for _ in range(round(seconds / setting.period)):
            torque = next_torque(source, samples, setting)
            samples.append(virtual.advance(torque))
        return make_run(robot, engine.parameters(), samples)


def driver(setting: RunSetting, robot: Robot, seed: int) -> tuple[GuardedPrbs, Actuator, Encoders]:
    """Return excitation, actuator and encoders of a run."""
    return (
        prbs_of(robot, seed),
        _WiredActuator(setting, robot.limits.torque, seed),
        Encoders(setting.counts, setting.period, seed),
    )


def prbs_of(robot: Robot, seed: int) -> GuardedPrbs:
    """Return the excitation of a robot within its own limits."""
    own = robot.excitation
    return GuardedPrbs(own.amplitude, own.hold, own.register, excited_wheel_speed(robot), seed)


class _WiredActuator(Actuator):
    """Actuator whose torques act according to the wiring, but are reported as commanded."""

    def __init__(self, setting: RunSetting, limit: float, seed: int) -> None:
        super().__init__(limit, setting.delay, setting.noise, seed)
        self._wiring = setting.wiring

    def apply(
        self, command: tuple[float, float]
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        reported, (left, right) = super().apply(command)
        given = {"l": left, "r": right, "-l": -left, "-r": -right}
        return reported, (given[self._wiring[0]], given[self._wiring[1]])


def next_torque(
    source: GuardedPrbs, samples: list[JointSample], setting: RunSetting
) -> tuple[float, float]:
    """Return the torque of the next period, N m, from the measured speeds of the last one."""
    before, after = samples[-2:][0].position, samples[-1].position
    period = setting.period
    left, right = source.torque(((after[0] - before[0]) / period, (after[1] - before[1]) / period))
    return left, left if setting.straight else right


def make_run(robot: Robot, k: DynamicParameters, samples: list[JointSample]) -> RecordedRun:
    """Return the samples with the known data of their robot."""
    return RecordedRun(samples, np.array(k), robot.geometry, motion_scale(robot))


# Many robots at once.


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
    torque_noise: ArrayLike = 0.0,
    torque_delay: int = 0,
    period: float = PERIOD,
) -> BlockRecording:
    """Excite robots at rest with guarded PRBS, each within its own limits.

    Args:
        robots: n robots.
        seeds: Seed of each robot's excitation, noise and encoder phases.
        seconds: Robot time, s.
        torque_noise: Standard deviation of the acting torque as a fraction of it; a number, or
            (n,).
        torque_delay: Delay of the motors, control periods.
        period: Control period, s.

    Raises:
        ValueError: As raised by IdealBlock, BlockActuator and BlockEncoders.
    """
    sources = [prbs_of(robot, seed) for robot, seed in zip(robots, seeds, strict=True)]
    engine = IdealBlock(robots)
    bands = np.array([robot.drive.dead_band for robot in robots]).T
    actuator = BlockActuator(
        [robot.limits.torque for robot in robots], torque_delay, torque_noise, seeds, bands
    )
    encoders = BlockEncoders([robot.encoder.counts for robot in robots], period, seeds)
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
    """Do the same as `record` for each seed, in one block if possible.

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
        [replace(robot, encoder=replace(robot.encoder, counts=setting.counts))] * count,
        seeds,
        seconds,
        torque_noise=setting.noise,
        torque_delay=setting.delay,
        period=setting.period,
    )
    k = closed_form(robot.model)
    return [make_run(robot, k, block.samples(index)) for index in range(count)]
