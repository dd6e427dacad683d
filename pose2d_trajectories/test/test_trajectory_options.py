# SPDX-License-Identifier: Apache-2.0
"""Wrong names and options are named, with what is right."""

import inspect
import math

import numpy as np
import pytest

from pose2d_trajectories import OPTIONS, TRAJECTORIES, TrajectoryLimits, make_trajectory, options_of


def test_every_option_is_described_and_in_use():
    used = {name for shape in TRAJECTORIES for name in options_of(shape)}
    assert used == set(OPTIONS)
    for shape in TRAJECTORIES.values():
        assert set(inspect.signature(shape).parameters) - {"limits"} <= set(OPTIONS)


def test_numbers_may_be_those_of_numpy():
    points = np.array([[0, 0], [1, 0], [1, 2]])
    trajectory = make_trajectory("waypoints", points=points, speed=np.float32(0.5))
    same = make_trajectory("waypoints", points=points.tolist(), speed=0.5)
    assert trajectory.at(np.float32(3.0)) == same.at(3.0)
    assert make_trajectory("circle", laps=np.int64(1)).duration < math.inf


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("eight", {}, "trajectory = 'eight': must be one of figure_eight, siwek_eight, circle"),
        ("circle", {"raduis": 1.0}, "circle has no option 'raduis'; it has radius, speed, laps"),
        ("line", {"laps": 2}, "line has no option 'laps'"),
        ("circle", {"radius": -1.0}, "radius = -1.0 m: must be finite and > 0"),
        ("circle", {"radius": "big"}, "radius = 'big': must be a number in m"),
        ("circle", {"speed": math.nan}, "speed = nan m/s"),
        ("circle", {"speed": 1e-300}, "speed = 1e-300 m/s: must be between 1e-06 and 1e.06 m/s"),
        ("circle", {"ramp_up": 5e-324}, "ramp_up = 5e-324 s: must be between"),
        ("circle", {"laps": 1.5}, "laps = 1.5: must be a whole number"),
        ("circle", {"laps": -2}, "laps = -2"),
        ("circle", {"laps": True}, "laps = True"),
        ("circle", {"ramp_up": -0.1}, "ramp_up = -0.1 s: must be finite and >= 0"),
        ("circle", {"laps": 1, "ramp_down": 0}, "ramp_down = 0.0 s: must be finite and > 0"),
        ("figure_eight", {"period": 0}, "period = 0.0 s"),
        ("figure_eight", {"amplitude_y": math.inf}, "amplitude_y = inf m"),
        ("figure_eight", {"amplitude_y": 200.0}, "amplitude_y = 200.0 m: must be between 1/100"),
        ("rounded_square", {"rounding": 1.5}, "rounding = 1.5 m: must be <= side / 2 = 1.0 m"),
        ("line", {"length": 0}, "length = 0.0 m"),
        ("waypoints", {"points": [(0, 0)]}, "must be at least 2 points"),
        ("waypoints", {"points": [(0, 0), (1, 0), (1, 0)]}, "points 1 and 2 = .1.0, 0.0. m"),
        ("waypoints", {"points": [(0, 0), (1, math.nan)]}, "y of point 1 = nan m"),
        ("waypoints", {"points": [(0, 0), (1, 2, 3)]}, "point 1 = .1, 2, 3.: must be .x, y. in m"),
        ("waypoints", {"points": [(0, 0), (1, 0), (0, 0)]}, "turn of .?180 deg at point 1: must"),
        ("waypoints", {"corners": "round"}, "corners = 'round': must be one of smooth, stop"),
        ("waypoints", {"acceleration": 0}, "acceleration = 0.0 m/s"),
        ("circle", {"x": math.inf}, "x = inf m: must be finite"),
    ],
)
def test_what_is_wrong_is_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        make_trajectory(name, **options)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "1", True])
@pytest.mark.parametrize("shape", TRAJECTORIES)
def test_no_option_takes_what_is_no_finite_number(shape, value):
    for option in ("x", "y", "theta", *options_of(shape)):
        if option not in ("points", "corners"):
            with pytest.raises(ValueError, match=f"^{option} = {value!r}"):
                make_trajectory(shape, **{option: value})


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_limits_must_be_positive(value):
    with pytest.raises(ValueError, match="limit of angular_velocity = .* rad/s: must be finite"):
        TrajectoryLimits(angular_velocity=value)
