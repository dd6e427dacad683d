# SPDX-License-Identifier: Apache-2.0
"""report.html of a fault table: promises kept by kind of fault and by node, and each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from diffbot_report.chart import Chart, Curve, Role
from diffbot_report.page import Page, Section, Table, Tone
from diffbot_report.quantity import MISSING

ANY_NODE = "all nodes"
Entry = Mapping[str, Any]


def faults_page(summary: Mapping[str, Any], command: str) -> Page:
    """Return the page of `diffbot faults`.

    Args:
        summary: Content of summary.json: `rows`, and `outcome` with `planned` if not all rows were
            run.
        command: Command that repeats it.
    """
    rows: Sequence[Entry] = summary["rows"]
    kept = sum(entry["passed"] for entry in rows)
    tone, advice = Tone.GOOD, "Each row below has its time to zero and its largest torque."
    if kept < len(rows):
        tone = Tone.BAD
        advice = "Failed rows state the reason; repeat one with --row TEXT."
    verdict = f"{kept} of {len(rows)} rows keep their promise{_slowest(rows)}."
    if summary.get("outcome") != "completed":
        tone = Tone.BAD if tone is Tone.BAD else Tone.CAUTION
        verdict = f"Interrupted after {len(rows)} of {summary.get('planned')} rows: {verdict}"
        advice = "Run it again to its end: the other rows were not tested."
    return Page(
        title="Fault table",
        tone=tone,
        verdict=verdict,
        advice=advice,
        answer=_grouped("kind of fault", rows, lambda entry: entry["group"]),
        sections=[
            Section("By node", "", [_grouped("node", rows, node_of)], wide=True),
            Section("Times to zero", "Rows that promise zero torque, slowest first.",
                    _times(rows), wide=True),
            Section("Rows", "Type words in the field to show only rows with all of them: a node, "
                    "a fault, an engine.", [_rows(rows)], wide=True),
        ],
        summary=summary,
        texts={"Repeat this": command},
    )  # fmt: skip


def node_of(entry: Entry) -> str:
    """Return the node that is exposed to a fault: the end of the row's name."""
    _, colon, node = entry["row"].rpartition(": ")
    return node if colon else ANY_NODE


def _fraction(entry: Entry) -> float | None:
    """Return time to zero over the promised time; None if none is promised, or zero never came."""
    time, longest = entry.get("time_to_zero"), entry.get("longest")
    return time / longest if time is not None and longest else None


def _slowest(rows: Sequence[Entry]) -> str:
    timed = [(fraction, entry) for entry in rows if (fraction := _fraction(entry)) is not None]
    if not timed:
        return ""
    entry = max(timed, key=lambda pair: pair[0])[1]
    return (
        f"; longest time to zero {1e3 * entry['time_to_zero']:.1f} ms of "
        f"{1e3 * entry['longest']:g} ms: {entry['row']} ({entry['engine']})"
    )


def _grouped(name: str, rows: Sequence[Entry], key: Callable[[Entry], str]) -> Table:
    """Return the rows, promises kept, the longest time and the largest torque of each group."""
    groups: dict[str, list[Entry]] = {}
    for entry in rows:
        groups.setdefault(key(entry), []).append(entry)
    cells, marks = [], []
    for group, entries in groups.items():
        kept = sum(entry["passed"] for entry in entries)
        shares = [fraction for entry in entries if (fraction := _fraction(entry)) is not None]
        times = [e["time_to_zero"] for e in entries if e.get("time_to_zero") is not None]
        torques = [
            entry["worst_torque"] / entry["limit"]
            for entry in entries
            if entry.get("worst_torque") is not None and entry.get("limit")
        ]
        cells.append([
            group, str(len(entries)),
            f"{1e3 * max(times):.1f}" if times else MISSING,
            f"{100 * max(shares):.0f} %" if shares else MISSING,
            f"{100 * max(torques):.0f} %" if torques else MISSING,
            "all kept" if kept == len(entries) else f"{len(entries) - kept} FAIL",
        ])  # fmt: skip
        marks.append(Tone.GOOD if kept == len(entries) else Tone.BAD)
    head = [name, "rows", "longest to zero, ms", "of promised", "largest torque, of limit",
            "promises"]  # fmt: skip
    return Table(head, cells, marks=marks)


def _times(rows: Sequence[Entry]) -> list[Chart]:
    timed = [entry for entry in rows if _fraction(entry) is not None]
    if not timed:
        return []
    timed.sort(key=lambda entry: _fraction(entry) or 0.0, reverse=True)
    rank = np.arange(1, len(timed) + 1)
    curves = [
        Curve("time to zero", rank, [1e3 * entry["time_to_zero"] for entry in timed], dots=True),
        Curve("promised", rank, [1e3 * entry["longest"] for entry in timed], Role.SECOND,
              steps=True),
    ]  # fmt: skip
    return [Chart("times", "Time to zero", "ms", curves, "row, the slowest first", None)]


def _rows(rows: Sequence[Entry]) -> Table:
    cells, marks = [], []
    for entry in rows:
        time, longest = entry.get("time_to_zero"), entry.get("longest")
        worst, limit = entry.get("worst_torque"), entry.get("limit")
        unit = str(entry.get("unit", "")).removeprefix("of ")
        said = "; ".join(entry.get("problems", [])) or str(entry.get("detail", ""))
        node = node_of(entry)
        cells.append([
            entry["row"].removesuffix(f": {node}"), node, entry["group"], entry["engine"],
            entry["promise"],
            MISSING if time is None or not longest else f"{1e3 * time:.1f} of {1e3 * longest:g}",
            MISSING if worst is None or limit is None else f"{worst:.3g} of {limit:.3g} {unit}",
            said, "kept" if entry["passed"] else "FAILS",
        ])  # fmt: skip
        marks.append(None if entry["passed"] else Tone.BAD)
    head = ["fault", "node", "kind", "engine", "promise", "zero, ms", "largest torque", "measured",
            "verdict"]  # fmt: skip
    return Table(head, cells, filtered=True, marks=marks)
