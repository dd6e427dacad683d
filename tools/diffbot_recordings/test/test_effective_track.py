# SPDX-License-Identifier: Apache-2.0
"""Effective track from wheels and yaw rate of a recording."""

import numpy as np
import pytest

from arc_odometry import WheelGeometry
from diffbot_recordings.effective_track import beside_commands, effective_tracks
from diffbot_recordings.segments import Segment
from diffbot_recordings.verdict import AnalysisOutcome, AnalysisVerdict

REPORTED = WheelGeometry(0.3, 0.3, 1.08)
PERIOD = 0.05


def segments(turn, seed=0, count=3, run=None, late=0.15, size=0.6):
    """Segments of 25 s at 20 Hz in which `turn` makes the yaw rate of v and the wheels' turn.

    The wheels' speeds are published four times a second, and late.
    """
    generator = np.random.default_rng(seed)
    results = []
    for number in range(count):
        fine = np.arange(0.0, 25.0, 0.01)
        knots = np.arange(-2.0, 28.0, 1.5)
        v = np.interp(fine, knots, generator.normal(0.0, 1.0, len(knots)))
        wheels = np.interp(fine, knots, generator.normal(0.0, size, len(knots)))
        rate = turn(v, wheels) + 0.005 + 0.01 * generator.standard_normal(len(fine))
        read = np.floor((fine - late) / 0.25) * 0.25
        left, right = REPORTED.wheel_velocity(1.0, 0.0)[0], REPORTED.wheel_velocity(0.0, 1.0)[1]
        seen_v, seen_turn = (np.interp(read, fine, values) for values in (v, wheels))
        at = slice(None, None, round(PERIOD / 0.01))
        channels = {
            "left_velocity": (left * seen_v - right * seen_turn)[at],
            "right_velocity": (left * seen_v + right * seen_turn)[at],
            "w": rate[at],
        }
        results.append(Segment(100.0 * number + fine[at], PERIOD, channels, run))
    return results


def test_it_is_found_where_the_robot_turns_in_proportion():
    (verdict,) = effective_tracks(segments(lambda v, turn: 0.57 * turn, 0), REPORTED)
    assert verdict.outcome is AnalysisOutcome.ESTIMATED
    value = verdict.value("effective track")
    # Readings that are 0.25 s old, in windows of 0.5 s, are the error here.
    assert abs(value.value - 1.08 / 0.57) < 4.0 * value.std
    assert value.std < 0.03 * value.value
    assert verdict.r_squared_held_out >= 0.95


def test_each_recording_has_its_own():
    asphalt = segments(lambda v, turn: 0.57 * turn, run="asphalt")
    grass = segments(lambda v, turn: 0.7 * turn, seed=1, run="grass")
    verdicts = effective_tracks([*asphalt, *grass], REPORTED)
    assert [verdict.subject for verdict in verdicts] == [
        "effective track, asphalt",
        "effective track, grass",
    ]
    tracks = [verdict.value("effective track").value for verdict in verdicts]
    assert tracks == pytest.approx([1.08 / 0.57, 1.08 / 0.7], rel=0.05)
    (note,) = verdicts[1].notes
    assert "differs from that in asphalt by -19 %" in note and verdicts[0].notes == ()


def test_equal_tracks_are_not_called_different():
    runs = [segments(lambda v, turn: 0.57 * turn, 2 + k, run=f"run {k}") for k in (0, 1)]
    _, second = effective_tracks([segment for run in runs for segment in run], REPORTED)
    assert second.notes[0].startswith("no other track than in run 0: ")


def test_where_wheels_explain_what_commands_do_not_slip_is_not_blamed():
    tracks = effective_tracks(segments(lambda v, turn: 0.57 * turn), REPORTED)
    refused = AnalysisVerdict("yaw axis").refused("not first order")
    (track,) = beside_commands(tracks, refused)
    assert "because the wheels do not follow their commands" in track.notes[-1]
    assert beside_commands(tracks, AnalysisVerdict("yaw axis")) == tracks
    assert beside_commands(tracks, None) == tracks


def test_slip_that_is_not_in_proportion_is_refused():
    # A robot that turns half as fast as soon as it drives.
    def turn(v, wheels):
        return np.where(np.abs(v) > 0.8, 0.25, 0.8) * wheels

    (verdict,) = effective_tracks(segments(turn), REPORTED)
    assert verdict.outcome is AnalysisOutcome.REFUSED
    assert "must be >= 0.95" in verdict.reason


def test_a_gyro_that_is_another_one_is_named():
    (verdict,) = effective_tracks(segments(lambda v, turn: -0.6 * turn), REPORTED)
    assert verdict.outcome is AnalysisOutcome.REFUSED
    assert "its axis points down" in verdict.reason


def test_straight_driving_says_nothing_and_no_wheels_give_no_verdict():
    (verdict,) = effective_tracks(segments(lambda v, turn: turn, size=0.01), REPORTED)
    assert verdict.outcome is AnalysisOutcome.NOT_EXCITED
    (segment, *_) = segments(lambda v, turn: turn)
    without = Segment(segment.times, PERIOD, {"w": segment.channels["w"]})
    assert effective_tracks([without], REPORTED) == []
