"""One driven wheel of a URDF: where it touches the ground, its mass and its inertias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from diffbot_description.rigid_body import RigidBody
from diffbot_description.urdf_elements import numbers, pose
from diffbot_description.urdf_tree import ROLLING_TYPES, Joint, PlacedLink, UrdfTree

# Largest slope of an axle and relative asymmetry of a wheel that count as rounding.
TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class WheelGeometry:
    """A driven wheel; positions in the root link's frame.

    radius [m]; center (3,) [m], the point of the axle above the contact point; body: mass, centre
    of mass and inertia of everything that turns with the wheel.
    """

    joint: str
    radius: float
    center: np.ndarray
    body: RigidBody

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return self.body.mass

    @property
    def inertia_spin(self) -> float:
        """Inertia about the axle [kg m^2]."""
        return float(self.body.inertia[1, 1])

    def yaw_inertia_about(self, point: np.ndarray) -> float:
        """Return the inertia [kg m^2] about the vertical through a point (3,) [m]."""
        return float(self.body.inertia_about(point)[2, 2])


def read_wheel(
    tree: UrdfTree, joint_name: str, radius: float | None = None, locked: Sequence[str] = ()
) -> WheelGeometry:
    """Return the wheel behind a joint. ``radius`` [m] overrides the collision shape's radius.

    Raises ValueError naming joint or link if the joint is missing or does not roll forward about
    +y, if the wheel has no mass, no round collision shape or is not balanced.
    """
    joint = _rolling_joint(tree, joint_name)
    link = tree.links[joint.child]
    center, found = _contact_shape(link, radius)
    body = sum((part.body() for part in tree.rigid_group(joint.child, (), locked)), RigidBody())
    _check_balance(body, link.translation, link.name)
    return WheelGeometry(joint_name, found, center, body)


def _rolling_joint(tree: UrdfTree, name: str) -> Joint:
    joint = tree.joints.get(name)
    if joint is None:
        rolling = [j.name for j in tree.joints.values() if j.type in ROLLING_TYPES]
        raise ValueError(
            f"the URDF has no joint '{name}'. Its turning joints are: "
            f"{', '.join(rolling) or 'none'}. Give the names of the wheel joints."
        )
    if joint.type not in ROLLING_TYPES:
        raise ValueError(
            f"joint '{name}' is of type '{joint.type}', a wheel joint must be 'continuous'."
        )
    axis = tree.links[joint.child].rotation @ joint.axis
    if abs(axis[0]) > TOLERANCE or abs(axis[2]) > TOLERANCE or axis[1] < 0:
        shown = " ".join(f"{value + 0.0:.4g}" for value in np.round(axis, 6))
        raise ValueError(
            f"joint '{name}' turns about ({shown}) of the root link, it must turn about "
            "(0 1 0), so that a positive angle rolls forward. Change its <axis> or <origin rpy>."
        )
    return joint


def _contact_shape(link: PlacedLink, radius: float | None) -> tuple[np.ndarray, float]:
    """Return the centre (3,) and the radius of the collision shape that rolls."""
    owner = f"link '{link.name}'"
    for collision in link.element.findall("collision"):
        found = _round_radius(collision, owner)
        if found is None and radius is None:
            continue
        _, offset = pose(collision, owner)
        center = link.rotation @ offset + link.translation
        _check_on_axle(center, link, owner)
        return center, _positive(radius or found or 0.0, owner)
    if radius is not None:
        return link.translation, _positive(radius, owner)
    raise ValueError(
        f"{owner} has no <collision> with a <sphere> or <cylinder>, so its radius is unknown. "
        "Add one, or pass wheel_radius."
    )


def _round_radius(collision: ElementTree.Element, owner: str) -> float | None:
    for tag in ("sphere", "cylinder"):
        shape = collision.find(f"geometry/{tag}")
        if shape is not None:
            return float(numbers(shape, "radius", 1, "", owner)[0])
    return None


def _positive(radius: float, owner: str) -> float:
    if not 0 < radius < float("inf"):
        raise ValueError(f"{owner}: wheel radius = {radius} m must be above 0. Give the radius.")
    return radius


def _check_on_axle(center: np.ndarray, link: PlacedLink, owner: str) -> None:
    off = np.hypot(center[0] - link.translation[0], center[2] - link.translation[2])
    if off > 1e-6:
        raise ValueError(
            f"{owner}: its collision shape is {off:.4g} m away from the axle, so the wheel would "
            "not roll. Put the <collision> origin on the axle."
        )


def _check_balance(body: RigidBody, axle: np.ndarray, link: str) -> None:
    if body.mass <= 0:
        raise ValueError(f"link '{link}' has no mass. Give the wheel an <inertial>.")
    inertia = body.inertia
    scale = float(np.max(np.abs(inertia)))
    if scale <= 0:
        raise ValueError(f"link '{link}' has no inertia. Give the wheel an <inertia>.")
    off = np.hypot(body.com[0] - axle[0], body.com[2] - axle[2])
    radius_of_gyration = np.sqrt(scale / body.mass)
    uneven = abs(inertia[0, 0] - inertia[2, 2]) > TOLERANCE * scale
    products = max(abs(inertia[0, 1]), abs(inertia[1, 2]), abs(inertia[0, 2]))
    if off > TOLERANCE * radius_of_gyration or uneven or products > TOLERANCE * scale:
        raise ValueError(
            f"link '{link}' is not balanced about its axle: centre of mass {off:.4g} m off the "
            f"axle, inertias {inertia[0, 0]:.4g} and {inertia[2, 2]:.4g} kg m^2 across it, largest "
            f"product {products:.4g} kg m^2. Make the wheel round about its axle."
        )
