# SPDX-License-Identifier: Apache-2.0
"""`diffbot calibrate`: recordings and squares to files, with exit statuses and sentences."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from made_recordings.made_laser import MadeLaser, corridor, room, scans
from made_recordings.made_readings import (
    MadeGyro,
    MadePoses,
    calibration_legs,
    simulated_drive,
)
from made_recordings.recorded_bag import RecordedBag

from arc_odometry import JointSample, WheelGeometry
from diffbot_calibration.command import main, parser_of
from diffbot_calibration.umbmark import square_end
from diffbot_description import load_robot
from diffbot_description.robot_parsing import HEAVIEST_ROTORS
from diffbot_recordings.recorded_readings import (
    TABLE_CHANNELS,
    ReadingOptions,
    read_readings,
)
from diffbot_recordings.samples import RecordingError
from diffbot_recordings.sensor_readings import WheelPath
from diffbot_recordings.table_columns import parse_columns

DEGREE = math.pi / 180.0
TRUE = WheelGeometry(0.0760, 0.0748, 0.25)
TWIL = WheelGeometry(0.075, 0.075, 0.27217)


@pytest.fixture(scope="module")
def drive():
    """A drive of 40 s and what its sensors say."""
    rng = np.random.default_rng(7)
    run = simulated_drive(TRUE, calibration_legs(40.0), rng, 1e-6)
    return run, run.gyro(MadeGyro(), rng), run.poses(MadePoses(), rng)


def write_bag(folder: Path, drive, *, swap=False, wrap=None, tf=False) -> Path:
    run, gyro, poses = drive
    with RecordedBag(folder) as bag:
        for stamp, *angles in zip(
            run.wheels.stamps, run.wheels.left, run.wheels.right, strict=True
        ):
            if wrap is not None:
                angles = [math.remainder(angle, wrap) for angle in angles]
            bag.joint_state(
                "/joint_states", JointSample(stamp, tuple(angles), (0, 0), (0, 0)), effort=False
            )
        for stamp, rate in zip(gyro.stamps, gyro.rate, strict=True):
            bag.imu("/imu/data", stamp, (-rate, 0.0, 0.01) if swap else (0.0, 0.0, rate))
        for stamp, *pose in zip(poses.stamps, poses.x, poses.y, poses.yaw, strict=True):
            if tf:
                bag.transform(stamp - 1e-3, ("map", "odom"), pose)
                bag.transform(stamp, ("odom", "base_link"), (0.0, 0.0, 0.0))
            else:
                bag.pose("/pose", stamp, pose)
    return folder


@pytest.fixture(scope="module")
def recorded(drive, tmp_path_factory) -> Path:
    """The drive as a recording."""
    return write_bag(tmp_path_factory.mktemp("recorded") / "bag", drive)


def test_a_bag_becomes_files(drive, tmp_path, capsys) -> None:
    bag, output = write_bag(tmp_path / "bag", drive, wrap=math.tau), tmp_path / "out"
    arguments = [str(bag), "--robot", "twil", "--output", str(output)]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "calibrated" in said
    assert said.splitlines()[-1].endswith(f"launch ident robot:={output / 'twil_calibrated.yaml'}")
    written = yaml.safe_load((output / "calibration.yaml").read_text())
    assert written["left_radius"]["lower"] < TRUE.left_radius < written["left_radius"]["upper"]
    result = json.loads((output / "summary.json").read_text())["calibration"]
    assert result["track"]["identified"] is True
    assert result["track"]["value"] == pytest.approx(TRUE.separation, rel=6e-3)
    robot = load_robot(output / "twil_calibrated.yaml")
    assert robot.geometry.left_radius == pytest.approx(result["left_radius"]["value"], abs=1e-6)
    assert robot.geometry.right_radius != robot.geometry.left_radius
    for name in ("calibration.png", "way.png", "drift.png", "odometry_parameters.yaml"):
        assert (output / name).stat().st_size > 100


@pytest.mark.parametrize("walls", [room(np.random.default_rng(1)), corridor()], ids=len)
def test_a_laser_alone_measures_radii_and_track_in_a_room(drive, walls, tmp_path, capsys):
    run, output = drive[0], tmp_path / "out"
    begin, end = run.wheels.stamps[0], run.wheels.stamps[-1]
    with RecordedBag(tmp_path / "bag") as bag:
        for stamp, *angles in zip(*vars(run.wheels).values(), strict=True):
            sample = JointSample(stamp, tuple(angles), (0, 0), (0, 0))
            bag.joint_state("/joint_states", sample, effort=False)
        rng = np.random.default_rng(2)
        for scan in scans(run.truth.poses, walls, MadeLaser(rays=360), begin, end - 0.2, rng):
            bag.scan("/scan", scan)
    status = main([str(tmp_path / "bag"), "--robot", "twil", "--output", str(output)])
    said = capsys.readouterr()
    if len(walls) == 2:
        assert status == 2 and "walls in one direction only, as in a corridor" in said.err
        return
    assert status == 0 and "poses /scan (sensor_msgs/msg/LaserScan)" in said.out
    result = json.loads((output / "summary.json").read_text())["calibration"]
    for name, true in (("left_radius", TRUE.left_radius), ("track", TRUE.separation)):
        assert result[name]["lower"] < true < result[name]["upper"]
        assert result[name]["value"] == pytest.approx(true, rel=0.003)


def write_odometry_bag(folder: Path, drive) -> Path:
    """Write what a robot with the wheels TRUE publishes whose driver computes with TWIL's."""
    run, gyro, poses = drive
    path = WheelPath(run.wheels, TWIL)
    with RecordedBag(folder) as bag:
        stamps = run.wheels.stamps[::4]
        for stamp, (x, y, yaw) in zip(stamps, path.poses(stamps), strict=True):
            bag.odometry("/odom", stamp, (0.0, 0.0), yaw, place=(x, y))
        for stamp, rate in zip(gyro.stamps, gyro.rate, strict=True):
            bag.imu("/imu/data", stamp, (0.0, 0.0, rate))
        for stamp, *pose in zip(poses.stamps, poses.x, poses.y, poses.yaw, strict=True):
            bag.pose("/pose", stamp, pose)
    return folder


@pytest.mark.parametrize(("words", "status"), [((), 0), (("--pose", "none"), 3)])
def test_without_joint_states_the_odometry_is_calibrated(drive, tmp_path, words, status) -> None:
    bag, output = write_odometry_bag(tmp_path / "bag", drive), tmp_path / "out"
    arguments = [str(bag), "--robot", "twil", "--output", str(output), *words, "--no-pictures"]
    assert main(arguments) == status
    result = json.loads((output / "summary.json").read_text())["calibration"]
    mean = 0.5 * (TRUE.left_radius + TRUE.right_radius)
    linear = mean / TWIL.left_radius
    turn = (TRUE.right_radius - TRUE.left_radius) / TWIL.left_radius / TRUE.separation
    true = {
        "linear_scale": linear,
        "angular_scale": linear * TWIL.separation / TRUE.separation,
        "heading_drift": turn,
    }
    for name, value in true.items():
        entry = result[name]
        if name == "linear_scale" and status == 3:
            assert not entry["identified"] and "pose source" in entry["reason"]
            continue
        assert entry["lower"] < value < entry["upper"], name
        # By default a gyro's scale is known to 1 %.
        assert entry["upper"] - entry["lower"] < 0.025


def test_squares_tell_the_scales_of_an_odometry(tmp_path) -> None:
    ends = [square_end(4.0, clockwise, TWIL, TRUE) for clockwise in (True, False)]
    cw, ccw = ([f"{x + e:.4f},{y - e:.4f}" for e in (-0.01, 0.01)] for x, y in ends)
    legs = [f"4.0,{4.0 * 0.0754 / 0.075 + e:.4f}" for e in (-0.002, 0.002)]
    arguments = ["--umbmark", "--scales", "--robot", "twil", "--side", "4", "--cw", *cw]
    arguments += ["--ccw", *ccw, "--straight", *legs, "--output", str(tmp_path), "--no-pictures"]
    assert main(arguments) == 0
    result = json.loads((tmp_path / "summary.json").read_text())["calibration"]
    for name, value in {
        "angular_scale": 0.0754 / 0.075 * TWIL.separation / TRUE.separation,
        "left_wheel_radius_multiplier": TRUE.left_radius / TWIL.left_radius,
        "wheel_separation_multiplier": TRUE.separation / TWIL.separation,
    }.items():
        assert result[name]["lower"] < value < result[name]["upper"], name
        assert result[name]["value"] == pytest.approx(value, rel=0.01), name


def test_a_gyro_alone_ends_with_status_3(drive, tmp_path) -> None:
    run, gyro, _ = drive
    table = tmp_path / "log.csv"
    rows = np.column_stack((run.wheels.stamps, run.wheels.left, run.wheels.right, gyro.rate))
    header = "time,left_position,right_position,gyro_z"
    np.savetxt(table, rows, delimiter=",", header=header, comments="", fmt="%.6f")
    arguments = [str(table), "--robot", "twil", "--output", str(tmp_path), "--no-pictures"]
    assert main(arguments) == 3
    result = json.loads((tmp_path / "summary.json").read_text())["calibration"]
    assert result["left_radius"]["upper"] is None
    assert "tape" in result["left_radius"]["reason"]
    ratio = result["track_over_mean_radius"]["value"]
    assert ratio == pytest.approx(TRUE.separation / 0.0754, rel=0.01)


@pytest.fixture
def table(drive, tmp_path):
    """Writes a table of wheels and a gyro, with positions in a unit (rad) and names for it."""
    run, gyro, _ = drive
    angles = (run.wheels.left, run.wheels.right)

    def write(name, unit, *, bad=False):
        columns = (run.wheels.stamps, *(angle / unit for angle in angles), gyro.rate)
        header = f"time,{name.format('left')},{name.format('right')},gyro_z"
        lines = [",".join(f"{value:.6f}" for value in row) for row in zip(*columns, strict=True)]
        if bad:
            lines[100] = "1.0,n/a," + lines[100].split(",", 2)[2]
            lines[200:200] = [lines[199]] * 3
        path = tmp_path / "log.csv"
        path.write_text("\n".join((header, *lines)))
        return path

    return write


def calibrated(path, *words):
    folder = path.parent
    where = ["--robot", "twil", "--output", str(folder), "--no-pictures"]
    status = main([str(path), *where, *words])
    return status, folder / "summary.json"


def assert_in_rad(drive, path, *columns):
    """The angles and rates that are read are those of the drive; what follows knows no units."""
    options = ReadingOptions(columns=parse_columns(columns, tuple(TABLE_CHANNELS)))
    readings = read_readings([path], options, TWIL)
    run, gyro, _ = drive
    for result, true in ((readings.wheels.left, run.wheels.left),
                        (readings.wheels.right, run.wheels.right),
                        (readings.gyro.rate, gyro.rate)):  # fmt: skip
        np.testing.assert_allclose(result, true, atol=1e-6)


def test_positions_in_degrees_are_converted_where_the_name_says_so(drive, table) -> None:
    assert_in_rad(drive, table("{}_position_deg", DEGREE))


@pytest.mark.parametrize(
    ("name", "unit", "said"),
    [
        ("{}_position_ticks", math.tau / 4096, "is in ticks, and left_position in rad"),
        ("{}_position", math.tau / 4096, "positions seem to be in degrees or encoder ticks"),
        ("{}_position", DEGREE, "left_position=left_position*0.0174533"),
        ("{}_position [mm]", 1.0, "left_position in rad"),
    ],
)
def test_positions_that_are_not_in_rad_are_refused_by_their_column(
    drive, table, capsys, name, unit, said
) -> None:
    path = table(name, unit)
    assert calibrated(path)[0] == 2
    assert said in capsys.readouterr().err
    left, right = name.format("left"), name.format("right")
    chosen = f"left_position={left}*{unit},right_position={right}*{unit},gyro_z=gyro_z"
    assert_in_rad(drive, path, chosen)


def test_rows_that_are_left_out_are_counted(table, capsys) -> None:
    path = table("wheel {}", 1.0, bad=True)
    columns = "left_position=wheel left,right_position=wheel right,gyro_z=gyro_z"
    assert calibrated(path, "--columns", columns)[0] == 3
    said = capsys.readouterr().out
    assert "1 with a number missing or unreadable" in said
    assert "3 with the time of a row before" in said


def test_swapped_axes_of_the_gyro_are_named(drive, tmp_path, capsys) -> None:
    bag = write_bag(tmp_path / "bag", drive, swap=True)
    assert main([str(bag), "--robot", "twil", "--output", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "axes are swapped: angular_velocity.x" in said
    assert "--gyro-axis -x" in said
    options = ReadingOptions(gyro_axis="-x")
    gyro = read_readings([bag], options, TWIL).gyro
    assert gyro is not None
    np.testing.assert_allclose(gyro.rate, drive[1].rate)


def test_transforms_over_odom_are_poses(drive, tmp_path) -> None:
    bag = write_bag(tmp_path / "bag", drive, tf=True)
    readings = read_readings([bag], ReadingOptions(tf=("map", "base_link")), TWIL)
    assert readings.poses is not None
    np.testing.assert_allclose(readings.poses.x, drive[2].x, atol=1e-9)
    np.testing.assert_allclose(
        np.cos(readings.poses.yaw - drive[2].yaw), np.ones(len(drive[2].yaw)), atol=1e-12
    )


def test_two_recordings_are_two_drives(drive, recorded, tmp_path) -> None:
    shutil.copytree(recorded, tmp_path / "two")
    readings = read_readings([recorded, tmp_path / "two"], ReadingOptions(), TWIL)
    assert len(readings.wheels.stamps) == 2 * len(drive[0].wheels.stamps)
    assert np.max(np.diff(readings.wheels.stamps)) > 1.0


def test_squares_are_typed_in(tmp_path, capsys) -> None:
    words = "--umbmark --robot twil --side 4 --cw 0.25,0.23 0.26,0.22 --ccw -0.08,0.08 -0.06,0.07"
    assert main([*words.split(), "--output", str(tmp_path / "without")]) == 3
    arguments = [*words.split(), "--output", str(tmp_path / "out")]
    straight = ["--straight", "4,4.06", "4,4.061"]
    assert main([*arguments, *straight]) == 0
    result = yaml.safe_load((tmp_path / "out" / "calibration.yaml").read_text())
    assert result["source"] == "tape"
    # The example of the help is one that a robot could have driven.
    assert "explain the ends poorly" not in capsys.readouterr().out
    assert words in " ".join(parser_of("calibrate").format_help().replace("\\", "").split())
    assert main([*arguments[:-2], "--straight", "4"]) == 2
    assert "--straight '4'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.mcap", "--robot", "twil"], "no such file"),
        (["x.csv"], "give --robot NAME or FILE"),
        (["x.csv", "--robot", "twil", "--wheel-radius", "98"], "--wheel-radius, in m = 98"),
        (["nowhere.mcap", "--robot", "twil", "--gyro-axis", "-z"], "no such file"),
    ],
)
def test_wrong_usage_ends_with_2(words, said, capsys) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_a_table_without_wheels_names_what_is_missing(tmp_path, capsys) -> None:
    table = tmp_path / "log.csv"
    table.write_text("time,left_position\n0,1\n1,2\n")
    assert main([str(table), "--robot", "twil", "--output", str(tmp_path)]) == 2
    assert "no column holds right_position" in capsys.readouterr().err


def test_a_wheel_of_the_reversed_sign_is_named_and_read_with_its_sign(
    drive, tmp_path, capsys
) -> None:
    run, gyro, _ = drive
    path = tmp_path / "log.csv"
    table = np.column_stack((run.wheels.stamps, -run.wheels.left, run.wheels.right, gyro.rate))
    header = "time,left_position,right_position,gyro_z"
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.6f")
    assert calibrated(path)[0] == 1
    said = capsys.readouterr().err
    assert "the sign of the left wheel is reversed" in said
    assert "joints.signs" in said
    data = yaml.safe_load(load_robot("twil").path.read_text())
    data["joints"]["signs"] = [-1, 1]
    robot = tmp_path / "signed.yaml"
    robot.write_text(yaml.safe_dump(data))
    words = [str(path), "--robot", str(robot), "--output", str(tmp_path / "o"), "--no-pictures"]
    assert main(words) == 3
    result = json.loads((tmp_path / "o" / "summary.json").read_text())["calibration"]
    ratio = result["track_over_mean_radius"]["value"]
    assert ratio == pytest.approx(TRUE.separation / 0.0754, rel=0.02)


def test_counters_that_wrap_cost_no_reading(drive, recorded, tmp_path) -> None:
    wrap = 9.0
    whole = read_readings([recorded], ReadingOptions(), TWIL).wheels
    bag = write_bag(tmp_path / "bag", drive, wrap=wrap)
    recorded_readings = read_readings([bag], ReadingOptions(), TWIL)
    assert len(recorded_readings.wheels.stamps) == len(whole.stamps)
    assert "reset" not in " ".join(recorded_readings.notes)
    for name in ("left", "right"):
        turned, true = (getattr(each, name) for each in (recorded_readings.wheels, whole))
        wraps = math.ceil(np.ptp(true) / wrap) + 1
        np.testing.assert_allclose(turned - turned[0], true - true[0], atol=0.01 * wraps)


def test_given_lengths_that_are_off_by_two_are_corrected(recorded, tmp_path) -> None:
    described = yaml.safe_load(load_robot("twil").path.read_text())
    described["wheels"]["radius"] = 0.5 * TRUE.left_radius
    described["wheels"]["separation"] = 2.0 * TRUE.separation
    # Lighter wheels have less inertia.
    described["wheels"] |= {"inertia_spin": 1.0e-4, "inertia_yaw": 1.0e-4}
    robot = tmp_path / "twil.yaml"
    robot.write_text(yaml.safe_dump(described))
    output = tmp_path / "out"
    arguments = [str(recorded), "--robot", str(robot), "--output", str(output), "--no-pictures"]
    assert main(arguments) == 0
    none = json.loads((output / "summary.json").read_text())
    for name, true in (
        ("left_radius", TRUE.left_radius),
        ("right_radius", TRUE.right_radius),
        ("track", TRUE.separation),
    ):
        assert none["calibration"][name]["value"] == pytest.approx(true, rel=6e-3), name
    assert (output / "twil_calibrated.yaml").exists()


def test_a_radius_that_contradicts_an_inertia_costs_the_robot_file_only(
    recorded, tmp_path, capsys
) -> None:
    """Before: one sentence about inertia_spin, no table and no summary.json."""
    described = yaml.safe_load(load_robot("twil").path.read_text())
    total = described["body"]["mass"] + 2.0 * described["wheels"]["mass"]
    most = 0.5 * HEAVIEST_ROTORS * total * (1.5 * TRUE.left_radius) ** 2
    described["wheels"] |= {"radius": 1.6 * TRUE.left_radius, "inertia_spin": most}
    robot = tmp_path / "twil.yaml"
    robot.write_text(yaml.safe_dump(described))
    output = tmp_path / "out"
    words = [str(recorded), "--robot", str(robot), "--output", str(output), "--no-pictures"]
    assert main(words) == 0
    said, result = capsys.readouterr().out, json.loads((output / "summary.json").read_text())
    assert "twil_calibrated.yaml is not written" in result["robot_file"]
    assert "wheels.inertia_spin" in result["robot_file"] and result["robot_file"] in said
    assert not (output / "twil_calibrated.yaml").exists()
    assert (output / "odometry_parameters.yaml").exists()
    assert result["calibration"]["track"]["identified"]


def test_a_second_publisher_is_named_and_not_an_encoder_that_was_reset(drive, tmp_path) -> None:
    """Before: "an encoder was reset: N readings ignored"."""
    run = drive[0]
    with RecordedBag(tmp_path / "bag") as bag:
        rows = zip(run.wheels.stamps, run.wheels.left, run.wheels.right, strict=True)
        for at, (stamp, *angles) in enumerate(rows):
            for time, turned in ((stamp, angles), (stamp + 0.003, (0.0, 0.0)))[: 1 + (at % 7 == 3)]:
                sample = JointSample(time, tuple(turned), (0, 0), (0, 0))
                bag.joint_state("/joint_states", sample, effort=False)
    with pytest.raises(RecordingError, match="a second node publishes these joints"):
        read_readings([tmp_path / "bag"], ReadingOptions(), TWIL)
