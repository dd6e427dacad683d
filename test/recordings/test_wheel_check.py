# SPDX-License-Identifier: Apache-2.0
"""Encoders that stick and efforts that are always 0 are named, and held wheels are not."""

import math
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from identify_command import identify
from made_recordings.excited_runs import RunSetting, driver, make_run, usual_run
from made_recordings.random_runs import record_random

from diffbot_recordings.samples import EFFORTS, POSITIONS
from diffbot_recordings.segments import Segment
from diffbot_recordings.torque_analysis import analyse_arrays
from diffbot_recordings.wheel_check import WheelCheck
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import VirtualRobot
from diffbot_study.random_robots import draw

COLUMNS = ("time", *POSITIONS, *EFFORTS)


@pytest.fixture(scope="module")
def rows():
    return rows_of(usual_run())


def rows_of(run):
    return np.array([(s.stamp, *s.position, *s.effort) for s in run.samples])


def refused(tmp_path, capsys, rows, header=COLUMNS):
    path = tmp_path / "log.csv"
    lines = [",".join(f"{value:.9g}" for value in row) for row in rows]
    path.write_text("\n".join((",".join(header), *lines)) + "\n")
    status, summary = identify(tmp_path, path, "--robot", "twil")
    assert status == 2 and summary is None
    return capsys.readouterr().err


@pytest.mark.parametrize("wheel", ["left", "right"])
@pytest.mark.parametrize(("begin", "end"), [(0.0, 30.0), (20.0, 30.0), (10.0, 12.0)])
def test_an_encoder_that_sticks_is_named(rows, tmp_path, capsys, wheel, begin, end):
    """Before, two seconds of 30 s made K7 3 % too small, and nothing was said."""
    rows, column = rows.copy(), COLUMNS.index(f"{wheel}_position")
    sticks = (rows[:, 0] >= begin) & (rows[:, 0] <= end)
    rows[sticks, column] = rows[sticks, column][0]
    said = refused(tmp_path, capsys, rows)
    assert f"{wheel}_position stays at {rows[sticks, column][0]:.4g} rad" in said
    assert f"from {begin:.1f} to {end:.1f} s" in said
    assert f"the {wheel} wheel's encoder sticks" in said


@pytest.mark.parametrize("wheels", [("left",), ("right",), ("left", "right")])
def test_an_effort_that_is_always_0_is_named(rows, tmp_path, capsys, wheels):
    rows = rows.copy()
    for wheel in wheels:
        rows[:, COLUMNS.index(f"{wheel}_effort")] = 0.0
    said = refused(tmp_path, capsys, rows)
    names = " and ".join(f"{wheel}_effort" for wheel in wheels)
    assert f"{names}: always 0, while" in said


def stuck(rows, friction=None):
    check = WheelCheck()
    channels = dict(zip(COLUMNS[1:], rows[:, 1:].T, strict=True))
    period = float(np.median(np.diff(rows[:, 0])))
    list(check.watched([Segment(rows[:, 0], period, channels)]))
    return check.stuck(friction)


def test_a_wheel_that_friction_holds_does_not_stick(rows):
    """The robot turns about a wheel for 3 s, held by 0.05 N m; otherwise 0.4 N m turn it."""
    rows, kept = rows.copy(), slice(1000, 1300)
    rows[kept, 1] = rows[1000, 1]
    rows[kept, 3] = 0.05 * np.sin(rows[kept, 0])
    assert stuck(rows) is None
    rows[kept, 3] = 0.4
    assert "left wheel's encoder sticks" in stuck(rows)


def gentle_drive(seed):
    """30 s of twil, Coulomb friction of 0.12 and 0.14 N m, static one half as much again. Both
    wheels' speeds are controlled (PI), to 0, 2 or 4 rad/s for 2 s each: torques hardly exceed
    friction, which holds a wheel while the controller's integral grows."""
    setting = RunSetting(coulomb=(0.3, 0.35))
    robot = setting.make_robot()
    static = tuple(1.5 * each for each in robot.friction.coulomb)
    friction = replace(robot.friction, static=static, stribeck_velocity=(0.2, 0.2))
    robot, random = replace(robot, friction=friction), np.random.default_rng(seed)
    _, actuator, encoders = driver(setting, robot, seed)
    integral = np.zeros(2)
    with closing(make_simulator("ideal", robot)) as engine:
        virtual = VirtualRobot(engine, actuator, encoders, setting.period)
        samples = [virtual.sample]
        for k in range(3000):
            if k % 200 == 0:
                target = random.choice([0.0, 2.0, 4.0], 2) * random.choice([-1.0, 1.0], 2)
            error = target - np.array(samples[-1].velocity)
            integral = np.clip(integral + 0.06 * setting.period * error, -0.4, 0.4)
            samples.append(virtual.advance(tuple((0.03 * error + integral).tolist())))
        return make_run(robot, engine.parameters(), samples)


def analysed(run, rows):
    return analyse_arrays(rows[:, 0], rows[:, 1:3], rows[:, 3:5], run.geometry)


def friction_of(run, rows):
    result = analyse_arrays(rows[:, 0], rows[:, 1:3], rows[:, 3:5], run.geometry)
    return result.estimate.friction


@pytest.mark.parametrize(("seed", "counts"), [(0, 4096), (2, 4096), (4, 400)])
def test_a_wheel_that_breaks_away_gradually_does_not_stick(seed, counts):
    """Before, such drives were refused as "encoder sticks": the efforts are as large as usual."""
    run = gentle_drive(seed)
    rows = rows_of(run)
    count = math.tau / counts
    rows[:, 1:3] = np.round(rows[:, 1:3] / count) * count
    assert stuck(rows, friction_of(run, rows)) is None


def test_a_wheel_at_rest_when_the_recording_ends_does_not_stick():
    """Before, the other wheel had to stand then, too."""
    run = gentle_drive(4)
    rows = rows_of(run)
    assert stuck(rows[:580], friction_of(run, rows)) is None


def test_a_wheel_whose_angle_stops_in_full_motion_sticks_under_gentle_efforts_too():
    run = gentle_drive(0)
    rows = rows_of(run)
    friction = friction_of(run, rows)
    speed = np.abs(np.gradient(rows[:, 2], rows[:, 0]))
    begin = int(np.flatnonzero((speed > 3.0) & (rows[:, 0] > 5.0))[0])
    rows[begin : begin + 300, 2] = rows[begin, 2]
    assert f"right_position stays at {rows[begin, 2]:.4g} rad" in stuck(rows, friction)


def test_no_encoder_sticks_in_recordings_of_robots_drawn_at_random():
    """12 robots, friction up to 0.4 of the excitation, encoders of 500 to 16384 counts, 10 s."""
    assert [stuck(rows_of(record_random(draw(seed), 10.0))) for seed in range(6)] == [None] * 6


def test_a_small_wheel_between_two_counts_does_not_stick():
    """It creeps by less than a count of 0.5 rad in 2 s beside one that turns by 10 rad."""
    times = np.arange(0.0, 20.0, 0.01)
    creeps = 0.5 * np.floor((0.2 * times + 2.0 * np.maximum(times - 10.0, 0.0)) / 0.5)
    effort = np.where(times < 10.0, 0.1, 0.3)
    right = np.remainder(5.0 * times + math.pi, math.tau) - math.pi
    assert stuck(np.column_stack((times, creeps, right, effort, effort))) is None
