# SPDX-License-Identifier: Apache-2.0
"""Figures of a run with live parameters: K5..K8 or sigma over time, errors, and gates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from diffbot_controllers.laws.tracking_errors import TrackingErrors
from diffbot_ident import figure_style as style
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_report.controller_topics import VELOCITY
from diffbot_report.drive_metrics import RECOVERY, Change
from diffbot_report.drive_recording import AdaptationRun, DriveRun
from diffbot_report.drive_results import DriveResults
from diffbot_report.panels import DRIVING_TIME, draw_logarithmic, plain_number, two_by_two
from diffbot_report.quantity import UNITS

HEIGHT = 6.6  # height of a figure, inch
EDGES = {"left": 0.075, "right": 0.985, "top": 0.85, "bottom": 0.085, "hspace": 0.42}
LEGEND = 0.45  # inch below the figure's top

# Gate closed, gate open, parameter unchanged, parameter moving.
COLOURS = ListedColormap(["#E8A87C", "#D9EDE4", "#F2F2F2", style.BLUE])
MOST_POINTS = 4000
SIGMA_NAMES = ("σ₁", "σ₂", "σ₃", "σ₄")
# Uncertainty bands wider than this fraction of the range of the values do not extend the axis.
LARGEST_BAND = 0.2


def adapted_parameters_figure(results: DriveResults, title: str) -> Figure:
    """Draw K5..K8: in use, offered with their 95 % band, true, and the allowed band.

    Args:
        results: A run, which may have no judgements, with the state of its controller.
        title: What was run.
    """
    state, end = results.recording.state, float(results.run.time[-1])
    fixed = state.parameters if state else (math.nan,) * 4
    figure = style.new_figure(
        f"Parameters of {title}", "in use against offered and true; dotted: the band", HEIGHT
    )
    panels = two_by_two(figure, DRIVING_TIME, end, EDGES)
    for i, (axes, (name, unit)) in enumerate(zip(panels, UNITS.items(), strict=True)):
        seen = _draw_parameter(axes, results.adaptation, i, fixed[i], end)
        style.panel_title(axes, name, f"{seen[0]:.4g} in use, {unit}")
        low, high = min(seen), max(seen)
        margin = 0.35 * (high - low) or 0.1 * abs(high) or 1.0
        axes.set_ylim(low - margin, high + margin)
    style.legend(figure, LEGEND)
    return figure


def _draw_parameter(
    axes: Axes, adaptation: AdaptationRun, i: int, fixed: float, end: float
) -> list[float]:
    """Draw one parameter; return values the axis must show, that in use at the end first."""
    seen = [fixed]
    seen += _draw_true(axes, adaptation, i, end, "-").tolist()
    if not len(adaptation):
        axes.plot([0.0, end], [fixed, fixed], color=style.ORANGE, linewidth=1.8, label="in use")
        return seen
    time, value, s = adaptation.time, adaptation.offered[:, i], adaptation.offered_std[:, i]
    known = np.isfinite(s) & np.isfinite(value) & (s > 0.0)
    v, w = np.where(known, value, np.nan), NORMAL_95 * np.where(known, s, np.nan)
    axes.fill_between(
        time, v - w, v + w, color=style.BLUE, alpha=0.22, linewidth=0, label="offered, 95 %"
    )
    axes.plot(time, v, color=style.BLUE, linewidth=0.9)
    in_use = adaptation.in_use[:, i]
    axes.plot(time, in_use, color=style.ORANGE, linewidth=1.8, label="in use")
    for edge in (adaptation.lower[:, i], adaptation.upper[:, i]):
        axes.plot(time, edge, color=style.QUIET, linewidth=0.9, linestyle=":")
    return [float(in_use[-1]), float(in_use.min()), float(in_use.max()), *seen]


def adaptation_errors_figure(results: DriveResults, title: str) -> Figure:
    """Draw the errors of position and heading, and which gates were open, over time.

    Each change of the robot is marked.

    Args:
        results: A run with a pose reference, which may have no judgements.
        title: What was run.
    """
    run, adaptation, changes = results.run, results.adaptation, results.changes
    errors = run.true_errors or run.odometry_errors
    whose = "true pose" if run.has_truth else "pose by odometry"
    gates = ", and the gates" if len(adaptation) else ""
    figure = style.new_figure(f"Errors of {title}", f"{whose} against the reference{gates}", HEIGHT)
    rows = 3 if len(adaptation) else 2
    grid = figure.add_gridspec(
        rows, 1, left=0.115, right=0.985, top=0.86, bottom=0.085, hspace=0.45
    )
    first = None
    for row, (name, unit, factor) in enumerate(
        (("position", "mm", 1e3), ("heading", "°", math.degrees(1.0)))
    ):
        axes = first = figure.add_subplot(grid[row], sharex=first)
        style.quiet(axes)
        if errors is not None:
            _draw_errors(axes, errors, row, factor, changes)
        style.panel_title(axes, f"{name} error, {unit}", _rms_text(changes, row, factor, unit))
        axes.set_xlim(0.0, float(run.time[-1]))
    if len(adaptation):
        axes = figure.add_subplot(grid[2], sharex=first)
        _draw_gates(axes, adaptation, float(run.time[-1]))
    axes.set_xlabel(DRIVING_TIME, fontsize=9)
    return figure


def _draw_errors(
    axes: Axes, errors: TrackingErrors, row: int, factor: float, changes: Sequence[Change]
) -> None:
    size = np.hypot(errors.error[:, 0], errors.error[:, 1]) if row == 0 else errors.error[:, 2]
    size = factor * np.abs(size)
    every = max(1, len(size) // MOST_POINTS)
    shown = np.maximum(size[::every], 1e-5)
    axes.plot(errors.time[::every], shown, color=style.BLUE, linewidth=0.7)
    for change in changes:
        axes.axvline(change.time, color=style.INK, linewidth=1.0, linestyle="--")
        axes.axvline(change.time + RECOVERY, color=style.QUIET, linewidth=0.8, linestyle=":")
    settled = size[errors.time > 0.1 * errors.time[-1]]
    low, high = float(shown.min()), float(shown.max())
    if len(settled) and settled.max() > 0.0:
        low, high = max(float(np.quantile(settled, 0.02)), 1e-5), 3.0 * float(settled.max())
    draw_logarithmic(axes, low, max(high, 2.0 * low), plain_number)


def _rms_text(changes: Sequence[Change], row: int, factor: float, unit: str) -> str:
    texts = []
    for change in changes:
        if change.before is None or change.after is None:
            continue
        name = ("rms_position", "rms_heading")[row]
        before, after = (factor * getattr(part, name) for part in (change.before, change.after))
        texts.append(f"rms {before:.3g} {unit} before, {after:.3g} {unit} after")
    return "; ".join(texts)


def _draw_gates(axes: Axes, adaptation: AdaptationRun, end: float) -> None:
    """Draw a strip per gate, and one per parameter that shows when it moved."""
    names = [*adaptation.gates, *(f"{name} moves" for name in UNITS)]
    values = np.column_stack([adaptation.passed, 2.0 + adaptation.follows]).T
    edges = np.append(adaptation.time, max(end, float(adaptation.time[-1]) + 1e-3))
    axes.pcolormesh(
        edges, np.arange(len(names) + 1), values, cmap=COLOURS, vmin=0.0, vmax=3.0, rasterized=True
    )
    axes.set_yticks(np.arange(len(names)) + 0.5, names, fontsize=7.5)
    axes.invert_yaxis()
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.tick_params(length=0, colors=style.INK)
    style.panel_title(axes, "gates", f"orange: shut; {int(adaptation.refused[-1])} refused")


def sigma_figure(results: DriveResults, title: str) -> Figure:
    """Draw sigma in use with its 95 % band, and true; after Figs. 20 and 23 of Siwek et al. (2023).

    Args:
        results: A run of at least two samples, with sigma.
        title: What was run.
    """
    run = results.run
    figure = style.new_figure(
        f"Parameters of {title}", "in use, with 95 % of the estimate, against true", HEIGHT
    )
    end = float(run.time[-1])
    panels = two_by_two(figure, DRIVING_TIME, end, EDGES)
    for k, (axes, name) in enumerate(zip(panels, SIGMA_NAMES, strict=True)):
        seen = np.concatenate(
            [_draw_in_use(axes, run, k), _draw_true(axes, results.adaptation, k, end, "--")]
        )
        heading = ", ".join(filter(None, (name, VELOCITY.parameter_units[k])))
        style.panel_title(axes, heading, f"{run.extra['sigma'][-1, k]:.4g} at the end")
        low, high = float(seen.min()), float(seen.max())
        margin = 0.2 * (high - low) or 0.1 * high or 1.0
        axes.set_ylim(low - margin, high + margin)
    style.legend(figure, LEGEND)
    return figure


def _draw_in_use(axes: Axes, run: DriveRun, k: int) -> NDArray[np.float64]:
    """Draw one parameter; return the values that the axis must show."""
    value, variance = run.extra["sigma"][:, k], run.extra["sigma_variance"][:, k]
    width = NORMAL_95 * np.sqrt(np.where(variance >= 0.0, variance, np.nan))
    axes.fill_between(
        run.time, value - width, value + width, color=style.ORANGE, alpha=0.2, linewidth=0,
        label="95 %",
    )  # fmt: skip
    axes.plot(run.time, value, color=style.ORANGE, linewidth=1.8, label="in use")
    known = width <= LARGEST_BAND * np.ptp(value)
    return np.concatenate([value, (value - width)[known], (value + width)[known]])


def _draw_true(
    axes: Axes, adaptation: AdaptationRun, i: int, end: float, line: str
) -> NDArray[np.float64]:
    """Draw a true parameter as steps; return its values, none if they are unknown."""
    time, true = adaptation.true_steps(i, end)
    if len(true):
        axes.step(
            time, true, where="post", color=style.INK, linewidth=1.2, linestyle=line, label="true"
        )
    return true
