# SPDX-License-Identifier: Apache-2.0
"""`diffbot study NAME|FILE.yaml`: run the missing points of a study, and report the results.

Exit status: 0 all points are done; 3 some tasks failed (worker killed, time limit): run it again to
retry them; 2 wrong usage; 130 after Ctrl-C, with finished work kept.
"""

from __future__ import annotations

import argparse
import math
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from diffbot_description.command_parser import CommandParser
from diffbot_description.files import SUMMARY, strict, write_json
from diffbot_description.run_folder import output_folder
from diffbot_description.terminal_text import complain, printable
from diffbot_study.parquet_store import ParquetStore, Row
from diffbot_study.study_plan import READY_MADE, Point, Study, load_study, study_file
from diffbot_study.study_points import COLUMNS, chunks, run_chunk
from diffbot_study.study_summary import LABELS, Cell, answer, cells, draw_study, shown, study_charts
from diffbot_study.task_cluster import Cluster, ClusterLostError

USAGE, SOME_FAILED, INTERRUPTED = 2, 3, 128 + signal.SIGINT
# Matches a number on its own, but not the digit of K5.
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d.]*(?:e[-+]?\d+)?")
CELLS = 4
# Maximum number of rows waiting to be written, and their maximum waiting time, s; kill -9 loses
# them.
WAITING, PATIENCE = 500, 5.0
NEEDS = (
    "Dask distributed and pyarrow: ./diffbot study gets them; else pip install distributed pyarrow"
)


def main(argv: Sequence[str] | None = None, program: str = "diffbot study") -> int:
    """Run a study; return the exit status."""
    words = sys.argv[1:] if argv is None else argv
    options = _parser(program).parse_args(words)

    def work() -> int:
        options.file = study_file(options.file)
        study = load_study(options.file)
        output = options.output or Path("results") / f"study-{study.name}"
        console = Console(highlight=False, markup=False)
        with output_folder(output, f"study {study.name}", adds=True) as folder:
            return _run(study, folder, options, console, words)

    return status_of(work, program)


def status_of(work: Callable[[], int], program: str) -> int:
    """Return the exit status of a command that runs on Dask; errors are printed as a sentence."""
    try:
        return work()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("distributed", "dask", "pyarrow"):
            raise
        print(f"{program}: {error.name} is not installed; it needs {NEEDS}", file=sys.stderr)
        return USAGE
    except (ValueError, OSError) as error:
        complain(program, error)
        return USAGE


def announce_page(write: Callable[[], Path], console: Console) -> None:
    """Write a page and print its path, or which package is missing."""
    try:
        console.print(f"page: {printable(write())}", soft_wrap=True)
    except ModuleNotFoundError as error:
        console.print(f"no page: {error}; install {error.name}", soft_wrap=True)


def _parser(program: str) -> argparse.ArgumentParser:
    parser = CommandParser(
        program, description="Run a study: many robots, settings and seeds; see docs/studies.md."
    )
    parser.add_argument(
        "file", metavar="NAME|FILE.yaml", help=f"a file, or one of {', '.join(READY_MADE)}"
    )
    add_cluster_options(parser)
    parser.add_argument(
        "--output", metavar="DIR", type=Path,
        help="folder of the results; existing ones are continued (default: results/study-NAME)",
    )  # fmt: skip
    return parser


def add_cluster_options(parser: argparse.ArgumentParser, limit: float | None = 900.0) -> None:
    """Add the options of commands that run on a cluster; `limit` None: no option for task time."""
    parser.add_argument(
        "--scheduler", metavar="tcp://HOST:PORT", help="scheduler of a Dask cluster"
    )
    parser.add_argument(
        "--workers", metavar="N", type=_count, help="number of processes on this machine"
    )
    if limit is None:
        return
    parser.add_argument(
        "--task-time", metavar="S", type=_seconds, default=limit,
        help="time limit of a task, s; longer ones fail (default: %(default)g)",
    )  # fmt: skip


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: must be a whole number >= 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number > 0")
    return value


def _run(
    study: Study,
    output: Path,
    options: argparse.Namespace,
    console: Console,
    words: Sequence[str],
) -> int:
    store = ParquetStore(output / "rows", COLUMNS[study.kind])
    store.compact()
    points = {point.key: point for point in study.points()}
    done = store.keys() & points.keys()
    missing = [point for key, point in points.items() if key not in done]
    console.print(
        f"{printable(study.name)}: {len(points)} runs, {len(done)} of them are already done"
    )
    status = store_results(
        run_chunk, chunks(missing), store, options, console, name="runs", complaint=_complaint
    )
    rows = [row for row in store.rows() if row["key"] in points]
    if rows:
        _report_results(study, rows, output, options, console, words)
    return status


def _complaint(points: Sequence[Point], failure: str) -> str:
    first, last = points[0], points[-1]
    return (
        f"{len(points)} runs failed ({failure}), of seeds {first.seed} to {last.seed}; run the "
        "same command again to repeat them"
    )


def store_results(
    function: Callable[[Any], list[Row]],
    tasks: Sequence[Sequence[Any]],
    store: ParquetStore,
    options: argparse.Namespace,
    console: Console,
    *,
    name: str,
    complaint: Callable[[Sequence[Any], str], str],
) -> int:
    """Run tasks of some items on a cluster and store their rows; return the exit status.

    `function`, importable by the workers, returns the rows of a task; `name`: what items are
    called; `complaint` words a task's failure, and why; `options`: of add_cluster_options.
    """
    if not tasks:
        return 0
    lost, interrupted = 0, False
    waiting: list[Row] = []
    written = time.monotonic()
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    try:
        with (
            Cluster(options.scheduler, options.workers, console.print) as cluster,
            Progress(*columns, console=console) as progress,
        ):
            console.print(f"dashboard: {cluster.dashboard}")
            bar = progress.add_task(name, total=sum(map(len, tasks)))
            try:
                for end in cluster.run(function, tasks, options.task_time):
                    task = tasks[end.task]
                    if end.failure is None:
                        waiting += end.result
                    else:
                        lost += len(task)
                        console.print(printable(complaint(task, end.failure)), soft_wrap=True)
                    if len(waiting) >= WAITING or time.monotonic() - written > PATIENCE:
                        store.append(waiting)
                        waiting, written = [], time.monotonic()
                    progress.advance(bar, len(task))
            finally:
                store.append(waiting)
    except KeyboardInterrupt:
        interrupted = True
        console.print(
            f"interrupted: finished {name} are kept; run the same command again to continue"
        )
    except ClusterLostError as error:
        lost += 1
        console.print(printable(error), soft_wrap=True)
    return INTERRUPTED if interrupted else SOME_FAILED if lost else 0


def _report_results(
    study: Study,
    rows: Sequence[Row],
    output: Path,
    options: argparse.Namespace,
    console: Console,
    words: Sequence[str],
) -> None:
    result = cells(study, rows)
    _print(study, result, console)
    said = answer(study, result)
    if said:
        console.print(printable(said), soft_wrap=True)
    reasons = _reasons(rows)
    for reason, count in reasons.items():
        console.print(f"{count} runs without a result: {printable(reason)}", soft_wrap=True)
    summary = {
        "name": study.name,
        "file": str(options.file),
        "kind": study.kind,
        "description": study.description,
        "runs": len(rows),
        "axes": list(study.axes),
        "cells": strict(result),
        "answer": said,
        "reasons": reasons,
        "tolerance": dict(study.tolerance),
        "shown": {
            name: asdict(LABELS[name])
            for name in (*shown(study), *(["within_tolerance"] if study.tolerance else []))
        },
    }
    write_json(output / SUMMARY, summary)
    charts = study_charts(summary)
    draw_study(charts, study.description or study.name, output / "study.png")
    rows_folder = printable(output / "rows")
    console.print(f"table: {rows_folder}; summary.json and study.png beside it", soft_wrap=True)
    from diffbot_study.study_page import write_study_page  # slow to import

    announce_page(lambda: write_study_page(summary, charts, output, words), console)


def _reasons(rows: Sequence[Row]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        if row["failed"]:
            reason = _NUMBER.sub("…", (row["reason"] or "").partition(":")[0])
            counts[reason] = counts.get(reason, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _print(study: Study, results: Sequence[Cell], console: Console) -> None:
    names = [name for name in results[0] if not name.endswith(("_median", "_share"))]
    names += [name for name in results[0] if name == "torque_share_95"]
    if not study.tolerance:
        names.remove("within_tolerance")
    names = [name for name in names if name not in study.axes]
    rest = list(results)
    while rest:
        cells = CELLS
        while cells > 1 and _width(_table(study, rest[:cells], names), console) > console.width:
            cells -= 1
        console.print(_table(study, rest[:cells], names))
        rest = rest[cells:]


def _table(study: Study, cells: Sequence[Cell], names: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("")
    for cell in cells:
        heading = "\n".join(f"{axis} {_short(cell[axis])}" for axis in study.axes)
        table.add_column(heading or study.name, justify="right")
    for name in names:
        table.add_row(*_figure(name, cells))
    return table


def _width(table: Table, console: Console) -> int:
    return console.measure(table, options=console.options.update(width=10_000)).maximum


def _figure(name: str, cells: Sequence[Cell]) -> list[str]:
    label = LABELS.get(name)
    if label is None:
        return [name.replace("_", " "), *(_short(cell[name]) for cell in cells)]
    return [label.text, *(_short(label.factor * cell[name]) for cell in cells)]


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
