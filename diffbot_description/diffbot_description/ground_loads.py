# SPDX-License-Identifier: Apache-2.0
"""Load on each wheel and each caster of a robot at rest.

Three supports share a weight in one way only. Where more than one caster touches the ground, those
on the side to which the robot leans are assumed to carry equal parts: the true distribution depends
on the compliance of floor and casters, which a robot file does not specify.
"""

from __future__ import annotations

from typing import NamedTuple

from diffbot_description.robot import Robot

GRAVITY = 9.81
"""Acceleration of gravity, m/s^2."""
# Casters touch the ground together if their lean angles differ by at most this, rad.
SAME_LEAN = 1e-6


class GroundLoads(NamedTuple):
    """Normal forces of the ground, N.

    Attributes:
        wheels: Forces on the wheels (left, right).
        casters: Force on each caster, in the order of the robot file; 0 for those in the air.
    """

    wheels: tuple[float, float]
    casters: tuple[float, ...]


def ground_loads(robot: Robot, mass: float = 0.0, x: float = 0.0) -> GroundLoads:
    """Return the loads of a robot at rest on level ground.

    Args:
        robot: Robot with its masses and casters.
        mass: Mass of a payload on the centre line, kg, >= 0.
        x: Position of the payload, m ahead of the axle.
    """
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
    # Balance of moments about the centre line.
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
