# SPDX-License-Identifier: Apache-2.0
"""Results of a study: figures of each cell of its grid, its tolerance, and a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.estimate import NAMES
from diffbot_report.chart import FOUR, Chart, Curve
from diffbot_study.parquet_store import Row
from diffbot_study.study_plan import IDENTIFICATION, RESULTS, Study

# Fraction of a cell's runs that must be within a tolerance.
LEAST_FRACTION = 0.95
# Ratio of the largest to the least value of an axis from which on it is logarithmic.
WIDE = 10.0
Cell = dict[str, Any]


@dataclass(frozen=True)
class Label:
    """Label of a cell's figure: name, displayed unit (empty for fractions), factor to it."""

    name: str
    unit: str = ""
    factor: float = 1.0

    @property
    def text(self) -> str:
        return f"{self.name}, {self.unit}" if self.unit else self.name


_NAMES = {
    **{f"error_{name}": Label(f"error of {name.upper()}", "%") for name in NAMES},
    "settling_time": Label("settling time", "s"),
    "rms_position": Label("rms of position", "mm", 1e3),
    "rms_heading": Label("rms of heading", "°", 180.0 / math.pi),
    "rms_torque": Label("rms of torque", "N m"),
    "torque_share": Label("peak torque, share of the traction limit"),
}
LABELS: dict[str, Label] = {
    **{f"{name}_median": replace(label, name=f"{label.name}, median")
       for name, label in _NAMES.items()},
    **{f"{name}_95": replace(label, name=f"{label.name}, 95th percentile")
       for name, label in _NAMES.items()},
    **{f"coverage_{name}": Label(f"coverage of {name.upper()}", "%", 100.0)
       for name in NAMES},
    "failed_share": Label("runs without a result", "%", 100.0),
    "unsettled": Label("runs that never settle", "%", 100.0),
    "within_tolerance": Label("runs within the tolerance", "%", 100.0),
}  # fmt: skip
"""Labels of a cell's figures, by their names."""


def cells(study: Study, rows: Sequence[Row]) -> list[Cell]:
    """Return the figures of each cell: runs, failures, medians and 95th percentiles, coverage."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[axis] for axis in study.axes), []).append(row)
    results = []
    for values, members in groups.items():
        cell: Cell = dict(zip(study.axes, values, strict=True))
        good = [row for row in members if not row["failed"]]
        failed = len(members) - len(good)
        cell |= {"runs": len(members), "failed": failed, "failed_share": failed / len(members)}
        for name in RESULTS[study.kind]:
            sizes = np.abs(_column(good, name))
            cell[f"{name}_median"] = _quantile(sizes, 0.5)
            cell[f"{name}_95"] = _quantile(sizes, LEAST_FRACTION)
        if study.kind == IDENTIFICATION:
            for name in NAMES:
                covered = [row[f"covered_{name}"] for row in good]
                cell[f"coverage_{name}"] = float(np.mean(covered)) if covered else math.nan
        else:
            settled = [bool(row["settled"]) for row in good]
            cell["unsettled"] = 1.0 - float(np.mean(settled)) if settled else math.nan
        cell["within_tolerance"] = _within(members, study.tolerance)
        results.append(cell)
    return sorted(results, key=lambda cell: _place(study, cell))


def _place(study: Study, cell: Cell) -> tuple[int, ...]:
    axes = {"robot": study.robots, **study.grid}
    return tuple(axes[axis].index(cell[axis]) for axis in study.axes)


def _column(rows: Sequence[Row], name: str) -> NDArray[np.float64]:
    return np.array([math.nan if row[name] is None else row[name] for row in rows], dtype=float)


def _quantile(sizes: NDArray[np.float64], fraction: float) -> float:
    """Return the smallest value that this fraction does not exceed; NaN counts as infinite."""
    if not len(sizes):
        return math.nan
    ordered = np.sort(np.where(np.isnan(sizes), math.inf, sizes))
    return float(ordered[min(math.ceil(fraction * len(ordered)), len(ordered)) - 1])


def _within(rows: Sequence[Row], tolerance: Mapping[str, float]) -> float:
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


def answer(study: Study, cells: Sequence[Cell]) -> str:
    """Return a sentence on which cells are within the tolerance; empty without a tolerance."""
    if not study.tolerance:
        return ""
    asked = ", ".join(f"{name} <= {most:g}" for name, most in study.tolerance.items())
    good = [cell for cell in cells if cell["within_tolerance"] >= LEAST_FRACTION]
    if not good:
        return f"no cell meets {asked} in at least {100.0 * LEAST_FRACTION:g} % of its runs"
    names = ["; ".join(f"{axis} {cell[axis]}" for axis in study.axes) or "all" for cell in good]
    return f"{asked} in {100.0 * LEAST_FRACTION:g} % of the runs: " + " | ".join(names)


def shown(study: Study) -> list[str]:
    """Return the names of the figures that pictures and pages show."""
    names = [f"{name}_95" for name in RESULTS[study.kind]]
    if study.kind == IDENTIFICATION:
        return [*names, *(f"coverage_{name}" for name in NAMES), "failed_share"]
    return [*names, "unsettled"]


def study_charts(summary: Mapping[str, Any]) -> list[Chart]:
    """Return a chart of each shown figure over the first axis, a line per value of the others.

    A missing point means that more than 5 % of the runs have no value, or never settle.
    """
    axis = (*summary["axes"], "")[0]
    places = list(dict.fromkeys(cell.get(axis, "") for cell in summary["cells"]))
    numbers = all(isinstance(place, int | float) for place in places)
    x_of = {place: float(place) if numbers else float(i) for i, place in enumerate(places)}
    wide = numbers and min(x_of.values()) > 0.0 and max(x_of.values()) >= WIDE * min(x_of.values())
    x_unit = axis.replace("_", " ")
    if axis and not numbers:
        x_unit += f" ({', '.join(f'{i}: {place}' for i, place in enumerate(places))})"
    charts = []
    for name, label in summary["shown"].items():
        lines: dict[str, list[tuple[float, float]]] = {}
        for cell in summary["cells"]:
            others = (f"{o.replace('_', ' ')} {_text(cell[o])}" for o in summary["axes"][1:])
            value = math.nan if cell.get(name) is None else label["factor"] * cell[name]
            point = x_of[cell.get(axis, "")], value
            lines.setdefault(", ".join(others) or label["name"], []).append(point)
        curves = []
        for i, (line, points) in enumerate(lines.items()):
            x, y = map(list, zip(*sorted(points), strict=True))
            role, dashed = FOUR[i % len(FOUR)], i >= len(FOUR)
            curves.append(Curve(line, x, y, role, dashed=dashed, marks=True))
        chart = Chart(
            f"curve_{name}", label["name"], label["unit"], curves, x_unit, None, logarithmic_x=wide
        )
        if name.startswith("coverage_"):
            known = [y for points in lines.values() for _, y in points if math.isfinite(y)]
            chart = replace(chart, limits=(95.0,), y_range=(min([80.0, *known]) - 1.0, 101.0))
        charts.append(chart)
    return charts


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def draw_study(charts: Sequence[Chart], title: str, path: Path) -> None:
    """Draw the charts of a study, with one legend, as a picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from diffbot_report import figure_style as style

    columns = (len(charts) + 2) // 3
    figure = Figure(figsize=(4.0 * columns, 9.0), layout="constrained")
    FigureCanvasAgg(figure)
    for place, chart in enumerate(charts, start=1):
        axes = figure.add_subplot(3, columns, place)
        style.quiet(axes)
        begin, end = style.span(chart)
        if chart.logarithmic_x:
            margin = (end / begin) ** 0.05
            style.draw_chart(axes, chart, begin / margin, end * margin)
            axes.set_xscale("log")
            ticks = sorted({x for curve in chart.curves for x in np.asarray(curve.x).tolist()})
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
        else:
            margin = 0.05 * (end - begin)
            style.draw_chart(axes, chart, begin - margin, end + margin)
        axes.set_xlabel(chart.x_unit)
        unit = f", {chart.unit}" if chart.unit else ""
        axes.set_title(f"{chart.title}{unit}", fontsize="medium")
    results = [axes.get_legend_handles_labels() for axes in figure.axes]
    lines = {name: line for each in results for line, name in zip(*each, strict=True)}
    if len(charts[0].curves) > 1:
        figure.legend(
            lines.values(), lines.keys(), loc="outside lower center", ncols=columns,
            fontsize="small",
        )  # fmt: skip
    figure.suptitle(title)
    figure.savefig(path, dpi=110)
