# SPDX-License-Identifier: Apache-2.0
"""One page that compares runs of any kind: which results differ, and overlaid curves.

Values differ if |a - b| > z sqrt(s_a^2 + s_b^2), z for 5 % in all comparisons (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from diffbot_description.files import SUMMARY, parse_json, read_regular, strict
from diffbot_description.limits import JSON
from diffbot_ident.estimate import NORMAL_95
from diffbot_report.chart import FOUR, Chart, Curve, Intervals, Role
from diffbot_report.page import REPORT, Page, Part, Scene, Section, Table, Tone, read_data, unpacked
from diffbot_report.quantity import (
    MISSING,
    half_width,
    interval_of,
    quantities,
    significant,
    with_uncertainty,
)

# Quantities that have intervals.
WITH_INTERVALS = ("parameters", "friction", "physical", "calibration", "smallest_torque")
# Figures of how a run went.
FIGURES = (
    "tracking", "odometry_drift", "peak_torque", "peak_speed", "peak_yaw_rate", "samples",
    "residual_std", "torque_delay", "friction_share", "kept", "longest_time_to_zero", "duration",
)  # fmt: skip
FAMILY_ERROR = 0.05
# Asymmetry over half the width from which both ends are printed.
MAX_ASYMMETRY = 0.1
# Quantities whose intervals are cut off at 0.
NEVER_NEGATIVE = frozenset(
    ("constant", "dead", "friction", "inertia", "mass", "noise")
    + ("radius", "torque", "track", "walk")
)
# Curves that are drawn once, not per run.
SHARED = ("wanted", "truth", "quiet")


@dataclass(frozen=True)
class RunResults:
    """Results of a run.

    Attributes:
        label: Name shown to users, unique among the runs.
        summary: Content of summary.json, charts of report.html by key; empty: not readable.
        problem: What cannot be read, and why.
    """

    label: str
    path: Path
    summary: Mapping[str, Any] = field(default_factory=dict)
    charts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    problem: str | None = None


def read_run(path: Path) -> RunResults:
    """Read a run from its folder, or a file in it; `problem` reports errors."""
    folder = path if path.is_dir() else path.parent
    label = folder.resolve().name
    problems = []
    summary: Mapping[str, Any] = {}
    try:
        summary = _summary(folder / SUMMARY)
    except (OSError, ValueError) as error:
        problems.append(f"{label}: {SUMMARY} cannot be read: {_reason(error)}")
    charts: Mapping[str, Mapping[str, Any]] = {}
    try:
        charts = {str(chart["key"]): chart for chart in read_data(folder / REPORT)["charts"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        problems.append(f"{label}: no curves, as {REPORT} cannot be read: {_reason(error)}")
    return RunResults(label, folder, summary, charts, "; ".join(problems) or None)


def _summary(path: Path) -> Mapping[str, Any]:
    json = parse_json(read_regular(path, JSON))
    if not isinstance(json, dict):
        raise ValueError(f"it contains a {type(json).__name__}, not an object with keys")
    # JSON allows 1e400.
    known: Mapping[str, Any] = strict(json)
    return known


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def compare_page(runs: Sequence[RunResults], command: str) -> Page:
    """Return the page that compares runs with the first; `command` repeats it."""
    runs = _labelled(runs)
    notes = [run.problem for run in runs if run.problem]
    for run in runs:
        if run.summary.get("outcome") in ("failed", "stopped"):
            reason = run.summary.get("reason")
            ended = f"{run.label}: {run.summary['outcome']}"
            notes.append(f"{ended}: {reason}" if reason else ended)
    quantities = _Quantities(runs)
    tone, verdict = _verdict(runs, quantities)
    return Page(
        title=" against ".join(run.label for run in runs),
        tone=tone,
        verdict=verdict,
        advice=""
        if len(runs) == 1
        else "Differences are against the first run. Curves of all runs are overlaid below.",
        answer=quantities.table() if quantities.names else _runs(runs),
        notes=notes,
        sections=list(_sections(runs, quantities)),
        summary={"name": "view", "runs": {run.label: dict(run.summary) for run in runs}},
        texts={"Repeat this": command},
    )


def _labelled(runs: Sequence[RunResults]) -> list[RunResults]:
    names = [run.label for run in runs]
    if len(set(names)) < len(names):
        names = ["/".join(run.path.resolve().parts[-2:]) for run in runs]
    if len(set(names)) < len(names):
        names = [f"{name} ({i + 1})" for i, name in enumerate(names)]
    return [replace(run, label=name) for name, run in zip(names, runs, strict=True)]


def _verdict(runs: Sequence[RunResults], quantities: _Quantities) -> tuple[Tone, str]:
    if not any(run.summary for run in runs):
        return Tone.BAD, "None of these runs has readable results; see the reasons below."
    unread = [run.label for run in runs if not run.summary]
    tone = Tone.CAUTION if unread else Tone.GOOD
    missing = f" {', '.join(unread)} cannot be read." if unread else ""
    if quantities.comparisons:
        names = [name for name in quantities.names if any(quantities.differs(name))]
        if names:
            differ = "differs" if len(names) == 1 else "differ"
            return tone, f"{', '.join(names)} {differ} significantly.{missing}"
        text = f"None of {quantities.comparisons} values differs significantly."
        return tone, text + missing
    if len(runs) == 1:
        return tone, "One run: the values of its summary.json."
    return tone, f"{len(runs)} runs side by side; no value has an interval in two of them.{missing}"


def _sections(runs: Sequence[RunResults], quantities: _Quantities) -> Iterator[Section]:
    yield Section("Runs", "", [_runs(runs)] if quantities.names else [], wide=True)
    yield Section(
        "Intervals", "95 % intervals, cut off at 0 for quantities that cannot be negative; dashed: "
        "the true value, where known.", list(quantities.charts()),
    )  # fmt: skip
    yield Section("Figures", "In brackets: change from the first run.", _figures(runs),
                  wide=True)  # fmt: skip
    yield Section("Settings", "Only settings that differ.", _settings(runs), wide=True)
    yield Section("Rows", "Fault tables and papers: only rows that differ.", _row_table(runs),
                  wide=True)  # fmt: skip
    yield Section("Curves", "Measured and estimated values of all runs, overlaid.",
                  list(_overlaid(runs)))  # fmt: skip
    yield Section("Paths", "The robot of the first run, over the paths of the others.",
                  list(_paths(runs)), wide=True)  # fmt: skip


class _Estimated:
    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.value, self.truth = _number(entry.get("value")), _known(entry.get("closed_form"))
        self.half = half_width(entry) if math.isfinite(self.value) else None
        self.ends = None if self.half is None else interval_of(entry)
        unit = str(entry.get("unit", ""))
        self.unit = "" if unit == "1" else unit.replace("^2", "²")

    def deviation(self, other: _Estimated | None) -> float | None:
        """Return the difference of the other value over its standard deviation."""
        if other is None or self.half is None or other.half is None:
            return None
        std = math.hypot(self.half, other.half) / NORMAL_95
        difference = other.value - self.value
        if std == 0.0:
            return 0.0 if difference == 0.0 else math.copysign(math.inf, difference)
        return difference / std

    def reach(self, cut: bool) -> tuple[float, float]:
        """Return how far the interval extends below and above, cut off at 0 if `cut`."""
        if self.ends is None:
            return math.nan, math.nan
        low, high = self.ends
        return self.value - (max(low, 0.0) if cut else low), high - self.value

    def text(self) -> str:
        text, spread = with_uncertainty(_known(self.value), self.half)
        if self.half is None or self.ends is None:
            return text
        low, high = self.ends
        if abs(high + low - 2.0 * self.value) > MAX_ASYMMETRY * self.half:
            return f"{self.value:.3g} ({low:.2g} to {high:.2g})"
        return f"{text} ± {spread}"


class _Quantities:
    """Values with intervals of all runs, by name, and the number of comparisons with the first."""

    def __init__(self, runs: Sequence[RunResults]) -> None:
        self._runs = runs
        results = [
            {name: _Estimated(entry) for name, entry in _with_intervals(run.summary)}
            for run in runs
        ]
        self.names = list(dict.fromkeys(name for each in results for name in each))
        self._entries = {name: [each.get(name) for each in results] for name in self.names}
        self.comparisons = sum(
            other is not None for name in self.names for other in self._deviations(name)
        )
        fraction = FAMILY_ERROR / max(self.comparisons, 1)
        self.limit = NormalDist().inv_cdf(1.0 - 0.5 * fraction)

    def _deviations(self, name: str) -> list[float | None]:
        first, *others = self._entries[name]
        return [None if first is None else first.deviation(other) for other in others]

    def differs(self, name: str) -> list[bool]:
        """Whether each value after the first differs from it significantly."""
        return [z is not None and abs(z) > self.limit for z in self._deviations(name)]

    def _unit(self, name: str) -> str:
        return next((entry.unit for entry in self._entries[name] if entry is not None), "")

    def table(self) -> Table:
        rows, marks = [], []
        for name, entries in self._entries.items():
            cells = [MISSING if entry is None else entry.text() for entry in entries]
            differs = self.differs(name)
            said = [
                "" if z is None else f"{z:+.1f} σ" + (" differs" if significant else "")
                for z, significant in zip(self._deviations(name), differs, strict=True)
            ]
            rows.append([name, self._unit(name), *cells, *said])
            marks.append(Tone.CAUTION if any(differs) else None)
        labels = [run.label for run in self._runs]
        more = ["difference"] if len(labels) == 2 else [f"{label}: by" for label in labels[1:]]
        note = (
            f"σ: standard deviation of the difference. Beyond {self.limit:.2f} σ it is "
            f"significant: {100 * FAMILY_ERROR:g} % of pages with {self.comparisons} equal pairs "
            "would show one."
            if self.comparisons
            else ""
        )
        return Table(["", "unit", *labels, *more], rows, note=note, marks=marks)

    def charts(self) -> Iterator[Part]:
        for i, (name, entries) in enumerate(self._entries.items()):
            values = [math.nan if entry is None else entry.value for entry in entries]
            cut = all(not value < 0.0 for value in values) and not NEVER_NEGATIVE.isdisjoint(
                name.replace(":", " ").split()
            )
            nothing = (math.nan, math.nan)
            reach = [nothing if entry is None else entry.reach(cut) for entry in entries]
            if not any(math.isfinite(above) for _, above in reach):
                continue
            truths = {entry.truth for entry in entries if entry is not None} - {None}
            yield Intervals(
                f"interval_{i}", name, self._unit(name),
                [run.label for run in self._runs], values,
                [above for _, above in reach],
                below=[below for below, _ in reach],
                # Different robots have different true values.
                truth=truths.pop() if len(truths) == 1 else None,
                note="differs" if any(self.differs(name)) else "",
            )  # fmt: skip


def _with_intervals(summary: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key in WITH_INTERVALS:
        group = summary.get(key)
        if isinstance(group, Mapping) and "value" in group:
            yield key.replace("_", " "), group
            continue
        for name, entry in quantities(group):
            yield name if key == "parameters" else f"{key}: {name}".replace("_", " "), entry
    verdicts = summary.get("verdicts")
    if isinstance(verdicts, Mapping) and not summary.get("parameters"):
        for subject, verdict in verdicts.items():
            if isinstance(verdict, Mapping):
                for name, entry in quantities(verdict.get("parameters")):
                    yield f"{subject}: {name}", entry


def _known(value: Any) -> float | None:
    known = isinstance(value, int | float) and math.isfinite(value)
    return float(value) if known else None


def _number(value: Any) -> float:
    return math.nan if (known := _known(value)) is None else known


def _runs(runs: Sequence[RunResults]) -> Table:
    names = ("name", "robot", "sim", "seed", "started", "duration", "outcome")
    rows = [
        [run.label, *(_plain(run.summary.get(name)) for name in names)] for run in runs
    ]  # fmt: skip
    return Table(["run", *names], rows)


def _plain(value: Any) -> str:
    if value is None or value == "":
        return MISSING
    return significant(value, 4) if isinstance(value, float) else str(value)


def _flat(value: Any, prefix: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _flat(entry, f"{prefix} {name}")
    elif isinstance(value, list):
        for i, entry in enumerate(value):
            yield from _flat(entry, f"{prefix} {i + 1}")
    elif not isinstance(value, bool) and (known := _known(value)) is not None:
        yield prefix, known


def _figures(runs: Sequence[RunResults]) -> list[Part]:
    results = [
        {name: value for key in FIGURES for name, value in _flat(run.summary.get(key), key)}
        for run in runs
    ]
    names = list(dict.fromkeys(name for figures in results for name in figures))
    rows = []
    for name in names:
        first, *others = (figures.get(name) for figures in results)
        cells = [_figure(first), *(_figure(other, first) for other in others)]
        rows.append([name.replace("_", " "), *cells])
    note = "SI units: s, m, rad, N m; settling_time and others that were never reached are omitted."
    head = ["", *(run.label for run in runs)]
    return [Table(head, rows, note=note, filtered=len(rows) > len(FOUR) ** 2)] if rows else []


def _figure(value: float | None, first: float | None = None) -> str:
    if value is None:
        return MISSING
    text = significant(value, 4)
    if first is None or first == 0.0:
        return text
    return f"{text} ({100.0 * (value - first) / abs(first):+.3g} %)"


def _settings(runs: Sequence[RunResults]) -> list[Part]:
    rows = []
    for group in ("arguments", "config", "versions"):
        maps = [m if isinstance(m := run.summary.get(group), Mapping) else {} for run in runs]
        for name in dict.fromkeys(name for each in maps for name in each):
            values = [_plain(each.get(name)) for each in maps]
            if len(set(values)) > 1:
                rows.append([str(name), *values])
    return [Table(["", *(run.label for run in runs)], rows)] if rows else []


def _row_table(runs: Sequence[RunResults]) -> list[Part]:
    results = [dict(_judged(run.summary.get("rows"))) for run in runs]
    names = list(dict.fromkeys(name for rows in results for name in rows))
    rows = [
        [name, *values]
        for name in names
        if len(set(values := [rows.get(name, MISSING) for rows in results])) > 1
    ]
    return [Table(["row", *(run.label for run in runs)], rows, filtered=True)] if rows else []


def _judged(rows: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(rows, list):
        return
    for row in rows:
        if not isinstance(row, Mapping):
            continue
        parts = (row.get(key) for key in ("paper", "table", "quantity", "group", "row", "engine"))
        name = ": ".join(str(part) for part in parts if part)
        verdict = row.get("verdict", "kept" if row.get("passed") else "FAILS")
        number = _known(row.get("ours", row.get("time_to_zero")))
        yield name, str(verdict) + ("" if number is None else f", {significant(number, 4)}")


def _overlaid(runs: Sequence[RunResults]) -> Iterator[Chart]:
    """Yield the charts that at least two runs have: a curve of each run, and shared ones."""
    keys = dict.fromkeys(key for run in runs for key in run.charts)
    for key in keys:
        drawn = [(i, run, run.charts[key]) for i, run in enumerate(runs) if key in run.charts]
        drawn = [entry for entry in drawn if entry[2].get("kind") == "chart"]
        if len(drawn) < 2:
            continue
        own: list[Curve] = []
        shared: dict[str, Curve] = {}
        for i, run, chart in drawn:
            curves = chart.get("curves") or []
            first = next((c for c in curves if c["role"] not in SHARED), None)
            if first is not None:
                own.append(_curve(first, f"{run.label}: {first['name']}", FOUR[i % len(FOUR)],
                                  i >= len(FOUR)))  # fmt: skip
            for curve in curves:
                if curve["role"] in ("wanted", "truth"):
                    role = Role(curve["role"])
                    shared.setdefault(curve["name"], _curve(curve, curve["name"], role, True))
        if len(own) < 2:
            continue
        _, _, chart = drawn[0]
        yield Chart(
            f"curve_{key}", _title(key), chart.get("unit", ""), [*own, *shared.values()],
            chart.get("x_unit", ""), chart.get("group"), limits=chart.get("limits") or (),
            logarithmic=bool(chart.get("logarithmic")),
        )  # fmt: skip


def _title(key: str) -> str:
    return key.replace("_", " ")


def _curve(results: Mapping[str, Any], name: str, role: Role, dashed: bool) -> Curve:
    band = None if results.get("band") is None else unpacked(results["band"])
    return Curve(name, unpacked(results["x"]), unpacked(results["y"]), role, band,
                 bool(results.get("steps")), dashed, bool(results.get("dots")))  # fmt: skip


def _paths(runs: Sequence[RunResults]) -> Iterator[Scene]:
    """Yield a scene in which the first run's robot drives over the paths of the others."""
    scenes = [
        (i, run, chart)
        for i, run in enumerate(runs)
        for chart in run.charts.values()
        if chart.get("kind") == "scene"
    ]
    if len(scenes) < 2:
        return
    (_, first, chart), *others = scenes
    paths = [
        (run.label, FOUR[i % len(FOUR)],
         np.column_stack([unpacked(column) for column in other["pose"][:2]]))
        for i, run, other in others
    ]  # fmt: skip
    pose = np.column_stack([unpacked(column) for column in chart["pose"]])
    wanted = [
        (path["name"], Role.WANTED,
         np.column_stack([unpacked(column) for column in path["places"]]))
        for path in chart["paths"]
        if path["role"] == "wanted"
    ]  # fmt: skip
    red, green, blue = (shade / 255.0 for shade in chart["colour"])
    yield Scene(
        "paths", "Paths", unpacked(chart["time"]), pose, [*wanted, *paths],
        [np.array(polygon) for polygon in chart["silhouette"]], (red, green, blue),
        arena=chart.get("arena"), note=f"the robot is that of {first.label}",
    )  # fmt: skip
