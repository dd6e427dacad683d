# SPDX-License-Identifier: Apache-2.0
"""The tree of links and joints of a URDF, and the rigid groups in it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from xml.etree import ElementTree

import numpy as np

from arc_odometry.number_range import Array as Array
from diffbot_description.limits import LINKS, parse_xml


@dataclass(frozen=True, eq=False)
class RigidBody:
    """A rigid body; all vectors are in one common frame. The default has no mass.

    Attributes:
        mass: kg.
        com: Centre of mass, (3,), m.
        inertia: About the centre of mass, (3, 3), kg m^2.
    """

    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def moved(self, rotation: Array, translation: Array) -> RigidBody:
        """Return the body in a frame in which its own frame has this pose."""
        return RigidBody(
            self.mass,
            rotation @ self.com + translation,
            rotation @ self.inertia @ rotation.T,
        )

    def __add__(self, other: RigidBody) -> RigidBody:
        """Join rigidly (parallel axis theorem)."""
        mass = self.mass + other.mass
        if mass == 0:
            return RigidBody()
        com = (self.mass * self.com + other.mass * other.com) / mass
        return RigidBody(mass, com, self.inertia_about(com) + other.inertia_about(com))

    def inertia_about(self, point: Array) -> Array:
        """Return the inertia (3, 3) [kg m^2] about a point (3,) [m]."""
        offset = self.com - point
        return self.inertia + self.mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))


# Tolerance for rounded inertias in URDF files, relative to the largest one.
ROUNDING = 1e-3


def numbers(element: ElementTree.Element, name: str, count: int, default: str, owner: str) -> Array:
    """Return an attribute of ``count`` finite numbers; ValueError names ``owner``."""
    text = element.get(name, default)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.empty(0)
    if len(values) != count or not np.all(np.isfinite(values)):
        wanted = "one finite number" if count == 1 else f"{count} finite numbers"
        raise ValueError(f'{owner}: <{element.tag} {name}="{text}"> must hold {wanted}.')
    return values


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return the rotation matrix of URDF's fixed-axis roll, pitch, yaw [rad]."""
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def pose(parent: ElementTree.Element, owner: str) -> tuple[Array, Array]:
    """Return rotation (3, 3) and translation (3,) [m] of the <origin> child; identity if none."""
    origin = parent.find("origin")
    if origin is None:
        return np.eye(3), np.zeros(3)
    rpy = numbers(origin, "rpy", 3, "0 0 0", owner)
    return rotation_from_rpy(*rpy), numbers(origin, "xyz", 3, "0 0 0", owner)


def inertial(link: ElementTree.Element, solid: bool = True) -> RigidBody:
    """Return the rigid body of a <link> in the link's frame; massless without <inertial>.

    ``solid``: whether to raise ValueError for an inertia that no solid body can have.
    """
    element = link.find("inertial")
    if element is None:
        return RigidBody()
    owner = f"link '{link.get('name')}'"
    mass = _scalar(element, "mass", "value", owner)
    if mass < 0:
        raise ValueError(f"{owner}: mass = {mass} kg must not be negative. Give its mass.")
    tensor = element.find("inertia")
    if tensor is None:
        raise ValueError(f"{owner}: <inertial> has no <inertia>. Add it.")
    xx, yy, zz, xy, xz, yz = (
        float(numbers(tensor, key, 1, "0", owner)[0])
        for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    )
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if solid:
        _check_principal_inertias(inertia, owner)
    rotation, translation = pose(element, owner)
    return RigidBody(mass, np.zeros(3), inertia).moved(rotation, translation)


def _scalar(parent: ElementTree.Element, tag: str, name: str, owner: str) -> float:
    child = parent.find(tag)
    if child is None:
        raise ValueError(f"{owner}: <{parent.tag}> has no <{tag}>. Add it.")
    return float(numbers(child, name, 1, "", owner)[0])


def _check_principal_inertias(inertia: Array, owner: str) -> None:
    low, middle, high = np.linalg.eigvalsh(inertia)
    if low < -ROUNDING * abs(high) or high > (low + middle) * (1 + ROUNDING):
        raise ValueError(
            f"{owner}: principal inertias {low:.4g}, {middle:.4g}, {high:.4g} kg m^2 belong to no "
            "solid body: none may be negative or above the sum of the other two. Correct <inertia>."
        )


ROLLING_TYPES = ("continuous", "revolute")


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint: pose of the child in the parent's frame at zero; ``axis`` in the child frame.

    ``effort`` [N m], ``velocity`` [rad/s], ``damping`` [N m s/rad] and ``friction`` [N m] are None
    if the URDF has none; ``travel`` [rad]: range of motion; ``mimic``: joint that it follows, or
    "", by ``multiplier``.
    """

    name: str
    type: str
    parent: str
    child: str
    rotation: Array
    translation: Array
    axis: Array
    effort: float | None = None
    velocity: float | None = None
    damping: float | None = None
    friction: float | None = None
    travel: float = math.inf
    mimic: str = ""
    multiplier: float = 1.0


@dataclass(frozen=True, eq=False)
class PlacedLink:
    """A link and its pose in the frame of the root link, all joints at zero.

    ``rigid``: whether there is no movable joint between it and the root link.
    """

    element: ElementTree.Element
    rotation: Array
    translation: Array
    rigid: bool = True

    @property
    def name(self) -> str:
        return self.element.get("name", "")

    @property
    def has_shape(self) -> bool:
        return any(self.element.find(tag) is not None for tag in ("visual", "collision"))

    def body(self) -> RigidBody:
        """Return mass, centre of mass and inertia in the root link's frame."""
        return inertial(self.element).moved(self.rotation, self.translation)

    def body_mass(self) -> float:
        return inertial(self.element, solid=False).mass


class UrdfTree:
    """A URDF whose links form one tree; ValueError for any other text."""

    def __init__(self, urdf_text: str) -> None:
        try:
            robot = parse_xml(urdf_text)
        except ElementTree.ParseError as error:
            raise ValueError(f"the URDF is no well-formed XML: {error}.") from error
        if robot.tag != "robot":
            raise ValueError(f"the URDF's first element is <{robot.tag}>, it must be <robot>.")
        self.element = robot
        for tag in ("link", "joint"):
            names = Counter(each.get("name", "") for each in robot.findall(tag))
            twice = next((name for name, count in names.items() if count > 1), None)
            if twice is not None:
                raise ValueError(
                    f"the URDF has two of <{tag} name='{twice}'>. Remove or rename one."
                )
        self._elements = {link.get("name", ""): link for link in robot.findall("link")}
        LINKS.check(len(self._elements))
        # Only direct children of <robot>: <ros2_control> and <transmission> contain <joint> too.
        self.joints = {j.name: j for j in map(_read_joint, robot.findall("joint"))}
        self._children: dict[str, list[Joint]] = {}
        self.root = self._find_root()
        self.links = self._place()

    def _find_root(self) -> str:
        parent_joint: dict[str, str] = {}
        for joint in self.joints.values():
            for link in (joint.parent, joint.child):
                if link not in self._elements:
                    raise ValueError(
                        f"joint '{joint.name}' refers to the link '{link}', which the URDF does "
                        "not define. Add the link or correct the name."
                    )
            if joint.child in parent_joint:
                raise ValueError(
                    f"link '{joint.child}' is the child of the joints "
                    f"'{parent_joint[joint.child]}' and '{joint.name}'. Keep one of them."
                )
            parent_joint[joint.child] = joint.name
            self._children.setdefault(joint.parent, []).append(joint)
        roots = [name for name in self._elements if name not in parent_joint]
        if len(roots) != 1:
            raise ValueError(
                f"the URDF must have one root link, but has {roots or 'none (a loop)'}. "
                "Connect the links by joints."
            )
        return roots[0]

    def _place(self) -> dict[str, PlacedLink]:
        placed = {self.root: PlacedLink(self._elements[self.root], np.eye(3), np.zeros(3))}
        waiting = [self.root]
        while waiting:
            parent = placed[waiting.pop()]
            for joint in self._children.get(parent.name, []):
                placed[joint.child] = PlacedLink(
                    self._elements[joint.child],
                    parent.rotation @ joint.rotation,
                    parent.rotation @ joint.translation + parent.translation,
                    parent.rigid and joint.type == "fixed",
                )
                waiting.append(joint.child)
        lost = [name for name in self._elements if name not in placed]
        if lost:
            raise ValueError(f"the links {lost} form a loop. Remove one of their joints.")
        return placed

    def joints_above(self, name: str) -> list[Joint]:
        """Return the joints between a joint and the root link, the nearest first."""
        parent_joint = {joint.child: joint for joint in self.joints.values()}
        above, link = [], self.joints[name].parent
        while link in parent_joint:
            above.append(parent_joint[link])
            link = parent_joint[link].parent
        return above

    def axis(self, joint: Joint) -> Array:
        """Return the axis (3,) of a joint in the frame of the root link."""
        axis: Array = self.links[joint.child].rotation @ joint.axis
        return axis

    def check_joints(self, names: Collection[str]) -> None:
        for name in names:
            if name not in self.joints:
                raise ValueError(
                    f"the URDF has no joint '{name}'. Its joints are: {', '.join(self.joints)}."
                )

    def rigid_group(self, link: str, stop: Collection[str] = ()) -> list[PlacedLink]:
        """Return the links that move as one with ``link``, itself included, up to joints ``stop``.

        All other joints count as fixed at zero.
        """
        group, waiting = [], [link]
        while waiting:
            name = waiting.pop()
            group.append(self.links[name])
            children = self._children.get(name, [])
            waiting += [joint.child for joint in children if joint.name not in stop]
        return group


def _read_joint(element: ElementTree.Element) -> Joint:
    name = element.get("name", "")
    owner = f"joint '{name}'"
    ends = {}
    for tag in ("parent", "child"):
        child = element.find(tag)
        if child is None or not child.get("link"):
            raise ValueError(f"{owner} has no <{tag} link=...>. Add it.")
        ends[tag] = child.get("link", "")
    axis_element = element.find("axis")
    axis = np.array([1.0, 0.0, 0.0])
    if axis_element is not None:
        axis = numbers(axis_element, "xyz", 3, "1 0 0", owner)
    length = float(np.linalg.norm(axis))
    kind = element.get("type", "")
    if length == 0 and kind != "fixed":
        raise ValueError(f"{owner}: the axis is 0 0 0. Give its direction.")
    rotation, translation = pose(element, owner)
    lower, upper = (_optional(element, "limit", key, owner) for key in ("lower", "upper"))
    mimic = element.find("mimic")
    multiplier = _optional(element, "mimic", "multiplier", owner)
    return Joint(
        name,
        kind,
        ends["parent"],
        ends["child"],
        rotation,
        translation,
        axis / (length or 1.0),
        effort=_optional(element, "limit", "effort", owner),
        velocity=_optional(element, "limit", "velocity", owner),
        damping=_optional(element, "dynamics", "damping", owner),
        friction=_optional(element, "dynamics", "friction", owner),
        travel=math.inf if lower is None or upper is None else upper - lower,
        mimic="" if mimic is None else mimic.get("joint", ""),
        multiplier=1.0 if multiplier is None else multiplier,
    )


def _optional(parent: ElementTree.Element, tag: str, name: str, owner: str) -> float | None:
    child = parent.find(tag)
    if child is None or child.get(name) is None:
        return None
    try:
        value = float(child.get(name, ""))
    except ValueError:
        return float(numbers(child, name, 1, "", owner)[0])  # raises an error with the details
    return value if math.isfinite(value) else None
