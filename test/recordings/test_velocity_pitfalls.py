# SPDX-License-Identifier: Apache-2.0
"""Recordings of velocity robots that mislead: one step, two clocks, twists in another frame."""

import math

import numpy as np
import pytest
from identify_command import identify
from made_recordings.recorded_bag import RecordedBag

from diffbot_recordings.first_order import FirstOrder

PERIOD, BEGIN = 0.02, 200.0  # s


def moved(seed, tau, gain, seconds=16.0, dead_time=0.06, largest=0.6):
    """Commands in steps of 0.4 to 1.5 s, and the exact velocity of a first-order axis."""
    rng = np.random.default_rng(seed)
    count, command = round(seconds / PERIOD), []
    while len(command) < count:
        command += [rng.uniform(-largest, largest)] * int(rng.uniform(20, 75))
    asked = np.array(command[:count])
    return asked, FirstOrder(tau / gain, 1.0 / gain).simulate(asked, PERIOD, 0.0, dead_time)


def write(folder, seed, of_world=False, clock=None, taus=(0.25, 0.15)):
    """Write a bag of both axes; with `clock` commands are stamped, ahead by so much, s."""
    rng = np.random.default_rng(seed + 100)
    forward, turning = moved(seed, taus[0], 1.0), moved(seed + 1, taus[1], 1.0, largest=1.2)
    theta = 0.0
    with RecordedBag(folder) as bag:
        for k in range(len(forward[0])):
            stamp = BEGIN + k * PERIOD
            v, w = forward[1][k], turning[1][k]
            noisy = (v + 0.004 * rng.standard_normal(), w + 0.008 * rng.standard_normal())
            bag.odometry("/odom", stamp, noisy, theta, of_world)
            theta += w * PERIOD
            if k % 5:
                continue
            asked = (float(forward[0][k]), float(turning[0][k]))
            if clock is None:
                bag.twist("/cmd_vel", stamp + 1e-4, asked)
            else:
                bag.stamped_twist("/cmd_vel", stamp + 1e-4, asked, stamp + 1e-4 + clock)


@pytest.mark.filterwarnings("error")
def test_a_velocity_of_an_impossible_size_decides_nothing(tmp_path, capsys):
    """Its square would overflow where the frame of the twists is told, and in the fits."""
    with RecordedBag(tmp_path / "bag") as bag:
        forward, turning = moved(1, 0.25, 1.0), moved(2, 0.15, 1.0, largest=1.2)
        for k in range(len(forward[0])):
            stamp = BEGIN + k * PERIOD
            measured = (1e200 if k == 2 else forward[1][k], turning[1][k])
            bag.odometry("/odom", stamp, measured, 0.0)
            bag.twist("/cmd_vel", stamp + 1e-4, (float(forward[0][k]), float(turning[0][k])))
    status, _ = identify(tmp_path, tmp_path / "bag")
    assert status == 0, capsys.readouterr().err


def test_a_twist_in_the_frame_of_the_pose_is_turned_into_the_robots(tmp_path, capsys):
    results = {}
    for of_world in (True, False):
        folder = tmp_path / str(of_world)
        folder.mkdir()
        write(folder / "bag", 1, of_world)
        status, summary = identify(folder, folder / "bag")
        assert status == 0
        said = capsys.readouterr().out
        assert ("in the frame of its pose" in said) is of_world
        results[of_world] = summary["axes"]["v"]["parameters"]
    for name, true in (("time constant", 0.25), ("gain", 1.0)):
        value = results[True][name]
        assert abs(value["value"] - true) < max(4.0 * value["std"], 0.01 * true)
        assert value["value"] == pytest.approx(results[False][name]["value"], rel=1e-3)


@pytest.mark.parametrize(("clock", "says"), [(-100.0, "before"), (3.0, "after"), (1.6e9, "after")])
def test_two_clocks_are_named(tmp_path, capsys, clock, says):
    write(tmp_path / "bag", 3, clock=clock)
    assert identify(tmp_path, tmp_path / "bag") == (2, None)
    said = capsys.readouterr().err
    assert "have two clocks" in said and f"s {says} /odom" in said


def test_tables_without_a_common_time_are_two_clocks(tmp_path, capsys):
    asked, velocity = moved(4, 0.3, 1.0)
    times = PERIOD * np.arange(len(asked))
    for name, since, values in (("command_v", 900.0, asked), ("v", 1000.0, velocity)):
        rows = [f"{since + t:.3f},{value:.6f}" for t, value in zip(times, values, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"time,{name}", *rows]) + "\n")
    files = (tmp_path / "command_v.csv", tmp_path / "v.csv")
    assert identify(tmp_path, *files) == (2, None)
    said = capsys.readouterr().err
    assert "two clocks" in said


def test_one_step_gives_values_and_says_that_nothing_tests_them(tmp_path, capsys):
    rng = np.random.default_rng(1)
    period, tau, gain = rng.uniform(0.02, 0.05), rng.uniform(0.1, 0.4), rng.uniform(0.8, 1.3)
    begin, size = rng.uniform(0.4, 1.5), rng.uniform(0.3, 1.0)
    times = period * np.arange(round(6.0 / period))
    asked = np.where(times >= begin, size, 0.0)
    velocity = FirstOrder(tau / gain, 1.0 / gain).simulate(asked, period, 0.0)
    velocity += 0.004 * rng.standard_normal(len(times))
    rows = [f"{t:.4f},{u},{v:.6f}" for t, u, v in zip(times, asked, velocity, strict=True)]
    (tmp_path / "step.csv").write_text("\n".join(["time,command_v,v", *rows]) + "\n")
    status, summary = identify(tmp_path, tmp_path / "step.csv")
    assert status == 1  # nothing tested it, so nothing may be used
    assert "the command has one step only" in capsys.readouterr().out
    for name, true in (("time constant", tau), ("gain", gain)):
        value = summary["axes"]["v"]["parameters"][name]
        assert abs(value["value"] - true) < max(4.0 * value["std"], 0.002), name
        assert math.isfinite(value["std"])
