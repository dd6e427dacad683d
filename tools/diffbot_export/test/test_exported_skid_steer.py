# SPDX-License-Identifier: Apache-2.0
"""Exports of a robot with four driven wheels and a URDF of its own, from its results folder alone.

The URDF has a comment, joints without mass, a mesh beside it and a place of the root link other
than the axle. Identified are 1.1 times K7, 0.9 times K8 (of the description), 0.004 m more of K5,
and a resistance against turning that is not the assumed one.
"""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from diffbot_description import closed_form, load_robot
from diffbot_description.robot import Turning
from diffbot_export.command import main
from diffbot_export.known_robot import Settings, known_robot, motion_limits
from diffbot_export.results import read_results
from diffbot_ident.estimate import (
    Estimate,
    EstimateState,
    FrictionEstimate,
    TurningEstimate,
)
from diffbot_ident.parameter_writer import export_results

TURNING = (0.3, 3.5)
WHEEL = """
  <link name="{name}_wheel">
    <visual><geometry><cylinder radius="0.1" length="0.05"/></geometry></visual>
    <collision><geometry><cylinder radius="0.1" length="0.05"/></geometry></collision>
    <inertial><mass value="1"/>
      <inertia ixx="0.003" iyy="0.003" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="{name}_joint" type="continuous">
    <parent link="base_link"/><child link="{name}_wheel"/>
    <origin xyz="{x} {y} -0.05" rpy="-1.5707963267948966 0 0"/><axis xyz="0 0 1"/>
    <limit effort="6" velocity="12"/>
  </joint>"""
URDF = """<?xml version="1.0"?>
<!-- a file of its owner's -->
<robot name="mule">
  <link name="base_link">
    <!-- measured with a scale -->
    <inertial><origin xyz="0.12 0 0"/><mass value="16"/>
      <inertia ixx="0.3" iyy="0.5" izz="0.6" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.1 0 0.02"/><geometry><box size="0.5 0.3 0.15"/></geometry></collision>
    <visual><geometry><mesh filename="package://mule/body.dae"/></geometry></visual>
  </link>
  <link name='mast'>
    <inertial><origin rpy="0 0 0.4"/><mass value="2"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="mast_joint" type="fixed"><parent link="base_link"/><child link="mast"/>
    <origin xyz="0.2 0 0.3" rpy="0 0 1.2"/></joint>{wheels}
</robot>
"""


@pytest.fixture
def robot(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    wheels = "".join(
        WHEEL.format(name=f"{end}_{side}", x=x, y=y)
        for end, x in (("front", 0.25), ("rear", -0.05))
        for side, y in (("left", 0.22), ("right", -0.22))
    )
    path = tmp_path / "mule.urdf"
    path.write_text(URDF.format(wheels=wheels))
    return load_robot(path)


@pytest.fixture
def results(robot, tmp_path):
    values = np.array(closed_form(robot.model)) * [1.0, 1.0, 1.1, 0.9]
    values[0] += 0.004
    values[1] = values[0] * values[3] / (robot.wheels.half_track * values[2])
    estimate = Estimate(
        values=tuple(values.tolist()),
        covariance=tuple(map(tuple, np.diag((0.01 * values) ** 2).tolist())),
        parameter_states=(EstimateState.ESTIMATED,) * 4,
        state=EstimateState.ESTIMATED,
        reason="",
        samples=1001,
        period=0.01,
        friction=FrictionEstimate((0.02, 0.02, 0.1, 0.1), (1e-6, 1e-6, 1e-5, 1e-5)),
        turning=TurningEstimate(TURNING, (1e-3, 1e-2)),
    )
    folder = tmp_path / "results"
    folder.mkdir()
    export = export_results(folder, robot, estimate, date="2026-01-01", version="0", seconds=10.0)
    assert export.refusal is None
    file = folder / "dynamic_parameters.yaml"
    document = yaml.safe_load(file.read_text())
    document["/**"]["ros__parameters"]["verification"] = {"state": "verified"}
    file.write_text(yaml.safe_dump(document))
    return folder, values


def exported(results, *targets):
    folder = results[0].parent / "out"
    status = main([str(results[0]), "--to", *targets, "--output", str(folder)])
    return status, folder


def test_the_identified_resistance_is_in_the_robot_file(robot, results):
    assert robot.turning is not None
    assert robot.turning.coulomb != TURNING[1]
    assert "turning.coulomb" in robot.assumed
    result = load_robot(results[0] / "mule_identified.yaml")
    assert result.turning == Turning(*TURNING)
    assert result.assumed and not any(name.startswith("turning") for name in result.assumed)


def test_the_urdf_is_the_owners_with_other_inertias(robot, results):
    status, folder = exported(results, "urdf")
    assert status == 0
    text = (folder / "mule_identified.urdf").read_text()
    own = (results[0].parent / "mule.urdf").read_text()

    def rest(urdf):
        """The text without <inertial> and without the first comments."""
        return re.sub(r"<inertial>.*?</inertial>", "", urdf[urdf.index("<robot") :], flags=re.S)

    assert rest(text) == rest(own)
    assert text.count("a file of its owner's") == 1 and "95 % intervals" in text
    # As RobotModel reads it, four wheels count as one on each side.
    again = load_robot(folder / "mule_identified.urdf")
    k = closed_form(again.model)
    assert [k.k5, k.k7, k.k8] == pytest.approx(results[1][[0, 2, 3]], rel=1e-6)
    names = {joint.get("name") for joint in ElementTree.fromstring(text).findall("joint")}
    assert names == {"mast_joint", *robot.joints.names}


def test_wheels_that_the_file_has_otherwise_are_changed_too(results):
    """`describe` replaces an implausible inertia of a wheel; the exported URDF has the used one."""
    path = results[0].parent / "mule.urdf"
    path.write_text(path.read_text().replace('izz="0.005"', 'izz="7"'))
    status, folder = exported(results, "urdf")
    assert status == 0
    text = (folder / "mule_identified.urdf").read_text()
    assert 'izz="7"' not in text
    k = closed_form(load_robot(folder / "mule_identified.urdf").model)
    assert [k.k5, k.k7, k.k8] == pytest.approx(results[1][[0, 2, 3]], rel=1e-6)


def test_all_joints_of_a_side_are_controlled(robot, results):
    status, folder = exported(results, "ros2_control")
    assert status == 0
    text = (folder / "ros2_control.yaml").read_text()
    document = yaml.safe_load(text)
    manager = document["controller_manager"]["ros__parameters"]
    kind = "joint_state_broadcaster/JointStateBroadcaster"
    assert manager["joint_state_broadcaster"] == {"type": kind}
    assert "controller_manager spawner joint_state_broadcaster left_wheel_pid right" in text
    loops = json.loads((folder / "export.json").read_text())["wheel_loops"]
    for pid, names in zip(
        ("left_wheel_pid", "right_wheel_pid"), (robot.joints.left, robot.joints.right), strict=True
    ):
        parameters = document[pid]["ros__parameters"]
        assert parameters["dof_names"] == list(names)
        gains = [parameters["gains"][name] for name in names]
        assert gains[0] == gains[1]
        # Both together are the loop that was designed for the side.
        assert 2 * gains[0]["p"] == pytest.approx(loops["p"], rel=1e-5)
        assert 2 * gains[0]["u_clamp_max"] == pytest.approx(loops["clamp"], rel=1e-5)
    base = document["diffbot_base_controller"]["ros__parameters"]
    assert base["left_wheel_names"] == [f"left_wheel_pid/{name}" for name in robot.joints.left]


def test_the_resistance_against_turning_lowers_yaw_accelerations_only(results):
    known = known_robot(read_results([results[0]]), None, Settings())
    linear, angular = motion_limits(known)
    assert known.results.torque is not None
    bare = replace(known.results, torque=replace(known.results.torque, turning={}))
    free = replace(known, results=bare, description=replace(known.description, turning=None))
    level, turning = motion_limits(free)
    assert linear == level
    # M = 3.5 N m + 0.3 N m s/rad omega, of I_e = b / (r |K8|): 0.6 of the limit less of the same.
    b, r, k8 = 0.22, 0.1, -results[1][3]
    lost = 0.6 * (TURNING[1] + TURNING[0] * angular.velocity.value) / (b / (r * k8))
    result = turning.acceleration.value - angular.acceleration.value
    assert result == pytest.approx(lost, rel=1e-3)


def test_assumed_limits_are_not_called_given(results):
    _, folder = exported(results, "nav2", "ros2_control")
    limits = json.loads((folder / "export.json").read_text())["limits"]
    assert limits["linear"]["acceleration"]["source"].startswith("0.45 of the limit")
    text = " ".join((folder / "ros2_control.yaml").read_text().replace("#", " ").split())
    assert "N m (assumed, no interval) of limits.traction of mule_identified.yaml" in text
    assert "assumed, so not set: max_acceleration: " in text
    assert limits["linear"]["acceleration"]["assumed"]
    assert "0.44 m (given, no interval)" not in text.partition("wheel_separation")[0][-9:]


def test_no_model_is_made_that_lacks_wheels(results, capsys):
    status, folder = exported(results, "sdf")
    assert status == 2
    assert not folder.exists()
    said = capsys.readouterr().err
    assert "4 driven wheels (front_left_joint, rear_left_joint, front_right_joint" in said
    assert "export --to urdf" in said


def test_the_file_of_a_refused_target_does_not_stay(robot, results, capsys):
    assert exported(results, "ros2_control", "nav2")[0] == 0
    file = results[0] / "mule_identified.yaml"
    data = yaml.safe_load(file.read_text())
    data["joints"]["signs"] = [1, -1, 1, 1]
    file.write_text(yaml.safe_dump(data))
    capsys.readouterr()
    status, folder = exported(results, "ros2_control", "nav2")
    assert status == 2
    said = capsys.readouterr().err
    assert "joints.signs of mule_identified.yaml is -1 for rear_left_joint" in said
    assert "ros2_control.yaml of an earlier export was removed" in said
    assert not (folder / "ros2_control.yaml").exists() and (folder / "nav2.yaml").exists()


def test_a_table_of_speeds_does_not_stay_without_its_limits(results):
    assert exported(results, "ros2_control", "robot_localization")[0] == 0
    file = results[0] / "mule_identified.yaml"
    data = yaml.safe_load(file.read_text())
    data["joints"]["signs"] = [1, -1, 1, 1]
    file.write_text(yaml.safe_dump(data))
    status, folder = exported(results, "ros2_control", "robot_localization")
    assert status == 2 and (folder / "robot_localization.yaml").exists()
    assert not (folder / "speed_table.md").exists()


def test_files_of_two_robots_do_not_lie_side_by_side(results, capsys):
    assert exported(results, "ros2_control", "nav2")[0] == 0
    summary = exported(results, "nav2")[1] / "export.json"
    content = json.loads(summary.read_text())
    summary.write_text(json.dumps({**content, "robot": "donkey", "targets": ["nav2", "urdf"]}))
    before = (summary.parent / "nav2.yaml").read_bytes()
    assert exported(results, "urdf")[0] == 2
    assert "holds nav2 of robot 'donkey', and these results are of 'mule'" in (
        capsys.readouterr().err
    )
    assert (summary.parent / "nav2.yaml").read_bytes() == before
    assert exported(results, "nav2")[0] == 0  # which replaces it


def test_without_a_description_no_joints_are_invented(results, capsys):
    (results[0] / "mule_identified.yaml").unlink()
    status, folder = exported(results, "ros2_control")
    assert status == 2
    assert "the names of the wheels' joints are not known: give --robot FILE" in (
        capsys.readouterr().err
    )
    assert not folder.exists()
