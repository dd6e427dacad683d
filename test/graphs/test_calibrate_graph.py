# SPDX-License-Identifier: Apache-2.0
"""The whole graph that calibrates a robot whose wheels are not as its file says."""

import pytest

rclpy = pytest.importorskip("rclpy")

from launched import config, run, summary  # noqa: E402
from made_recordings.calibration_drives import write_miscalibrated  # noqa: E402

from diffbot_description import load_robot  # noqa: E402


@pytest.mark.one_distribution
@pytest.mark.full_speed
def test_radii_and_track_of_another_robot_are_found(domain, tmp_path):
    moved = write_miscalibrated(load_robot("twil"), 2, tmp_path / "moved.yaml")
    results = tmp_path / "results"
    simulator = {"simulated_robot": str(tmp_path / "moved.yaml"), "imu": False}
    limits = {"speed": 0.8, "turn_rate": 3.0, "acceleration": 1.0, "turn_acceleration": 4.0}
    status, output = run(
        "calibrate",
        results,
        *("sim:=ideal", "arena:=3.5", "duration:=36"),
        config(tmp_path, simulator=simulator, trajectory_publisher=limits),
        pictures=True,
    )
    assert status == 0, output
    result = summary(results)
    assert result["outcome"] == "completed"
    for name in ("report.html", "calibration.png", "way.png", "drift.png"):
        assert (results / name).is_file()
        assert str(results / name) in output
    g = moved.geometry
    true = {"left_radius": g.left_radius, "right_radius": g.right_radius, "track": g.separation}
    for name, value in true.items():
        # A short motion; the 95 % intervals are benchmarks/calibration.py's.
        assert result["calibration"][name]["value"] == pytest.approx(value, rel=0.01), name
    reported = load_robot("twil").geometry
    assert abs(reported.separation / g.separation - 1.0) > 0.02
    assert load_robot(results / "twil_calibrated.yaml").geometry.separation == pytest.approx(
        g.separation, rel=0.01
    )


@pytest.mark.full_speed
def test_a_robot_that_publishes_odometry_alone_is_calibrated_and_recorded(domain, tmp_path):
    """The simulated driver's odometry is right: the scales are 1, and the run ends by itself."""
    results = tmp_path / "results"
    simulator = {"joint_states": False, "imu": False}
    status, output = run(
        "calibrate",
        results,
        *("sim:=velocity", "duration:=40", "record:=mcap"),
        config(tmp_path, velocity_simulator=simulator),
        pictures=True,
    )
    assert status == 0, output
    result = summary(results)["calibration"]
    for name in ("linear_scale", "angular_scale"):
        assert result[name]["lower"] < 1.01 and result[name]["upper"] > 0.99, name
        assert result[name]["upper"] - result[name]["lower"] < 0.03, name
    assert list((results / "recording").glob("*.mcap"))
    assert "leave_with_reference" not in output
