# SPDX-License-Identifier: Apache-2.0
"""Patched descriptions: their closed form is what was identified, or they are refused."""

import copy
import math
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import xacro
import yaml
from hypothesis import given
from hypothesis import strategies as st
from robot_files import changed, write
from strict_urdf import model_of

from diffbot_description import RobotModel, closed_form, load_robot, urdf, wheel_friction
from diffbot_description.identified_robot import (
    chosen_k5,
    identified_model,
    write_identified_robot,
)
from diffbot_description.robot import BodyInertia, Turning

NAMESPACE = "http://www.ros.org/wiki/xacro"


def parameters(model):
    k = closed_form(model)
    return np.array([k.k5, k.k6, k.k7, k.k8])


def model_of_urdf(robot):
    return model_of(urdf(robot), *robot.joints.first)


@pytest.mark.parametrize(
    ("name", "scale"), [("twil", (0.9, 0.95, 0.97)), ("agv", (1.1, 1.06, 1.02))]
)
def test_patched_robot_has_the_identified_parameters(tmp_path, name, scale):
    robot = load_robot(name)
    described = parameters(robot.model)
    assert described == pytest.approx(parameters(model_of_urdf(robot)), rel=1e-12)
    wanted = described[[0, 2, 3]] * scale
    friction = (0.011, 0.012, None, 0.05)
    path, _ = write_identified_robot(robot, tmp_path, *wanted, friction, ["mass 1 kg [0.9, 1.1]"])
    assert path.name == f"{name}_identified.yaml"
    patched = load_robot(path)
    result = parameters(model_of_urdf(patched))
    assert result[[0, 2, 3]] == pytest.approx(wanted, rel=1e-12)
    b = robot.wheels.half_track
    assert result[1] == pytest.approx(wanted[0] * wanted[2] / (b * wanted[1]), rel=1e-12)
    assert patched.friction.viscous == (0.011, 0.012)
    assert patched.friction.coulomb == (robot.friction.coulomb[0], 0.05)
    for part in ("name", "wheels", "casters", "joints", "limits", "excitation", "contact"):
        assert getattr(patched, part) == getattr(robot, part)
    assert "mass 1 kg [0.9, 1.1]" in path.read_text(encoding="utf-8")


def test_identified_coulomb_friction_agrees_with_what_is_described_besides(tmp_path):
    """It includes the rolling resistance; the wheel that was not identified keeps its own."""
    data = yaml.safe_load(load_robot("agv").path.read_text(encoding="utf-8"))
    data["friction"] = {
        "viscous": [0.01, 0.02],
        "coulomb": [0.3, 0.3],
        "coulomb_backward": [0.4, 0.4],
        "static": [0.45, 0.45],
        "stribeck_velocity": [0.2, 0.2],
        "rolling_resistance": 0.01,
        "gear_loss": [0.1, 0.2],
    }
    described = tmp_path / "described.yaml"
    described.write_text(yaml.safe_dump(data), encoding="utf-8")
    robot = load_robot(described)
    _, before = wheel_friction(robot)
    k = closed_form(robot.model)
    friction = (None, None, 0.5, None)
    path, _ = write_identified_robot(robot, tmp_path, k.k5, k.k7, k.k8, friction)
    left, right = wheel_friction(load_robot(path))
    assert (left.sliding(1.0), left.sliding(-1.0), left.static) == (0.5, 0.5, 0.5)
    assert (left.gear_loss, right.gear_loss) == (0.1, 0.2)
    for direction in (1.0, -1.0):
        assert right.sliding(direction) == pytest.approx(before.sliding(direction))
        assert right.breakaway(direction) == pytest.approx(before.breakaway(direction))


def test_payload_is_found_in_the_body(tmp_path):
    robot = load_robot("twil")
    loaded = robot.model.with_payload(0.8, 0.05, 0.003)
    k = closed_form(loaded)
    path, _ = write_identified_robot(robot, tmp_path, k.k5, k.k7, k.k8)
    body = load_robot(path).body
    assert body.mass == pytest.approx(loaded.mass_body)
    assert body.center_of_mass.x == pytest.approx(loaded.com_offset)
    assert body.inertia.yaw == pytest.approx(loaded.inertia_body)


def number(low, high):
    return st.floats(low, high, allow_subnormal=False)


@given(
    st.builds(
        RobotModel,
        wheel_radius=number(0.02, 0.5),
        half_track=number(0.05, 1.0),
        mass_body=number(0.5, 500),
        inertia_body=number(0.01, 100),
        com_offset=number(-0.5, 0.5),
        wheel_mass=number(0.01, 5),
        wheel_inertia_spin=number(1e-6, 0.01),
        wheel_inertia_yaw=number(1e-6, 0.01),
    ),
    number(0.5, 500),
    number(0.01, 100),
    number(-0.5, 0.5),
)
def test_closed_form_backwards(model, mass, inertia, offset):
    """The parameters of another body on the same wheels give that body."""
    other = RobotModel(
        model.wheel_radius, model.half_track, mass, inertia, offset,
        model.wheel_mass, model.wheel_inertia_spin, model.wheel_inertia_yaw,
    )  # fmt: skip
    k = closed_form(other)
    robot_model = identified_model(model, k.k5, k.k7, k.k8)
    assert robot_model.mass_body == pytest.approx(mass, abs=1e-9 * other.equivalent_mass)
    assert robot_model.com_offset == pytest.approx(offset, rel=1e-6, abs=1e-9)
    assert robot_model.inertia_body == pytest.approx(inertia, abs=1e-7 * other.equivalent_inertia)


def with_xacro(robot, root, file, **origin):
    """The URDF with the inertial and dynamics of the xacro file in place of its own."""
    ElementTree.register_namespace("xacro", NAMESPACE)
    root = copy.deepcopy(root)
    root.insert(0, ElementTree.Element(f"{{{NAMESPACE}}}include", filename=str(file)))
    chassis = root.find("link[@name='chassis_link']")
    chassis.remove(chassis.find("inertial"))
    ElementTree.SubElement(chassis, f"{{{NAMESPACE}}}identified_inertial", **origin)
    for side, name in zip(("left", "right"), robot.joints.first, strict=True):
        joint = root.find(f"joint[@name='{name}']")
        joint.remove(joint.find("dynamics"))
        ElementTree.SubElement(joint, f"{{{NAMESPACE}}}identified_dynamics", side=side)
    source = file.parent / "robot.urdf.xacro"
    source.write_text(ElementTree.tostring(root, encoding="unicode"), encoding="utf-8")
    return xacro.process_file(str(source)).toxml()


def test_xacro_gives_any_urdf_the_identified_body(tmp_path):
    robot = load_robot("twil")
    original = ElementTree.fromstring(urdf(robot))
    for link in original.findall("link"):  # Shapes to see take most of the time.
        for visual in link.findall("visual"):
            link.remove(visual)
    k5, _, k7, k8 = parameters(robot.model) * (0.9, 1.0, 0.95, 0.97)
    friction = (0.011, 0.012, 0.013, 0.014)
    notes = ["K5 0.08 m [--0.07, 0.09] ± 1 < 2 & 3"]
    path, file = write_identified_robot(robot, tmp_path, k5, k7, k8, friction, notes)
    text = with_xacro(robot, original, file)
    model = model_of(text)
    assert parameters(model)[[0, 2, 3]] == pytest.approx([k5, k7, k8], rel=1e-12)
    root, body = ElementTree.fromstring(text), load_robot(path).body
    centre, inertia = body.center_of_mass, body.inertia
    here = inertial_numbers(root)
    assert here == pytest.approx(
        [centre.x, 0, centre.z - 0.075, body.mass, inertia.roll, inertia.pitch, inertia.yaw]
    )
    dynamics = {j.get("name"): j.find("dynamics") for j in root.findall("joint")}
    for side, i in (("left", 0), ("right", 1)):
        element = dynamics[f"{side}_wheel_joint"]
        assert float(element.get("damping")) == friction[i]
        assert float(element.get("friction")) == friction[2 + i]
    moved = with_xacro(robot, original, file, link_x="0.1", link_z="0.02")
    there = inertial_numbers(ElementTree.fromstring(moved))
    difference = [a - b for a, b in zip(here, there, strict=True)]
    assert difference == pytest.approx([0.1, 0, 0.02, 0, 0, 0, 0], abs=1e-12)


def inertial_numbers(root):
    inertial = root.find("link[@name='chassis_link']/inertial")
    xyz = [float(x) for x in inertial.find("origin").get("xyz").split()]
    inertia = inertial.find("inertia").attrib
    return [
        *xyz,
        float(inertial.find("mass").get("value")),
        *(float(inertia[k]) for k in ("ixx", "iyy", "izz")),
    ]


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ((1.0, 10.0, 1.0), r"equivalent mass is 0\.5037 kg, but the wheels .* 0\.8 kg"),
        ((1.0, 1.0, 3.0), r"equivalent yaw inertia is 0\.0376 kg m\^2"),
        ((1.0, -1.0, 1.0), r"k7 = -2\.64\d* must be above 0"),
        ((1.0, 1.0, -1.0), r"k8 = 16\.0\d* must be below 0"),
        ((1.0, math.nan, 1.0), r"k7 = nan must be above 0"),
        ((math.nan, 1.0, 1.0), r"k5 = nan must be finite"),
        ((-1.0, 1.0, 1.0), r"would tip backwards"),
    ],
)
def test_unphysical_values_are_refused_without_a_file(tmp_path, scale, message):
    robot = load_robot("twil")
    k5, _, k7, k8 = parameters(robot.model)
    with pytest.raises(ValueError, match=message) as caught:
        write_identified_robot(robot, tmp_path, *(np.array([k5, k7, k8]) * scale))
    assert str(caught.value).startswith("the identified parameters do not fit")
    assert list(tmp_path.iterdir()) == []


def test_unphysical_friction_is_refused(tmp_path):
    robot = load_robot("twil")
    k5, _, k7, k8 = parameters(robot.model)
    with pytest.raises(ValueError, match=r"friction\.coulomb\[1\] = -0\.1 N m must be at least 0"):
        write_identified_robot(robot, tmp_path, k5, k7, k8, (None, None, None, -0.1))
    assert list(tmp_path.iterdir()) == []


def test_own_robot_file_keeps_its_own_keys(tmp_path):
    robot = load_robot(write(tmp_path, changed("name", "mine")))
    k5, _, k7, k8 = parameters(robot.model)
    path, _ = write_identified_robot(robot, tmp_path, k5, k7, k8)
    assert path.name == "mine_identified.yaml"
    assert load_robot(path).name == "mine"


def test_centre_of_mass_where_k5_is_not_identifiable():
    robot = load_robot("twil")
    k5, _, k7, _ = parameters(robot.model)
    assert chosen_k5(robot, 0.05, 0.01, True, k7) == 0.05
    assert chosen_k5(robot, 0.05, 0.19, False, k7) == pytest.approx(k5)
    assert chosen_k5(robot, 0.001, 0.02, False, k7) == 0.0
    assert chosen_k5(robot, 0.001, math.inf, False, k7) == pytest.approx(k5)


def test_guessed_inertias_give_way_to_the_identified_yaw_inertia(tmp_path):
    """Roll 0.025 and pitch 0.045 of twil belong to no solid with the yaw inertia of this K8."""
    robot = load_robot("twil")
    k5, _, k7, k8 = parameters(robot.model)
    path, _ = write_identified_robot(robot, tmp_path, k5, k7, 0.8 * k8)
    inertia = load_robot(path).body.inertia
    assert inertia.yaw > 0.025 + 0.045
    assert inertia.roll + inertia.pitch == pytest.approx(inertia.yaw)
    assert inertia.roll / inertia.pitch == pytest.approx(0.025 / 0.045)
    assert parameters(load_robot(path).model)[3] == pytest.approx(0.8 * k8, rel=1e-12)
    assert "body.inertia.roll was raised from 0.025 to" in path.read_text("utf-8")


@given(roll=number(1e-3, 1.0), pitch=number(1e-3, 1.0), yaw=number(1e-4, 3.0))
def test_inertias_with_another_yaw_inertia_are_those_of_a_solid(roll, pitch, yaw):
    body_inertia = BodyInertia(roll, pitch, 0.1).with_yaw(yaw)
    assert body_inertia.yaw == yaw
    assert body_inertia.roll >= roll and body_inertia.pitch >= pitch
    values = sorted((body_inertia.roll, body_inertia.pitch, body_inertia.yaw))
    assert values[2] <= (values[0] + values[1]) * (1 + 1e-12)
    if abs(roll - pitch) <= yaw <= roll + pitch:
        assert (body_inertia.roll, body_inertia.pitch) == (roll, pitch)


def test_an_identified_resistance_against_turning_replaces_the_assumed_one(tmp_path):
    robot = replace(
        load_robot("twil"), turning=Turning(0.0, 0.1), assumed=("turning.coulomb", "limits.torque")
    )
    k5, _, k7, k8 = parameters(robot.model)
    path, _ = write_identified_robot(robot, tmp_path, k5, k7, k8, turning=(None, 0.35))
    result = load_robot(path)
    assert result.turning == Turning(0.0, 0.35)
    assert result.assumed == ("limits.torque",)
    kept = load_robot(write_identified_robot(robot, tmp_path, k5, k7, k8)[0])
    assert (kept.turning, kept.assumed) == (robot.turning, robot.assumed)


def test_identified_values_are_no_longer_assumed(tmp_path):
    whole = (
        "body.mass",
        "body.center_of_mass",
        "body.inertia",
        "friction.viscous",
        "friction.coulomb",
    )
    robot = replace(load_robot("twil"), assumed=(*whole, "wheels.mass"))
    k5, _, k7, k8 = parameters(robot.model)
    rest = ("body.center_of_mass.z", "body.inertia.roll", "body.inertia.pitch")
    path, _ = write_identified_robot(robot, tmp_path, k5, k7, k8)
    assert load_robot(path).assumed == (
        *rest,
        "friction.viscous",
        "friction.coulomb",
        "wheels.mass",
    )
    path, _ = write_identified_robot(robot, tmp_path, k5, k7, k8, friction=(0.1, 0.1, 0.01, 0.01))
    assert load_robot(path).assumed == (*rest, "wheels.mass")


def test_an_assumed_caster_gives_way_to_the_identified_centre_of_mass(tmp_path):
    """Casters at 0.08 m, and a centre of mass of 0.100 m that is found: the robot did not tip."""
    twil = load_robot("twil")
    k5, _, k7, k8 = parameters(twil.model)
    front, rear = replace(twil.casters[0], x=0.08, y=0.0), twil.casters[2]
    centre = replace(twil.body.center_of_mass, x=0.05)
    body = replace(twil.body, center_of_mass=centre)
    robot = replace(twil, casters=(front, rear), body=body)
    with pytest.raises(ValueError, match="would tip forwards"):
        write_identified_robot(robot, tmp_path, k5, k7, k8)
    guessed = replace(robot, assumed=("casters",))
    path, _ = write_identified_robot(guessed, tmp_path, k5, k7, k8)
    result = load_robot(path)
    total = result.body.mass + 2 * result.wheels.mass
    assert result.casters[0].x == pytest.approx(1.5 * result.body.mass * 0.10038 / total, rel=1e-6)
    assert result.casters[1] == rear
    assert "casters[0].x was moved from 0.08 to" in path.read_text("utf-8")
