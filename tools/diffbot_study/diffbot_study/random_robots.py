# SPDX-License-Identifier: Apache-2.0
"""Robots, sensors and motors drawn at random: for ensembles over robots.

`draw` returns a robot that passes every check of the schema, with proportions of robots that do not
tip over, and what is not part of a robot file. Drawn uniformly unless noted otherwise:

    mass 0.5 to 500 kg (logarithmic); wheels 2 to 30 cm; centre of mass 0.1 to 0.75 of half the
    track ahead of the axle or behind it, and at least what keeps the casters on the floor
    (CASTERS_STAY: one robot in 60); Coulomb friction up to 0.4 of the excitation's amplitude,
    viscous up to a tenth of the amplitude per top speed; 500 to 16384 counts and periods of 2 to
    40 ms (logarithmic); torque delay zero, whole or fractional, up to 3.5 periods; torque noise 1
    to 5 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from diffbot_description import Robot, load_robot, save_robot
from diffbot_description.ground_loads import GRAVITY
from diffbot_description.robot import Friction
from diffbot_description.robot_parsing import robot_from

CASTERS_STAY = 1.1
"""Minimum of the weight's moment about the axle over the moment that can lift the casters: when
casters fall back on a rigid floor, they throw the wheels off it, which then spin."""
MILLISECOND = 1e-3
"""Control periods and delays are whole multiples of it (s), like the engines' inner steps."""


@dataclass(frozen=True)
class OncePerTurn:
    """What varies once per turn of the wheels [left, right]: amplitude sin(angle + phase)."""

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
        seed: Seed of the robot; also of excitation, noise and encoders in its runs.
        period: Control period, s.
        delay: Control periods between a torque's command and its action, 0 to 3.5.
        noise: Standard deviation of the acting torque as a fraction of it.
        slope: Slope of the floor, degrees.
        downhill: Direction in which it falls, degrees from the robot's first heading.
        eccentric: Errors of the encoders, rad.
        unbalanced: Torques on the wheels that are not reported, N m.
        warming: Share of its friction that the robot loses in the long run.
        warming_time: Time constant of that, s.
        levels: Number of torque levels of its excitation, 2 or 4.
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
    levels: int = 2

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
