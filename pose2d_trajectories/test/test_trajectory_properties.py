# SPDX-License-Identifier: Apache-2.0
"""Every trajectory with any legal options, as laws need it; and illegal options by name.

Derivatives of one set of options per shape are in test_trajectory_motion, limits by dense samples
in test_trajectory_limits; here options, limits, places and directions are drawn together.
"""

import math
import re
from functools import partial

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from pose2d_trajectories import TRAJECTORIES, TrajectoryLimits, make_trajectory, options_of
from pose2d_trajectories.velocity_steps import VelocitySteps

QUICK = (Phase.reuse, Phase.generate)  # an example with limits takes 0.1 s
CLOSED = ("figure_eight", "siwek_eight", "circle", "rounded_square")
lengths, speeds, ramps = st.floats(0.3, 4.0), st.floats(0.05, 2.0), st.floats(0.2, 4.0)
OPTIONS = {
    "amplitude_x": lengths,
    "amplitude_y": lengths,
    "period": st.floats(5.0, 60.0),
    "radius": lengths,
    "side": lengths,
    "border": st.floats(0.0, 0.1),
    "length": lengths,
    "sense": st.sampled_from(("ccw", "cw")),
    "time": st.floats(5.0, 60.0),
    "corners": st.sampled_from(("smooth", "stop")),
    "rounding": st.floats(0.05, 0.14),
    "speed": speeds,
    "acceleration": speeds,
    "turn_rate": speeds,
    "turn_acceleration": speeds,
    "laps": st.integers(1, 2),
    "ramp_up": ramps,
    "ramp_down": ramps,
    "points": st.lists(
        st.tuples(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0)), min_size=2, max_size=5
    ),
}
limits = st.builds(TrajectoryLimits, *[st.one_of(st.just(math.inf), st.floats(0.1, 2.0))] * 4)
places = st.fixed_dictionaries(
    {
        "x": st.floats(-100.0, 100.0),
        "y": st.floats(-100.0, 100.0),
        "theta": st.floats(-10.0, 10.0),
        "backwards": st.booleans(),
    }
)
FIELDS = ("x", "y", "theta", "v", "omega", "dv", "domega")


@st.composite
def trajectories(draw, names=tuple(TRAJECTORIES), limited=False):
    """Any trajectory that ends, and what it was made of."""
    name = draw(st.sampled_from(names))
    options = {option: draw(OPTIONS[option]) for option in options_of(name)}
    within = draw(limits) if limited else TrajectoryLimits()
    made = partial(make_trajectory, name, limits=within, **draw(places))
    try:
        return name, made(**options), within, options
    except ValueError as error:
        # Points that are too near, or turns too sharp, are refused by their number; a time too
        # short for a calibration by the shortest one.
        least = re.search(r"must be at least ([\d.]+) s", str(error))
        assert least or "point" in str(error)
        assume(least)
    options["time"] = float(least[1])
    return name, made(**options), within, options


def sampled(trajectory, times):
    """Columns of FIELDS at some times, (n, 7)."""
    results = [trajectory.at(float(t)) for t in times]
    return np.array([[getattr(one, field) for field in FIELDS] for one in results])


@settings(max_examples=10, phases=QUICK)
@given(trajectories(limited=True), st.floats(0.0, 1.0))
def test_finite_continuous_and_what_it_says_of_its_own_motion(drawn, fraction):
    """From one time to the next the pose moves as v and omega say, and these as dv and domega.

    The mean of a rate over a step differs from that of its two ends by less than the rate changes
    in this step or in a neighbour.
    """
    _, trajectory, within, _ = drawn
    end = trajectory.duration
    assert math.isfinite(end) and end > 0.0
    step = min(1e-3, end / 1000.0)
    t = step * np.arange(200) + fraction * max(0.0, end - 199 * step)
    now = sampled(trajectory, t)
    assert np.isfinite(now).all()
    x, y, theta, v, omega, dv, domega = now.T
    for value, rate in (
        (x, v * np.cos(theta)),
        (y, v * np.sin(theta)),
        (theta, omega),
        (v, dv),
        (omega, domega),
    ):
        moved, reported = np.diff(value) / step, 0.5 * (rate[1:] + rate[:-1])
        changes = np.pad(np.abs(np.diff(rate)), 1)
        change = np.max([changes[:-2], changes[1:-1], changes[2:]], axis=0)
        # Poses far away are rounded.
        rounding = 4e-16 * np.abs(value).max() / step + 1e-9
        assert (np.abs(moved - reported) <= change + rounding).all()
    for value, name in zip(
        (v, omega, dv, domega), TrajectoryLimits.__dataclass_fields__, strict=True
    ):
        assert np.abs(value).max() <= getattr(within, name) * (1.0 + 1e-6)


@settings(phases=QUICK)
@given(trajectories())
def test_from_rest_to_rest_and_before_and_after_there(drawn):
    _, trajectory, _, _ = drawn
    end = trajectory.duration
    first, last = trajectory.at(0.0), trajectory.at(end)
    for one in (first, last):
        assert (one.v, one.omega) == (0.0, 0.0)
    assert trajectory.at(-1.0) == first
    assert trajectory.at(end + 1.0) == trajectory.at(2.0 * end + 1e6) == last


@settings(max_examples=20, phases=QUICK)
@given(trajectories(CLOSED))
def test_closed_laps_close(drawn):
    """Back on the place of the start, and turned by whole turns."""
    name, trajectory, _, options = drawn
    first, last = trajectory.at(0.0), trajectory.at(trajectory.duration)
    assert math.dist((first.x, first.y), (last.x, last.y)) < 1e-9
    turns = (last.theta - first.theta) / math.tau
    assert turns == pytest.approx(options["laps"] if name in CLOSED[2:] else 0, abs=1e-9)


# Of each option, values that no robot can drive.
wrong = st.one_of(
    st.floats(max_value=-1e-9, allow_nan=False),
    st.floats(1.1e6, allow_nan=False),
    st.sampled_from([math.nan, "1", None, True, [1.0]]),
)


@given(st.sampled_from(tuple(TRAJECTORIES)), st.data(), wrong)
def test_what_cannot_be_is_refused_by_name(name, data, value):
    option = data.draw(st.sampled_from(sorted({*options_of(name)} - {"points", "corners"})))
    with pytest.raises(ValueError, match=f"^{option} = "):
        make_trajectory(name, **{option: value})


@given(
    st.lists(
        st.tuples(st.floats(0.01, 5.0), st.floats(-3.0, 3.0), st.floats(-9.0, 9.0)), min_size=1
    ),
    st.floats(0.0, 10.0),
)
def test_velocity_steps_say_the_newest_step(steps, start):
    times = start + np.cumsum([step[0] for step in steps])
    _, linear, angular = zip(*steps, strict=True)
    made = VelocitySteps(times.tolist(), linear, angular)
    assert made.at(float(times[0]) - 1e-6) == (0.0, 0.0)
    for time, *pair in zip(times, linear, angular, strict=True):
        assert made.at(float(time)) == made.at(float(time) + 0.009) == tuple(pair)
    assert made.ends_at_rest == (steps[-1][1:] == (0.0, 0.0))
