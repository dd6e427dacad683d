# SPDX-License-Identifier: Apache-2.0
"""Figures of live parameters: K5..K8 or sigma over time, errors, and gates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from diffbot_controllers.laws.tracking_errors import TrackingErrors
from diffbot_report import figure_style as style
from diffbot_report.chart import Chart
from diffbot_report.drive_metrics import RECOVERY, Change
from diffbot_report.drive_page import parameter_charts, sigma_charts
from diffbot_report.drive_recording import AdaptationRun
from diffbot_report.drive_results import DriveResults
from diffbot_report.panels import (
    DRIVING_TIME,
    two_by_two,
)
from diffbot_report.quantity import UNITS

HEIGHT = 6.6  # height of a figure, inch
EDGES = {"left": 0.075, "right": 0.985, "top": 0.85, "bottom": 0.085, "hspace": 0.42}
LEGEND = 0.45  # inch below the figure's top

# Gate closed, gate open, parameter unchanged, parameter moving.
COLOURS = ListedColormap(["#E8A87C", "#D9EDE4", "#F2F2F2", style.BLUE])
MOST_POINTS = 4000


def adapted_parameters_figure(results: DriveResults, title: str) -> Figure:
    """Draw K5..K8: in use, offered with their 95 % band, true, and the allowed band."""
    shown = "in use against offered and true; dotted: the band"
    return _parameters(results, title, shown, parameter_charts(results))


def sigma_figure(results: DriveResults, title: str) -> Figure:
    """Draw sigma in use with its 95 % band, and true; Figs. 20 and 23 of Siwek et al. (2023)."""
    shown = "in use, with 95 % of the estimate, against true"
    return _parameters(results, title, shown, sigma_charts(results))


def _parameters(
    results: DriveResults, title: str, subtitle: str, charts: Sequence[Chart]
) -> Figure:
    figure = style.new_figure(f"Parameters of {title}", subtitle, HEIGHT)
    end = float(results.run.time[-1])
    panels = two_by_two(figure, DRIVING_TIME, end, EDGES)
    for axes, chart in zip(panels, charts, strict=True):
        style.draw_chart(axes, chart, 0.0, end)
        style.panel_title(axes, chart.title, ", ".join(filter(None, (chart.note, chart.unit))))
    style.legend(figure, LEGEND)
    return figure


def adaptation_errors_figure(results: DriveResults, title: str) -> Figure:
    """Draw errors of position and heading, changes of the robot, and which gates were open."""
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
    style.draw_logarithmic(axes, low, max(high, 2.0 * low), style.plain_number)


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
