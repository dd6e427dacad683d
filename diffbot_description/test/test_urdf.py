# SPDX-License-Identifier: Apache-2.0
"""The generated URDF: frames, contact shapes, control interfaces, and one source of numbers."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from robot_files import changed, write
from strict_urdf import model_of

from diffbot_description import closed_form, load_robot, urdf
from diffbot_description.urdf_tree import UrdfTree

ROBOTS = ["twil", "agv"]


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    return load_robot(request.param)


@pytest.fixture(scope="module")
def root(robot):
    return ElementTree.fromstring(urdf(robot))


def test_model_of_the_urdf_has_the_numbers_of_the_file(robot):
    model = model_of(urdf(robot), *robot.joints.first)
    assert model.wheel_radius == robot.wheels.radius
    assert model.half_track == pytest.approx(robot.wheels.half_track, rel=1e-12)
    assert model.mass_body == robot.body.mass
    assert model.inertia_body == pytest.approx(robot.body.inertia.yaw, rel=1e-12)
    assert model.com_offset == pytest.approx(robot.body.center_of_mass.x, rel=1e-12)
    assert model.wheel_mass == robot.wheels.mass
    assert model.wheel_inertia_spin == pytest.approx(robot.wheels.inertia_spin, rel=1e-12)
    assert model.wheel_inertia_yaw == pytest.approx(robot.wheels.inertia_yaw, rel=1e-9)


def test_axle_is_base_link_and_wheels_and_casters_touch_the_ground(robot):
    tree = UrdfTree(urdf(robot))
    assert tree.root == "base_link"
    ground = tree.links["base_footprint"].translation
    assert ground == pytest.approx([0, 0, -robot.wheels.radius])
    for side, y in (("left", 1), ("right", -1)):
        wheel = tree.links[f"{side}_wheel_link"].translation
        assert wheel == pytest.approx([0, y * robot.wheels.half_track, 0])
    for index, caster in enumerate(robot.casters):
        x, y, z = tree.links[f"caster_{index}_link"].translation
        assert (x, y) == (caster.x, caster.y)
        assert z - caster.radius - ground[2] == pytest.approx(caster.clearance, abs=1e-12)


def test_contact_shapes_are_unnamed_and_single_points(robot, root):
    collisions = {link.get("name"): link.findall("collision") for link in root.findall("link")}
    rolling = [n for n in collisions if "wheel" in n or "caster" in n]
    assert len(rolling) == 2 + len(robot.casters)
    for name in rolling:
        (collision,) = collisions[name]
        assert collision.get("name") is None
        assert collision.find("geometry/sphere") is not None
        assert collision.find("origin") is None


def test_gazebo_contact_settings(robot, root):
    settings = {g.get("reference"): g for g in root.findall("gazebo")}
    assert set(settings) == {"left_wheel_link", "right_wheel_link"} | {
        f"caster_{i}_link" for i in range(len(robot.casters))
    }
    stiffness = {"twil": 1e7, "agv": 1e8}[robot.name]
    for link, element in settings.items():
        friction = 0.0 if link.startswith("caster") else 10.0
        values = {child.tag: float(child.text) for child in element}
        assert values == {"kp": stiffness, "kd": 1e3, "mu1": friction, "mu2": friction}


def test_ros2_control_takes_effort_only(robot, root):
    control = root.find("ros2_control")
    joints = control.findall("joint")
    assert [j.get("name") for j in joints] == ["left_wheel_joint", "right_wheel_joint"]
    for joint in joints:
        commands = joint.findall("command_interface")
        assert [c.get("name") for c in commands] == ["effort"]
        limits = {p.get("name"): float(p.text) for p in commands[0]}
        assert limits == {"min": -robot.limits.torque, "max": robot.limits.torque}
        states = [s.get("name") for s in joint.findall("state_interface")]
        assert states == ["position", "velocity", "effort"]


def test_hardware_plugin_is_an_argument():
    plugin = "gz_ros2_control/GazeboSimSystem"
    control = ElementTree.fromstring(urdf(load_robot("twil"), plugin)).find("ros2_control")
    assert control.find("hardware/plugin").text == plugin


def test_spokes_show_rotation(root):
    """Some visible box of each wheel has a colour that no other spoke has."""
    for side in ("left", "right"):
        boxes = [
            visual.find("material").get("name")
            for visual in root.findall(f"link[@name='{side}_wheel_link']/visual")
            if visual.find("geometry/box") is not None
        ]
        assert boxes.count("accent") == 1
        assert boxes.count("silver") >= 4


def test_every_visible_shape_has_a_size_and_a_known_colour(root):
    colours = {m.get("name") for m in root.findall("material")}
    for visual in root.iter("visual"):
        assert visual.find("material").get("name") in colours
        (shape,) = visual.find("geometry")
        sizes = [float(x) for text in shape.attrib.values() for x in text.split()]
        assert min(sizes) > 0


def test_friction_reaches_the_joints_of_an_own_robot(tmp_path):
    data = changed("friction", {"viscous": [0.01, 0.02], "coulomb": [0.03, 0.04]})
    data["joints"] = {"left": "port", "right": "starboard"}
    robot = load_robot(write(tmp_path, data))
    root = ElementTree.fromstring(urdf(robot))
    for index, name in enumerate(("port", "starboard")):
        dynamics = root.find(f"joint[@name='{name}']/dynamics")
        assert float(dynamics.get("damping")) == robot.friction.viscous[index]
        assert float(dynamics.get("friction")) == robot.friction.coulomb[index]


def test_mujoco_sees_the_same_masses(robot):
    """MuJoCo reads URDF by its own means; by default it would invent masses for the casters."""
    mujoco = pytest.importorskip("mujoco")
    spec = mujoco.MjSpec.from_string(urdf(robot))
    spec.body("base_link").add_freejoint()
    model = spec.compile()
    assert np.sum(model.body_mass) == pytest.approx(robot.body.mass + 2 * robot.wheels.mass)
    base = model.body("base_link")
    assert base.mass[0] == pytest.approx(robot.body.mass)
    center = robot.body.center_of_mass
    assert base.ipos == pytest.approx([center.x, 0, center.z - robot.wheels.radius])


def test_a_urdf_holds_the_rotors_in_its_wheels_and_keeps_k5_to_k8():
    twil = load_robot("twil")
    geared = replace(twil, wheels=replace(twil.wheels, inertia_spin=0.02))
    assert geared.wheels.rotor > 0.019
    k = closed_form(geared.model)
    assert k.k7 < 0.5 * closed_form(twil.model).k7
    assert closed_form(model_of(urdf(geared))) == pytest.approx(k, rel=1e-12)
    # A wheel of J has J / 2 about the vertical; more than the body's 0.054 is not to be had.
    heavy = replace(twil, wheels=replace(twil.wheels, inertia_spin=0.06))
    with pytest.raises(ValueError, match=r"inertia_spin = 0\.06 kg m\^2 must be below .* 0\.0553"):
        urdf(heavy)
