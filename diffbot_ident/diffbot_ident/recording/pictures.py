"""Pictures of what was found in a recording: velocity axes, and SysId logs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from diffbot_description import write_atomically
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
from diffbot_ident.recording.stream import Array
from diffbot_ident.recording.sysid import TESTS, Prediction, SysIdAnalysis
from diffbot_ident.recording.torque_analysis import TorqueResult
from diffbot_ident.recording.velocity_analysis import AxisAnalysis, HeldOut
from diffbot_ident.recording.verdict import Verdict
from diffbot_ident.torque.estimate import NAMES, NORMAL_95, UNITS
from diffbot_ident.torque.integral_rows import delayed, turns
from diffbot_ident.velocity.first_order import Stretch
from diffbot_ident.verification import Model

# ---
# Pictures of velocity axes: what was measured, what unseen samples were told to be, dead times.

# Motion that is drawn, s: more would be a blur.
SHOWN = 60.0


def draw_axes(axes: Mapping[str, AxisAnalysis], directory: Path) -> Sequence[Path]:
    """One picture for each axis, named after it; the paths.

    Args:
        axes: by name, such as "v" and "w".
        directory: exists.
    """
    paths = []
    for name, analysis in axes.items():
        paths.append(directory / f"axis_{name}.png")
        write_atomically(paths[-1], axis_picture(analysis).savefig)
    return paths


def axis_picture(analysis: AxisAnalysis) -> Figure:
    """Held-out simulation, its residual, and the dead time's scan."""
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
    shown = _shown(analysis.held_out)
    if analysis.fit is None or not shown:
        for panel in (top, residual, scan):
            say(panel, verdict.outcome.value)
        return figure
    _velocities(top, shown, verdict)
    _residuals(residual, shown, verdict)
    _dead_times(scan, analysis)
    legend(figure, below=0.62)
    return figure


def _shown(held_out: Sequence[HeldOut]) -> list[tuple[float, HeldOut]]:
    """Stretches that are drawn, each with its beginning on the time axis: the longest ones."""
    by_length = sorted(held_out, key=lambda part: -part.stretch.duration)
    chosen, begin = [], 0.0
    for part in by_length:
        if begin < SHOWN:
            chosen.append((begin, part))
            begin += part.stretch.duration + 1.0
    return chosen


def _times(begin: float, part: HeldOut) -> Array:
    return begin + part.stretch.period * np.arange(len(part.simulated))


def _new(part: HeldOut) -> NDArray[np.bool_]:
    fresh = part.stretch.fresh
    return np.ones(len(part.simulated), bool) if fresh is None else np.asarray(fresh, bool)


def _velocities(panel: Axes, shown: Sequence[tuple[float, HeldOut]], verdict: Verdict) -> None:
    for i, (begin, part) in enumerate(shown):
        times, new = _times(begin, part), _new(part)
        names = ("command", "measured", "simulated, samples unseen by its fit")
        command, measured, simulated = names if i == 0 else (None, None, None)
        panel.plot(
            times,
            part.stretch.command,
            color=QUIET,
            linewidth=1.0,
            drawstyle="steps-post",
            label=command,
        )
        panel.plot(
            times[new], part.stretch.velocity[new], ".", markersize=3.0, color=BLUE, label=measured
        )
        panel.plot(times, part.simulated, color=ORANGE, linewidth=1.6, label=simulated)
    panel.set_xlim(0.0, min(SHOWN, max(_times(b, p)[-1] for b, p in shown)))
    panel.set_xlabel("time of motion, s", color=INK, fontsize=9)
    panel_title(
        panel,
        f"velocity, {verdict.error_unit}",
        f"held out: R² {verdict.r_squared_held_out:.3f}",
    )


def _residuals(panel: Axes, shown: Sequence[tuple[float, HeldOut]], verdict: Verdict) -> None:
    for begin, part in shown:
        new = _new(part)
        error = (part.stretch.velocity - part.simulated)[new]
        panel.plot(_times(begin, part)[new], error, ".", markersize=2.5, color=GREEN)
    panel.axhline(0.0, color=QUIET, linewidth=0.8)
    panel.set_xlim(0.0, min(SHOWN, max(_times(b, p)[-1] for b, p in shown)))
    panel.set_xlabel("time of motion, s", color=INK, fontsize=9)
    panel_title(panel, f"residual, {verdict.error_unit}", f"rms {verdict.error_held_out:.3g}")


def _dead_times(panel: Axes, analysis: AxisAnalysis) -> None:
    fit = analysis.fit
    if fit is None:
        return
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


# ---
# Pictures of a SysId log: each side and axis, its tests predicted by a fit to the other tests.


def draw_sysid(analyses: Sequence[SysIdAnalysis], directory: Path) -> Sequence[Path]:
    """One picture for each side and axis that was driven; the paths."""
    paths = []
    for analysis in analyses:
        if analysis.fit is None:
            continue
        name = analysis.verdict.subject.replace(" ", "_")
        paths.append(directory / f"sysid_{name}.png")
        write_atomically(paths[-1], sysid_picture(analysis).savefig)
    return paths


def sysid_picture(analysis: SysIdAnalysis) -> Figure:
    """The voltage against the velocity that it holds, and each test beside its prediction."""
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


def _shown_motions(stretch: Stretch) -> NDArray[np.bool_]:
    count = len(stretch.velocity)
    return np.ones(count, bool) if stretch.fresh is None else np.asarray(stretch.fresh, bool)


def _voltage(panel: Axes, analysis: SysIdAnalysis) -> None:
    """Slow tests hardly accelerate: their voltage is ks sign(v) + kv v, and a little ka dv/dt."""
    fit = analysis.fit
    if fit is None:
        return
    fastest = 0.0
    for name, stretches in analysis.stretches.items():
        if not name.startswith("slow"):
            continue
        for stretch in stretches:
            new = _shown_motions(stretch)
            voltage, velocity = stretch.command[new], stretch.velocity[new]
            panel.plot(velocity, voltage, ".", markersize=2.0, color=BLUE)
            fastest = max(fastest, float(np.abs(velocity).max()))
    for sign in (-1.0, 1.0):
        v = sign * np.array([0.0, fastest])
        panel.plot(v, sign * fit.friction + fit.fit.model.drag * v, color=ORANGE, linewidth=1.6)
    panel.set_xlabel(f"velocity, {analysis.verdict.error_unit}", color=INK, fontsize=9)
    panel.set_ylabel("voltage of the slow tests, V", color=INK, fontsize=9)
    panel_title(panel, "fit", f"ks {fit.friction:.2f} V, kv {fit.fit.model.drag:.2f}")


def _prediction(panel: Axes, name: str, prediction: Prediction, unit: str) -> None:
    begin = 0.0
    for i, (stretch, simulated) in enumerate(
        zip(prediction.stretches, prediction.simulated, strict=True)
    ):
        new = _shown_motions(stretch)
        times = begin + stretch.period * np.arange(len(new))
        first = int(np.argmax(new))
        labels = ("measured", "predicted from the other tests") if i == 0 else (None, None)
        panel.plot(
            times[new], stretch.velocity[new], ".", markersize=3.0, color=BLUE, label=labels[0]
        )
        panel.plot(times[first:], simulated[first:], color=ORANGE, linewidth=1.5, label=labels[1])
        begin = float(times[-1]) + 0.1
    panel.axhline(0.0, color=QUIET, linewidth=0.6)
    panel.set_xlabel("time, s", color=INK, fontsize=9)
    panel.set_ylabel(f"velocity, {unit}", color=INK, fontsize=9)
    panel_title(panel, name, f"rms {prediction.error:.2g}")


__all__ = ["draw_axes", "draw_sysid"]


# ---
# Pictures of a torque robot that was identified from a recording.

# Control periods that a measured velocity is averaged over: an encoder's steps would hide it.
AVERAGE = 5


def draw(directory: Path, result: TorqueResult, verdict: Verdict) -> Sequence[Path]:
    """Parameters with their intervals, and a part held out beside its simulation; the paths."""
    figures = {"parameters": _parameters(result, verdict)}
    if len(result.held_out_motion) > 10 * AVERAGE:
        figures["held_out"] = _held_out(result)
    paths = []
    for name, figure in figures.items():
        paths.append(directory / f"{name}.png")
        write_atomically(paths[-1], figure.savefig)
    return paths


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
    figure = new_figure(
        "A part of the recording that nothing was learnt from",
        f"simulated for {stamps[-1] - stamps[0]:.1f} s from its first velocity and its torques",
        4.6,
    )
    panels = figure.subplots(2, 1, sharex=True)
    figure.subplots_adjust(left=0.09, right=0.98, top=0.80, bottom=0.11, hspace=0.32)
    for i, (axes, name, unit) in enumerate(
        zip(panels, ("velocity", "yaw rate"), ("m/s", "rad/s"), strict=True)
    ):
        _panel(axes, stamps - stamps[0], measured[i], simulated[i])
        error = math.sqrt(float(np.mean((measured[i] - simulated[i]) ** 2)))
        panel_title(axes, name, f"error {error:.2g} {unit}")
        axes.set_ylabel(unit, color=INK, fontsize=9)
    panels[1].set_xlabel("time, s", color=INK, fontsize=9)
    legend(figure)
    return figure


def _panel(axes: Axes, times: Array, measured: Array, simulated: Array) -> None:
    quiet(axes)
    axes.plot(times, measured, color=QUIET, linewidth=2.2, label="measured")
    axes.plot(times, simulated, color=BLUE, linewidth=1.2, label="simulated")


def free_run(result: TorqueResult) -> tuple[Array, Array, Array]:
    """Stamps (n,) in s, measured and simulated [v, omega], shape (2, n), of the part held out.

    The simulation knows the torques, and of the velocities the first one only.
    """
    motion, estimate = result.held_out_motion, result.estimate
    geometry = result.geometry
    turned = turns(motion[:, 1:3])
    rates = np.array(geometry.body_velocity(turned[:, 0], turned[:, 1])) / np.diff(motion[:, 0])
    kernel = np.ones(AVERAGE) / AVERAGE
    measured = np.array([np.convolve(rate, kernel, "valid") for rate in rates])
    model = Model.of(estimate)
    torque = delayed(motion[1:, 3:5].T, model.delay)
    middle = AVERAGE // 2
    period = float(np.median(np.diff(motion[:, 0])))
    velocity, simulated = measured[:, :1], [measured[:, 0]]
    for k in range(middle, middle + measured.shape[1] - 1):
        # A mean velocity is that of a period's middle: half of the torque of either period.
        acting = 0.5 * (torque[:, k] + torque[:, k + 1])
        velocity = model.predict(velocity, acting[None, :, None], period, geometry)
        simulated.append(velocity[:, 0])
    stamps = 0.5 * (motion[:-1, 0] + motion[1:, 0])[middle : middle + measured.shape[1]]
    return stamps, measured, np.array(simulated).T
