# SPDX-License-Identifier: Apache-2.0
"""Charts of the findings from a recording, for report.html and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diffbot_ident.estimate import NAMES, NORMAL_95, UNITS
from diffbot_recordings.axis_segment import AxisSegment, Prediction
from diffbot_recordings.motor_analysis import MotorAnalysis
from diffbot_recordings.torque_analysis import AVERAGE, TorqueResult, free_run
from diffbot_recordings.velocity_analysis import AxisAnalysis
from diffbot_recordings.verdict import AnalysisVerdict
from diffbot_recordings.voltage_analysis import VoltageAnalysis
from diffbot_report.chart import Chart, ChartGroup, Curve, Intervals, Role

Analyses = (
    TorqueResult | Mapping[str, AxisAnalysis] | Sequence[VoltageAnalysis] | Sequence[MotorAnalysis]
)
"""Analyses of a torque robot, of axes by "v" and "w", of sides and axes (voltage), or of motors."""
# Gap between segments of motion that are drawn side by side, s.
SPACE = 1.0


def chart_groups(analyses: Analyses) -> Iterator[ChartGroup]:
    """Yield the groups of charts of all analyses; a group without charts shows nothing."""
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


def _torque(result: TorqueResult) -> Iterator[ChartGroup]:
    estimate = result.estimate
    parts = []
    for i, (name, unit) in enumerate(zip(map(str.upper, NAMES), UNITS, strict=True)):
        variance = estimate.variances[i]
        half = NORMAL_95 * math.sqrt(variance) if 0.0 <= variance < math.inf else math.nan
        names, values, halves = ["found"], [estimate.values[i]], [half]
        if result.nominal is not None:
            names.append("as described")
            values.append(result.nominal.values[i])
            halves.append(math.nan)
        spread = f"± {half:.1g}" if math.isfinite(half) else "not identifiable"
        note = f"{estimate.values[i]:.4g} {spread}"
        unit = unit.replace("^2", "²")
        parts.append(Intervals(name, name, unit, names, values, halves, note=note))
    yield ChartGroup("parameters", "Parameters", "With their 95 % intervals.", parts)
    if len(result.held_out_motion) > 10 * AVERAGE:
        seconds = float(np.ptp(result.held_out_motion[:, 0]))
        text = (f"A part of the recording not used for the fit, simulated for {seconds:.1f}"
                " s from its first velocity and its torques.")  # fmt: skip
        yield ChartGroup("held_out", "Measured and predicted", text, _held_out_torque(result))


def _held_out_torque(result: TorqueResult) -> list[Chart]:
    stamps, measured, simulated = free_run(result)
    times = stamps - stamps[0]
    parts = []
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


def _velocity(axes: Mapping[str, AxisAnalysis]) -> Iterator[ChartGroup]:
    for axis, analysis in axes.items():
        verdict = analysis.verdict
        parts: list[Chart] = []
        if analysis.held_out is not None:
            parts += _predicted(axis, analysis.held_out, verdict, f"motion {axis}")
        if analysis.fit is not None:
            parts.append(_dead_times(axis, analysis))
        text = "Each sample is predicted from the commands alone, by a fit without it."
        yield ChartGroup(f"axis_{axis}", verdict.subject.capitalize(), text, parts)


def _predicted(
    key: str,
    prediction: Prediction,
    verdict: AnalysisVerdict,
    group: str,
    with_command: bool = True,
) -> list[Chart]:
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
    # With a missing time, a chart would return to the start.
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


def _voltage(analysis: VoltageAnalysis, number: int) -> ChartGroup:
    verdict, fit = analysis.verdict, analysis.fit
    parts = []
    if fit is not None:
        slow = [s for name, motion in analysis.motions.items() if name.startswith("slow")
                for s in motion]  # fmt: skip
        parts.append(_slow_tests(f"slow_{number}", slow, fit.ks, fit.kv, verdict.error_unit))
    for i, (name, prediction) in enumerate(analysis.predictions.items()):
        chart, residual = _predicted(f"{number}_{i}", prediction, verdict, f"{number} {i}", False)
        note = f"rms {prediction.error:.2g} {verdict.error_unit}"
        parts += [replace(chart, title=name, x_unit="time, s", note=note), residual]
    text = f"{verdict.summary()}. Each test is predicted by a fit to the other tests."
    name = f"sysid_{verdict.subject.replace(' ', '_')}"
    return ChartGroup(name, verdict.subject.capitalize(), text, parts)


def _slow_tests(
    key: str, segments: Sequence[AxisSegment], ks: float, kv: float, unit: str
) -> Chart:
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


def _motor(analysis: MotorAnalysis, number: int) -> ChartGroup:
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
    subject, text = analysis.verdict.subject, analysis.verdict.summary()
    return ChartGroup(subject.replace(" ", "_"), subject.capitalize(), text, parts)
