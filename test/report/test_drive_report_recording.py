# SPDX-License-Identifier: Apache-2.0
"""Every sample is kept, and status and truth meet by stamp."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_report.controller_topics import CONTROLLERS, TRUTH
from diffbot_report.drive_recording import DriveRecording
from diffbot_report.run_end import ControllerState, RunPhase
from diffbot_report.sample_buffer import SampleBuffer

PERIOD = 10_000_000  # ns
FIRST = 1_700_000_000_000_000_000  # as on a real robot, ns


def stamps_of(count, first=0):
    return FIRST + PERIOD * np.arange(first, first + count)


def status_rows(count):
    rows = np.zeros((count, 12))
    rows[:, 3] = np.arange(count)  # x by odometry
    return rows


def truth_rows(count, first=0):
    rows = np.zeros((count, len(TRUTH)))
    rows[:, 0] = np.arange(first, first + count)
    rows[:, 3] = 1.0
    return rows


def driving(elapsed, stamp):
    return ControllerState(stamp, RunPhase.DRIVING, elapsed=elapsed)


@given(st.lists(st.integers(0, 700), max_size=12))
def test_buffer_keeps_every_row(batches):
    buffer = SampleBuffer(1)
    first = 0
    for count in batches:
        buffer.add(stamps_of(count, first), np.arange(first, first + count, dtype=float)[:, None])
        first += count
    assert np.array_equal(buffer.stamps, stamps_of(first))
    assert np.array_equal(buffer.rows[:, 0], np.arange(first))
    assert (buffer.taken, buffer.every) == (first, 1)


@given(st.integers(1, 3000), st.integers(4, 60), st.integers(1, 97))
def test_full_buffers_keep_the_same_stamps(count, capacity, lead):
    """One topic is ahead of the other by some messages, and comes in other batches."""
    ahead, behind = SampleBuffer(1, capacity), SampleBuffer(1, capacity)
    for buffer, size in ((ahead, 50), (behind, 7)):
        for first in range(0, count, size):
            part = stamps_of(min(size, count - first), first)
            buffer.add(part, np.zeros((len(part), 1)))
    assert len(ahead) <= capacity and len(behind) <= capacity
    assert ahead.taken == behind.taken == count
    assert np.array_equal(ahead.stamps, behind.stamps)
    if len(ahead) > 1:
        assert set(np.diff(ahead.stamps)) == {PERIOD * ahead.every}
    assert len(ahead) * ahead.every > count - 2 * ahead.every


def test_repeated_stamps_and_reset_of_time():
    buffer = SampleBuffer(1)
    buffer.add(np.array([5, 5, 6]), np.array([[1.0], [2.0], [3.0]]))
    buffer.add(np.array([6, 7]), np.array([[4.0], [5.0]]))
    assert buffer.rows[:, 0].tolist() == [1.0, 3.0, 5.0]
    buffer.add(np.array([8, 1, 2]), np.array([[6.0], [7.0], [8.0]]))
    assert (buffer.stamps.tolist(), buffer.taken) == ([1, 2], 2)


@given(st.sets(st.integers(0, 99)))
def test_truth_is_joined_by_equal_stamp(lost):
    recording = DriveRecording(CONTROLLERS["backstep_controller"])
    kept = np.array([k not in lost for k in range(100)])
    recording.add_status(stamps_of(100), status_rows(100))
    recording.add_truth(stamps_of(100)[kept], truth_rows(100)[kept])
    run = recording.run()
    assert np.array_equal(np.isfinite(run.true[:, 0]), kept)
    assert np.array_equal(run.true[kept, 0], run.odometry[kept, 0])
    assert run.has_truth == kept.any()


def test_truth_of_other_stamps_is_not_taken():
    recording = DriveRecording(CONTROLLERS["backstep_controller"])
    recording.add_status(stamps_of(10), status_rows(10))
    recording.add_truth(stamps_of(10) + 1, truth_rows(10))
    assert not recording.run().has_truth


def test_time_begins_with_driving():
    recording = DriveRecording(CONTROLLERS["backstep_controller"])
    recording.add_status(stamps_of(100), status_rows(100))
    recording.add_state(driving(0.3, FIRST + 500_000_000))
    run = recording.run()
    assert run.time[0] == pytest.approx(0.0, abs=1e-6)
    assert run.odometry[0, 0] == 20.0
    assert recording.elapsed == 0.3


def test_a_jump_of_time_is_no_time_of_the_run():
    """Stamps jump by an hour after 0.5 s, and no sample is lost by it; states come at 10 Hz."""
    recording = DriveRecording(CONTROLLERS["backstep_controller"])
    hour = 3600 * 10**9
    stamps = stamps_of(100) + hour * (np.arange(100) >= 50)
    for first in range(0, 100, 10):
        part = stamps[first : first + 10]
        recording.add_status(part, status_rows(100)[first : first + 10])
        recording.add_truth(part, truth_rows(10, first))
        # By the controller, the step over the jump takes no time.
        elapsed = 0.01 * (first + 9 - (first >= 50))
        recording.add_state(driving(elapsed, int(part[-1])))
    run = recording.run()
    expected = 0.01 * (np.arange(100) - (np.arange(100) >= 50))
    assert run.time == pytest.approx(expected, abs=1e-6)
    assert np.array_equal(run.true[:, 0], run.odometry[:, 0])
    # A reset of time forgets the jump, as it forgets the samples.
    recording.add_status(stamps_of(10), status_rows(10))
    recording.add_state(driving(0.05, int(stamps_of(10)[-1])))
    assert recording.run().time[-1] == pytest.approx(0.05, abs=1e-6)


def test_linearizing_has_no_poses():
    recording = DriveRecording(CONTROLLERS["linearizing_controller"])
    recording.add_status(stamps_of(3), np.array([[1.0, 2.0, 3.0, 4.0, 5.0, -6.0]] * 3))
    run = recording.run()
    assert not run.has_pose_reference
    for values, expected in ((run.wanted, [1, 2]), (run.velocity, [3, 4]), (run.command, [5, -6])):
        assert values[0].tolist() == expected
    assert recording.peak_command.max() == 6.0


def test_peak_torque_of_rows_that_are_thinned_out():
    recording = DriveRecording(CONTROLLERS["backstep_controller"], capacity=8)
    rows = status_rows(101)
    for k in range(101):
        rows[k, 11] = -7.0 if k == 51 else 1.0
        recording.add_status(stamps_of(1, k), rows[k : k + 1])
    assert recording.peak_command.max() == 7.0


def test_true_heading_from_the_quaternion():
    recording = DriveRecording(CONTROLLERS["backstep_controller"])
    recording.add_status(stamps_of(1), status_rows(1))
    row = [1.0, 2.0, np.sin(0.6), np.cos(0.6), 0.3, 0.4]
    recording.add_truth(stamps_of(1), np.array([row]))
    run = recording.run()
    assert run.true[0] == pytest.approx([1.0, 2.0, 1.2])
    assert run.true_velocity[0].tolist() == [0.3, 0.4]


def test_nothing_recorded():
    run = DriveRecording(CONTROLLERS["pose_controller"]).run()
    assert len(run) == 0
    assert not run.has_truth and not run.has_pose_reference
