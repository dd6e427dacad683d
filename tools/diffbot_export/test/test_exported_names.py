# SPDX-License-Identifier: Apache-2.0
"""Exported files hold only what the packages declare: names, types, bounds, sizes."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
import result_files
import yaml
from package_declarations import FILTER, control_faults, faults, nav2_faults

from diffbot_export.command import main

MAKERS = {
    "torque": result_files.torque_results,
    "velocity": result_files.velocity_results,
    "voltage": result_files.voltage_results,
}


def exported(folder, results, *words):
    assert main([*map(str, results), *words, "--output", str(folder / "out")]) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def torque(tmp_path_factory):
    """Everything from a torque robot with a calibration."""
    folder = tmp_path_factory.mktemp("torque")
    results = [result_files.torque_results(folder / "r"), result_files.calibration(folder / "c")]
    targets = ("ros2_control", "nav2", "robot_localization", "sdf")
    return exported(folder, results, "--to", *targets)


@pytest.mark.parametrize("kind", MAKERS)
def test_yaml_files_hold_only_declared_parameters(tmp_path, torque, kind):
    if kind == "torque":
        out = torque
    else:
        words = ["--to", "ros2_control", "nav2", "robot_localization", "--robot"]
        robot = "turtlebot2" if kind == "velocity" else "twil"
        out = exported(tmp_path, [MAKERS[kind](tmp_path / "r")], *words, robot)
    read = {path.stem: yaml.safe_load(path.read_text()) for path in out.glob("*.yaml")}
    assert control_faults(read["ros2_control"]) == []
    assert nav2_faults(read["nav2"]) == []
    parameters = read["robot_localization"]["ekf_filter_node"]["ros__parameters"]
    assert faults(parameters, FILTER) == []
    # Not empty-handed: each kind has what it identified.
    assert ("left_wheel_pid" in read["ros2_control"]) == (kind != "velocity")
    assert "velocity_smoother" in read["nav2"]
    assert "acceleration_limits" in parameters
    base = read["ros2_control"]["diffbot_base_controller"]["ros__parameters"]
    assert ("twist_covariance_diagonal" in base) == (kind == "torque")


def test_wrong_names_types_and_bounds_would_be_found(torque):
    document = yaml.safe_load((torque / "ros2_control.yaml").read_text())
    base = document["diffbot_base_controller"]["ros__parameters"]
    base["wheel_seperation"] = 1.0
    base["wheel_radius"] = -0.1
    base["linear"]["x"]["max_velocity"] = 1
    document["left_wheel_pid"]["ros__parameters"]["gains"]["left_wheel_joint"]["p"] = "1e-05"
    result = control_faults(document)
    assert len(result) == 4
    assert [text.split(":")[0].split(".")[-1] for text in result] == [
        "p",
        "wheel_radius",
        "max_velocity",
        "wheel_seperation",
    ]


def test_every_number_of_a_parameter_file_has_a_word_beside_it(torque):
    text = (torque / "ros2_control.yaml").read_text()
    left, right = text.split("right_wheel_pid:\n  ros__parameters")
    # The right wheel has the left one's values, without the words.
    base = right.split("diffbot_base_controller:\n")[1]
    lines = (left + base).splitlines()
    silent = ("min_velocity", "_reverse", "d", "u_clamp_min")
    for before, line in zip(lines, lines[1:], strict=False):
        name, _, value = line.strip().partition(": ")
        if name.startswith("#") or name.endswith(silent):
            continue
        if re.match(r"[-\[]?[\d.]", value):
            assert before.strip().startswith("#"), line


def test_wpilib_constants_are_java_doubles_with_interval_and_source(tmp_path):
    results = [result_files.voltage_results(tmp_path / "r", without=("left_side",))]
    out = exported(tmp_path, results, "--to", "wpilib", "--robot", "twil")
    text = (out / "DriveConstants.java").read_text()
    result = dict(re.findall(r"public static final double (\w+) = ([^;]+);", text))
    assert float(result["kVAngular"]) == 0.81
    assert float(result["kTrackwidthMeters"]) == 0.6
    assert {"kSRight", "kALinear", "kSAngular"} <= set(result)
    assert "kSLeft" not in result and "Missing: left side: not identified." in text
    assert text.count("/** ") == len(result)
    assert text.count("{") == text.count("}")


def test_sdf_has_the_masses_and_frictions_of_the_identified_robot(torque):
    model = ElementTree.parse(torque / "twil_identified.sdf").getroot().find("model")
    data = yaml.safe_load((torque / "twil_identified.yaml").read_text())
    masses = [float(link.findtext("inertial/mass")) for link in model.iter("link")]
    assert masses == [data["body"]["mass"], data["wheels"]["mass"], data["wheels"]["mass"]]
    viscous_left, _, coulomb_left, _ = result_files.FRICTION
    joint = model.find("joint[@name='left_wheel_joint']/axis/dynamics")
    assert float(joint.findtext("damping")) == viscous_left
    assert float(joint.findtext("friction")) == coulomb_left
    # One point of contact each: see benchmarks/sdf_drives.py.
    tyres = model.findall("link/collision[@name='tyre']/geometry/sphere")
    assert [float(each.findtext("radius")) for each in tyres] == [data["wheels"]["radius"]] * 2
