# SPDX-License-Identifier: Apache-2.0
"""study.html: results of a study, as maps over its grid, curves and a table of its cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from diffbot_description.spoken_commands import spoken
from diffbot_report.chart import Chart
from diffbot_report.page import Matrix, Page, Part, Section, Table, Tone, write_page
from diffbot_report.quantity import MISSING, significant

STUDY = "study.html"
# Fraction of a cell's runs that must be within the tolerance.
KEPT = 0.95


def write_study_page(
    summary: Mapping[str, Any], charts: Sequence[Chart], folder: Path, words: Sequence[str]
) -> Path:
    """Write study.html into a folder; return its path. Arguments: see `study_page`."""
    page = study_page(summary, charts, Path(summary["file"]), words)
    return write_page(page, folder / STUDY)


def study_page(
    summary: Mapping[str, Any], charts: Sequence[Chart], file: Path, words: Sequence[str]
) -> Page:
    """Return the page of a study: charts that study.png shows too, its file, and the command.

    `summary`: content of summary.json; `words`: command-line arguments.
    """
    cells, tolerance = summary["cells"], summary["tolerance"]
    good = [cell for cell in cells if tolerance and (cell["within_tolerance"] or 0.0) >= KEPT]
    asked = ", ".join(f"{name} <= {most:g}" for name, most in tolerance.items())
    if not tolerance:
        tone, verdict = Tone.GOOD, f"{summary['runs']} runs in {len(cells)} cells."
    else:
        tone = Tone.GOOD if good else Tone.CAUTION
        verdict = f"{len(good)} of {len(cells)} cells meet {asked} in at least 95 % of their runs."
    return Page(
        title=f"study {summary['name']}: {summary['runs']} runs",
        tone=tone,
        verdict=verdict,
        advice=summary["description"],
        answer=_cells(summary),
        notes=[
            f"{count} runs without a result: {why}" for why, count in summary["reasons"].items()
        ],
        sections=list(_sections(summary, charts)),
        summary=summary,
        texts={
            "Repeat this": spoken("study", *words),
            file.name: file.read_text(encoding="utf-8"),
        },
    )


def _title(label: Mapping[str, Any]) -> str:
    return f"{label['name']}, {label['unit']}" if label["unit"] else str(label["name"])


def _value(cell: Mapping[str, Any], name: str, label: Mapping[str, Any]) -> float:
    value = cell.get(name)
    return math.nan if value is None else float(label["factor"] * value)


def _cells(summary: Mapping[str, Any]) -> Table:
    axes, shown = summary["axes"], summary["shown"]
    rows, marks = [], []
    for cell in summary["cells"]:
        values = [_value(cell, name, label) for name, label in shown.items()]
        texts = [significant(v) if math.isfinite(v) else MISSING for v in values]
        place = [_text(cell[axis]) for axis in axes] or [summary["name"]]
        rows.append([*place, str(cell["runs"]), *texts])
        kept = cell["within_tolerance"]
        marks.append(Tone.GOOD if kept is not None and kept >= KEPT else None)
    head = [*(axis.replace("_", " ") for axis in axes or ["study"]), "runs"]
    head += [_title(label) for label in shown.values()]
    note = "–: more than 5 % of the runs have no value, or never settle."
    return Table(head, rows, marks=marks, note=note)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sections(summary: Mapping[str, Any], charts: Sequence[Chart]) -> Iterator[Section]:
    axes = summary["axes"]
    if len(axes) > 1:
        text = f"{_plain(axes[0])} to the right, {_plain(axes[1])} downwards."
        if len(axes) > 2:
            text += f" One map for each {', '.join(map(_plain, axes[2:]))}."
        yield Section("Maps", text, list(_maps(summary)))
    if axes:
        text = f"Over {_plain(axes[0])}, a line for each other value of the grid."
        yield Section("Curves", text, charts)


def _plain(axis: str) -> str:
    return axis.replace("_", " ")


def _maps(summary: Mapping[str, Any]) -> Iterator[Part]:
    first, second, *others = summary["axes"]
    cells = summary["cells"]
    columns, rows = (list(dict.fromkeys(cell[axis] for cell in cells)) for axis in (first, second))
    slices = list(dict.fromkeys(tuple(cell[axis] for axis in others) for cell in cells))
    for name, label in summary["shown"].items():
        known = [v for c in cells if math.isfinite(v := _value(c, name, label))]
        for number, rest in enumerate(slices):
            values = [[math.nan] * len(columns) for _ in rows]
            for cell in cells:
                if tuple(cell[axis] for axis in others) == rest:
                    at = rows.index(cell[second]), columns.index(cell[first])
                    values[at[0]][at[1]] = _value(cell, name, label)
            note = ", ".join(f"{_plain(a)} {_text(v)}" for a, v in zip(others, rest, strict=True))
            yield Matrix(
                f"map_{name}_{number}", _title(label),
                [_text(value) for value in columns],
                [_text(value) for value in rows],
                values, (0.0, max(known, default=1.0) or 1.0), note,
            )  # fmt: skip
