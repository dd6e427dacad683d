# SPDX-License-Identifier: Apache-2.0
"""What a driver does to commands acts on those that were sent, not on means of them."""

import numpy as np
import pytest

from diffbot_description.dead_band import DeadBandKind, passed_of
from diffbot_recordings.dead_band_analysis import NAME
from diffbot_recordings.findings import analyse_axes
from diffbot_recordings.samples import Batch
from diffbot_recordings.segments import Segmenter
from diffbot_recordings.sent_commands import SentCommands, levels_of


def test_means_are_those_of_a_held_command():
    sent = SentCommands(np.array([-0.3, 0.25, 0.9]), np.array([1.0, 3.0, -2.0]))
    # Quarters of a second from 0 on, by hand.
    assert sent.means(0.5, 3) == pytest.approx([2.0, 3.0 - 0.1 / 0.5 * 5.0, -2.0])


def test_means_agree_with_a_fine_sum():
    r = np.random.default_rng(3)
    times = np.sort(r.uniform(-0.5, 3.0, 12))
    sent = SentCommands(times, r.uniform(-1.0, 1.0, 12))
    fine = (np.arange(300_000) + 0.5) * 1e-5
    constant = sent.values[np.maximum(np.searchsorted(times, fine, side="right") - 1, 0)]
    assert sent.means(0.25, 12) == pytest.approx(constant.reshape(12, -1).mean(axis=1), abs=2e-4)


def test_levels_ignore_rounding():
    assert levels_of(np.array([0.15, -0.15 - 1e-9, 0.05])) == pytest.approx([0.05, 0.15])


def recorded(seed, kind, widths, levels):
    """Commands of given sizes by a clock of their own, of a robot simulated exactly by (3)."""
    r = np.random.default_rng(seed)
    spacing, dead_time, tau = 0.1, r.uniform(0.05, 0.15), r.uniform(0.1, 0.3, 2)
    sent = r.uniform(0.0, spacing) + spacing * np.arange(360)
    command = np.column_stack(
        [np.repeat(r.choice(own, 36) * r.choice([-1.0, 1.0], 36), 10) for own in levels]
    )
    times = 0.02 * np.arange(1800)
    velocity = np.empty((1800, 2))
    for axis, width in enumerate(widths):
        acting = passed_of(command[:, axis], width, kind)
        # Exact between knots: both the samples and the instants at which commands begin to act.
        knots = np.unique(np.concatenate((times, sent + dead_time)))
        index = np.searchsorted(sent + dead_time, knots, side="right") - 1
        aim = np.where(index >= 0, acting[np.maximum(index, 0)], 0.0)
        v, result = 0.0, []
        for step, target in zip(np.diff(knots, append=knots[-1]), aim, strict=True):
            result.append(v)
            v += (target - v) * -np.expm1(-step / tau[axis])
        velocity[:, axis] = np.array(result)[np.searchsorted(knots, times)]
    velocity += (0.002, 0.006) * r.standard_normal((1800, 2))
    batches = [
        Batch(times, {"v": velocity[:, 0], "w": velocity[:, 1]}),
        Batch(sent, {"command_v": command[:, 0], "command_w": command[:, 1]}),
    ]
    return list(Segmenter().segments(batches, ("command_v", "command_w", "v", "w")))


def test_the_interval_of_a_threshold_ends_at_commands_that_were_sent():
    levels = (0.05, 0.15, 0.3, 0.4), (0.08, 0.4, 0.6, 1.0)
    segments = recorded(0, DeadBandKind.THRESHOLD, (0.12, 0.25), levels)
    analyses = analyse_axes(segments)
    for axis, ends in (("v", (0.05, 0.15)), ("w", (0.08, 0.4))):
        analysis = analyses[axis]
        assert analysis.fit.kind is DeadBandKind.THRESHOLD
        assert analysis.verdict.value(NAME).interval95 == pytest.approx(ends, abs=1e-6)
        note = next(note for note in analysis.verdict.notes if "threshold" in note)
        assert f"up to {ends[0]:.3g}" in note and f"from {ends[1]:.3g}" in note
