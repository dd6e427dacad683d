# SPDX-License-Identifier: Apache-2.0
"""Buffers and recordings: bounded, evenly thinned, and relative to the start of the excitation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ident_example import (
    PAYLOAD,
    START,
    TRUE,
    VERIFICATION,
    example_recording,
    make_estimate,
    stamp_of,
)

from diffbot_description import load_robot
from diffbot_report.ident_recording import IdentRecording
from diffbot_report.ident_results import description_notes
from diffbot_report.run_end import IdentState, RunPhase
from diffbot_report.sample_buffer import RunClock, SampleBuffer


def from_the_epoch():
    clock = RunClock()
    clock.add(0, 0.0)
    return clock


@given(st.integers(4, 60), st.integers(0, 3000), st.floats(0.001, 1.0))
def test_buffer_of_single_rows_is_bounded_and_even(capacity, count, period):
    buffer = SampleBuffer(1, capacity)
    for k in range(count):
        stamp = stamp_of(k * period)
        if buffer.wants(stamp):
            buffer.take(stamp, (float(k),))
    times, rows = buffer.since(from_the_epoch())
    assert len(times) <= capacity
    assert len(times) >= min(count, capacity // 2 - 1)
    # Each row still belongs to its time.
    assert np.allclose(rows[:, 0] * period, times)
    if len(times) > 2:
        steps = np.diff(times)[:-1] / period
        # A power of two of the period, the same everywhere.
        assert np.allclose(steps, steps[0])
        assert math.log2(round(steps[0])).is_integer()
        assert times[0] == 0.0


def test_run_of_an_hour_stays_small_and_keeps_its_ends():
    recording = example_recording(duration=3600.0, rate=5)
    times, values, variances = recording.parameters()
    assert 1000 < len(times) <= 4096
    assert values.shape == variances.shape == (len(times), 4)
    assert times[0] == pytest.approx(0.0, abs=1e-9)
    assert times[-1] == pytest.approx(3600.0)
    assert len(recording.motion()[0]) <= 4096


def test_run_without_known_end_is_thinned():
    recording = IdentRecording(capacity=64)
    for k in range(4_000):
        time = 0.05 * k
        stamp = stamp_of(time)
        if recording.wants_state(stamp):
            recording.add_state(IdentState(stamp, RunPhase.EXCITING, elapsed=time, duration=0.0))
        if recording.wants_estimate(stamp):
            recording.add_estimate(stamp, make_estimate())
    assert 16 <= len(recording.parameters()[0]) <= 64
    assert 16 <= len(recording.motion()[0]) <= 64
    assert recording.motion()[0][-1] > 150.0


def test_most_messages_of_a_long_run_need_not_be_unpacked():
    recording = example_recording(duration=10.0)
    wanted = 0
    for k in range(1, 6001):
        wanted += recording.wants_estimate(stamp_of(START + 10.0 + 1e-3 * k))
    # Nothing was added, so all but those within the interval after the last one are wanted; the
    # interval of a 10 s run is 10 s / 1500, less than the period of 10 ms.
    assert wanted >= 5990
    recording = example_recording(duration=600.0, rate=20.0)
    assert len(recording.parameters()[0]) == pytest.approx(1500, rel=0.02)


def test_opening_keeps_each_status_of_the_first_ten_seconds():
    times, rows = example_recording(duration=40.0, rate=50).beginning()
    assert len(times) == 501
    assert times[-1] == pytest.approx(10.0)
    assert set(np.unique(rows[:, 2:])) == {-0.3, 0.3}


def test_estimates_from_before_the_excitation_are_left_out():
    recording = IdentRecording()
    recording.add_estimate(stamp_of(1.0), make_estimate())
    assert len(recording.parameters()[0]) == 0
    recording.add_state(IdentState(stamp_of(5.0), RunPhase.EXCITING, elapsed=0.0, duration=10.0))
    recording.add_estimate(stamp_of(5.5), make_estimate())
    assert recording.parameters()[0].tolist() == [0.5]


def test_payload_is_a_step_of_the_truth():
    recording = example_recording(duration=20.0, payload_at=12.0)
    times, values = recording.truth()
    assert times[1] == pytest.approx(12.0)
    assert values.tolist() == [list(TRUE), list(PAYLOAD)]
    assert recording.true_parameters.last == PAYLOAD


def test_path_of_excitation_and_verification_apart():
    recording = example_recording(duration=20.0, verification=VERIFICATION)
    exciting, verifying = recording.path()
    assert exciting[0].tolist() == [0.0, 0.0]
    assert np.abs(exciting).max(axis=0) == pytest.approx([1.2, 0.8], abs=0.01)
    times, rows = recording.information()
    assert len(times) == len(exciting) and rows[0].tolist() == pytest.approx([12.0, 13.0])
    assert recording.motion()[0][-1] == pytest.approx(20.0)  # The excitation alone.
    assert recording.parameters()[0][-1] == pytest.approx(20.0)
    assert recording.elapsed == pytest.approx(30.0)
    assert len(verifying) > 300
    assert recording.verification is VERIFICATION


def test_empty_recording():
    recording = IdentRecording()
    recording.finish()
    assert recording.true_parameters.last is None
    assert recording.elapsed == 0.0
    for arrays in (recording.parameters(), recording.motion(), recording.truth()):
        assert all(len(array) == 0 for array in arrays)


def test_reset_of_robot_time_starts_a_buffer_anew():
    buffer = SampleBuffer(1)
    for time in (5.0, 6.0, 0.5):
        assert buffer.wants(stamp_of(time))
        buffer.take(stamp_of(time), (time,))
    assert buffer.since(from_the_epoch())[0].tolist() == [0.5]


def test_the_last_row_is_kept_and_takes_the_place_of_one_with_its_stamp():
    buffer = SampleBuffer(1, capacity=4, interval=10.0)
    for stamp, last in ((stamp_of(1.0), 1), (stamp_of(1.0), 1), (stamp_of(2.0), 2)):
        buffer.finish(stamp, (stamp,))
        assert (len(buffer), buffer.last) == (last, stamp)
    for second in range(3, 9):
        buffer.finish(stamp_of(second), (second,))
        assert len(buffer) <= 4 and buffer.last == stamp_of(second)


def test_a_pause_takes_no_time_of_the_curves():
    """Stopped for 4.79 s after 2 s, as by ~/enable: what came before stays in the curves."""
    recording = IdentRecording()
    for k in range(40):
        stamp = stamp_of(0.1 * k + 4.79 * (k > 20))
        recording.add_state(
            IdentState(stamp, RunPhase.EXCITING, elapsed=0.1 * (k - (k > 20)), duration=0.0)
        )
    times, _ = recording.motion()
    assert times == pytest.approx([0.1 * (k - (k > 20)) for k in range(40)], abs=1e-6)


def test_a_real_robot_is_compared_with_its_description():
    """A simulated one, whose true parameters are published, is not."""
    real, simulated = IdentRecording(), example_recording()
    real.estimate = make_estimate(TRUE, (1e-9,) * 4)
    (line,) = description_notes(real, load_robot("twil"))
    assert line.startswith("compared with the robot's description: equivalent mass +0.0 %")
    assert description_notes(simulated, load_robot("twil")) == []
