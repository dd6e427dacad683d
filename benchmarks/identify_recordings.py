# SPDX-License-Identifier: Apache-2.0
"""Identification from long recordings: time and memory, and agreement with the on-line result.

    ./diffbot python benchmarks/identify_recordings.py [--minutes 10 120] [--storage mcap sqlite3]

Writes a recording of a simulated torque robot (100 Hz joint states, ideal engine, encoders of 4096
counts, 1 % torque noise, friction) of each duration to a temporary folder: runs of 70 s with
different seeds and continuous time. Then runs `identify` in a separate process and prints its wall
time, CPU time, peak resident memory, and the errors of K5 to K8 against the true values and against
the on-line estimator on the first 70 s, in standard deviations.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmark_tables import Table, options
from made_recordings.excited_runs import RecordedRun, RunSetting, record
from made_recordings.recorded_bag import STORAGES, write_run

from diffbot_ident.estimators import make_estimator

RUN, SEED = 70.0, 3
NAMES = ("K5", "K6", "K7", "K8")
IDENTIFY = "import sys; from diffbot_recordings.identify import main; sys.exit(main())"


def write_recording(folder: Path, minutes: float, storage: str) -> int:
    """Write run after run up to the duration of the recording; return the message count."""
    runs = max(1, round(60.0 * minutes / RUN))
    # A pause of 1 s between two runs, in which the robot is carried back to the start.
    samples = (
        replace(sample, stamp=sample.stamp + number * (RUN + 1.0))
        for number in range(runs)
        for sample in record(RunSetting(), SEED + number, RUN).samples
    )
    return write_run(folder, samples, storage)


def on_line(run: RecordedRun) -> tuple[np.ndarray, np.ndarray]:
    """Return values and standard deviations of the on-line estimator, shape (4,) each."""
    estimator = make_estimator("integral", run.geometry, run.scale)
    for sample in run.samples:
        estimator.update(sample)
    result = estimator.estimate()
    return np.array(result.values), np.sqrt(result.variances)


def main() -> None:
    """Print a row for each recording."""
    parser = options(__doc__)
    parser.add_argument("--minutes", type=float, nargs="+", default=[10.0, 120.0])
    parser.add_argument("--storage", nargs="+", choices=STORAGES, default=["mcap"])
    arguments = parser.parse_args()
    run = record(RunSetting(), SEED, RUN)
    values, deviations = on_line(run)
    costs = ("messages", "size MB", "wall s", "CPU s", "peak MB")
    table = Table("storage, minutes", *costs, "sigma from truth", "from on-line")
    with tempfile.TemporaryDirectory() as scratch:
        for storage in arguments.storage:
            for minutes in arguments.minutes:
                folder = Path(scratch) / f"{storage}_{minutes:g}"
                count = write_recording(folder, minutes, storage)
                size = 1e-6 * sum(file.stat().st_size for file in folder.iterdir())
                cost, values_of = identify(folder, folder.with_name(f"{folder.name}_out"))
                result, stds = ([values_of[k][each] for k in NAMES] for each in ("value", "std"))
                table.row(
                    f"{storage} {minutes:g}", count, size, *cost,
                    (result - run.truth) / stds, (result - values) / deviations,
                )  # fmt: skip


def identify(folder: Path, output: Path) -> tuple[tuple[float, float, float], dict]:
    """Run the command; return its wall and CPU time, s, and memory, MB, and its parameters."""
    arguments = [str(folder), "--robot", "twil", "--output", str(output)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    # The peak of all children is that of the largest: recordings are processed by increasing size.
    done = subprocess.run(
        [sys.executable, "-c", IDENTIFY, *arguments], capture_output=True, text=True, check=False
    )
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    summary = json.loads((output / "summary.json").read_text())
    return (wall, cpu, after.ru_maxrss / 1024.0), summary["parameters"]


if __name__ == "__main__":
    main()
