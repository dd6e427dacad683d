# SPDX-License-Identifier: Apache-2.0
"""`identify` on recordings of velocity robots, made by the simulated robot of the 2023 paper."""

import math

import numpy as np
import pytest
import yaml
from identify_command import identify
from made_recordings.recorded_bag import RecordedBag

from arc_odometry import JointSample, Velocity
from diffbot_description.command_ramp import CommandRamp, RampCoupling
from diffbot_description.sigma import Sigma
from diffbot_description.velocity_parameters import read_sigma
from diffbot_recordings.options import parse
from diffbot_recordings.recording_analysis import open_recording
from diffbot_sim.velocity_robot import DriveDeadBand, VelocityRobot

TRUTH = Sigma(0.3, 0.2, 1.05, 0.95)
PERIOD, COMMAND_PERIOD, DEAD_TIME = 0.02, 0.1, 0.1  # s
NOISE = (0.005, 0.01)  # m/s and rad/s, of the odometry


def drive(seconds, seed, dead_band=None, ramp=None):
    """Rows of [t, command of v and omega, measured v and omega], 50 Hz; steps of 0.3 s to 1 s."""
    rng = np.random.default_rng(seed)
    robot = VelocityRobot(TRUTH, dead_time=DEAD_TIME, dead_band=dead_band, ramp=ramp)
    rows, command, left = [], (0.0, 0.0), 0
    for k in range(round(seconds / PERIOD)):
        if k % round(COMMAND_PERIOD / PERIOD) == 0:
            left -= 1
            if left <= 0:
                command, left = tuple(rng.uniform((-0.5, -1.0), (0.5, 1.0))), rng.integers(3, 10)
        measured = np.array(robot.velocity()) + NOISE * rng.normal(size=2)
        rows.append((1.0 + k * PERIOD, *command, *measured))
        robot.step(command, PERIOD)
    return np.array(rows)


@pytest.fixture(scope="module")
def rows():
    return drive(25.0, 5)


def write_bag(folder, rows, storage="mcap", odom="/odom"):
    with RecordedBag(folder, storage) as bag:
        for k, (time, v_command, w_command, v, w) in enumerate(rows):
            bag.odometry(odom, time, (v, w))
            if k % round(COMMAND_PERIOD / PERIOD) == 0:
                bag.twist("/cmd_vel", time + 1e-4, (v_command, w_command))


def check(summary):
    """Truth inside four standard deviations, and those small."""
    for axis, inertia, drag in (("v", TRUTH.s1, TRUTH.s3), ("w", TRUTH.s2, TRUTH.s4)):
        result = summary["axes"][axis]["parameters"]
        for name, true in (("inertia", inertia), ("drag", drag), ("dead time", DEAD_TIME)):
            value = result[name]
            assert abs(value["value"] - true) < 4.0 * value["std"] + 1e-3, (axis, name, value)
            assert value["std"] < 0.05 * max(true, 0.3)


def test_sigma_and_dead_time_are_found(rows, tmp_path):
    write_bag(tmp_path / "bag", rows)
    status, summary = identify(tmp_path, tmp_path / "bag", pictures=True)
    assert status == 0
    check(summary)
    assert list((tmp_path / "out").glob("*.png"))
    document = yaml.safe_load((tmp_path / "out" / "velocity_parameters.yaml").read_text())
    section = document["/**"]["ros__parameters"]
    assert section["sigma"] == summary["sigma"]
    assert len(section["covariance_diagonal"]) == 4
    assert section["dead_band"] == [0.0, 0.0]
    assert section["dead_time"] == pytest.approx([DEAD_TIME] * 2, abs=0.02)


def test_efforts_beside_it_do_not_make_a_velocity_run_one_of_torque(tmp_path):
    """Drivers of velocity robots report efforts, too; the recorded run says what was commanded."""
    rows = drive(10.0, 6)
    with RecordedBag(tmp_path / "bag") as bag:
        for k, (time, *command, v, w) in enumerate(rows):
            bag.odometry("/odom", time, (v, w))
            turned = 4.0 * v * k * PERIOD
            bag.joint_state(
                "/joint_states", JointSample(time, (turned, turned), (4.0 * v,) * 2, (0.1, 0.2))
            )
            if k % round(COMMAND_PERIOD / PERIOD) == 0:
                bag.twist("/cmd_vel", time + 1e-4, tuple(command))
        bag.number("/velocity_ident/status", 1.0, 0.0)
    assert open_recording(parse([str(tmp_path / "bag")])).kind == "velocity"


def test_either_storage_gives_the_same_velocities(rows, tmp_path):
    """The analysis that follows does not know the storage."""
    read = []
    for storage in ("mcap", "sqlite3"):
        write_bag(tmp_path / storage, rows, storage)
        batches = list(open_recording(parse([str(tmp_path / storage)])).batches())
        read.append(
            {
                name: np.concatenate([b.channels[name] for b in batches if name in b.channels])
                for name in ("command_v", "command_w", "v", "w")
            }
        )
    for name, values in read[0].items():
        np.testing.assert_array_equal(values, read[1][name])
    measured = read[1]["v"]
    np.testing.assert_array_equal(measured[np.isfinite(measured)], rows[:, 3])


def test_a_dead_band_is_found_written_and_read_by_the_controller(tmp_path):
    bands = (0.06, 0.15)
    write_bag(tmp_path / "bag", drive(25.0, 8, DriveDeadBand(bands)))
    status, summary = identify(tmp_path, tmp_path / "bag")
    assert status == 0
    check(summary)
    for axis, true in zip(("v", "w"), bands, strict=True):
        result = summary["axes"][axis]["parameters"]["smallest command that moves the robot"]
        assert result["identifiable"] and result["std"] < 0.05 * true
        assert abs(result["value"] - true) < 4.0 * result["std"]
    known = read_sigma(str(tmp_path / "out" / "velocity_parameters.yaml"))
    assert [band.width for band in known.dead_band] == summary["dead_band"]
    assert summary["dead_band"] == pytest.approx(bands, rel=0.1)
    assert {band.kind.value for band in known.dead_band} == {"offset"}


def test_a_limit_of_acceleration_is_written_and_read_by_the_controller(tmp_path):
    slopes = Velocity(0.5, 1.0)
    write_bag(tmp_path / "bag", drive(30.0, 8, ramp=CommandRamp(slopes, slopes)))
    status, summary = identify(tmp_path, tmp_path / "bag")
    assert status == 0
    ramp = read_sigma(str(tmp_path / "out" / "velocity_parameters.yaml")).ramp
    assert ramp.coupling is RampCoupling.OWN
    for axis in (0, 1):
        for name, limits in (("acceleration", ramp.speeding), ("deceleration", ramp.braking)):
            assert limits[axis] == summary[f"{name}_limit"][axis]
            spread = math.sqrt(summary[f"{name}_limit_variance"][axis])
            assert abs(limits[axis] - slopes[axis]) < 4.0 * spread + 1e-3
            assert spread < 0.05 * slopes[axis]


def test_a_table_of_wheel_speeds_gives_the_same(rows, tmp_path):
    radius, track = 0.1, 0.5
    path = tmp_path / "log.csv"
    with path.open("w") as file:
        file.write("stamp;c_v;c_w;rpm_l;rpm_r\n")
        for time, v_command, w_command, v, w in rows:
            wheels = [
                (v + side * 0.5 * track * w) / radius * 60.0 / 2.0 / np.pi for side in (-1, 1)
            ]
            values = (time, v_command, w_command, *wheels)
            file.write(";".join(f"{value:.6f}" for value in values) + "\n")
    columns = "command_v=c_v,command_w=c_w,left_velocity=rpm_l*rpm,right_velocity=rpm_r*rpm"
    arguments = ("--columns", columns, "--wheel-radius", radius, "--track", track)
    status, summary = identify(tmp_path, path, *arguments)
    assert status == 0
    check(summary)
    assert identify(tmp_path, path, "--columns", columns)[0] == 2  # without the wheels' sizes


def test_files_of_commands_and_of_states_are_joined_by_their_clocks(rows, tmp_path):
    commands, states = tmp_path / "commands.csv", tmp_path / "states.csv"
    nanoseconds = 10**18 + np.round(1e9 * rows[:, 0]).astype(np.int64)
    lines = [f"{t},{row[1]}" for t, row in zip(nanoseconds[::5], rows[::5], strict=True)]
    commands.write_text("\n".join(["Timestamp,throttle", *lines]))
    lines = [f"{t},{row[3]}" for t, row in zip(nanoseconds, rows, strict=True)]
    states.write_text("\n".join(["Timestamp,speed", *lines]))
    columns = "command_v=throttle,v=speed"
    status, summary = identify(tmp_path, commands, states, "--columns", columns)
    assert status == 0
    result = summary["axes"]["v"]["parameters"]["inertia"]
    assert abs(result["value"] - TRUTH.s1) < 4.0 * result["std"]
    assert "w" not in summary["axes"]


def test_odometry_of_a_simulators_truth_is_no_measurement(rows, tmp_path, capsys):
    write_bag(tmp_path / "bag", rows[:200], odom="/ground_truth")
    status, _ = identify(tmp_path, tmp_path / "bag")
    assert status == 2
    assert "nothing to identify" in capsys.readouterr().err


def test_a_robot_that_is_not_commanded_is_not_trusted(rows, tmp_path):
    constant = rows[:200].copy()
    constant[:, 1:3] = (0.3, 0.1)
    write_bag(tmp_path / "bag", constant)
    status, summary = identify(tmp_path, tmp_path / "bag")
    assert status == 1
    assert not summary["trusted"] and summary["usable"] == "none"
    assert summary["sigma"] == [None] * 4
