# SPDX-License-Identifier: Apache-2.0
"""fleet.html and robots/ROBOT.html: what the recordings of a fleet say, from all robots to one.

Both are made of what `diffbot fleet` leaves: fleet.json and the rows of its table.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from diffbot_ident.torque.estimate import NAMES, NORMAL_95
from diffbot_report.page import (
    REPORT,
    Chart,
    Curve,
    Intervals,
    Page,
    Part,
    Role,
    Section,
    Table,
    Tone,
    write_page,
)
from diffbot_report.quantity import MISSING, UNITS, significant, with_uncertainty

FLEET = "fleet.html"
ROBOTS = "robots"
# Robots whose changes are drawn, robots' intervals side by side, and recordings without a result.
DRAWN, BESIDE, UNREAD = 12, 40, 200
DAY = 86400.0
# Quantities of the comparison: the row's column, its name and its unit.
COLUMNS = {
    "log_k7": ("k7", "K7", UNITS["K7"]),
    "log_k8": ("k8", "K8", UNITS["K8"]),
    "k5": ("k5", "K5", UNITS["K5"]),
    "k6": ("k6", "K6", UNITS["K6"]),
    "coulomb_left": ("coulomb_left", "Coulomb friction, left", "N m"),
    "coulomb_right": ("coulomb_right", "Coulomb friction, right", "N m"),
    "log_residual": ("residual_v", "residuals of dv/dt", "m/s²"),
}
# Verdicts of a recording.
TONES = {"all": None, "some": Tone.CAUTION}

Row = Mapping[str, Any]
Robot = tuple[str, str]
"""Type and name."""


def write_fleet_pages(
    summary: Mapping[str, Any], rows: Sequence[Row], folder: Path, words: Sequence[str]
) -> Path:
    """Write fleet.html and a page of each robot; returns the path of the first.

    Args:
        summary: content of fleet.json.
        rows: of all recordings that count, by the columns of the table.
        folder: of the results.
        words: arguments that repeat it.

    Raises:
        OSError: a page cannot be written.
        ModuleNotFoundError: plotly is not installed.
    """
    robots = _by_robot(rows)
    files = _files(robots)
    (folder / ROBOTS).mkdir(parents=True, exist_ok=True)
    for robot, own in robots.items():
        drawn = robot in _drawn(summary)
        write_page(robot_page(robot, own, summary, folder / ROBOTS, drawn), folder / files[robot])
    return write_page(fleet_page(summary, rows, files, folder, words), folder / FLEET)


def _by_robot(rows: Sequence[Row]) -> dict[Robot, list[Row]]:
    """Rows of each robot, by time."""
    found: dict[Robot, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.get("time") or 0.0, str(row["path"]))):
        found.setdefault((row["type"] or "unknown", row["robot"]), []).append(row)
    return found


def _files(robots: Mapping[Robot, object]) -> dict[Robot, str]:
    """Path of each robot's page below the folder; names that differ in signs only get a number."""
    files: dict[Robot, str] = {}
    taken: set[str] = set()
    for kind, name in robots:
        stem = plain = re.sub(r"[^A-Za-z0-9.-]+", "_", name).strip("._") or "robot"
        number = 1
        while stem.lower() in taken:
            number += 1
            stem = f"{plain}-{number}"
        taken.add(stem.lower())
        files[kind, name] = f"{ROBOTS}/{stem}.html"
    return files


def _changed(summary: Mapping[str, Any]) -> dict[Robot, Mapping[str, Any]]:
    """Robots that have changed over time, the surest first."""
    return {(t["type"], t["name"]): t for t in summary["trends"] if t["alarm"]}


def _unlike(summary: Mapping[str, Any]) -> dict[Robot, Mapping[str, Any]]:
    """Robots that are unlike the others, the surest first."""
    return {(r["type"], r["name"]): r for r in summary["robots"] if r["alarm"]}


def _drawn(summary: Mapping[str, Any]) -> set[Robot]:
    """Robots whose own pages have charts; a page with charts has some megabytes."""
    return set([*_changed(summary), *_unlike(summary)][:DRAWN])


# The fleet.


def fleet_page(
    summary: Mapping[str, Any],
    rows: Sequence[Row],
    files: Mapping[Robot, str],
    folder: Path,
    words: Sequence[str],
) -> Page:
    """The page of all robots; arguments as of write_fleet_pages, `files` those of the robots."""
    unlike, changed = _unlike(summary), _changed(summary)
    seen = dict.fromkeys([*unlike, *changed])
    compared, timed = len(summary["robots"]), len(summary["trends"])
    said = f"{len(unlike)} of {compared} robots {_are(len(unlike))} unlike the others"
    if timed:
        has = "has" if len(changed) == 1 else "have"
        said += f", {len(changed)} of {timed} {has} changed over time"
    if not compared and not timed:
        said = "No robot has enough recordings to be compared"
    kinds = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("prior_*"))}
    return Page(
        title=f"fleet: {len(files)} robots, {len(rows)} recordings",
        tone=Tone.CAUTION if seen or not (compared or timed) else Tone.GOOD,
        verdict=f"{said}.",
        advice=_advice(summary, unlike, changed),
        answer=_findings(seen, unlike, changed, files),
        notes=_notes(summary),
        sections=[s for s in _fleet_sections(summary, rows, files) if s.parts],
        summary={"recordings": summary["recordings"], "types": summary["types"]},
        texts={"Repeat this": shlex.join(["./diffbot", "fleet", *words]), **kinds},
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _advice(
    summary: Mapping[str, Any],
    unlike: Mapping[Robot, Mapping[str, Any]],
    changed: Mapping[Robot, Mapping[str, Any]],
) -> str:
    first = next(iter(unlike.values()), None) or next(iter(changed.values()), None)
    if first is not None:
        return f"Begin with {first['name']}: {first['cause']} ({sure(first)} sure)."
    if not summary["robots"] and not summary["trends"]:
        return "Record more: five robots of a type, and several recordings of each."
    return "Nothing to do: record again."


def _notes(summary: Mapping[str, Any]) -> list[str]:
    share = summary["false_alarms"]
    counts = ", ".join(f"{name}: {count}" for name, count in summary["recordings"].items())
    notes = [f"Recordings by what may be used of them: {counts}."]
    if summary["robots"] or summary["trends"]:
        notes.append(f"A fleet without a fault would have any alarm with a chance of {share:g}.")
    left = summary.get("left_out") or {}
    if left:
        few = "; ".join(f"{name} {why}" for name, why in list(left.items())[:5])
        rest = f" and {len(left) - 5} more" if len(left) > 5 else ""
        notes.append(f"Not compared: {few}{rest}.")
    return notes


def _findings(
    robots: Mapping[Robot, object],
    unlike: Mapping[Robot, Mapping[str, Any]],
    changed: Mapping[Robot, Mapping[str, Any]],
    files: Mapping[Robot, str],
) -> Table:
    rows = []
    for robot in robots:
        level, change = unlike.get(robot), changed.get(robot)
        about = level or change or {}
        rows.append(
            [
                robot[1],
                Path(robot[0]).stem,
                about["cause"],
                sure(about),
                MISSING if change is None else change_text(change),
                MISSING if level is None else level["evidence"].partition(";")[0],
            ]
        )
    head = ["robot", "type", "cause", "sure", "change over time", "against the others"]
    links = [files.get(robot) for robot in robots]
    return Table(head, rows, links=links, note="" if rows else "No robot stands out.")


def change_text(change: Mapping[str, Any]) -> str:
    """A change in words."""
    name = change["quantity"]
    size, half = relative(name, change["change"][name], NORMAL_95 * change["change_std"][name])
    begin, end = map(day, change["between"])
    when = f"between {begin} and {end}" if change["kind"] == "step" else f"from {begin} to {end}"
    return f"{change['kind']} of {COLUMNS[name][1]} by {size:+.1%} ± {half:.1%} {when}"


def relative(quantity: str, change: float, half: float) -> tuple[float, float]:
    """A change and its half width as shares of the value, also of a logarithm's."""
    if not quantity.startswith("log_"):
        return change, half
    return math.expm1(change), math.exp(change) * half


def sure(finding: Mapping[str, Any]) -> str:
    """How sure the cause is, in words."""
    share = 100.0 * finding["confidence"]
    return f"{share:.0f} %" if share < 99.0 else "> 99 %"


def day(time: float) -> str:
    """The day of a time (s since 1970, UTC)."""
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d")


def _fleet_sections(
    summary: Mapping[str, Any], rows: Sequence[Row], files: Mapping[Robot, str]
) -> Iterator[Section]:
    robots = _by_robot(rows)
    charts: list[Part] = []
    for i, (robot, change) in enumerate(list(_changed(summary).items())[:DRAWN]):
        charts.append(_trend_chart(f"trend_{i}", robots[robot], change, robot[1]))
    text = "Of the robots that changed, the quantity that changed most surely; bands: 95 %."
    yield Section("Changes over time", text, charts)
    text = "What robots of a type are like: centre, and where 95 % of further robots would be."
    yield Section("Types", text, _priors(summary), wide=True)
    yield Section("Robots side by side", "", _spreads(summary, robots))
    yield Section(
        "All robots", "The least likely first; a name leads to the robot's recordings.",
        [_ranking(summary, robots, files)], wide=True,
    )  # fmt: skip
    bad = [row for row in rows if row["usable"] in ("none", "unreadable")]
    table = Table(
        ["recording", "robot", "verdict", "reason"],
        [[str(r["path"]), r["robot"], r["usable"], r["reason"] or ""] for r in bad[:UNREAD]],
        note=f"{len(bad) - UNREAD} more are in the table." if len(bad) > UNREAD else "",
        filtered=True,
    )
    yield Section("Recordings without a result", "", [table] if bad else [], wide=True)


def _priors(summary: Mapping[str, Any]) -> list[Part]:
    rows = []
    for kind, prior in summary["types"].items():
        cells = []
        for i, name in enumerate(NAMES):
            half = NORMAL_95 * math.sqrt(prior["k_covariance"][i][i])
            value, spread = with_uncertainty(prior["k"][i], half)
            cells.append(f"{value} ± {spread} {UNITS[name.upper()]}")
        rows.append([Path(kind).stem, str(prior["robots"]), *cells])
    return [Table(["type", "robots", "K5", "K6", "K7", "K8"], rows)] if rows else []


def _spreads(summary: Mapping[str, Any], robots: Mapping[Robot, Sequence[Row]]) -> list[Part]:
    """K7 against |K8| of the robots of each type; where a load or a tyre shows."""
    parts: list[Part] = []
    for i, kind in enumerate(summary["types"]):
        own = [robot for robot in summary["robots"] if robot["type"] == kind]
        curves = []
        notable = {*_unlike(summary), *_changed(summary)}
        for name, role, alarm in (
            ("like the others", Role.FIRST, False), ("standing out", Role.SECOND, True),
        ):  # fmt: skip
            some = [r["deviations"] for r in own if ((r["type"], r["name"]) in notable) is alarm]
            x, y = ([100.0 * d[name] for d in some] for name in ("log_k7", "log_k8"))
            curves.append(Curve(name, x, y, role, dots=True))
        parts.append(
            Chart(
                f"spread_{i}", f"{Path(kind).stem}: |K8| against the type's centre", "%", curves,
                "K7 against the type's centre, %", None,
            )
        )  # fmt: skip
        if len(own) <= BESIDE:
            parts.append(_side_by_side(i, kind, summary, robots))
    return parts


def _side_by_side(
    number: int, kind: str, summary: Mapping[str, Any], robots: Mapping[Robot, Sequence[Row]]
) -> Intervals:
    """K7 of each robot of a type with its interval."""
    names, values, halves = [], [], []
    for (own, name), rows in robots.items():
        known = [row for row in rows if row["k7"] is not None and row["std_k7"] is not None]
        if own == kind and known:
            names.append(name)
            values.append(float(np.median([row["k7"] for row in known])))
            scatter = [row["k7"] for row in known]
            each = float(np.std(scatter, ddof=1)) if len(known) > 1 else known[0]["std_k7"]
            halves.append(NORMAL_95 * each / math.sqrt(len(known)))
    centre = summary["types"][kind]["k"][2]
    return Intervals(f"k7_{number}", f"{Path(kind).stem}: K7 of each robot", UNITS["K7"], names,
                     values, halves, truth=centre, note="dashed: the type's centre")  # fmt: skip


def _ranking(
    summary: Mapping[str, Any],
    robots: Mapping[Robot, Sequence[Row]],
    files: Mapping[Robot, str],
) -> Table:
    unlike, changed = _unlike(summary), _changed(summary)
    levels = {(r["type"], r["name"]): r for r in summary["robots"]}
    trends = {(t["type"], t["name"]): t for t in summary["trends"]}

    def rank(robot: Robot) -> float:
        found = [part[robot]["p"] for part in (levels, trends) if robot in part]
        return float(min(found, default=2.0))

    rows, marks, links = [], [], []
    for robot in sorted(robots, key=rank):
        level, trend = levels.get(robot), trends.get(robot)
        about = unlike.get(robot) or changed.get(robot)
        rows.append(
            [
                robot[1],
                Path(robot[0]).stem,
                str(len(robots[robot])),
                MISSING if level is None else f"{level['p']:.1e}",
                MISSING if trend is None else f"{trend['p']:.1e}",
                day(robots[robot][-1].get("time") or 0.0),
                MISSING if about is None else about["cause"],
            ]
        )
        marks.append(None if about is None else Tone.CAUTION)
        links.append(files[robot])
    head = ["robot", "type", "recordings", "p, others", "p, change", "last", "cause"]
    note = "p: chance of as much in a robot without a fault, before others are counted."
    return Table(head, rows, note=note, filtered=True, marks=marks, links=links)


def _trend_chart(
    key: str, rows: Sequence[Row], change: Mapping[str, Any], robot: str = "",
    quantity: str | None = None,
) -> Chart:  # fmt: skip
    """A quantity of a robot over its recordings, with the change where it is its own."""
    quantity = quantity or change.get("quantity") or "log_k7"
    column, name, unit = COLUMNS[quantity]
    known = [row for row in rows if row.get(column) is not None and row.get("time") is not None]
    begin = known[0]["time"] if known else 0.0
    days = np.array([(row["time"] - begin) / DAY for row in known])
    values = np.array([row[column] for row in known], float)
    halves = np.array([NORMAL_95 * (row.get(f"std_{column}") or 0.0) for row in known])
    band = None if column == "residual_v" else halves
    curves = [Curve("recordings", days, values, half_width=band)]
    events = []
    if change.get("quantity") == quantity and change["alarm"]:
        events = [((time - begin) / DAY, "") for time in change["between"]]
        curves.append(_model(change, known, days, values))
    return Chart(
        key, f"{robot}: {name}" if robot else name, unit, curves,
        f"days since {day(begin)}", None, events=events,
        note=change["cause"] if events else "",
    )  # fmt: skip


def _model(
    change: Mapping[str, Any], rows: Sequence[Row], days: np.ndarray, values: np.ndarray
) -> Curve:
    """Medians before and after a step, or the straight line of a drift."""
    if change["kind"] == "drift":
        slope, intercept = np.polyfit(days, values, 1)
        ends = np.array([days[0], days[-1]])
        return Curve("drift", ends, slope * ends + intercept, Role.SECOND)
    place = 0.5 * sum(change["between"])
    later = np.array([row["time"] > place for row in rows])
    levels = np.where(later, np.median(values[later]), np.median(values[~later]))
    return Curve("before and after", days, levels, Role.SECOND, steps=True)


# A robot.


def robot_page(
    robot: Robot, rows: Sequence[Row], summary: Mapping[str, Any], folder: Path, drawn: bool
) -> Page:
    """The page of one robot.

    Args:
        robot: type and name.
        rows: of its recordings, by time.
        summary: content of fleet.json.
        folder: of the page, for links.
        drawn: whether it has charts.
    """
    kind, name = robot
    level = next((r for r in summary["robots"] if (r["type"], r["name"]) == robot), None)
    trend = next((t for t in summary["trends"] if (t["type"], t["name"]) == robot), None)
    alarms = [part for part in (level, trend) if part is not None and part["alarm"]]
    if alarms:
        verdict = f"{name} stands out: {alarms[0]['cause']} ({sure(alarms[0])} sure)."
        parts = [change_text(trend)] if trend is not None and trend["alarm"] else []
        parts += [level["evidence"].partition(";")[0]] if level is not None else []
        advice = "; ".join(part for part in parts if part) + "."
    elif level is None and trend is None:
        verdict = f"{name} was not compared."
        advice = str(summary.get("left_out", {}).get(name, "It has too few recordings.")) + "."
    else:
        verdict, advice = f"{name} is like the others of its type.", "Nothing to do."
    sections = [
        Section("Recordings", "A path leads to the recording's own report, where there is one.",
                [_recordings(rows, folder)], wide=True),
    ]  # fmt: skip
    if drawn:
        charts = [_trend_chart(f"q_{q}", rows, trend or {}, quantity=q) for q in COLUMNS]
        sections.insert(0, Section("Over time", "Bands: 95 % by each recording itself.", charts))
    back = Table([""], [["all robots"]], links=[f"../{FLEET}"])
    sections.append(Section("Fleet", "", [back]))
    return Page(
        title=f"{name} ({Path(kind).stem}): {len(rows)} recordings",
        tone=Tone.CAUTION if alarms else Tone.GOOD,
        verdict=verdict,
        advice=advice,
        answer=_quantities(level, trend),
        sections=sections,
        summary={"robot": name, "type": kind},
    )


def _quantities(level: Mapping[str, Any] | None, trend: Mapping[str, Any] | None) -> Table:
    rows = []
    for name, (_, label, _) in COLUMNS.items():
        deviation = MISSING
        if level is not None:
            deviation = f"{relative(name, level['deviations'][name], 0.0)[0]:+.2%}"
        score = MISSING if level is None else f"{level['scores'][name]:+.1f}"
        slope = MISSING
        if trend is not None:
            per_day, half = trend["slopes"][name], trend["slope_half_widths"][name]
            slope = f"{100.0 * per_day:+.3g} ± {100.0 * half:.2g}"
        rows.append([label, deviation, score, slope])
    head = ["", "from the type's centre", "in standard deviations", "slope, % a day"]
    return Table(head, rows)


def _recordings(rows: Sequence[Row], folder: Path) -> Table:
    cells, marks, links = [], [], []
    for row in rows:
        path = Path(row["path"])
        delay = math.nan if row.get("delay") is None else row["delay"]
        cells.append(
            [
                path.name,
                day(row.get("time") or 0.0),
                *(_value(row, name) for name in NAMES),
                *(_value(row, f"coulomb_{side}") for side in ("left", "right")),
                MISSING if math.isnan(delay) else significant(delay),
                row["reason"] or "",
                row["usable"],
            ]
        )
        marks.append(TONES.get(row["usable"], Tone.BAD))
        links.append(_report(path, folder))
    head = [
        "recording", "day", *(f"K{k}, {UNITS[f'K{k}']}" for k in range(5, 9)),
        "Coulomb left, N m", "right, N m", "delay, periods", "reason", "verdict",
    ]  # fmt: skip
    return Table(head, cells, filtered=True, marks=marks, links=links)


def _value(row: Row, name: str) -> str:
    value, std = row.get(name), row.get(f"std_{name}")
    if value is None:
        return MISSING
    if std is None or not math.isfinite(std):
        return significant(value)
    text, spread = with_uncertainty(value, NORMAL_95 * std)
    return f"{text} ± {spread}"


def _report(path: Path, folder: Path) -> str | None:
    """The report of the run that a recording is of: beside it, or beside its folder."""
    for place in (path if path.is_dir() else path.parent, path.parent):
        if (place / REPORT).is_file():
            return os.path.relpath(place / REPORT, folder)
    return None
