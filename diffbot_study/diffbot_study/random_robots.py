# SPDX-License-Identifier: Apache-2.0
"""Robots, sensors and motors drawn at random, and runs of them: for ensembles over robots.

`draw` returns a robot of 0.5 to 500 kg that passes every check of the schema, together with what is
not part of a robot file: control period, torque noise and torque delay. Its proportions are those
of robots that do not tip over: the track grows with the mass, casters support the side of the
centre of mass, and the excitation accelerates by 0.8 to 2 m/s^2.

Drawn quantities, uniform unless noted otherwise:

    mass 0.5 to 500 kg (logarithmic); wheels 2 to 30 cm; centre of mass 0.1 to 0.75 of half the
    track ahead of the axle or behind it, and at least what keeps the casters on the floor
    (CASTERS_STAY: one robot in 60); Coulomb friction up to 0.4 of the excitation's amplitude,
    viscous up to a tenth of the amplitude per top speed; 500 to 16384 counts and periods of 2 to
    40 ms (logarithmic); torque delay zero, whole or fractional, up to 3.5 periods; torque noise 1
    to 5 %.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arc_odometry import JointSample
from diffbot_description import Robot, load_robot, save_robot
from diffbot_description.loading import robot_from
from diffbot_description.robot import Friction, Turning
from diffbot_sim.engines import make_simulator
from diffbot_sim.engines.ideal import IdealSimulator
from diffbot_sim.simulator import Simulator
from diffbot_sim.sloped_floor import SlopedFloor
from diffbot_sim.virtual_robot import Actuator, Encoders
from diffbot_study.recorded_runs import RecordedRun, make_run, prbs_of

GRAVITY = 9.81  # m/s^2
CASTERS_STAY = 1.1
"""Minimum of the weight's moment about the axle over the moment that can lift the casters: when
casters fall back on a rigid floor, they throw the wheels off it, which then spin."""
LONGEST_PART = 2e-3
"""Time for which a torque that depends on the wheels' angles is held, s."""
MILLISECOND = 1e-3
"""Control periods and delays are whole multiples of it (s), like the engines' inner steps."""


UNMODELLED = ("stribeck", "direction", "caster", "slope", "eccentric", "unbalanced", "drift")
"""Effects beyond viscous and Coulomb friction; see RandomRobot.with_unmodelled_effect."""


@dataclass(frozen=True)
class OncePerTurn:
    """What varies once per turn of the wheels, amplitude sin(angle + phase).

    Attributes:
        amplitudes: Of the wheels [left, right].
        phases: Of the wheels, rad.
    """

    amplitudes: tuple[float, float]
    phases: tuple[float, float]

    def added(
        self, values: tuple[float, float], angles: tuple[float, float]
    ) -> tuple[float, float]:
        """Add it to values of the wheels, which are at these angles, rad."""
        left, right = (
            value + amplitude * math.sin(angle + phase)
            for value, amplitude, angle, phase in zip(
                values, self.amplitudes, angles, self.phases, strict=True
            )
        )
        return left, right


NOTHING_PER_TURN = OncePerTurn((0.0, 0.0), (0.0, 0.0))


@dataclass(frozen=True)
class RandomRobot:
    """A random robot with its sensors and motors.

    Attributes:
        robot: The robot, which passes all checks of the schema; its path is a file only if
            `written`.
        seed: Seed of the robot; also of excitation, noise and encoders in `record_random`.
        period: Control period, s.
        delay: Control periods between a torque's command and its action, 0 to 3.5.
        noise: Standard deviation of the acting torque as a fraction of it.
        slope: Slope of the floor, degrees.
        downhill: Direction in which it falls, degrees from the robot's first heading.
        eccentric: Errors of the encoders, rad.
        unbalanced: Torques on the wheels that are not reported, N m.
        warming: Share of its friction that the robot loses in the long run.
        warming_time: Time constant of that, s.
    """

    robot: Robot
    seed: int
    period: float
    delay: float
    noise: float
    slope: float = 0.0
    downhill: float = 0.0
    eccentric: OncePerTurn = NOTHING_PER_TURN
    unbalanced: OncePerTurn = NOTHING_PER_TURN
    warming: float = 0.0
    warming_time: float = 20.0

    def friction_at(self, time: float) -> Friction:
        """Return the friction of the wheels at this time, s."""
        own = self.robot.friction
        left = 1.0 - self.warming * (1.0 - math.exp(-time / self.warming_time))
        (a, b), (c, d) = own.viscous, own.coulomb
        return replace(own, viscous=(left * a, left * b), coulomb=(left * c, left * d))

    def written(self, folder: Path) -> RandomRobot:
        """Write the robot to a file in this folder; return it as read from the file."""
        path = save_robot(self.robot, folder / f"random_{self.seed}.yaml")
        return replace(self, robot=load_robot(path))

    def without_friction(self) -> RandomRobot:
        """Return the same robot with frictionless wheels."""
        free = replace(self.robot.friction, viscous=(0.0, 0.0), coulomb=(0.0, 0.0))
        return replace(self, robot=replace(self.robot, friction=free))

    def with_unmodelled_effect(self, name: str) -> RandomRobot:
        """Return the same robot with an effect that viscous and Coulomb friction cannot explain.

        Args:
            name: One of UNMODELLED: "stribeck", a breakaway torque of 1.5 times the Coulomb
                friction that falls off within 5 % of the top speed; "direction", Coulomb friction
                30 % less backward; "caster", casters that drag with a coefficient of 0.02, for
                engines with casters; "slope", a floor with a slope of 0.2 to 3 degrees;
                "eccentric", encoders that err by 0.1 to 1 degree once per turn; "unbalanced",
                wheels on which torques of 1 to 10 % of the excitation's amplitude act once per
                turn; "drift", friction that falls by 10 to 40 % with a time constant of 5 to 60 s,
                on the ideal engine.

        Raises:
            ValueError: There is no such kind.
        """
        robot = self.robot
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
            return replace(self, robot=replace(robot, contact=contact))
        elif name == "slope":
            generator = np.random.default_rng([self.seed, 4])
            slope = _logarithmic(generator, 0.2, 3.0)
            return replace(self, slope=slope, downhill=float(generator.uniform(-180.0, 180.0)))
        elif name == "eccentric":
            return replace(self, eccentric=self._once_per_turn(math.radians(1.0)))
        elif name == "unbalanced":
            return replace(self, unbalanced=self._once_per_turn(0.1 * robot.excitation.amplitude))
        elif name == "drift":
            generator = np.random.default_rng([self.seed, 6])
            share = float(generator.uniform(0.1, 0.4))
            return replace(self, warming=share, warming_time=_logarithmic(generator, 5.0, 60.0))
        else:
            raise ValueError(
                f"unmodelled effect = {name!r}: must be one of {', '.join(UNMODELLED)}"
            )
        return replace(self, robot=replace(robot, friction=friction))

    def _once_per_turn(self, most: float) -> OncePerTurn:
        """Return one of a tenth of an amplitude up to all of it."""
        generator = np.random.default_rng([self.seed, 5])
        left, right = (_logarithmic(generator, 0.1 * most, most) for _ in range(2))
        first, second = generator.uniform(-math.pi, math.pi, 2).tolist()
        return OncePerTurn((left, right), (first, second))

    def with_turning(self, folder: Path | None = None) -> RandomRobot:
        """Return the same robot with skid steering: the floor resists its turning.

        The constant part is up to 0.3 of the maximum moment of the excitation; the viscous part is
        up to as much at the maximum yaw rate.

        Args:
            folder: Folder to which its file is written; None: no file.
        """
        uniform = np.random.default_rng([self.seed, 3]).uniform
        robot = self.robot
        own, wheels = robot.excitation, robot.wheels
        moment = 2.0 * own.amplitude * wheels.half_track / wheels.radius
        turning = Turning(
            viscous=float(uniform(0.0, 0.3)) * moment / own.angular_velocity,
            coulomb=float(uniform(0.0, 0.3)) * moment,
        )
        turned = replace(self, robot=replace(robot, turning=turning))
        return turned if folder is None else turned.written(folder)


def draw(seed: int) -> RandomRobot:
    """Return the robot of this seed, >= 0."""
    generator = np.random.default_rng([seed, 1])
    robot = robot_from(_robot_data(seed), Path(f"random_{seed}.yaml"))
    period = _period(seed)
    steps = round(period / MILLISECOND)
    kind = generator.integers(3)
    if kind == 0:
        delay = 0.0
    elif kind == 1:
        delay = float(generator.integers(1, 4))
    else:
        delay = round(generator.uniform(0.0, 3.5) * steps) / steps
    return RandomRobot(robot, seed, period, delay, float(generator.uniform(0.01, 0.05)))


def _period(seed: int) -> float:
    generator = np.random.default_rng([seed, 2])
    return MILLISECOND * round(_logarithmic(generator, 2.0, 40.0))


def _logarithmic(generator: np.random.Generator, low: float, high: float) -> float:
    return math.exp(generator.uniform(math.log(low), math.log(high)))


def _robot_data(seed: int) -> dict[str, Any]:
    """Return the content of the robot file of this seed."""
    generator = np.random.default_rng([seed, 0])
    uniform = generator.uniform
    mass = _logarithmic(generator, 0.5, 500.0)
    # twil and agv lie on this curve of track over mass.
    track = 0.27 * (mass / 4.7) ** 0.28 * math.exp(uniform(-0.25, 0.25))
    radius = min(max(track * uniform(0.1, 0.33), 0.02), 0.3)
    wheels = _wheels(generator, mass, radius, track)
    width = wheels["width"]
    side = float(generator.choice([-1.0, 1.0]))
    ahead = uniform(0.1, 0.75) * 0.5 * track
    half_length = track * uniform(0.5, 0.8)
    bottom, body_width = 0.4 * radius, track - 1.5 * width
    height = max(radius, 0.15 * track) * uniform(0.8, 1.2)
    spread = uniform(0.7, 1.1)
    limits, excitation = _limits(generator, mass, radius, track, _period(seed))
    top_speed = excitation["linear_velocity"] / radius
    amplitude = excitation["amplitude"]
    coulomb = uniform(0.0, 0.4) * uniform(0.7, 1.0, 2)
    viscous = uniform(0.0, 0.1) * uniform(0.7, 1.0, 2)
    body_mass = mass - 2.0 * wheels["mass"]
    # While braking, both wheels' torque and friction tilt the body, as does its inertia above the
    # axle.
    turning = amplitude * (2.0 + float(np.sum(coulomb) + np.sum(viscous)))
    turning *= 1.0 + body_mass / mass * (height - radius) / radius
    ahead = side * max(ahead, CASTERS_STAY * turning / (body_mass * GRAVITY))
    body = _body((body_mass, ahead, height), (half_length, body_width, bottom), spread)
    near, far = ahead + side * 0.7 * half_length, -side * 0.6 * half_length
    caster = {"radius": 0.3 * radius, "y": 0.3 * body_width}
    return {
        "name": f"random_{seed}",
        "wheels": wheels,
        "body": body,
        "casters": [
            {**caster, "x": near, "clearance": 0.0},
            {**caster, "x": near, "y": -caster["y"], "clearance": 0.0},
            {**caster, "x": far, "y": 0.0, "clearance": 0.02 * radius},
        ],
        "joints": {"left": "left_wheel_joint", "right": "right_wheel_joint"},
        "friction": {
            "viscous": (amplitude / top_speed * viscous).tolist(),
            "coulomb": (amplitude * coulomb).tolist(),
        },
        "limits": limits,
        "excitation": excitation,
        "encoder": {"counts": round(_logarithmic(generator, 500.0, 16384.0))},
        "contact": {
            "stiffness": 2e6 * mass,
            "damping": 1e3,
            "wheel_friction": 10.0,
            "caster_friction": 0.0,
        },
        "appearance": {"body": [0.5, 0.5, 0.5], "accent": [0.2, 0.6, 0.9]},
    }


def _wheels(
    generator: np.random.Generator, mass: float, radius: float, track: float
) -> dict[str, float]:
    wheel_mass = mass * generator.uniform(0.02, 0.08)
    width = min(radius * generator.uniform(0.2, 0.5), 0.2 * track)
    spin = generator.uniform(0.5, 0.8) * wheel_mass * radius**2
    return {
        "radius": radius,
        "separation": track,
        "width": width,
        "mass": wheel_mass,
        "inertia_spin": spin,
        "inertia_yaw": 0.5 * spin + wheel_mass * width**2 / 12.0,
    }


def _body(
    body: tuple[float, float, float], box: tuple[float, float, float], spread: float
) -> dict[str, Any]:
    """Body: mass, x and z of its centre; box: half length, width, bottom; spread: of inertia."""
    mass, ahead, height = body
    half_length, width, bottom = box
    tall = 2.0 * (height - bottom) + 0.2 * height
    length = 2.0 * half_length
    return {
        "mass": mass,
        "center_of_mass": {"x": ahead, "z": height},
        "inertia": {
            "roll": spread * mass * (width**2 + tall**2) / 12.0,
            "pitch": spread * mass * (length**2 + tall**2) / 12.0,
            "yaw": spread * mass * (length**2 + width**2) / 12.0,
        },
        "shape": {
            "front": ahead + half_length,
            "rear": ahead - half_length,
            "width": width,
            "bottom": bottom,
            "top": bottom + tall,
        },
    }


def _limits(
    generator: np.random.Generator, mass: float, radius: float, track: float, period: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Return limits and excitation with accelerations at which no wheel slips or lifts."""
    amplitude = 0.5 * mass * radius * generator.uniform(0.8, 2.0)
    velocity = min(generator.uniform(0.6, 1.3) * math.sqrt(track / 0.27), 2.0)
    yaw_rate = velocity / (0.5 * track) * generator.uniform(0.7, 1.2)
    limits = {
        "torque": 4.0 * amplitude,
        "traction": 1.5 * amplitude,
        "torque_rate": 2000.0 * amplitude,
        "linear_velocity": 1.5 * velocity,
        "angular_velocity": 1.5 * yaw_rate,
    }
    excitation = {
        "amplitude": amplitude,
        # A bit lasts 0.12 to 0.3 s, as with the provided robots.
        "hold": max(3, round(generator.uniform(0.12, 0.3) / period)),
        "register": 10,
        "linear_velocity": velocity,
        "angular_velocity": yaw_rate,
    }
    return limits, excitation


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
    for count in range(1, round(seconds / period) + 1):
        if drawn.warming:
            if not isinstance(engine, IdealSimulator):
                raise ValueError("only the engine ideal has friction that drifts")
            engine.set_friction(drawn.friction_at(count * period))
        reported = motors.drive(step, source.torque(speeds), period)
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
