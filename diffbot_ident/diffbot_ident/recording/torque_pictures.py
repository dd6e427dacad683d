"""Pictures of a torque robot that was identified from a recording."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diffbot_description import write_atomically
from diffbot_ident.estimate import NAMES, NORMAL_95, UNITS
from diffbot_ident.figure_style import (
    BLUE,
    INK,
    ORANGE,
    QUIET,
    legend,
    new_figure,
    panel_title,
    quiet,
)
from diffbot_ident.held_out import delayed
from diffbot_ident.integral_rows import turns
from diffbot_ident.prediction import Model
from diffbot_ident.recording.stream import Array
from diffbot_ident.recording.torque_analysis import TorqueResult
from diffbot_ident.recording.verdict import Verdict

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
    model = Model.of(estimate.values, estimate.friction, estimate.delay)
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
