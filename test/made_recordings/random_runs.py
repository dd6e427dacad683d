# SPDX-License-Identifier: Apache-2.0
"""Runs of random robots, also with effects that viscous and Coulomb friction cannot explain."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from arc_odometry import JointSample
from diffbot_description.robot import Turning
from diffbot_ident.excitation.body_model import Motion
from diffbot_sim.engines import make_simulator
from diffbot_sim.engines.ideal import IdealSimulator
from diffbot_sim.simulator import Simulator
from diffbot_sim.virtual_robot import Actuator, Encoders, SlopedFloor
from diffbot_study.random_robots import OncePerTurn, RandomRobot
from diffbot_study.recorded_runs import prbs_of
from made_recordings.excited_runs import RecordedRun, make_run

LONGEST_PART = 2e-3
"""Time for which a torque that depends on the wheels' angles is held, s."""
WARMING_PART = 0.1
"""Time for which friction that drifts is held, s; it changes by less than 1 % in it."""
UNMODELLED = (
    "stribeck",
    "direction",
    "caster",
    "slope",
    "eccentric",
    "unbalanced",
    "drift",
    "gear",
)
"""Effects beyond viscous and Coulomb friction; see with_unmodelled_effect."""


def without_friction(drawn: RandomRobot) -> RandomRobot:
    """Return the same robot with frictionless wheels."""
    free = replace(drawn.robot.friction, viscous=(0.0, 0.0), coulomb=(0.0, 0.0))
    return replace(drawn, robot=replace(drawn.robot, friction=free))


def with_unmodelled_effect(drawn: RandomRobot, name: str) -> RandomRobot:
    """Return the same robot with an effect that viscous and Coulomb friction cannot explain.

    Args:
        name: One of UNMODELLED: "stribeck", a breakaway torque of 1.5 times the Coulomb
            friction that falls off within 5 % of the top speed; "direction", Coulomb friction
            30 % less backward; "caster", casters that drag with a coefficient of 0.02, for
            engines with casters; "slope", a floor with a slope of 0.2 to 3 degrees;
            "eccentric", encoders that err by 0.1 to 1 degree once per turn; "unbalanced",
            wheels on which torques of 1 to 10 % of the excitation's amplitude act once per
            turn; "drift", friction that falls by 10 to 40 % with a time constant of 5 to 60 s,
            on the ideal engine; "gear", gears that lose 3 to 30 % of each wheel's torque, and an
            excitation of four levels.

    Raises:
        ValueError: There is no such kind.
    """
    robot = drawn.robot
    left, right = robot.friction.coulomb
    if name == "stribeck":
        slow = 0.05 * robot.excitation.linear_velocity / robot.wheels.radius
        friction = replace(
            robot.friction, static=(1.5 * left, 1.5 * right), stribeck_velocity=(slow, slow)
        )
    elif name == "direction":
        friction = replace(robot.friction, coulomb_backward=(0.7 * left, 0.7 * right))
    elif name == "caster":
        contact = replace(robot.contact, caster_friction=0.02)
        return replace(drawn, robot=replace(robot, contact=contact))
    elif name == "slope":
        generator = np.random.default_rng([drawn.seed, 4])
        slope = _logarithmic(generator, 0.2, 3.0)
        return replace(drawn, slope=slope, downhill=float(generator.uniform(-180.0, 180.0)))
    elif name == "eccentric":
        return replace(drawn, eccentric=_once_per_turn(drawn.seed, math.radians(1.0)))
    elif name == "unbalanced":
        most = 0.1 * robot.excitation.amplitude
        return replace(drawn, unbalanced=_once_per_turn(drawn.seed, most))
    elif name == "drift":
        generator = np.random.default_rng([drawn.seed, 6])
        fraction = float(generator.uniform(0.1, 0.4))
        return replace(drawn, warming=fraction, warming_time=_logarithmic(generator, 5.0, 60.0))
    elif name == "gear":
        generator = np.random.default_rng([drawn.seed, 7])
        losses = (_logarithmic(generator, 0.03, 0.3), _logarithmic(generator, 0.03, 0.3))
        drawn, friction = replace(drawn, levels=4), replace(robot.friction, gear_loss=losses)
    else:
        raise ValueError(f"unmodelled effect = {name!r}: must be one of {', '.join(UNMODELLED)}")
    return replace(drawn, robot=replace(robot, friction=friction))


def _once_per_turn(seed: int, most: float) -> OncePerTurn:
    """Return one of a tenth of an amplitude up to all of it."""
    generator = np.random.default_rng([seed, 5])
    left, right = (_logarithmic(generator, 0.1 * most, most) for _ in range(2))
    first, second = generator.uniform(-math.pi, math.pi, 2).tolist()
    return OncePerTurn((left, right), (first, second))


def _logarithmic(generator: np.random.Generator, low: float, high: float) -> float:
    return math.exp(generator.uniform(math.log(low), math.log(high)))


def with_turning(drawn: RandomRobot, folder: Path | None = None) -> RandomRobot:
    """Return the same robot with skid steering: the floor resists its turning.

    The constant part is up to 0.3 of the maximum moment of the excitation; the viscous part is
    up to as much at the maximum yaw rate.

    Args:
        folder: Folder to which its file is written; None: no file.
    """
    uniform = np.random.default_rng([drawn.seed, 3]).uniform
    robot = drawn.robot
    own, wheels = robot.excitation, robot.wheels
    moment = 2.0 * own.amplitude * wheels.half_track / wheels.radius
    turning = Turning(
        viscous=float(uniform(0.0, 0.3)) * moment / own.angular_velocity,
        coulomb=float(uniform(0.0, 0.3)) * moment,
    )
    turned = replace(drawn, robot=replace(robot, turning=turning))
    return turned if folder is None else turned.written(folder)


def record_random(
    drawn: RandomRobot, seconds: float, engine: str | Simulator = "ideal"
) -> RecordedRun:
    """Excite a random robot at rest with guarded PRBS, as the suite does, within its limits.

    Args:
        drawn: The robot; `written` to a file for engines that need a URDF.
        seconds: Robot time, s.
        engine: Name of the engine, or one that simulates this robot, which continues from its
            current state.
    """
    if isinstance(engine, str):
        with closing(make_simulator(engine, drawn.robot)) as made:
            return record_random(drawn, seconds, made)
    robot, period, seed = drawn.robot, drawn.period, drawn.seed
    source = prbs_of(robot, seed, drawn.levels)
    motors = _DelayedMotors(Actuator(robot.limits.torque, 0, drawn.noise, seed), drawn.delay)
    floor = SlopedFloor(robot, drawn.slope, drawn.downhill)
    encoders = Encoders(robot.encoder.counts, period, seed)

    def read() -> tuple[tuple[float, float], tuple[float, float]]:
        angles = engine.wheel_angles()
        return encoders.read(drawn.eccentric.added(angles, angles), engine.wheel_velocities())

    def step(torque: tuple[float, float], duration: float) -> None:
        parts = math.ceil(duration / LONGEST_PART) if any(drawn.unbalanced.amplitudes) else 1
        for _ in range(parts):
            acting = drawn.unbalanced.added(torque, engine.wheel_angles())
            floor.step(engine, acting, duration / parts)

    position, velocity = read()
    samples = [JointSample(0.0, position, velocity, (0.0, 0.0))]
    speeds = (0.0, 0.0)
    warmer = math.ceil(WARMING_PART / period)
    for count in range(1, round(seconds / period) + 1):
        if drawn.warming and (count - 1) % warmer == 0:
            if not isinstance(engine, IdealSimulator):
                raise ValueError("only the engine ideal has friction that drifts")
            engine.set_friction(drawn.friction_at(count * period))
        reported = motors.drive(step, source.torque(Motion(wheel_speeds=speeds)), period)
        position, velocity = read()
        samples.append(JointSample(count * period, position, velocity, reported))
        before = samples[-2].position
        speeds = ((position[0] - before[0]) / period, (position[1] - before[1]) / period)
    return make_run(robot, engine.parameters(), samples)


class _DelayedMotors:
    """Motors whose torques act late by any fraction of a control period."""

    def __init__(self, actuator: Actuator, delay: float) -> None:
        self._actuator = actuator
        whole = int(delay)
        self._part = delay - whole
        self._pending = deque([(0.0, 0.0)] * (whole + 1), maxlen=whole + 2)

    def drive(
        self,
        step: Callable[[tuple[float, float], float], None],
        command: tuple[float, float],
        period: float,
    ) -> tuple[float, float]:
        """Advance an engine by its `step` for a period (s); return the reported torque, N m."""
        reported, acting = self._actuator.apply(command)
        self._pending.append(acting)
        before, now = self._pending[0], self._pending[1]
        if self._part > 0.0:
            step(before, self._part * period)
        step(now, (1.0 - self._part) * period)
        return reported
