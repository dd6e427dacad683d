#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Friction in the engines compared with the robot file: coast-down, breakaway, steady speed.

A robot of 27 kg drives straight, both wheels with the same friction, in steps of 1 ms. The
reference is its equation of motion M_e v' = 2 (tau - T_f(v / r)) / r - drag, integrated by SciPy;
T_f is derived here independently of the suite's law. All figures are errors of the acting friction,
in % of the specified one, except for the last two:

    coast +, -    no torque for 0.25 s from 1 m/s, forward and backward
    stop          distance from 1 m/s to rest without torque
    start +, -    torque 5 % above breakaway for 0.4 s from rest, forward and backward
    steady        friction torque at five speeds in ascending order, 0.1 s each: the worst
    creep         fastest wheel under 99.9 % of the breakaway torque, after 1 s, rad/s
    rest          fastest wheel in 0.5 s after the stop, rad/s: a chattering wheel is not at rest

The cases:

    coulomb       0.325 N m and 0.055 N m s/rad
    dry           only 0.325 N m
    direction     0.35 N m forward, 0.20 N m backward
    static        0.45 N m at rest, falling to 0.30 N m over 0.3 rad/s
    rolling       a rolling resistance of 0.02
    caster        casters that drag with a coefficient of 0.2
    gears         as coulomb, and gears that lose 0.2 of the torque

    ./diffbot python benchmarks/friction.py [--engines ideal mujoco gazebo]
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from benchmark_tables import options
from scipy.integrate import solve_ivp

from diffbot_description import Robot, load_robot
from diffbot_sim.engines import make_simulator
from diffbot_sim.simulator import Simulator

ROBOT = Path(__file__).parent / "robots" / "carrier27.yaml"
STEP = 0.001  # s
GRAVITY = 9.81  # m/s^2
FAST = 1.0  # m/s
SIGNS = {"+": 1.0, "-": -1.0}
CHECKS = ("coast +", "coast -", "stop", "start +", "start -", "steady", "creep", "rest")


@dataclass(frozen=True)
class Case:
    """Friction of both wheels, none by default; SI units, as in a robot file."""

    viscous: float = 0.0
    coulomb: float = 0.0
    backward: float | None = None
    static: float | None = None
    width: float = 1.0
    rolling: float = 0.0
    caster: float = 0.0
    gear_loss: float = 0.0

    def changes(self) -> dict[str, Any]:
        """Return sections of a robot file."""
        friction: dict[str, Any] = {
            "viscous": [self.viscous] * 2,
            "coulomb": [self.coulomb] * 2,
            "rolling_resistance": self.rolling,
            "gear_loss": [self.gear_loss] * 2,
        }
        if self.backward is not None:
            friction["coulomb_backward"] = [self.backward] * 2
        if self.static is not None:
            friction |= {"static": [self.static] * 2, "stribeck_velocity": [self.width] * 2}
        return {"friction": friction}


CASES = {
    "coulomb": Case(viscous=0.055, coulomb=0.325),
    "dry": Case(coulomb=0.325),
    "direction": Case(viscous=0.055, coulomb=0.35, backward=0.20),
    "static": Case(viscous=0.055, coulomb=0.30, static=0.45, width=0.3),
    "rolling": Case(viscous=0.055, rolling=0.02),
    "caster": Case(caster=0.2),
    "gears": Case(viscous=0.055, coulomb=0.325, gear_loss=0.2),
}


class Reference:
    """The straight run of a robot whose two wheels have the friction of a case.

    Args:
        robot: Masses and dimensions.
        case: Friction.
    """

    def __init__(self, robot: Robot, case: Case) -> None:
        self._case = case
        self.radius = robot.wheels.radius
        self.mass = robot.model.equivalent_mass
        body, wheels = robot.body, robot.wheels
        lever = abs(robot.casters[0].x)
        moment = body.mass * body.center_of_mass.x
        weight = GRAVITY * (body.mass + 2 * wheels.mass)
        on_casters = GRAVITY * abs(moment) / lever
        self._rolling = case.rolling * self.radius * 0.5 * (weight - on_casters)
        self._drag = case.caster * on_casters

    def friction(self, speed: float, sign: float) -> float:
        """Return |T_f|, N m, of a wheel without torque at a speed (rad/s) in a direction."""
        case = self._case
        sliding = case.coulomb
        if sign < 0.0 and case.backward is not None:
            sliding = case.backward
        above = 0.0 if case.static is None else case.static - sliding
        dry = sliding + above * math.exp(-((speed / case.width) ** 2))
        return dry + self._rolling + case.viscous * abs(speed)

    def torque(self, output: float, speed: float, sign: float) -> float:
        """Return |torque|, N m, with which `output` remains to speed a wheel up.

        What the gears leave of it, the share 1 - gear_loss, is `output` and the friction.
        """
        return (output + self.friction(speed, sign)) / (1.0 - self._case.gear_loss)

    def braking(self, speed: float, sign: float) -> float:
        """Return the deceleration without torque, m/s^2."""
        return (
            2.0 * self.friction(speed / self.radius, sign) / self.radius + self._drag
        ) / self.mass

    def after(self, speed: float, torque: float, sign: float, time: float) -> float:
        """Return the speed (m/s) after a time (s) with a torque per wheel (N m)."""
        efficiency = 1.0 - self._case.gear_loss * math.copysign(1.0, torque * sign)

        def rate(_: float, v: Any) -> list[float]:
            push = 2.0 * efficiency * torque / (self.radius * self.mass)
            return [push - sign * self.braking(v[0], sign)]

        return float(solve_ivp(rate, (0.0, time), [speed], rtol=1e-11, atol=1e-13).y[0, -1])

    def distance_to_rest(self, speed: float) -> float:
        """Return the distance to rest (m) without torque; the integral of v / braking(v)."""

        def rate(v: float, _: Any) -> list[float]:
            return [v / self.braking(v, 1.0)]

        return float(solve_ivp(rate, (0.0, speed), [0.0], rtol=1e-11, atol=1e-13).y[0, -1])

    def torque_of(self, change: float, time: float) -> float:
        """Return the torque per wheel (N m) for a change of speed (m/s) in a time (s)."""
        return 0.5 * change * self.radius * self.mass / time


def variant(case: Case, folder: Path) -> Robot:
    """Write the robot's file with the friction of a case."""
    data = yaml.safe_load(ROBOT.read_text(encoding="utf-8")) | case.changes()
    data["contact"]["caster_friction"] = case.caster
    file = folder / "robot.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    return load_robot(file)


def run(sim: Simulator, torque: float, time: float) -> float:
    """Step for a time (s) with a torque on both wheels (N m); return the final speed, m/s."""
    for _ in range(round(time / STEP)):
        sim.step((torque, torque), STEP)
    return sim.velocity()[0]


def speed_up(sim: Simulator, reference: Reference, speed: float) -> float:
    """Accelerate from rest to about a speed (m/s) in 0.5 s; return the speed."""
    sim.reset()
    sign = math.copysign(1.0, speed)
    push = reference.torque_of(abs(speed), 0.5)
    while abs(sim.velocity()[0]) < abs(speed):
        v = sim.velocity()[0]
        run(sim, sign * reference.torque(push, v / reference.radius, sign), 0.01)
        push = max(push, 0.05)
    # Let the contacts settle.
    v = sim.velocity()[0]
    return run(sim, sign * reference.torque(0.0, v / reference.radius, sign), 0.2)


def rest(sim: Simulator) -> None:
    """Put the robot down and let its contacts settle."""
    sim.reset()
    run(sim, 0.0, 0.3)


def coast(sim: Simulator, reference: Reference, sign: float) -> float:
    """Return the error of the friction in a coast-down, %."""
    time = 0.25
    before = speed_up(sim, reference, sign * FAST)
    result, expected = run(sim, 0.0, time), reference.after(before, 0.0, sign, time)
    return 100.0 * (expected - result) / (before - expected)


def stop(sim: Simulator, reference: Reference) -> tuple[float, float]:
    """Return the error of the distance to rest, %, and the fastest wheel after it, rad/s."""
    before, start = speed_up(sim, reference, FAST), sim.pose()[0]
    expected = reference.distance_to_rest(before)
    while sim.velocity()[0] > 1e-4:
        run(sim, 0.0, STEP)
    run(sim, 0.0, 0.1)
    result = sim.pose()[0] - start
    fastest = 0.0
    for _ in range(500):
        run(sim, 0.0, STEP)
        fastest = max(fastest, *map(abs, sim.wheel_velocities()))
    return 100.0 * (expected / result - 1.0), fastest


def start(sim: Simulator, reference: Reference, sign: float) -> float:
    """Return the error of the friction at the start, % of the breakaway torque."""
    breakaway = reference.torque(0.0, 0.0, sign)
    time, torque = 0.4, 1.05 * breakaway
    rest(sim)
    result, expected = (
        run(sim, sign * torque, time),
        reference.after(0.0, sign * torque, sign, time),
    )
    return 100.0 * sign * reference.torque_of(expected - result, time) / breakaway


def steady(sim: Simulator, reference: Reference) -> float:
    """Return the largest error of the friction at a constant speed, %."""
    time, errors = 0.1, []
    for speed in (0.01, 0.02, 0.05, 0.2, 0.6):
        before = speed_up(sim, reference, speed)
        torque = reference.torque(0.0, before / reference.radius, 1.0)
        lost = reference.torque_of(before - run(sim, torque, time), time)
        errors.append(100.0 * lost / torque)
    return max(errors, key=abs)


def creep(sim: Simulator, reference: Reference) -> float:
    """Return the fastest wheel (rad/s) in the last 0.1 s of 1 s just below breakaway."""
    fastest = 0.0
    for sign in SIGNS.values():
        rest(sim)
        torque = sign * 0.999 * reference.torque(0.0, 0.0, sign)
        # Increase slowly: a torque step makes the body pitch, which turns the wheels.
        for fraction in range(1, 501):
            run(sim, torque * fraction / 500, STEP)
        run(sim, torque, 0.9)
        for _ in range(100):
            run(sim, torque, STEP)
            fastest = max(fastest, *map(abs, sim.wheel_velocities()))
    return fastest


def check(engine: str, case: Case) -> dict[str, float]:
    """Return the errors of an engine by name of the check; see the module docstring."""
    with tempfile.TemporaryDirectory() as folder:
        robot = variant(case, Path(folder))
        reference = Reference(robot, case)
        sim = make_simulator(engine, robot)
        try:
            direction, speed = stop(sim, reference)
            results = {"stop": direction, "rest": speed}
            results |= {
                f"coast {name}": coast(sim, reference, sign) for name, sign in SIGNS.items()
            }
            # Dragging casters act at the ground, so that the wheels have no breakaway torque to
            # check.
            if case.caster == 0.0:
                results |= {
                    f"start {name}": start(sim, reference, sign) for name, sign in SIGNS.items()
                }
                results |= {"steady": steady(sim, reference), "creep": creep(sim, reference)}
        finally:
            sim.close()
    return results


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--engines", nargs="+", default=["ideal", "mujoco", "gazebo"])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    arguments = parser.parse_args()
    print(f"{'engine':8}{'case':11}" + "".join(f"{name:>10}" for name in CHECKS))
    for engine in arguments.engines:
        for name in arguments.cases:
            result = check(engine, CASES[name])
            shown = (_cell(check_name, result.get(check_name)) for check_name in CHECKS)
            print(f"{engine:8}{name:11}" + "".join(shown), flush=True)


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return f"{'-':>10}"
    return f"{value:10.1e}" if name in ("creep", "rest") else f"{value:10.4f}"


if __name__ == "__main__":
    main()
