# SPDX-License-Identifier: Apache-2.0
"""What a report makes of runs of which something did not come: each kind of loss."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from ident_example import make_estimate, stamp_of
from rich.console import Console

from diffbot_report.controller_topics import CONTROLLERS, TRUTH
from diffbot_report.drawing import Drawing
from diffbot_report.drive_recording import DriveRecording
from diffbot_report.drive_results import adaptation_keys, controller_keys, drive_keys, drive_results
from diffbot_report.ident_recording import IdentRecording
from diffbot_report.run_end import ControllerState, Ending, IdentState, Outcome, RunPhase
from diffbot_report.sample_buffer import Arrivals
from diffbot_report.summary import ReportWriter, RunDescription, RunFindings

PERIOD = 10_000_000  # ns
SAMPLES = 400
EVERYTHING = range(SAMPLES)
TAIL, BEGINNING, MIDDLE = range(350, SAMPLES), range(50), range(150, 160)
ALL = {"true", "odometry", "drift", "window", "peak_torque", "peak_speed"}


def without(lost):
    return [k for k in EVERYTHING if k not in lost]


def recording_of(lost=(), lost_truth=(), samples=SAMPLES):
    """A goal 1 m ahead, settled from 1.5 s on; these statuses and true poses did not come."""
    recording = DriveRecording(CONTROLLERS["backstep_controller"], truth_due=True)
    time = 0.01 * np.arange(samples)
    x = 0.5 * (time < 1.5)
    zero = np.zeros(samples)
    pose = np.column_stack([x, zero, zero])
    rows = np.hstack([np.zeros((samples, 3)), pose, np.zeros((samples, 4))])
    rows = np.hstack([rows, np.column_stack([1.0 + time, zero])])
    truth = np.column_stack([x, zero, zero, zero + 1.0, zero + 0.3, zero])
    assert truth.shape[1] == len(TRUTH)
    stamps = PERIOD * (1 + np.arange(samples))
    kept, seen = without(lost), without(lost_truth)
    recording.add_truth(stamps[seen], truth[seen])
    recording.add_status(stamps[kept], rows[kept], [k + 1 for k in kept])
    end = 0.01 * samples
    recording.add_state(
        ControllerState(stamp_of(end), RunPhase.DONE, elapsed=end - 0.01, statuses=samples)
    )
    return recording


def figures_of(recording):
    results = drive_results(recording)
    keys = drive_keys(results, controller_keys("n", results, {}))
    tracking = keys["tracking"]
    figures = {**tracking, "drift": keys["odometry_drift"]}
    figures |= {name: keys[name] for name in ("peak_torque", "peak_speed")}
    return figures


def known(figures):
    return {name for name, value in figures.items() if value is not None}


def test_a_run_of_which_all_has_come():
    recording = recording_of()
    figures = figures_of(recording)
    assert recording.missing() == [] and known(figures) == ALL
    assert figures["true"]["settling_time"] == figures["odometry"]["settling_time"] == 1.5
    assert figures["peak_torque"] == pytest.approx(4.99)


@pytest.mark.parametrize(
    ("lost", "left", "settles"),
    [
        # What comes before the last second and before the robot settled changes neither.
        (BEGINNING, {"true", "odometry", "drift", "window"}, 1.5),
        (range(100, 110), {"true", "odometry", "drift", "window"}, 1.5),
        # It may have left the goal meanwhile.
        (range(149, 152), {"true", "odometry", "drift", "window"}, None),
        (range(200), {"true", "odometry", "drift", "window"}, None),
        (range(200, 210), {"true", "odometry", "drift", "window"}, None),
        (range(350, 352), set(), None),
        (TAIL, set(), None),
        (range(SAMPLES - 1, SAMPLES), set(), None),
    ],
)
def test_lost_statuses(lost, left, settles):
    recording = recording_of(lost)
    figures = figures_of(recording)
    assert recording.missing() == [f"{len(lost)} of {SAMPLES} status messages not received"]
    assert known(figures) == left
    for kind in left & {"true", "odometry"}:
        assert figures[kind]["settling_time"] == settles
        assert figures[kind]["rms_position"] == 0.0


@pytest.mark.parametrize(
    ("lost", "left", "settles"),
    [
        (BEGINNING, ALL - {"peak_speed"}, 1.5),
        (range(200, 210), ALL - {"peak_speed"}, None),
        (TAIL, ALL - {"peak_speed", "true", "drift"}, None),
        (EVERYTHING, ALL - {"peak_speed", "true", "drift"}, None),
    ],
)
def test_lost_true_poses(lost, left, settles):
    recording = recording_of(lost_truth=lost)
    figures = figures_of(recording)
    assert recording.missing() == [
        f"{len(lost)} of {SAMPLES} true poses (ground_truth) not received"
    ]
    assert known(figures) == left
    assert figures["odometry"]["settling_time"] == 1.5
    if figures["true"]:
        assert figures["true"]["settling_time"] == settles


@pytest.mark.parametrize("first", range(0, SAMPLES, 37))
@pytest.mark.parametrize("length", [1, 60])
def test_a_figure_of_an_incomplete_run_is_that_of_the_complete_one(first, length):
    whole = figures_of(recording_of())
    lost = range(first, min(first + length, SAMPLES))
    for recording in (recording_of(lost), recording_of(lost_truth=lost), recording_of(lost, lost)):
        assert recording.missing()
        for name, value in figures_of(recording).items():
            if isinstance(value, dict):
                pairs = [(value[key], whole[name][key]) for key in value]
            else:
                pairs = [(value, whole[name])]
            assert all(mine in (None, full) for mine, full in pairs), name


def adaptation(lost, reported=5):
    recording = recording_of()
    row = np.concatenate([[1.0, 0.0], np.ones(24), [1.0, 0.0]])
    for count in range(1, 6):
        if count not in lost:
            stamp = np.array([count * 20 * PERIOD])
            recording.adaptation.add(("a", "b"), stamp, row[None], [count])
    recording.add_state(replace(recording.state, judgements=reported))
    return recording, adaptation_keys(recording.adaptation_run(), [])


def test_lost_judgements():
    recording, keys = adaptation(())
    assert recording.missing() == []
    assert (keys["judged"], keys["refused_by"], keys["state"]) == (5, {"a": 0, "b": 5}, "following")
    recording, keys = adaptation((2,))
    assert recording.missing() == ["1 of 5 judged estimates not received"]
    assert (keys["judged"], keys["refused_by"], keys["state"]) == (None, None, "following")
    recording, keys = adaptation((5,))
    assert recording.missing() == ["1 of 5 judged estimates not received"]
    assert keys["state"] is keys["in_use"] is keys["judged"] is None
    recording, keys = adaptation((1, 2, 3, 4, 5))
    assert recording.missing() == ["5 of 5 judged estimates not received"]


def test_a_writer_that_does_not_count_and_one_that_is_started_anew():
    arrivals = Arrivals()
    arrivals.add([0, 0], np.array([1, 2]))
    assert arrivals.missing(0) == 0 and len(arrivals.gaps_until(0)) == 0
    arrivals.add([1, 2, 5], 1_000_000_000 * np.array([1, 2, 3]))
    assert arrivals.missing(6) == 3
    assert arrivals.gaps_until(6).tolist() == [[2.0, 3.0], [3.0, math.inf]]
    arrivals.add([1, 2], 1_000_000_000 * np.array([7, 8]))
    assert arrivals.missing(2) == 0 and len(arrivals.gaps_until(2)) == 0


def ident(statuses=3, estimates=2, newest=5.0):
    recording = IdentRecording()
    recording.add_state(IdentState(stamp_of(5.0), RunPhase.DONE, statuses=3, estimates=2))
    recording.add_estimate(stamp_of(newest), make_estimate((0.1, -4.0, 2.5, -16.0), (1e-6,) * 4))
    recording.statuses, recording.estimates = statuses, estimates
    recording.newest = stamp_of(newest)
    return recording


def test_an_identification_needs_its_last_estimate():
    assert ident().missing() == [] and ident().has_last
    recording = ident(estimates=1)
    assert recording.missing() == ["1 of 2 estimates not received"] and recording.has_last
    recording = ident(estimates=1, newest=4.8)
    assert not recording.has_last
    assert ident(statuses=1).missing() == ["2 of 3 status messages not received"]


def test_what_is_missing_is_said_in_one_line(tmp_path):
    console = Console(width=200, record=True)
    missing = recording_of(BEGINNING, TAIL).missing()
    findings = RunFindings(4.0, lambda title: title, {}, {}, missing, None)
    writer = ReportWriter(RunDescription(), tmp_path, console, Drawing("nothing"))
    assert writer.write(findings, Ending(Outcome.COMPLETED), None, math.inf)
    text = console.export_text()
    assert "incomplete: 50 of 400 status messages not received; 50 of 350 true poses" in text
    assert json.loads((tmp_path / "summary.json").read_text())["missing"] == missing
