# SPDX-License-Identifier: Apache-2.0
"""Wheels that scrub in turns: the model's motion, and its identification."""

from dataclasses import replace

import numpy as np
import pytest

from arc_odometry import Velocity
from diffbot_recordings.scrubbing_drive import ScrubbingData, ScrubbingDrive, scrubbing_turns
from diffbot_recordings.segments import Segment
from diffbot_recordings.verdict import AnalysisOutcome

TRACK, PERIOD = 0.5, 0.05
DRIVE = ScrubbingDrive(8.0, 10.0, 6.0, 1.4, 4.0, 0.5, 0.1, 0.08, 2.0)


def driven(v, omega, seconds, drive=DRIVE):
    commands = np.tile((v, omega), (round(seconds / PERIOD), 1))
    return drive.simulate(commands, PERIOD, TRACK)


def test_friction_holds_until_the_integral_part_overcomes_it():
    rate = driven(0.0, 0.3, 12.0)[:, 1]
    # 8 * 0.3 + 10 * 0.3 t = 4 / 1.4 - 0.03 ...: within the first second it does not turn.
    assert rate[round(0.15 / PERIOD)] == 0.0
    assert rate[-1] == pytest.approx(0.3 / DRIVE.track, rel=0.02)


def test_without_friction_it_follows_both_commands():
    free = ScrubbingDrive(8.0, 0.0, 100.0, 1.0, 0.0, 0.0, 0.0, 0.08, 1.0)
    motion = driven(0.4, 0.8, 3.0, free)
    assert motion[-1] == pytest.approx((0.4, 0.8), rel=1e-3)
    # The first command has held before: there is no dead time in the beginning.
    late = 0.4 * (1.0 - np.exp(-8.0 * PERIOD * np.arange(len(motion))))
    assert np.abs(motion[:, 0] - late).max() < 0.03


def test_the_largest_force_limits_acceleration():
    weak = ScrubbingDrive(50.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.002, 1.0)
    motion = driven(1.0, 0.0, 1.0, weak)[:, 0]
    assert np.diff(motion).max() <= 0.5 * PERIOD * 1.001
    assert motion[-1] == pytest.approx(0.5 * (1.0 - PERIOD), rel=0.1)


def test_a_motion_goes_on_from_the_start():
    commands = np.tile((0.3, 0.6), (100, 1))
    motion = DRIVE.simulate(commands, PERIOD, TRACK, Velocity(0.3, 0.3))
    assert np.abs(motion - (0.3, 0.3)).max() < 0.01


def segments(seed, duration=30.0, noise=0.01, drive=DRIVE, run=None):
    """Random commands of 0.5 to 2.5 s, and the noisy motion that follows."""
    rng = np.random.default_rng(seed)
    commands = []
    while len(commands) < round(duration / PERIOD):
        chosen = rng.uniform((-0.8, -2.0), (0.8, 2.0)) * rng.integers(0, 2, 2)
        commands += [chosen] * round(rng.uniform(0.5, 2.5) / PERIOD)
    commands = np.array(commands)
    v, w = (drive.simulate(commands, PERIOD, TRACK) + noise * rng.standard_normal(commands.shape)).T
    channels = {"v": v, "w": w, "command_v": commands[:, 0], "command_w": commands[:, 1]}
    return [Segment(PERIOD * np.arange(len(v)), PERIOD, channels, run)]


def test_it_predicts_held_out_motion():
    (verdict,) = scrubbing_turns(segments(21), TRACK)
    assert verdict.outcome is AnalysisOutcome.ESTIMATED
    assert verdict.r_squared_held_out > 0.95
    assert "effective track" in verdict.notes[0] and not verdict.values


def test_each_recording_has_its_own_ground():
    both = segments(22, duration=4.0, run="gravel") + segments(23, duration=4.0, run="ice")
    assert [verdict.subject.split(", ")[1] for verdict in scrubbing_turns(both, TRACK)] == [
        "gravel",
        "ice",
    ]


def test_a_fit_finds_track_and_dead_time():
    data = ScrubbingData(segments(11), TRACK)
    fit = data.fit([replace(DRIVE, resistance=2.0, track=1.5, proportional=15.0)], held_out=True)
    assert fit.track == pytest.approx(DRIVE.track, rel=0.1)
    assert fit.dead_time == pytest.approx(DRIVE.dead_time, abs=0.03)


def test_motion_that_commands_do_not_explain_is_refused():
    (part,) = segments(31, duration=24.0)
    rng = np.random.default_rng(31)
    strange = {**part.channels, "w": np.cumsum(rng.standard_normal(len(part.times))) * 0.02}
    (verdict,) = scrubbing_turns([Segment(part.times, PERIOD, strange)], TRACK)
    assert verdict.outcome is AnalysisOutcome.REFUSED and "held-out" in verdict.reason


def test_little_motion_is_not_judged():
    (verdict,) = scrubbing_turns(segments(41, duration=8.0), TRACK)
    assert verdict.outcome is AnalysisOutcome.NOT_EXCITED
