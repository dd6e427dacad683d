# SPDX-License-Identifier: Apache-2.0
"""Elements shared by the figures of all runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from diffbot_description import write_atomically
from diffbot_report import figure_style as style
from diffbot_report.chart import Chart
from diffbot_report.drawing import Picture

Span = tuple[float, float]

DRIVING_TIME = "robot time since driving began, s"
# Inch below the figure's top.
LEGEND = 0.62


def warm_up() -> None:
    """Load what the first drawing needs: fonts, the renderer and the PNG writer."""
    figure = style.new_figure("0", "0", 1.0)
    figure.add_subplot().plot([0.0, 1.0], label="0")
    style.legend(figure)
    figure.savefig(BytesIO(), format="png")


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a PNG; return its path. Raises OSError; see write_atomically."""
    return write_atomically(path, lambda partial: figure.savefig(partial, format="png"))


def picture(name: str, make: Callable[[], Figure]) -> Picture:
    """Return a picture whose figure is made only when it is drawn."""
    return Picture(f"{name}.png", lambda path: save_figure(make(), path))


def two_by_two(
    figure: Figure, label: str, end: float, edges: Mapping[str, float], color: str = "black"
) -> list[Axes]:
    """Return four panels over time, from 0 to `end`; edges as of Figure.add_gridspec."""
    panels = style.panels(figure, 2, 2, **edges)
    for axes in panels:
        axes.set_xlim(0.0, end)
    for axes in panels[2:]:
        axes.set_xlabel(label, fontsize=9, color=color)
    return panels


def draw_panels(
    figure: Figure, end: float, rows: Sequence[tuple[Chart, Chart, Span]], label: str = DRIVING_TIME
) -> None:
    """Draw each chart over the whole run, a detail (begin and end, s) at its right; the legend."""
    height = figure.get_figheight()
    grid = figure.add_gridspec(
        len(rows), 2, width_ratios=(1.5, 1), left=0.085, right=0.985,
        top=1.0 - 1.12 / height, bottom=0.52 / height, hspace=0.30, wspace=0.16,
    )  # fmt: skip
    for number, (chart, enlarged, span) in enumerate(rows):
        whole = figure.add_subplot(grid[number, 0])
        detail = figure.add_subplot(grid[number, 1])
        style.panel_title(whole, f"{chart.title}, {chart.unit}", chart.note)
        style.panel_title(detail, "", f"{span[0]:.3g} to {span[1]:.3g} s")
        for axes, part, (begin, stop) in ((whole, chart, (0.0, end)), (detail, enlarged, span)):
            style.quiet(axes)
            style.draw_chart(axes, part, begin, stop)
            last = number == len(rows) - 1
            axes.tick_params(labelbottom=last)
            if last:
                axes.set_xlabel(label if axes is whole else "s", fontsize=9, color=style.INK)
    style.legend(figure, LEGEND)


def rms_text(values: NDArray[np.float64], unit: str) -> str:
    """Format root mean square and maximum magnitude, for a panel's title."""
    values = values[np.isfinite(values)]
    if not len(values):
        return "not known"
    return f"rms {np.sqrt(np.mean(values**2)):.2g}, max {np.abs(values).max():.2g} {unit}"
