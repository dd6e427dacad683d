# SPDX-License-Identifier: Apache-2.0
"""A robot's own URDF with the inertias that were identified, and nothing else changed.

All masses and inertias of the body are scaled to the identified mass. The heaviest link takes what
is missing: its centre of mass moves along x, and its inertia about z changes, or else all inertias
shrink by one factor. Inertias of wheels change only where the robot's file has others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from diffbot_description.plausible_inertia import raw_body
from diffbot_description.robot import BodyInertia, Robot
from diffbot_description.robot_parsing import ROUNDING
from diffbot_description.urdf_appearance import shapes_file
from diffbot_description.urdf_files import read_urdf
from diffbot_description.urdf_tree import Array, PlacedLink, RigidBody, UrdfTree, inertial

# Relative differences: up to which the URDF's wheels are those of the file, which has seven digits,
# and from which written inertias are a mistake.
SAME, WRITTEN = 1e-5, 1e-6


def own_urdf(robot: Robot) -> str | None:
    """Return the robot's own URDF with its identified inertias; None if it has none.

    Raises:
        ValueError: The URDF cannot be read, or cannot have these inertias.
    """
    if robot.appearance.urdf is None:
        return None
    path = shapes_file(robot)
    try:
        return with_inertias(_with_absolute_files(read_urdf(path), path.parent), robot)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def with_inertias(text: str, robot: Robot) -> str:
    """Return a URDF with the <inertial> elements of a robot's body; ValueError if it cannot be."""
    tree = UrdfTree(text)
    tree.check_joints(robot.joints.names)
    wanted = _body_bodies(tree, robot) | _wheel_bodies(tree, robot)
    for name, body in wanted.items():
        text = _with_inertial(text, name, body, tree.links[name])
    _check(UrdfTree(text), robot)
    return text


def _body_links(tree: UrdfTree, robot: Robot) -> list[PlacedLink]:
    return tree.rigid_group(tree.root, robot.joints.names)


def _axle(tree: UrdfTree, robot: Robot) -> float:
    """Return x of the axle's midpoint in the root link's frame, m."""
    places = [tree.links[tree.joints[name].child].translation[0] for name in robot.joints.names]
    return float(np.mean(places))


def _body_bodies(tree: UrdfTree, robot: Robot) -> dict[str, RigidBody]:
    links, body = _body_links(tree, robot), robot.body
    bodies = {link.name: raw_body([link]) for link in links}
    weighed = {name: own for name, own in bodies.items() if own.mass > 0.0}
    if not weighed:
        raise ValueError(
            "no link of the body has a mass (<inertial>), so there is none to put the identified "
            "one into. Give its main link an <inertial>."
        )
    factor = body.mass / sum(own.mass for own in weighed.values())
    scaled = {
        name: replace(own, mass=factor * own.mass, inertia=factor * own.inertia)
        for name, own in weighed.items()
    }
    main = max(scaled, key=lambda name: scaled[name].mass)
    whole = sum(scaled.values(), RigidBody())
    wanted = _axle(tree, robot) + body.center_of_mass.x
    shift = (wanted - whole.com[0]) * whole.mass / scaled[main].mass
    scaled[main] = replace(scaled[main], com=scaled[main].com + [shift, 0.0, 0.0])
    missing = body.inertia.yaw - float(sum(scaled.values(), RigidBody()).inertia[2, 2])
    if missing <= -float(scaled[main].inertia[2, 2]):
        own = sum(float(each.inertia[2, 2]) for each in scaled.values())
        fraction = 1.0 + missing / own
        if fraction <= 0.0:
            raise ValueError(
                f"the identified yaw inertia of the body is {body.inertia.yaw:.4g} kg m^2, but its "
                f"links' masses alone have {body.inertia.yaw - missing - own:.4g} kg m^2 by their "
                "places. Correct the masses or places of the links."
            )
        return {
            name: replace(each, inertia=fraction * each.inertia) for name, each in scaled.items()
        }
    scaled[main] = replace(scaled[main], inertia=_with_yaw(scaled[main], missing))
    return scaled


def _with_yaw(body: RigidBody, more: float) -> Array:
    """Return the inertia (3, 3) [kg m^2] of a link with more about z, as of a solid."""
    inertia = body.inertia.copy()
    yaw = float(inertia[2, 2]) + more
    roll, pitch = (max(float(inertia[i, i]), 1e-3 * yaw) for i in (0, 1))
    solid = BodyInertia(roll, pitch, 0.0).with_yaw(yaw)
    inertia[[0, 1, 2], [0, 1, 2]] = solid.roll, solid.pitch, solid.yaw
    low, middle, high = np.linalg.eigvalsh(inertia)
    if low <= 0.0 or high > (low + middle) * (1 + ROUNDING):
        inertia = np.diag(inertia.diagonal())  # its products belong to no solid of this kind
    return inertia


def _wheel_bodies(tree: UrdfTree, robot: Robot) -> dict[str, RigidBody]:
    results: dict[str, RigidBody] = {}
    for side in (robot.joints.left, robot.joints.right):
        groups = [tree.rigid_group(tree.joints[name].child) for name in side]
        places = [tree.links[tree.joints[name].child].translation[0] for name in side]
        wanted = _single_wheel(robot, len(side), float(np.var(places)))
        for name, group in zip(side, groups, strict=True):
            own, axis = raw_body(group), tree.axis(tree.joints[name])
            if np.allclose(_of_wheel(own, axis), wanted, rtol=SAME, atol=0.0):
                continue
            mass, spin, yaw = wanted
            if sum(raw_body([link]).mass > 0.0 for link in group) > 1:
                raise ValueError(
                    f"the wheel of joint '{name}' has {own.mass:.4g} kg in several links, and "
                    f"{mass:.4g} kg in {robot.path.name}. Put its mass into one link."
                )
            link = max(group, key=lambda link: raw_body([link]).mass)
            along = np.outer(axis, axis)
            place = own.com if own.mass > 0.0 else link.translation
            results[link.name] = RigidBody(mass, place, yaw * np.eye(3) + (spin - yaw) * along)
    return results


def _single_wheel(robot: Robot, count: int, spread: float) -> tuple[float, float, float]:
    """Return mass, spin inertia and yaw inertia of one of a side's wheels, kg and kg m^2."""
    wheels = robot.wheels
    yaw = (wheels.inertia_yaw - wheels.mass * spread) / count
    spin = wheels.inertia_spin / count
    return wheels.mass / count, spin, max(yaw, spin / 2)


def _of_wheel(body: RigidBody, axis: Array) -> tuple[float, float, float]:
    spin = float(axis @ body.inertia @ axis)
    return body.mass, spin, max(float(body.inertia[2, 2]), spin / 2)


def _check(tree: UrdfTree, robot: Robot) -> None:
    body = sum((link.body() for link in _body_links(tree, robot)), RigidBody())
    result = body.mass, float(body.com[0]) - _axle(tree, robot), float(body.inertia[2, 2])
    wanted = robot.body.mass, robot.body.center_of_mass.x, robot.body.inertia.yaw
    size = robot.wheels.half_track
    if not np.allclose(result, wanted, rtol=WRITTEN, atol=WRITTEN * size):
        raise ValueError(
            "its <inertial> elements could not be replaced: the body would have "
            f"{result[0]:.6g} kg, {result[1]:.6g} m and {result[2]:.6g} kg m^2 instead of "
            f"{wanted[0]:.6g}, {wanted[1]:.6g} and {wanted[2]:.6g}. Give each <link> its name in "
            "quotes and one <inertial> at most."
        )


def _with_inertial(text: str, name: str, body: RigidBody, link: PlacedLink) -> str:
    """Return the text with another <inertial> of a link; `body` is in the root link's frame."""
    if _same(inertial(link.element, solid=False), body, link):
        return text
    own = body.moved(link.rotation.T, -link.rotation.T @ link.translation)
    place = " ".join(f"{float(value) + 0.0:.12g}" for value in np.round(own.com, 12))
    entries = " ".join(
        f'{key}="{float(own.inertia[i, j]) + 0.0:.12g}"'
        for key, (i, j) in zip(
            ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
            ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)),
            strict=True,
        )
    )
    element = (
        f'<inertial><origin xyz="{place}"/><mass value="{own.mass:.12g}"/>'
        f"<inertia {entries}/></inertial>"
    )
    warm_up = re.search(rf"""<link\b[^>]*\bname\s*=\s*["']{re.escape(name)}["'][^>]*>""", text)
    if warm_up is None:
        return text  # _check finds out
    start, empty = warm_up.end(), warm_up[0].endswith("/>")
    if empty:
        whole = f"{warm_up[0][:-2].rstrip()}>{element}</link>"
        return text[: warm_up.start()] + whole + text[start:]
    end = text.find("</link>", start)
    old = re.search(r"<inertial\b.*?</inertial\s*>", text[start:end], re.DOTALL)
    first, last = (0, 0) if old is None else old.span()
    return text[: start + first] + element + text[start + last :]


def _same(old: RigidBody, new: RigidBody, link: PlacedLink) -> bool:
    placed = old.moved(link.rotation, link.translation)
    pairs: Sequence[tuple[Array, Array]] = (
        (np.array(placed.mass), np.array(new.mass)),
        (placed.com, new.com),
        (placed.inertia, new.inertia),
    )
    return all(np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in pairs)


def _with_absolute_files(text: str, folder: Path) -> str:
    def absolute(match: re.Match[str]) -> str:
        start, name, end = match.groups()
        return match[0] if "://" in name else f"{start}file://{(folder / name).resolve()}{end}"

    return re.sub(r"""(<mesh\b[^>]*\bfilename\s*=\s*["'])([^"']*)(["'])""", absolute, text)
