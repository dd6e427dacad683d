# SPDX-License-Identifier: Apache-2.0
"""What export reads, refuses and leaves out."""

import json
import math

import pytest
import result_files
import yaml
from hypothesis import given
from hypothesis import strategies as st

from diffbot_description import load_robot
from diffbot_export.command import main
from diffbot_export.curvature_limits import BendRow, table_text
from diffbot_export.known_robot import Settings, known_robot, motion_limits
from diffbot_export.results import read_results
from diffbot_export.sourced_value import SourcedValue, product, scalar
from diffbot_ident.estimate import EstimateState, FrictionEstimate


def refusal(capsys, *words):
    assert main([*map(str, words), "--output", "unused"]) == 2
    return capsys.readouterr().err


def test_a_folder_without_results_is_named(tmp_path, capsys):
    text = refusal(capsys, tmp_path, "--to", "nav2")
    assert f"{tmp_path}: holds no results" in text and "dynamic_parameters.yaml" in text


def test_an_unknown_target_is_answered_with_the_nearest(tmp_path, capsys):
    results = result_files.torque_results(tmp_path)
    text = refusal(capsys, results, "--to", "ros2_controls")
    assert "unknown target 'ros2_controls'" in text and "did you mean ros2_control?" in text


@pytest.mark.parametrize("state", [EstimateState.UNESTIMATED, EstimateState.INVALID])
def test_an_estimate_that_may_not_be_used_is_refused(tmp_path, capsys, state):
    results = result_files.torque_results(tmp_path, state=state)
    text = refusal(capsys, results, "--to", "ros2_control")
    assert f"state = '{state.name.lower()}'" in text and "identify the robot again" in text


def test_an_unverified_estimate_is_refused(tmp_path, capsys):
    results = result_files.torque_results(tmp_path, verification={"state": "not_verified"})
    assert "verification = 'not_verified'" in refusal(capsys, results, "--to", "urdf")


def test_the_torque_delay_is_known_where_the_file_says_it(tmp_path):
    known = read_results([result_files.torque_results(tmp_path / "a")])
    assert known.torque.delay == 0.01  # one control period of 10 ms
    unknown = read_results([result_files.torque_results(tmp_path / "b", torque_delay=math.nan)])
    assert unknown.torque.delay is None
    assert any("delay of the torque" in text for text in unknown.missing)


def test_a_refused_calibration_is_refused(tmp_path, capsys):
    results = result_files.calibration(tmp_path, outcome="refused", reason="gyro in degrees")
    assert "gyro in degrees" in refusal(capsys, results, "--to", "ros2_control")


def test_a_calibration_of_another_robot_is_refused(tmp_path, capsys):
    results = result_files.calibration(tmp_path)
    text = refusal(capsys, results, "--to", "ros2_control", "--robot", "agv")
    assert "track of calibration.yaml = 0.2858 m, but 0.5 m in the description" in text


def test_sigma_that_was_only_given_is_refused(tmp_path, capsys):
    given_sigma = {"value": 1.0, "start": 1.0, "std": None}
    names = ("sigma1", "sigma2", "sigma3", "sigma4")
    summary = {"controller": {"parameters": dict.fromkeys(names, given_sigma)}}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert "was given to the controller" in refusal(capsys, tmp_path, "--to", "nav2")


def test_sigma_estimated_while_driving_is_taken(tmp_path):
    entries = {"value": 0.5, "start": 0.4, "std": 0.01}
    names = ("sigma1", "sigma2", "sigma3", "sigma4")
    band = {"value": 0.04, "std": 0.001, "identifiable": True}
    summary = {
        "robot": "turtlebot2",
        "controller": {
            "parameters": dict.fromkeys(names, entries),
            "dead_band": {"v": band, "omega": {"identifiable": False}},
        },
    }
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    results = read_results([tmp_path])
    assert results.velocity["v"].inertia.value == 0.5
    assert results.velocity["v"].dead_band.high == pytest.approx(0.04 + 1.96 * 0.001, rel=1e-4)
    assert results.velocity["omega"].dead_band is None


def test_results_of_two_kinds_or_two_files_of_one_are_refused(tmp_path, capsys):
    torque = result_files.torque_results(tmp_path / "t")
    velocity = result_files.velocity_results(tmp_path / "v")
    other = result_files.torque_results(tmp_path / "o")
    assert "torque robot and of a velocity" in refusal(capsys, torque, velocity, "--to", "nav2")
    assert "a second dynamic_parameters.yaml" in refusal(capsys, torque, other, "--to", "nav2")


def test_what_is_not_identifiable_is_left_out_and_named(tmp_path):
    unknown = FrictionEstimate((0.001, math.nan, 0.02, 0.03), (1e-9, math.inf, 1e-6, 1e-6))
    folder = result_files.torque_results(tmp_path / "t", friction=unknown)
    results = read_results([folder])
    assert "viscous_right" not in results.torque.friction
    assert "friction viscous_right: not identified" in results.missing


def test_one_axis_of_a_velocity_robot_is_enough_for_its_own_limits(tmp_path):
    nan, inf = math.nan, math.inf
    folder = result_files.velocity_results(
        tmp_path / "v",
        sigma=[0.3, nan, 1.0, nan],
        covariance_diagonal=[1e-4, inf, 1e-4, inf],
        dead_time=[0.05, nan],
    )
    words = [str(folder), "--to", "nav2", "--robot", "turtlebot2", "--output", str(tmp_path / "o")]
    assert main(words) == 0
    document = yaml.safe_load((tmp_path / "o" / "nav2.yaml").read_text())
    mppi = document["controller_server"]["ros__parameters"]["FollowPathMPPI"]
    assert "ax_max" in mppi and "az_max" not in mppi
    assert "velocity_smoother" not in document
    assert "# Missing: axis omega" in (tmp_path / "o" / "nav2.yaml").read_text()


def test_multipliers_are_calibrated_over_described(tmp_path):
    torque = result_files.torque_results(tmp_path / "t")
    calibration = result_files.calibration(tmp_path / "c")
    words = ["--to", "ros2_control", "--output", str(tmp_path / "o")]
    assert main([str(torque), str(calibration), *words]) == 0
    document = yaml.safe_load((tmp_path / "o" / "ros2_control.yaml").read_text())
    base = document["diffbot_base_controller"]["ros__parameters"]
    wheels = load_robot("twil").wheels
    assert base["wheel_radius"] == wheels.radius
    assert base["left_wheel_radius_multiplier"] == pytest.approx(1.021)
    assert base["right_wheel_radius_multiplier"] == pytest.approx(1.019)
    assert base["wheel_separation_multiplier"] == pytest.approx(1.05)


def test_a_calibration_is_of_the_robot_whose_file_it_wrote(tmp_path):
    """It does not name the robot; of two such files neither is taken."""
    folder = result_files.calibration(tmp_path / "c")
    twil = load_robot("twil").path.read_text()
    (folder / "mule_calibrated.yaml").write_text(twil)
    described = known_robot(read_results([folder]), None, Settings()).description
    assert described is not None and described.path.name == "mule_calibrated.yaml"
    (folder / "other_calibrated.yaml").write_text(twil)
    assert known_robot(read_results([folder]), None, Settings()).description is None


def given_lengths(folder, **lengths):
    summary = {"name": "identify", "wheels": lengths}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return folder


def test_lengths_given_to_identify_are_those_of_the_robot(tmp_path):
    folder = given_lengths(result_files.torque_results(tmp_path / "a"), radius=0.1, track=0.5)
    parameters = folder / "dynamic_parameters.yaml"
    text = parameters.read_text(encoding="utf-8").replace("robot: twil", "robot: unknown")
    parameters.write_text(text, encoding="utf-8")
    alone = known_robot(read_results([folder]), None, Settings())
    assert (alone.radius(1).value, alone.track.value) == (0.1, 0.5)
    assert "wheels.track of summary.json" in alone.track.source
    assert known_robot(read_results([parameters]), None, Settings()).track == alone.track
    # Before those of the description, of which the other length is taken.
    wheels = load_robot("twil").wheels
    folder = given_lengths(result_files.torque_results(tmp_path / "b"), track=0.3)
    described = known_robot(read_results([folder]), None, Settings())
    assert (described.radius(0).value, described.track.value) == (wheels.radius, 0.3)


def test_parameters_identified_with_given_lengths_are_converted_from_these(tmp_path):
    """K5' = K5 s_v / s_w^2 with s_v = 1.02 and s_w = 1.02 * 0.3 / track of the calibration."""
    folder = given_lengths(result_files.torque_results(tmp_path), track=0.3)
    result_files.calibration(folder)
    result = known_robot(read_results([folder]), None, Settings())
    before = read_results([folder]).torque.k
    s_w = 1.02 * 0.3 / (1.05 * load_robot("twil").wheels.separation)
    assert result.k["k8"].value == pytest.approx(s_w * before["k8"].value)
    assert result.k["k5"].value == pytest.approx(1.02 / s_w**2 * before["k5"].value)


@pytest.mark.parametrize("length", [0, -0.1, "0.1", True])
def test_a_length_that_is_none_is_refused(tmp_path, length):
    folder = given_lengths(result_files.torque_results(tmp_path), radius=length)
    with pytest.raises(ValueError, match="must be a length in m"):
        read_results([folder])


def test_a_gyro_alone_gives_ratios_over_the_given_radius(tmp_path):
    wheels = load_robot("twil").wheels
    ratio = 1.03 * wheels.separation / wheels.radius
    unknown = result_files.UNKNOWN

    def result(value):
        return {
            "value": value, "lower": 0.999 * value, "upper": 1.001 * value, "identified": True
        }  # fmt: skip

    folder = result_files.calibration(
        tmp_path / "c",
        left_radius=dict(unknown),
        right_radius=dict(unknown),
        track=dict(unknown),
        track_over_mean_radius=result(ratio),
        radius_ratio=result(1.01),
    )
    calibration = read_results([folder]).calibration
    assert calibration.track.value == pytest.approx(1.03 * wheels.separation)
    left, right = calibration.left_radius, calibration.right_radius
    assert right.value / left.value == pytest.approx(1.01)
    assert 0.5 * (left.value + right.value) == pytest.approx(wheels.radius)
    assert left.low < left.value < left.high and right.low < right.value < right.high


def test_accelerations_are_safe_at_the_lower_end_and_follow_friction(tmp_path):
    """v' = 2 K7 (tau - friction): what the limit leaves of the torque, at the least K7."""
    significant = result_files.torque_results(tmp_path / "a", spread=1e-6)
    vague = result_files.torque_results(tmp_path / "b", spread=0.05)

    def limits(folder):
        return motion_limits(known_robot(read_results([folder]), None, Settings()))

    one, other = limits(significant)[0].acceleration, limits(vague)[0].acceleration
    assert one.value == pytest.approx(other.value)
    assert other.low == pytest.approx(one.low / (1.0 + 1.96 * 0.05), rel=0.01)
    braking = limits(significant)[0].deceleration
    assert braking.value > one.value


def test_settings_outside_their_range_are_named(tmp_path, capsys):
    results = result_files.torque_results(tmp_path)
    for option, value in (("--margin", "5"), ("--loop-rate", "0"), ("--loop-rate", "10.5")):
        text = refusal(capsys, results, "--to", "nav2", option, value)
        assert f"{option[2:].replace('-', ' ')} = {value}" in text


@given(st.floats(allow_nan=False))
def test_numbers_are_floats_for_yaml(value):
    read = yaml.safe_load(scalar(value))
    assert isinstance(read, float)
    assert read == pytest.approx(value, rel=1e-5)


@given(st.floats(0.1, 10.0), st.floats(0.001, 0.05), st.floats(0.1, 10.0), st.floats(0.001, 0.05))
def test_the_interval_of_a_quotient_is_first_order(a, spread_a, b, spread_b):
    one = SourcedValue.normal(a, spread_a * a, "m", "a")
    other = SourcedValue.normal(b, spread_b * b, "s", "b")
    result = product("m/s", "a / b", (one, 1.0), (other, -1.0))
    half = 1.959964 * math.hypot(spread_a, spread_b) * a / b
    assert result.value == pytest.approx(a / b)
    assert result.low == pytest.approx(a / b - half, rel=1e-6, abs=1e-9)
    assert result.high == pytest.approx(a / b + half, rel=1e-6, abs=1e-9)


@given(st.floats(1e-4, 99.0))
def test_no_speed_of_the_table_is_rounded_up(speed):
    row = BendRow(0.5, speed, (speed, None), (True, False))
    _, limited, below = table_text([row], (0.01, 0.02))[-1].strip("| ").split(" | ")
    for said in (limited.removesuffix(" m/s *"), below.removeprefix("below ").removesuffix(" m/s")):
        assert 0.99 * speed < float(said) <= speed * (1.0 + 1e-11)


@pytest.mark.parametrize(
    ("speed", "said"), [(1.1551, "1.15"), (3.0, "3.00"), (0.1 + 0.2, "0.300"), (0.0267, "0.0267")]
)
def test_speeds_of_the_table_have_three_digits(speed, said):
    row = BendRow(0.5, None, (speed,), (False,))
    assert table_text([row], (0.01,))[-1] == f"| 0.5 m | {said} m/s |"
