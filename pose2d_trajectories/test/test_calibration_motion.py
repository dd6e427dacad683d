# SPDX-License-Identifier: Apache-2.0
"""The motions that calibrate: what they hold, where they stay, how fast they are."""

import math
import re
from functools import partial

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pose2d_trajectories import TrajectoryLimits, make_trajectory
from pose2d_trajectories.calibration_motion import calibration_route
from pose2d_trajectories.timing import Route

QUICK = (Phase.reuse, Phase.generate)
WITHIN = TrajectoryLimits(0.5, 1.5, 0.5, 2.0)
FIELDS = ("x", "y", "theta", "v", "omega", "dv", "domega")


def sampled(trajectory, number=4000):
    times = np.linspace(0.0, trajectory.duration, number)
    results = [trajectory.at(float(t)) for t in times]
    return times, np.array([[getattr(one, field) for field in FIELDS] for one in results])


def least_time(made_for):
    """The shortest time of a calibration, s, as the refusal of a shorter one names it."""
    with pytest.raises(ValueError, match="lengthen the motion's time") as refusal:
        made_for(1e-3)
    return float(re.search(r"at least ([\d.]+) s", str(refusal.value))[1])


@settings(max_examples=8, phases=QUICK)
@given(
    st.floats(0.5, 6.0),
    st.floats(0.0, 150.0),
    st.builds(TrajectoryLimits, *[st.floats(0.2, 2.0)] * 4),
)
def test_calibration_stays_in_its_square_and_within_limits(side, more, limits):
    made_for = partial(
        make_trajectory, "calibration", side=side, speed=1.0, turn_rate=1.0, limits=limits
    )
    time = least_time(lambda short: made_for(time=short)) + more
    trajectory = made_for(time=time)
    _, rows = sampled(trajectory, 600)
    assert np.abs(rows[:, :2]).max() <= 0.5 * side * (1.0 + 1e-9)
    asked = limits.within(1.0, 0.5, 1.0)
    for column, field in ((3, "linear_velocity"), (4, "angular_velocity")):
        assert np.abs(rows[:, column]).max() <= getattr(asked, field) * (1.0 + 1e-9)
    for column, field in ((5, "linear_acceleration"), (6, "angular_acceleration")):
        assert np.abs(rows[:, column]).max() <= getattr(asked, field) * (1.0 + 1e-9)
    assert trajectory.duration <= time
    assert rows[0] == pytest.approx(np.zeros(7), abs=1e-12)
    assert rows[-1, 3:] == pytest.approx(np.zeros(4), abs=1e-9)


def test_a_calibration_holds_each_kind_of_motion_both_ways():
    times, rows = sampled(make_trajectory("calibration", side=3.0, time=60.0, limits=WITHIN))
    _, _, theta, v, omega, _, _ = rows.T
    step = times[1]
    spin = np.abs(v) < 1e-9
    assert np.sum(omega[spin & (omega > 0)]) * step > 2.0 * math.pi
    assert -np.sum(omega[spin & (omega < 0)]) * step > 2.0 * math.pi
    straight = np.abs(omega) < 1e-9
    assert np.sum(v[straight & (v > 0)]) * step > 2.0
    assert -np.sum(v[straight & (v < 0)]) * step > 2.0
    arc = ~spin & ~straight
    for sign in (1.0, -1.0):
        assert sign * np.sum(omega[arc & (sign * omega > 0)]) * step > 0.9 * 0.5 * math.pi
    assert times[-1] <= 60.0


def test_more_time_gives_more_crossings_and_backward_arcs():
    long = make_trajectory("calibration", side=2.0, time=200.0, limits=WITHIN)
    assert 180.0 < long.duration <= 200.0
    _, rows = sampled(long)
    assert np.any((rows[:, 3] < -0.1) & (np.abs(rows[:, 4]) > 0.1))


def test_parts_join():
    """Each begins where the one before ends; derivatives belong to the motion."""
    trajectory = make_trajectory("calibration", side=2.0, time=60.0, limits=WITHIN)
    times, rows = sampled(trajectory, 20_000)
    step = times[1]
    x, y, theta, v, omega, dv, domega = rows.T
    middle = slice(1, -1)
    for value, rate in (
        (x, v * np.cos(theta)),
        (y, v * np.sin(theta)),
        (theta, omega),
        (v, dv),
        (omega, domega),
    ):
        change = np.gradient(value, step)[middle]
        assert np.abs(change - rate[middle]).max() < 0.03


def test_short_times_shrink_the_crossings():
    whole = calibration_route(1.5, 1e3, WITHIN)
    little = calibration_route(1.5, 35.0, WITHIN)
    least = least_time(lambda time: calibration_route(1.5, time, WITHIN))
    smallest = calibration_route(1.5, least, WITHIN)
    with pytest.raises(ValueError, match="must be at least"):
        calibration_route(1.5, least - 0.2, WITHIN)
    assert len(little.parts) == len(smallest.parts) == 2 + 2 + 4 < len(whole.parts)
    assert smallest.duration <= little.duration
    two = Route(WITHIN)
    two.drive(1.0)
    two.drive(-1.0)
    end = two.parts[-1].at(two.parts[-1].duration)
    assert (end.x, end.y, end.theta) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("sense, side", [("ccw", 1.0), ("cw", -1.0)])
def test_umbmark_comes_back(sense, side):
    trajectory = make_trajectory("umbmark", side=2.0, sense=sense, limits=WITHIN)
    _, rows = sampled(trajectory)
    end = trajectory.at(trajectory.duration)
    assert (end.x, end.y) == pytest.approx((0.0, 0.0), abs=1e-9)
    assert end.theta == pytest.approx(side * 2.0 * math.pi)
    assert rows[:, 0].max() == pytest.approx(2.0, abs=1e-6)
    assert (side * rows[:, 1]).max() == pytest.approx(2.0, abs=1e-6)
    assert (side * rows[:, 1]).min() > -1e-9
    twice = make_trajectory("umbmark", side=2.0, sense=sense, laps=2, limits=WITHIN)
    assert twice.duration == pytest.approx(2.0 * trajectory.duration)


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("umbmark", {"sense": "left"}, "sense = 'left': must be one of ccw, cw"),
        ("umbmark", {"laps": 0}, "laps = 0: must be a whole number >= 1 for umbmark"),
        ("umbmark", {"side": -1.0}, "side = -1.0 m: must be finite and > 0"),
        ("calibration", {"side": 1.0, "border": 0.5}, "side = 1.0 m: must be > 1 m, as 0.5 m"),
        ("calibration", {"border": math.nan}, "border = nan m: must be finite"),
        ("calibration", {"time": 0.0}, "time = 0.0 s: must be finite and > 0"),
        ("calibration", {"laps": 2}, "calibration has no option 'laps'"),
    ],
)
def test_wrong_options_are_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        make_trajectory(name, **options)
