# SPDX-License-Identifier: Apache-2.0
"""Runs of random robots, also with effects that viscous and Coulomb friction cannot explain."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from arc_odometry import JointSample
from diffbot_description.robot import Turning
from diffbot_sim.engines import make_simulator
from diffbot_sim.simulator import Simulator
from diffbot_sim.sloped_floor import SlopedFloor
from diffbot_sim.virtual_robot import Actuator, Encoders
from diffbot_study.random_robots import RandomRobot
from diffbot_study.recorded_runs import prbs_of
from made_recordings.excited_runs import RecordedRun, make_run

UNMODELLED = ("stribeck", "direction", "caster", "slope")
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
            engines with casters; "slope", a floor with a slope of 0.2 to 3 degrees.

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
        slope = math.exp(generator.uniform(math.log(0.2), math.log(3.0)))
        return replace(drawn, slope=slope, downhill=float(generator.uniform(-180.0, 180.0)))
    else:
        raise ValueError(f"unmodelled effect = {name!r}: must be one of {', '.join(UNMODELLED)}")
    return replace(drawn, robot=replace(robot, friction=friction))


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
    source = prbs_of(robot, seed)
    motors = _DelayedMotors(Actuator(robot.limits.torque, 0, drawn.noise, seed), drawn.delay)
    floor = SlopedFloor(robot, drawn.slope, drawn.downhill)
    encoders = Encoders(robot.encoder.counts, period, seed)
    position, velocity = encoders.read(engine.wheel_angles(), engine.wheel_velocities())
    samples = [JointSample(0.0, position, velocity, (0.0, 0.0))]
    speeds = (0.0, 0.0)
    for step in range(1, round(seconds / period) + 1):
        reported = motors.drive(partial(floor.step, engine), source.torque(speeds), period)
        position, velocity = encoders.read(engine.wheel_angles(), engine.wheel_velocities())
        samples.append(JointSample(step * period, position, velocity, reported))
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
