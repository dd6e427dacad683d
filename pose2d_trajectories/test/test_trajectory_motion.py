# SPDX-License-Identifier: Apache-2.0
"""Poses, velocities and accelerations belong together, judged by differences of the poses."""

import functools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pose2d_trajectories import TRAJECTORIES, TrajectoryLimits, make_trajectory, options_of

POINTS = [(0.0, 0.0), (2.0, 0.0), (2.5, 1.5), (0.0, 1.0), (-1.0, 1.0), (-1.0, -1.0)]
CASES = {
    **{name: (name, {}) for name in TRAJECTORIES},
    **{
        f"{name} 2 laps": (name, {"laps": 2}) for name in TRAJECTORIES if "laps" in options_of(name)
    },
    "at once": ("figure_eight", {"ramp_up": 0.0}),
    "long way round": ("waypoints", {"points": POINTS}),
    "with stops": ("waypoints", {"points": POINTS, "corners": "stop"}),
    "slow": ("rounded_square", {"laps": 1, "limits": TrajectoryLimits(0.5, 0.4, 0.1, 0.2)}),
    "elsewhere": ("siwek_eight", {"x": 3.0, "y": -1.0, "theta": 2.0, "laps": 1}),
}
STEP = 1e-4  # s
TO_AND_FRO = {"calibration"}  # drive both ways


@functools.cache
def made(case, backwards=False):
    name, options = CASES[case]
    return make_trajectory(name, backwards=backwards, **options)


def derivative(value, t):
    """Central difference with five points."""
    near = value(t + STEP) - value(t - STEP)
    far = value(t + 2.0 * STEP) - value(t - 2.0 * STEP)
    return (8.0 * near - far) / (12.0 * STEP)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("case", CASES)
@given(fraction=st.floats(0.0, 1.0))
def test_velocity_and_acceleration_are_derivatives_of_the_pose(case, backwards, fraction):
    trajectory = made(case, backwards)
    end = min(trajectory.duration, 120.0)
    # Not before the start: "at once" jumps there.
    t = 3.0 * STEP + fraction * (end - 6.0 * STEP)

    def rate(field):
        return derivative(lambda time: getattr(trajectory.at(time), field), t)

    now = trajectory.at(t)
    # Where pieces meet, the accelerations are continuous but not smooth. There, differences of
    # the velocities err by STEP times the jump of the accelerations' slope, up to 10 / s^3 here.
    assert rate("x") == pytest.approx(now.v * math.cos(now.theta), abs=1e-7)
    assert rate("y") == pytest.approx(now.v * math.sin(now.theta), abs=1e-7)
    assert rate("theta") == pytest.approx(now.omega, abs=1e-7)
    assert rate("v") == pytest.approx(now.dv, abs=1e-4)
    assert rate("omega") == pytest.approx(now.domega, abs=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_it_begins_and_ends_at_rest_and_stays_there(case):
    name, options = CASES[case]
    trajectory = made(case)
    start, end = trajectory.at(0.0), trajectory.duration
    for now in (trajectory.at(-1.0), *([] if case == "at once" else [start])):
        assert (now.x, now.y, now.theta) == (start.x, start.y, start.theta)
        assert (now.v, now.omega, now.dv, now.domega) == (0.0, 0.0, 0.0, 0.0)
    laps = options.get("laps", 1 if name == "umbmark" else 0)
    assert math.isinf(end) == (laps == 0 and "laps" in options_of(name))
    if math.isinf(end):
        return
    last = trajectory.at(end)
    assert (last.v, last.omega, last.dv, last.domega) == (0.0, 0.0, 0.0, 0.0)
    assert trajectory.at(end + 1e-9) == trajectory.at(end + 1e6) == last
    before = trajectory.at(end - 1e-4)
    # S'' = 60 u near u = 0: 1e-4 s before the end there is next to nothing left of all four.
    assert max(map(abs, (before.v, before.omega, before.dv, before.domega))) < 1e-5
    assert math.dist((before.x, before.y), (last.x, last.y)) < 1e-9


@pytest.mark.parametrize("case", CASES)
def test_backwards_is_the_film_in_reverse_with_the_robot_facing_the_other_way(case):
    forwards, backwards = made(case), made(case, True)
    end = min(forwards.duration, 120.0)

    def film(t):
        """The backward drive, played in reverse."""
        return backwards.at(end - t)

    for k in range(1, 200):
        t = end * k / 200.0
        now, other = backwards.at(t), forwards.at(t)
        assert (now.x, now.y) == (other.x, other.y)
        assert now.theta - other.theta == pytest.approx(math.pi, abs=1e-12)
        assert math.cos(now.theta - other.theta) < -0.999
        assert CASES[case][0] in TO_AND_FRO or now.v <= 0.0
        # On film the robot drives forwards along the way it looks.
        dx, dy = derivative(lambda s: film(s).x, t), derivative(lambda s: film(s).y, t)
        theta = film(t).theta
        ahead = dx * math.cos(theta) + dy * math.sin(theta)
        assert ahead == pytest.approx(-film(t).v, abs=1e-7)
        assert CASES[case][0] in TO_AND_FRO or ahead > -1e-7
        assert derivative(lambda s: film(s).theta, t) == pytest.approx(-film(t).omega, abs=1e-7)


@pytest.mark.parametrize(
    "name, turns", [("figure_eight", 0), ("siwek_eight", 0), ("circle", 1), ("rounded_square", 1)]
)
@pytest.mark.parametrize("backwards", [False, True])
def test_the_heading_is_continuous_over_many_laps(name, turns, backwards):
    laps = 3
    trajectory = make_trajectory(name, laps=laps, theta=3.0, backwards=backwards)
    number = 6000
    headings = [trajectory.at(trajectory.duration * k / number).theta for k in range(number + 1)]
    steps = [abs(b - a) for a, b in zip(headings, headings[1:], strict=False)]
    assert max(steps) < 1.8 * trajectory.duration / number  # no shape turns faster than 1.8 rad/s
    assert headings[-1] - headings[0] == pytest.approx(2.0 * math.pi * turns * laps, abs=1e-9)


def test_endless_ones_are_exact_after_a_day():
    trajectory = make_trajectory("rounded_square", ramp_up=0.0)
    perimeter = 0.3 * make_trajectory("rounded_square", laps=1, ramp_up=0.0).duration - 0.3
    lap = perimeter / 0.3
    assert trajectory.at(1728 * lap + 3.0).x == pytest.approx(trajectory.at(3.0).x, abs=1e-8)


@pytest.mark.parametrize("t", [math.nan, math.inf, -math.inf])
def test_time_must_be_finite(t):
    with pytest.raises(ValueError, match="t = "):
        make_trajectory("circle").at(t)
