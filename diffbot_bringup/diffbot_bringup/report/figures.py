"""Pictures of an identification run, after Figs. 10-17 of Lages (2017).

Only matplotlib's objects are used, never pyplot, so drawing works in any thread and leaves no
state behind. Import this module early, in the background: loading matplotlib takes long.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from diffbot_bringup.report.formatting import with_uncertainty
from diffbot_bringup.report.limits import estimate_limits, variance_limits
from diffbot_bringup.report.quantity import Quantity
from diffbot_bringup.report.recording import OPENING, IdentRecording
from diffbot_description import write_atomically
from diffbot_ident import figure_style as style
from diffbot_ident.estimate import NORMAL_95

NAMES = {"K5": "centrifugal", "K6": "Coriolis", "K7": "thrust", "K8": "turning"}
SQUARED = {"K5": "m²", "K6": "m⁻²", "K7": "(kg m)⁻²", "K8": "(kg m²)⁻²"}
TIME = "robot time since the excitation began, s"


def parameters_figure(
    recording: IdentRecording, parameters: Sequence[Quantity], title: str
) -> Figure:
    """K5..K8 over time with 95 % bands and true values (Figs. 10-13).

    Args:
        recording: the run.
        parameters: K5..K8 at its end, for the panels' titles.
        title: what was run.
    """
    subtitle = "as identified over time, after Figs. 10–13 of Lages (2017)"
    figure = style.new_figure(f"Dynamic parameters of {title}", subtitle, 6.0)
    times, values, variances = recording.parameters()
    true_times, true_values = recording.truth()
    for i, (axes, quantity) in enumerate(
        zip(_panels(figure, _end(times)), parameters, strict=True)
    ):
        sigma = np.sqrt(np.where(variances[:, i] >= 0.0, variances[:, i], np.inf))
        value, spread = with_uncertainty(quantity.value, quantity.half_width)
        style.panel_title(
            axes,
            f"{quantity.symbol}  {NAMES[quantity.symbol]}",
            "not identifiable" if quantity.std is None else f"{value} ± {spread} {quantity.unit}",
        )
        truth = np.empty((0,))
        if len(true_times) and len(times):
            truth = _draw_truth(axes, true_times, true_values[:, i], times)
        # A start value without information is no estimate.
        known = np.isfinite(sigma) & np.isfinite(values[:, i])
        limits = estimate_limits(times[known], values[known, i], sigma[known], truth)
        if limits is None or not known.any():
            style.say(axes, _why(quantity))
            continue
        t, k, s = times[known], values[known, i], NORMAL_95 * sigma[known]
        band = axes.fill_between(t, k - s, k + s, color=style.BLUE, alpha=0.22, linewidth=0)
        band.set_label("95 %")
        axes.plot(t, k, color=style.BLUE, linewidth=1.8, label="estimate")
        axes.set_ylim(*limits)
    style.legend(figure)
    return figure


def covariance_figure(
    recording: IdentRecording, parameters: Sequence[Quantity], title: str
) -> Figure:
    """Diagonal of the covariance matrix over time, logarithmic (Figs. 14-17)."""
    subtitle = "diagonal of the covariance matrix, after Figs. 14–17 of Lages (2017)"
    figure = style.new_figure(f"Variance of the parameters of {title}", subtitle, 6.0)
    times, _, variances = recording.parameters()
    for i, (axes, quantity) in enumerate(
        zip(_panels(figure, _end(times)), parameters, strict=True)
    ):
        known = np.isfinite(variances[:, i]) & (variances[:, i] > 0.0)
        end = f"σ {quantity.std:.2g} {quantity.unit} at the end" if quantity.std else ""
        style.panel_title(axes, f"{quantity.symbol}, {SQUARED[quantity.symbol]}", end)
        if not known.any():
            style.say(axes, _why(quantity))
            continue
        axes.plot(times[known], variances[known, i], color=style.BLUE, linewidth=1.8)
        _logarithmic(axes, variance_limits(times[known], variances[known, i]))
    return figure


def excitation_figure(recording: IdentRecording, title: str) -> Figure:
    """Torques and body velocity: the whole run, and its first seconds in detail."""
    subtitle = "wheel torques that acted and the body velocity that they caused"
    figure = style.new_figure(f"Excitation of {title}", subtitle, 7.0)
    grid = figure.add_gridspec(
        4, 2, width_ratios=(1.5, 1), left=0.085, right=0.985, top=0.865, bottom=0.075,
        hspace=0.5, wspace=0.14,
    )  # fmt: skip
    whole, opening = recording.motion(), recording.opening()
    rows = (
        ("left torque", "N m", 2, style.BLUE),
        ("right torque", "N m", 3, style.ORANGE),
        ("velocity v", "m/s", 0, style.GREEN),
        ("yaw rate ω", "rad/s", 1, style.PURPLE),
    )
    for row, (name, unit, column, colour) in enumerate(rows):
        left = figure.add_subplot(grid[row, 0])
        right = figure.add_subplot(grid[row, 1], sharey=left)
        style.panel_title(left, f"{name}, {unit}", _rms(whole[1][:, column], unit))
        style.panel_title(right, "", f"first {OPENING:.0f} s" if row == 0 else "")
        steps = column >= 2
        for axes, (times, values), line in ((left, whole, 0.7), (right, opening, 1.4)):
            style.quiet(axes)
            axes.tick_params(labelleft=axes is left, labelbottom=row == 3)
            # A torque acted during the period that ends at its stamp.
            axes.plot(
                times, values[:, column], color=colour, linewidth=line,
                drawstyle="steps-pre" if steps else "default",
            )  # fmt: skip
            axes.margins(y=0.12)
            axes.set_xlim(0.0, _end(times))
            if row == 3:
                axes.set_xlabel(TIME if axes is left else "s", fontsize=9, color=style.INK)
    return figure


def warm_up() -> None:
    """Load what the first drawing loads: fonts, the renderer and the PNG writer."""
    figure = style.new_figure("0", "0", 1.0)
    figure.add_subplot().plot([0.0, 1.0], label="0")
    style.legend(figure)
    figure.savefig(BytesIO(), format="png")


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a PNG; returns its path. Raises OSError; see write_atomically."""
    return write_atomically(path, lambda partial: figure.savefig(partial, format="png"))


def _logarithmic(axes: Axes, limits: tuple[float, float]) -> None:
    axes.set_yscale("log")
    axes.set_ylim(*limits)
    axes.yaxis.set_major_formatter(FuncFormatter(style.power_of_ten))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", color="#BBBBBB", length=2)


def _why(quantity: Quantity) -> str:
    """Why a panel is empty, in lines of about the same length that fit it."""
    text = f"not identifiable: {quantity.reason or 'no finite variance'}"
    lines = -(-len(text) // 44)
    return "\n".join(wrap(text, len(text) // lines + 6))


def _end(times: NDArray[np.float64]) -> float:
    """End of the time axis, s; an empty panel gets one too."""
    return float(times[-1]) if len(times) and times[-1] > 0.0 else 1.0


def _panels(figure: Figure, end: float) -> list[Axes]:
    """Two by two panels over time from 0 to the end, s."""
    grid = figure.add_gridspec(
        2, 2, left=0.085, right=0.985, top=0.835, bottom=0.085, hspace=0.32, wspace=0.20
    )
    panels = [figure.add_subplot(grid[i // 2, i % 2]) for i in range(4)]
    for i, axes in enumerate(panels):
        style.quiet(axes)
        axes.set_xlim(0.0, end)
        if i >= 2:
            axes.set_xlabel(TIME, fontsize=9, color=style.INK)
    return panels


def _draw_truth(
    axes: Axes,
    true_times: NDArray[np.float64],
    true_values: NDArray[np.float64],
    times: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Draw the true value as steps over the run; returns the values that are seen."""
    before = max(int(np.searchsorted(true_times, times[0], side="right")) - 1, 0)
    t = np.append(np.clip(true_times[before:], times[0], times[-1]), times[-1])
    k = np.append(true_values[before:], true_values[-1])
    axes.step(
        t, k, where="post", color=style.ORANGE, linewidth=1.5, linestyle=(0, (5, 3)),
        label="true value (closed form)", zorder=3,
    )  # fmt: skip
    return k


def _rms(values: NDArray[np.float64], unit: str) -> str:
    return f"rms {np.sqrt(np.mean(values**2)):.2g} {unit}" if len(values) else "no data"
