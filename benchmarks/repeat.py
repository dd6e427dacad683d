#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Repeatability: equal runs of each launch file, with and without other load, give equal figures.

Every summary and parameter file is compared completely, except for the keys of wall time in
launch_runs.WALL_CLOCK. Prints, for each launch, how many runs differ from the most common outcome
and where, and the time of the runs. Exit status: 0 all are equal and successful; 1 a run differs or
failed.

    ./diffbot python benchmarks/repeat.py [--runs 20] [--only TEXT] [--busy no|yes|both]
        [--keep DIR]

`--busy yes` keeps as many processes busy as there are processors. `--keep` keeps the results and
the output of every run that differs.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmark_tables import options
from launch_runs import RUNS, LaunchRun, execute
from marked_runs import differences

MOST_SHOWN = 6  # largest number of differing figures shown per run


@contextmanager
def busy_processors(number: int) -> Iterator[None]:
    """Run `number` processes that compute continuously."""
    processes = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def repeat(run: LaunchRun, runs: int, folder: Path, keep: Path | None) -> int:
    """Repeat a run, print differences; return the number of runs that differ or failed."""
    outcomes = [execute(run, folder / str(number)) for number in range(runs)]
    texts = [json.dumps(outcome.values, sort_keys=True) for outcome in outcomes]
    most = Counter(texts).most_common(1)[0][0]
    usual = outcomes[texts.index(most)]
    wrong = 0
    for number, (outcome, text) in enumerate(zip(outcomes, texts, strict=True)):
        failed = outcome.values["exit status"] != 0
        if text == most and not failed:
            continue
        wrong += 1
        lines = differences(outcome.values, usual.values) or [
            f"exit status {outcome.values['exit status']}"
        ]
        more = [f"and {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else []
        print(*(f"    run {number}: {line}" for line in [*lines[:MOST_SHOWN], *more]), sep="\n")
        if keep is not None:
            where = keep / folder.name / str(number)
            if (folder / str(number)).exists():
                shutil.copytree(folder / str(number), where, dirs_exist_ok=True)
            where.mkdir(parents=True, exist_ok=True)
            (where / "output.txt").write_text(outcome.output, encoding="utf-8")
    seconds = sorted(outcome.seconds for outcome in outcomes)
    print(
        f"{run.name:28} {wrong:3} of {runs} differ or failed; "
        f"{len(usual.values)} figures; {seconds[0]:.1f} to {seconds[-1]:.1f} s, "
        f"median {statistics.median(seconds):.1f} s",
        flush=True,
    )
    return wrong


def main() -> int:
    """Repeat the chosen launches; return the exit status."""
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=20, help="runs of each launch, at least 2")
    parser.add_argument("--only", default="", metavar="TEXT", help="runs with TEXT in their name")
    parser.add_argument("--busy", choices=("no", "yes", "both"), default="both")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder for the runs that differ")
    given = parser.parse_args()
    chosen = [run for run in RUNS if run.repeated and given.only in run.name]
    if given.runs < 2 or not chosen:
        parser.error("--runs must be at least 2, and --only has to be in a name of launch_runs.py")
    loads = {"no": (0,), "yes": (os.cpu_count() or 1,), "both": (0, os.cpu_count() or 1)}
    wrong = 0
    for load in loads[given.busy]:
        print(f"beside {load} busy processes:" if load else "alone:", flush=True)
        with busy_processors(load), tempfile.TemporaryDirectory() as folder:
            for run in chosen:
                place = Path(folder) / f"{run.name.replace(' ', '_')}-{load}"
                wrong += repeat(run, given.runs, place, given.keep)
    print(f"{wrong} runs differ or failed")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
