# SPDX-License-Identifier: Apache-2.0
"""Style of all figures: colours for the colour-blind, quiet frames; charts as pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from arc_odometry.number_range import Array
from diffbot_report.chart import Chart, ChartGroup, Intervals, Role, Strips

# Okabe and Ito's palette.
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
PURPLE = "#A6538A"
INK = "#2B2B2B"
QUIET = "#8A8A8A"
# Colours of a light page, see web/colours.css.
COLOURS = {
    Role.FIRST: BLUE,
    Role.SECOND: ORANGE,
    Role.THIRD: GREEN,
    Role.FOURTH: PURPLE,
    Role.TRUTH: ORANGE,
    Role.WANTED: INK,
    Role.QUIET: QUIET,
}
DASHES = (0, (5, 3))
DOTS = (0, (2, 2))

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

# Fills the width of a README.
WIDTH, DPI = 9.0, 110
# Heights of a row, of an only panel, of what is above and below, inch.
ROW, ALONE, ABOVE, BELOW = 1.7, 3.8, 1.2, 0.5
LEGEND = 0.62  # inch from the top
COLUMNS = 2
BESIDE = 44  # characters of a title and its note that fit above a panel
STRIPS = ListedColormap(["#F2F2F2", BLUE])  # does not hold, holds


def new_figure(title: str, subtitle: str, height: float) -> Figure:
    """Return an empty figure of this height, inch, with a left-aligned title."""
    figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    top = 1.0 - 0.10 / height
    figure.text(0.012, top, title, fontsize=14, fontweight="bold", color=INK, va="top")
    figure.text(0.012, top - 0.30 / height, subtitle, fontsize=10, color=QUIET, va="top")
    return figure


def quiet(axes: Axes) -> None:
    """Show only left and bottom lines and a light grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#BBBBBB")
    axes.grid(True, color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=9, length=3, color="#BBBBBB")


def panel_title(axes: Axes, bold: str, rest: str) -> None:
    """Put a bold title at the upper left, and a unit or value at the upper right."""
    axes.annotate(
        bold,
        (0, 1),
        (0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=11,
        fontweight="bold",
        color=INK,
    )
    axes.annotate(
        rest.replace("-", "−"),
        (1, 1),
        (0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=10,
        color=INK,
        ha="right",
    )


def power_of_ten(value: float, _position: int = 0) -> str:
    """Return a tick label such as 10⁻³; matplotlib's formula engine is slow."""
    exponent = round(math.log10(value))
    return f"10{str(exponent).translate(SUPERSCRIPTS)}"


def plain_number(value: float, _position: int = 0) -> str:
    """Format a tick as a plain number, or a power of ten."""
    return f"{value:g}" if 1e-3 <= value < 1e5 else power_of_ten(value)


def draw_logarithmic(
    axes: Axes,
    low: float,
    high: float,
    text: Callable[[float, int], str] = power_of_ten,
) -> None:
    """Make the value axis logarithmic, with plain text at its ticks."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.yaxis.set_major_formatter(FuncFormatter(text))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", color="#BBBBBB", length=2)


def say(axes: Axes, text: str) -> None:
    """Write text in the middle of a panel, e.g. why it is empty."""
    axes.text(0.5, 0.7, text, transform=axes.transAxes, ha="center", va="center", color=QUIET)
    if not axes.lines:
        axes.set_yticks([])


def draw_intervals(axes: Axes, chart: Intervals) -> None:
    """Draw values with their intervals, one below the other, without the title.

    Where none has an interval they are bars from 0.
    """
    values, above = (np.asarray(each, float) for each in (chart.values, chart.half_widths))
    below = above if chart.below is None else np.asarray(chart.below, float)
    rows, ends = np.arange(len(values)), np.nan_to_num([below, above])
    if ends.any():
        axes.errorbar(values, rows, xerr=ends, fmt="o", color=BLUE, capsize=5)
    else:
        axes.barh(rows, values, 0.5, color=BLUE)
    axes.set_yticks(rows, chart.names)
    axes.set_ylim(len(rows) - 0.3, -0.7)
    if not np.isfinite(values).any():
        axes.set_xticks([])
        axes.text(0.5, 0.5, "not known", transform=axes.transAxes, ha="center", color=QUIET)
    elif chart.truth is not None:
        axes.axvline(chart.truth, color=QUIET, linewidth=1.0, linestyle=DOTS)
    axes.margins(x=0.4 if ends.any() else 0.05)
    axes.locator_params(axis="x", nbins=3)
    axes.ticklabel_format(axis="x", useOffset=False)


def draw_strips(axes: Axes, strips: Strips) -> None:
    """Draw states over time, one below the other, without the title."""
    x, rows = np.asarray(strips.x, float), np.arange(len(strips.names) + 1)
    edges, holds = np.append(x, x[-1] + 1e-3), np.asarray(strips.holds, float).T
    axes.pcolormesh(edges, rows, holds, cmap=STRIPS, vmin=0.0, vmax=1.0, rasterized=True)
    axes.set_yticks(rows[:-1] + 0.5, strips.names, fontsize=7.5)
    axes.invert_yaxis()


def draw_chart(axes: Axes, chart: Chart, begin: float, end: float) -> None:
    """Draw a chart from x = `begin` to `end`, in its page's colours, without the title."""
    shown = [np.zeros(0)]
    for curve in chart.curves:
        x, y = np.asarray(curve.x, float), np.asarray(curve.y, float)
        part = slice(None)
        if not (curve.dots or chart.equal):
            first, last = np.searchsorted(x, begin, "right") - 1, np.searchsorted(x, end)
            part = slice(max(int(first), 0), int(last) + 1)
        x, y = x[part], y[part]
        if not np.isfinite(y).any():
            continue
        shown.append(y[np.isfinite(y)])
        colour = COLOURS[curve.role]
        if curve.half_width is not None:
            half = np.asarray(curve.half_width, float)[part]
            axes.fill_between(
                x, y - half, y + half, color=colour, alpha=0.22, linewidth=0, label="95 %",
                step="post" if curve.steps else None,
            )  # fmt: skip
        axes.plot(
            x, y, label=curve.name, color=colour,
            linewidth=1.8 if curve.role is Role.FIRST and not curve.steps else 1.1,
            linestyle=DASHES if curve.dashed else "" if curve.dots else "-",
            marker="o" if curve.marks else "." if curve.dots else "",
            markersize=6.0 if curve.dots and curve.marks else 3.0,
            zorder=4 if curve.dashed else 3,
            drawstyle="steps-post" if curve.steps else "default",
        )  # fmt: skip
    for limit in chart.limits:
        axes.axhline(limit, color=QUIET, linewidth=1.0, linestyle=DOTS, zorder=2)
    for x_event, _ in chart.events:
        axes.axvline(x_event, color=QUIET, linewidth=1.0, linestyle=DOTS, zorder=2)
    if chart.equal and chart.y_range is None:
        axes.set_aspect("equal", adjustable="datalim")
        return
    if chart.equal:
        axes.set_aspect("equal", adjustable="box")
    axes.set_xlim(begin, end)
    low, high = chart.y_range or value_range(np.concatenate(shown), chart.limits)
    if chart.logarithmic:
        draw_logarithmic(axes, low, high, plain_number)
    else:
        axes.set_ylim(low, high)


def value_range(values: Array, limits: Sequence[float] = ()) -> tuple[float, float]:
    """Return (low, high) around all values, 0, and limits that the values come near."""
    low, high = float(min(values.min(initial=0.0), 0.0)), float(max(values.max(initial=0.0), 0.0))
    for limit in limits:
        if low < 0.6 * limit < 0.0 or high > 0.6 * limit > 0.0:
            low, high = min(low, limit), max(high, limit)
    margin = 0.10 * (high - low) or 1e-3
    return low - margin, high + margin


def legend(figure: Figure) -> None:
    """Add one legend at the right, below the subtitle."""
    top = 1.0 - LEGEND / figure.get_figheight()
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        figure.legend(
            list(entries.values()), list(entries), loc="upper right", ncols=len(entries),
            frameon=False, fontsize=10, borderaxespad=0.0, handlelength=1.8,
            bbox_to_anchor=(0.985, top), labelcolor=INK,
        )  # fmt: skip


def group_figure(
    group: ChartGroup, result: str, columns: int = COLUMNS, row: float = ROW
) -> Figure:
    """Draw the charts of a group in columns; row height in inch; `result` is the subtitle."""
    columns = min(columns, len(group.charts))
    rows = -(-len(group.charts) // columns)
    height = (rows * row if len(group.charts) > 1 else ALONE) + ABOVE + BELOW
    figure = new_figure(group.title, result, height)
    grid = figure.add_gridspec(
        rows, columns, left=0.11, right=0.985, top=1.0 - ABOVE / height, bottom=BELOW / height,
        hspace=0.7, wspace=0.3,
    )  # fmt: skip
    for k, chart in enumerate(group.charts):
        axes = figure.add_subplot(grid[k // columns, k % columns])
        quiet(axes)
        _draw(axes, chart)
    legend(figure)
    return figure


def _draw(axes: Axes, chart: Chart | Intervals | Strips) -> None:
    """Draw a chart with its title and note: beside the title, below, or in an empty chart."""
    note, below = chart.note, chart.unit if isinstance(chart, Intervals) else chart.x_unit
    beside = len(chart.title) + len(note) <= BESIDE
    panel_title(axes, chart.title, note if beside else "")
    if isinstance(chart, Intervals):
        draw_intervals(axes, chart)
    elif isinstance(chart, Strips):
        draw_strips(axes, chart)
    else:
        draw_chart(axes, chart, *span(chart))
        axes.set_ylabel(chart.unit, color=INK, fontsize=9)
        if not any(np.isfinite(np.asarray(curve.y, float)).any() for curve in chart.curves[:1]):
            say(axes, fill(note, BESIDE))
            beside = True
    if note and not beside:
        below = f"{below}; {note}"
    axes.set_xlabel(below.replace("-", "−"), color=INK, fontsize=9)


def span(chart: Chart) -> tuple[float, float]:
    """Return the least and the largest x of a chart; an interval of 1 if they are one."""
    x = np.concatenate([np.zeros(0), *(np.asarray(curve.x, float) for curve in chart.curves)])
    x = x[np.isfinite(x)]
    begin, end = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
    return begin, end if end > begin else begin + 1.0
