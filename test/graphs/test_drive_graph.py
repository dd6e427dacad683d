# SPDX-License-Identifier: Apache-2.0
"""The whole graphs that drive a robot: results, interruption, bad input."""

import math
import signal

import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from launched import CommandRecorder, config, processes_of, run, start, summary  # noqa: E402
from PIL import Image  # noqa: E402

from diffbot_controllers.nodes.linearizing_node import LinearizingNode  # noqa: E402
from diffbot_description import load_robot  # noqa: E402

# Of one run: test_drive_report_pictures.py has those of each kind.
PICTURES = {"path", "pose", "torques", "velocities", "velocity_errors"}
KEYS = {"settling_time", "rms_position", "rms_heading", "max_position", "max_heading"}


def assert_left_behind(results):
    """Pictures that show something, and an animation that moves."""
    entries = {path.stem for path in results.glob("*.png")}
    assert entries >= PICTURES
    for path in results.glob("*.png"):
        with Image.open(path) as image:
            assert len(set(image.convert("L").resize((64, 64)).tobytes())) > 5, path
    with Image.open(results / "drive.gif") as movie:
        assert movie.n_frames > 10
        first = movie.convert("RGB").tobytes()
        movie.seek(movie.n_frames // 2)
        assert movie.convert("RGB").tobytes() != first


@pytest.mark.full_speed
def test_parking_settles_by_odometry_and_in_truth(tmp_path, domain):
    """With `launch pose`; test_task_launches.py parks by backstepping."""
    words = ("seed:=1", "sim:=mujoco", "goal:=-1,0.5,pi/2")
    status, output = run("pose", tmp_path, *words)
    assert status == 0, output
    said = summary(tmp_path)
    assert (said["outcome"], said["reason"]) == ("completed", "")
    # It was there long before; a wheel's counts at rest must not look like motion.
    assert said["duration"] == pytest.approx(8.0, abs=0.02)
    for kind in ("true", "odometry"):
        assert set(said["tracking"][kind]) >= KEYS
        assert said["tracking"][kind]["settling_time"] < 5.0
        assert said["tracking"][kind]["max_position"] < 0.01
        assert said["tracking"][kind]["max_heading"] < math.radians(1.0)
    limit = load_robot("twil").limits.traction  # unless told otherwise: what twil's wheels carry
    assert 0.2 * limit < said["peak_torque"] <= limit == said["controller"]["torque_limit"]
    assert said["controller"]["law"]
    assert said["controller"]["parameters"]["K7"] == pytest.approx(2.6468, rel=1e-3)
    assert processes_of(domain) == []


@pytest.mark.one_distribution
@pytest.mark.full_speed
def test_the_published_law_uses_its_torque_limit_and_comes_near(tmp_path, domain):
    """No more: near its goal it is chaotic. test_drive_accuracy.py has an ensemble."""
    words = ("seed:=1", "sim:=ideal", "trajectory:=none", "law:=published", "torque_limit:=5.0")
    status, output = run("backstepping", tmp_path, *words, pictures=True)
    assert status == 0, output
    said = summary(tmp_path)
    assert (said["outcome"], said["reason"]) == ("completed", "")
    assert said["controller"]["law"] == "published"
    assert said["peak_torque"] == said["controller"]["torque_limit"] == 5.0
    for kind in ("true", "odometry"):
        assert set(said["tracking"][kind]) >= KEYS
        assert said["tracking"][kind]["max_position"] < 0.05
    assert_left_behind(tmp_path)
    assert processes_of(domain) == []


@pytest.mark.full_speed
def test_velocity_steps_settle_as_designed(tmp_path, domain):
    counts = {"encoder_counts": 0}
    exact = config(tmp_path, simulator=counts, linearizing_controller=counts)
    status, output = run("linearizing", tmp_path, "sim:=ideal", exact)
    assert status == 0, output
    said = summary(tmp_path)
    assert said["outcome"] == "completed"
    steps = said["steps"]
    assert len(steps) >= 4
    assert processes_of(domain) == []


@pytest.mark.one_distribution
@pytest.mark.full_speed
@pytest.mark.xdist_group("identification")
def test_identified_parameters_drive_the_robot(identification, tmp_path, domain):
    """The workflow of the README: ident, its file, backstepping with it."""
    path = identification[1] / "dynamic_parameters.yaml"
    with open(path, encoding="utf-8") as file:
        parameters = yaml.safe_load(file)["/**"]["ros__parameters"]
    # One of benchmarks/driving.py: its own size and pace, but at 15 s a lap.
    sizes = {"amplitude_x": 0.5, "amplitude_y": 0.25, "period": 15.0}
    eight = config(tmp_path, trajectory_publisher=sizes)
    words = ("seed:=5", "sim:=mujoco", "laps:=1", f"parameters:={path}")
    status, output = run("backstepping", tmp_path / "run", *words, eight)
    assert status == 0, output
    said = summary(tmp_path / "run")
    assert said["outcome"] == "completed"
    used = said["controller"]["parameters"]
    for number in (5, 6, 7, 8):
        assert used[f"K{number}"] == parameters[f"k{number}"]
    assert used["source"] == str(path)
    # A lap of the figure-8, its ramps, and 1 s of rest.
    assert said["duration"] == pytest.approx(18.0, abs=0.5)
    assert said["tracking"]["true"]["settling_time"] < 10.0
    assert processes_of(domain) == []


def test_an_interrupted_drive_ends_with_zero_torque_and_keeps_its_numbers(tmp_path, domain):
    words = ("sim:=ideal", "speed:=1.0", "laps:=0")
    recorder = CommandRecorder()
    try:
        process = start("backstepping", tmp_path, *words)
        assert recorder.spin(lambda: len(recorder.commands) > 100)
        process.send_signal(signal.SIGINT)
        assert recorder.spin(lambda: process.poll() is not None), "the launch did not end"
        recorder.spin(lambda: False, timeout=0.5)
        output = process.stdout.read()
    finally:
        recorder.close()
    assert recorder.commands[-1] == (0.0, 0.0), output
    assert any(recorder.commands[-10])
    assert "Traceback" not in output
    assert process.returncode == 130, output
    said = summary(tmp_path)
    assert (said["outcome"], said["reason"]) == ("stopped", "interrupted")
    assert said["complete"] is True, said["missing"]
    assert processes_of(domain) == []


@pytest.mark.full_speed
def test_what_a_node_refuses_ends_the_run_with_a_clear_message(tmp_path, domain):
    """What the launch refuses, before it starts anything: test_launch_arguments.py."""
    status, output = run("backstepping", tmp_path, "sim:=ideal", "torque_limit:=99.0")
    assert status not in (0, 130), output
    assert "'torque_limit' = 99.0 N m: must be <= 5.0 N m" in output, output
    assert "Traceback" not in output and processes_of(domain) == []


def test_a_parameter_that_cannot_be_is_refused_by_name():
    rclpy.init(args=["--ros-args", "-p", "settling_time:=0.0"])
    try:
        with pytest.raises(ValueError, match="'settling_time' = 0.0: must be finite and > 0"):
            LinearizingNode()
    finally:
        rclpy.shutdown()
