# SPDX-License-Identifier: Apache-2.0
"""launch drive, park and adapt: the same tasks for robots that take torque or velocity commands."""

import json
import math

import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from launched import config, processes_of, run, summary  # noqa: E402

# A quick robot, with what velocity_parameters.yaml tells of it.
SIGMA = [0.3, 0.2, 1.05, 0.95]
QUICK = {
    "dead_time": 0.1,
    "dead_band": [0.03, 0.1],
    "acceleration_limit": [0.5, 1.5],
}
KINDS = ["ideal", "velocity"]


def robot(folder, sim):
    """Arguments of a robot of this kind; that of velocities is quick, and known from a file."""
    if sim != "velocity":
        return []
    pair = QUICK["acceleration_limit"]
    known = {
        **QUICK,
        "sigma": SIGMA,
        "dead_time": [QUICK["dead_time"]] * 2,
        "dead_band_kind": ["offset"] * 2,
    }
    known |= {"deceleration_limit": [*pair], "ramp_before_dead_band": True}
    path = folder / "velocity_parameters.yaml"
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": known}}))
    sigma = ",".join(map(str, SIGMA))
    return [f"sigma:={sigma}", f"parameters:={path}", config(folder, velocity_simulator=QUICK)]


@pytest.mark.one_distribution
@pytest.mark.full_speed
@pytest.mark.parametrize("sim", KINDS)
def test_a_drive_begins_where_the_robot_stands_and_stays_in_its_arena(sim, tmp_path, domain):
    """Never further than 5 mm from its path, seeds 3; an error at the beginning would be larger."""
    words = (f"sim:={sim}", "duration:=16.0", "arena:=2.2x1.8", "seed:=3", *robot(tmp_path, sim))
    status, output = run("drive", tmp_path, *words)
    assert status == 0, output
    said = summary(tmp_path)
    assert (said["outcome"], said["reason"], said["sim"]) == ("completed", "", sim)
    assert said["name"] == "drive" and said["arguments"]["arena"] == "2.2x1.8"
    assert said["tracking"]["true"]["settling_time"] == 0.0
    assert said["tracking"]["true"]["max_position"] < 0.005
    assert said["controller"]["law"] == ("fixed" if sim == "velocity" else "standard")
    assert processes_of(domain) == []


@pytest.mark.one_distribution
@pytest.mark.full_speed
@pytest.mark.parametrize("sim", KINDS)
def test_a_robot_parks_exactly_to_what_odometry_tells(sim, tmp_path, domain):
    """To 5 mm and 1 degree in truth, seed 4."""
    words = (f"sim:={sim}", "goal:=0.6,-0.5,pi/2", "arena:=2.4x2.4", "seed:=4")
    status, output = run("park", tmp_path, *words, *robot(tmp_path, sim))
    assert status == 0, output
    said = summary(tmp_path)
    assert said["outcome"] == "completed" and said["duration"] < 60.0
    for kind in ("true", "odometry"):
        assert said["tracking"][kind]["max_position"] < 0.005
        assert said["tracking"][kind]["max_heading"] < math.radians(1.0)
    assert processes_of(domain) == []


@pytest.mark.full_speed
def test_a_goal_outside_the_arena_is_refused_before_anything_moves(tmp_path, domain):
    """By the node of the trajectory, which is the same for both kinds of robots."""
    status, output = run("park", tmp_path, "sim:=ideal", "goal:=2,0,0", "arena:=3x3")
    assert status == 1
    assert "the reference is 2.00 m from the start along the arena's length of 3 m" in output
    said = json.loads((tmp_path / "summary.json").read_text())
    assert said["outcome"] == "failed"
    assert processes_of(domain) == []


@pytest.mark.one_distribution
@pytest.mark.full_speed
def test_parameters_of_a_velocity_robot_follow_a_payload(tmp_path, domain):
    """50 % more at 6 s; the error afterwards is at most 10 mm, seed 5."""
    words = ("sim:=velocity", "payload_time:=6.0", "duration:=18.0", "seed:=5")
    status, output = run("adapt", tmp_path, *words)
    assert status == 0, output
    said = summary(tmp_path)
    assert said["outcome"] == "completed"
    assert said["tracking"]["true"]["max_position"] < 0.01
    assert said["controller"]["law"] == "adaptive"
    assert processes_of(domain) == []
