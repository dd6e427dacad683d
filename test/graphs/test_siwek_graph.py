# SPDX-License-Identifier: Apache-2.0
"""The whole graph that drives a robot by velocity commands: results, interruption."""

import math
import signal

import pytest

rclpy = pytest.importorskip("rclpy")

from launched import CommandRecorder, config, processes_of, run, start, summary  # noqa: E402

PICTURES = {"path", "pose", "velocities", "commands", "velocity_errors", "sigma"}
# Rest to rest in 7.3 s; the robot needs three times the velocity to reach it in time.
FAST = "robot:=twil"


def short(folder, **bands):
    """Arguments of a short run; bands: of simulator and controller."""
    nodes = ("velocity_simulator", "velocity_tracking_controller")
    nodes = dict.fromkeys(nodes, bands) if bands else {}
    return "trajectory:=line", FAST, *([config(folder, **nodes)] if nodes else [])


@pytest.mark.full_speed
def test_a_short_run_follows_its_line_and_leaves_its_report(tmp_path, domain):
    recorder = CommandRecorder(velocity=True)
    try:
        words = ("adaptive:=true", "seed:=3", *short(tmp_path))
        process = start("siwek", tmp_path, *words, pictures=True)
        assert recorder.spin(lambda: process.poll() is not None), "the launch did not end"
        recorder.spin(lambda: False, timeout=0.5)
        output = process.stdout.read()
    finally:
        recorder.close()
    assert process.returncode == 0, output
    assert recorder.commands[-1] == (0.0, 0.0)
    said = summary(tmp_path)
    assert (said["outcome"], said["reason"], said["sim"]) == ("completed", "", "velocity")
    assert said["duration"] == pytest.approx(8.3, abs=0.5)
    # Velocity noise of 2 mm/s and 5 mrad/s, through gains of 10 1/s, leaves a tenth of this.
    for kind in ("true", "odometry"):
        tracking = said["tracking"][kind]
        assert tracking["max_position"] < 0.002 and tracking["max_heading"] < 0.005
        assert tracking["settling_time"] == 0.0
    assert said["peak_torque"] is None
    assert 1.0 < said["peak_command"][0] <= 3.0 == said["controller"]["velocity_limits"][0]
    controller = said["controller"]
    assert controller["law"] == "adaptive" and controller["gains"]["epsilon"] == 0.8
    assert controller["parameters"]["source"] == "sigma"
    assert controller["parameters"]["sigma1"]["start"] == 3.446
    assert {axis: band["in_use"] for axis, band in controller["dead_band"].items()} == {
        "v": 0.0,
        "omega": 0.0,
    }
    assert said["samples"] == pytest.approx(said["samples_true"], abs=20)
    assert {path.stem for path in tmp_path.glob("*.png")} >= PICTURES
    assert (tmp_path / "drive.gif").exists()
    assert processes_of(domain) == []


@pytest.mark.one_distribution
@pytest.mark.full_speed
def test_a_robot_with_a_dead_band_follows_its_line_where_the_controller_knows_it(tmp_path, domain):
    """And sigma comes from a file."""
    path = tmp_path / "velocity_parameters.yaml"
    path.write_text("/**: {ros__parameters: {sigma: [3.5, 4.5, 0.9, 0.3]}}")
    arguments = ("seed:=3", *short(tmp_path, dead_band=[0.1, 0.3]))
    status, output = run("siwek", tmp_path, f"parameters:={path}", *arguments)
    assert status == 0, output
    assert "dead band 0.1 m/s (offset) and 0.3 rad/s (offset)" in output
    assert "smallest command that moves the robot: 0.1 m/s as given" in output
    said = summary(tmp_path)
    assert said["tracking"]["true"]["max_position"] < 0.002
    assert said["controller"]["dead_band"]["v"]["in_use"] == 0.1
    used = said["controller"]["parameters"]
    assert used["source"] == str(path) and used["sigma1"]["start"] == 3.5
    assert said["peak_command"][0] <= 3.0
    assert processes_of(domain) == []


def test_an_interrupted_drive_ends_with_zero_velocity_and_keeps_its_numbers(tmp_path, domain):
    """By SIGHUP, as when its terminal closes."""
    recorder = CommandRecorder(velocity=True)
    try:
        ramp = config(tmp_path, trajectory_publisher={"ramp_up": 1.0})
        process = start("siwek", tmp_path, "speed:=1.0", "laps:=0", ramp)
        assert recorder.spin(lambda: len(recorder.commands) > 150)
        process.send_signal(signal.SIGHUP)
        assert recorder.spin(lambda: process.poll() is not None), "the launch did not end"
        recorder.spin(lambda: False, timeout=0.5)
        output = process.stdout.read()
    finally:
        recorder.close()
    assert recorder.commands[-1] == (0.0, 0.0), output
    assert any(recorder.commands[-10])
    assert all(math.isfinite(value) for pair in recorder.commands for value in pair)
    assert "Traceback" not in output
    assert summary(tmp_path)["outcome"] == "stopped"
    assert processes_of(domain) == []
