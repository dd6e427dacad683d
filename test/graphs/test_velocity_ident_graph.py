# SPDX-License-Identifier: Apache-2.0
"""launch ident of a robot that takes velocity commands: results, files, faults, interruption."""

import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

rclpy = pytest.importorskip("rclpy")

from launched import CommandRecorder, config, processes_of, run, start, summary  # noqa: E402
from rosbags.rosbag2 import Reader  # noqa: E402

from diffbot_bringup import cli  # noqa: E402
from diffbot_description import load_robot, urdf  # noqa: E402
from diffbot_msgs.msg import VelocityParameters  # noqa: E402

TRUTH = {"time constant": (0.2, 0.15), "gain": (1.0, 1.0)}
BANDS = (0.02, 0.06)
AXES = ("forward axis", "yaw axis")


@pytest.mark.one_distribution
@pytest.mark.full_speed
def test_a_run_identifies_the_robot_and_leaves_its_files(tmp_path, domain):
    """Dead time: 0.1 s of config/ident.yaml, and half of the 10 ms of an odometry's mean."""
    recorder = CommandRecorder(velocity=True)
    try:
        words = ("sim:=velocity", "duration:=20.0", "seed:=4", "arena:=2.4x2.0")
        process = start("ident", tmp_path, *words, pictures=True)
        assert recorder.spin(lambda: process.poll() is not None), "the launch did not end"
        recorder.spin(lambda: False, timeout=0.5)
        output = process.stdout.read()
    finally:
        recorder.close()
    assert process.returncode == 0, output
    assert recorder.commands[-1] == (0.0, 0.0)
    assert all(abs(v) <= 0.7 and abs(omega) <= 3.14 for v, omega in recorder.commands)
    said = summary(tmp_path)
    assert (said["outcome"], said["usable"], said["sim"]) == ("completed", "all", "velocity")
    for i, axis in enumerate(AXES):
        values = said["verdicts"][axis]["parameters"]
        for name, truth in (
            *((name, pair[i]) for name, pair in TRUTH.items()),
            ("dead time", 0.105),
            ("smallest command that moves the robot", BANDS[i]),
        ):
            value = values[name]
            assert abs(value["value"] - truth) < 5.0 * value["std"], (axis, name, value)
            assert value["std"] < 0.02 * truth, (axis, name, value)
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"velocity_parameters.yaml", "report.html", "axis_v.png", "axis_w.png"}
    assert (
        cli.main(["export", str(tmp_path), "--to", "nav2", "--output", str(tmp_path / "nav2")]) == 0
    )
    assert any((tmp_path / "nav2").iterdir())
    assert processes_of(domain) == []


@pytest.mark.full_speed
def test_a_robot_that_does_not_move_ends_the_run_with_a_sentence(tmp_path, domain):
    own = config(tmp_path, velocity_simulator={"dead_band": [9.0, 9.0]})
    status, output = run("ident", tmp_path / "run", "sim:=velocity", "report:=html", own)
    assert status == 1, output
    said = summary(tmp_path / "run")
    assert said["outcome"] == "failed" and "has not moved in 15 s of commands" in said["reason"]
    assert processes_of(domain) == []


@pytest.mark.full_speed
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("commands:=velocity", "sim:=mujoco"), "leave one of commands:= and sim:= out"),
        (("sim:=velocity", "arena:=0.5x3"), "arena length = 0.5 m: must be >="),
    ],
)
def test_what_does_not_go_together_is_refused(words, says, tmp_path, domain):
    status, output = run("ident", tmp_path, *words)
    assert status not in (0, 130) and says in output and "Traceback" not in output, output
    assert processes_of(domain) == []


def test_an_interrupted_run_ends_with_zero_and_keeps_its_data(tmp_path, domain):
    recorder = CommandRecorder(velocity=True)
    try:
        words = ("sim:=velocity", "speed:=1", "report:=html")
        process = start("ident", tmp_path, *words)
        assert recorder.spin(lambda: any(any(c) for c in recorder.commands), 60.0)
        process.send_signal(signal.SIGINT)
        assert recorder.spin(lambda: process.poll() is not None)
        recorder.spin(lambda: False, timeout=0.5)
    finally:
        recorder.close()
    assert recorder.commands[-1] == (0.0, 0.0)
    said = summary(tmp_path)
    assert said["outcome"] == "stopped" and said["data"] == ["velocities.csv"]
    assert (tmp_path / "velocities.csv").read_text().startswith("time,v,w,command_v,command_w")
    assert processes_of(domain) == []


# With a stand-in for the robot's driver, in real time, and a file of wheels, footprint and limits.

MINIMAL = """drive: {command: velocity}
wheels: {radius: 0.033, separation: 0.16}
body: {shape: {front: 0.07, rear: -0.07, width: 0.14}}
limits: {linear_velocity: 0.22, angular_velocity: 2.84}
"""


def run_with_driver(tmp_path, driver, *words):
    """(status, output, path that the robot has driven, m) of launch ident."""
    if not any(word.startswith("robot:=") for word in words):
        (tmp_path / "robot.yaml").write_text(MINIMAL)
        words = (f"robot:={tmp_path / 'robot.yaml'}", *words)
    script = str(Path(__file__).parents[1] / "stand_in_driver.py")
    process = subprocess.Popen([sys.executable, script, *driver], stdout=subprocess.PIPE, text=True)
    try:
        status, output = run("ident", tmp_path / "run", "sim:=none", "report:=html", *words)
    finally:
        process.terminate()
        moved, _ = process.communicate(timeout=30.0)
    return status, output, float(moved.split()[-1])


@pytest.mark.one_distribution
def test_a_robot_is_identified_by_its_transforms_alone(tmp_path, domain):
    """The driver runs in real time on a busy machine: only that its lag is found is tested, and
    that it stops 0.5 s after the last command."""
    driver = ("--publish", "tf", "--rate", "20", "--stamped")
    status, output, moved = run_with_driver(tmp_path, driver, "duration:=14.0")
    assert status == 0, output
    assert "from /tf (tf)" in output and moved > 0.01
    for axis in AXES:
        value = summary(tmp_path / "run")["verdicts"][axis]["parameters"]["time constant"]["value"]
        assert 0.1 < value < 0.4
    stop = summary(tmp_path / "run")["driver"]
    assert stop["stops_by_itself"] is True
    assert abs(stop["seconds_after_last_command"] - 0.5) < stop["error"] + 0.15
    words = [str(tmp_path / "run"), "--to", "nav2", "--output", str(tmp_path / "nav2")]
    assert cli.main(["export", *words]) == 0
    known = load_robot(tmp_path / "run" / "robot.yaml")
    assert known.limits.linear_velocity == 0.22 and "body.mass" in known.assumed
    assert processes_of(domain) == []


def test_a_driver_without_twist_that_does_not_stop_is_stopped_recorded_and_told(tmp_path, domain):
    """Its poses replace the twist, and the run begins again; its joint states are best effort.

    And the excitation ends as soon as the report knows enough, after 20 s at the soonest.
    """
    recorder = CommandRecorder(name="onlooker")  # the run has a recorder of its own
    topic = "velocity_ident_report/velocity_parameters"
    publisher = recorder.node.create_publisher(VelocityParameters, topic, 10)
    precise = VelocityParameters(sigma=[0.2, 0.2, 1.0, 1.0])  # all variances are 0
    recorder.node.create_timer(0.2, lambda: publisher.publish(precise))
    over = Event()
    spinning = Thread(target=recorder.spin, args=(over.is_set,), daemon=True)
    spinning.start()
    driver = (
        "--publish",
        "no_twist",
        "--clock=-1e6",
        "--joint-states",
        "--runs-on",
        "--rate",
        "15",
    )
    words = ("duration:=100", "until:=gain 1%", "record:=mcap")
    try:
        status, output, moved = run_with_driver(tmp_path, driver, *words)
    finally:
        over.set()
        spinning.join()
        recorder.close()
    assert status == 0, output
    assert "its poses are used instead, and the run begins again" in output, output
    assert moved > 0.01
    assert "as the precision asked for (until) is reached" in output
    assert "the driver does not stop by itself" in output
    said = summary(tmp_path / "run")
    assert said["outcome"] == "completed"
    assert said["driver"]["stops_by_itself"] is False
    assert said["driver"]["seconds_after_last_command"] is None
    assert "warning: the driver does not stop by itself" in " ".join(said["notes"])
    assert "does not stop by itself" in (tmp_path / "run" / "report.html").read_text()
    assert 20.0 < said["duration"] < 60.0
    with Reader(tmp_path / "run" / "recording") as reader:
        counts = {each.topic: (each.msgtype, each.msgcount) for each in reader.connections}
    assert counts["/cmd_vel"][0] == "geometry_msgs/msg/Twist"
    assert min(counts[name][1] for name in ("/cmd_vel", "/odom", "/joint_states")) > 100
    assert "/ground_truth" not in counts
    assert processes_of(domain) == []


@pytest.mark.parametrize(
    ("driver", "says"),
    [
        (("--rate", "2"), "one odometry message arrives every 0.50 s"),
        (("--no-stamps",), "the stamps repeat 0.0 s"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_moves(driver, says, tmp_path, domain):
    status, output, moved = run_with_driver(tmp_path, driver)
    assert status == 1 and says in output and "Traceback" not in output, output
    assert moved == 0.0 and says in summary(tmp_path / "run")["reason"]
    assert processes_of(domain) == []


def test_without_a_file_one_is_made_from_the_robots_description_and_nothing_moves(tmp_path, domain):
    text = tmp_path / "robot.urdf"
    text.write_text(urdf(load_robot("turtlebot2")))
    driver = ("--description", str(text))
    status, output, moved = run_with_driver(tmp_path, driver, "robot:=auto")
    assert (status, moved) == (0, 0.0), output
    file = tmp_path / "run" / "robot.yaml"
    assert f"written: {file}" in output and f"robot:={file}" in output
    assert load_robot(file).takes_velocity and not (tmp_path / "run" / "summary.json").exists()
    assert processes_of(domain) == []
