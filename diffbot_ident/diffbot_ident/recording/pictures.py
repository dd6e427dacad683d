# SPDX-License-Identifier: Apache-2.0
"""Draw the findings from a recording for each kind of robot, as names and figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diffbot_ident.figure_style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    QUIET,
    legend,
    new_figure,
    panel_title,
    quiet,
    say,
)
from diffbot_ident.recording.motor_analysis import MotorAnalysis
from diffbot_ident.recording.samples import Array
from diffbot_ident.recording.sysid_log import TESTS
from diffbot_ident.recording.torque_analysis import AVERAGE, TorqueResult, free_run
from diffbot_ident.recording.velocity_analysis import AxisAnalysis
from diffbot_ident.recording.verdict import Verdict
from diffbot_ident.recording.voltage_analysis import VoltageAnalysis
from diffbot_ident.torque.estimate import NAMES, NORMAL_95, UNITS
from diffbot_ident.velocity.dead_time import DeadTimeFit
from diffbot_ident.velocity.first_order import AxisSegment, Prediction

# Maximum motion to draw, s; more would be unreadable.
SHOWN = 60.0

Shown = list[tuple[Array, AxisSegment, Array]]
"""Segments to draw: times on the time axis (s), the segment, simulated velocities."""


def axis_figures(axes: Mapping[str, AxisAnalysis]) -> Iterator[tuple[str, Figure]]:
    """Yield one picture for each axis of a velocity-commanded robot."""
    for name, analysis in axes.items():
        yield f"axis_{name}", _axis(analysis)


def _axis(analysis: AxisAnalysis) -> Figure:
    """Draw the held-out simulation, its residuals, and the scan of the dead time."""
    verdict = analysis.verdict
    figure = new_figure(f"The {verdict.subject} from a recording", verdict.headline(), 6.2)
    grid = figure.add_gridspec(
        2,
        2,
        left=0.08,
        right=0.98,
        top=0.80,
        bottom=0.09,
        hspace=0.45,
        wspace=0.2,
        height_ratios=(1.6, 1.0),
        width_ratios=(2.2, 1.0),
    )
    top = figure.add_subplot(grid[0, :])
    residual, scan = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    for panel in (top, residual, scan):
        quiet(panel)
    if analysis.fit is None or analysis.held_out is None:
        for panel in (top, residual, scan):
            say(panel, verdict.outcome.value)
        return figure
    shown = _longest(analysis.held_out)
    _velocities(top, shown, verdict)
    _residuals(residual, shown, verdict)
    _dead_times(scan, analysis.fit)
    legend(figure, below=0.62)
    return figure


def _longest(held_out: Prediction) -> Shown:
    """Return the longest segments, placed one after another on the time axis."""
    pairs = zip(held_out.segments, held_out.simulated, strict=True)
    chosen: Shown = []
    begin = 0.0
    for segment, simulated in sorted(pairs, key=lambda pair: -pair[0].duration):
        if begin < SHOWN:
            times = begin + np.float64(segment.period) * np.arange(len(simulated))
            chosen.append((times, segment, simulated))
            begin += segment.duration + 1.0
    return chosen


def _time_axis(panel: Axes, shown: Shown) -> None:
    panel.set_xlim(0.0, min(SHOWN, max(times[-1] for times, _, _ in shown)))
    panel.set_xlabel("time of motion, s", color=INK, fontsize=9)


def _velocities(panel: Axes, shown: Shown, verdict: Verdict) -> None:
    for times, segment, simulated in shown:
        new = segment.counts
        panel.step(
            times, segment.command, where="post", color=QUIET, linewidth=1.0, label="command"
        )
        _measured(panel, times[new], segment.velocity[new])
        label = "simulated, samples unseen by its fit"
        panel.plot(times, simulated, color=ORANGE, linewidth=1.6, label=label)
    _time_axis(panel, shown)
    panel_title(
        panel,
        f"velocity, {verdict.error_unit}",
        f"held out: R² {verdict.r_squared_held_out:.3f}",
    )


def _measured(panel: Axes, times: Array, velocity: Array) -> None:
    panel.plot(times, velocity, ".", markersize=3.0, color=BLUE, label="measured")


def _residuals(panel: Axes, shown: Shown, verdict: Verdict) -> None:
    for times, segment, simulated in shown:
        new = segment.counts
        error = (segment.velocity - simulated)[new]
        panel.plot(times[new], error, ".", markersize=2.5, color=GREEN)
    panel.axhline(0.0, color=QUIET, linewidth=0.8)
    _time_axis(panel, shown)
    panel_title(panel, f"residual, {verdict.error_unit}", f"rms {verdict.error_held_out:.3g}")


def _dead_times(panel: Axes, fit: DeadTimeFit) -> None:
    panel.plot(fit.scanned, fit.errors, ".-", color=BLUE, markersize=4.0, linewidth=1.0)
    half = NORMAL_95 * fit.dead_time_std
    if np.isfinite(half):
        panel.axvspan(
            max(fit.dead_time - half, 0.0), fit.dead_time + half, color=ORANGE, alpha=0.25
        )
    panel.axvline(fit.dead_time, color=ORANGE, linewidth=1.4)
    panel.set_xlim(0.0, max(float(fit.scanned[-1]), fit.dead_time))
    panel.set_xlabel("dead time tried, s", color=INK, fontsize=9)
    spread = f"± {half:.2g}" if np.isfinite(half) else "unknown"
    panel_title(panel, "residual", f"{fit.dead_time:.3f} {spread} s")


def voltage_figures(analyses: Sequence[VoltageAnalysis]) -> Iterator[tuple[str, Figure]]:
    """Yield one picture for each side and axis that was driven in a SysId log."""
    for analysis in analyses:
        if analysis.fit is not None:
            yield f"sysid_{analysis.verdict.subject.replace(' ', '_')}", _voltages(analysis)


def _voltages(analysis: VoltageAnalysis) -> Figure:
    """Draw the voltage over the velocity, and each test with its prediction."""
    verdict = analysis.verdict
    figure = new_figure(f"{verdict.subject.capitalize()} of a SysId log", verdict.headline(), 6.6)
    grid = figure.add_gridspec(
        2, 3, left=0.07, right=0.98, top=0.82, bottom=0.08, hspace=0.42, wspace=0.30
    )
    voltage = figure.add_subplot(grid[:, 0])
    quiet(voltage)
    _voltage(voltage, analysis)
    for i, name in enumerate(TESTS):
        panel = figure.add_subplot(grid[i // 2, 1 + i % 2])
        quiet(panel)
        prediction = analysis.predictions.get(name)
        if prediction is None:
            panel_title(panel, name, "")
            say(panel, "not recorded, or no motion")
        else:
            _prediction(panel, name, prediction, verdict.error_unit)
    legend(figure, below=0.62)
    return figure


def _voltage(panel: Axes, analysis: VoltageAnalysis) -> None:
    """Draw voltage over velocity in slow tests: about ks sign(v) + kv v, as ka dv/dt is small."""
    fit = analysis.fit
    if fit is None:
        return
    fastest = 0.0
    slow = [part for name, part in analysis.motions.items() if name.startswith("slow")]
    for segment in (segment for part in slow for segment in part):
        new = segment.counts
        voltage, velocity = segment.command[new], segment.velocity[new]
        panel.plot(velocity, voltage, ".", markersize=2.0, color=BLUE)
        fastest = max(fastest, float(np.abs(velocity).max()))
    for sign in (-1.0, 1.0):
        v = sign * np.array([0.0, fastest])
        panel.plot(v, sign * fit.ks + fit.kv * v, color=ORANGE, linewidth=1.6)
    panel.set_xlabel(f"velocity, {analysis.verdict.error_unit}", color=INK, fontsize=9)
    panel.set_ylabel("voltage of the slow tests, V", color=INK, fontsize=9)
    panel_title(panel, "fit", f"ks {fit.ks:.2f} V, kv {fit.kv:.2f}")


def _prediction(panel: Axes, name: str, prediction: Prediction, unit: str) -> None:
    begin, label = 0.0, "predicted from the other tests"
    for segment, simulated in zip(prediction.segments, prediction.simulated, strict=True):
        new = segment.counts
        times = begin + np.float64(segment.period) * np.arange(len(new))
        first = int(np.argmax(new))
        _measured(panel, times[new], segment.velocity[new])
        panel.plot(times[first:], simulated[first:], color=ORANGE, linewidth=1.5, label=label)
        begin = float(times[-1]) + 0.1
    panel.axhline(0.0, color=QUIET, linewidth=0.6)
    panel.set_xlabel("time, s", color=INK, fontsize=9)
    panel.set_ylabel(f"velocity, {unit}", color=INK, fontsize=9)
    panel_title(panel, name, f"rms {prediction.error:.2g}")


def motor_figures(analyses: Sequence[MotorAnalysis]) -> Iterator[tuple[str, Figure]]:
    """Yield one picture of both motors' voltage, measured and predicted by current and speed."""
    reason = analyses[0].verdict.headline()
    figure, panels = _two_panels("Two motors from their voltage and current", reason)
    for panel, analysis in zip(panels, analyses, strict=True):
        quiet(panel)
        panel.plot(analysis.predicted, color=ORANGE, linewidth=0.8, label="R i + Ke w")
        panel.plot(analysis.voltage, color=BLUE, linewidth=1.2, label="measured")
        panel_title(panel, analysis.verdict.subject, analysis.verdict.outcome.value)
        panel.set_ylabel("V", color=INK, fontsize=9)
    panels[1].set_xlabel("sample", color=INK, fontsize=9)
    legend(figure)
    yield "motors", figure


def _two_panels(title: str, subtitle: str) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure with two panels, one above the other, and its panels."""
    figure = new_figure(title, subtitle, 4.6)
    panels: Sequence[Axes] = figure.subplots(2, 1, sharex=True)
    figure.subplots_adjust(left=0.09, right=0.98, top=0.80, bottom=0.11, hspace=0.32)
    return figure, panels


def torque_figures(result: TorqueResult, verdict: Verdict) -> Iterator[tuple[str, Figure]]:
    """Yield pictures of parameters with intervals, and of a held-out part with its simulation."""
    yield "parameters", _parameters(result, verdict)
    if len(result.held_out_motion) > 10 * AVERAGE:
        yield "held_out", _held_out(result)


def _parameters(result: TorqueResult, verdict: Verdict) -> Figure:
    figure = new_figure("K5 to K8 from a recording", verdict.summary(), 3.6)
    panels = figure.subplots(1, 4)
    figure.subplots_adjust(left=0.03, right=0.98, top=0.66, bottom=0.16, wspace=0.18)
    nominal = result.nominal
    for i, axes in enumerate(panels):
        value, variance = result.estimate.values[i], result.estimate.variances[i]
        half = NORMAL_95 * math.sqrt(variance) if math.isfinite(variance) else math.nan
        quiet(axes)
        text = f"± {half:.1g}" if math.isfinite(half) else "not identifiable"
        panel_title(axes, NAMES[i].upper(), f"{value:.4g} {text}")
        axes.errorbar([value], [0.0], xerr=[half], fmt="o", color=BLUE, capsize=5, label="found")
        if nominal is not None:
            axes.plot([nominal.values[i]], [1.0], "D", color=ORANGE, label="as described")
        axes.set_ylim(-0.7, 1.7)
        axes.set_yticks([])
        axes.margins(x=0.4)
        axes.locator_params(axis="x", nbins=3)
        axes.set_xlabel(UNITS[i].replace("^2", "²"), color=INK, fontsize=9)
    legend(figure)
    return figure


def _held_out(result: TorqueResult) -> Figure:
    stamps, measured, simulated = free_run(result)
    figure, panels = _two_panels(
        "A held-out part of the recording",
        f"simulated for {stamps[-1] - stamps[0]:.1f} s from its first velocity and its torques",
    )
    for i, (axes, name, unit) in enumerate(
        zip(panels, ("velocity", "yaw rate"), ("m/s", "rad/s"), strict=True)
    ):
        quiet(axes)
        axes.plot(stamps - stamps[0], measured[i], color=QUIET, linewidth=2.2, label="measured")
        axes.plot(stamps - stamps[0], simulated[i], color=BLUE, linewidth=1.2, label="simulated")
        error = math.sqrt(float(np.mean((measured[i] - simulated[i]) ** 2)))
        panel_title(axes, name, f"error {error:.2g} {unit}")
        axes.set_ylabel(unit, color=INK, fontsize=9)
    panels[1].set_xlabel("time, s", color=INK, fontsize=9)
    legend(figure)
    return figure
