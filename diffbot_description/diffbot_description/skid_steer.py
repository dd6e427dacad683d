# SPDX-License-Identifier: Apache-2.0
"""A URDF's robot with several driven wheels on each side: one wheel for each side, and its turning.

The wheels of a side become one wheel in their middle: mass, spin inertia, torque limit and friction
are sums, and the inertia about the vertical has in it how far ahead and behind they stand. As the
robot turns they slide sideways, which a moment against turning stands for; no URDF tells it.
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

# Sideways friction of sliding tyres, as a share of their load, where nobody knows better: little
# enough that the excitation, of half the grip, turns the simulated robot well.
SIDEWAYS = 0.05
# Words of wheels that roll sideways, and of the simulators' plugins for robots that go sideways.
ROLLERS = re.compile(r"mecanum|omni|sweden|roller|planar_move", re.I)


def check_slides(tree: UrdfTree, sides: Sides) -> None:
    """Refuse wheels with rollers, which do not slide sideways but roll.

    Raises:
        ValueError: says which wheels, and what is supported.
    """
    wheels = (*sides.left, *sides.right)
    names = [
        name
        for wheel in wheels
        for link in wheel.links
        for name in (link.name, *(mesh.get("filename", "") for mesh in link.element.iter("mesh")))
    ]
    # Joints of rollers hang on the links of a wheel.
    links = {link.name for wheel in wheels for link in wheel.links}
    names += [joint.name for joint in tree.joints.values() if joint.parent in links]
    names += [plugin.get("filename", "") for plugin in tree.element.iter("plugin")]
    found = next(filter(ROLLERS.search, [*(wheel.joint.name for wheel in wheels), *names]), None)
    if found is None:
        return
    left, right = (", ".join(w.joint.name for w in side) for side in (sides.left, sides.right))
    raise ValueError(
        f"{len(wheels)} wheels drive ({sides.chosen_by}), left: {left}; right: {right}; '{found}' "
        "says that they roll sideways (mecanum). The model of K5 to K8 has no such wheels. If only "
        "two of them drive and the others roll along, name the two: --wheels LEFT RIGHT."
    )


def one_wheel(side: Sequence[Wheel]) -> Wheel:
    """The wheel that stands for those of a side; the only one as it is."""
    first = side[0]
    if len(side) == 1:
        return first
    joint = replace(
        first.joint,
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
    )


def _sum(values: Sequence[float | None]) -> float | None:
    """Of what the URDF gives all wheels of a side; None where it leaves one out."""
    given = [value for value in values if value is not None]
    return sum(given) if len(given) == len(values) else None


def side_body(side: Sequence[Wheel]) -> RigidBody:
    """The wheels of a side welded together, but for their spin, which each does by itself."""
    parts = [raw_body(wheel.links) for wheel in side]
    whole = sum(parts, RigidBody())
    inertia = whole.inertia.copy()
    inertia[1, 1] = sum(part.inertia[1, 1] for part in parts)
    return replace(whole, inertia=inertia)


def apart(side: Sequence[Wheel]) -> float:
    """Mean square of how far ahead of their middle the wheels of a side stand, m^2."""
    return float(np.var([wheel.center[0] for wheel in side]))


def add_turning(content: dict[str, Any], sides: Sides, findings: DescriptionFindings) -> None:
    """Put the moment against turning into a robot file that has body and wheels."""
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
        "robot turns (skid steer); the floor tells how hard, and ident finds it. The wheels of a "
        "side count as one in their middle, and efforts are commanded to each in equal parts"
    )
