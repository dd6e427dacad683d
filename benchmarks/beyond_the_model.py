#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether intervals hold, or the answer is refused, on data beyond the model.

Robots of diffbot_bench.independent_plant, drawn at random (1 to 200 kg, wheels of 3 to 20 cm,
periods of 5 to 20 ms, 500 to 16384 counts), are recorded as tables and identified by `identify`, as
a user would.
For each kind of data:

K5/K6/K7/K8, friction        intervals of verified runs that hold, % of those that are given;
                             friction: viscous/Coulomb
largest                      largest error of K5..K8 in standard deviations, where verified
refused                      runs that are not verified, %
named                        runs whose warnings or reasons name the defect, %
others                       runs that name a defect which they do not have, %
width                        median width of K5..K8 over that with clean data of the same robots

    ./diffbot python benchmarks/beyond_the_model.py [--rows late lag] [--robots 60] [--seed 1]
    ./diffbot python benchmarks/beyond_the_model.py --save DIR       # keeps the tables
    ./diffbot python benchmarks/beyond_the_model.py --untuned        # not tuned with
    ./diffbot python benchmarks/beyond_the_model.py --unlisted       # without a pattern
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from diffbot_bench.defects import ALL, ROWS, UNLISTED, UNTUNED, record
from diffbot_bench.independent_plant import Array, TorqueLog
from diffbot_recordings.identify import STATUS
from diffbot_recordings.options import Options
from diffbot_recordings.recording_analysis import analyse_recording

# Words of all other defects; of delays and gaps, a wrong name does no harm.
OTHERS = tuple(
    (name, row.words)
    for name, row in ROWS.items()
    if row.words and name not in ("fractional delay", "drops")
)


@dataclass(frozen=True)
class CaseResult:
    """What `identify` says of one recording.

    Attributes:
        status: Exit status.
        errors: Errors of K5..K8 in standard deviations; NaN where not identifiable, shape (4,).
        widths: Half widths of the intervals over the values, shape (4,).
        friction: Errors of [viscous left, right, Coulomb left, right] in deviations, shape (4,).
        text: Warnings, reasons and notes.
    """

    status: int
    errors: Array
    widths: Array
    friction: Array
    text: str


def write_table(path: Path, recording: TorqueLog) -> None:
    """Write a recording as `identify` reads it."""
    columns = np.column_stack((recording.stamps, recording.angles, recording.efforts))
    header = "time,left_position,right_position,left_effort,right_effort"
    np.savetxt(path, columns, fmt="%.9g", delimiter=",", header=header, comments="")


def identified(
    path: Path, radius: float, track: float, truth: Array, friction: Array
) -> CaseResult:
    """Return what `identify` says of a table, beside the truth."""
    nothing = np.full(4, math.nan)
    try:
        findings = analyse_recording(
            Options([path], wheel_radius=radius, track=track, pictures=False, page=False)
        )
    except ValueError as error:
        return CaseResult(2, nothing, nothing, nothing, str(error))
    values = {value.name: value for verdict in findings.verdicts for value in verdict.values}

    def errors(names: Sequence[str], true: Array) -> tuple[Array, Array]:
        error, width = nothing.copy(), nothing.copy()
        for i, name in enumerate(names):
            value = values.get(name)
            if value is None or not (math.isfinite(value.std) and value.std > 0.0):
                continue
            error[i] = (value.value - true[i]) / value.std
            width[i] = 1.96 * value.std / abs(true[i])
        return error, width

    k, widths = errors(("K5", "K6", "K7", "K8"), truth)
    rub, _ = errors(
        [f"{kind} friction, {side} wheel" for kind in ("viscous", "Coulomb")
         for side in ("left", "right")],
        friction,
    )  # fmt: skip
    reported = [
        *(note for note in findings.notes if note.startswith("warning")),
        *(verdict.summary() for verdict in findings.verdicts),
    ]
    return CaseResult(STATUS[findings.usable.value], k, widths, rub, "\n".join(reported))


@dataclass(frozen=True)
class Case:
    """One recording and its truth."""

    row: str
    path: Path
    radius: float
    track: float
    truth: Array
    friction: Array

    def reported(self) -> CaseResult:
        """Return what `identify` says."""
        return identified(self.path, self.radius, self.track, self.truth, self.friction)


def make_cases(rows: Sequence[str], n: int, seed: int, folder: Path) -> list[Case]:
    """Record n robots for each row, as tables in the folder."""
    cases = []
    for run in record(rows, n, seed):
        path = folder / f"{run.row.replace(' ', '_').replace(',', '')}_{run.index}.csv"
        write_table(path, run.recording)
        cases.append(Case(run.row, path, run.radius, run.track, run.truth, run.friction))
    return cases


def _kept(errors: Array) -> str:
    """Return the share of given intervals that hold, %."""
    given = errors[np.isfinite(errors)]
    return f"{100.0 * np.mean(np.abs(given) <= 1.96):4.0f}" if given.size else "   –"


def line(row: str, tolds: Sequence[CaseResult], clean: Sequence[CaseResult]) -> str:
    """Return the line of a row."""
    verified = [reported for reported in tolds if reported.status == 0]
    errors = np.array([reported.errors for reported in verified]).reshape(-1, 4)
    errors = np.where(ALL[row].holds, errors, math.nan)
    friction = np.array([reported.friction for reported in verified]).reshape(-1, 4)
    words = ALL[row].words
    named = (
        np.mean([any(word in reported.text for word in words) for reported in tolds])
        if words
        else 0.0
    )
    wrong = [
        any(any(word in reported.text for word in others) for name, others in OTHERS
            if not set(words) & set(others))
        for reported in tolds
    ]  # fmt: skip
    ratio = math.nan
    if clean:
        widths = [a.widths / b.widths for a, b in zip(tolds, clean, strict=True)]
        ratio = float(np.nanmedian(np.array(widths)))
    largest = np.nanmax(np.abs(errors)) if np.isfinite(errors).any() else math.nan
    k = "/".join(_kept(errors[:, i]).strip() for i in range(4))
    rub = f"{_kept(friction[:, :2]).strip()}/{_kept(friction[:, 2:]).strip()}"
    return (
        f"{row:20s} {k:>16s} {rub:>9s} {largest:7.1f} "
        f"{100.0 * (1.0 - len(verified) / len(tolds)):7.0f} {100.0 * named:6.0f} "
        f"{100.0 * np.mean(wrong):6.0f} {ratio:6.2f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", nargs="+", choices=ALL)
    parser.add_argument("--untuned", action="store_true", help="defects nothing was tuned with")
    parser.add_argument("--unlisted", action="store_true", help="defects without a pattern")
    parser.add_argument("--robots", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="folder to keep the tables in")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="print each run that is wrong")
    options = parser.parse_args()
    chosen = UNTUNED if options.untuned else UNLISTED if options.unlisted else ROWS
    rows = list(dict.fromkeys(("clean", *(options.rows or chosen))))
    with TemporaryDirectory() as temporary:
        folder = options.save or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        cases = make_cases(rows, options.robots, options.seed, folder)
        with ProcessPoolExecutor(options.workers) as pool:
            reported = list(pool.map(Case.reported, cases, chunksize=4))
    by_row = {
        row: [t for c, t in zip(cases, reported, strict=True) if c.row == row] for row in rows
    }
    print(
        f"{'data':20s} {'K5/K6/K7/K8':>16s} {'friction':>9s} {'largest':>7s} {'refused':>7s} "
        f"{'named':>6s} {'others':>6s} {'width':>6s}"
    )
    for row in rows:
        print(line(row, by_row[row], by_row["clean"]), flush=True)
    if options.verbose:
        for case, each in zip(cases, reported, strict=True):
            if each.status or np.nanmax(np.abs(each.errors), initial=0.0) > 2.5:
                print(
                    f"{case.path.name}: status {each.status}, errors "
                    f"{np.round(each.errors, 1).tolist()}, friction "
                    f"{np.round(each.friction, 1).tolist()}\n    "
                    + each.text.replace("\n", "\n    ")
                    + f"\n    --wheel-radius {case.radius:.9g} --track {case.track:.9g}"
                )


if __name__ == "__main__":
    main()
