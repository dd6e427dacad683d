# SPDX-License-Identifier: Apache-2.0
"""What `identify` once got wrong, on data with known truth: now right, or refused by reason."""

from dataclasses import replace

import numpy as np
import pytest
from identify_command import identify
from made_recordings.excited_runs import RunSetting, record, usual_run
from made_recordings.recorded_bag import RecordedBag

from diffbot_description.sigma import Sigma
from diffbot_sim.velocity_robot import VelocityRobot

ROBOT = ("--robot", "twil")
WHEELS = "left_position,right_position,left_effort,right_effort"


def table(path, header, rows):
    lines = [",".join(f"{value:.9g}" for value in row) for row in rows]
    path.write_text("\n".join((header, *lines)) + "\n")
    return path


@pytest.fixture(scope="module")
def run():
    return usual_run()


@pytest.mark.parametrize("velocity", [None, 0.0])
def test_positions_and_efforts_are_enough(run, tmp_path, velocity):
    """Joint states without velocities, or with zeros for them: standstill is seen in positions."""
    rows = [(s.stamp, *s.position, *s.effort) for s in run.samples]
    header = f"time,{WHEELS}"
    if velocity is not None:
        rows = [(*row, velocity, velocity) for row in rows]
        header += ",left_velocity,right_velocity"
    status, summary = identify(tmp_path, table(tmp_path / "log.csv", header, rows), *ROBOT)
    assert status == 0
    for name, true in zip(("K7", "K8"), run.truth[2:], strict=True):
        result = summary["parameters"][name]
        assert result["value"] == pytest.approx(true, rel=0.01)
        assert abs(result["value"] - true) < 4.0 * result["std"]


def test_bags_whose_joint_states_leave_velocities_empty_are_learnt_from(run, tmp_path):
    with RecordedBag(tmp_path / "bag", "mcap") as bag:
        for sample in run.samples:
            bag.joint_state("/joint_states", replace(sample, stamp=sample.stamp + 1.0, velocity=()))
    status, summary = identify(tmp_path, tmp_path / "bag", *ROBOT)
    assert status == 0
    assert summary["parameters"]["K7"]["value"] == pytest.approx(run.truth[2], rel=0.01)


def velocity_rows(seed, seconds=25.0, period=0.02, truth=None, noise=(0.005, 0.01), hold=0.5):
    """Rows of [t, command of v and omega, measured v and omega]."""
    rng = np.random.default_rng(seed)
    robot = VelocityRobot(truth or Sigma(0.3, 0.2, 1.05, 0.95), dead_time=0.0)
    rows, command = [], (0.0, 0.0)
    for k in range(round(seconds / period)):
        if k % round(hold / period) == 0:
            command = tuple(rng.uniform((-0.5, -1.0), (0.5, 1.0)))
        measured = np.array(robot.velocity()) + noise * rng.normal(size=2)
        rows.append((k * period, *command, *measured))
        robot.step(command, period)
    return rows


HEADER = "time,command_v,command_w,v,w"
FORWARD = ("--columns", "command_v=command_v,v=v")  # of such a table, the forward axis alone


def test_a_good_axis_beside_a_refused_one_has_a_status_of_its_own(tmp_path):
    rows = np.array(velocity_rows(5, seconds=12.0))
    rows[:, 4] = np.sin(0.7 * rows[:, 0])  # a yaw rate that has nothing to do with its command
    status, summary = identify(tmp_path, table(tmp_path / "log.csv", HEADER, rows))
    assert status == 3
    assert summary["usable"] == "some"
    assert summary["status"] == {"forward axis": "estimated", "yaw axis": "refused"}


def one_step(seed, noise, tau, seconds=3.0, period=0.05):
    rng = np.random.default_rng(seed)
    times = period * np.arange(round(seconds / period) + 1)
    command = np.where(times < 0.5, 0.0, np.where(times < 2.0, 0.2, 0.0))
    velocity = np.zeros(len(times))
    for k in range(1, len(times)):
        velocity[k] = command[k - 1] + (velocity[k - 1] - command[k - 1]) * np.exp(-period / tau)
    return np.column_stack((times, command, velocity + noise * rng.standard_normal(len(times))))


def test_one_noisy_step_is_no_identification(tmp_path):
    """Noise of the step's own size: whatever the fit says, it rests on little."""
    answers = []
    for seed in range(3):
        rows = one_step(seed, 0.12, 0.3)
        status, summary = identify(tmp_path, table(tmp_path / "log.csv", "time,command_v,v", rows))
        axis = summary["axes"]["v"]
        result = axis["parameters"].get("time constant", {"identifiable": False})
        if status == 0:
            half = 1.96 * result["std"]
            answers.append((result["value"], half))
            assert abs(result["value"] - 0.3) < 2.0 * half
            assert half < 0.6 * result["value"] or half < 0.1
        else:
            assert axis["reason"]
    assert len(answers) <= 2, answers


def test_a_short_log_at_a_high_rate_is_long_enough(tmp_path):
    """0.66 s at 1 kHz with a time constant of 30 ms: 20 of them."""
    truth = Sigma(0.03, 0.03, 1.0, 1.0)
    rows = velocity_rows(3, 0.66, 0.001, truth, noise=(0.002, 0.004), hold=0.06)
    path = table(tmp_path / "log.csv", HEADER, rows)
    status, summary = identify(tmp_path, path, *FORWARD)
    assert status == 0, summary and summary["reason"]
    result = summary["axes"]["v"]["parameters"]["time constant"]
    assert result["value"] == pytest.approx(0.03, rel=0.1)


@pytest.mark.parametrize(("column", "name"), [(1, "command_v"), (3, "v")])
def test_speeds_in_millimetres_are_questioned_with_the_factor(tmp_path, capsys, column, name):
    rows = np.array(velocity_rows(6, seconds=5.0))
    rows[:, column] *= 1e3
    status, summary = identify(tmp_path, table(tmp_path / "log.csv", HEADER, rows))
    assert (status, summary) == (2, None)
    assert f"{name}={name}*0.001" in capsys.readouterr().err


def test_a_gain_of_another_unit_is_refused_with_the_factor(tmp_path):
    """Commands of the yaw rate in degrees a second."""
    rows = np.array(velocity_rows(6, seconds=15.0))
    rows[:, 2] = np.degrees(0.7 * rows[:, 2])
    status, summary = identify(tmp_path, table(tmp_path / "log.csv", HEADER, rows))
    assert status == 3
    reason = summary["axes"]["w"]["reason"]
    assert "units" in reason and "*0.01745" in reason


def test_options_of_bags_are_not_for_tables(tmp_path, capsys):
    path = table(tmp_path / "log.csv", HEADER, velocity_rows(6, seconds=2.0))
    assert identify(tmp_path, path, "--odom", "/odom") == (2, None)
    assert "--columns" in capsys.readouterr().err


def test_of_several_tables_the_one_that_disagrees_is_named(tmp_path, capsys):
    """Two runs of one robot, and one whose time constant is twice as long."""
    paths = [
        table(tmp_path / f"run{k}.csv", HEADER, velocity_rows(k, seconds=12.0)) for k in range(2)
    ]
    slow = velocity_rows(7, seconds=12.0, truth=Sigma(0.6, 0.2, 1.05, 0.95))
    paths.append(table(tmp_path / "loaded.csv", HEADER, np.array(slow) + [5e4, 0, 0, 0, 0]))
    identify(tmp_path, *paths[:2], *FORWARD)
    alike = capsys.readouterr().out
    assert "disagrees" not in alike and "differs" not in alike
    _, summary = identify(tmp_path, *paths, *FORWARD)
    printed = capsys.readouterr().out
    assert "samples missing" not in printed  # the time between two files is no gap
    notes = " ".join(summary["verdicts"]["forward axis"]["notes"])
    assert "loaded.csv disagrees: its inertia" in notes
    low, high = summary["axes"]["v"]["parameters"]["inertia"]["interval95"]
    assert low < 0.3 < high


def test_the_interval_over_recordings_is_the_one_that_is_limited(tmp_path):
    """Two runs, each of which is sure of its time constant, 0.29 and 0.38 s: together nobody is."""
    paths = []
    for k, inertia in enumerate((0.3, 0.4)):
        rows = velocity_rows(k, seconds=12.0, truth=Sigma(inertia, 0.2, 1.05, 0.95))
        paths.append(table(tmp_path / f"run{k}.csv", HEADER, rows))
        assert identify(tmp_path, paths[-1], *FORWARD)[0] == 0
    status, summary = identify(tmp_path, *paths)
    assert status == 3
    assert summary["status"] == {"forward axis": "not excited", "yaw axis": "estimated"}
    assert "as recordings differ (by their noise alone to 0.0" in summary["reason"]
    result = summary["axes"]["v"]["parameters"]["time constant"]
    assert result["std"] > 0.3 * result["value"]


def test_of_several_bags_with_and_without_load_the_loaded_one_is_named(tmp_path, capsys):
    folders = []
    for k, (name, effort) in enumerate((("a", 1.0), ("b", 1.0), ("loaded", 1.5))):
        # Torques that count half as much again: a robot of half as much mass again.
        samples = record(RunSetting(), 3 + k, 12.0).samples
        with RecordedBag(tmp_path / name, "mcap") as bag:
            for s in samples:
                torque = tuple(effort * value for value in s.effort)
                bag.joint_state("/joint_states", replace(s, stamp=s.stamp + 1.0, effort=torque))
        folders.append(tmp_path / name)
    identify(tmp_path, *folders, *ROBOT)
    assert "loaded disagrees: its K7" in capsys.readouterr().out


def test_motor_currents_stand_for_torques_by_the_torque_constant(run, tmp_path, capsys):
    constant = 0.35
    rows = [(s.stamp, *s.position, *(value / constant for value in s.effort)) for s in run.samples]
    path = table(tmp_path / "log.csv", f"time,{WHEELS}", rows)
    status, summary = identify(
        tmp_path, path, *ROBOT, "--effort-unit", "ampere", "--torque-constant", constant
    )
    assert status == 0
    assert summary["parameters"]["K7"]["value"] == pytest.approx(run.truth[2], rel=0.01)
    capsys.readouterr()
    for words, said in (
        (("--effort-unit", "ampere"), "--torque-constant"),
        (("--effort-unit", "volt"), "no torque"),
        (("--torque-constant", "0.3"), "--effort-unit"),
    ):
        assert identify(tmp_path, path, *ROBOT, *words)[0] == 2
        assert said in capsys.readouterr().err


def test_a_voltage_against_dry_friction_is_no_power_law(tmp_path):
    """V = 0.6 sign(v) + 2.4 v + 0.35 dv/dt, both ways: what friction takes is told as such."""
    rng = np.random.default_rng(3)
    rows, v, volts, period, parts = [], 0.0, 0.0, 0.02, 4
    for k in range(1500):
        if k % 40 == 0:
            volts = float(rng.uniform(-6.0, 6.0))
        rows.append((k * period, volts, v + 0.01 * rng.standard_normal()))
        for _ in range(parts):
            free = v + period / parts * (volts - 2.4 * v) / 0.35
            v = float(np.copysign(max(abs(free) - period / parts * 0.6 / 0.35, 0.0), free))
    _, summary = identify(tmp_path, table(tmp_path / "log.csv", "time,command_v,v", rows))
    result = summary["axes"]["v"]["parameters"]
    assert "exponent" not in result
    assert result["drag"]["value"] == pytest.approx(2.4, rel=0.06)
    assert result["smallest command that moves the robot"]["value"] == pytest.approx(0.6, rel=0.2)


def test_rows_that_are_left_out_are_said_and_stand_in_the_summary(tmp_path, capsys):
    rows = velocity_rows(5, seconds=12.0)
    rows[100] = (*rows[100][:4], np.nan)
    rows[300] = (rows[299][0], *rows[300][1:])
    rows[500] = (rows[498][0], *rows[500][1:])
    status, summary = identify(tmp_path, table(tmp_path / "log.csv", HEADER, rows))
    assert status == 0
    line = (
        "log.csv: 3 rows ignored of 600: 1 with a number missing or unreadable, 1 whose time "
        "goes back, 1 with the time of a row before"
    )
    said = capsys.readouterr().out
    assert f"warning: {line}\n" in said
    assert "stamps that do not increase" not in said, "they were counted above"
    assert summary["recording_warnings"] == [line]
