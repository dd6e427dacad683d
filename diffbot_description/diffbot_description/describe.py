# SPDX-License-Identifier: Apache-2.0
"""Conversion of a URDF to the content of a robot file, with notes on assumptions and corrections.

Values that a URDF does not contain (torques, encoder, contact) follow from rules stated with them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from diffbot_description.assumed_parts import DENSITY
from diffbot_description.command_kind import CommandKind
from diffbot_description.describe_limits import (
    EXCITATION_FRACTION,
    GRIP,
    SENTENCES,
    add_limits,
    kind_of,
    whole_robot,
)
from diffbot_description.findings import ASSUMED, DescriptionFindings, joined
from diffbot_description.ground_loads import GRAVITY
from diffbot_description.plausible_inertia import (
    SPIN_SHARES,
    bounds,
    box_inertia,
    cylinder_inertia,
    group_body,
)
from diffbot_description.plausible_mass import (
    check_hull,
    check_not_empty,
    check_wheel_density,
    hull_size,
    say_dense_links,
)
from diffbot_description.robot import name_from
from diffbot_description.skid_steer import (
    add_turning,
    apart,
    check_slides,
    one_wheel,
    side_body,
)
from diffbot_description.urdf_files import Packages
from diffbot_description.urdf_shapes import ShapeReader
from diffbot_description.urdf_supports import CALLED, Stand, Support, find_supports, standing
from diffbot_description.urdf_tree import PlacedLink, RigidBody, UrdfTree
from diffbot_description.urdf_wheels import (
    UNEVEN,
    Sides,
    WheelPair,
    compare_with_drives,
    find_sides,
    wheel_pair,
)

ENCODER_COUNTS = 4096
_COUNTS = {1: "two", 2: "four", 3: "six"}  # number of wheels in words, by the number per side
MASS_FRACTION = 0.05  # largest assumed mass of a wheel without mass, as a share of the body's
STAND_IN = 0.1  # largest share of the wheels' mass that only stands for a body's missing mass
WHEEL_DENSITY = 700.0  # largest assumed density of a wheel without mass, kg/m^3
ROTOR_FRACTION = (
    10.0  # largest share of the robot's mass that rotors may add to its equivalent mass
)
OFF_MIDDLE = 5e-3  # lateral offset of the centre of mass, per half track, from which a note is made


@dataclass(frozen=True)
class Description:
    """A robot file's content, with the source of each value by dotted field.

    `corrected`, `assumed`: notes on values of the URDF that were not used, or are missing.
    """

    content: dict[str, Any]
    sources: dict[str, str]
    corrected: tuple[str, ...]
    assumed: tuple[str, ...]
    result: tuple[str, ...]

    @property
    def notes(self) -> list[tuple[str, tuple[str, ...]]]:
        notes = [
            ("values of the URDF that are not used as they stand", self.corrected),
            ("values that a URDF does not contain; check these", self.assumed),
        ]
        return [(title, entries) for title, entries in notes if entries]


def describe(
    urdf_text: str,
    packages: Packages,
    *,
    wheels: Sequence[str] | None = None,
    wheel_radius: float | None = None,
    mass: float | None = None,
    command: CommandKind | None = None,
) -> Description:
    """Return the description of the differential-drive robot in an expanded URDF.

    Args:
        packages: Locations of the packages with its meshes.
        wheels: Joints of the left and the right wheel; None: they are searched for.
        wheel_radius, mass: Of the wheels, m, and of the whole robot, kg; None: those of the URDF.
        command: Kind of command that its driver takes; None: that of its <ros2_control>, if any.

    Raises:
        ValueError: States what was found, what is missing or not supported, and what to write.
    """
    for name, value in (("wheel-radius", wheel_radius), ("mass", mass)):
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"--{name} = {value} must be above 0 and finite.")
    try:
        with np.errstate(over="raise", invalid="raise"):
            return _describe(urdf_text, packages, wheels, wheel_radius, mass, command)
    except (FloatingPointError, OverflowError) as error:
        raise ValueError(
            f"a length, mass or inertia is far too large to compute with ({error}). Correct it."
        ) from error


def _describe(
    urdf_text: str,
    packages: Packages,
    wheels: Sequence[str] | None,
    wheel_radius: float | None,
    mass: float | None,
    command: CommandKind | None,
) -> Description:
    tree = UrdfTree(urdf_text)
    shapes = ShapeReader(packages)
    sides = find_sides(tree, shapes, wheels, wheel_radius)
    findings = DescriptionFindings()
    several = len(sides.left) > 1
    if several:
        check_slides(tree, sides)
    geometry = wheel_pair(one_wheel(sides.left), one_wheel(sides.right), findings)
    compare_with_drives(tree, geometry, findings)
    links = _body_links(tree, sides, findings)
    if slide := sides.sliding:
        findings.replaced(
            "wheels that neither drive nor swivel",
            f"{joined(slide)} slide sideways when the robot turns, and resist it",
            "casters without friction; if they drive, command them in the URDF",
        )
    named = tree.element.get("name", "")
    content: dict[str, Any] = {"name": name_from(named)}
    findings.sources["name"] = "of <robot>"
    if content["name"] != named:
        findings.replaced("name", repr(named), content["name"])
    body = group_body(links, shapes, findings)
    pair = [side_body(side) for side in (sides.left, sides.right)]
    command = kind_of(tree, sides, command, findings)
    weightless = command is CommandKind.VELOCITY and mass is None and body.mass <= 0
    if weightless:
        mass = DENSITY * geometry.track**2 * 2 * geometry.radius
        findings.assumed.append(f"body.mass: the URDF has no masses; {mass:.3g} kg in all")
    body, pair = _with_mass(body, pair, mass, links, geometry, findings)
    if weightless:
        findings.sources["body.mass"] = f"{ASSUMED}, the URDF has none"
    spread = (apart(sides.left) + apart(sides.right)) / 2
    for side in (sides.left, sides.right):
        check_wheel_density(side, shapes)
    content["wheels"] = _wheels(geometry, pair, spread, body.mass, findings)
    content["body"] = _body(body, links, shapes, geometry, findings)
    if command is not CommandKind.VELOCITY and findings.sources["body.shape"] != ASSUMED:
        check_not_empty(content["body"]["shape"], body.mass, links)
    stand = _stand(content, links, shapes, geometry)
    for entry in stand.changed:
        findings.replaced(*entry)
    findings.assumed += stand.added
    if stand.added:
        findings.sources["casters"] = f"{ASSUMED} in part"
    content["casters"] = [_caster(support, i, findings) for i, support in enumerate(stand.casters)]
    joints = [[wheel.joint.name for wheel in side] for side in (sides.left, sides.right)]
    content["joints"] = {
        side: own if several else own[0]
        for side, own in zip(("left", "right"), joints, strict=True)
    }
    findings.sources["joints"] = sides.chosen_by
    wheels_in_order = (*sides.left, *sides.right)
    if any(wheel.sign < 0 for wheel in wheels_in_order):
        content["joints"]["signs"] = [wheel.sign for wheel in wheels_in_order]
        findings.sources["joints.signs"] = (
            "-1: turns about -y, a positive angle rolls backward; of left, then right"
        )
    add_limits(content, geometry, stand.rocks, findings)
    if several:
        add_turning(content, sides, findings)
    if command is not None:
        content["drive"] = {"command": command.value}
    _rest(content, links, findings)
    if findings.assumed_fields:
        content["assumed"] = findings.assumed_fields
        findings.sources["assumed"] = "take out what you have measured or entered"
    if packages.missing:
        names = ", ".join(packages.missing)
        findings.assumed.append(f"packages that are not found, {names}: their content is missing")
    _say_unread(shapes, findings)
    return Description(
        _rounded(content),
        findings.sources,
        tuple(findings.corrected),
        tuple(findings.assumed),
        (*_derived(content, joints, sides.chosen_by, links), SENTENCES[command]),
    )


def _say_unread(shapes: ShapeReader, findings: DescriptionFindings) -> None:
    by_reason: dict[str, list[str]] = {}
    for name, why in shapes.unread.items():
        by_reason.setdefault(why, []).append(name.rsplit("/", 1)[-1])
    if by_reason:
        meshes = "; ".join(f"{', '.join(names)} ({why})" for why, names in by_reason.items())
        findings.assumed.append(f"body.shape: meshes ignored for it: {meshes}")


def _body_links(tree: UrdfTree, sides: Sides, findings: DescriptionFindings) -> list[PlacedLink]:
    wheels = (*sides.left, *sides.right)
    stop = tuple(wheel.joint.name for wheel in wheels)
    behind = {link.name for wheel in wheels for link in wheel.links}
    for one, other in permutations(wheels, 2):
        if one.joint.child in {link.name for link in other.links}:
            raise ValueError(
                f"the wheel of '{one.joint.name}' is attached to '{other.joint.name}'."
            )
    movable = [
        joint.name
        for joint in tree.joints.values()
        if joint.type != "fixed" and joint.name not in stop and joint.child not in behind
    ]
    links = tree.rigid_group(tree.root, stop)
    heavy = [name for name in movable if tree.links[tree.joints[name].child].body_mass() > 0]
    if heavy:
        findings.replaced(
            "movable joints", ", ".join(heavy), "fixed at zero, their links are part of the body"
        )
    return links


def _with_mass(
    body: RigidBody,
    pair: list[RigidBody],
    mass: float | None,
    links: Sequence[PlacedLink],
    geometry: WheelPair,
    findings: DescriptionFindings,
) -> tuple[RigidBody, list[RigidBody]]:
    """Return body and wheels; a given mass of the whole robot is distributed over them."""
    weighed = [link.name for link in links if link.body_mass() > 0]
    count = f"{len(weighed)} links" if len(weighed) > 1 else f"link '{''.join(weighed)}'"
    findings.sources["body.mass"] = f"sum of {count} that do not turn with the wheels"
    if mass is None:
        if body.mass <= 0:
            raise ValueError(
                "no link of the body has a mass (<inertial>). Give that of the whole robot: "
                "--mass KILOGRAMS."
            )
        _say_weightless(links, findings)
        return body, pair
    findings.sources["body.mass"] = "--mass, less the wheels"
    if body.mass <= STAND_IN * sum(wheel.mass for wheel in pair):
        assumed = _assumed_wheel(mass / (1 + 2 * MASS_FRACTION), geometry)
        wheels = sum(wheel.mass or assumed for wheel in pair)
        if wheels >= mass:
            raise ValueError(f"--mass = {mass} kg must be above the wheels' {wheels:.4g} kg.")
        return RigidBody(mass - wheels), pair
    factor = mass / (body.mass + sum(w.mass for w in pair))

    def scaled(part: RigidBody) -> RigidBody:
        return replace(part, mass=part.mass * factor, inertia=part.inertia * factor)

    return scaled(body), [scaled(part) for part in pair]


def _say_weightless(links: Sequence[PlacedLink], findings: DescriptionFindings) -> None:
    names = [link.name for link in links if link.has_shape and not link.body_mass() > 0]
    if names:
        findings.assumed.append(
            "body.mass: links with a shape and without a mass (<inertial>), which the model then "
            f"lacks: {len(names)} ({joined(names, 5)})"
        )


def _assumed_wheel(body_mass: float, geometry: WheelPair) -> float:
    volume = math.pi * geometry.radius**2 * geometry.width
    return min(MASS_FRACTION * body_mass, WHEEL_DENSITY * volume)


def _without(masses: Sequence[float]) -> str:
    return "the wheels" if max(masses) <= 0 else f"the {'left' if masses[0] <= 0 else 'right'} one"


def _wheels(
    geometry: WheelPair,
    pair: list[RigidBody],
    spread: float,
    body_mass: float,
    findings: DescriptionFindings,
) -> dict[str, float]:
    """Return the section of a wheel; spread: mean square distance of a side's wheels in x, m^2."""
    radius, width = geometry.radius, geometry.width
    say = findings.replaced
    masses = [part.mass for part in pair]
    mass = sum(masses) / 2
    findings.sources["wheels.mass"] = "all that turns with the wheel"
    if min(masses) > 0 and abs(masses[0] - masses[1]) > UNEVEN * mass:
        say("wheels", f"masses {masses[0]:.4g} and {masses[1]:.4g} kg", "their mean")
    if min(masses) <= 0:
        mass = _assumed_wheel(body_mass, geometry)
        findings.sources["wheels.mass"] = "assumed, the URDF has none"
        findings.assumed.append(
            f"wheels.mass = {mass:.3g} kg: the URDF gives {_without(masses)} none; the smaller of "
            f"{MASS_FRACTION:.0%} of the body and {WHEEL_DENSITY:.0f} kg/m^3"
        )
    spin, yaw, rotor = _wheel_inertias(geometry, pair, mass, spread, body_mass + 2 * mass)
    findings.sources["wheels.inertia_spin"] = "of the URDF, about the axle"
    findings.sources["wheels.inertia_yaw"] = "of the URDF, about the vertical"
    if rotor > 0 and not geometry.rotor:
        findings.assumed.append(
            f"wheels.inertia_spin: {spin + rotor:.3g} kg m^2 is more than {mass * radius**2:.3g} "
            f"kg m^2, m r^2 of the wheel ({mass:.3g} kg); taken as the URDF has it, as of a "
            "motor's rotor times the square of its gear ratio"
        )
    disc = cylinder_inertia(mass, radius, width)
    low, high = (fraction * mass * radius**2 for fraction in SPIN_SHARES)
    if min(masses) <= 0 or not low <= spin <= high * 1.001:
        if min(masses) > 0:
            say(
                f"wheels ({mass:.4g} kg, radius {radius:.4g} m)",
                f"inertia about the axle {spin:.3g} kg m^2 is not from {low:.3g} (all in the hub) "
                f"to {high:.3g} kg m^2 (all in the rim)",
                f"{disc[0]:.3g} kg m^2, of a solid disc",
            )
        spin, yaw = disc[0], disc[1] + mass * spread
        findings.sources["wheels.inertia_spin"] = f"{ASSUMED}, m r^2 / 2, a solid disc"
        findings.sources["wheels.inertia_yaw"] = f"{ASSUMED}, m (3 r^2 + width^2) / 12"
    elif not 0.499 * spin < yaw < spin + mass * (radius**2 + geometry.track**2 / 4 + spread):
        used = max(disc[1], spin / 2) + mass * spread
        say("wheels", f"inertia about the vertical {yaw:.3g} kg m^2", f"{used:.3g} kg m^2")
        yaw = used
        findings.sources["wheels.inertia_yaw"] = f"{ASSUMED}, m (3 r^2 + width^2) / 12"
    return {
        "radius": radius,
        "separation": geometry.track,
        "width": width,
        "mass": mass,
        "inertia_spin": spin + rotor + geometry.rotor,
        "inertia_yaw": yaw,
    }


def _wheel_inertias(
    geometry: WheelPair, pair: list[RigidBody], mass: float, spread: float, total: float
) -> tuple[float, float, float]:
    """Return the spin inertia of a wheel itself, its yaw inertia, and the rest of its spin inertia.

    The yaw inertia I is such that I + m b^2 is about the axle's midpoint. The rest is that of a
    rotor behind a gear, if all else is that of a wheel; a mistaken inertia differs about all axes.
    `total`: mass of the robot, kg; see _wheels.
    """
    spin = sum(float(part.inertia[1, 1]) for part in pair) / 2
    about = sum(float(part.inertia_about(geometry.middle)[2, 2]) for part in pair) / 2
    yaw = about - mass * (geometry.track / 2) ** 2
    rim, own_yaw = mass * geometry.radius**2, sum(float(part.inertia[2, 2]) for part in pair) / 2
    own = min(rim, 2 * own_yaw) if spin > rim * 1.001 else spin
    if yaw < own / 2:  # the wheel's mass lies inside of its contact point
        yaw = own_yaw
    across = own_yaw - mass * spread
    of_rotor = (
        SPIN_SHARES[0] * rim / 2 <= across <= rim / 2 + mass * geometry.width**2 / 4
        and 2 * spin <= ROTOR_FRACTION * total * geometry.radius**2
    )
    return (own, yaw, spin - own) if of_rotor else (spin, yaw, 0.0)


def _body(
    body: RigidBody,
    links: Sequence[PlacedLink],
    shapes: ShapeReader,
    geometry: WheelPair,
    findings: DescriptionFindings,
) -> dict[str, Any]:
    hull = _hull(links, shapes, geometry, findings)
    size = np.array(hull_size(hull))
    check_hull(hull, geometry.track, body.mass, links, shapes)
    say_dense_links(links, shapes, findings)
    x, z = _center_of_mass(body, _reach(hull, links, shapes, geometry), geometry, findings)
    findings.sources["body.inertia"] = "summed about the centre of mass, axes of the root link"
    inertia = np.diag(body.inertia).copy()
    box = np.diag(box_inertia(body.mass, size))
    if np.any(inertia <= 0) or np.any(inertia < 0.02 * box):
        findings.replaced(
            f"body ({body.mass:.4g} kg)",
            f"inertias {', '.join(f'{v:.3g}' for v in inertia)} kg m^2 are below 2% of a solid box "
            "of its size",
            f"{', '.join(f'{v:.3g}' for v in box)} kg m^2, of that box",
        )
        findings.sources["body.inertia"] = f"{ASSUMED}, of a solid box of the hull's size"
        inertia = box
    return {
        "mass": body.mass,
        "center_of_mass": {"x": x, "z": z},
        "inertia": dict(zip(("roll", "pitch", "yaw"), map(float, inertia), strict=True)),
        "shape": hull,
    }


def _reach(
    hull: dict[str, float], links: Sequence[PlacedLink], shapes: ShapeReader, geometry: WheelPair
) -> dict[str, float]:
    """Return the hull with arms and other movable parts, which have masses, too."""
    box = bounds(shapes.all_shapes(links))
    if box is None:
        return hull
    low, high = (corner - [*geometry.middle[:2], geometry.ground] for corner in box)
    least = {"rear": float(low[0]), "bottom": float(low[2])}
    most = {"front": float(high[0]), "top": float(high[2])}
    return {
        name: min(value, least[name]) if name in least else max(value, most.get(name, value))
        for name, value in hull.items()
    }


def _center_of_mass(
    body: RigidBody, hull: dict[str, float], geometry: WheelPair, findings: DescriptionFindings
) -> tuple[float, float]:
    say = findings.replaced
    findings.sources["body.center_of_mass"] = "of all links of the body"
    if not np.any(body.com) and not np.any(body.inertia):
        findings.sources["body.center_of_mass"] = f"{ASSUMED}, over the axle"
        findings.assumed.append("body.center_of_mass: the URDF has no masses; over the axle")
        return 0.0, (hull["bottom"] + hull["top"]) / 2
    x, y, z = (float(v) for v in body.com - np.array([*geometry.middle[:2], geometry.ground]))
    if abs(y) > geometry.track / 2:
        raise ValueError(
            f"the body's centre of mass is {abs(y):.3g} m to the {'left' if y > 0.0 else 'right'} "
            f"of the middle between the wheels, whose track is {geometry.track:.3g} m: it would "
            "tip. Correct <origin> of the wheels or of <inertial>, or name the wheels: --wheels "
            "LEFT RIGHT."
        )
    if abs(y) > OFF_MIDDLE * geometry.track / 2:
        say(
            "body.center_of_mass",
            f"{1000 * abs(y):.2g} mm to the {'left' if y > 0.0 else 'right'} of the middle between "
            "the wheels",
            f"0, as in the model; the effect of {abs(2 * y / geometry.track):.1%} of half the "
            "track on K5 to K8 is neglected",
        )
    if findings.sources["body.shape"] == ASSUMED:
        if z > 0.0:
            return x, z
        what = "not above the ground, where the lowest point of the wheels is"
        say("body.center_of_mass.z", f"{z:.4g} m, {what}", f"{geometry.radius:.4g} m, the axle's")
        return x, geometry.radius
    for name, value, low, high in (
        ("x", x, hull["rear"], hull["front"]),
        ("z", z, hull["bottom"], hull["top"]),
    ):
        if not low <= value <= high:
            used = low + 0.1 * (high - low) if value < low else high - 0.1 * (high - low)
            say(
                f"body.center_of_mass.{name}",
                f"{value:.4g} m, but the body's shapes are from {low:.4g} to {high:.4g} m",
                f"{used:.4g} m",
            )
            x, z = (used, z) if name == "x" else (x, used)
    return x, z


def _hull(
    links: Sequence[PlacedLink],
    shapes: ShapeReader,
    geometry: WheelPair,
    findings: DescriptionFindings,
) -> dict[str, float]:
    """Return the box around the body without casters, from the axle's midpoint on the ground."""
    radius, track = geometry.radius, geometry.track
    hull = [link for link in links if not CALLED.search(link.name)]
    # Movable parts such as arms count only without other shapes.
    box = bounds(shapes.all_shapes(link for link in hull if link.rigid)) or bounds(
        shapes.all_shapes(hull)
    )
    least = 0.15 * radius
    hidden = shapes.hidden(hull)
    if box is None or hidden:
        why = "no shape of the body can be read"
        if box is not None:
            names = joined([link.name for link in hidden], 5)
            why = f"the shapes of {names}, most of the body's mass, cannot be read"
        findings.assumed.append(
            f"body.shape: {why}; a box between the wheels, as long as the track"
        )
        findings.sources["body.shape"] = ASSUMED
        width = max(track - geometry.width, 0.3 * track)
        return dict(
            front=track / 2, rear=-track / 2, width=width, bottom=radius / 2, top=2.5 * radius
        )
    findings.sources["body.shape"] = "box around the body's shapes"
    low, high = (corner - [*geometry.middle[:2], geometry.ground] for corner in box)
    bottom = max(float(low[2]), least)
    return {
        "front": float(high[0]),
        "rear": float(low[0]),
        "width": 2 * float(max(abs(high[1]), abs(low[1]))),
        "bottom": bottom,
        "top": max(float(high[2]), bottom + least),
    }


def _stand(
    content: dict[str, Any], links: Sequence[PlacedLink], shapes: ShapeReader, geometry: WheelPair
) -> Stand:
    hull = content["body"]["shape"]
    return standing(
        find_supports(links, shapes, geometry.middle, geometry.radius),
        whole_robot(content)[1:],
        (hull["rear"], hull["front"]),
        geometry.radius,
        EXCITATION_FRACTION * GRIP * GRAVITY,
    )


def _caster(support: Support, index: int, findings: DescriptionFindings) -> dict[str, float]:
    findings.sources[f"casters[{index}]"] = support.source
    return {
        "x": support.x,
        "y": support.y,
        "radius": support.radius,
        "clearance": support.clearance,
    }


def _rest(
    content: dict[str, Any], links: Sequence[PlacedLink], findings: DescriptionFindings
) -> None:
    content["encoder"] = {"counts": ENCODER_COUNTS}
    heavy = content["body"]["mass"] > 50
    content["contact"] = {
        "stiffness": 1e8 if heavy else 1e7,
        "damping": 1e3,
        "wheel_friction": 10.0,
        "caster_friction": 0.0,
    }
    content["appearance"] = {"body": _colour(links), "accent": [0.1, 0.75, 0.85]}
    findings.sources |= {
        "encoder.counts": "assumed; only simulated encoders use it",
        "appearance.urdf": "the robot's own; its shapes and meshes are shown",
        "contact.wheel_friction": "the wheels roll without slip, as K5 to K8 assume",
        "contact.caster_friction": "K5 to K8 have no drag of casters",
    }
    findings.assumed.append(
        f"encoder.counts = {ENCODER_COUNTS} per wheel revolution: enter your encoder's; only "
        "simulated ones use it"
    )


def _colour(links: Sequence[PlacedLink]) -> list[float]:
    for link in links:
        for colour in link.element.findall("visual/material/color"):
            try:
                values = [float(word) for word in colour.get("rgba", "").split()][:3]
            except ValueError:
                continue
            if len(values) == 3 and all(0 <= value <= 1 for value in values):
                return values
    return [0.95, 0.45, 0.1]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.7g}") + 0.0 if isinstance(value, float) else value


def _derived(
    content: dict[str, Any],
    joints: Sequence[Sequence[str]],
    chosen_by: str,
    links: Sequence[PlacedLink],
) -> tuple[str, ...]:
    wheels, body = content["wheels"], content["body"]
    total = body["mass"] + 2 * wheels["mass"]
    ahead = 1000 * body["center_of_mass"]["x"]
    return (
        f"wheels {', '.join(' + '.join(side) for side in joints)} ({chosen_by}): radius "
        f"{wheels['radius']:.4g} m, track {wheels['separation']:.4g} m",
        f"{total:.4g} kg in {len(links)} links of the body and "
        f"{_COUNTS.get(len(joints[0]), 'the')} wheels, the body's centre of mass "
        f"{abs(ahead):.3g} mm {'behind' if ahead < 0.0 else 'ahead of'} the axle, "
        f"{len(content['casters'])} casters",
    )
