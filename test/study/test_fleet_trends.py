# SPDX-License-Identifier: Apache-2.0
"""Steps and drifts of robots over their recordings: found, dated, named, and rarely made up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_fleets import made_rows

from diffbot_study.fleet_analysis import analyse_fleet
from diffbot_study.fleet_quantities import TORQUE
from diffbot_study.fleet_trends import DAY, DRIFT, STEP, Track, find_trends, said

BEGIN = 1.9e9
FAST = 1.0 / 0.98


def daily(rows):
    """The rows with a day between a robot's recordings."""
    seen = {}
    for row in rows:
        number = seen[row["robot"]] = seen.get(row["robot"], -1) + 1
        row |= {"time": BEGIN + DAY * number, "number": number, "path": f"{number:03d}"}
    return rows


def change(rows, robot, factors, begin=0, end=10**6):
    for row in rows:
        if row["robot"] == robot and begin <= row["number"] < end:
            for name, factor in factors.items():
                row[name] *= factor if isinstance(factor, float) else factor(row["number"])


def test_steps_and_drifts_are_found_dated_and_named():
    rows = daily(made_rows({}, 30, 12, 3))
    change(rows, "r05", {"k7": 0.9, "k8": 0.95, "k5": 0.93}, 7)
    change(rows, "r06", {"coulomb_left": lambda number: 1.0 + 0.1 * number})
    change(rows, "r08", {"k7": FAST**4, "k8": FAST**4, "k5": FAST**-2, "k6": FAST**-2}, 9)
    fleet = analyse_fleet(rows, 0.01)
    changed = {trend.name: trend for trend in fleet.trends if trend.alarm}
    assert {name: (trend.kind, trend.cause) for name, trend in changed.items()} == {
        "r05": (STEP, "load"),
        "r06": (DRIFT, "brake left"),
        "r08": (STEP, "tyre"),
    }
    begin, end = changed["r05"].between
    assert begin <= BEGIN + 7 * DAY <= end <= begin + 2 * DAY
    assert changed["r05"].change["log_k7"] == pytest.approx(math.log(0.9), abs=0.015)
    drift = changed["r06"]
    miss = abs(drift.slopes["coulomb_left"] - 0.1)
    assert miss < 2.0 * drift.slope_half_widths["coulomb_left"] < 0.02
    assert "drift of coulomb_left by +1" in said(drift)
    # Against others a robot is told by what it is now, and its change is evidence, too.
    load = next(robot for robot in fleet.robots if robot.name == "r05")
    assert load.alarm and load.cause == "load" and load.recordings == 5
    assert "step of k7" in load.evidence


def test_one_odd_recording_is_no_change():
    rows = daily(made_rows({}, 20, 10, 4))
    for place, robot in ((0, "r01"), (4, "r02"), (8, "r03"), (9, "r04")):
        change(rows, robot, {"k7": 0.7, "residual_v": 20.0}, place, place + 1)
    assert not any(trend.alarm for trend in analyse_fleet(rows, 0.01).trends)


def test_a_fleet_that_does_not_change_gets_alarms_as_seldom_as_was_asked_for():
    # 60 fleets, some robots of which scatter twice as much as the others: 6 alarms are expected
    # at the most, and 14 or more would have a chance of 0.2 %.
    generator = np.random.default_rng(1)
    alarmed = 0
    for _ in range(60):
        tracks = {}
        for robot in range(10):
            times = BEGIN + np.cumsum(generator.uniform(0.1, 3.0, 8)) * DAY
            scatter = 0.01 * (1.0 + (robot < 2))
            values = scatter * generator.standard_normal((8, len(TORQUE)))
            tracks[str(robot)] = Track(times, values, np.full_like(values, 0.005))
        smallest = min(trend.p for trend in find_trends("made", tracks, TORQUE))
        alarmed += smallest <= 0.1 / 10
    assert alarmed < 14


@given(
    st.integers(0, 10**6),
    st.floats(-50.0, 50.0),
    st.floats(0.01, 100.0),
)
def test_a_trend_depends_on_neither_origin_nor_unit_nor_direction(seed, shift, unit):
    generator = np.random.default_rng(seed)
    times = BEGIN + np.cumsum(generator.uniform(0.1, 3.0, 9)) * DAY
    values = generator.standard_normal((9, 2)) + np.outer(np.arange(9) > 4, (4.0, 0.0))
    errors = np.full_like(values, 0.3)
    (one,) = find_trends("made", {"a": Track(times, values, errors)}, ("x", "y"))
    moved = Track(times + shift * DAY, shift + unit * values, unit * errors)
    (other,) = find_trends("made", {"a": moved}, ("x", "y"))
    assert other.p == pytest.approx(one.p, rel=1e-5)
    assert (other.kind, other.quantity) == (one.kind, one.quantity)
    assert other.change["x"] == pytest.approx(unit * one.change["x"], rel=1e-5, abs=1e-7 * unit)
    back = Track(times[0] + times[-1] - times[::-1], values[::-1], errors[::-1])
    (mirrored,) = find_trends("made", {"a": back}, ("x", "y"))
    assert mirrored.p == pytest.approx(one.p, rel=1e-5)
    assert mirrored.change["x"] == pytest.approx(-one.change["x"], rel=1e-5, abs=1e-7)


def test_slopes_intervals_hold_what_there_is():
    # 200 robots x 2 quantities: 380 are expected, and below 362 has a chance of 0.1 %.
    generator = np.random.default_rng(2)
    tracks = {}
    times = BEGIN + DAY * np.arange(10.0)
    for robot in range(200):
        values = 0.02 * np.arange(10)[:, None] + 0.01 * generator.standard_normal((10, 2))
        tracks[str(robot)] = Track(times, values, np.full_like(values, 0.004))
    inside = sum(
        abs(trend.slopes[name] - 0.02) <= trend.slope_half_widths[name]
        for trend in find_trends("made", tracks, ("x", "y"))
        for name in ("x", "y")
    )
    assert inside >= 362


def test_recordings_at_one_time_tell_no_order():
    values = np.zeros((6, 1))
    same = Track(np.full(6, BEGIN), values, values)
    assert find_trends("made", {"a": same}, ("x",)) == []
