# SPDX-License-Identifier: Apache-2.0
"""Commands over a dead band: exact, within limits, still at rest; and robots that creep."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import REST, MotionLimits, Velocity
from diffbot_controllers.velocity_tracking.dead_band_compensation import (
    NO_DEAD_BANDS,
    PULSE,
    SMOOTH,
    DeadBandCompensation,
    passed,
)
from diffbot_controllers.velocity_tracking.law import (
    TrackerSettings,
    VelocityTracker,
)
from diffbot_description.dead_band import DeadBand, DeadBandKind
from diffbot_description.sigma import Sigma
from pose2d_trajectories import Reference

MOVING = Reference(0.0, 0.0, 0.0, 0.1, 0.1)
STANDING = Reference(0.0, 0.0, 0.0, 0.0, 0.0)
OFFSETS = (DeadBand(0.05), DeadBand(0.2))
THRESHOLDS = tuple(replace(band, kind=DeadBandKind.THRESHOLD) for band in OFFSETS)
QUICK, LIMITS = Sigma(0.3, 0.2, 1.05, 0.95), MotionLimits(0.7, 3.14)
PERIOD = 0.02
speeds = st.floats(-1.0, 1.0)


@given(speeds, speeds)
def test_what_acts_of_an_offset_is_what_was_asked_for(v, omega):
    asked = Velocity(v, omega)
    sent = DeadBandCompensation().sent(asked, OFFSETS, asked, MOVING)
    for got, want, band in zip(passed(sent, OFFSETS), asked, OFFSETS, strict=True):
        residue = SMOOTH * band.width
        assert got == pytest.approx(want, abs=1e-12 if abs(want) >= residue else residue)


@given(st.floats(-0.3, 0.3), st.floats(1e-6, 1e-4))
def test_the_command_has_no_jump(v, step):
    one = DeadBandCompensation()
    pair = [one.sent(Velocity(x, 0.0), OFFSETS, REST, MOVING).v for x in (v, v + step)]
    assert 0.0 <= pair[1] - pair[0] <= step * (1.0 + 1.0 / SMOOTH) * 1.0001


@given(st.floats(0.001, 0.05))
def test_pulses_over_a_threshold_have_the_right_mean_and_are_all_above_it(v):
    one, sent = DeadBandCompensation(), []
    for _ in range(400):
        command = one.sent(Velocity(v, 0.0), THRESHOLDS, Velocity(v, 0.0), MOVING)
        one.took_effect(passed(command, THRESHOLDS))
        sent.append(command.v)
    assert set(np.round(sent, 12)) <= {0.0, round(PULSE * 0.05, 12)}
    assert np.mean(sent) == pytest.approx(v, abs=PULSE * 0.05 / 400)


@given(speeds, speeds)
def test_no_dead_band_changes_nothing(v, omega):
    asked = Velocity(v, omega)
    for reference in (MOVING, STANDING):
        assert DeadBandCompensation().sent(asked, NO_DEAD_BANDS, asked, reference) == asked


def test_at_rest_nothing_is_added_with_hysteresis():
    one, tiny = DeadBandCompensation(), Velocity(0.001, 0.0)
    assert one.sent(tiny, OFFSETS, Velocity(0.002, 0.0), STANDING).v > 0.01
    assert one.sent(tiny, OFFSETS, Velocity(0.0009, 0.0), STANDING) == tiny
    assert one.sent(tiny, OFFSETS, Velocity(0.002, 0.0), STANDING) == tiny
    assert one.sent(tiny, OFFSETS, Velocity(0.004, 0.0), STANDING).v > 0.01
    assert one.sent(tiny, OFFSETS, Velocity(0.0009, 0.0), MOVING).v > 0.01


def test_a_band_that_leaves_no_command_is_refused():
    with pytest.raises(ValueError, match="dead_band of v = 0.7: must be < 0.7"):
        TrackerSettings(limits=LIMITS, dead_band=(DeadBand(0.7), DeadBand()))


def follow(bands, known, reference, seconds, seed=1, noise=(0.002, 0.005)):
    """True [way, heading], and commands, of a robot by (3) that follows a reference."""
    rng = np.random.default_rng(seed)
    tracker = VelocityTracker(TrackerSettings(limits=LIMITS, dead_band=known), QUICK)
    pose, velocity, rows = np.zeros(3), REST, []
    for k in range(round(seconds / PERIOD)):
        measured = tuple(np.array(velocity) + noise * rng.standard_normal(2))
        command = tracker.update(k * PERIOD, reference(k * PERIOD), tuple(pose), measured)
        after = QUICK.after(velocity, passed(command, bands), PERIOD)
        middle = pose[2] + 0.25 * PERIOD * (velocity.omega + after.omega)
        distance = 0.5 * PERIOD * (velocity.v + after.v)
        pose = pose + (
            distance * math.cos(middle),
            distance * math.sin(middle),
            0.5 * PERIOD * (velocity.omega + after.omega),
        )
        velocity = after
        rows.append((*pose, *velocity, *command))
    return np.array(rows)


def straight(time):
    return Reference(0.01 * time, 0.0, 0.0, 0.01, 0.0)


def turning(time):
    return Reference(0.0, 0.0, 0.03 * time, 0.0, 0.03)


@pytest.mark.parametrize("bands", [OFFSETS, THRESHOLDS])
@pytest.mark.parametrize("fraction", [0.97, 1.0, 1.03])
def test_a_robot_that_is_told_to_creep_creeps(bands, fraction):
    """Average speed within 10 %, where the band is 5 and 7 times the speed."""
    known = tuple(replace(band, width=fraction * band.width) for band in bands)
    for column, wanted, reference in ((0, 0.01, straight), (2, 0.03, turning)):
        run = follow(bands, known, reference, 12.0)
        middle = len(run) // 2
        mean = (run[-1, column] - run[middle, column]) / (PERIOD * (len(run) - 1 - middle))
        assert mean == pytest.approx(wanted, rel=0.1), (column, mean)


def test_a_slow_path_is_followed_nearly_as_without_dead_band():
    """Rms of position with it at most twice that without; without compensation over ten times."""

    def path(time):
        return Reference(0.03 * time, 0.0, 0.0, 0.03, 0.0)

    def rms(run):
        wanted = 0.03 * PERIOD * np.arange(1, len(run) + 1)
        late = slice(len(run) // 4, None)
        return float(np.sqrt(np.mean((run[late, 0] - wanted[late]) ** 2 + run[late, 1] ** 2)))

    free = rms(follow(NO_DEAD_BANDS, NO_DEAD_BANDS, path, 16.0))
    for bands in (OFFSETS, THRESHOLDS):
        assert rms(follow(bands, bands, path, 16.0)) < 2.0 * free
    assert rms(follow(OFFSETS, NO_DEAD_BANDS, path, 16.0)) > 10.0 * free


def test_at_rest_the_robot_stands_still():
    """No limit cycle, also where the dead band is taken for a fifth too large."""
    large = tuple(replace(band, width=1.2 * band.width) for band in OFFSETS)
    for known in (OFFSETS, large):
        run = follow(OFFSETS, known, lambda _t: Reference(0.1, 0.0, 0.1, 0.0, 0.0), 16.0)
        late = run[-200:]
        assert np.abs(late[:, 3:5]).max() < 1e-6
        assert np.abs(late[-1, :3] - (0.1, 0.0, 0.1)).max() < 0.01


@given(st.floats(-5.0, 5.0), st.floats(-3.0, 3.0), st.floats(-3.0, 3.0))
def test_limits_hold_for_what_is_sent(ahead, v, omega):
    for bands in (OFFSETS, THRESHOLDS):
        tracker = VelocityTracker(TrackerSettings(limits=LIMITS, dead_band=bands), QUICK)
        command = tracker.update(0.0, Reference(ahead, 1.0, 0.3, v, omega), (0, 0, 0), (0, 0))
        assert abs(command.v) <= 0.7 and abs(command.omega) <= 3.14
