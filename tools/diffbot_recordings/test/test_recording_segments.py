# SPDX-License-Identifier: Apache-2.0
"""Samples become segments: right values, nothing across gaps, columns in memory and no more."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_recordings.samples import Batch, RecordingError
from diffbot_recordings.segments import (
    Cause,
    Segmenter,
    SegmentSettings,
    common,
    evenly_chosen,
)

CHANNELS = ("command_v", "v")


def measured(times):
    return Batch(times, {"v": np.sin(times)})


def commanded(times, values=None):
    return Batch(times, {"command_v": np.ones(len(times)) if values is None else values})


def segments(batches, **settings):
    segmenter = Segmenter(SegmentSettings(**settings))
    return list(segmenter.segments(batches, CHANNELS)), segmenter


def test_values_are_those_of_the_grid_and_jitter_is_gone():
    times = np.arange(0.0, 10.0, 0.02)
    times += np.random.default_rng(1).uniform(-2e-3, 2e-3, len(times))
    (result,), _ = segments([measured(times), commanded(np.arange(0.0, 10.0, 0.1))], period=0.02)
    assert np.diff(result.times) == pytest.approx(0.02)
    # Linear interpolation over 24 ms of a sine: below (0.024 s)^2 / 8.
    assert np.abs(result.channels["v"] - np.sin(result.times)).max() < 0.024**2 / 8


def test_a_command_between_two_instants_counts_by_its_share():
    times = np.arange(0.0, 4.0, 0.1)
    steps = commanded(np.array([0.0, 0.5, 1.025, 1.5, 2.0, 2.5, 3.0, 3.5]), np.arange(8.0))
    (result,), _ = segments([measured(times), steps], period=0.1, hold=1.0)
    step = np.searchsorted(result.times, 1.0 - 1e-9)
    assert result.channels["command_v"][step] == pytest.approx(1.0 * 0.25 + 2.0 * 0.75)


@given(
    st.lists(st.floats(0.01, 3.0), min_size=2, max_size=8, unique=True),
    st.integers(0, 2**31),
)
def test_the_integral_of_the_command_is_kept(changes, seed):
    """What the grid says of a command has the integral of what was commanded."""
    instants = np.sort(np.array([0.0, *changes]))
    values = np.random.default_rng(seed).normal(size=len(instants))
    grid = np.arange(0.0, 4.0, 0.05)
    result, _ = segments([measured(grid), commanded(instants, values)], hold=10.0)
    (whole,) = result
    ends = np.append(instants[1:], whole.times[-1])
    exact = float(np.sum(values * (np.minimum(ends, whole.times[-1]) - instants)))
    assert 0.05 * whole.channels["command_v"][:-1].sum() == pytest.approx(exact, abs=1e-9)


def test_nothing_bridges_gaps_jumps_and_silence():
    first, second = np.arange(0.0, 5.0, 0.02), np.arange(7.0, 12.0, 0.02)
    back = np.arange(2.0, 6.0, 0.02)  # the clock is set back
    batches = [
        measured(np.concatenate((first, second))),
        commanded(np.arange(0.0, 10.0, 0.1)),  # and then nobody commands
        measured(back),
        commanded(np.arange(2.0, 6.0, 0.1)),
    ]
    result, segmenter = segments(batches, hold=0.5)
    ends = [(s.times[0], s.times[-1]) for s in result]
    assert ends == [
        pytest.approx((0.0, 4.98), abs=0.021),
        pytest.approx((7.0, 10.4), abs=0.021),
        pytest.approx((2.0, 5.98), abs=0.021),
    ]
    assert segmenter.excluded.seconds[Cause.GAP] == pytest.approx(2.02)
    assert segmenter.excluded.counts[Cause.BACKWARDS] == 1
    assert segmenter.excluded.seconds[Cause.NO_COMMAND] == pytest.approx(1.58, abs=0.01)


def test_a_second_long_recording_may_begin_with_its_commands():
    times = np.arange(0.0, 200.0, 0.1)
    batches = [commanded(times), measured(times)] * 2
    result, segmenter = segments(batches, longest=60.0)
    assert sum(s.duration for s in result) > 390.0
    assert segmenter.excluded.counts[Cause.BACKWARDS] == 1


def test_doubled_samples_and_numbers_that_are_none_are_left_out():
    times = np.repeat(np.arange(0.0, 3.0, 0.02), 2)
    wrong = Batch(times, {"v": np.where(np.arange(len(times)) == 40, np.nan, np.sin(times))})
    (result,), segmenter = segments([wrong, commanded(np.arange(0.0, 3.0, 0.1))])
    assert segmenter.excluded.counts[Cause.NOT_FINITE] == 1
    assert segmenter.excluded.counts[Cause.DOUBLED] == len(times) // 2 - 1
    assert np.isfinite(result.channels["v"]).all()


def test_a_sensor_that_repeats_itself_is_not_interpolated():
    times = np.arange(0.0, 5.0, 0.05) + np.random.default_rng(2).uniform(0, 1e-3, 100)
    kept = np.floor(times / 0.25) + 1.0
    (result,), _ = segments([Batch(times, {"v": kept}), commanded(times)])
    assert set(result.channels["v"]) <= set(kept)


def test_standstill_is_cut_out_with_a_margin():
    times = np.arange(0.0, 20.0, 0.02)
    moving = (times < 4.0) | (times > 14.0)
    batches = [Batch(times, {"v": 1.0 * moving}), commanded(times, 1.0 * moving)]
    result, segmenter = segments(batches, still={"v": 0.01, "command_v": 0.01}, rest=1.0)
    assert [s.duration for s in result] == pytest.approx([4.5, 6.5], abs=0.06)
    assert segmenter.excluded.seconds[Cause.STANDSTILL] == pytest.approx(9.0, abs=0.1)


def test_a_channel_that_never_came_is_named():
    with pytest.raises(RecordingError, match="no sample of command_v"):
        segments([measured(np.arange(0.0, 5.0, 0.02))])


@given(st.lists(st.lists(st.floats(0, 10), min_size=2, max_size=6, unique=True), max_size=3))
def test_common_intervals_are_those_that_all_hold(edges):
    runs = [
        list(zip(e[::2], e[1::2], strict=True))
        for e in (sorted(one)[: len(one) // 2 * 2] for one in edges)
    ]
    intervals = common(runs)
    for instant in np.linspace(0.0, 10.0, 41):
        inside = [any(a < instant < b for a, b in one) for one in runs]
        if runs and not any(instant in pair for one in runs for pair in one):
            assert any(a < instant < b for a, b in intervals) == all(inside)


def batches_of(seconds):
    """100 Hz, in blocks of 20 s."""
    for begin in range(0, seconds, 20):
        times = begin + np.arange(0.0, 20.0, 0.01)
        yield measured(times)
        yield commanded(times[::5])


def test_memory_is_that_of_the_columns_and_of_what_is_kept():
    """5 columns of an hour at 100 Hz need at most 100 bytes per sample, with their segments."""
    seconds = 3600
    tracemalloc.start()
    try:
        result = list(Segmenter().segments(batches_of(seconds), CHANNELS))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100.0 * 100.0 * seconds
    assert sum(segment.duration for segment in result) == pytest.approx(seconds, rel=0.01)


def test_what_is_chosen_of_many_segments_is_spread_over_all_of_them():
    result = list(Segmenter().segments(batches_of(3600), CHANNELS))
    chosen = evenly_chosen(result, 300.0)
    assert 150.0 < sum(segment.duration for segment in chosen) <= 300.0
    assert np.ptp([segment.times.mean() for segment in chosen]) > 1800.0
    assert evenly_chosen(result[:1], 1.0) == result[:1]


def stamps(seed, *parts, jitter=0.2, lost=0.02):
    """Stamps of parts (seconds, period), with jitter and lost samples."""
    random = np.random.default_rng(seed)
    steps = np.concatenate([np.full(round(length / period), period) for length, period in parts])
    times = np.cumsum(steps * random.uniform(1.0 - jitter, 1.0 + jitter, len(steps)))
    return times[random.random(len(times)) > lost]


def as_recorded(batches):
    return list(Segmenter(SegmentSettings(uniform=False)).segments(batches, ("v",)))


@pytest.mark.parametrize("gap", [0.0, 5.0])
def test_samples_that_stay_as_recorded_must_keep_their_rate(gap):
    times = stamps(1, (10.0, 0.02), (10.0, 0.01))
    times[times > 10.0] += gap
    with pytest.raises(RecordingError, match=r"every 20 ms until about 1\d.* and every 10"):
        as_recorded([measured(times)])
    # Resampled ones may change it.
    assert segments([measured(times), commanded(np.arange(0.0, 26.0, 0.1))])[0]


def test_jitter_lost_samples_and_a_disturbance_are_no_other_rate():
    for seed in range(5):
        times = stamps(seed, (10.0, 0.01), (2.0, 0.015), (10.0, 0.01), jitter=0.5, lost=0.1)
        assert as_recorded([measured(times)])
    # Each recording has its own.
    parts = [stamps(7, (10.0, 0.02)), stamps(8, (10.0, 0.01))]
    runs = [Batch(times, {"v": times}, str(run)) for run, times in enumerate(parts)]
    assert len(as_recorded(runs)) == 2
