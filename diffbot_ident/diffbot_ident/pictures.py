# SPDX-License-Identifier: Apache-2.0
"""Pictures of groups of charts, which report.html shows as sections."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from diffbot_ident import figure_style as style
from diffbot_ident.charts import Chart, ChartGroup, Intervals

# Height of a row of panels, of the only panel, and of the title above and the label below, inch.
ROW, ALONE, ABOVE, BELOW = 1.7, 3.8, 1.2, 0.5
COLUMNS = 2


def group_figure(group: ChartGroup, found: str) -> Figure:
    """Draw the charts of a group in two columns, or a single one.

    Args:
        group: The charts; at least one.
        found: The verdict, a line below the title.
    """
    columns = min(COLUMNS, len(group.charts))
    rows = -(-len(group.charts) // columns)
    height = (rows * ROW if columns > 1 else ALONE) + ABOVE + BELOW
    figure = style.new_figure(group.title, found, height)
    grid = figure.add_gridspec(
        rows, columns, left=0.11, right=0.985, top=1.0 - ABOVE / height, bottom=BELOW / height,
        hspace=0.7, wspace=0.3,
    )  # fmt: skip
    for k, chart in enumerate(group.charts):
        axes = figure.add_subplot(grid[k // columns, k % columns])
        style.quiet(axes)
        style.panel_title(axes, chart.title, "")
        if isinstance(chart, Intervals):
            style.draw_intervals(axes, chart)
            below = chart.unit
        else:
            style.draw_chart(axes, chart, *span(chart))
            axes.set_ylabel(chart.unit, color=style.INK, fontsize=9)
            below = chart.x_unit
        # Beside the title, there is not always enough space for the note.
        note = f"{below}; {chart.note}" if chart.note else below
        axes.set_xlabel(note.replace("-", "−"), color=style.INK, fontsize=9)
    style.legend(figure, below=0.62)
    return figure


def span(chart: Chart) -> tuple[float, float]:
    """Return the least and the largest x of a chart; an interval of 1 if they are one."""
    x = np.concatenate([np.zeros(0), *(np.asarray(curve.x, float) for curve in chart.curves)])
    x = x[np.isfinite(x)]
    begin, end = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
    return begin, end if end > begin else begin + 1.0
