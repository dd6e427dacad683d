# SPDX-License-Identifier: Apache-2.0
"""The lumped model of a differential-drive robot: one body and two equal wheels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from xml.etree import ElementTree

import numpy as np

from diffbot_description.urdf_tree import (
    ROLLING_TYPES,
    Array,
    Joint,
    PlacedLink,
    RigidBody,
    UrdfTree,
    numbers,
    pose,
)

# Slopes and relative asymmetries up to this are rounding.
TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class UrdfWheel:
    """A driven wheel of a URDF; positions are in the root link's frame.

    Attributes:
        radius: Wheel radius, m.
        center: Point of the axle above the contact point, (3,), m.
        body: Everything that turns with the wheel.
    """

    joint: str
    radius: float
    center: Array
    body: RigidBody

    def measures(self, middle: Array) -> tuple[float, float, float, float]:
        """Return radius [m], mass [kg], spin inertia and yaw inertia about a point [kg m^2]."""
        about = self.body.inertia_about(middle)
        return self.radius, self.body.mass, float(self.body.inertia[1, 1]), float(about[2, 2])


def read_wheel(
    tree: UrdfTree, joint_name: str, radius: float | None = None, locked: Sequence[str] = ()
) -> UrdfWheel:
    """Return the wheel behind a joint; ``radius`` [m] overrides that of the collision shape.

    ValueError: The joint does not turn about y, or the wheel has no mass, no round collision shape
    or is not balanced.
    """
    joint = _rolling_joint(tree, joint_name)
    link = tree.links[joint.child]
    center, result = _contact_shape(link, radius)
    body = sum((part.body() for part in tree.rigid_group(joint.child, (), locked)), RigidBody())
    _check_balance(body, link.translation, link.name)
    return UrdfWheel(joint_name, result, center, body)


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
    if abs(axis[0]) > TOLERANCE or abs(axis[2]) > TOLERANCE:
        shown = " ".join(f"{value + 0.0:.4g}" for value in np.round(axis, 6))
        raise ValueError(
            f"joint '{name}' turns about ({shown}) of the root link, it must turn about (0 1 0), "
            "or (0 -1 0) where a positive angle rolls backward. Change its <axis> or <origin rpy>."
        )
    return joint


def _contact_shape(link: PlacedLink, radius: float | None) -> tuple[Array, float]:
    owner = f"link '{link.name}'"
    for collision in link.element.findall("collision"):
        result = _round_radius(collision, owner)
        if result is None and radius is None:
            continue
        _, offset = pose(collision, owner)
        center = link.rotation @ offset + link.translation
        _check_on_axle(center, link, owner)
        return center, _positive(radius or result or 0.0, owner)
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


def _check_on_axle(center: Array, link: PlacedLink, owner: str) -> None:
    off = np.hypot(center[0] - link.translation[0], center[2] - link.translation[2])
    if off > 1e-6:
        raise ValueError(
            f"{owner}: its collision shape is {off:.4g} m away from the axle, so the wheel would "
            "not roll. Put the <collision> origin on the axle."
        )


def _check_balance(body: RigidBody, axle: Array, link: str) -> None:
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


_MEASURES = ("radius", "mass", "inertia_spin", "yaw inertia about the axle's midpoint")


@dataclass(frozen=True)
class RobotModel:
    """Parameters of the planar motion of a robot. Casters have no mass and no friction.

    Attributes:
        wheel_radius: r, m.
        half_track: b, half the distance of the contact points, m.
        mass_body, inertia_body: m_b, kg, and I_b, about its own centre of mass, kg m^2.
        com_offset: d, how far the body's centre of mass is ahead of the axle, m.
        wheel_mass, wheel_inertia_spin, wheel_inertia_yaw: m_w, kg, J and I_wz, kg m^2, of one
            wheel; I_wz + m_w b^2 is the yaw inertia of one wheel about the axle's midpoint.

    Raises:
        ValueError: No robot can have such a value.

    Example:
        >>> from diffbot_description import load_robot
        >>> model = load_robot("twil").model
        >>> round(model.equivalent_mass, 3), round(model.equivalent_inertia, 4)  # kg, kg m^2
        (5.037, 0.1128)
    """

    wheel_radius: float
    half_track: float
    mass_body: float
    inertia_body: float
    com_offset: float
    wheel_mass: float
    wheel_inertia_spin: float
    wheel_inertia_yaw: float

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            positive = entry.name not in ("com_offset", "wheel_inertia_yaw")
            if not math.isfinite(value) or (positive and value <= 0):
                limit = "finite and above 0" if positive else "finite"
                raise ValueError(f"{entry.name} = {value} must be {limit}. Correct the robot.")

    @property
    def equivalent_mass(self) -> float:
        """M_e [kg]: equivalent mass of the forward motion, spinning wheels included."""
        spin = 2 * self.wheel_inertia_spin / self.wheel_radius**2
        return self.mass_body + 2 * self.wheel_mass + spin

    @property
    def equivalent_inertia(self) -> float:
        """I_e [kg m^2]: equivalent yaw inertia about the axle's midpoint, with spinning wheels."""
        b = self.half_track
        body = self.inertia_body + self.mass_body * self.com_offset**2
        wheels = 2 * (self.wheel_inertia_yaw + self.wheel_mass * b**2)
        return body + wheels + 2 * self.wheel_inertia_spin * (b / self.wheel_radius) ** 2

    def with_payload(self, mass: float, x: float, yaw_inertia: float) -> RobotModel:
        """Return the robot with a load on the centre line of its body, x m ahead of the axle.

        mass [kg] and yaw_inertia [kg m^2], about the load's own centre of mass, >= 0; else
        ValueError.
        """
        for name, value in (("mass", mass), ("yaw_inertia", yaw_inertia)):
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"payload {name} = {value} must be finite and at least 0.")
        if not math.isfinite(x):
            raise ValueError(f"payload x = {x} m must be finite.")
        total = self.mass_body + mass
        reduced = self.mass_body * mass / total
        return replace(
            self,
            mass_body=total,
            com_offset=(self.mass_body * self.com_offset + mass * x) / total,
            inertia_body=self.inertia_body + yaw_inertia + reduced * (x - self.com_offset) ** 2,
        )

    @classmethod
    def from_urdf(
        cls,
        urdf_text: str,
        left: str = "left_wheel_joint",
        right: str = "right_wheel_joint",
        *,
        wheel_radius: float | None = None,
        locked: Sequence[str] = (),
    ) -> RobotModel:
        """Return the model of a differential-drive robot given as URDF text, read to the letter.

        Args:
            urdf_text: The root link's x points forward and its z up; all fixed to it is the body.
            left, right: The wheels' joints.
            wheel_radius: Overrides the radius of the wheels' collision shapes, m.
            locked: Movable joints (swivel casters, arms) that count as fixed at zero.

        Raises:
            ValueError: Something does not match the model; names link or joint.
        """
        tree = UrdfTree(urdf_text)
        tree.check_joints(locked)
        wheels = [read_wheel(tree, name, wheel_radius, locked) for name in (left, right)]
        middle = (wheels[0].center + wheels[1].center) / 2
        half_track = float(wheels[0].center[1] - middle[1])
        _check_mirror(wheels[0], wheels[1], middle)
        links = tree.rigid_group(tree.root, (left, right), locked)
        _check_wheels_on_body(tree, links, (left, right))
        body = sum((link.body() for link in links), RigidBody())
        _check_symmetry(links, body, float(middle[1]), half_track)
        radius, mass, spin, yaw = np.mean([wheel.measures(middle) for wheel in wheels], axis=0)
        return cls(
            wheel_radius=float(radius),
            half_track=half_track,
            mass_body=body.mass,
            inertia_body=float(body.inertia[2, 2]),
            com_offset=float(body.com[0] - middle[0]),
            wheel_mass=float(mass),
            wheel_inertia_spin=float(spin),
            wheel_inertia_yaw=float(yaw - mass * half_track**2),
        )


def _check_wheels_on_body(tree: UrdfTree, links: list[PlacedLink], joints: Sequence[str]) -> None:
    names = {link.name for link in links}
    for joint in joints:
        parent = tree.joints[joint].parent
        if parent not in names:
            raise ValueError(
                f"joint '{joint}' is attached to link '{parent}', which is not rigidly fixed to "
                f"the root link '{tree.root}'. Make the joints between them fixed or pass them "
                "locked."
            )


def _check_mirror(left: UrdfWheel, right: UrdfWheel, middle: Array) -> None:
    if left.center[1] <= right.center[1]:
        raise ValueError(
            f"'{left.joint}' lies to the right of '{right.joint}' (y = {left.center[1]:.4g} and "
            f"{right.center[1]:.4g} m). Exchange left and right."
        )
    pairs = (left.measures(middle), right.measures(middle))
    for name, first, second in zip(_MEASURES, *pairs, strict=True):
        if not math.isclose(first, second, rel_tol=TOLERANCE):
            raise ValueError(
                f"the wheels of '{left.joint}' and '{right.joint}' must be mirror images, but "
                f"their {name} is {first:.6g} and {second:.6g}. Make them equal."
            )
    skew = np.abs(left.center - right.center)[[0, 2]].max()
    if skew > TOLERANCE * (left.center[1] - right.center[1]):
        raise ValueError(
            f"the axles of '{left.joint}' and '{right.joint}' are {skew:.4g} m apart in x or z. "
            "Put both on one line."
        )


def _check_symmetry(
    links: list[PlacedLink], body: RigidBody, middle: float, half_track: float
) -> None:
    if body.mass <= 0:
        raise ValueError(f"the body (link '{links[0].name}') has no mass. Give it an <inertial>.")
    side = float(body.com[1]) - middle
    limit = 1e-3 * half_track
    if abs(side) > limit:
        worst = max(links, key=lambda link: _moment(link, middle) * side)
        raise ValueError(
            f"the body's centre of mass is {abs(side):.4g} m to the "
            f"{'left' if side > 0.0 else 'right'} of the middle between the wheels; K5 to K8 need "
            f"it within {limit:.2g} m. Move masses, for example of the link "
            f"'{worst.name}', or add a counterweight."
        )


def _moment(link: PlacedLink, middle: float) -> float:
    body = link.body()
    return body.mass * (float(body.com[1]) - middle)
