# SPDX-License-Identifier: Apache-2.0
"""Appearance of a robot from its own URDF: its shapes and meshes on the generated links.

Only the visuals of the generated URDF are replaced. Joints other than the wheels' are at zero.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from diffbot_description.named_paths import expanded
from diffbot_description.robot import Robot
from diffbot_description.urdf_files import Packages, read_urdf
from diffbot_description.urdf_tree import Array, PlacedLink, UrdfTree, pose

_GREY = "0.6 0.6 0.63 1"


def rpy_from_rotation(rotation: Array) -> tuple[float, float, float]:
    """Return URDF's fixed-axis roll, pitch, yaw [rad] of a rotation matrix (3, 3)."""
    pitch = math.asin(min(1.0, max(-1.0, -float(rotation[2, 0]))))
    if abs(rotation[2, 0]) > 1 - 1e-12:  # gimbal lock: only a combination of roll and yaw matters
        return 0.0, pitch, math.atan2(-float(rotation[0, 1]), float(rotation[1, 1]))
    roll = math.atan2(float(rotation[2, 1]), float(rotation[2, 2]))
    return roll, pitch, math.atan2(float(rotation[1, 0]), float(rotation[0, 0]))


def shapes_file(robot: Robot) -> Path:
    """Return the path of the robot's ``appearance.urdf``, which is not None."""
    return robot.path.parent / expanded(robot.appearance.urdf or "")


def with_shapes(generated: str, robot: Robot) -> str:
    """Return the generated URDF with the shapes of the robot's ``appearance.urdf``, if it has any.

    ValueError: That file cannot be read, or lacks a wheel joint.
    """
    path = shapes_file(robot)
    try:
        text = read_urdf(path)
        return _with_shapes(generated, text, robot, path) if "<visual" in text else generated
    except ValueError as error:
        advice = "" if path.exists() else " Copy it there, or leave the key out."
        raise ValueError(f"{robot.path}: appearance.urdf: {error}{advice}") from error


@functools.lru_cache(maxsize=32)
def _with_shapes(generated: str, text: str, robot: Robot, path: Path) -> str:
    tree = UrdfTree(text)
    joints = robot.joints.names
    tree.check_joints(joints)
    wheels = [tree.joints[name].child for name in joints]
    middle = np.mean([tree.links[name].translation for name in wheels], axis=0)
    if len(joints) > 2:
        # Several wheels do not turn about the axle of their equivalent wheel.
        joints = ()
    painter = _Painter(tree, Packages(path))
    result = ElementTree.fromstring(generated)
    links = {link.get("name"): link for link in result.findall("link")}
    for link in result.findall("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
    side = np.array([0.0, robot.wheels.half_track, 0.0])
    parts = [("chassis_link", middle, tree.root)]
    if joints:
        parts += [
            ("left_wheel_link", middle + side, wheels[0]),
            ("right_wheel_link", middle - side, wheels[1]),
        ]
    for target, origin, first in parts:
        group = tree.rigid_group(first, joints if first == tree.root else ())
        links[target].extend(painter.visuals(group, origin))
    result[:0] = painter.materials
    ElementTree.indent(result)
    return ElementTree.tostring(result, encoding="unicode")


class _Painter:
    """Creates visuals from those of another URDF, with materials of its own."""

    def __init__(self, tree: UrdfTree, packages: Packages) -> None:
        self._packages = packages
        self._named = {
            material.get("name", ""): material for material in tree.element.findall("material")
        }
        for link in tree.links.values():  # a link may refer to a colour that another one defines
            for material in link.element.findall("visual/material"):
                if material.find("color") is not None:
                    self._named.setdefault(material.get("name", ""), material)
        self._colours: dict[str, str] = {}

    @property
    def materials(self) -> list[Element]:
        elements = []
        for rgba, name in self._colours.items():
            material = Element("material", name=name)
            ElementTree.SubElement(material, "color", rgba=rgba)
            elements.append(material)
        return elements

    def visuals(self, group: Iterable[PlacedLink], origin: Array) -> list[Element]:
        results = [
            self._visual(visual, link, origin)
            for link in group
            for visual in link.element.findall("visual")
        ]
        return [visual for visual in results if visual is not None]

    def _visual(self, visual: Element, link: PlacedLink, origin: Array) -> Element | None:
        geometry = visual.find("geometry")
        if geometry is None or len(geometry) == 0:
            return None
        shape = Element(geometry[0].tag, dict(geometry[0].attrib))
        file = None
        if shape.tag == "mesh":
            file = self._packages.resolve(shape.get("filename", ""))
            if file is None:
                return None
            shape.set("filename", f"file://{file.resolve()}")
        rotation, offset = pose(visual, f"link '{link.name}'")
        place = link.rotation @ offset + link.translation - origin
        turned = rpy_from_rotation(link.rotation @ rotation)
        made = Element("visual")
        ElementTree.SubElement(made, "origin", xyz=_words(place), rpy=_words(turned))
        ElementTree.SubElement(made, "geometry").append(shape)
        rgba = self._rgba(visual)
        # Meshes other than STL contain their own colours.
        if rgba is not None or file is None or file.suffix.lower() == ".stl":
            name = self._colours.setdefault(rgba or _GREY, f"urdf_{len(self._colours)}")
            ElementTree.SubElement(made, "material", name=name)
        return made

    def _rgba(self, visual: Element) -> str | None:
        material = visual.find("material")
        if material is None:
            return None
        colour = material.find("color")
        if colour is None:
            named = self._named.get(material.get("name", ""))
            colour = None if named is None else named.find("color")
        words = "" if colour is None else colour.get("rgba", "")
        try:
            values = [float(word) for word in words.split()]
        except ValueError:
            return None
        return words if len(values) == 4 else None


def _words(values: Iterable[float]) -> str:
    return " ".join(f"{float(np.round(value, 9)) + 0.0:.9g}" for value in values)
