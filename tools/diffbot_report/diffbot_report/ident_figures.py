# SPDX-License-Identifier: Apache-2.0
"""Pictures of an identification run, after Figs. 10-17 of Lages (2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from diffbot_ident.estimate import Estimate, EstimateState
from diffbot_ident.verification import Verification
from diffbot_report import figure_style as style
from diffbot_report.drawing import Picture
from diffbot_report.ident_page import (
    TIME,
    estimate_charts,
    excitation_charts,
    information_chart,
)
from diffbot_report.ident_recording import IdentRecording, variance_limits
from diffbot_report.panels import draw_panels, picture, two_by_two
from diffbot_report.quantity import NOT_IDENTIFIABLE, UNITS, Quantity, significant

NAMES = {"K5": "centrifugal", "K6": "Coriolis", "K7": "thrust", "K8": "turning"}
SQUARED = {"K5": "m²", "K6": "m⁻²", "K7": "(kg m)⁻²", "K8": "(kg m²)⁻²"}
RESIDUALS = ("linear v̇", "angular ω̇")
MODELS = (("identified", style.BLUE), ("nominal", style.GREEN), ("no model", style.QUIET))
EDGES = {
    "left": 0.085, "right": 0.985, "top": 0.835, "bottom": 0.085, "hspace": 0.32, "wspace": 0.20
}  # fmt: skip
ARENA_FRAME = (0.085, 0.085, 0.90, 0.775)  # left, bottom, width, height as fractions of the figure


def ident_pictures(
    recording: IdentRecording, parameters: Sequence[Quantity], title: str
) -> list[Picture]:
    """Return the pictures that have data to show; `title` says what was run."""
    make = {
        "parameters": partial(parameters_figure, recording, parameters, title),
        "covariance": partial(covariance_figure, recording, parameters, title),
        "excitation": partial(excitation_figure, recording, title),
    }
    if has_trust(recording):
        make["trust"] = partial(trust_figure, recording, title)
    if recording.verification is not None and recording.verification.decided:
        make["verification"] = partial(verification_figure, recording.verification, title)
    if recording.state is not None and recording.state.arena is not None:
        make["arena"] = partial(arena_figure, recording, recording.state.arena, title)
    return [picture(name, figure) for name, figure in make.items()]


def parameters_figure(
    recording: IdentRecording, parameters: Sequence[Quantity], title: str
) -> Figure:
    """Draw K5..K8 over time with 95 % bands and true values (Figs. 10-13)."""
    subtitle = "as identified over time, after Figs. 10–13 of Lages (2017)"
    figure = style.new_figure(f"Dynamic parameters of {title}", subtitle, 6.0)
    end = _end(recording.parameters()[0])
    panels = two_by_two(figure, TIME, end, EDGES, style.INK)
    charts = estimate_charts(recording, parameters)
    for axes, chart, quantity in zip(panels, charts, parameters, strict=True):
        style.draw_chart(axes, chart, 0.0, end)
        result = chart.note if quantity.lack else f"{chart.note} {chart.unit}"
        style.panel_title(axes, f"{chart.title}  {NAMES[quantity.symbol]}", result)
        if chart.y_range is None:
            style.say(axes, _reason_text(quantity))
    style.legend(figure)
    return figure


def covariance_figure(
    recording: IdentRecording, parameters: Sequence[Quantity], title: str
) -> Figure:
    """Draw the diagonal of the covariance matrix over time, logarithmic (Figs. 14-17)."""
    subtitle = "diagonal of the covariance matrix, after Figs. 14–17 of Lages (2017)"
    figure = style.new_figure(f"Variance of the parameters of {title}", subtitle, 6.0)
    times, _, variances = recording.parameters()
    panels = two_by_two(figure, TIME, _end(times), EDGES, style.INK)
    for i, (axes, quantity) in enumerate(zip(panels, parameters, strict=True)):
        known = np.isfinite(variances[:, i]) & (variances[:, i] > 0.0)
        end = f"σ {quantity.std:.2g} {quantity.unit} at the end" if quantity.std else ""
        style.panel_title(axes, f"{quantity.symbol}, {SQUARED[quantity.symbol]}", end)
        if not known.any():
            style.say(axes, _reason_text(quantity))
            continue
        axes.plot(times[known], variances[known, i], color=style.BLUE, linewidth=1.8)
        style.draw_logarithmic(axes, *variance_limits(times[known], variances[known, i]))
    return figure


def excitation_figure(recording: IdentRecording, title: str) -> Figure:
    """Draw torques and body velocity: the whole run, and its first seconds."""
    subtitle = "wheel torques that acted and the body velocity that they caused"
    figure = style.new_figure(f"Excitation of {title}", subtitle, 7.0)
    (times, motion), (early, beginning) = recording.motion(), recording.beginning()
    whole = [
        replace(chart, note=_rms(motion[:, column], chart.unit))
        for chart, column in zip(excitation_charts(times, motion), (2, 3, 0, 1), strict=True)
    ]
    span = (0.0, min(_end(early), 0.5 * _end(times)))
    rows = [
        (chart, detail, span)
        for chart, detail in zip(whole, excitation_charts(early, beginning), strict=True)
    ]
    draw_panels(figure, _end(times), rows, TIME)
    return figure


def _reason_text(quantity: Quantity) -> str:
    text = f"{quantity.lack or NOT_IDENTIFIABLE}: {quantity.reason or 'no finite variance'}"
    lines = -(-len(text) // 44)
    return "\n".join(wrap(text, len(text) // lines + 6))


def _end(times: NDArray[np.float64]) -> float:
    return float(times[-1]) if len(times) and times[-1] > 0.0 else 1.0


def _rms(values: NDArray[np.float64], unit: str) -> str:
    return f"rms {np.sqrt(np.mean(values**2)):.2g} {unit}" if len(values) else "no data"


def margin(places: NDArray[np.float64], arena: tuple[float, float]) -> float:
    """Return the least distance of places [x, y] (n, 2) to the arena's edge, m; < 0 outside."""
    if not len(places):
        return 0.5 * min(arena)
    return float((0.5 * np.array(arena) - np.abs(places).max(axis=0)).min())


def arena_figure(recording: IdentRecording, arena: tuple[float, float], title: str) -> Figure:
    """Draw the path by odometry in the arena, [length along x, width along y], m."""
    exciting, verifying = recording.path()
    least = margin(np.concatenate([exciting, verifying]), arena)
    how = (
        f"stayed {1e3 * least:.0f} mm inside" if least >= 0.0 else f"{-1e3 * least:.0f} mm outside"
    )
    length, width = arena
    subtitle = f"{length:g} m × {width:g} m, axle's middle by odometry; {how}"
    figure = style.new_figure(f"Path in the arena of {title}", subtitle, 6.0)
    axes = figure.add_axes(ARENA_FRAME)
    style.quiet(axes)
    corner = (-0.5 * length, -0.5 * width)
    axes.add_patch(Rectangle(corner, length, width, facecolor="#F6F6F6", zorder=0.4))
    axes.add_patch(
        Rectangle(corner, length, width, fill=False, edgecolor=style.INK, linewidth=1.6, zorder=1.9)
    )
    for places, colour, label in (
        (exciting, style.BLUE, "exciting"),
        (verifying, style.ORANGE, "verifying"),
    ):
        if len(places):
            axes.plot(*places.T, color=colour, linewidth=1.0, label=label, solid_joinstyle="round")
    axes.plot(0.0, 0.0, "o", color="white", markeredgecolor=style.INK, markersize=7, label="start")
    reach = np.maximum(0.5 * np.array(arena), _reach(exciting, verifying)) + 0.04 * max(arena)
    size = figure.get_size_inches() * ARENA_FRAME[2:]
    reach = size * (reach / size).max()
    axes.set_xlim(-reach[0], reach[0])
    axes.set_ylim(-reach[1], reach[1])
    axes.set_xlabel("x, m (forward at the start)", fontsize=9, color=style.INK)
    axes.set_ylabel("y, m", fontsize=9, color=style.INK)
    style.legend(figure)
    return figure


def _reach(*paths: NDArray[np.float64]) -> NDArray[np.float64]:
    reaches = [np.abs(path).max(axis=0) for path in paths if len(path)]
    return np.asarray(np.max(reaches or [np.zeros(2)], axis=0))


def has_trust(recording: IdentRecording) -> bool:
    """Whether the ident node published anything that the picture would show."""
    return recording.estimate is not None and any(recording.estimate.coverage)


def trust_figure(recording: IdentRecording, title: str) -> Figure:
    """Draw coverage of each parameter, correlation of the residuals, and information."""
    learned = bool(np.nan_to_num(recording.information()[1]).any())
    subtitle = "share of the needed motion that was seen, correlation of the residuals"
    subtitle += ", information gained" if learned else ""
    figure = style.new_figure(f"Trust in the estimate of {title}", subtitle, 3.6)
    grid = figure.add_gridspec(
        1, 3 if learned else 2, width_ratios=(1.0, 1.0, 1.7)[: 3 if learned else 2], left=0.05,
        right=0.985, top=0.71, bottom=0.15, wspace=0.34,
    )  # fmt: skip
    coverage, correlation = (figure.add_subplot(grid[0, i]) for i in range(2))
    if recording.estimate is not None:
        _draw_coverage(coverage, recording.estimate)
        _draw_correlation(correlation, recording.estimate)
    if learned:
        _draw_information(figure.add_subplot(grid[0, 2]), recording)
    style.legend(figure)
    return figure


def _bars(axes: Axes, names: tuple[str, ...]) -> None:
    style.quiet(axes)
    axes.grid(False, axis="y")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)  # first name on top
    axes.tick_params(axis="y", length=0)


def _draw_coverage(axes: Axes, estimate: Estimate) -> None:
    shares, states = estimate.coverage, estimate.parameter_states
    _bars(axes, tuple(UNITS))
    style.panel_title(axes, "coverage", "")
    axes.axvline(1.0, color=style.QUIET, linewidth=1.0)
    for i, (part, state) in enumerate(zip(shares, states, strict=True)):
        good = state is EstimateState.ESTIMATED
        axes.barh(
            i, part, 0.55, color=style.BLUE if good else style.ORANGE,
            hatch="" if good else "///", edgecolor="white", linewidth=0.0,
        )  # fmt: skip
        inside = part > 0.75
        boxed = {"facecolor": "white", "linewidth": 0, "pad": 1} if inside and not good else None
        axes.text(
            part - 0.03 if inside else part + 0.03, i, f"{100.0 * part:.0f} %", va="center",
            ha="right" if inside else "left", color="white" if inside and good else style.INK,
            fontsize=9, bbox=boxed,
        )  # fmt: skip
    if any(state is not EstimateState.ESTIMATED for state in states):
        axes.set_xlabel("hatched: not identified", fontsize=9, color=style.INK)
    axes.set_xlim(0.0, max(1.02, *shares))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


def _draw_correlation(axes: Axes, estimate: Estimate) -> None:
    _bars(axes, RESIDUALS)
    style.panel_title(axes, "residual correlation", "")
    axes.axvline(0.0, color=style.QUIET, linewidth=1.0)
    for i, value in enumerate(estimate.residual_correlation):
        known = bool(np.isfinite(value))
        if known:
            axes.barh(i, value, 0.4, color=style.PURPLE)
        text = f"{value:+.2f}".replace("-", "−") if known else "not known yet"
        end = value if known else 0.0
        axes.text(
            end + (0.04 if end >= 0.0 else -0.04), i, text, va="center", fontsize=9,
            ha="left" if end >= 0.0 else "right", color=style.INK,
        )  # fmt: skip
    axes.set_xlim(-1.0, 1.0)
    axes.tick_params(axis="y", labelrotation=90)
    for label in axes.get_yticklabels():
        label.set_verticalalignment("center")
    axes.set_xlabel("0: white noise, as expected", fontsize=9, color=style.INK)


def _draw_information(axes: Axes, recording: IdentRecording) -> None:
    times, rows = recording.information()
    style.quiet(axes)
    style.draw_chart(axes, information_chart(recording), 0.0, _end(times))
    style.panel_title(axes, "information", f"{rows[-1, 0]:.1f} bits")
    axes.set_xlabel(TIME, fontsize=9, color=style.INK)


def verification_figure(verification: Verification, title: str) -> Figure:
    """Draw the errors of the identified parameters, of the description's and of no model."""
    verdict = "verified" if verification.passed else f"refuted: {verification.reason}"
    subtitle = (
        f"{verdict}; rms errors of predictions over {verification.duration:.3g} s of another motion"
    )
    figure = style.new_figure(f"Verification of {title}", subtitle, 4.6)
    grid = figure.add_gridspec(
        2, 2, left=0.10, right=0.985, top=0.80, bottom=0.03, hspace=0.42, wspace=0.10
    )
    done = verification
    steps = (
        ("after one control period", done.one_step, done.one_step_nominal, done.one_step_no_model),
        (f"after {done.horizon:.3g} s", done.horizon_error, done.horizon_nominal,
         done.horizon_no_model),
    )  # fmt: skip
    for row, (name, unit) in enumerate((("velocity v", "m/s"), ("yaw rate ω", "rad/s"))):
        for column, (when, *errors) in enumerate(steps):
            axes = figure.add_subplot(grid[row, column])
            style.panel_title(axes, f"{name}, {unit}", when)
            _draw_errors(axes, [pair[row] for pair in errors], column == 0)
    return figure


def _draw_errors(axes: Axes, values: Sequence[float], labelled: bool) -> None:
    """Draw three errors, each with its ratio to that without a model."""
    base = values[-1]
    largest = max((value for value in values if math.isfinite(value)), default=0.0) or 1.0
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.spines["left"].set_color("#BBBBBB")
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0, labelsize=10, labelcolor=style.INK, labelleft=labelled)
    axes.set_yticks(range(len(MODELS)), [name for name, _ in MODELS])
    axes.set_ylim(len(MODELS) - 0.5, -0.5)
    axes.set_xlim(0.0, 1.38 * largest)
    for i, ((_, colour), value) in enumerate(zip(MODELS, values, strict=True)):
        text = "unknown"
        if math.isfinite(value):
            axes.barh(i, value, 0.62, color=colour)
            text = significant(value, 3)
            if i < len(MODELS) - 1 and base > 0.0:
                text += f"  ({significant(100.0 * value / base, 2)} %)"
        start = value if math.isfinite(value) else 0.0
        axes.text(start + 0.02 * largest, i, text, va="center", fontsize=10, color=style.INK)
