# SPDX-License-Identifier: Apache-2.0
"""Velocities computed from coarse encoders bias no time constant, and are not taken for slow ones.

The motion is simulated exactly in small steps, independently of the fits: wheels' ways are rounded
to counts, and their differences divided by the period.
"""

import math

import numpy as np
import pytest
from scipy.signal import lfilter

from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.dead_time import fit_dead_time
from diffbot_recordings.samples import Batch
from diffbot_recordings.segments import Segmenter, SegmentSettings, new_readings
from diffbot_recordings.velocity_analysis import prepared

T, FINE = 0.04, 20
TAU, GAIN, DEAD = 0.1, 0.9, 0.05
COUNT = 0.0012  # m of way


def driven(rng, seconds, tau, hold=0.06):
    """Way and velocity every T / FINE of commands that change at any time, and the commands."""
    step = T / FINE
    sent = np.cumsum(rng.uniform(hold, 20.0 * hold, int(seconds / hold / 5.0)))
    sent = np.concatenate(([0.0], sent[sent < seconds]))
    sizes = rng.uniform(-0.5, 0.5, len(sent))
    times = step * np.arange(int(seconds / step))
    aim = np.where(times > DEAD, sizes[np.searchsorted(sent, times - DEAD + 1e-9) - 1], 0.0)
    a = math.exp(-step / tau)
    v = lfilter((0.0, 1.0 - a), (1.0, -a), GAIN * aim)
    # The exact integral: GAIN int aim - tau v.
    path = np.concatenate(([0.0], np.cumsum(GAIN * aim * step)[:-1])) - tau * v
    return times, path, v, sent, sizes


def recorded(rng, every=1, low_pass=0.0, seconds=60.0, count=COUNT, tau=TAU):
    """Segments of a recording whose velocity is a mean over so many periods, and then filtered."""
    times, path, _, sent, sizes = driven(rng, seconds, tau)
    angles = count * np.floor(path[::FINE] / count + rng.uniform())
    before = np.concatenate((np.full(every, angles[0]), angles[:-every]))
    v = (angles - before) / (every * T)
    if low_pass:
        a = math.exp(-T / low_pass)
        v = lfilter((1.0 - a,), (1.0, -a), v)
    batches = [Batch(times[::FINE], {"v": v}), Batch(sent, {"command_v": sizes})]
    # A command holds until the next one, 1.2 s later at most.
    result = Segmenter(SegmentSettings(hold=2.0)).segments(batches, ("command_v", "v"))
    return [
        AxisSegment(s.period, s.channels["command_v"], s.channels["v"], None, s.sent["command_v"])
        for s in result
    ]


def deviations(rng, tau, every=1, low_pass=0.0):
    """Errors of time constant, gain and dead time over their standard deviations, and the fit."""
    segments, _ = prepared(recorded(rng, every, low_pass, tau=tau), 0.0)
    result = fit_dead_time(segments, 0.6)
    kept = math.exp(-T / low_pass) if low_pass else 0.0
    late = DEAD + 0.5 * every * T + T * kept / (1.0 - kept)
    fit = result.fit
    errors = fit.model.time_constant - tau, fit.model.gain - GAIN, result.dead_time - late
    return np.array(errors) / (fit.time_constant_std, fit.gain_std, result.dead_time_std), fit


@pytest.mark.parametrize(
    ("every", "low_pass", "tau"), [(1, 0.0, TAU), (3, 0.0, TAU), (1, 0.04, 0.4)]
)
def test_smoothing_by_the_driver_does_not_bias_the_time_constant(every, low_pass, tau):
    """Read as velocities of the instant, all are too large, by several deviations."""
    sigmas = []
    for seed in range(8):
        off, fit = deviations(np.random.default_rng((seed, every)), tau, every, low_pass)
        sigmas.append(off[0])
        assert fit.time_constant_std < 0.1 * tau
    assert abs(np.mean(sigmas)) < 1.0 and np.max(np.abs(sigmas)) < 4.0, sigmas


@pytest.mark.parametrize("low_pass", [0.04, 0.15])
def test_intervals_allow_for_a_filter_that_is_as_slow_as_the_axis(low_pass):
    """Which of two such lags is the axis's the motion hardly tells.

    With the longer one taken for the axis's, and a continuous filter, gains and dead times were
    more than 4 deviations off.
    """
    sigmas = []
    for seed in range(6):
        sigmas.append(deviations(np.random.default_rng((seed, 1)), TAU, 1, low_pass)[0])
    assert np.max(np.abs(sigmas)) < 4.0, sigmas
    assert np.mean(np.abs(sigmas) < 2.5) >= 0.85, sigmas


def test_readings_of_a_slow_sensor_that_repeat_a_value_are_readings():
    """They were dropped: noise chose the readings, and gains were 3 deviations off."""
    rng = np.random.default_rng(3)
    values = np.round(20.0 * np.sin(0.05 * np.arange(200)) + rng.normal(0.0, 0.3, 200))
    assert np.any(np.diff(values) == 0.0)
    (mask,), hold = new_readings([np.repeat(values, 3)])
    known = np.flatnonzero(mask)
    assert hold == 3.0
    assert known.tolist() == list(range(known[0], known[-1] + 1, 3)) and len(known) > 190


def test_velocities_of_few_counts_that_repeat_are_no_slow_sensor():
    """Their repeated values were taken for stale readings, which chose samples by their noise."""
    for seed in range(6):
        pieces = recorded(np.random.default_rng((seed, 2)), 2, count=0.008)
        masks, hold = new_readings([piece.velocity for piece in pieces])
        assert hold == 0.0 and all(mask.all() for mask in masks)


def test_instants_of_a_regular_sensor_are_its_stamps():
    times = 0.3 + T * np.arange(400)
    v = np.sin(times)
    batches = [
        Batch(times, {"v": v}),
        Batch(0.317 + 0.1 * np.arange(150), {"command_v": np.cos(np.arange(150.0))}),
    ]
    (segment,) = Segmenter(SegmentSettings()).segments(batches, ("command_v", "v"))
    assert segment.channels["v"] == pytest.approx(np.sin(segment.times), abs=1e-9)
    # The commands as sent have the means, and begin between two samples.
    sent, means = segment.sent["command_v"], segment.channels["command_v"]
    assert sent.means(T, len(means) - 1) == pytest.approx(means[:-1], abs=1e-9)
    assert sent.changes_between(T, 0.1)
