# SPDX-License-Identifier: Apache-2.0
"""What report.html shows of a calibration: lengths, offsets and noise, each with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from diffbot_report.page import Intervals, Page, Section, Table, Tone
from diffbot_report.quantity import MISSING, with_uncertainty
from diffbot_report.summary import yaml_texts

# Units of what has none of its own in summary.json, by the ends of names.
UNITS = {"left_radius": "m", "right_radius": "m", "track": "m"}


def calibration_page(
    summary: Mapping[str, Any],
    folder: Path,
    command: str,
    sections: Sequence[Section] = (),
    title: str = "calibrate",
) -> Page:
    """The page of a calibration.

    Args:
        summary: content of summary.json. Its key `calibration` holds quantities, in groups or not:
            each with `value`, `lower` and `upper` (95 %; None where there is none), `identified`,
            and where they are known `unit`, `reason` (why it is not identified) and `before` (what
            was believed before). `outcome`, `reason`, `warnings` and `notes` may be there.
        folder: of the results, for the files to copy.
        command: that repeats it.
        sections: evidence, such as paths before and after, residuals, correlation.
        title: what was run.
    """
    found = dict(quantities(summary.get("calibration")))
    tone, verdict, advice = _verdict(summary, found)
    before = _before(found)
    notes = [f"{name}: {entry['reason']}" for name, entry in found.items() if entry.get("reason")]
    notes += [f"warning: {text}" for text in summary.get("warnings") or ()]
    notes += [str(text) for text in summary.get("notes") or ()]
    own = Section("Before and after", "What was believed, and what was found with its 95 % "
                  "interval.", before)  # fmt: skip
    return Page(
        title=title,
        tone=tone,
        verdict=verdict,
        advice=advice,
        answer=_answer(found),
        notes=notes,
        sections=[section for section in (own, *sections) if section.parts],
        summary=summary,
        texts={"Repeat this": command, **yaml_texts(folder)},
    )


def quantities(group: Any, prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names, with dots between groups, and entries of all quantities; what is none is left out."""
    if not isinstance(group, Mapping):
        return
    for name, entry in group.items():
        full = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(entry, Mapping) and "value" in entry:
            yield full, entry
        else:
            yield from quantities(entry, full)


def _verdict(
    summary: Mapping[str, Any], found: Mapping[str, Mapping[str, Any]]
) -> tuple[Tone, str, str]:
    if summary.get("outcome") == "failed":
        return Tone.BAD, f"The calibration failed: {summary.get('reason')}", "Mend that first."
    unknown = [_words(name) for name, entry in found.items() if not entry.get("identified")]
    if not found or len(unknown) == len(found):
        return Tone.BAD, "Nothing was calibrated.", "See the reasons below, and record that motion."
    stopped = "Interrupted; what had come was used. " if summary.get("outcome") == "stopped" else ""
    use = "Use calibration.yaml of this folder; compare before and after below."
    if unknown:
        text = f"{stopped}Calibrated, but for {', '.join(unknown)}: not identified."
        return Tone.CAUTION, text, use
    tone = Tone.CAUTION if stopped else Tone.GOOD
    return tone, f"{stopped}All {len(found)} quantities are calibrated.", use


def _words(name: str) -> str:
    return name.replace("_", " ").replace(".", " ")


def _unit(name: str, entry: Mapping[str, Any]) -> str:
    return str(entry.get("unit") or UNITS.get(name, ""))


def half_width(entry: Mapping[str, Any]) -> float | None:
    """Half the width of the 95 % interval, from `lower` and `upper` or `interval95`."""
    low, high = entry.get("lower"), entry.get("upper")
    if isinstance(entry.get("interval95"), Sequence) and len(entry["interval95"]) == 2:
        low, high = entry["interval95"]
    if isinstance(low, int | float) and isinstance(high, int | float):
        return 0.5 * (high - low)
    return None


def _answer(found: Mapping[str, Mapping[str, Any]]) -> Table:
    told = any(entry.get("before") is not None for entry in found.values())
    rows, marks = [], []
    for name, entry in found.items():
        known = bool(entry.get("identified"))
        value, spread = with_uncertainty(entry["value"], half_width(entry))
        row = [_words(name), _unit(name, entry), value, spread if known else "not identified"]
        if told:
            before = entry.get("before")
            row.append(MISSING if before is None else f"{before:.6g}")
        rows.append(row)
        marks.append(None if known else Tone.CAUTION)
    return Table(["", "unit", "value", "± 95 %", *(["before"] if told else [])], rows, marks=marks)


def _before(found: Mapping[str, Mapping[str, Any]]) -> list[Intervals]:
    nan = float("nan")
    return [
        Intervals(f"before_{name.replace('.', '_')}", _words(name).capitalize(),
                  _unit(name, entry), ["found", "before"],
                  [nan if entry["value"] is None else entry["value"], entry["before"]],
                  [nan if (half := half_width(entry)) is None else half, nan])
        for name, entry in found.items()
        if entry.get("before") is not None
    ]  # fmt: skip
