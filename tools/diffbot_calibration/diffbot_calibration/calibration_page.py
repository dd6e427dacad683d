# SPDX-License-Identifier: Apache-2.0
"""report.html and charts of a calibration: sizes with intervals, paths, drift, residuals."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from arc_odometry import WheelGeometry
from diffbot_calibration.calibration import Calibration
from diffbot_calibration.drive_model import Fit
from diffbot_description.files import SUMMARY
from diffbot_description.spoken_commands import spoken
from diffbot_recordings.sensor_readings import Array, WheelPath
from diffbot_report.chart import Chart, ChartGroup, Curve, Intervals, Role
from diffbot_report.page import REPORT, Page, Section, Table, Tone, write_page
from diffbot_report.quantity import MISSING, half_width, interval_of, quantities, significant
from diffbot_report.summary import yaml_texts

_CHARTED = {
    "left_radius": ("Left radius", "mm", 1e3),
    "right_radius": ("Right radius", "mm", 1e3),
    "track": ("Track", "mm", 1e3),
    "track_over_mean_radius": ("Track / radius", "", 1.0),
    "radius_ratio": ("Right / left", "", 1.0),
    "linear_scale": ("Linear scale", "", 1.0),
    "angular_scale": ("Angular scale", "", 1.0),
    "heading_drift": ("Drift of heading", "mrad/m", 1e3),
}
BEFORE, AFTER = "odometry before", "odometry after"
POSES, LEFT_OUT = "pose source", "left out"
# Distance around the path of the pose source that is shown, m.
AROUND = 0.5


def sizes_group(calibration: Calibration) -> ChartGroup:
    """Chart each size: estimated with its interval, and given."""
    charts = []
    for name, before in calibration.before.items():
        title, unit, factor = _CHARTED[name]
        result, nan = calibration.quantities[name], math.nan
        value, lower, upper = (
            (factor * each for each in (result.value, result.lower, result.upper))
            if result.identified
            else (nan, nan, nan)
        )
        charts.append(
            Intervals(
                f"size_{name}", title, unit, ["found", "before"], [value, factor * before],
                [upper - value, nan], note="" if result.identified else "not identified",
                below=[value - lower, nan],
            )
        )  # fmt: skip
    title = f"Calibration by {calibration.source}: {calibration.outcome.value}"
    return ChartGroup("calibration", title, "", charts)


def evidence_groups(calibration: Calibration) -> Iterator[ChartGroup]:
    """Yield the robot's way and the drift of odometry, if the calibration has a fit."""
    fit = calibration.fit
    if fit is None:
        return
    if fit.drive.poses is not None:
        text = "Pose source, and odometry before and after, aligned at the start."
        yield ChartGroup("way", "Way", text, [path_chart(ways(calibration, fit))])
    text = "Drift of odometry on held-out motion, and residuals of the fit."
    yield ChartGroup("drift", "Drift", text, [*_drift(calibration), _residuals(fit)])


def path_chart(ways: Mapping[str, ArrayLike]) -> Chart:
    """Chart named paths [x, y], m, shape (n, 2) each, in one; a pose source as dots."""
    roles = (Role.FIRST, Role.SECOND, Role.QUIET, Role.THIRD, Role.FOURTH)
    curves = []
    for (name, path), role in zip(ways.items(), roles, strict=False):
        x, y = np.asarray(path, float).reshape(-1, 2).T
        curves.append(Curve(name, x, y, role, dots=name in (POSES, LEFT_OUT)))
    curves.sort(key=lambda curve: not curve.dots)
    # Without odometry that strays and poses that are wrong.
    kept = [curve.y for curve in curves if curve.name not in (BEFORE, LEFT_OUT)]
    y = np.concatenate([np.zeros(0), *(np.asarray(each, float) for each in kept)])
    shown = (float(y.min()) - AROUND, float(y.max()) + AROUND) if len(y) else None
    return Chart("way", "Way", "y, m", curves, "x, m", None, y_range=shown, equal=True)


def ways(calibration: Calibration, fit: Fit) -> dict[str, Array]:
    """Return paths [x, y], m, (n, 2), in the pose source's frame up to its first jump, by name."""
    poses = fit.drive.poses
    assert poses is not None
    taken = fit.taken(fit.drive.stamps)
    begin = _first_jump(fit)
    used, places = fit.used[:begin], poses[:begin, :2]
    odometry = {
        name: np.stack(_in_frame(fit, geometry, taken[:begin]), axis=1)
        for name, geometry in ((AFTER, calibration.geometry), (BEFORE, calibration.given))
    }
    return {**odometry, POSES: places[used], LEFT_OUT: places[~used]}


def _first_jump(fit: Fit) -> int:
    jumps = np.flatnonzero(fit.drive.breaks)
    return int(jumps[0]) + 1 if len(jumps) else len(fit.drive.stamps)


def _in_frame(fit: Fit, geometry: WheelGeometry, taken: Array) -> tuple[Array, Array]:
    odometry = WheelPath(fit.drive.wheels, geometry).poses(taken)
    first = WheelPath(fit.drive.wheels, fit.geometry(1.0)).poses(taken[:1])[0]
    a, c = fit.walk[0, 0], fit.walk[0, 1:3]
    path = (odometry[:, 0] - odometry[0, 0]) + 1j * (odometry[:, 1] - odometry[0, 1])
    turn = first[2] - odometry[0, 2]
    place = complex(*first[:2]) + path * np.exp(1j * turn)
    lever = complex(fit.value("mount_x"), fit.value("mount_y"))
    place = place + lever * np.exp(1j * (odometry[:, 2] + turn))
    place = complex(*c) + place * np.exp(1j * a)
    return place.real, place.imag


def _drift(calibration: Calibration) -> Iterator[Chart]:
    result = calibration.held_out
    if result is None:
        return
    errors = result.errors
    sizes = [("heading", "°", np.degrees(np.abs(errors[..., 0])))]
    if result.after.position is not None:
        sizes.append(("position", "mm", 1e3 * np.hypot(errors[..., 1], errors[..., 2])))
    windows = np.arange(len(errors))
    for name, unit, drift in sizes:
        curves = [
            Curve("before", windows, drift[:, 0], Role.SECOND),
            Curve("after", windows, drift[:, 1]),
        ]
        where = f"window of {result.window:g} s"
        yield Chart(f"drift_{name}", f"Drift of {name}", unit, curves, where, None)


def _residuals(fit: Fit) -> Chart:
    time = fit.drive.stamps - fit.drive.stamps[0]
    if fit.drive.poses is None:
        curves = [Curve("residual", time, 1e3 * fit.residuals[:, -1], Role.THIRD, dots=True)]
        return Chart("residuals", "Residual of the gyro", "mrad", curves)
    used = fit.used
    curves = [
        Curve(f"residual in {axis}", time[used], 1e3 * fit.residuals[used, i], role, dots=True)
        for i, (axis, role) in enumerate((("x", Role.THIRD), ("y", Role.QUIET)))
    ]
    return Chart("residuals", "Residuals", "mm", curves)


UNITS = {"left_radius": "m", "right_radius": "m", "track": "m"}
SIZES = ("left_radius", "right_radius", "track")
SCALES = ("linear_scale", "angular_scale", "heading_drift")
PROOF_UNITS = {"window": "s", "distance": "m", "heading": "rad", "position": "m"}


def write_calibration_page(
    calibration: Calibration | None, folder: Path, command: str | None = None
) -> Path:
    """Write report.html beside the summary.json of a calibration; return its path.

    Args:
        calibration: The result, for its paths, if there is one.
        command: Command that repeats the calibration; None: the launch given in summary.json.
    """
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    sections = []
    if calibration is not None:
        text = "Given values, and calibrated ones with their 95 % intervals."
        sections = [Section("Before and after", text, sizes_group(calibration).charts)]
        sections += [
            Section(group.title, group.text, group.charts, wide=len(group.charts) == 1)
            for group in evidence_groups(calibration)
        ]
    page = calibration_page(summary, folder, command or _launch_of(summary), sections)
    return write_page(page, folder / REPORT)


def _launch_of(summary: Mapping[str, Any]) -> str:
    words = [f"{key}:={summary[key]}" for key in ("robot", "sim", "seed") if key in summary]
    said = shlex.split(str(summary.get("arguments") or ""))
    words += [word for word in said if not word.endswith(":=")]
    return spoken("launch", "calibrate", *words)


def calibration_page(
    summary: Mapping[str, Any],
    folder: Path,
    command: str,
    sections: Sequence[Section] = (),
) -> Page:
    """Return the page of a calibration by the keys `calibration.*` of summary.json (results.py).

    Missing keys are left out. `sections` are charts, such as the sizes, the way and residuals.
    """
    group = summary.get("calibration")
    about: Mapping[str, Any] = group if isinstance(group, Mapping) else {}
    result = dict(quantities(group))
    tone, verdict, advice = _verdict(summary, about, result)
    text = "Drift on a part of the drive that was not used for the fit."
    held_out = Section("Held-out motion", text, _held_out(about.get("held_out")), wide=True)
    return Page(
        title="calibrate",
        tone=tone,
        verdict=verdict,
        advice=advice,
        answer=answer(about),
        notes=calibration_notes(about),
        sections=[*sections, held_out],
        summary=summary,
        texts={"Repeat this": command, **yaml_texts(folder)},
    )


def _verdict(
    summary: Mapping[str, Any], about: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]]
) -> tuple[Tone, str, str]:
    reason = about.get("reason") or summary.get("reason") or "no reason given"
    if about.get("outcome") == "refused":
        return Tone.BAD, f"Refused: {reason}", "Do not use these values; see the figures below."
    unknown = [_words(name) for name, entry in results.items() if not entry.get("identified")]
    nothing = Tone.BAD, "Nothing was calibrated.", "Record the motion that the reasons ask for."
    if results and len(unknown) == len(results):
        return nothing
    if summary.get("outcome") == "failed":
        return Tone.BAD, f"The calibration failed: {reason}", "Fix that, and run it again."
    if summary.get("outcome") == "stopped" and not results:
        return Tone.BAD, f"Stopped: {reason}.", "Run it again, or calibrate from its recording."
    if not results:
        return nothing
    stopped = (
        "Interrupted; only the data until then were used. "
        if summary.get("outcome") == "stopped"
        else ""
    )
    step = str(summary.get("next_step") or "use calibration.yaml of this folder")
    use = f"Compare before and after below; {step}"
    said = "Given values confirmed" if about.get("outcome") == "confirmed" else "Calibrated"
    # Without a pose source or a tape the size of the wheels is not observable.
    of_odometry = SCALES[0] in results
    sizes = SCALES if of_odometry else SIZES
    lacking = [name for name in sizes if not (results.get(name) or {}).get("identified")]
    if lacking:
        names = ", ".join(map(_words, lacking))
        return Tone.CAUTION, f"{stopped}{said}, except {names}: not identified.", use
    rest = f"; not identified: {', '.join(unknown)}" if unknown else ""
    tone = Tone.CAUTION if stopped else Tone.GOOD
    what = "the scales of the odometry" if of_odometry else "both radii and the track"
    return tone, f"{stopped}{said}: {what}{rest}.", use


def _given(about: Mapping[str, Any]) -> dict[str, float]:
    given = about.get("given")
    if not isinstance(given, Mapping):
        return {}
    results = {str(k): float(v) for k, v in given.items() if isinstance(v, int | float)}
    if all(results.get(name) for name in SIZES):
        left, right, track = (results[name] for name in SIZES)
        results["track_over_mean_radius"] = track / (0.5 * (left + right))
        results["radius_ratio"] = right / left
    return results


def _words(name: str) -> str:
    return name.replace("_", " ").replace(".", " ")


def _unit(name: str, entry: Mapping[str, Any]) -> str:
    unit = str(entry.get("unit") or UNITS.get(name, ""))
    return "" if unit == "1" else unit.replace("^2", "²")


def calibration_notes(about: Mapping[str, Any]) -> list[str]:
    """Return why quantities are not identified, and the notes, of the keys `calibration.*`."""
    reasons: dict[str, list[str]] = {}
    for name, entry in quantities(about):
        if entry.get("reason"):
            reasons.setdefault(str(entry["reason"]), []).append(_words(name))
    lines = [f"{', '.join(names)}: not identified: {why}" for why, names in reasons.items()]
    return lines + [str(text) for text in about.get("notes") or ()]


def answer(about: Mapping[str, Any]) -> Table:
    """Return the quantities of the keys `calibration.*` with their intervals, and given values."""
    given = _given(about)
    rows, marks = [], []
    for name, entry in quantities(about):
        known = bool(entry.get("identified"))
        row = [_words(name), _unit(name, entry), *_ends(entry)]
        if given:
            row.append(f"{given[name]:.6g}" if name in given else MISSING)
        rows.append(row)
        marks.append(None if known else Tone.CAUTION)
    head = ["", "unit", "value", "95 % from", "to", *(["before"] if given else [])]
    return Table(head, rows, marks=marks)


def _ends(entry: Mapping[str, Any]) -> list[str]:
    """Return the value and both ends of its interval, which is asymmetric for noise."""
    value, half = entry["value"], half_width(entry)
    if not entry.get("identified") or half is None:
        return [MISSING if value is None else f"{value:.4g}", "not identified", MISSING]
    return [f"{number:.6g}" for number in (value, *interval_of(entry))]


def _held_out(figures: Any) -> list[Table]:
    rows = list(_figures(figures))
    return [Table(["", "unit", "value"], rows)] if rows else []


def _figures(figures: Any, prefix: str = "") -> Iterator[list[str]]:
    if isinstance(figures, Mapping):
        for name, entry in figures.items():
            yield from _figures(entry, f"{prefix} {_words(str(name))}".strip())
    elif isinstance(figures, list):
        yield [prefix, "", ", ".join(map(_figure, figures))]
    elif figures is not None:
        yield [prefix, PROOF_UNITS.get(prefix.rpartition(" ")[2], ""), _figure(figures)]


def _figure(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return significant(value, 3) if isinstance(value, float) else str(value)
