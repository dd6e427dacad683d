# SPDX-License-Identifier: Apache-2.0
"""URDF robots with several driven wheels on each side: one equivalent wheel per side.

Mass, spin inertia, torque limit and friction are sums. As the robot turns the wheels slide
sideways: a moment against turning models this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diffbot_description.findings import DescriptionFindings
from diffbot_description.ground_loads import GRAVITY
from diffbot_description.plausible_inertia import raw_body
from diffbot_description.urdf_tree import RigidBody, UrdfTree
from diffbot_description.urdf_wheels import Sides, Wheel

# Assumed sideways friction of tyres as a share of their load; the excitation must turn the robot.
SIDEWAYS = 0.05
# Words that indicate wheels or plugins of robots that move sideways.
ROLLERS = re.compile(r"mecanum|omni|sweden|roller|planar_move", re.I)


def check_slides(tree: UrdfTree, sides: Sides) -> None:
    """Raise ValueError for wheels with rollers, which roll sideways instead of sliding."""
    wheels = (*sides.left, *sides.right)
    names = [
        name
        for wheel in wheels
        for link in wheel.links
        for name in (link.name, *(mesh.get("filename", "") for mesh in link.element.iter("mesh")))
    ]
    links = {link.name for wheel in wheels for link in wheel.links}
    names += [joint.name for joint in tree.joints.values() if joint.parent in links]
    names += [plugin.get("filename", "") for plugin in tree.element.iter("plugin")]
    result = next(filter(ROLLERS.search, [*(wheel.joint.name for wheel in wheels), *names]), None)
    if result is None:
        return
    left, right = (", ".join(w.joint.name for w in side) for side in (sides.left, sides.right))
    raise ValueError(
        f"{len(wheels)} wheels drive ({sides.chosen_by}), left: {left}; right: {right}; '{result}' "
        "indicates that they roll sideways (mecanum). K5 to K8 do not model such wheels. If only "
        "two of them drive and the others roll along, name the two: --wheels LEFT RIGHT."
    )


def one_wheel(side: Sequence[Wheel]) -> Wheel:
    """Return the equivalent wheel of a side; a single wheel is returned as it is."""
    first = side[0]
    if len(side) == 1:
        return first
    joint = replace(
        first.joint,
        name=" + ".join(wheel.joint.name for wheel in side),
        effort=_sum([wheel.joint.effort for wheel in side]),
        damping=_sum([wheel.joint.damping for wheel in side]),
        friction=_sum([wheel.joint.friction for wheel in side]),
    )
    return replace(
        first,
        joint=joint,
        radius=float(np.mean([wheel.radius for wheel in side])),
        center=np.mean([wheel.center for wheel in side], axis=0),
        links=tuple(link for wheel in side for link in wheel.links),
        rotor=sum(wheel.rotor for wheel in side),
    )


def _sum(values: Sequence[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return sum(given) if len(given) == len(values) else None


def side_body(side: Sequence[Wheel]) -> RigidBody:
    """Return the wheels of a side as one body; its inertia about y is the sum of their own spin."""
    parts = [raw_body(wheel.links) for wheel in side]
    whole = sum(parts, RigidBody())
    inertia = whole.inertia.copy()
    inertia[1, 1] = sum(
        wheel.axis @ part.inertia @ wheel.axis for wheel, part in zip(side, parts, strict=True)
    )
    return replace(whole, inertia=inertia)


def apart(side: Sequence[Wheel]) -> float:
    """Return the mean square distance of a side's wheels from their centre along x, m^2."""
    return float(np.var([wheel.center[0] for wheel in side]))


def add_turning(content: dict[str, Any], sides: Sides, findings: DescriptionFindings) -> None:
    """Add the moment against turning to the content of a robot file with body and wheels."""
    distances = [
        abs(wheel.center[0] - np.mean([w.center[0] for w in side]))
        for side in (sides.left, sides.right)
        for wheel in side
    ]
    weight = GRAVITY * (content["body"]["mass"] + 2 * content["wheels"]["mass"])
    moment = SIDEWAYS * weight * float(np.mean(distances))
    content["turning"] = {"viscous": 0.0, "coulomb": moment}
    findings.sources["turning.coulomb"] = (
        f"assumed, {SIDEWAYS:g} x weight x distance of the wheels ahead of their middle"
    )
    findings.sources["turning.viscous"] = "assumed"
    count = len(sides.left)
    findings.assumed.append(
        f"turning.coulomb = {moment:.3g} N m: {count} wheels on each side slide sideways as the "
        "robot turns (skid steer); it depends on the floor; ident identifies it. The wheels of a "
        "side count as one in their middle, and efforts are commanded to each in equal parts"
    )
