# SPDX-License-Identifier: Apache-2.0
"""Elements shared by the pictures of all runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from diffbot_description import write_atomically
from diffbot_report import figure_style as style
from diffbot_report.chart import Chart, ChartGroup
from diffbot_report.drawing import Picture

Span = tuple[float, float]


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


def group_picture(group: ChartGroup, columns: int = 2, row: float = 2.2) -> Picture:
    """Return the picture of a group, whose text is the subtitle; `row`: height, inch."""
    return picture(group.picture, lambda: style.group_figure(group, group.text, columns, row))


def draw_panels(figure: Figure, end: float, rows: Sequence[tuple[Chart, Chart, Span]]) -> None:
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
                label = chart.x_unit if axes is whole else "s"
                axes.set_xlabel(label, fontsize=9, color=style.INK)
    style.legend(figure)


def rms_text(values: NDArray[np.float64], unit: str) -> str:
    """Format root mean square and maximum magnitude, for a panel's title."""
    values = values[np.isfinite(values)]
    if not len(values):
        return "not known"
    return f"rms {np.sqrt(np.mean(values**2)):.2g}, max {np.abs(values).max():.2g} {unit}"
