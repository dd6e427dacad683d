# SPDX-License-Identifier: Apache-2.0
"""Descriptions for tests with what real ones are like: one robot, written in many ways.

The robot: body of 6 kg, wheels of 0.3 kg with radius 0.06 m at y = +-0.15 m, casters in front and
behind; the centre of mass 0.05 m ahead of the axle.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

HALF_PI = math.pi / 2
RADIUS, HALF_TRACK, BODY, WHEEL = 0.06, 0.15, 6.0, 0.3
COM_X = 0.05
SIZE = (0.40, 0.24, 0.12)  # of the body's box, m


def link(name: str, inside: str = "") -> str:
    """A link with anything in it."""
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = "fixed", inside: str = "") -> str:
    """A joint with anything in it."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def origin(x: float = 0, y: float = 0, z: float = 0, roll: float = 0, pitch: float = 0) -> str:
    """An origin."""
    return f'<origin xyz="{x!r} {y!r} {z!r}" rpy="{roll!r} {pitch!r} 0"/>'


def inertial(mass: float, ixx: float, iyy: float, izz: float, place: str = "") -> str:
    """Mass and principal inertias."""
    return (
        f'<inertial>{place}<mass value="{mass!r}"/><inertia ixx="{ixx!r}" iyy="{iyy!r}" '
        f'izz="{izz!r}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def shape(geometry: str, place: str = "", role: str = "collision") -> str:
    """A collision or visual."""
    return f"<{role}>{place}<geometry>{geometry}</geometry></{role}>"


def box(x: float, y: float, z: float) -> str:
    """A box."""
    return f'<box size="{x!r} {y!r} {z!r}"/>'


def cylinder(radius: float, length: float) -> str:
    """A cylinder along z."""
    return f'<cylinder radius="{radius!r}" length="{length!r}"/>'


def sphere(radius: float) -> str:
    """A sphere."""
    return f'<sphere radius="{radius!r}"/>'


DISC = (WHEEL * RADIUS**2 / 2, WHEEL * (3 * RADIUS**2 + 0.03**2) / 12)
"""Spin and yaw inertia of a wheel, kg m^2."""


def wheel(
    name: str,
    y: float,
    x: float = 0.0,
    *,
    parent: str = "base_link",
    upright: bool = True,
    sign: int = 1,
    inside: str | None = None,
    more: str = "",
    kind: str = "continuous",
    radius: float = RADIUS,
) -> str:
    """A wheel `NAME_wheel` on the joint `NAME_joint`.

    upright: its frame is turned by rpy so that it turns about its own z, as Kobuki's is; else it
    turns about y. sign -1: the axis points to the right.
    """
    spin, yaw = DISC
    if upright:
        place, axis = origin(x, y, 0, -HALF_PI), f"0 0 {sign}"
        body = inertial(WHEEL, yaw, yaw, spin)
        drawn = shape(cylinder(radius, 0.03))
    else:
        place, axis = origin(x, y, 0), f"0 {sign} 0"
        body = inertial(WHEEL, yaw, spin, yaw)
        drawn = shape(cylinder(radius, 0.03), origin(roll=HALF_PI))
    turning = f'{place}<axis xyz="{axis}"/>{more}'
    return link(f"{name}_wheel", body + drawn if inside is None else inside) + joint(
        f"{name}_joint", parent, f"{name}_wheel", kind, turning
    )


def base(
    inertia: tuple[float, float, float] | None = None,
    mass: float = BODY,
    y: float = 0,
    x: float = COM_X,
) -> str:
    """base_footprint on the ground, base_link at the axle with the body's mass and box."""
    length, width, height = SIZE
    values = inertia or tuple(
        mass / 12 * (a**2 + b**2) for a, b in ((width, height), (length, height), (length, width))
    )
    content = inertial(mass, *values, origin(x, y, 0.03))
    content += shape(box(*SIZE), origin(0.03, 0, 0.03))
    return (
        link("base_footprint")
        + joint("base_joint", "base_footprint", "base_link", inside=origin(0, 0, RADIUS))
        + link("base_link", content)
    )


def caster(name: str, x: float, y: float = 0.0, low: float = 0.0) -> str:
    """A ball of 15 mm radius that ends `low` m above the ground."""
    height = 0.015 + low - RADIUS
    return link(f"{name}_link", shape(sphere(0.015))) + joint(
        f"{name}_joint", "base_link", f"{name}_link", inside=origin(x, y, height)
    )


CASTERS = caster("front_caster", 0.18) + caster("rear_caster", -0.12)


def robot(*parts: str, name: str = "foreign") -> str:
    """The URDF of these parts; without any, the robot as it should be."""
    whole = parts or (base(), wheel("left", HALF_TRACK), wheel("right", -HALF_TRACK), CASTERS)
    return f'<?xml version="1.0"?>\n<robot name="{name}">{"".join(whole)}</robot>\n'


def write_stl(path: Path, size: tuple[float, float, float]) -> None:
    """A binary STL with two triangles that span a box around the origin."""
    x, y, z = (half / 2 for half in size)
    triangles = [((-x, -y, -z), (x, -y, -z), (x, y, z)), ((-x, -y, -z), (-x, y, z), (x, y, z))]
    content = b"solid, it says, and is binary".ljust(80) + struct.pack("<I", len(triangles))
    for triangle in triangles:
        content += struct.pack("<12fH", 0, 0, 1, *(v for corner in triangle for v in corner), 0)
    path.write_bytes(content)


def write_package(folder: Path, name: str) -> Path:
    """A package's folder with its package.xml."""
    path = folder / name
    path.mkdir(parents=True)
    (path / "package.xml").write_text(f"<package><name>{name}</name></package>")
    return path
