# SPDX-License-Identifier: Apache-2.0
"""What each wheel and each caster of a robot at rest carries.

Three supports share a weight in one way only. Where more casters than one touch the ground, those
of the side to which the robot leans carry equal parts: which of them carries more depends on how
the floor and the casters give, and that no robot file says.
"""

from __future__ import annotations

from typing import NamedTuple

from diffbot_description.robot import Robot

GRAVITY = 9.81
"""m/s^2."""
# Casters whose clearance makes the robot lean by so little more than the first, rad, touch too.
SAME_LEAN = 1e-6


class GroundLoads(NamedTuple):
    """Normal forces of the ground, N.

    Attributes:
        wheels: (left, right).
        casters: of each caster, in the order of the robot file; 0 for those in the air.
    """

    wheels: tuple[float, float]
    casters: tuple[float, ...]


def ground_loads(robot: Robot, mass: float = 0.0, x: float = 0.0) -> GroundLoads:
    """Loads of a robot at rest on level ground.

    Args:
        robot: its masses and casters.
        mass: of a payload on the middle line, kg, >= 0.
        x: of the payload, m ahead of the axle.
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
    # Moments about the middle line.
    shift = carried * side / robot.wheels.separation
    half = 0.5 * (weight - carried)
    loads = [0.0] * len(robot.casters)
    for i in touching:
        loads[i] = carried / len(touching)
    return GroundLoads((half - shift, half + shift), tuple(loads))


def _touching(robot: Robot, moment: float) -> list[int]:
    """Indices of the casters on which a robot leans that its weight's moment (N m) turns."""
    if moment == 0.0:
        return []
    leans = {
        i: caster.clearance / abs(caster.x)
        for i, caster in enumerate(robot.casters)
        if caster.x * moment > 0.0
    }
    least = min(leans.values(), default=0.0)
    return [i for i, lean in leans.items() if lean <= least + SAME_LEAN]
