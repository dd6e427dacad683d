# SPDX-License-Identifier: Apache-2.0
"""Encoders that stick and efforts that are always 0 are named, and held wheels are not."""

import math

import numpy as np
import pytest
from identify_command import identify
from made_recordings.excited_runs import usual_run
from made_recordings.random_runs import record_random

from diffbot_recordings.samples import EFFORTS, POSITIONS
from diffbot_recordings.segments import Segment
from diffbot_recordings.wheel_check import WheelCheck
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


def stuck(rows):
    check = WheelCheck()
    channels = dict(zip(COLUMNS[1:], rows[:, 1:].T, strict=True))
    period = float(np.median(np.diff(rows[:, 0])))
    list(check.watched([Segment(rows[:, 0], period, channels)]))
    return check.stuck()


def test_a_wheel_that_friction_holds_does_not_stick(rows):
    """The robot turns about a wheel for 3 s, held by 0.05 N m; otherwise 0.4 N m turn it."""
    rows, kept = rows.copy(), slice(1000, 1300)
    rows[kept, 1] = rows[1000, 1]
    rows[kept, 3] = 0.05 * np.sin(rows[kept, 0])
    assert stuck(rows) is None
    rows[kept, 3] = 0.4
    assert "left wheel's encoder sticks" in stuck(rows)


def test_no_encoder_sticks_in_recordings_of_robots_drawn_at_random():
    """12 robots, friction up to 0.4 of the excitation, encoders of 500 to 16384 counts, 10 s."""
    assert [stuck(rows_of(record_random(draw(seed), 10.0))) for seed in range(12)] == [None] * 12


def test_a_small_wheel_between_two_counts_does_not_stick():
    """It creeps by less than a count of 0.5 rad in 2 s beside one that turns by 10 rad."""
    times = np.arange(0.0, 20.0, 0.01)
    creeps = 0.5 * np.floor((0.2 * times + 2.0 * np.maximum(times - 10.0, 0.0)) / 0.5)
    effort = np.where(times < 10.0, 0.1, 0.3)
    right = np.remainder(5.0 * times + math.pi, math.tau) - math.pi
    assert stuck(np.column_stack((times, creeps, right, effort, effort))) is None
