# SPDX-License-Identifier: Apache-2.0
"""The calibrate_node in this process: what it collects, when it ends, what it leaves."""

import json
import math
import random
import signal
from dataclasses import replace

import numpy as np
import pytest
from made_recordings.made_laser import MadeLaser, corridor, room, scans
from made_recordings.made_readings import calibration_legs, simulated_drive

rclpy = pytest.importorskip("rclpy")

from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from sensor_msgs.msg import Imu, JointState, LaserScan  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

from arc_odometry import WheelGeometry  # noqa: E402
from diffbot_calibration import calibrate_node, calibration_page  # noqa: E402
from diffbot_calibration.calibration import CalibratedValue, Calibration, CalibrationOutcome  # noqa: E402
from diffbot_description import load_robot  # noqa: E402
from diffbot_msgs.msg import IdentStatus  # noqa: E402
from diffbot_node import launch_supervision, to_stamp  # noqa: E402
from diffbot_recordings.bag_topics import frames_of  # noqa: E402
from diffbot_recordings.sensor_readings import Subject  # noqa: E402

pytestmark = pytest.mark.one_distribution

TWIL = load_robot("twil")
# True radii (left, right) and track, m, of the robot that is driven as twil.
TRUE = (0.0757, 0.0743, 0.28)
# True over published motion of a robot whose odometry is wrong: linear, angular.
SCALES = (1.04, 0.95)


@pytest.fixture
def pages():
    """What the node has had a page written of, and the keys that summary.json had then."""
    return []


@pytest.fixture
def frames():
    """Of a pose source in tf, for the parameter; empty: the topic."""
    return ""


@pytest.fixture
def velocity():
    """Whether the robot takes velocities."""
    return False


@pytest.fixture
def kind(request):
    """Type of the pose source."""
    return getattr(request, "param", "pose_with_covariance")


@pytest.fixture
def node(tmp_path, domain, pages, frames, velocity, kind, monkeypatch):
    def write_page(calibration, folder):
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        pages.append((calibration, summary["outcome"]))
        return folder / "report.html"

    given = [f"results:={tmp_path}", "sim:=test", f"pose_type:={kind}"]
    given += [f"tf:={frames}"] if frames else []
    given += ["velocity:=true"] if velocity else []
    rclpy.init(args=["--ros-args", *(word for text in given for word in ("-p", text))])
    monkeypatch.setattr(calibration_page, "write_calibration_page", write_page)
    made = calibrate_node.CalibrateNode()
    yield made
    made.close()
    made.destroy_node()
    rclpy.shutdown()


def drive(node, seconds=20.0, gyro=True, poses=True):
    """Let the node have what a robot tells that turns, drives there and back, and circles."""
    joints = JointState(name=list(TWIL.joints.names))
    imu, pose = Imu(), PoseWithCovarianceStamped()
    left_radius, right_radius, track = TRUE
    x = y = theta = left = right = 0.0
    for k in range(round(seconds / 0.01)):
        t = 0.01 * k
        phase = t % 20.0
        v = 0.4 * math.sin(math.tau * phase / 10.0) if phase < 10.0 else 0.3
        omega = 1.0 if 10.0 < phase < 15.0 else -1.2 if phase >= 15.0 else 0.0
        for message in (joints, imu, pose):
            message.header.stamp = to_stamp(t)
        joints.position = [left, right]
        node._on_joint_state(joints)
        imu.angular_velocity.z = omega + 0.01
        if gyro:
            node._on_imu(imu)
        pose.pose.pose.position.x, pose.pose.pose.position.y = x, y
        pose.pose.pose.orientation.z = math.sin(0.5 * theta)
        pose.pose.pose.orientation.w = math.cos(0.5 * theta)
        if poses and k % 5 == 0:
            node._on_pose(pose)
        middle = theta + 0.005 * omega
        x, y = x + 0.01 * v * math.cos(middle), y + 0.01 * v * math.sin(middle)
        theta += 0.01 * omega
        left += 0.01 * (v - 0.5 * track * omega) / left_radius
        right += 0.01 * (v + 0.5 * track * omega) / right_radius


def stand_in_of(calls):
    """A calibration that notes what it is called with, and finds the truth."""

    def calibrate(wheels, *, geometry, gyro, poses, subject, pose_errors):
        calls.append((wheels, gyro, poses))
        sizes = zip(("left_radius", "right_radius", "track"), TRUE, strict=True)
        quantities = {name: CalibratedValue(v, 0.999 * v, 1.001 * v, "m") for name, v in sizes}
        for name, value in (("track_over_mean_radius", 3.73), ("radius_ratio", 0.98)):
            quantities[name] = CalibratedValue(value, value, value, "1")
        wheel_geometry = WheelGeometry(*TRUE)
        return Calibration(
            CalibrationOutcome.CALIBRATED, "by hand", "gyro", geometry, wheel_geometry, quantities
        )

    return calibrate


def test_a_drive_is_calibrated_at_its_end(node, tmp_path, capsys, monkeypatch, pages):
    calls = []
    monkeypatch.setattr("diffbot_calibration.calibration.calibrate", stand_in_of(calls))
    drive(node)
    assert node._finish() == 0
    ((wheels, gyro, poses),) = calls
    turned = gyro.rate.sum() * 0.01 - 0.01 * gyro.stamps[-1]
    left, right = wheels.left[-1] - wheels.left[0], wheels.right[-1] - wheels.right[0]
    assert (TRUE[1] * right - TRUE[0] * left) / TRUE[2] == pytest.approx(turned, abs=0.05)
    assert math.remainder(poses.yaw[-1] - turned, math.tau) == pytest.approx(0.0, abs=0.1)
    assert len(poses.stamps) == 400
    said = capsys.readouterr().out
    assert "left radius" in said and str(tmp_path / "report.html") in said
    ((calibration, outcome),) = pages
    assert calibration.geometry == WheelGeometry(*TRUE) and outcome == "completed"
    none = json.loads((tmp_path / "summary.json").read_text())
    assert (none["name"], none["sim"], none["outcome"]) == ("calibrate", "test", "completed")
    assert none["calibration"]["track"]["value"] == TRUE[2]
    assert (tmp_path / "calibration.yaml").exists()
    assert load_robot(tmp_path / "twil_calibrated.yaml").geometry == WheelGeometry(*TRUE)


def test_a_refused_calibration_has_not_completed(node, tmp_path, monkeypatch, pages):
    def refuse(wheels, **readings):
        refused = CalibrationOutcome.REFUSED
        return replace(
            stand_in_of([])(wheels, **readings), outcome=refused, reason="it drifts more"
        )

    monkeypatch.setattr("diffbot_calibration.calibration.calibrate", refuse)
    drive(node)
    assert node._finish() == 1
    none = json.loads((tmp_path / "summary.json").read_text())
    assert (none["outcome"], none["reason"]) == ("failed", "it drifts more")
    assert none["calibration"]["outcome"] == "refused"
    assert pages[0][1] == "failed"


def test_without_a_sensor_it_says_so_at_once(node, monkeypatch):
    monkeypatch.setattr(calibrate_node, "DISCOVERY", 0.0)
    drive(node, 1.0, gyro=False, poses=False)
    node._look_around()
    assert node.exit_code == 1
    missing = node._no_sensor()
    assert "no node publishes /imu/data (a gyro) or /pose (a pose source)" in missing
    assert "imu or pose_source of the simulator" in missing


def test_a_drive_that_told_nothing_is_no_calibration(node, tmp_path):
    drive(node, 0.1)
    assert node._finish() == 1
    assert not (tmp_path / "calibration.yaml").exists()


def test_what_cannot_be_calibrated_says_so_in_its_summary(node, tmp_path, pages):
    drive(node, seconds=2.0, gyro=False, poses=False)
    assert node._finish() == 1
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["outcome"] == "failed"
    assert summary["reason"].startswith("too few readings: ")
    assert pages == [(None, "failed")]


def test_what_the_end_needs_is_loaded_while_the_robot_drives(node, monkeypatch):
    """Loading takes seconds, which nobody should wait for after the drive."""
    loaded = []
    monkeypatch.setattr(calibrate_node, "_load", lambda: loaded.append(True))
    node._look_around()
    assert not loaded
    monkeypatch.setattr(node, "_published", lambda topic: True)
    for _ in range(3):
        node._look_around()
    node._loading.join()
    assert loaded == [True]


def transform(parent, child, t, x, y, yaw):
    transform_stamped = TransformStamped(child_frame_id=child)
    transform_stamped.header.frame_id, transform_stamped.header.stamp = parent, to_stamp(t)
    transform_stamped.transform.translation.x, transform_stamped.transform.translation.y = x, y
    transform_stamped.transform.rotation.z, transform_stamped.transform.rotation.w = (
        math.sin(yaw / 2),
        math.cos(yaw / 2),
    )
    return TFMessage(transforms=[transform_stamped])


@pytest.mark.parametrize("frames", ["map base_link"])
def test_poses_come_from_tf_where_the_localisation_has_spoken(node, monkeypatch):
    """map -> odom each 0.1 s, said twice, and odom -> base_link each 0.01 s: 10 poses in 1 s."""
    assert node.count_subscribers("/tf") == 1 and node.count_subscribers("/pose") == 0
    for k in range(100):
        t = 1.0 + 0.01 * k
        if k % 10 == 0:
            correction = transform("map", "odom", t, 5.0, 1e-3 * k, math.pi / 2)
            node._on_transforms(correction)
            node._on_transforms(correction)
        node._on_transforms(transform("odom", "base_link", t, 0.01 * k, 0.0, 0.1))
        node._on_transforms(transform("odom", "camera", t, 9.0, 9.0, 9.0))
    stamps, x, y, yaw, _ = node._collected.poses.columns()
    assert stamps == pytest.approx([1.0 + 0.1 * i for i in range(10)])
    assert x == pytest.approx([5.0] * 10)
    assert y == pytest.approx([0.11 * i for i in range(10)])
    assert yaw == pytest.approx([math.pi / 2 + 0.1] * 10)
    monkeypatch.setattr(calibrate_node, "DISCOVERY", 0.0)
    node._collected.poses.rows.clear()
    drive(node, 1.0, gyro=False, poses=False)
    assert "no node publishes /imu/data (a gyro) or /tf (a pose source)" in node._no_sensor()


@pytest.mark.parametrize("frames", ["map base_link"])
def test_frames_that_tf_never_held_are_named(node, tmp_path):
    drive(node, 2.0, gyro=False, poses=False)
    node._on_transforms(transform("map", "odometry", 1.0, 0.0, 0.0, 0.0))
    assert node._finish() == 1
    reason = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["reason"]
    assert "/tf never held the transform between 'map base_link'" in reason


@pytest.mark.parametrize("text", ["map", "map map", "a b c"])
def test_frames_are_two(text):
    with pytest.raises(ValueError, match="must be two frames"):
        frames_of(text)


def test_a_run_that_is_interrupted_says_so_in_its_summary(node, tmp_path):
    node.close()
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert (summary["outcome"], summary["robot"]) == ("stopped", "twil")


def test_the_end_of_a_run_by_another_nodes_failure_is_no_interruption(node, tmp_path, monkeypatch):
    monkeypatch.setattr(launch_supervision, "FAILED_HERE", ["simulator (exit code 1): no room"])
    node.close()
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["outcome"] == "failed" and summary["reason"].startswith(
        "simulator (exit code 1)"
    )


def test_ctrl_c_while_radii_and_track_are_fitted_ends_it(node, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the fit goes on")

    drive(node, 2.0)
    monkeypatch.setattr("diffbot_calibration.calibration.calibrate", interrupted)
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        node.exit_code = node._finish()
    finally:
        signal.signal(signal.SIGINT, before)
    assert node.exit_code is None
    node.close()
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["outcome"] == "stopped"


def drive_by_odometry(node, seconds=40.0):
    """Let the node have odometry of a scale of its own, a gyro and poses of the truth."""
    odometry, imu, pose = Odometry(), Imu(), PoseWithCovarianceStamped()
    rng = random.Random(3)
    by_odometry, truth = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    for k in range(round(seconds / 0.02)):
        t = 0.02 * k
        phase = t % 10.0
        v = 0.5 * math.sin(math.tau * phase / 5.0) if phase < 5.0 else 0.25
        omega = 0.0 if phase < 5.0 else 1.3 if t % 20.0 < 10.0 else -1.3
        for message in (odometry, imu, pose):
            message.header.stamp = to_stamp(t)
        imu.angular_velocity.z = SCALES[1] * omega + 0.01 + rng.gauss(0.0, 0.003)
        node._on_imu(imu)
        for message, place, noise in ((odometry, by_odometry, 0.0), (pose, truth, 0.005)):
            x, y, yaw = (value + rng.gauss(0.0, noise) for value in place)
            message.pose.pose.position.x, message.pose.pose.position.y = x, y
            message.pose.pose.orientation.z = math.sin(0.5 * yaw)
            message.pose.pose.orientation.w = math.cos(0.5 * yaw)
        node._on_odometry(odometry)
        if k % 5 == 0:
            node._on_pose(pose)
        for place, (linear, angular) in ((by_odometry, (1.0, 1.0)), (truth, SCALES)):
            middle = place[2] + 0.01 * angular * omega
            place[0] += 0.02 * linear * v * math.cos(middle)
            place[1] += 0.02 * linear * v * math.sin(middle)
            place[2] += 0.02 * angular * omega


@pytest.mark.parametrize("velocity", [True])
def test_odometry_alone_tells_its_scales(node, tmp_path):
    drive_by_odometry(node)
    assert node._finish() == 0
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    scales = summary["calibration"]
    assert scales["given"] == {"linear_scale": 1.0, "angular_scale": 1.0, "heading_drift": 0.0}
    for name, true in zip(("linear_scale", "angular_scale"), SCALES, strict=True):
        assert scales[name]["lower"] < true < scales[name]["upper"], name
        assert scales[name]["upper"] - scales[name]["lower"] < 0.02
    assert scales["wheel_separation_multiplier"]["value"] == pytest.approx(1.04 / 0.95, rel=0.01)
    assert "left_radius" not in scales and "export" in summary["next_step"]
    assert not (tmp_path / "odometry_parameters.yaml").exists()


@pytest.mark.parametrize("velocity", [True])
def test_joint_states_come_before_odometry(node, monkeypatch):
    calls = []
    monkeypatch.setattr("diffbot_calibration.calibration.calibrate", stand_in_of(calls))
    drive(node)
    drive_by_odometry(node, 1.0)
    assert node._collected.subject is Subject.WHEELS


@pytest.mark.parametrize("velocity", [True])
def test_a_drive_that_the_excitation_stopped_says_why(node, tmp_path):
    reason = "the robot has not moved in 15 s of commands"
    node._on_status(IdentStatus(phase=IdentStatus.STOPPED, message=reason))
    node._look_around()
    assert node.exit_code == 1
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["outcome"] == "failed" and reason in summary["reason"]


def laser_message(scan):
    message = LaserScan(
        angle_min=scan.angle_min, angle_increment=scan.angle_increment,
        range_min=scan.range_min, range_max=scan.range_max, time_increment=scan.time_increment,
        ranges=scan.ranges.astype("float32").tolist(),
    )  # fmt: skip
    message.header.stamp = to_stamp(scan.stamp)
    return message


@pytest.mark.parametrize("kind", ["laser"], indirect=True)
@pytest.mark.parametrize("walls", [room(np.random.default_rng(3)), corridor()], ids=len)
def test_scans_are_a_pose_source(node, walls, monkeypatch, capfd):
    calls = []
    monkeypatch.setattr("diffbot_calibration.calibration.calibrate", stand_in_of(calls))
    drive(node, poses=False)
    run = simulated_drive(WheelGeometry(*TRUE), calibration_legs(20.0), np.random.default_rng(4))
    begin = run.wheels.stamps[0]
    laser = MadeLaser(rays=360, scan_time=0.0)
    rng = np.random.default_rng(5)
    for scan in scans(run.truth.poses, walls, laser, begin, begin + 5.0, rng):
        node._on_scan(laser_message(scan))
    if len(walls) == 2:
        assert node._finish() == 1
        assert "walls in one direction only, as in a corridor" in capfd.readouterr().err
        return
    assert node._finish() == 0
    ((_, _, poses),) = calls
    assert len(poses.stamps) == pytest.approx(50, abs=1)
