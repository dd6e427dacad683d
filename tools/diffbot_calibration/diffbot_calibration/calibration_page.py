# SPDX-License-Identifier: Apache-2.0
"""report.html of a calibration: lengths, offsets and noise, each with its interval."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from diffbot_calibration.calibration import Calibration
from diffbot_calibration.calibration_charts import evidence_groups
from diffbot_description.files import SUMMARY
from diffbot_description.spoken_commands import spoken
from diffbot_report.chart import Intervals
from diffbot_report.page import REPORT, Page, Section, Table, Tone, write_page
from diffbot_report.quantity import MISSING, half_width, interval_of, quantities, significant
from diffbot_report.summary import yaml_texts

# Units of quantities without a unit in summary.json, by name.
UNITS = {"left_radius": "m", "right_radius": "m", "track": "m"}
SIZES = ("left_radius", "right_radius", "track")
SCALES = ("linear_scale", "angular_scale", "heading_drift")
# Units of the figures of the held-out check, by the last word of their names.
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
    groups = () if calibration is None else evidence_groups(calibration)
    sections = [
        Section(group.title, group.text, group.charts, wide=len(group.charts) == 1)
        for group in groups
    ]
    page = calibration_page(summary, folder, command or _launch_of(summary), sections)
    return write_page(page, folder / REPORT)


def _launch_of(summary: Mapping[str, Any]) -> str:
    words = [f"{key}:={summary[key]}" for key in ("robot", "sim", "seed") if key in summary]
    said = shlex.split(str(summary.get("arguments") or ""))
    # Empty arguments were not given.
    words += [word for word in said if not word.endswith(":=")]
    return spoken("launch", "calibrate", *words)


def calibration_page(
    summary: Mapping[str, Any],
    folder: Path,
    command: str,
    sections: Sequence[Section] = (),
) -> Page:
    """Return the page of a calibration by the keys `calibration.*` of summary.json (results.py).

    Missing keys are left out. `sections` are evidence, such as the way and residuals.
    """
    group = summary.get("calibration")
    about: Mapping[str, Any] = group if isinstance(group, Mapping) else {}
    result = dict(quantities(group))
    before = _given(about)
    tone, verdict, advice = _verdict(summary, about, result)
    reasons: dict[str, list[str]] = {}
    for name, entry in result.items():
        if entry.get("reason"):
            reasons.setdefault(str(entry["reason"]), []).append(_words(name))
    notes = [f"{', '.join(names)}: not identified: {why}" for why, names in reasons.items()]
    notes += [str(text) for text in about.get("notes") or ()]
    own = (
        Section("Before and after", "Given values, and calibrated ones with their 95 % "
                "intervals.", _before(result, before)),
        Section("Held-out motion", "Drift on a part of the drive that was not used for the fit.",
                _held_out(about.get("held_out")), wide=True),
    )  # fmt: skip
    return Page(
        title="calibrate",
        tone=tone,
        verdict=verdict,
        advice=advice,
        answer=_answer(result, before),
        notes=notes,
        sections=[*own, *sections],
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


def _answer(results: Mapping[str, Mapping[str, Any]], given: Mapping[str, float]) -> Table:
    rows, marks = [], []
    for name, entry in results.items():
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


def _before(
    results: Mapping[str, Mapping[str, Any]], given: Mapping[str, float]
) -> list[Intervals]:
    nan = float("nan")
    return [
        Intervals(f"before_{name.replace('.', '_')}", _words(name).capitalize(),
                  _unit(name, entry), ["found", "before"],
                  [nan if entry["value"] is None else entry["value"], given[name]],
                  [nan if (half := half_width(entry)) is None else half, nan])
        for name, entry in results.items()
        if name in given and entry.get("identified")
    ]  # fmt: skip


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
