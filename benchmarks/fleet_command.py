#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`diffbot fleet` on a synthetic fleet in files: time, memory, detected faults, and kill -9.

Three types (twil, agv, benchmarks/robots/carrier27.yaml), each with the faults of made_fleet in
some of its robots: of five robots with a fault, two are twil, two agv, one is a carrier27. One in a
hundred recordings is truncated, empty, or another file. The command runs twice: once to the end,
and once until a worker and then the command itself are killed with kill -9, followed by a restart.
Prints wall time, largest proportional memory (PSS) of command and workers together, detected and
named faults, false alarms, and whether both tables are equal.

    ./diffbot python benchmarks/fleet_command.py --fleet FOLDER [--robots 100] [--recordings 30]

The fleet is created in FOLDER/in if it does not exist; tables are written to FOLDER/through and
FOLDER/killed. `--once` skips the second run.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import psutil  # of Dask distributed
from benchmark_tables import options
from fleet import say_result, write_names
from made_recordings.made_fleet import FAULTS, make_fleet

from diffbot_study.fleet_rows import COLUMNS
from diffbot_study.parquet_store import ParquetStore

CARRIER = Path(__file__).parent / "robots" / "carrier27.yaml"
TYPES = ("twil", "agv", str(CARRIER))
WORKERS = 2
LOOK = 0.5  # s between two memory measurements
# Shares of processed recordings at which the worker, and then the command, is killed.
WORKER_KILLED, COMMAND_KILLED = 0.2, 0.5
OF_THE_RUN = "wall_time"  # column of a row that does not depend on its recording


def faults_of(place: int, robots: int, each: int) -> dict[int, str]:
    """Return the faults of a type of TYPES by robot number: `each` of every fault in total."""
    here = len(range(place, each, len(TYPES)))
    planted = dict(enumerate(FAULTS * here))
    if len(planted) >= robots:
        raise SystemExit(f"--robots {robots}: must be > {len(planted)}, the faulty ones of a type")
    return planted


def make_type(place: int, given: argparse.Namespace) -> dict[str, str]:
    """Write the recordings of a type of TYPES; return the faults by robot."""
    return make_fleet(
        given.fleet / "in", [TYPES[place]], given.robots, given.recordings,
        faults=faults_of(place, given.robots, given.each),
        seed=given.seed + place,
    )  # fmt: skip


def make(given: argparse.Namespace) -> dict[str, str]:
    """Create the fleet unless it exists; return the faults by robot."""
    said = given.fleet / "planted.json"
    if said.exists():
        return dict(json.loads(said.read_text()))
    shutil.rmtree(given.fleet / "in", ignore_errors=True)
    begun = time.monotonic()
    with ProcessPoolExecutor(WORKERS) as pool:
        made = [pool.submit(make_type, place, given) for place in range(len(TYPES))]
        planted = {name: fault for each in made for name, fault in each.result().items()}
    files = sorted((given.fleet / "in").rglob("*.csv"))
    spoil(files, given.seed)
    print(f"{len(files)} recordings made in {time.monotonic() - begun:.0f} s", flush=True)
    said.write_text(json.dumps(planted))
    return planted


def spoil(files: list[Path], seed: int) -> None:
    """Truncate, empty or replace one file in a hundred."""
    for number, path in enumerate(random.Random(seed).sample(files, len(files) // 100)):
        whole = path.read_bytes()
        path.write_bytes((whole[: len(whole) // 3], b"", b"to do: charge the robots\n")[number % 3])


class Run:
    """A monitored run of the command.

    Args:
        folder: Folder of the fleet.
        output: Name of the folder for the table.
    """

    def __init__(self, folder: Path, output: str) -> None:
        self.output = folder / output
        names = write_names(folder, TYPES)
        self.begun, self.largest, self.seconds = time.monotonic(), 0, 0.0
        self._log = (folder / f"{output}.log").open("a")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "diffbot_bringup.cli", "fleet", str(folder / "in")]
            + ["--names", str(names), "--output", str(self.output), "--workers", str(WORKERS)],
            stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def watch(self, until: float = 2.0, total: int = 1) -> int | None:
        """Wait for a share of all recordings, or the end; return the exit status, if it ended."""
        while (status := self._process.poll()) is None:
            self.largest = max(self.largest, self._memory())
            if until < 1.0 and count_rows(self.output) >= until * total:
                return None
            time.sleep(LOOK)
        self.seconds = time.monotonic() - self.begun
        self._log.close()
        return status

    def kill_worker(self) -> None:
        """Kill the child process with the most processor time."""
        busiest = max(self._children(), key=lambda child: child.cpu_times().user)
        busiest.kill()

    def kill(self) -> None:
        """Kill only the command; wait until its workers have ended, too."""
        children = self._children()
        self._process.kill()
        self._process.wait()
        _, alive = psutil.wait_procs(children, timeout=60.0)
        print(f"command killed; workers left after 60 s: {len(alive)}", flush=True)

    def _children(self) -> list[psutil.Process]:
        return psutil.Process(self._process.pid).children(recursive=True)

    def _memory(self) -> int:
        total = 0
        try:
            for process in (psutil.Process(self._process.pid), *self._children()):
                total += process.memory_full_info().pss
        except psutil.Error:  # a process has just ended
            return 0
        return total


def table_of(output: Path) -> ParquetStore:
    """Return the table that the command writes."""
    return ParquetStore(output / "recordings", COLUMNS)


def count_rows(output: Path) -> int:
    """Return the current number of rows of a table."""
    return len(table_of(output).keys())


def rows_of(output: Path) -> list[str]:
    """Return the sorted rows of a table, without columns of the run."""
    return sorted(repr({**row, OF_THE_RUN: None}) for row in table_of(output).rows())


def judge(output: Path, planted: dict[str, str]) -> None:
    """Print the fleet's results for the planted faults."""
    fleet = json.loads((output / "fleet.json").read_text())
    alarms = {robot["name"]: robot["cause"] for robot in fleet["robots"] if robot["alarm"]}
    print(f"rows: {fleet['recordings']}")
    say_result(planted, alarms, len(fleet["robots"]))


def main() -> int:
    """Print the figures."""
    parser = options(__doc__, robots=100, seed=1)
    parser.add_argument("--fleet", type=Path, required=True)
    parser.add_argument("--recordings", type=int, default=30, help="recordings of each robot")
    parser.add_argument(
        "--each", type=int, default=5, help="robots with each fault, over all types"
    )
    parser.add_argument("--once", action="store_true")
    given = parser.parse_args()
    given.fleet.mkdir(parents=True, exist_ok=True)
    planted = make(given)
    total = len(TYPES) * given.robots * given.recordings
    for output in ("through", "killed"):
        shutil.rmtree(given.fleet / output, ignore_errors=True)
    through = Run(given.fleet, "through")
    status = through.watch()
    megabytes = through.largest / 1e6
    print(f"through: exit status {status}, {through.seconds:.0f} s, {megabytes:.0f} MB", flush=True)
    judge(through.output, planted)
    if given.once:
        return 0
    first = Run(given.fleet, "killed")
    first.watch(WORKER_KILLED, total)
    first.kill_worker()
    print(f"worker killed at {count_rows(first.output)} rows", flush=True)
    first.watch(COMMAND_KILLED, total)
    first.kill()
    again = Run(given.fleet, "killed")
    print(f"given again at {count_rows(again.output)} rows: exit status {again.watch()}")
    equal = rows_of(through.output) == rows_of(again.output)
    print(f"tables of both: {'equal' if equal else 'DIFFERENT'}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
