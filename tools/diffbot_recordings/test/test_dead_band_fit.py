# SPDX-License-Identifier: Apache-2.0
"""The dead band of an axis from a recording: found with its interval, or named as not identifiable.

The bounds hold for the seeds here; benchmarks/dead_band.py prints coverage over random robots.
"""

import math

import numpy as np
import pytest

from diffbot_description.dead_band import DeadBandKind, passed_of
from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.dead_band_analysis import NAME
from diffbot_recordings.dead_time import fit_dead_band
from diffbot_recordings.first_order import FirstOrder
from diffbot_recordings.velocity_analysis import analyse_axis

T, COUNT = 0.05, 800
TRUE = FirstOrder(0.4, 0.9)
DEAD_TIME = 0.13
OFFSET, THRESHOLD = DeadBandKind


def recording(seed, width, kind=OFFSET, noise=0.01, least=0.0):
    """Commands of random size above `least`, each held for 1 s."""
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(least, 1.0, COUNT // 20) * rng.choice([-1.0, 1.0], COUNT // 20)
    command = np.repeat(sizes, 20)
    velocity = TRUE.simulate(passed_of(command, width, kind), T, 0.0, DEAD_TIME)
    return AxisSegment(T, command, velocity + noise * rng.standard_normal(COUNT))


@pytest.mark.parametrize("kind", DeadBandKind)
def test_a_dead_band_is_found_beside_the_axis_and_its_dead_time(kind):
    dead_time_fit = fit_dead_band([recording(1, 0.15, kind)], 0.4, kind)
    assert abs(dead_time_fit.dead_band - 0.15) < 3.0 * dead_time_fit.dead_band_std + 1e-12
    assert dead_time_fit.dead_band_std < (0.004 if kind is OFFSET else 0.02)
    assert dead_time_fit.fit.model.inertia == pytest.approx(0.4, abs=4.0 * dead_time_fit.fit.std[0])
    assert dead_time_fit.fit.model.drag == pytest.approx(0.9, abs=4.0 * dead_time_fit.fit.std[1])
    assert dead_time_fit.dead_time == pytest.approx(
        DEAD_TIME, abs=4.0 * dead_time_fit.dead_time_std
    )


def test_the_range_of_a_threshold_ends_where_commands_did_and_did_not_move_the_axis():
    segment = recording(2, 0.15, THRESHOLD, noise=0.001)
    dead_time_fit = fit_dead_band([segment], 0.4, THRESHOLD)
    sizes = np.unique(np.abs(segment.command))
    below, above = sizes[sizes <= 0.15].max(), sizes[sizes > 0.15].min()
    assert dead_time_fit.dead_band == pytest.approx(0.5 * (below + above), abs=1e-8)
    assert NORMAL_95 * dead_time_fit.dead_band_std == pytest.approx(0.5 * (above - below), rel=1e-6)


def test_a_band_that_only_the_last_command_would_pass_is_none():
    """The last command is the largest, and ends before it acts on a reading."""
    segment = recording(2, 0.15, THRESHOLD)
    command = segment.command.copy()
    command[-2:] = 1.5
    fit = fit_dead_band([AxisSegment(T, command, segment.velocity)], 0.4, THRESHOLD)
    assert abs(fit.dead_band - 0.15) < NORMAL_95 * fit.dead_band_std


@pytest.mark.parametrize("kind", DeadBandKind)
def test_what_is_reported_is_the_kind_the_band_and_a_sigma_that_it_does_not_bias(kind):
    axis_analysis = analyse_axis([recording(3, 0.2, kind)], "forward axis", longest_dead_time=0.4)
    verdict = axis_analysis.verdict
    assert verdict.usable, verdict.summary()
    assert axis_analysis.fit.kind is kind
    assert any(f"({kind.value})" in note for note in verdict.notes)
    for name, true in ((NAME, 0.2), ("inertia", 0.4), ("drag", 0.9)):
        value = verdict.value(name)
        assert abs(value.value - true) < 3.5 * value.std, (name, value)
    assert verdict.value("drag").std < 0.02


def test_without_dead_band_the_answer_is_the_plain_model_and_what_small_commands_tell():
    from diffbot_recordings.dead_time import fit_dead_time

    segment = recording(4, 0.0)
    axis_analysis = analyse_axis([segment], "forward axis", longest_dead_time=0.4)
    plain = fit_dead_time([segment], 0.4)
    assert axis_analysis.fit.dead_band == 0.0
    assert axis_analysis.fit.fit.model == plain.fit.model
    value = axis_analysis.verdict.value(NAME)
    assert value.identifiable and value.interval95[0] <= 0.0
    # A threshold may be as high as the smallest command that moved the robot.
    assert np.abs(segment.command).min() <= value.interval95[1] < 0.1


@pytest.mark.parametrize("seed", range(40, 43))
def test_a_threshold_below_all_commands_is_inside_the_interval(seed):
    segment = recording(seed, 0.03, THRESHOLD, least=0.04)
    value = analyse_axis([segment], "forward axis", longest_dead_time=0.4).verdict.value(NAME)
    assert not value.identifiable or value.interval95[0] <= 0.03 <= value.interval95[1]


def test_large_commands_say_nothing_of_the_smallest_but_do_not_bias_sigma():
    axis_analysis = analyse_axis(
        [recording(5, 0.2, least=0.6)], "forward axis", longest_dead_time=0.4
    )
    value = axis_analysis.verdict.value(NAME)
    assert not value.identifiable and math.isnan(value.value)
    assert any(
        "the recording holds no small commands" in note for note in axis_analysis.verdict.notes
    )
    drag = axis_analysis.verdict.value("drag")
    assert abs(drag.value - 0.9) < 3.5 * drag.std


def test_commands_of_one_size_identify_no_dead_band():
    rng = np.random.default_rng(6)
    command = np.repeat(rng.choice([-0.5, 0.5], COUNT // 20), 20)
    velocity = TRUE.simulate(passed_of(command, 0.1), T, 0.0, DEAD_TIME)
    segment = AxisSegment(T, command, velocity + 0.01 * rng.standard_normal(COUNT))
    verdict = analyse_axis([segment], "forward axis", longest_dead_time=0.4).verdict
    assert verdict.usable and not verdict.value(NAME).identifiable
