# SPDX-License-Identifier: Apache-2.0
"""Files for robots that take velocities: ramps, ways to stop, scales, and what is assumed."""

import ast
import math

import pytest
import result_files
import yaml

from diffbot_description import load_robot
from diffbot_description.files import read_yaml
from diffbot_export.command import main

ROBOT = load_robot("turtlebot2")
RAMPS = {
    "acceleration_limit": [0.3, 1.0],
    "acceleration_limit_variance": [1e-6, 1e-6],
    "deceleration_limit": [0.6, math.inf],
    "deceleration_limit_variance": [1e-6, math.inf],
}


def exported(folder, *results, robot="turtlebot2", target="nav2"):
    words = [*map(str, results), "--to", target, "--robot", str(robot), "--output", str(folder)]
    assert main(words) == 0
    text = (folder / f"{target}.yaml").read_text()
    return yaml.safe_load(text), text


def scales(folder, identified=True):
    """A folder with the calibration of an odometry; by a gyro only, if not identified."""

    def value(number):
        return {"value": number, "lower": 0.99 * number, "upper": 1.01 * number, "identified": True}

    def known(number):
        return value(number) if identified else {**result_files.UNKNOWN, "value": 1.0}

    document = {
        "outcome": "calibrated",
        "linear_scale": known(1.02),
        "angular_scale": value(0.95),
        "heading_drift": value(0.01),
        **{
            f"{name}_multiplier": known(number)
            for name, number in (
                ("left_wheel_radius", 1.01),
                ("right_wheel_radius", 1.03),
                ("wheel_separation", 1.02 / 0.95),
            )
        },
        "path_noise": value(1e-6),
    }
    folder.mkdir()
    (folder / "calibration.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    return folder


def test_the_drivers_ramps_bound_what_is_commanded(tmp_path):
    plain, _ = exported(tmp_path / "p", result_files.velocity_results(tmp_path / "a"))
    ramped, text = exported(tmp_path / "r", result_files.velocity_results(tmp_path / "b", **RAMPS))
    before, after = (
        document["velocity_smoother"]["ros__parameters"] for document in (plain, ramped)
    )
    assert before["max_accel"][0] > 0.3
    assert after["max_accel"][0] == pytest.approx(0.3 - 1.96e-3, rel=1e-3)
    # A limit above what the robot follows anyway, and none, change nothing.
    assert after["max_decel"][2] == before["max_decel"][2]
    plugins = ramped["controller_server"]["ros__parameters"]
    assert plugins["FollowPathMPPI"]["ax_max"] == after["max_accel"][0]
    assert plugins["FollowPathMPPI"]["model_delay_wz"] == 0.06
    assert "acceleration_limit of velocity_parameters.yaml" in " ".join(text.split())


def test_dead_times_and_the_way_to_rest_have_the_interval_of_the_identification(tmp_path):
    late = {"dead_time_variance": [1e-4, 4e-6]}
    _, text = exported(tmp_path / "o", result_files.velocity_results(tmp_path / "a", **late))
    words = " ".join(text.replace("#", " ").split())
    assert "0.06 [0.0560801, 0.0639199] s, dead_time of velocity_parameters.yaml" in words
    _, without = exported(tmp_path / "w", result_files.velocity_results(tmp_path / "b"))
    assert "0.06 s (given, no interval), dead_time of" in " ".join(
        without.replace("#", " ").split()
    )


def test_zones_leave_the_way_that_the_model_needs_to_stop(tmp_path):
    """The simulated robot of the results stops within the zone, and needs nearly all of it."""
    folder = result_files.velocity_results(tmp_path / "a", **RAMPS)
    document, _ = exported(tmp_path / "o", folder)
    section = read_yaml(folder / "velocity_parameters.yaml")
    while "sigma" not in section:
        section = next(iter(section.values()))
    tau = section["sigma"][0] / section["sigma"][2]
    step, speed = 1e-4, ROBOT.limits.linear_velocity
    command, v, x, t = speed, speed / section["sigma"][2], 0.0, 0.0
    while v > 1e-4:
        if t > section["dead_time"][0]:
            command = max(command - step * RAMPS["deceleration_limit"][0], 0.0)
        v += step / tau * (command / section["sigma"][2] - v)
        x, t = x + step * v, t + step
    zones = document["collision_monitor"]["ros__parameters"]
    corners = ast.literal_eval(zones["StopZone"]["points"])
    footprint = document["local_costmap"]["local_costmap"]["ros__parameters"]["footprint"]
    room = max(p[0] for p in corners) - max(p[0] for p in ast.literal_eval(footprint))
    assert x < room < 1.15 * x
    assert zones["FootprintApproach"]["time_before_collision"] > t / 3.0


def test_what_is_assumed_is_a_comment(tmp_path):
    data = read_yaml(ROBOT.path) | {"name": "mule", "assumed": ["limits.linear_velocity"]}
    if "urdf" in data.get("appearance", {}):
        del data["appearance"]
    robot = tmp_path / "mule.yaml"
    robot.write_text(yaml.safe_dump(data))
    results = result_files.velocity_results(tmp_path / "a", robot="mule")
    document, text = exported(tmp_path / "o", results, robot=robot)
    mppi = document["controller_server"]["ros__parameters"]["FollowPathMPPI"]
    assert not {"vx_max", "vx_min", "ax_max", "ax_min"} & mppi.keys()
    assert {"wz_max", "az_max", "model_delay_vx"} <= mppi.keys()
    assert document["velocity_smoother"]["ros__parameters"].keys() == {"deadband_velocity"}
    assert "assumed, so not set: vx_max: " in text
    control, _ = exported(tmp_path / "c", results, robot=robot, target="ros2_control")
    base = control["diffbot_base_controller"]["ros__parameters"]
    assert "linear" not in base and "angular" in base


def test_joints_that_are_only_assumed_are_not_written(tmp_path, capsys):
    """A file of four lines: its joints have the suite's names until somebody writes others."""
    robot = tmp_path / "mule.yaml"
    robot.write_text(
        "drive: {command: velocity}\nwheels: {radius: 0.033, separation: 0.16}\n"
        "body: {shape: {front: 0.07, rear: -0.07, width: 0.14}}\n"
        "limits: {linear_velocity: 0.22, angular_velocity: 2.84}\n"
    )
    results = result_files.velocity_results(tmp_path / "a", robot="mule")
    words = [str(results), "--robot", str(robot), "--output"]
    assert main([*words, str(tmp_path / "o"), "--to", "ros2_control", "nav2"]) == 2
    said = capsys.readouterr().err
    assert "the names of the wheels' joints are only assumed" in said and "mule.yaml" in said
    assert (tmp_path / "o" / "nav2.yaml").exists()
    assert not (tmp_path / "o" / "ros2_control.yaml").exists()
    robot.write_text(robot.read_text() + "joints: {left: a_joint, right: b_joint}\n")
    assert main([*words, str(tmp_path / "p"), "--to", "ros2_control"]) == 0
    assert '["a_joint"]' in (tmp_path / "p" / "ros2_control.yaml").read_text()


@pytest.mark.parametrize("identified", [True, False])
def test_the_scales_of_an_odometry_become_multipliers(tmp_path, identified):
    results = result_files.velocity_results(tmp_path / "a"), scales(tmp_path / "s", identified)
    control, text = exported(tmp_path / "o", *results, target="ros2_control")
    base = control["diffbot_base_controller"]["ros__parameters"]
    wide = 1.02 / 0.95 if identified else 1.0 / 0.95
    assert base["wheel_separation_multiplier"] == pytest.approx(wide, rel=1e-5)
    assert base.get("right_wheel_radius_multiplier") == (1.03 if identified else None)
    # The driver's own lengths are not known here.
    assert "wheel_radius" not in base and "keep your driver's own" in " ".join(text.split())
