# SPDX-License-Identifier: Apache-2.0
"""The world that Gazebo loads: a floor with a grid, light, the robot, and a camera on demand.

Gazebo converts the robot from its URDF; its colours are added here.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from diffbot_description import Robot, urdf
from diffbot_sim.gazebo.installation import GazeboError, Installation

ROBOT = "robot"
WORLD = "diffbot"
PICTURES = "pictures"

# Half side of the drawn floor, m; the plane on which the robot stands is infinite.
FLOOR = 10
LINE_WIDTH = 0.008

# Visuals are numbered for the conversion, as Gazebo's converter drops colours but keeps names.
_NAME = "numbered_{}_"
_NUMBER = re.compile(r"numbered_(\d+)_")
_WORD = "{} {} {} 1"


@dataclass(frozen=True)
class PhysicsSettings:
    """Settings of ODE in Gazebo; the defaults are the best known (benchmarks/contact_settings.py).

    Attributes:
        inner_step: Longest integration step, s.
        solver: "world" (exact) or "quick" (iterative, with so many iterations).
        mixing: Constraint force mixing of contacts and joints. With 0 the exact solver fails in one
            of 40 steps, as both wheels constrain the robot sideways; 1e-9 is enough.
        stiffness, damping: Of the contacts, N/m and N s/m; None for the robot's own.
        wheel_friction: Coulomb coefficient of the wheels; None for the robot's own.
    """

    inner_step: float = 0.001
    solver: str = "world"
    iterations: int = 50
    mixing: float = 1e-8
    stiffness: float | None = None
    damping: float | None = None
    wheel_friction: float | None = None


def write_world(
    installation: Installation,
    folder: Path,
    robot: Robot,
    settings: PhysicsSettings,
    pictures: Path | None,
) -> Path:
    """Write world and robot into an empty folder on Gazebo's model path; return the world's file.

    `pictures`: folder for a camera's pictures, two per second of robot time; None: no camera.

    Raises:
        GazeboError: Gazebo refuses the robot.
    """
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
        # Gazebo passes the path to a shell: no special characters.
        (folder / PICTURES).symlink_to(pictures)
        pictures = folder / PICTURES
    model = folder / ROBOT
    model.mkdir()
    (model / "model.sdf").write_text(robot_sdf(installation, robot, settings))
    (model / "model.config").write_text(
        f'<model><name>{robot.name}</name><sdf version="1.6">model.sdf</sdf></model>'
    )
    world = folder / "diffbot.world"
    world.write_text(_world(robot, settings, pictures))
    return world


def _world(robot: Robot, settings: PhysicsSettings, pictures: Path | None) -> str:
    return f"""<?xml version="1.0"?>
<sdf version="1.6">
<world name="{WORLD}">
  <physics type="ode">
    <max_step_size>{settings.inner_step}</max_step_size>
    <real_time_update_rate>0</real_time_update_rate>
    <ode>
      <solver><type>{settings.solver}</type><iters>{settings.iterations}</iters></solver>
      <constraints><cfm>{settings.mixing}</cfm><erp>0.2</erp></constraints>
    </ode>
  </physics>
  <scene>
    <ambient>0.5 0.5 0.52 1</ambient>
    <background>0.86 0.90 0.94 1</background>
    <shadows>true</shadows>
    <grid>false</grid>
  </scene>
  <light name="sun" type="directional">
    <pose>0 0 10 0 0 0</pose>
    <cast_shadows>true</cast_shadows>
    <diffuse>0.55 0.55 0.53 1</diffuse>
    <specular>0.1 0.1 0.1 1</specular>
    <direction>-0.4 0.3 -0.9</direction>
  </light>
  <gui>
    <camera name="view"><pose>-1.8 -2.4 2.2 0 0.6 0.9</pose></camera>
  </gui>
{_floor()}
  <include>
    <uri>model://{ROBOT}</uri>
    <name>{ROBOT}</name>
    <pose>0 0 {robot.wheels.radius} 0 0 0</pose>
  </include>
{_camera(pictures) if pictures else ""}
  <plugin name="diffbot" filename="libdiffbot_gazebo.so">
    <robot>{ROBOT}</robot>
    <left_joint>{robot.joints.first[0]}</left_joint>
    <right_joint>{robot.joints.first[1]}</right_joint>
  </plugin>
</world>
</sdf>
"""


def _floor() -> str:
    lines = []
    for i in range(-FLOOR, FLOOR + 1):
        along_x, along_y = ("0.85 0.25 0.2", "0.25 0.65 0.25") if i == 0 else ("0.5 0.53 0.56",) * 2
        lines.append(_line(f"x{i}", f"0 {i} 0", (2 * FLOOR, LINE_WIDTH), along_x))
        lines.append(_line(f"y{i}", f"{i} 0 0", (LINE_WIDTH, 2 * FLOOR), along_y))
    return f"""  <model name="floor">
    <static>true</static>
    <link name="link">
      <collision name="plane">
        <geometry><plane><normal>0 0 1</normal></plane></geometry>
        <surface><friction><ode><mu>1000</mu><mu2>1000</mu2></ode></friction></surface>
      </collision>
      <visual name="plane">
        <cast_shadows>false</cast_shadows>
        <geometry>
          <plane><normal>0 0 1</normal><size>{2 * FLOOR} {2 * FLOOR}</size></plane>
        </geometry>
        {_colour("0.74 0.76 0.78")}
      </visual>
{"".join(lines)}    </link>
  </model>"""


def _line(name: str, position: str, size: tuple[float, float], colour: str) -> str:
    return f"""      <visual name="line_{name}">
        <cast_shadows>false</cast_shadows>
        <pose>{position} 0 0 0</pose>
        <geometry><box><size>{size[0]} {size[1]} 0.002</size></box></geometry>
        {_colour(colour)}
      </visual>
"""


def _colour(rgb: str) -> str:
    return f"<material><ambient>{rgb} 1</ambient><diffuse>{rgb} 1</diffuse></material>"


def _camera(pictures: Path) -> str:
    return f"""  <model name="camera">
    <static>true</static>
    <pose>0.2 -2.5 2.0 0 0.66 1.5708</pose>
    <link name="link">
      <sensor name="camera" type="camera">
        <always_on>true</always_on>
        <update_rate>2</update_rate>
        <camera>
          <horizontal_fov>0.95</horizontal_fov>
          <image><width>960</width><height>600</height><format>R8G8B8</format></image>
          <clip><near>0.1</near><far>60</far></clip>
          <save enabled="true"><path>{escape(str(pictures))}</path></save>
        </camera>
      </sensor>
    </link>
  </model>"""


def robot_sdf(installation: Installation, robot: Robot, settings: PhysicsSettings) -> str:
    """Return the robot as SDF; GazeboError, with Gazebo's output, if it refuses the URDF."""
    tree = ElementTree.fromstring(urdf(robot.with_forward_joints()))
    _set_contacts(tree, settings)
    _drop_friction(tree)
    visuals = list(tree.iter("visual"))
    for number, visual in enumerate(visuals):
        visual.set("name", _NAME.format(number))
    text = ElementTree.tostring(tree, encoding="unicode")
    model = ElementTree.fromstring(_converted(installation, text))
    colours = _colours(tree)
    for visual in model.iter("visual"):
        match = _NUMBER.search(visual.get("name", ""))
        material = visuals[int(match.group(1))].find("material") if match else None
        if material is not None:
            visual.append(_material(colours[material.get("name", "")]))
    return ElementTree.tostring(model, encoding="unicode")


def _drop_friction(tree: Element) -> None:
    """Remove friction: the plugin models that of the wheels, and the engine that of the casters."""
    for joint in tree.iterfind("joint"):
        for dynamics in joint.findall("dynamics"):
            joint.remove(dynamics)
    wheels = _wheel_links(tree)
    for element in tree.iterfind("gazebo[kp]"):
        if element.get("reference") not in wheels:
            for name in ("mu1", "mu2"):
                for child in element.iterfind(name):
                    child.text = "0.0"


def _wheel_links(tree: Element) -> set[str | None]:
    return {child.get("link") for child in tree.iterfind("joint[@type='continuous']/child")}


def _set_contacts(tree: Element, settings: PhysicsSettings) -> None:
    wheels = _wheel_links(tree)
    for element in tree.iterfind("gazebo[kp]"):
        friction = settings.wheel_friction if element.get("reference") in wheels else None
        values = {"kp": settings.stiffness, "kd": settings.damping}
        values |= {"mu1": friction, "mu2": friction}
        for name, value in values.items():
            for child in element.iterfind(name) if value is not None else ():
                child.text = str(value)


@lru_cache(maxsize=32)
def _converted(installation: Installation, text: str) -> str:
    """Return a URDF as SDF; cached, as it takes as long as the start of the server."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "robot.urdf")
        file.write_text(text, encoding="utf-8")
        result = subprocess.run(
            [installation.program("gz"), "sdf", "--print", str(file)],
            env={**os.environ, **installation.variables(Path(folder))},
            capture_output=True,
            text=True,
        )
    start = result.stdout.find("<sdf")
    if result.returncode != 0 or start < 0:
        raise GazeboError(f"Gazebo cannot read {file}:\n{result.stdout}{result.stderr}")
    return result.stdout[start:]


def _colours(tree: Element) -> dict[str, list[float]]:
    named = {m.get("name", ""): m.find("color") for m in tree.iterfind("material")}
    return {
        name: [float(x) for x in colour.get("rgba", "").split()[:3]]
        for name, colour in named.items()
        if colour is not None
    }


def _material(colour: list[float]) -> Element:
    material = Element("material")
    # Ambient light and sun together must not overexpose.
    for kind, share in (("ambient", 1.0), ("diffuse", 1.0), ("specular", 0.1)):
        text = _WORD.format(*(share * x for x in colour))
        ElementTree.SubElement(material, kind).text = text
    return material
