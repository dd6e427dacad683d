"""sigma1..sigma4 of a robot that takes velocity commands, over time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from diffbot_bringup.drive_report.adaptation_recording import AdaptationRun
from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.time_panels import TIME
from diffbot_ident import figure_style as style
from diffbot_ident.estimate import NORMAL_95

HEIGHT = 6.6  # inch
NAMES = ("σ₁", "σ₂", "σ₃", "σ₄")
UNITS = (", s", ", s", "", "")
# Uncertainties that are larger than this share of what is seen anyway are not drawn in full.
LARGEST_BAND = 0.2


def sigma_figure(run: DriveRun, truth: AdaptationRun, title: str) -> Figure:
    """In use with the estimate's 95 % band, and true, after Figs. 20 and 23 of Siwek et al. (2023).

    Args:
        run: at least two samples, with sigma.
        truth: holds the true parameters of a simulated robot; may be empty.
        title: what was run.
    """
    figure = style.new_figure(
        f"Parameters of {title}", "in use, with 95 % of the estimate, against true", HEIGHT
    )
    grid = figure.add_gridspec(2, 2, left=0.075, right=0.985, top=0.85, bottom=0.085, hspace=0.42)
    for k, name in enumerate(NAMES):
        axes = figure.add_subplot(grid[k // 2, k % 2])
        style.quiet(axes)
        seen = np.concatenate([_draw_in_use(axes, run, k), _draw_true(axes, run, truth, k)])
        style.panel_title(axes, name + UNITS[k], f"{run.extra['sigma'][-1, k]:.4g} at the end")
        low, high = float(seen.min()), float(seen.max())
        margin = 0.2 * (high - low) or 0.1 * high or 1.0
        axes.set_ylim(low - margin, high + margin)
        axes.set_xlim(0.0, float(run.time[-1]))
        if k > 1:
            axes.set_xlabel(TIME, fontsize=9)
    style.legend(figure, 0.45)
    return figure


def _draw_in_use(axes: Axes, run: DriveRun, k: int) -> NDArray[np.float64]:
    """Draw one; returns what shall be seen of it."""
    value, variance = run.extra["sigma"][:, k], run.extra["sigma_variance"][:, k]
    width = NORMAL_95 * np.sqrt(np.where(variance >= 0.0, variance, np.nan))
    axes.fill_between(
        run.time, value - width, value + width, color=style.ORANGE, alpha=0.2, linewidth=0,
        label="95 %",
    )  # fmt: skip
    axes.plot(run.time, value, color=style.ORANGE, linewidth=1.8, label="in use")
    known = width <= LARGEST_BAND * np.ptp(value)
    return np.concatenate([value, (value - width)[known], (value + width)[known]])


def _draw_true(axes: Axes, run: DriveRun, truth: AdaptationRun, k: int) -> NDArray[np.float64]:
    if not len(truth.true):
        return np.empty(0)
    time = np.append(np.maximum(truth.true_time, 0.0), run.time[-1])
    true = np.append(truth.true[:, k], truth.true[-1, k])
    axes.step(
        time, true, where="post", color=style.INK, linewidth=1.2, linestyle="--", label="true"
    )
    return true
