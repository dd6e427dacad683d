"""The tree of links and joints of a URDF, and the rigid groups in it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from diffbot_description.rigid_body import RigidBody
from diffbot_description.urdf_elements import inertial, numbers, pose

ROLLING_TYPES = ("continuous", "revolute")


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint: child frame in the parent's frame at zero position; ``axis`` in the child frame."""

    name: str
    type: str
    parent: str
    child: str
    rotation: np.ndarray
    translation: np.ndarray
    axis: np.ndarray


@dataclass(frozen=True, eq=False)
class PlacedLink:
    """A link and its pose in the frame of the root link, all joints at zero."""

    element: ElementTree.Element
    rotation: np.ndarray
    translation: np.ndarray

    @property
    def name(self) -> str:
        """Name of the link."""
        return self.element.get("name", "")

    def body(self) -> RigidBody:
        """Return mass, centre of mass and inertia in the root link's frame."""
        return inertial(self.element).moved(self.rotation, self.translation)


class UrdfTree:
    """A URDF whose links form one tree.

    Raises ValueError for text that is no URDF, links without a definition, two parents, a loop
    or several roots.
    """

    def __init__(self, urdf_text: str) -> None:
        try:
            robot = ElementTree.fromstring(urdf_text)
        except ElementTree.ParseError as error:
            raise ValueError(f"the URDF is no well-formed XML: {error}.") from error
        if robot.tag != "robot":
            raise ValueError(f"the URDF's first element is <{robot.tag}>, it must be <robot>.")
        self._elements = {link.get("name", ""): link for link in robot.findall("link")}
        # A <joint> of <ros2_control> or <transmission> is no child of <robot>.
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
                )
                waiting.append(joint.child)
        lost = [name for name in self._elements if name not in placed]
        if lost:
            raise ValueError(f"the links {lost} form a loop. Remove one of their joints.")
        return placed

    def check_joints(self, names: Collection[str]) -> None:
        """Raise ValueError if the URDF lacks one of the joints."""
        for name in names:
            if name not in self.joints:
                raise ValueError(
                    f"the URDF has no joint '{name}'. Its joints are: {', '.join(self.joints)}."
                )

    def rigid_group(
        self, link: str, stop: Collection[str], locked: Collection[str] = ()
    ) -> list[PlacedLink]:
        """Return the links that move as one with ``link``, itself included.

        ``stop``: joints not to look behind. ``locked``: movable joints that count as fixed.
        Raises ValueError for a movable joint in neither with any mass behind it.
        """
        group, waiting = [], [link]
        while waiting:
            name = waiting.pop()
            group.append(self.links[name])
            for joint in self._children.get(name, []):
                if joint.name in stop:
                    continue
                if joint.type != "fixed" and joint.name not in locked:
                    self._check_massless(joint)
                    continue
                waiting.append(joint.child)
        return group

    def _check_massless(self, joint: Joint) -> None:
        waiting = [joint.child]
        while waiting:
            name = waiting.pop()
            mass = self.links[name].body().mass
            if mass > 0:
                raise ValueError(
                    f"joint '{joint.name}' ({joint.type}) lets the link '{name}' of {mass:g} kg "
                    "move, but the model knows only a rigid body and two wheels. Make the joint "
                    f"fixed, or pass locked=['{joint.name}'] to count the link as part of the body."
                )
            waiting.extend(child.child for child in self._children.get(name, []))


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
    if length == 0:
        raise ValueError(f"{owner}: the axis is 0 0 0. Give its direction.")
    rotation, translation = pose(element, owner)
    return Joint(
        name,
        element.get("type", ""),
        ends["parent"],
        ends["child"],
        rotation,
        translation,
        axis / length,
    )
