# SPDX-License-Identifier: Apache-2.0
"""Load on each wheel and each caster of a robot at rest.

Casters that touch on the side to which the robot leans are assumed to carry equal parts.
"""

from __future__ import annotations

from typing import NamedTuple

from diffbot_description.robot import Robot

GRAVITY = 9.81
"""Acceleration of gravity, m/s^2."""
# Difference of lean angles of casters that touch together, rad.
SAME_LEAN = 1e-6


class GroundLoads(NamedTuple):
    """Normal forces, N, on the wheels (left, right) and on each caster, 0 for those in the air."""

    wheels: tuple[float, float]
    casters: tuple[float, ...]


def ground_loads(robot: Robot, mass: float = 0.0, x: float = 0.0) -> GroundLoads:
    """Return the loads of a robot at rest with a payload, kg, on its centre line, x m ahead."""
    body = robot.body
    weight = GRAVITY * (body.mass + 2.0 * robot.wheels.mass + mass)
    moment = GRAVITY * (body.mass * body.center_of_mass.x + mass * x)
    touching = _touching(robot, moment)
    carried = 0.0
    side = 0.0
    if touching:
        casters = [robot.casters[i] for i in touching]
        carried = moment / (sum(caster.x for caster in casters) / len(casters))
        side = sum(caster.y for caster in casters) / len(casters)
    shift = carried * side / robot.wheels.separation
    half = 0.5 * (weight - carried)
    loads = [0.0] * len(robot.casters)
    for i in touching:
        loads[i] = carried / len(touching)
    return GroundLoads((half - shift, half + shift), tuple(loads))


def _touching(robot: Robot, moment: float) -> list[int]:
    """Return the indices of the casters onto which the moment (N m) of the weight tips a robot."""
    if moment == 0.0:
        return []
    leans = {
        i: caster.clearance / abs(caster.x)
        for i, caster in enumerate(robot.casters)
        if caster.x * moment > 0.0
    }
    least = min(leans.values(), default=0.0)
    return [i for i, lean in leans.items() if lean <= least + SAME_LEAN]
