# SPDX-License-Identifier: Apache-2.0
"""report.html of an identified recording, for each kind of robot."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diffbot_ident.recording.findings import Findings, Usable
from diffbot_ident.recording.motor_analysis import MotorAnalysis
from diffbot_ident.recording.torque_analysis import AVERAGE, TorqueResult, free_run
from diffbot_ident.recording.velocity_analysis import AxisAnalysis
from diffbot_ident.recording.verdict import AnalysisOutcome, Verdict
from diffbot_ident.recording.voltage_analysis import VoltageAnalysis
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_ident.velocity.first_order import AxisSegment, Prediction
from diffbot_report.ident_page import correlation
from diffbot_report.page import Chart, Curve, Intervals, Page, Part, Role, Section, Table, Tone
from diffbot_report.quantity import MISSING, UNITS, significant
from diffbot_report.summary import yaml_texts

TONES = {Usable.ALL: Tone.GOOD, Usable.SOME: Tone.CAUTION, Usable.NONE: Tone.BAD}
MARKS = {True: Tone.GOOD, False: Tone.BAD, None: Tone.CAUTION}
RESULTS = {True: "passed", False: "FAILED", None: "not decided"}
# Gap between segments of motion that are drawn side by side, s.
SPACE = 1.0


def identify_page(
    findings: Findings, summary: Mapping[str, Any], folder: Path, words: Sequence[str]
) -> Page:
    """Return the page of `diffbot identify`.

    Args:
        findings: Findings of the recording.
        summary: Content of summary.json.
        folder: Folder of the results, for the files to copy.
        words: Command-line arguments that repeat it.
    """
    stopped = summary.get("outcome") == "stopped"
    notes = [*(note for verdict in findings.verdicts for note in verdict.notes), *findings.notes]
    if stopped:
        notes.insert(0, "Interrupted: these results use only the data that were read until then.")
    files = ", ".join(Path(name).name for name in summary.get("files", []))
    tone = TONES[findings.usable]
    return Page(
        title=f"identify {files}",
        tone=Tone.CAUTION if stopped and tone is Tone.GOOD else tone,
        verdict=_verdict_text(findings),
        advice=_advice(findings, folder),
        answer=_answer(findings.verdicts),
        notes=notes,
        sections=list(_sections(findings)),
        summary=summary,
        texts={
            "Repeat this": shlex.join(["./diffbot", "identify", *words]),
            **yaml_texts(folder),
        },
    )


def _verdict_text(findings: Findings) -> str:
    if findings.usable is Usable.ALL:
        names = ", ".join(verdict.subject for verdict in findings.verdicts)
        return f"Identified and usable: {names}."
    # Long reasons are in the table below.
    texts = (verdict.headline(160) for verdict in findings.verdicts if not verdict.usable)
    return "; ".join(texts)


def _advice(findings: Findings, folder: Path) -> str:
    files = ", ".join(path.name for path in sorted(folder.glob("*_parameters.yaml")))
    if findings.usable is Usable.NONE:
        return "Make a new recording as the reason below asks, and identify that one."
    rest = "" if findings.usable is Usable.ALL else " For the others, see the reason below."
    return f"Controllers take {files or 'the parameter file'} of this folder.{rest}"


def _answer(verdicts: Sequence[Verdict]) -> Table:
    several = len(verdicts) > 1
    rows, marks = [], []
    for verdict in verdicts:
        for name, value, spread, unit in verdict.rows():
            subject = f"{verdict.subject}: {name}" if several else name
            rows.append([subject, unit.replace("^2", "²"), value, spread.removeprefix("± ")])
            marks.append(None if verdict.usable else Tone.CAUTION)
    return Table(["", "unit", "value", "± 95 %"], rows, marks=marks)


def _sections(findings: Findings) -> Iterator[Section]:
    yield Section("Verdicts", "Whether it may be used, and how well it predicts other data.",
                  [_verdicts(findings.verdicts)], wide=True)  # fmt: skip
    analyses = findings.analyses
    if isinstance(analyses, TorqueResult):
        yield from _torque(analyses)
    elif isinstance(analyses, Mapping):
        yield from _velocity(analyses)
    else:
        for i, analysis in enumerate(analyses):
            if isinstance(analysis, VoltageAnalysis):
                yield _voltage(analysis, i)
            elif isinstance(analysis, MotorAnalysis):
                yield _motor(analysis, i)
    if evidence := [_evidence(verdict) for verdict in findings.verdicts if verdict.evidence]:
        yield Section("Evidence", "Tests of the model.", evidence, wide=True)


def _verdicts(verdicts: Sequence[Verdict]) -> Table:
    tones = {AnalysisOutcome.ESTIMATED: Tone.GOOD, AnalysisOutcome.REFUSED: Tone.BAD}
    rows = [
        [v.subject, _number(v.r_squared_held_out), _number(v.r_squared_fit),
         f"{significant(v.error_held_out, 3)} {v.error_unit}"
         if math.isfinite(v.error_held_out) else MISSING,
         v.reason, v.outcome.value]
        for v in verdicts
    ]  # fmt: skip
    head = ["", "R² held out", "R² fitted", "error held out", "reason", "verdict"]
    told = [i for i, _ in enumerate(head) if any(row[i] not in ("", MISSING) for row in rows)]
    marks = [tones.get(verdict.outcome, Tone.CAUTION) for verdict in verdicts]
    return Table([head[i] for i in told], [[row[i] for i in told] for row in rows], marks=marks)


def _number(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else MISSING


def _evidence(verdict: Verdict) -> Table:
    rows = [
        [item.test, significant(item.found, 3) if math.isfinite(item.found) else MISSING,
         item.limit, RESULTS[item.passed]]
        for item in verdict.evidence
    ]  # fmt: skip
    marks = [MARKS[item.passed] for item in verdict.evidence]
    return Table(["test", "found", "must be", "result"], rows, verdict.subject, marks=marks)


def _torque(result: TorqueResult) -> Iterator[Section]:
    estimate = result.estimate
    parts: list[Part] = []
    for i, (name, unit) in enumerate(UNITS.items()):
        variance = estimate.variances[i]
        half = NORMAL_95 * math.sqrt(variance) if 0.0 <= variance < math.inf else math.nan
        names, values, halves = ["found"], [estimate.values[i]], [half]
        if result.nominal is not None:
            names.append("as described")
            values.append(result.nominal.values[i])
            halves.append(math.nan)
        note = "" if math.isfinite(half) else "not identifiable"
        parts.append(Intervals(name, name, unit, names, values, halves, note=note))
    yield Section("Parameters", "With their 95 % intervals.", parts)
    if len(result.held_out_motion) > 10 * AVERAGE:
        seconds = float(np.ptp(result.held_out_motion[:, 0]))
        text = (f"A part of the recording not used for the fit, simulated for {seconds:.1f}"
                " s from its first velocity and its torques.")  # fmt: skip
        yield Section("Measured and predicted", text, _held_out_torque(result))
    yield Section(
        "Trust", "Parameters that the recording cannot distinguish.", correlation(estimate)
    )


def _held_out_torque(result: TorqueResult) -> list[Part]:
    stamps, measured, simulated = free_run(result)
    times = stamps - stamps[0]
    parts: list[Part] = []
    for i, (key, name, unit) in enumerate(
        (("v", "Velocity", "m/s"), ("omega", "Yaw rate", "rad/s"))
    ):
        curves = [
            Curve("measured", times, measured[i]),
            Curve("predicted", times, simulated[i], Role.SECOND, dashed=True),
        ]
        parts.append(Chart(f"held_out_{key}", name, unit, curves))
        parts.append(_residual(f"residual_{key}", name, unit, times, measured[i] - simulated[i]))
    torques = [
        Curve(name, result.held_out_motion[:, 0] - stamps[0], result.held_out_motion[:, 3 + i],
              role, steps=True)
        for i, (name, role) in enumerate((("left", Role.FIRST), ("right", Role.SECOND)))
    ]  # fmt: skip
    return [*parts, Chart("torque", "Wheel torques", "N m", torques)]


def _residual(key: str, name: str, unit: str, times: Any, rest: Any) -> Chart:
    known = rest[np.isfinite(rest)]
    note = f"rms {math.sqrt(float(np.mean(known**2))):.3g} {unit}" if len(known) else ""
    curve = Curve("residual", times, rest, Role.FOURTH, dots=True)
    return Chart(key, f"{name}: measured less predicted", unit, [curve], note=note)


def _velocity(axes: Mapping[str, AxisAnalysis]) -> Iterator[Section]:
    for axis, analysis in axes.items():
        verdict = analysis.verdict
        parts: list[Part] = []
        if analysis.held_out is not None:
            parts += _predicted(axis, analysis.held_out, verdict, f"motion {axis}")
        if analysis.fit is not None:
            parts.append(_dead_times(axis, analysis))
        text = "Each sample is predicted from the commands alone, by a fit without it."
        yield Section(verdict.subject.capitalize(), text, parts)


def _predicted(
    key: str, prediction: Prediction, verdict: Verdict, group: str, with_command: bool = True
) -> list[Chart]:
    """Chart measured and predicted values, and the residuals, of all segments side by side."""
    columns: list[list[Any]] = [[] for _ in range(5)]
    begin, gap = 0.0, np.array([math.nan])
    for segment, simulated in zip(prediction.segments, prediction.simulated, strict=True):
        times = begin + segment.period * np.arange(len(simulated))
        measured = np.where(segment.counts, segment.velocity, math.nan)
        parts = (times, segment.command, measured, simulated, measured - simulated)
        for column, part in zip(columns, parts, strict=True):
            column += [part, gap]
        begin = float(times[-1]) + SPACE
    time, commands, measured, simulated, rest = (np.concatenate(column) for column in columns)
    # Gaps need a time, too: with a missing time, a chart would return to the start.
    time = np.where(np.isfinite(time), time, np.roll(time, 1))
    unit = verdict.error_unit
    curves = [
        Curve("measured", time, measured, dots=True),
        Curve("predicted", time, simulated, Role.SECOND),
    ]
    if with_command:
        curves.insert(0, Curve("command", time, commands, Role.QUIET, steps=True))
    rms = verdict.error_held_out
    note = f"rms {rms:.3g} {unit}" if math.isfinite(rms) else ""
    residual = _residual(f"residual_{key}", "Velocity", unit, time, rest)
    x_unit = "time of motion, s"
    return [
        Chart(f"held_out_{key}", "Velocity", unit, curves, x_unit, group, note),
        replace(residual, x_unit=x_unit, group=group),
    ]


def _dead_times(axis: str, analysis: AxisAnalysis) -> Chart:
    fit = analysis.fit
    assert fit is not None
    half = NORMAL_95 * fit.dead_time_std
    spread = f"± {half:.2g}" if math.isfinite(half) else "± unknown"
    curve = Curve("tried", fit.scanned, fit.errors)
    return Chart(f"dead_time_{axis}", "Residual by dead time", analysis.verdict.error_unit,
                 [curve], "dead time tried, s", None, f"{fit.dead_time:.3f} {spread} s",
                 events=[(fit.dead_time, "best")])  # fmt: skip


def _voltage(analysis: VoltageAnalysis, number: int) -> Section:
    verdict, fit = analysis.verdict, analysis.fit
    parts: list[Part] = []
    if fit is not None:
        slow = [s for name, motion in analysis.motions.items() if name.startswith("slow")
                for s in motion]  # fmt: skip
        parts.append(_slow_tests(f"slow_{number}", slow, fit.ks, fit.kv, verdict.error_unit))
    for i, (name, prediction) in enumerate(analysis.predictions.items()):
        chart, residual = _predicted(f"{number}_{i}", prediction, verdict, f"{number} {i}", False)
        note = f"rms {prediction.error:.2g} {verdict.error_unit}"
        parts += [replace(chart, title=name, x_unit="time, s", note=note), residual]
    text = f"{verdict.summary()}. Each test is predicted by a fit to the other tests."
    return Section(verdict.subject.capitalize(), text, parts)


def _slow_tests(
    key: str, segments: Sequence[AxisSegment], ks: float, kv: float, unit: str
) -> Chart:
    """Chart slow tests, where dv/dt is small: voltage ks sign(v) + kv v, and a little ka dv/dt."""
    speeds = [segment.velocity[segment.counts] for segment in segments]
    v = np.concatenate(speeds) if speeds else np.empty(0)
    volts = np.concatenate([s.command[s.counts] for s in segments]) if segments else np.empty(0)
    fastest = float(np.abs(v).max()) if len(v) else 0.0
    line = np.array([-fastest, -1e-9, 1e-9, fastest])
    curves = [
        Curve("slow tests", v, volts, dots=True),
        Curve("ks sign(v) + kv v", line, ks * np.sign(line) + kv * line, Role.SECOND),
    ]
    note = f"ks {ks:.2f} V, kv {kv:.2f} V per {unit}"
    return Chart(key, "Voltage of the slow tests", "V", curves, f"velocity, {unit}", None, note)


def _motor(analysis: MotorAnalysis, number: int) -> Section:
    samples = np.arange(len(analysis.voltage))
    curves = [
        Curve("measured", samples, analysis.voltage),
        Curve("R i + Ke w", samples, analysis.predicted, Role.SECOND),
    ]
    rest = analysis.voltage - analysis.predicted
    parts = [
        Chart(f"voltage_{number}", "Voltage", "V", curves, "sample", "motors"),
        Chart(f"rest_{number}", "Voltage: measured less predicted", "V",
              [Curve("residual", samples, rest, Role.FOURTH)], "sample", "motors"),
    ]  # fmt: skip
    return Section(analysis.verdict.subject.capitalize(), analysis.verdict.summary(), parts)
