# SPDX-License-Identifier: Apache-2.0
"""Limits of speed and acceleration hold, and slow a trajectory down no more than they must."""

import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from arc_odometry import Pose
from pose2d_trajectories import TrajectoryLimits, make_trajectory
from pose2d_trajectories.paths import ArcPath, Lissajous
from pose2d_trajectories.timing import PathTrajectory, Peaks, RampLaw, drive_laps, find_peaks

LIMIT_FIELDS = (
    ("v", "linear_velocity"),
    ("omega", "angular_velocity"),
    ("dv", "linear_acceleration"),
    ("domega", "angular_acceleration"),
)
# Each example takes 0.1 s, and shrinking a failing one would take minutes.
QUICK = (Phase.reuse, Phase.generate)
RAMP_UP = st.one_of(st.just(0.0), st.floats(1e-6, 4.0))
sizes = st.floats(0.2, 5.0)
ramps = {"laps": st.integers(1, 2), "ramp_up": RAMP_UP, "ramp_down": st.floats(0.1, 4)}
eights = {"amplitude_x": sizes, "amplitude_y": sizes, "period": st.floats(2.0, 60.0), **ramps}
speeds = st.floats(0.05, 3.0)
SHAPES = st.one_of(
    st.fixed_dictionaries({"name": st.just("figure_eight"), **eights}),
    st.fixed_dictionaries({"name": st.just("siwek_eight"), **eights}),
    st.fixed_dictionaries({"name": st.just("circle"), "radius": sizes, "speed": speeds, **ramps}),
    st.fixed_dictionaries(
        {"name": st.just("rounded_square"), "side": st.floats(1.0, 5.0), "speed": speeds, **ramps}
    ),
    st.fixed_dictionaries({"name": st.just("line"), "length": sizes, "speed": speeds}),
    st.fixed_dictionaries(
        {
            "name": st.just("waypoints"),
            "speed": speeds,
            "corners": st.sampled_from(["smooth", "stop"]),
            "rounding": st.floats(0.05, 2.0),
            "points": st.just([(0, 0), (2, 0), (2.2, 1), (0, 1), (0, 1.5), (1, 3), (2, 5)]),
        }
    ),
)
limit_values = st.one_of(st.just(math.inf), st.floats(0.05, 2.0))


def largest(trajectory, seed, number=1500):
    """Peaks at evenly spaced times with a random shift, which the search does not know."""
    shift = np.random.default_rng(seed).random()
    times = (np.arange(number) + shift) * trajectory.duration / number
    samples = [trajectory.at(float(t)) for t in times]
    return {field: max(abs(getattr(s, field)) for s in samples) for field, _ in LIMIT_FIELDS}


@settings(phases=QUICK)
@given(SHAPES, st.builds(TrajectoryLimits, *[limit_values] * 4), st.integers(0, 1000))
def test_limits_hold(shape, limits, seed):
    result = largest(make_trajectory(limits=limits, **shape), seed)
    for field, name in LIMIT_FIELDS:
        assert result[field] <= getattr(limits, name) * (1.0 + 1e-6), (field, result)


paths = st.one_of(
    st.builds(lambda r: ArcPath(Pose(0.0, -r, 0.0), r, 1.0, 2.0 * math.pi), sizes),
    st.builds(Lissajous, sizes, sizes),
    st.builds(lambda width, height: Lissajous(width, -height), sizes, sizes),
)


@settings(phases=QUICK)
@given(paths, speeds, RAMP_UP, st.builds(TrajectoryLimits, *[limit_values] * 4))
def test_no_slower_than_needed(path, rate, ramp_up, limits):
    """As fast as the lap alone may be, or 1 / sqrt 2 of it where ramp and path come together."""
    law = drive_laps(path, rate, 0, ramp_up, 1.0, limits).law
    # An arc is everywhere alike; the second half of an 8 is the first one, mirrored.
    number = 1 if isinstance(path, ArcPath) else 10_001
    lap = [path.at(2.0 * math.pi * k / 20_000) for k in range(number)]
    best = min(
        rate,
        limits.linear_velocity / max(p.ds for p in lap),
        limits.angular_velocity / max(abs(p.dtheta) for p in lap),
        math.sqrt(limits.linear_acceleration / max(1e-300, *(abs(p.dds) for p in lap))),
        math.sqrt(limits.angular_acceleration / max(1e-300, *(abs(p.ddtheta) for p in lap))),
    )
    assert best * (math.sqrt(0.5) - 1e-9) <= law.rate <= best * (1.0 + 1e-9)
    assert law.ramp_up >= ramp_up


def test_limits_that_are_not_reached_change_nothing():
    wide = TrajectoryLimits(10.0, 10.0, 10.0, 10.0)
    for name in ("figure_eight", "circle", "rounded_square"):
        free, bounded = make_trajectory(name, laps=1), make_trajectory(name, laps=1, limits=wide)
        assert free.duration == bounded.duration
        assert free.at(7.7) == bounded.at(7.7)


def test_a_velocity_limit_scales_the_time_of_a_lap():
    """The 8 of period 40 s is fastest where it crosses itself."""
    top = math.hypot(2.0, 0.5) * 2.0 * math.pi / 40.0
    slow = make_trajectory(
        "figure_eight", ramp_up=0.0, limits=TrajectoryLimits(linear_velocity=0.5 * top)
    )
    fast = make_trajectory("figure_eight", ramp_up=0.0)
    assert slow.at(20.0).v == pytest.approx(0.5 * top, rel=1e-9)
    assert slow.at(31.0).theta == pytest.approx(fast.at(15.5).theta, abs=1e-9)


@pytest.mark.parametrize("height", [0.01, 0.05, 0.5, 1.0, 10.0, 100.0])
def test_peaks_of_an_eight_against_dense_samples(height):
    """Also where its ends are narrow; NumPy gradients are the judge."""
    p = np.linspace(0.0, math.pi, 1_000_001)
    dp = p[1]
    dx, dy = 2.0 * np.cos(2.0 * p), -height * np.sin(p)
    v = np.hypot(dx, dy)
    omega = np.gradient(np.unwrap(np.arctan2(dy, dx)), dp)
    inner = slice(4, -4)  # gradients are one-sided at the ends
    dense = [np.max(np.abs(q[inner])) for q in (v, omega, np.gradient(v, dp))]
    curve = PathTrajectory(Lissajous(1.0, height), RampLaw.endless(1.0))
    peaks = find_peaks(curve, 0.0, 2.0 * math.pi)
    assert peaks[:3] == pytest.approx(dense, rel=3e-5)


def test_time_factor():
    peaks = Peaks(v=2.0, omega=0.0, dv=4.0, domega=1.0)
    assert peaks.time_factor(TrajectoryLimits()) == math.inf
    assert peaks.time_factor(TrajectoryLimits(linear_velocity=1.0)) == 0.5
    assert (
        peaks.time_factor(TrajectoryLimits(1.5, 1.0, 1.0)) == 0.5
    )  # accelerations go with its square
