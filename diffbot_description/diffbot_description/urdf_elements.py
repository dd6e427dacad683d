"""Reading of single URDF elements, with messages that name the link or joint."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np

from diffbot_description.rigid_body import RigidBody

# Inertias in URDF files are rounded; this much of the largest one is no error.
ROUNDING = 1e-3


def numbers(
    element: ElementTree.Element, name: str, count: int, default: str, owner: str
) -> np.ndarray:
    """Return an attribute of ``count`` finite numbers as an array; ValueError names ``owner``."""
    text = element.get(name, default)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.empty(0)
    if len(values) != count or not np.all(np.isfinite(values)):
        wanted = "one finite number" if count == 1 else f"{count} finite numbers"
        raise ValueError(f'{owner}: <{element.tag} {name}="{text}"> must hold {wanted}.')
    return values


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
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


def pose(parent: ElementTree.Element, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rotation (3, 3) and translation (3,) [m] of the <origin> child; identity if none."""
    origin = parent.find("origin")
    if origin is None:
        return np.eye(3), np.zeros(3)
    rpy = numbers(origin, "rpy", 3, "0 0 0", owner)
    return rotation_from_rpy(*rpy), numbers(origin, "xyz", 3, "0 0 0", owner)


def inertial(link: ElementTree.Element) -> RigidBody:
    """Return the rigid body of a <link> in the link's frame; massless without <inertial>."""
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
    _check_principal_inertias(inertia, owner)
    rotation, translation = pose(element, owner)
    return RigidBody(mass, np.zeros(3), inertia).moved(rotation, translation)


def _scalar(parent: ElementTree.Element, tag: str, name: str, owner: str) -> float:
    child = parent.find(tag)
    if child is None:
        raise ValueError(f"{owner}: <{parent.tag}> has no <{tag}>. Add it.")
    return float(numbers(child, name, 1, "", owner)[0])


def _check_principal_inertias(inertia: np.ndarray, owner: str) -> None:
    low, middle, high = np.linalg.eigvalsh(inertia)
    if low < -ROUNDING * abs(high) or high > (low + middle) * (1 + ROUNDING):
        raise ValueError(
            f"{owner}: principal inertias {low:.4g}, {middle:.4g}, {high:.4g} kg m^2 belong to no "
            "solid body: none may be negative or above the sum of the other two. Correct <inertia>."
        )
