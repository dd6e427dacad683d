# SPDX-License-Identifier: Apache-2.0
"""What a study says: figures of each cell of its grid, its tolerance, and a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffbot_study.parquet_store import Row
from diffbot_study.study_plan import IDENTIFICATION, Study
from diffbot_study.study_points import K

# Of the runs of a cell, that have to keep to a tolerance.
SHARE = 0.95
Cell = dict[str, Any]

_FIGURES = {
    IDENTIFICATION: [f"error_{name}" for name in K],
    "drive": ["settling_time", "rms_position", "rms_heading", "rms_torque", "torque_share"],
}


def cells(study: Study, rows: Sequence[Row]) -> list[Cell]:
    """Figures of each cell: runs, failures, medians and 95th percentiles, coverage.

    Args:
        study: whose cells.
        rows: of its points.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[axis] for axis in study.axes), []).append(row)
    found = []
    for values, members in groups.items():
        cell: Cell = dict(zip(study.axes, values, strict=True))
        good = [row for row in members if not row["failed"]]
        cell |= {"runs": len(members), "failed": len(members) - len(good)}
        for name in _FIGURES[study.kind]:
            sizes = np.abs(_column(good, name))
            cell[f"{name}_median"] = _quantile(sizes, 0.5)
            cell[f"{name}_95"] = _quantile(sizes, SHARE)
        if study.kind == IDENTIFICATION:
            for name in K:
                covered = [row[f"covered_{name}"] for row in good]
                cell[f"coverage_{name}"] = float(np.mean(covered)) if covered else math.nan
        cell["within_tolerance"] = _within(members, study.tolerance)
        found.append(cell)
    return found


def _column(rows: Sequence[Row], name: str) -> NDArray[np.float64]:
    return np.array([math.nan if row[name] is None else row[name] for row in rows], dtype=float)


def _quantile(sizes: NDArray[np.float64], share: float) -> float:
    """The smallest size that this share of all keeps to; NaN counts as beyond all sizes."""
    if not len(sizes):
        return math.nan
    ordered = np.sort(np.where(np.isnan(sizes), math.inf, sizes))
    return float(ordered[min(math.ceil(share * len(ordered)), len(ordered)) - 1])


def _within(rows: Sequence[Row], tolerance: Mapping[str, float]) -> float:
    """Share of the runs that keep to the whole tolerance; a failed one does not."""
    if not tolerance:
        return math.nan
    kept = [
        not row["failed"]
        and all(
            row.get(name) is not None and abs(row[name]) <= most for name, most in tolerance.items()
        )
        for row in rows
    ]
    return float(np.mean(kept))


def answer(study: Study, found: Sequence[Cell]) -> str:
    """Which cells keep to the tolerance, in a sentence; empty where none was asked for."""
    if not study.tolerance:
        return ""
    asked = ", ".join(f"{name} <= {most:g}" for name, most in study.tolerance.items())
    good = [cell for cell in found if cell["within_tolerance"] >= SHARE]
    if not good:
        return f"no cell keeps to {asked} in {100.0 * SHARE:g} % of its runs"
    names = ["; ".join(f"{axis} {cell[axis]}" for axis in study.axes) or "all" for cell in good]
    return f"{asked} in {100.0 * SHARE:g} % of the runs: " + " | ".join(names)


def draw_study(study: Study, found: Sequence[Cell], path: Path) -> None:
    """A picture: 95th percentiles and failures over the first axis, a line per other value."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    names = [*(f"{name}_95" for name in _FIGURES[study.kind]), "failed"]
    figure = Figure(figsize=(4.0 * ((len(names) + 1) // 2), 6.5), layout="constrained")
    axis, *others = study.axes or ("robot",)
    for place, name in enumerate(names, start=1):
        plot = figure.add_subplot(2, (len(names) + 1) // 2, place)
        lines: dict[str, list[tuple[Any, float]]] = {}
        for cell in found:
            label = ", ".join(f"{other} {cell[other]}" for other in others)
            value = cell[name] / cell["runs"] if name == "failed" else cell[name]
            lines.setdefault(label, []).append((cell.get(axis, ""), value))
        for label, values in lines.items():
            places = [str(x) for x, _ in values]
            plot.plot(places, [y for _, y in values], "o-", label=label or None)
        plot.set_xlabel(axis)
        plot.set_title("share of failures" if name == "failed" else name.replace("_95", ", 95 %"))
        plot.set_ylim(bottom=0.0)
        if place == 1 and others:
            plot.legend(fontsize="small")
    figure.suptitle(study.name)
    figure.savefig(path, dpi=110)
