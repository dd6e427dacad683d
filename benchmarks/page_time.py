# SPDX-License-Identifier: Apache-2.0
"""Time to write a report page, and its size, for runs of a minute and of an hour.

    ./diffbot python benchmarks/page_time.py

The runs are synthetic data at 100 Hz, so that only the page is timed: an identification, and a
drive whose peaks must appear in a page of any length. Prints the best wall time of three.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from benchmark_tables import options

from diffbot_description import load_robot
from diffbot_report.controller_topics import CONTROLLERS
from diffbot_report.drive_page import drive_page
from diffbot_report.drive_recording import STATUS_ENDS, DriveRecording
from diffbot_report.drive_results import drive_results
from diffbot_report.page import read_data, unpacked, write_page
from diffbot_report.run_end import ControllerState, RunPhase
from diffbot_report.sample_buffer import NANOSECONDS
from diffbot_report.summary import RunDescription

RATE, LIMIT = 100.0, 1.0
PEAK = 0.987  # N m, torque peak in one sample of the left wheel


def drive(seconds: float) -> DriveRecording:
    """Return a recording of a figure-8 with errors of some mm and one torque peak."""
    recording = DriveRecording(CONTROLLERS["backstep_controller"])
    count = round(seconds * RATE)
    t = np.arange(count) / RATE
    stamps = np.round(t * NANOSECONDS).astype(np.int64)
    rng = np.random.default_rng(1)
    phase = 2.0 * np.pi * t / 20.0
    reference = np.column_stack([2.0 * np.sin(phase), np.sin(2.0 * phase), phase])
    rows = np.zeros((count, int(STATUS_ENDS[-1]) + sum(recording.fields.extra.values())))
    rows[:, :3] = reference
    rows[:, 3:6] = reference + 0.002 * rng.standard_normal((count, 3))
    rows[:, 6:10] = rng.standard_normal((count, 4))
    rows[:, 10:12] = 0.3 * np.sin(5.0 * phase)[:, None] + 0.02 * rng.standard_normal((count, 2))
    rows[count // 3, 10] = PEAK
    half = 0.5 * reference[:, 2]
    truth = np.column_stack([reference[:, :2], np.sin(half), np.cos(half), rows[:, 6:8]])
    recording.add_truth(stamps, truth)
    recording.add_status(stamps, rows)
    recording.add_state(
        ControllerState(int(stamps[-1]), RunPhase.DONE, elapsed=float(t[-1]), torque_limit=LIMIT)
    )
    return recording


def measure(seconds: float, folder: Path) -> str:
    """Return a line: time, size, kept samples, and whether the page contains the peak."""
    recording, robot = drive(seconds), load_robot("twil")
    about = RunDescription("backstepping", "twil", "ideal", 1)
    summary = {"outcome": "completed", "reason": "", "missing": []}
    best, path = float("inf"), folder / "report.html"
    for _ in range(3):
        begun = time.monotonic()
        results = drive_results(recording)
        write_page(drive_page(results, robot, about, folder, summary), path)
        best = min(best, time.monotonic() - begun)
    charts = {chart["key"]: chart for chart in read_data(path)["charts"]}
    torque = unpacked(charts["command_0"]["curves"][0]["y"])
    kept = "kept" if abs(torque.max() - PEAK) < 1e-6 else "LOST"
    size = path.stat().st_size / 1e6
    return f"{seconds:8.0f} {len(results.run):9d} {best:8.2f} {size:8.2f} {len(torque):8d}   {kept}"


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, nargs="+", default=[60.0, 3600.0])
    given = parser.parse_args()
    print(f"{'run, s':>8} {'samples':>9} {'page, s':>8} {'size, MB':>8} {'points':>8}   peak")
    with tempfile.TemporaryDirectory() as folder:
        for seconds in given.seconds:
            print(measure(seconds, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
