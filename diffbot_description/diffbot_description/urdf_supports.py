# SPDX-License-Identifier: Apache-2.0
"""Detection of the casters of a URDF: parts other than the wheels that touch the ground.

A caster's lowest point is at the height of the wheels', or its name indicates one. All casters
together must support the centre of mass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from diffbot_description.ground_loads import GRAVITY
from diffbot_description.urdf_shapes import Shape, ShapeReader
from diffbot_description.urdf_tree import Array, PlacedLink

CALLED = re.compile(r"cast[eo]r|ball|omni|support|slider|skid_?pad|idler|swivel|wheel", re.I)
# Largest gap to the ground of other and of named casters, as shares of the wheels' radius.
GAP = 0.06
NAMED_GAP = 0.4
ON_AXLE = 0.25  # shapes closer to the axle are no casters, as a share of the wheels' radius
LEVEL = 1e-3  # gaps up to this count as none, m
_HULL_FRACTION = 0.9  # position of an added caster, as a share of the distance to the hull's end


@dataclass(frozen=True)
class Support:
    """A caster, relative to the axle's midpoint on the ground; `source` states its origin."""

    x: float
    y: float
    radius: float
    clearance: float
    source: str


def find_supports(
    links: Sequence[PlacedLink], shapes: ShapeReader, middle: Array, wheel_radius: float
) -> list[Support]:
    """Return the casters among the links of the body, as given in the URDF.

    `middle`: midpoint (3,) of the axle, in the root link's frame, m.
    """
    supports: list[Support] = []
    for link in links:
        named = CALLED.search(link.name) is not None
        for shape in shapes.all_shapes([link]):
            support = _support(shape, named, middle, wheel_radius)
            if support is not None:
                supports.append(support)
    supports.sort(key=lambda support: support.clearance)
    kept: list[Support] = []
    for support in supports:  # a fork beside its roller is the same caster
        if all(_apart(support, other) for other in kept):
            kept.append(support)
    return kept


def _support(shape: Shape, named: bool, middle: Array, wheel_radius: float) -> Support | None:
    low, high = shape.corners
    gap = float(low[2] - (middle[2] - wheel_radius))
    round_one = shape.kind in ("sphere", "cylinder")
    near = NAMED_GAP if named else GAP if round_one else 0.0
    if abs(gap) > near * wheel_radius:
        return None
    height = float(high[2] - low[2])
    radius = float(shape.half[0]) if shape.kind == "sphere" else height / 2
    if not named and radius > 1.2 * wheel_radius:
        return None  # a round hull close to the ground
    x, y = (float(f"{value:.5f}") for value in (shape.center - middle)[:2])
    if abs(x) < ON_AXLE * wheel_radius:
        return None  # next to the wheels it carries no load
    return Support(x, y, radius, gap, f"{shape.role} {shape.kind} of link '{shape.link}'")


def _apart(one: Support, other: Support) -> bool:
    return max(abs(one.x - other.x), abs(one.y - other.y)) > one.radius + other.radius


def standing(
    supports: Sequence[Support],
    com: tuple[float, float],
    hull: tuple[float, float],
    wheel_radius: float,
    acceleration: float,
) -> Stand:
    """Return the casters on which the robot stands level.

    Those on the side of the centre of mass stand on the ground, those on the other side slightly
    above it, so that it is defined which ones carry. If the robot would rock whenever it
    accelerates, all casters stand on the ground.

    Args:
        com: Centre of mass of the whole robot, m ahead of the axle and above the ground.
        hull: Rear and front of the body, m.
        acceleration: With which the robot is driven, m/s^2.
    """
    com_x, height = com
    ahead = com_x >= 0
    stand = Stand(rocks=abs(com_x) < height * acceleration / GRAVITY)
    carrying: list[Support] = []
    others: list[Support] = []
    for support in supports:
        mine = (support.x > 0) == ahead
        level = mine or stand.rocks
        wanted = 0.0 if level else max(support.clearance, 0.001 + 0.005 * abs(support.x))
        used = replace(support, clearance=min(wanted, 0.5 * support.radius))
        (carrying if mine else others).append(used)
        stand.say(support, used)
    hanging = 0.0 if stand.rocks else 0.002
    if not any(abs(support.x) > 1.2 * abs(com_x) + LEVEL for support in carrying):
        carrying.append(_missing(ahead, hull, com_x, 0.0, wheel_radius))
        stand.added.append(_sentence(carrying[-1]))
    if not others:
        others.append(_missing(not ahead, hull, com_x, hanging, wheel_radius))
        stand.added.append(_sentence(others[-1]))
    stand.casters = [*carrying, *others]
    return stand


@dataclass
class Stand:
    """Casters on which a robot stands, with the changes to those of the URDF.

    Attributes:
        rocks: Whether the centre of mass is so close to the axle that casters on both sides carry.
        changed: Changed casters as (where, found, used).
        added: A sentence for each added caster.
    """

    rocks: bool
    casters: list[Support] = field(default_factory=list)
    changed: list[tuple[str, str, str]] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    def say(self, support: Support, used: Support) -> None:
        gap, where = support.clearance, f"caster ({support.source})"
        if used.clearance == 0.0 and abs(gap) > LEVEL:
            direction = "above" if gap > 0 else "below"
            ends = f"ends {1000 * abs(gap):.2g} mm {direction} the wheels' lowest points"
            self.changed.append((where, ends, "at their height, the robot stands on it"))
        elif used.clearance > max(gap, 0.0) + LEVEL:
            above = f"{1000 * used.clearance:.2g} mm above it, or it is chance which ones carry"
            self.changed.append((where, "stands on the ground with the others", above))


def _missing(
    ahead: bool, hull: tuple[float, float], com_x: float, clearance: float, wheel_radius: float
) -> Support:
    end = hull[1] if ahead else hull[0]
    sign = 1.0 if ahead else -1.0
    x = sign * max(_HULL_FRACTION * sign * end, wheel_radius, 1.5 * sign * com_x)
    radius = max(0.2 * wheel_radius, 2.5 * clearance, 0.005)
    return Support(x, 0.0, radius, clearance, "the URDF has none here")


def _sentence(support: Support) -> str:
    side = "front" if support.x > 0 else "rear"
    why = "the robot stands on it"
    if support.clearance > 0:
        why = f"it is {1000 * support.clearance:.2g} mm above the ground, against tipping"
    return f"casters, {side}: the URDF has none; one is put at x = {support.x:.3g} m: {why}"
