# SPDX-License-Identifier: Apache-2.0
"""Runs of excited robots, recorded once so that several estimators can use them.

`record` records one robot in any surroundings, `record_runs` one robot with many seeds.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from arc_odometry.number_range import Array
from diffbot_description import DynamicParameters, Robot, closed_form, load_robot
from diffbot_ident.excitation.body_model import Motion
from diffbot_ident.excitation.prbs import GuardedPrbs
from diffbot_ident.torque.learning import MotionScale
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import Actuator, Encoders, VirtualRobot
from diffbot_study.recorded_runs import prbs_of, record_batch
from diffbot_study.simulated_identification import motion_scale


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


@functools.cache
def usual_run() -> RecordedRun:
    """Return 30 s of a robot in the usual setting, seed 3; for all tests that only read it."""
    return record(RunSetting(), 3, 30.0)


def driver(setting: RunSetting, robot: Robot, seed: int) -> tuple[GuardedPrbs, Actuator, Encoders]:
    """Return excitation, actuator and encoders of a run."""
    return (
        prbs_of(robot, seed),
        _WiredActuator(setting, robot.limits.torque, seed),
        Encoders(setting.counts, setting.period, seed),
    )


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
    speeds = (after[0] - before[0]) / period, (after[1] - before[1]) / period
    left, right = source.torque(Motion(wheel_speeds=speeds))
    return left, left if setting.straight else right


def make_run(robot: Robot, k: DynamicParameters, samples: list[JointSample]) -> RecordedRun:
    """Return the samples with the known data of their robot."""
    return RecordedRun(samples, np.array(k), robot.geometry, motion_scale(robot))


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
    batch = record_batch(
        [replace(robot, encoder=replace(robot.encoder, counts=setting.counts))] * count,
        seeds,
        seconds,
        torque_noise=setting.noise,
        torque_delay=setting.delay,
        period=setting.period,
    )
    k = closed_form(robot.model)
    return [make_run(robot, k, batch.samples(index)) for index in range(count)]
