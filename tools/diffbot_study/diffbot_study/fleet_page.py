# SPDX-License-Identifier: Apache-2.0
"""fleet.html and robots/ROBOT.html: results of a fleet's recordings, overall and per robot."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from diffbot_description.spoken_commands import spoken
from diffbot_ident.estimate import NAMES, NORMAL_95
from diffbot_report.chart import Chart, Curve, Intervals, Role
from diffbot_report.page import REPORT, Page, Part, Section, Table, Tone, write_page
from diffbot_report.quantity import MISSING, UNITS, significant, with_uncertainty
from diffbot_study.cause_advice import advice_on
from diffbot_study.fleet_alarms import DAY, Morning
from diffbot_study.fleet_quantities import LOG
from diffbot_study.fleet_trends import DRIFT, change_text, fraction

FLEET = "fleet.html"
ROBOTS = "robots"
# Maximum number of robots with charts, and of intervals side by side.
DRAWN, BESIDE = 12, 40
# Column of the row, name and unit; other quantities are values of the row's verdicts.
COLUMNS = {
    "log_k7": ("k7", "K7", UNITS["K7"]),
    "log_k8": ("k8", "K8", UNITS["K8"]),
    "k5": ("k5", "K5", UNITS["K5"]),
    "k6": ("k6", "K6", UNITS["K6"]),
    "coulomb_left": ("coulomb_left", "Coulomb friction, left", "N m"),
    "coulomb_right": ("coulomb_right", "Coulomb friction, right", "N m"),
    "log_residual": ("residual_v", "residuals of dv/dt", "m/s²"),
    "torque_difference": ("torque_difference", "torques, right less left over both", "1"),
    "log_gyro_scale": ("gyro_scale", "yaw rate by the gyro over that by the wheels", "1"),
    "radius_difference": ("radius_difference", "radii, right less left over both", "1"),
}
SHOWN = ("k5", "k6", "log_k7", "log_k8", "coulomb_left", "coulomb_right")
TONES = {"all": None, "some": Tone.CAUTION}

Row = Mapping[str, Any]
Finding = Mapping[str, Any]
Robot = tuple[str, str]
"""Type and name of a robot."""


def write_fleet_pages(
    summary: Mapping[str, Any],
    rows: Sequence[Row],
    folder: Path,
    words: Sequence[str],
    morning: Morning | None = None,
) -> Path:
    """Write fleet.html and a page of each robot; return the path of fleet.html.

    `summary`: content of fleet.json; `rows`: all valid recordings, by the columns of the table;
    `words`: command-line arguments.
    """
    fleet = _Fleet(summary, rows, morning or Morning())
    (folder / ROBOTS).mkdir(parents=True, exist_ok=True)
    for robot, file in fleet.files.items():
        write_page(_robot_page(robot, fleet, folder / ROBOTS), folder / file)
    return write_page(_fleet_page(fleet, folder, words), folder / FLEET)


class _Fleet:
    """Findings on a fleet, by robot; alarms are in order of certainty.

    Attributes:
        files: Path of each robot's page below the folder.
        levels, unlike: Robots compared with others of their type, and those that differ.
        trends, changed: Robots compared with their own past, and those that changed.
        near: Those that nearly raise an alarm.
        drawn: Robots whose pages have charts, which make a page some megabytes large.
    """

    def __init__(self, summary: Mapping[str, Any], rows: Sequence[Row], morning: Morning) -> None:
        self.summary, self.rows, self.morning = summary, rows, morning
        self.robots = _by_robot(rows)
        self.files = _files(self.robots)
        self.levels: dict[Robot, Finding] = {(r["type"], r["name"]): r for r in summary["robots"]}
        self.trends: dict[Robot, Finding] = {(t["type"], t["name"]): t for t in summary["trends"]}
        self.unlike = {robot: r for robot, r in self.levels.items() if r["alarm"]}
        self.changed = {robot: t for robot, t in self.trends.items() if t["alarm"]}
        both = {**self.trends, **self.levels}
        self.near = {robot: f for robot, f in both.items() if f["near"]}
        self.drawn = [*self.changed, *self.unlike][:DRAWN]

    @property
    def alarms(self) -> dict[Robot, Finding]:
        """Alarms: new ones, those that nobody has seen, and the others."""
        alarms = {**self.changed, **self.unlike}
        known = self.morning.alarms

        def rank(robot: Robot) -> int:
            alarm = known.get(robot)
            if alarm is None or alarm.is_new(self.morning.now):
                return 0
            return 1 if alarm.acknowledged is None else 2

        return {robot: alarms[robot] for robot in sorted(alarms, key=rank)}


def _by_robot(rows: Sequence[Row]) -> dict[Robot, list[Row]]:
    results: dict[Robot, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.get("time") or 0.0, str(row["path"]))):
        results.setdefault((row["type"] or "unknown", row["robot"]), []).append(row)
    return results


def _files(robots: Mapping[Robot, object]) -> dict[Robot, str]:
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


# The fleet.


def _fleet_page(fleet: _Fleet, folder: Path, words: Sequence[str]) -> Page:
    summary = fleet.summary
    compared, timed = len(fleet.levels), len(fleet.trends)
    said = f"{len(fleet.unlike)} of {compared} robots "
    said += f"{'is' if len(fleet.unlike) == 1 else 'are'} unlike the others"
    if timed:
        has = "has" if len(fleet.changed) == 1 else "have"
        said += f", {len(fleet.changed)} of {timed} {has} changed over time"
    advice = "Nothing to do; continue to record."
    if not compared and not timed:
        said = "No robot has enough recordings to be compared"
        advice = "Record more: five robots of a type, and several recordings of each."
    for first in [*fleet.alarms.values()][:1]:
        what = advice_on(first["cause"])
        advice = (
            f"Begin with {first['name']}: {first['cause']} ({confidence_text(first)} sure): "
            f"{what.meaning}; {what.action}."
        )
    kinds = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("prior_*"))}
    return Page(
        title=f"fleet: {len(fleet.files)} robots, {len(fleet.rows)} recordings",
        tone=Tone.CAUTION if fleet.alarms or not (compared or timed) else Tone.GOOD,
        verdict=f"{said}.",
        advice=advice,
        answer=_findings(fleet),
        notes=_notes(summary),
        sections=list(_fleet_sections(fleet)),
        summary={"recordings": summary["recordings"], "types": summary["types"]},
        texts={"Repeat this": spoken("fleet", *words), **kinds},
    )


def _notes(summary: Mapping[str, Any]) -> list[str]:
    fraction = summary["false_alarms"]
    counts = ", ".join(f"{name}: {count}" for name, count in summary["recordings"].items())
    notes = [f"Recordings by usability: {counts}."]
    if summary["robots"] or summary["trends"]:
        notes.append(f"Probability of any alarm in a fleet without a fault: {fraction:g}.")
    left = summary.get("left_out") or {}
    if left:
        few = "; ".join(f"{name} {why}" for name, why in list(left.items())[:5])
        rest = f" and {len(left) - 5} more" if len(left) > 5 else ""
        notes.append(f"Not compared: {few}{rest}.")
    return notes


def _findings(fleet: _Fleet) -> Table:
    rows = []
    for robot, about in fleet.alarms.items():
        rows.append([
            robot[1], fleet.morning.state(robot) or MISSING, about["cause"],
            confidence_text(about), advice_on(about["cause"]).action, _evidence(fleet, robot),
        ])  # fmt: skip
    head = ["robot", "since", "cause", "sure", "what to do", "evidence"]
    links = [fleet.files.get(robot) for robot in fleet.alarms]
    return Table(head, rows, links=links, note="" if rows else "No robot stands out.")


def _evidence(fleet: _Fleet, robot: Robot) -> str:
    level, change = fleet.levels.get(robot), fleet.trends.get(robot)
    parts = []
    if change and (change["alarm"] or change["near"]):
        parts.append(change_text(change, label(change["quantity"]), day))
    parts += [level["evidence"].partition(";")[0]] if level and level["evidence"] else []
    return "; ".join(parts)


def _news(fleet: _Fleet) -> Table:
    """What is new since the day before."""
    morning = fleet.morning
    new = [robot for robot in fleet.alarms if morning.state(robot) == "new"]
    rows = [[robot[1], "new alarm", fleet.alarms[robot]["cause"]] for robot in new]
    links = [fleet.files.get(robot) for robot in new]
    rows += [[alarm.robot, "no longer", alarm.cause] for alarm in morning.ended]
    rows += [[robot, "silent", why] for robot, why in morning.silent.items()]
    links += [None] * (len(rows) - len(links))
    note = f"New recordings: {morning.recordings}."
    return Table(["robot", "", ""], rows, links=links, note=note)


def _near(fleet: _Fleet) -> Table:
    robots = [robot for robot in fleet.near if robot not in fleet.alarms]
    rows = [[robot[1], fleet.near[robot]["cause"], _evidence(fleet, robot)] for robot in robots]
    return Table(
        ["robot", "perhaps", "evidence"], rows, links=[fleet.files.get(robot) for robot in robots]
    )


def label(quantity: str) -> str:
    """Return the readable name of a quantity."""
    return COLUMNS[quantity][1] if quantity in COLUMNS else quantity.removeprefix(LOG)


def reading(row: Row, quantity: str) -> tuple[float, float, str] | None:
    """Return value, standard deviation (0: unknown) and unit of a quantity, or None without it."""
    if quantity in COLUMNS:
        column, _, unit = COLUMNS[quantity]
        value, std = row.get(column), row.get(f"std_{column}")
    else:
        reported = _values(row.get("values") or "{}").get(quantity.removeprefix(LOG))
        value, std, unit = reported or (None, None, "")
    if value is None:
        return None
    return float(value), float(std) if std is not None and math.isfinite(std) else 0.0, str(unit)


@lru_cache(maxsize=1)  # for the row whose quantities are read one after another
def _values(text: str) -> dict[str, Any]:
    return dict(json.loads(text))


def confidence_text(finding: Mapping[str, Any]) -> str:
    """Return the confidence in the cause as text."""
    fraction = 100.0 * finding["confidence"]
    return f"{fraction:.0f} %" if fraction < 99.0 else "> 99 %"


def day(time: float) -> str:
    """Format a time (s since 1970, UTC) as a day."""
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d")


def _fleet_sections(fleet: _Fleet) -> Iterator[Section]:
    yield Section("Since yesterday", "", [_news(fleet)], wide=True)
    text = "Below the alarms, but as unlikely as in one of a hundred such fleets: look again."
    near = _near(fleet)
    yield Section("Near misses", text, [near] if near.rows else [], wide=True)
    yield Section(
        "All robots", "The least likely first; a name leads to the robot's recordings.",
        [_ranking(fleet)], wide=True,
    )  # fmt: skip
    bad = [
        [path, row["robot"], row["usable"], row["reason"] or ""]
        for row in fleet.rows
        if row["usable"] in ("none", "unreadable")
        for path in (str(row["path"]), *fleet.morning.copies.get(str(row["path"]), ()))
    ]
    head = ["recording", "robot", "verdict", "reason"]
    table = Table(head, bad, filtered=True)
    yield Section("Recordings without a result", "", [table] if bad else [], wide=True)
    charts = [
        _trend_chart(f"trend_{i}", fleet.robots[robot], change, robot[1])
        for i, (robot, change) in enumerate(list(fleet.changed.items())[:DRAWN])
    ]
    text = "Of the robots that changed, the quantity that changed most surely; bands: 95 %."
    yield Section("Changes over time", text, charts)
    text = "Typical values of each type: centre, and range of 95 % of further robots."
    yield Section("Types", text, _priors(fleet.summary), wide=True)
    yield Section("Robots side by side", "", _spreads(fleet))


def _priors(summary: Mapping[str, Any]) -> list[Part]:
    rows, others = [], []
    for kind, prior in summary["types"].items():
        stem = Path(kind).stem
        if prior["k"] is None:
            for name, spread in prior["spread"].items():
                centre = significant(_centre(prior, name))
                others.append([stem, label(name), centre, f"{spread:.1%}"])
            continue
        cells = []
        for i, name in enumerate(NAMES):
            half = NORMAL_95 * math.sqrt(prior["k_covariance"][i][i])
            value, spread = with_uncertainty(prior["k"][i], half)
            cells.append(f"{value} ± {spread} {UNITS[name.upper()]}")
        rows.append([stem, str(prior["robots"]), *cells])
    parts: list[Part] = []
    if rows:
        parts.append(Table(["type", "robots", "K5", "K6", "K7", "K8"], rows))
    if others:
        parts.append(Table(["type", "quantity", "centre", "standard deviation"], others))
    return parts


def _centre(prior: Mapping[str, Any], quantity: str) -> float:
    level = float(prior["centre"][quantity])
    if quantity.startswith(LOG):
        return math.exp(level)
    return float(prior["relative_to"][quantity]) * level


def _spreads(fleet: _Fleet) -> list[Part]:
    """Plot the first two quantities of each type's robots, K7 over |K8| for torque recordings."""
    parts: list[Part] = []
    for i, (kind, prior) in enumerate(fleet.summary["types"].items()):
        own = {robot: result for robot, result in fleet.levels.items() if robot[0] == kind}
        axes = [*prior["centre"], *prior["centre"]][:2]
        curves = []
        for name, role, alarm in (
            ("like the others", Role.FIRST, False), ("standing out", Role.SECOND, True),
        ):  # fmt: skip
            some = [r["deviations"] for n, r in own.items() if (n in fleet.alarms) is alarm]
            x, y = ([100.0 * d[axis] for d in some] for axis in axes)
            curves.append(Curve(name, x, y, role, dots=True))
        first, second = map(label, axes)
        second = "|K8|" if axes[1] == "log_k8" else second
        parts.append(
            Chart(
                f"spread_{i}", f"{Path(kind).stem}: {second} against the type's centre", "%",
                curves, f"{first} against the type's centre, %", None,
            )
        )  # fmt: skip
        if len(own) <= BESIDE:
            parts.append(_side_by_side(i, kind, axes[0], fleet))
    return parts


def _side_by_side(number: int, kind: str, quantity: str, fleet: _Fleet) -> Intervals:
    names, values, halves, unit = [], [], [], ""
    for (own, name), rows in fleet.robots.items():
        known = [
            reported for row in rows if (reported := reading(row, quantity)) and reported[1] > 0.0
        ]
        if own == kind and known:
            names.append(name)
            scatter = [value for value, _, _ in known]
            values.append(float(np.median(scatter)))
            each = float(np.std(scatter, ddof=1)) if len(known) > 1 else known[0][1]
            halves.append(NORMAL_95 * each / math.sqrt(len(known)))
            unit = known[0][2]
    centre = _centre(fleet.summary["types"][kind], quantity)
    title = f"{Path(kind).stem}: {label(quantity)} of each robot"
    note = "dashed: the type's centre"
    return Intervals(f"first_{number}", title, unit, names, values, halves, truth=centre, note=note)


def _ranking(fleet: _Fleet) -> Table:
    def rank(robot: Robot) -> float:
        results = [part[robot]["p"] for part in (fleet.levels, fleet.trends) if robot in part]
        return float(min(results, default=2.0))

    def chance(finding: Finding | None) -> str:
        return MISSING if finding is None else f"{finding['p']:.1e}"

    rows, marks, links = [], [], []
    for robot in sorted(fleet.robots, key=rank):
        own, about = fleet.robots[robot], fleet.alarms.get(robot)
        rows.append([
            robot[1], Path(robot[0]).stem, str(len(own)), chance(fleet.levels.get(robot)),
            chance(fleet.trends.get(robot)), day(own[-1].get("time") or 0.0),
            MISSING if about is None else about["cause"],
        ])  # fmt: skip
        marks.append(None if about is None else Tone.CAUTION)
        links.append(fleet.files[robot])
    head = ["robot", "type", "recordings", "p, others", "p, change", "last", "cause"]
    note = "p: probability of such a deviation without a fault, for this robot alone."
    return Table(head, rows, note=note, filtered=True, marks=marks, links=links)


def _trend_chart(
    key: str, rows: Sequence[Row], change: Mapping[str, Any], robot: str = "",
    quantity: str | None = None,
) -> Chart:  # fmt: skip
    quantity = quantity or change["quantity"]
    reported = [(row, reading(row, quantity)) for row in rows if row.get("time") is not None]
    known = [(row, result) for row, result in reported if result is not None]
    begin = known[0][0]["time"] if known else 0.0
    unit = known[0][1][2] if known else ""
    days = np.array([(row["time"] - begin) / DAY for row, _ in known])
    values = np.array([result[0] for _, result in known], float)
    halves = np.array([NORMAL_95 * result[1] for _, result in known])
    band = halves if halves.any() else None
    curves = [Curve("recordings", days, values, half_width=band)]
    events = []
    if change.get("quantity") == quantity and change["alarm"]:
        events = [((time - begin) / DAY, "") for time in change["between"]]
        curves.append(_model(change, [row for row, _ in known], days, values))
    return Chart(
        key, f"{robot}: {label(quantity)}" if robot else label(quantity), unit, curves,
        f"days since {day(begin)}", None, events=events,
        note=change["cause"] if events else "",
    )  # fmt: skip


def _model(
    change: Mapping[str, Any], rows: Sequence[Row], days: np.ndarray, values: np.ndarray
) -> Curve:
    if change["kind"] == DRIFT:
        slope, intercept = np.polyfit(days, values, 1)
        ends = np.array([days[0], days[-1]])
        return Curve("drift", ends, slope * ends + intercept, Role.SECOND)
    place = 0.5 * sum(change["between"])
    later = np.array([row["time"] > place for row in rows])
    levels = np.where(later, np.median(values[later]), np.median(values[~later]))
    return Curve("before and after", days, levels, Role.SECOND, steps=True)


# A robot.


def _robot_page(robot: Robot, fleet: _Fleet, folder: Path) -> Page:
    kind, name = robot
    rows, level, trend = fleet.robots[robot], fleet.levels.get(robot), fleet.trends.get(robot)
    alarms = [part for part in (level, trend) if part is not None and part["alarm"]]
    if alarms:
        cause = alarms[0]["cause"]
        what = advice_on(cause)
        verdict = f"{name} stands out: {cause} ({confidence_text(alarms[0])} sure)."
        meaning = what.meaning[0].upper() + what.meaning[1:]
        advice = f"{meaning} ({_evidence(fleet, robot)}); {what.action}."
    elif level is None and trend is None:
        verdict = f"{name} was not compared."
        advice = (
            str(fleet.summary.get("left_out", {}).get(name, "It has too few recordings.")) + "."
        )
    else:
        verdict, advice = f"{name} is like the others of its type.", "Nothing to do."
    sections = [
        Section("Recordings", "A path leads to the recording's own report, where there is one.",
                _recordings(rows, folder, _compared(level, trend)), wide=True),
    ]  # fmt: skip
    if robot in fleet.drawn:
        charts = [
            _trend_chart(f"q_{i}", rows, trend or {}, quantity=quantity)
            for i, quantity in enumerate(_compared(level, trend))
        ]
        sections.append(Section("Over time", "Bands: 95 % intervals of each recording.", charts))
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


def _compared(level: Mapping[str, Any] | None, trend: Mapping[str, Any] | None) -> list[str]:
    if level is not None:
        return [*level["deviations"]]
    return [] if trend is None else [*trend["change"]]


def _quantities(level: Mapping[str, Any] | None, trend: Mapping[str, Any] | None) -> Table:
    rows = []
    for name in _compared(level, trend):
        deviation = MISSING
        if level is not None:
            deviation = f"{fraction(name, level['deviations'][name]):+.2%}"
        score = MISSING if level is None else f"{level['scores'][name]:+.1f}"
        slope = MISSING
        if trend is not None:
            per_day, half = trend["slopes"][name], trend["slope_half_widths"][name]
            slope = f"{100.0 * per_day:+.3g} ± {100.0 * half:.2g}"
        rows.append([label(name), deviation, score, slope])
    head = ["", "from the type's centre", "in standard deviations", "slope, % a day"]
    return Table(head, rows)


def _recordings(rows: Sequence[Row], folder: Path, compared: Sequence[str]) -> list[Part]:
    shown = [name for name in compared if name not in COLUMNS] or SHOWN
    units: dict[str, str] = {}
    cells, marks, links = [], [], []
    for row in rows:
        path = Path(row["path"])
        delay = math.nan if row.get("delay") is None else row["delay"]
        results = {name: reading(row, name) for name in shown}
        units |= {name: reported[2] for name, reported in results.items() if reported is not None}
        cells.append([
            path.name, day(row.get("time") or 0.0), *map(_text, results.values()),
            MISSING if math.isnan(delay) else significant(delay), row["usable"],
        ])  # fmt: skip
        marks.append(TONES.get(row["usable"], Tone.BAD))
        links.append(_report(path, folder))
    head = [f"{label(name)}, {units[name]}" if name in units else label(name) for name in shown]
    head = ["recording", "day", *head, "delay, periods", "verdict"]
    parts: list[Part] = [Table(head, cells, filtered=True, marks=marks, links=links)]
    reasons = [[Path(row["path"]).name, row["reason"]] for row in rows if row["reason"]]
    return [*parts, *([Table(["recording", "reason"], reasons)] if reasons else [])]


def _text(reported: tuple[float, float, str] | None) -> str:
    if reported is None:
        return MISSING
    value, std, _ = reported
    if std == 0.0:
        return significant(value)
    text, spread = with_uncertainty(value, NORMAL_95 * std)
    return f"{text} ± {spread}"


def _report(path: Path, folder: Path) -> str | None:
    for place in (path if path.is_dir() else path.parent, path.parent):
        if (place / REPORT).is_file():
            return os.path.relpath(place / REPORT, folder)
    return None
