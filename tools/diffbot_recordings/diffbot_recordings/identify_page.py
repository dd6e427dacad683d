# SPDX-License-Identifier: Apache-2.0
"""report.html of an identified recording, for each kind of robot."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from diffbot_description.files import SUMMARY, VELOCITY_FILE
from diffbot_description.spoken_commands import spoken
from diffbot_recordings.findings import Findings, Usable
from diffbot_recordings.recording_charts import chart_groups
from diffbot_recordings.torque_analysis import TorqueResult
from diffbot_recordings.verdict import AnalysisOutcome, AnalysisVerdict, answer
from diffbot_report.ident_page import correlation
from diffbot_report.page import REPORT, Page, Section, Table, Tone, write_page
from diffbot_report.quantity import MISSING, significant
from diffbot_report.summary import yaml_texts

TONES = {Usable.ALL: Tone.GOOD, Usable.SOME: Tone.CAUTION, Usable.NONE: Tone.BAD}
MARKS = {True: Tone.GOOD, False: Tone.BAD, None: Tone.CAUTION}
RESULTS = {True: "passed", False: "FAILED", None: "not decided"}


def write_identify_page(findings: Findings, folder: Path, words: Sequence[str]) -> Path:
    """Write report.html beside the summary.json of `diffbot identify`; return its path.

    Args:
        words: Command-line arguments that repeat it.

    Raises:
        ModuleNotFoundError: plotly is not installed.
    """
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    files = ", ".join(Path(name).name for name in summary.get("files", []))
    page = findings_page(
        findings, summary, folder, f"identify {files}", {"Repeat this": spoken("identify", *words)}
    )
    return write_page(page, folder / REPORT)


def findings_page(
    findings: Findings,
    summary: Mapping[str, Any],
    folder: Path,
    title: str,
    texts: Mapping[str, str],
) -> Page:
    """Return a page of findings; `summary` is the content of summary.json, `texts` to be copied."""
    stopped = summary.get("outcome") == "stopped"
    notes = [*(note for verdict in findings.verdicts for note in verdict.notes), *findings.notes]
    if stopped:
        notes.insert(0, "Interrupted: these results use only the data that were read until then.")
    tone = TONES[findings.usable]
    return Page(
        title=title,
        tone=Tone.CAUTION if stopped and tone is Tone.GOOD else tone,
        verdict=_verdict_text(findings),
        advice=_advice(findings, summary, folder),
        answer=answer(findings.verdicts),
        notes=notes,
        sections=list(_sections(findings)),
        summary=summary,
        texts={**texts, **yaml_texts(folder)},
    )


def _verdict_text(findings: Findings) -> str:
    if findings.usable is Usable.ALL:
        names = ", ".join(verdict.subject for verdict in findings.verdicts)
        return f"Identified and usable: {names}."
    texts = (verdict.headline(160) for verdict in findings.verdicts if not verdict.usable)
    return "; ".join(texts)


def _advice(findings: Findings, summary: Mapping[str, Any], folder: Path) -> str:
    files = ", ".join(path.name for path in sorted(folder.glob("*_parameters.yaml")))
    if findings.usable is Usable.NONE:
        return "Make a new recording as the reason below asks, and identify that one."
    rest = "" if findings.usable is Usable.ALL else " For the others, see the reason below."
    parameters = folder / VELOCITY_FILE
    if parameters.exists():
        own = folder / f"{summary.get('robot')}.yaml"
        robot = [f"robot:={own}"] if own.exists() else []
        drive = spoken("launch", "drive", "commands:=velocity", f"parameters:={parameters}", *robot)
        nav2 = spoken("export", str(folder), "--to", "nav2", "--output", "nav2")
        return f"Drive with it: {drive}. For Nav2: {nav2}.{rest}"
    return f"Controllers take {files or 'the parameter file'} of this folder.{rest}"


def _sections(findings: Findings) -> Iterator[Section]:
    yield Section("Verdicts", "Whether it may be used, and how well it predicts other data.",
                  [_verdicts(findings.verdicts)], wide=True)  # fmt: skip
    for group in chart_groups(findings.analyses):
        yield Section(group.title, group.text, group.charts)
    if isinstance(findings.analyses, TorqueResult):
        distinguished = correlation(findings.analyses.estimate)
        yield Section("Trust", "Parameters that the recording cannot distinguish.", distinguished)
    if evidence := [_evidence(verdict) for verdict in findings.verdicts if verdict.evidence]:
        yield Section("Evidence", "Tests of the model.", evidence, wide=True)


def _verdicts(verdicts: Sequence[AnalysisVerdict]) -> Table:
    tones = {AnalysisOutcome.ESTIMATED: Tone.GOOD, AnalysisOutcome.REFUSED: Tone.BAD}
    rows = [
        [v.subject, _number(v.r_squared_held_out), _number(v.r_squared_fit),
         f"{significant(v.error_held_out, 3)} {v.error_unit}"
         if math.isfinite(v.error_held_out) else MISSING,
         v.reason, v.outcome.value]
        for v in verdicts
    ]  # fmt: skip
    head = ["", "R² held out", "R² fitted", "error held out", "reason", "verdict"]
    reported = [i for i, _ in enumerate(head) if any(row[i] not in ("", MISSING) for row in rows)]
    marks = [tones.get(verdict.outcome, Tone.CAUTION) for verdict in verdicts]
    return Table(
        [head[i] for i in reported], [[row[i] for i in reported] for row in rows], marks=marks
    )


def _number(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else MISSING


def _evidence(verdict: AnalysisVerdict) -> Table:
    rows = [
        [item.test, significant(item.result, 3) if math.isfinite(item.result) else MISSING,
         item.limit, RESULTS[item.passed]]
        for item in verdict.evidence
    ]  # fmt: skip
    marks = [MARKS[item.passed] for item in verdict.evidence]
    return Table(["test", "found", "must be", "result"], rows, verdict.subject, marks=marks)
