# SPDX-License-Identifier: Apache-2.0
"""Figures of a driving run against cases worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_report.drive_metrics import (
    LAST_LAP,
    LAST_SECOND,
    ONLY_LAP,
    drive_metrics,
    judged_window,
)
from diffbot_report.drive_recording import DriveRun
from pose2d_trajectories import make_trajectory


def run_of(reference, odometry, true=None, period=0.01):
    """A run at rest with these poses, shape (n, 3)."""
    n = len(reference)
    none = np.full((n, 3), np.nan)
    zero = np.zeros((n, 2))
    return DriveRun(
        period * np.arange(n), np.array(reference, float), np.array(odometry, float),
        none if true is None else np.array(true, float), zero, zero, zero, zero,
    )  # fmt: skip


def poses(n, x=0.0, y=0.0, theta=0.0):
    return np.column_stack([np.broadcast_to(np.asarray(c, float), n) for c in (x, y, theta)])


def references(name, times, **options):
    trajectory = make_trajectory(name, **options)
    return np.array([(r.x, r.y, r.theta) for r in map(trajectory.at, times)])


def test_constant_offset():
    run = run_of(poses(300), poses(300, 0.003, 0.004, 0.01), poses(300, 0.006, 0.008, -0.005))
    metrics = drive_metrics(run)
    for tracking, distance, heading in ((metrics.odometry, 5e-3, 0.01), (metrics.true, 0.01, 5e-3)):
        assert tracking.rms_position == pytest.approx(distance)
        assert tracking.max_position == pytest.approx(distance)
        assert tracking.rms_heading == tracking.max_heading == pytest.approx(heading)
    assert metrics.odometry.settling_time == 0.0
    assert metrics.drift.rms_position == pytest.approx(5e-3)
    assert metrics.drift.max_heading == pytest.approx(0.015)


def test_drift_is_not_tracking_error():
    """A robot that is where it believes to be off, and the other way round."""
    drifted = drive_metrics(run_of(poses(200), poses(200), poses(200, x=0.02)))
    assert drifted.odometry.rms_position == 0.0
    assert drifted.true.rms_position == drifted.drift.rms_position == pytest.approx(0.02)
    late = drive_metrics(run_of(poses(200), poses(200, x=0.02), poses(200, x=0.02)))
    assert late.drift.rms_position == 0.0
    assert late.true.rms_position == pytest.approx(0.02)


@given(st.integers(-3, 3), st.floats(-0.1, 0.1))
def test_heading_is_wrapped(turns, error):
    run = run_of(poses(200, theta=3.0), poses(200, theta=3.0 + math.tau * turns + error))
    assert drive_metrics(run).odometry.max_heading == pytest.approx(abs(error), abs=1e-9)


@given(st.integers(1, 299))
def test_settling_time_is_the_first_instant_after_the_last_one_outside(last):
    x = np.zeros(300)
    x[[0, last]] = 0.011
    metrics = drive_metrics(run_of(poses(300), poses(300, x)))
    expected = None if last == 299 else pytest.approx(0.01 * (last + 1))
    assert metrics.odometry.settling_time == expected


def test_one_degree_counts_too():
    theta = np.zeros(300)
    theta[:100] = math.radians(1.01)
    assert drive_metrics(run_of(poses(300), poses(300, theta=theta))).odometry.settling_time == 1.0
    theta[:100] = math.radians(0.99)
    assert drive_metrics(run_of(poses(300), poses(300, theta=theta))).odometry.settling_time == 0.0


def test_errors_of_the_last_second_only():
    x = np.full(500, 0.5)
    x[399:] = 0.002
    metrics = drive_metrics(run_of(poses(500), poses(500, x)))
    assert (metrics.window.kind, metrics.window.end) == (LAST_SECOND, pytest.approx(4.99))
    assert metrics.odometry.max_position == pytest.approx(0.002)


def test_truth_unknown_or_partly_known():
    run = run_of(poses(300), poses(300))
    assert drive_metrics(run).true is None
    assert drive_metrics(run).drift is None
    true = poses(300, x=0.001)
    true[::2] = np.nan
    metrics = drive_metrics(run_of(poses(300), poses(300), true))
    assert metrics.true.rms_position == pytest.approx(0.001)


def test_velocity_runs_have_no_tracking():
    none = np.full((300, 3), np.nan)
    metrics = drive_metrics(run_of(none, none, poses(300)))
    assert metrics.window is metrics.true is metrics.odometry is metrics.drift is None


def test_empty_run():
    empty = np.zeros((0, 3))
    assert drive_metrics(run_of(empty, empty)).peak_speed is None


# The last lap.


@pytest.mark.parametrize("laps", [1, 2, 3])
@pytest.mark.parametrize("ramp", [0.0, 2.0])
@pytest.mark.parametrize("backwards", [False, True])
def test_last_lap_of_an_eight(laps, ramp, backwards):
    """A lap at full speed takes the period; the last one has the ramp, of half mean speed."""
    times = np.arange(0.0, 12.0 * laps + 6.0, 0.01)
    reference = references(
        "figure_eight", times, period=12.0, laps=laps, ramp_up=ramp, ramp_down=2.0,
        backwards=backwards,
    )  # fmt: skip
    window = judged_window(times, reference)
    assert window.kind == (ONLY_LAP if laps == 1 else LAST_LAP)
    first = 0.5 * ramp if laps == 1 else 0.0  # the only lap has both ramps
    assert window.end - window.begin == pytest.approx(12.0 + 1.0 + first, abs=0.35)
    assert window.end == pytest.approx(12.0 * laps + 1.0 + 0.5 * ramp, abs=0.3)


@pytest.mark.parametrize("shape", ["circle", "rounded_square", "siwek_eight"])
def test_last_lap_of_closed_curves(shape):
    trajectory = make_trajectory(shape, laps=2, ramp_up=1.0, ramp_down=1.0)
    times = np.arange(0.0, trajectory.duration + 2.0, 0.01)
    reference = np.array([(r.x, r.y, r.theta) for r in map(trajectory.at, times)])
    window = judged_window(times, reference)
    assert window.kind == LAST_LAP
    # Two laps, of which the first is as long as the second.
    assert window.end == pytest.approx(trajectory.duration, abs=0.3)
    assert window.begin == pytest.approx(0.5 * trajectory.duration, abs=0.3)


def test_lap_that_is_cut_off_in_motion():
    times = np.arange(0.0, 17.0, 0.01)
    window = judged_window(
        times, references("figure_eight", times, period=10.0, laps=0, ramp_up=0.0)
    )
    assert (window.kind, window.end) == (LAST_LAP, pytest.approx(16.99))
    assert window.begin == pytest.approx(6.99, abs=0.011)


def test_crossing_with_another_heading_is_no_lap():
    """An 8 that ends in its middle, on the first branch: the other branch is not taken."""
    times = np.arange(0.0, 15.0, 0.01)
    eight = references("figure_eight", times, period=10.0, laps=0, ramp_up=0.0)
    middle = np.hypot(*eight[:, :2].T)
    crossings = [
        k for k in range(1, 1499) if middle[k] < 0.01 and middle[k] == min(middle[k - 5 : k + 6])
    ]
    first, other = crossings[0], crossings[1]
    assert abs(math.remainder(eight[first, 2] - eight[other, 2], math.tau)) > 0.3
    assert judged_window(times[: other + 1], eight[: other + 1]).kind == LAST_SECOND


@pytest.mark.parametrize("shape", ["line", "waypoints"])
def test_no_lap_between_points(shape):
    times = np.arange(0.0, 12.0, 0.01)
    assert judged_window(times, references(shape, times)).kind == LAST_SECOND


def test_resting_goal_is_no_lap():
    assert judged_window(np.arange(3) * 1.0, poses(3, 1.0)).kind == LAST_SECOND
