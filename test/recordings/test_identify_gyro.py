# SPDX-License-Identifier: Apache-2.0
"""`identify` on a torque robot's recording with a gyro: K5 and K8 do not hang on the track.

The recording is of the ideal engine, 30 s, 1 % torque noise, seed 3, with a gyro that is noisy,
biased and late. The track that is told is 5 % too wide.
"""

import json
import math
from contextlib import closing

import pytest
from made_recordings.excited_runs import RunSetting, driver, next_torque
from made_recordings.recorded_bag import RecordedBag

from arc_odometry import JointSample
from diffbot_description import load_robot
from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.identify import main
from diffbot_sim.engines import make_simulator
from diffbot_sim.simulated_sensors import GyroParameters, SimulatedGyro
from diffbot_sim.virtual_robot import VirtualRobot

SETTING, SEED, SECONDS = RunSetting(), 3, 30.0
ERRORS = GyroParameters(
    imu_rate=100.0, imu_noise=0.003, imu_bias=0.01, imu_bias_walk=1e-4, imu_delay=0.015
)
TRACK = 1.05 * load_robot("twil").wheels.separation
DEGREES = 180.0 / math.pi


@pytest.fixture(scope="module")
def drive():
    """Joint samples, readings of the gyro, and K5..K8."""
    robot = SETTING.make_robot()
    source, actuator, encoders = driver(SETTING, robot, SEED)
    gyro = SimulatedGyro(ERRORS, SEED)
    with closing(make_simulator("ideal", robot)) as engine:
        virtual = VirtualRobot(engine, actuator, encoders, SETTING.period)
        samples, readings = [virtual.sample], []
        for _ in range(round(SECONDS / SETTING.period)):
            samples.append(virtual.advance(next_torque(source, samples, SETTING)))
            readings += gyro.note(samples[-1].stamp, engine.pose(), engine.velocity())
        true = engine.parameters()
    return samples, readings, (true.k5, true.k6, true.k7, true.k8)


def recorded(folder, drive, rates=lambda rate: (0.0, 0.0, rate), topics=("/imu/data",)):
    """A recording whose gyro says these [x, y, z] of a yaw rate."""
    samples, readings, _ = drive
    events = [(s.stamp, None, s) for s in samples] + [(t, rate, None) for t, rate in readings]
    with RecordedBag(folder, "mcap") as bag:
        for stamp, rate, sample in sorted(events, key=lambda event: event[0]):
            if sample is None:
                for topic in topics:
                    bag.imu(topic, stamp + 1.0, rates(rate))
            else:
                late = (sample.stamp + 1.0, sample.position, sample.velocity, sample.effort)
                bag.joint_state("/joint_states", JointSample(*late))
    return folder


@pytest.fixture(scope="module")
def bag(drive, tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("bags") / "drive", drive)


def identify(bag, folder, *words):
    """Exit status, and summary.json if there is one."""
    given = [str(bag), "--robot", "twil", "--track", str(TRACK), "--no-pictures", *words]
    status = main([*given, "--output", str(folder)])
    path = folder / "summary.json"
    return status, json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def deviations(summary, truth):
    """Errors of K5..K8 in half widths of their intervals."""
    entries = [summary["parameters"][name] for name in ("K5", "K6", "K7", "K8")]
    return [
        (entry["value"] - true) / (NORMAL_95 * entry["std"])
        for entry, true in zip(entries, truth, strict=True)
    ]


def test_the_yaw_rate_comes_from_the_gyro_that_the_recording_holds(bag, drive, tmp_path, capsys):
    status, result = identify(bag, tmp_path / "gyro")
    assert status == 0 and result["outcome"] == "completed"
    assert result["wheels"] == {"track": TRACK}  # for the export
    assert "gyro: /imu/data, 15 ms late; the yaw rate comes from it" in capsys.readouterr().out
    # One run: twice the 95 % interval.
    assert max(map(abs, deviations(result, drive[2]))) < 2.0
    assert result["verification"]["passed"]
    # By the wheels alone K5 and K8 take the track for what was told.
    status, result = identify(bag, tmp_path / "wheels", "--imu", "none")
    assert status == 0 and "gyro" not in capsys.readouterr().out
    k5, k6, k7, k8 = map(abs, deviations(result, drive[2]))
    assert max(k6, k7) < 2.0 and min(k5, k8) > 4.0


@pytest.mark.parametrize(
    ("rates", "reason"),
    [
        (lambda rate: (0.0, 0.0, DEGREES * rate), "it is in degrees per second"),
        (lambda rate: (rate, 0.0, 0.0), "the gyro's axes are swapped: angular_velocity.x follows"),
        (lambda rate: (0.0, 0.0, -rate), "its axis points down"),
    ],
    ids=["degrees", "axis", "down"],
)
def test_a_gyro_that_is_another_one_is_refused(rates, reason, drive, tmp_path, capsys):
    """Named, it is an error; found by itself, it is left out, and a line says why."""
    bag = recorded(tmp_path / "bag", drive, rates)
    assert identify(bag, tmp_path / "asked", "--imu", "/imu/data")[0] == 2
    said = capsys.readouterr().err
    assert reason in said and "or do not use it: --imu none" in said
    status, result = identify(bag, tmp_path / "found")
    said = capsys.readouterr().out
    assert status == 0 and result["parameters"]["K7"]["value"] > 0.0
    assert "gyro /imu/data is not used" in said and reason in said


def test_of_two_gyros_one_is_to_be_chosen(drive, tmp_path, capsys):
    bag = recorded(tmp_path / "bag", drive, topics=("/imu/data", "/base/imu"))
    identify(bag, tmp_path / "found")
    assert "is not used: there are several; choose with --imu TOPIC" in capsys.readouterr().out
    identify(bag, tmp_path / "chosen", "--imu", "/base/imu")
    assert "gyro: /base/imu, 15 ms late" in capsys.readouterr().out


@pytest.fixture(scope="module")
def table(drive, tmp_path_factory):
    """The drive as a table of joint states and of readings of the gyro, with cells left empty."""
    samples, readings, _ = drive
    rows = [(s.stamp, *s.position, *s.effort, "") for s in samples]
    rows += [(stamp, "", "", "", "", DEGREES * rate) for stamp, rate in readings]
    head = "time,left_position,right_position,left_effort,right_effort,gyro_z [deg/s]"
    lines = [",".join(map(str, row)) for row in sorted(rows, key=lambda row: row[0])]
    path = tmp_path_factory.mktemp("tables") / "drive.csv"
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


def test_the_gyro_of_a_table_is_used_like_that_of_a_bag(table, drive, tmp_path, capsys):
    status, result = identify(table, tmp_path / "gyro")
    assert "gyro: gyro_z [deg/s], 15 ms late" in capsys.readouterr().out
    assert status == 0 and max(map(abs, deviations(result, drive[2]))) < 2.0
    assert "gyro" in result
    status, result = identify(table, tmp_path / "wheels", "--imu", "none")
    assert status == 0 and "gyro" not in result and "gyro:" not in capsys.readouterr().out


def test_a_column_of_a_gyro_is_chosen_by_name_and_checked(table, tmp_path, capsys):
    channels = ["time", "left_position", "right_position", "left_effort", "right_effort"]
    wheels = ",".join(f"{name}={name}" for name in channels)
    identify(table, tmp_path / "none", "--columns", wheels)
    assert "gyro:" not in capsys.readouterr().out
    wrong = f"{wheels},gyro_z=gyro_z [deg/s]*-deg"
    assert identify(table, tmp_path / "wrong", "--columns", wrong)[0] == 2
    said = capsys.readouterr().err
    assert "--columns gyro_z=gyro_z [deg/s]: " in said and "its axis points down" in said


def test_a_velocity_robot_has_its_gyro_as_yaw_rate(tmp_path, capsys):
    rows = [f"{0.02 * k},{k % 50},0.1,0.2" for k in range(500)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["time,command_v,v,rate", *rows]), encoding="utf-8")
    columns = "command_v=command_v,v=v,gyro_z=rate"
    assert identify(path, tmp_path / "found", "--columns", columns)[0] == 2
    assert "to measure the yaw axis by it name it w" in capsys.readouterr().err
