# SPDX-License-Identifier: Apache-2.0
"""The lumped model of a URDF as it stands: nothing is corrected, averaged or rounded."""

from __future__ import annotations

import numpy as np

from diffbot_description import RobotModel
from diffbot_description.urdf_tree import RigidBody, UrdfTree, numbers, pose

JOINTS = ("left_wheel_joint", "right_wheel_joint")


def model_of(text: str, left: str = JOINTS[0], right: str = JOINTS[1]) -> RobotModel:
    """Return the model of two wheels that are mirror images, with round collision shapes."""
    tree = UrdfTree(text)
    radius, center, wheel = _wheel(tree, left)
    middle = 0.5 * (center + _wheel(tree, right)[1])
    half_track = float(center[1] - middle[1])
    body = _joined(tree.rigid_group(tree.root, (left, right)))
    return RobotModel(
        wheel_radius=radius,
        half_track=half_track,
        mass_body=body.mass,
        inertia_body=float(body.inertia[2, 2]),
        com_offset=float(body.com[0] - middle[0]),
        wheel_mass=wheel.mass,
        wheel_inertia_spin=float(wheel.inertia[1, 1]),
        wheel_inertia_yaw=float(wheel.inertia_about(middle)[2, 2] - wheel.mass * half_track**2),
    )


def _wheel(tree: UrdfTree, joint: str) -> tuple[float, np.ndarray, RigidBody]:
    link = tree.links[tree.joints[joint].child]
    collision = link.element.find("collision")
    shapes = (collision.find(f"geometry/{kind}") for kind in ("sphere", "cylinder"))
    shape = next(each for each in shapes if each is not None)
    center = link.rotation @ pose(collision, joint)[1] + link.translation
    radius = float(numbers(shape, "radius", 1, "", joint)[0])
    return radius, center, _joined(tree.rigid_group(link.name))


def _joined(links) -> RigidBody:
    return sum((link.body() for link in links), RigidBody())
