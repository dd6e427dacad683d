# SPDX-License-Identifier: Apache-2.0
"""Shapes of a URDF's links: their bounding boxes, and whether they are round about an axle.

For a mesh (STL, OBJ, Collada) the box around its vertices is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from diffbot_description.limits import DEPTH, ELEMENTS, MESH, VERTICES, parse_xml
from diffbot_description.named_paths import check_regular
from diffbot_description.urdf_files import Packages
from diffbot_description.urdf_tree import Array, PlacedLink, numbers, pose

# A mesh is round if its two extents across the axle differ by less than this share.
ROUNDNESS = 0.05
# Characters of a line of a text mesh that are read: a key and three numbers.
_LONGEST = 1000
_TRIANGLE = np.dtype([("numbers", "<f4", (4, 3)), ("attribute", "<u2")])


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape of a link, in the frame of the root link.

    Attributes:
        role: "collision" or "visual".
        kind: "box", "cylinder" (along its own z), "sphere" or "mesh".
        half: Half of its extents along its own axes, (3,), m.
        center, rotation: Pose of its own axes, (3,), m, and (3, 3).
    """

    link: str
    role: str
    kind: str
    half: Array
    center: Array
    rotation: Array

    @property
    def corners(self) -> tuple[Array, Array]:
        """Lowest and highest coordinates (3,) [m] of the shape in the root link's frame."""
        if self.kind == "sphere":
            reach = self.half
        elif self.kind == "cylinder":
            axis = self.rotation[:, 2]
            across = np.sqrt(np.clip(1.0 - axis**2, 0.0, None))
            reach = self.half[2] * np.abs(axis) + self.half[0] * across
        else:
            reach = np.abs(self.rotation) @ self.half
        return self.center - reach, self.center + reach

    def radius_about(self, axis: Array) -> float | None:
        """Return the radius [m] about an axis (3,) through its centre; None if it is not round."""
        if self.kind == "sphere":
            return float(self.half[0])
        if self.kind == "cylinder":
            return float(self.half[0]) if abs(self.rotation[:, 2] @ axis) > 0.9 else None
        if self.kind == "box":
            return None
        along = int(np.argmax(np.abs(self.rotation.T @ axis)))
        first, second = np.delete(self.half, along)
        if abs(first - second) > ROUNDNESS * max(first, second) or first <= 0:
            return None
        return float(max(first, second))

    def width_along(self, axis: Array) -> float:
        """Return the width [m] of the shape along an axis (3,); 0 for a sphere."""
        if self.kind == "sphere":
            return 0.0
        return float(2.0 * np.abs(self.rotation.T @ axis) @ self.half)

    @property
    def reach(self) -> float:
        """Distance [m] from the centre to the farthest point."""
        return float(self.half[0] if self.kind == "sphere" else np.linalg.norm(self.half))


class ShapeReader:
    """Reads the shapes of links; ``unread`` has the reasons for meshes that it could not read."""

    def __init__(self, packages: Packages) -> None:
        self._packages = packages
        self._boxes: dict[str, tuple[Array, Array] | None] = {}
        self.unread: dict[str, str] = {}

    def shapes(self, link: PlacedLink, role: str) -> list[Shape]:
        """Return the shapes of a link for one role, "collision" or "visual"."""
        results = []
        for element in link.element.findall(role):
            shape = self._shape(element, link, role)
            if shape is not None:
                results.append(shape)
        return results

    def all_shapes(self, links: Iterable[PlacedLink]) -> list[Shape]:
        """Return the collision shapes of each link, or its visual ones if it has no others."""
        return [
            shape
            for link in links
            for shape in self.shapes(link, "collision") or self.shapes(link, "visual")
        ]

    def hidden(self, links: Sequence[PlacedLink]) -> list[PlacedLink]:
        """Return the links without any readable shape, if they have most of the mass."""
        hidden = [link for link in links if link.has_shape and not self.all_shapes([link])]
        total = sum(link.body_mass() for link in links)
        return hidden if sum(link.body_mass() for link in hidden) > total / 2 else []

    def _shape(self, element: ElementTree.Element, link: PlacedLink, role: str) -> Shape | None:
        geometry = element.find("geometry")
        if geometry is None or len(geometry) == 0:
            return None
        owner = f"link '{link.name}'"
        rotation, offset = pose(element, owner)
        size = self._size(geometry[0], owner)
        if size is None:
            return None
        kind, half, middle = size
        turned = link.rotation @ rotation
        place = link.rotation @ offset + link.translation
        return Shape(link.name, role, kind, half, place + turned @ middle, turned)

    def _size(self, shape: ElementTree.Element, owner: str) -> tuple[str, Array, Array] | None:
        """Return kind, half extents and centre of a shape, in its own frame."""
        zero = np.zeros(3)
        if shape.tag == "box":
            return "box", _sizes(shape, "size", 3, owner) / 2, zero
        if shape.tag == "sphere":
            return "sphere", np.full(3, _sizes(shape, "radius", 1, owner)[0]), zero
        if shape.tag == "cylinder":
            radius = _sizes(shape, "radius", 1, owner)[0]
            length = _sizes(shape, "length", 1, owner)[0]
            return "cylinder", np.array([radius, radius, length / 2]), zero
        if shape.tag == "mesh":
            name = shape.get("filename", "")
            box = self._box(name)
            if box is None:
                return None
            scale = numbers(shape, "scale", 3, "1 1 1", owner)
            low, high = np.sort(np.stack([box[0] * scale, box[1] * scale]), axis=0)
            return "mesh", (high - low) / 2, (high + low) / 2
        return None

    def _box(self, name: str) -> tuple[Array, Array] | None:
        if name not in self._boxes:
            path = self._packages.resolve(name)
            try:
                if path is None:
                    raise ValueError("not found")
                self._boxes[name] = mesh_box(path)
            except ValueError as error:
                self._boxes[name] = None
                self.unread[name] = str(error)
        return self._boxes[name]


def _sizes(shape: ElementTree.Element, name: str, count: int, owner: str) -> Array:
    values = numbers(shape, name, count, "", owner)
    if np.any(values < 0):
        text = shape.get(name)
        raise ValueError(
            f'{owner}: <{shape.tag} {name}="{text}"> must not be negative. Correct it.'
        )
    return values


def mesh_box(path: Path) -> tuple[Array, Array]:
    """Return the lowest and the highest coordinates (3,) of the vertices of a mesh's file.

    In the file's unit for .stl and .obj, in m for .dae. ValueError: It cannot be read.
    """
    kind = path.suffix.lower()
    reader = {".stl": _stl, ".obj": _obj, ".dae": _dae}.get(kind)
    if reader is None:
        raise ValueError(
            f"{kind or 'a file without suffix'} is not read, only .stl, .obj and .dae are"
        )
    check_regular(path)
    try:
        MESH.check(path.stat().st_size)
        vertices = reader(path)
    except OSError as error:
        raise ValueError(error.strerror or "cannot be read") from error
    if len(vertices) == 0 or not np.all(np.isfinite(vertices)):
        raise ValueError("holds no vertices, or some that are not finite")
    return vertices.min(axis=0), vertices.max(axis=0)


def _stl(path: Path) -> Array:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(84)
    # The header of a binary file may begin with "solid", too.
    if len(head) == 84 and size == 84 + int.from_bytes(head[80:], "little") * _TRIANGLE.itemsize:
        triangles = np.fromfile(path, _TRIANGLE, offset=84)
        return triangles["numbers"][:, 1:].reshape(-1, 3).astype(np.float64)
    if not head.lstrip().startswith(b"solid"):
        raise ValueError("no whole STL file")
    return _lines(path, "vertex")


def _obj(path: Path) -> Array:
    return _lines(path, "v")


def _lines(path: Path, key: str) -> Array:
    """Return the three numbers (n, 3) after the key of each line that begins with it."""
    beginnings = (key + " ", key + "\t")
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = (line[:_LONGEST].lstrip() for line in file)
        vertices = (line for line in lines if line.startswith(beginnings))
        first = next(vertices, None)
        if first is None:
            return np.empty((0, 3))
        try:
            both = chain([first], vertices)
            return np.loadtxt(both, usecols=(1, 2, 3), comments=None, ndmin=2)
        except ValueError as error:
            raise ValueError(f"a line '{key}' does not hold three numbers") from error


def _dae(path: Path) -> Array:
    """Return the corners (n, 3), in m, of the boxes around the shapes of a Collada file's scene."""
    try:
        root = parse_xml(path.read_bytes())
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
        unit = root.find("asset/unit")
        scale = 1.0 if unit is None else float(unit.get("meter", "1"))
        meshes = {
            geometry.get("id", ""): _dae_positions(geometry)
            for geometry in root.findall("library_geometries/geometry")
        }
        nodes = {node.get("id", ""): node for node in root.iter("node")}
        scene, total, result = _DaeScene(meshes, nodes), 0, []
        for node in root.iterfind("library_visual_scenes/visual_scene/node"):
            for vertices in scene.vertices(node, np.eye(4), 0):
                total += len(vertices)
                VERTICES.check(total)
                if len(vertices):
                    result.append(np.stack([vertices.min(axis=0), vertices.max(axis=0)]))
    except (ElementTree.ParseError, ValueError, IndexError) as error:
        raise ValueError(f"is no Collada file that can be read ({error})") from error
    return scale * np.concatenate([*result, np.empty((0, 3))])


def _dae_positions(geometry: ElementTree.Element) -> Array:
    sources = {source.get("id"): source for source in geometry.iter("source")}
    results = [np.empty((0, 3))]
    for vertex_input in geometry.iterfind("mesh/vertices/input[@semantic='POSITION']"):
        source = sources.get(vertex_input.get("source", "").removeprefix("#"))
        values = None if source is None else source.find("float_array")
        if values is not None:
            words = re.finditer(r"\S+", values.text or "")
            numbers = np.fromiter((float(word[0]) for word in words), dtype=np.float64)
            results.append(numbers.reshape(-1, 3))
    return np.concatenate(results)


class _DaeScene:
    """Reads the nodes of a Collada scene, which may refer to each other many times."""

    def __init__(self, meshes: dict[str, Array], nodes: dict[str, ElementTree.Element]) -> None:
        self._meshes, self._nodes = meshes, nodes
        self._visits = count(1)

    def vertices(self, node: ElementTree.Element, outer: Array, depth: int) -> Iterator[Array]:
        DEPTH.check(depth)
        ELEMENTS.check(next(self._visits))
        placed = outer
        for element in node:
            if element.tag in ("matrix", "translate", "rotate", "scale"):
                values = np.array((element.text or "").split(), dtype=np.float64)
                placed = placed @ _dae_transform(element.tag, values)
        for element in node:
            url = element.get("url", "").removeprefix("#")
            if element.tag == "instance_geometry" and url in self._meshes:
                yield self._meshes[url] @ placed[:3, :3].T + placed[:3, 3]
            elif element.tag == "node":
                yield from self.vertices(element, placed, depth + 1)
            elif element.tag == "instance_node" and url in self._nodes:
                yield from self.vertices(self._nodes[url], placed, depth + 1)


def _dae_transform(tag: str, values: Array) -> Array:
    matrix = np.eye(4)
    if tag == "matrix":
        return values.reshape(4, 4)
    if tag == "translate":
        matrix[:3, 3] = values
    elif tag == "scale":
        matrix[:3, :3] = np.diag(values)
    else:  # an axis and degrees: Rodrigues' formula
        axis, angle = values[:3] / np.linalg.norm(values[:3]), np.radians(values[3])
        cross = np.cross(np.eye(3), axis)  # cross @ v is axis x v
        matrix[:3, :3] += np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return matrix
