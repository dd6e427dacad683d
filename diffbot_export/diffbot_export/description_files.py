# SPDX-License-Identifier: Apache-2.0
"""Export the identified robot as URDF and SDF: inertials, friction and damping of wheel joints.

The body is the one whose closed form gives K5, K7 and K8 with the described wheels; radius and
track are the calibrated ones, if any. The friction of a joint is the Coulomb friction, its damping
the viscous friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from diffbot_description import Robot, load_robot, urdf, write_atomically, write_identified_robot
from diffbot_export.known_robot import KnownRobot, sources_of
from diffbot_export.sourced_value import SourcedValue
from diffbot_ident.torque.estimate import FRICTION_NAMES, NAMES


def identified_files(robot: KnownRobot, folder: Path) -> tuple[Robot, list[Path]]:
    """Write robot file and xacro macros of the identified robot; return the robot and their paths.

    Raises:
        ValueError: Something is missing, or no robot can have these parameters.
        OSError: The folder cannot be written.
    """
    torque, described = robot.results.torque, robot.description
    if described is None:
        raise ValueError("masses need the description of the robot's wheels: give --robot FILE")
    if torque is None:
        raise ValueError(
            "no masses, inertias or friction were identified: give the results of ident or "
            "identify of a torque robot"
        )
    k = robot.k
    friction = [
        torque.friction[name].value if name in torque.friction else None for name in FRICTION_NAMES
    ]
    k5, k7, k8 = (k[name].value for name in ("k5", "k7", "k8"))
    measured = _with_lengths(robot, described)
    files = write_identified_robot(measured, folder, k5, k7, k8, friction, notes(robot))
    return load_robot(files[0]), list(files)


def _with_lengths(robot: KnownRobot, described: Robot) -> Robot:
    """Return the description with the radius and track that were calibrated, or given."""
    geometry, results = robot.geometry, robot.results
    if geometry is None or (results.calibration is None and not results.lengths):
        return described
    mean = 0.5 * (geometry.left_radius + geometry.right_radius)
    if geometry.left_radius != geometry.right_radius:
        robot.missing.append(
            "separate radii of the wheels: a description holds one radius, here the mean of "
            f"{geometry.left_radius:.6g} and {geometry.right_radius:.6g} m"
        )
    wheels = replace(described.wheels, radius=mean, separation=geometry.separation)
    return replace(described, wheels=wheels)


def notes(robot: KnownRobot) -> list[str]:
    """Return the comments of a file: sources, values with intervals, and what is left out."""
    torque = robot.results.torque
    assert torque is not None
    quantities: list[SourcedValue] = [robot.k[name] for name in NAMES]
    quantities += list(torque.friction.values())
    lengths = (robot.radius(0), robot.radius(1), robot.track)
    quantities += [length for length in lengths if length is not None]
    return [
        f"Exported from {', '.join(path.name for path in sources_of(robot))}.",
        "95 % intervals:",
        *(f"  {quantity.source}: {quantity.text()}" for quantity in quantities),
        *(f"Missing: {text}." for text in dict.fromkeys(robot.missing)),
    ]


def write_urdf(robot: KnownRobot, folder: Path) -> list[Path]:
    """Write `<robot>_identified.urdf`, its robot file, and xacro macros for the user's own URDF.

    Raises:
        ValueError: See identified_files.
        OSError: The folder cannot be written.
    """
    identified, files = identified_files(robot, folder)
    # Parsed again, to drop the comments of the generated text.
    tree = ElementTree.fromstring(urdf(identified))
    text = _commented(_document(tree), notes(robot))
    path = folder / f"{identified.name}_identified.urdf"
    return [write_atomically(path, text), *files]


def write_sdf(robot: KnownRobot, folder: Path) -> list[Path]:
    """Write `<robot>_identified.sdf`, a model with joints and contacts, and the robot file.

    Raises:
        ValueError: See identified_files.
        OSError: The folder cannot be written.
    """
    identified, files = identified_files(robot, folder)
    text = _document(_sdf(identified))
    path = folder / f"{identified.name}_identified.sdf"
    return [write_atomically(path, _commented(text, notes(robot))), *files]


def _document(tree: ElementTree.Element) -> str:
    """Return the indented XML document."""
    ElementTree.indent(tree)
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(tree, encoding="unicode")}\n'


def _commented(text: str, lines: Sequence[str]) -> str:
    """Insert a comment below the declaration of XML text."""
    head, mark, rest = text.partition("?>")
    # An XML comment must not contain two hyphens.
    words = "\n".join(f"  {line}".replace("--", "- -") for line in lines)
    return f"{head}{mark}\n<!--\n{words}\n-->{rest}"


def _sdf(robot: Robot) -> ElementTree.Element:
    """Return a model whose origin is on the ground below the middle of the axle."""
    root = ElementTree.Element("sdf", version="1.7")
    model = ElementTree.SubElement(root, "model", name=robot.name)
    wheels, body = robot.wheels, robot.body
    inertia, centre = body.inertia, body.center_of_mass
    base = _link(
        model,
        "base_link",
        (0.0, 0.0, wheels.radius),
        body.mass,
        (inertia.roll, inertia.pitch, inertia.yaw),
        (centre.x, 0.0, centre.z - wheels.radius),
    )
    hull = body.shape
    size = (hull.front - hull.rear, hull.width, hull.top - hull.bottom)
    place = (
        0.5 * (hull.front + hull.rear),
        0.0,
        0.5 * (hull.top + hull.bottom) - wheels.radius,
    )
    _shape(base, "visual", "hull", place, {"box": {"size": _numbers(*size)}})
    for index, caster in enumerate(robot.casters):
        spot = (caster.x, caster.y, caster.radius + caster.clearance - wheels.radius)
        ball = _shape(
            base,
            "collision",
            f"caster_{index}",
            spot,
            {"sphere": {"radius": _numbers(caster.radius)}},
        )
        _contact(ball, robot.contact.caster_friction)
    for side, (sign, joint) in enumerate(zip((1.0, -1.0), robot.joints.first, strict=True)):
        _wheel(model, robot, side, sign, joint)
    return root


def _wheel(model: ElementTree.Element, robot: Robot, side: int, sign: float, joint: str) -> None:
    """Add link and joint of a wheel; the link's y axis is its axle."""
    wheels, friction = robot.wheels, robot.friction
    name = f"{('left', 'right')[side]}_wheel"
    link = _link(
        model,
        name,
        (0.0, sign * wheels.half_track, wheels.radius),
        wheels.mass,
        (wheels.inertia_yaw, wheels.inertia_spin, wheels.inertia_yaw),
        (0.0, 0.0, 0.0),
    )
    tyre = _shape(
        link,
        "collision",
        "tyre",
        (0.0, 0.0, 0.0),
        {"cylinder": {"radius": _numbers(wheels.radius), "length": _numbers(wheels.width)}},
        roll=1.5707963267948966,
    )
    _contact(tyre, robot.contact.wheel_friction)
    _shape(
        link,
        "visual",
        "tyre",
        (0.0, 0.0, 0.0),
        {"cylinder": {"radius": _numbers(wheels.radius), "length": _numbers(wheels.width)}},
        roll=1.5707963267948966,
    )
    element = ElementTree.SubElement(model, "joint", name=joint, type="revolute")
    _text(element, "parent", "base_link")
    _text(element, "child", name)
    axis = ElementTree.SubElement(element, "axis")
    _text(axis, "xyz", "0 1 0")
    dynamics = ElementTree.SubElement(axis, "dynamics")
    _text(dynamics, "damping", _numbers(friction.viscous[side]))
    _text(dynamics, "friction", _numbers(friction.coulomb[side]))
    limit = ElementTree.SubElement(axis, "limit")
    _text(limit, "effort", _numbers(robot.limits.torque))
    if robot.limits.wheel_velocity is not None:
        _text(limit, "velocity", _numbers(robot.limits.wheel_velocity))


def _link(
    model: ElementTree.Element,
    name: str,
    place: tuple[float, float, float],
    mass: float,
    inertia: tuple[float, float, float],
    centre: tuple[float, float, float],
) -> ElementTree.Element:
    link = ElementTree.SubElement(model, "link", name=name)
    _text(link, "pose", _numbers(*place, 0.0, 0.0, 0.0))
    inertial = ElementTree.SubElement(link, "inertial")
    _text(inertial, "pose", _numbers(*centre, 0.0, 0.0, 0.0))
    _text(inertial, "mass", _numbers(mass))
    tensor = ElementTree.SubElement(inertial, "inertia")
    for key, value in zip(("ixx", "iyy", "izz"), inertia, strict=True):
        _text(tensor, key, _numbers(value))
    for key in ("ixy", "ixz", "iyz"):
        _text(tensor, key, "0")
    return link


def _shape(
    link: ElementTree.Element,
    kind: str,
    name: str,
    place: tuple[float, float, float],
    shape: dict[str, dict[str, str]],
    roll: float = 0.0,
) -> ElementTree.Element:
    element = ElementTree.SubElement(link, kind, name=name)
    _text(element, "pose", _numbers(*place, roll, 0.0, 0.0))
    geometry = ElementTree.SubElement(element, "geometry")
    for key, values in shape.items():
        inner = ElementTree.SubElement(geometry, key)
        for label, text in values.items():
            _text(inner, label, text)
    return element


def _contact(collision: ElementTree.Element, friction: float) -> None:
    surface = ElementTree.SubElement(collision, "surface")
    ode = ElementTree.SubElement(ElementTree.SubElement(surface, "friction"), "ode")
    for key in ("mu", "mu2"):
        _text(ode, key, _numbers(friction))


def _text(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = text


def _numbers(*values: float) -> str:
    return " ".join(repr(float(value)) for value in values)
