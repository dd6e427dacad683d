"""The robot as Gazebo loads it: converted from its URDF by Gazebo's own program, with its colours.

How near identification from it comes to the closed form is in benchmarks/contact_settings.py.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from diffbot_description import Robot, urdf
from diffbot_sim.gazebo.installation import GazeboError, Installation

_NAME = "numbered_{}_"
_NUMBER = re.compile(r"numbered_(\d+)_")
_WORD = "{} {} {} 1"


@dataclass(frozen=True)
class PhysicsSettings:
    """Settings of ODE in Gazebo; the defaults are the best known.

    Attributes:
        inner_step: longest integration step, s.
        solver: "world" (exact) or "quick" (iterative).
        iterations: of the iterative solver.
        mixing: constraint force mixing of all contacts and joints. With 0 the exact solver fails
            in one of 40 steps, because both wheels hold the robot sideways; 1e-9 is enough.
        stiffness: of the contacts, N/m; None for the robot's own.
        damping: of the contacts, N s/m; None for the robot's own.
        wheel_friction: Coulomb coefficient of the wheels; None for the robot's own.
    """

    inner_step: float = 0.001
    solver: str = "world"
    iterations: int = 50
    mixing: float = 1e-8
    stiffness: float | None = None
    damping: float | None = None
    wheel_friction: float | None = None


def robot_sdf(
    installation: Installation, robot: Robot, settings: PhysicsSettings, folder: Path
) -> str:
    """Return the robot as SDF.

    Args:
        installation: whose converter is used.
        robot: gives the URDF.
        settings: of its contacts.
        folder: for the URDF on its way.

    Raises:
        GazeboError: Gazebo refuses the URDF; the message holds what it says.
    """
    tree = ElementTree.fromstring(urdf(robot))
    _set_contacts(tree, settings)
    # The converter drops colours but keeps names.
    visuals = list(tree.iter("visual"))
    for number, visual in enumerate(visuals):
        visual.set("name", _NAME.format(number))
    model = ElementTree.fromstring(_convert(installation, tree, folder))
    colours = _colours(tree)
    for visual in model.iter("visual"):
        match = _NUMBER.search(visual.get("name", ""))
        material = visuals[int(match.group(1))].find("material") if match else None
        if material is not None:
            visual.append(_material(colours[material.get("name", "")]))
    return ElementTree.tostring(model, encoding="unicode")


def _set_contacts(tree: Element, settings: PhysicsSettings) -> None:
    wheels = {child.get("link") for child in tree.iterfind("joint[@type='continuous']/child")}
    for element in tree.iterfind("gazebo[kp]"):
        friction = settings.wheel_friction if element.get("reference") in wheels else None
        values = {"kp": settings.stiffness, "kd": settings.damping}
        values |= {"mu1": friction, "mu2": friction}
        for name, value in values.items():
            if value is not None:
                element.find(name).text = str(value)


def _convert(installation: Installation, tree: Element, folder: Path) -> str:
    file = folder / "robot.urdf"
    ElementTree.ElementTree(tree).write(file, encoding="unicode")
    result = subprocess.run(
        [installation.program("gz"), "sdf", "--print", str(file)],
        env={**os.environ, **installation.variables(folder)},
        capture_output=True,
        text=True,
    )
    start = result.stdout.find("<sdf")
    if result.returncode != 0 or start < 0:
        raise GazeboError(f"Gazebo cannot read {file}:\n{result.stdout}{result.stderr}")
    return result.stdout[start:]


def _colours(tree: Element) -> dict[str, list[float]]:
    """Red, green, blue by name of material."""
    named = {m.get("name", ""): m.find("color") for m in tree.iterfind("material")}
    return {
        name: [float(x) for x in colour.get("rgba", "").split()[:3]]
        for name, colour in named.items()
        if colour is not None
    }


def _material(colour: list[float]) -> Element:
    material = Element("material")
    # Ambient light is as strong as the sun here; together they must not bleach.
    for kind, share in (("ambient", 1.0), ("diffuse", 1.0), ("specular", 0.1)):
        text = _WORD.format(*(share * x for x in colour))
        ElementTree.SubElement(material, kind).text = text
    return material
