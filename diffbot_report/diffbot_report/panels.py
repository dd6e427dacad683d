# SPDX-License-Identifier: Apache-2.0
"""Elements shared by the figures of all runs, beyond the style that diffbot_ident defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from diffbot_description import write_atomically
from diffbot_ident import figure_style as style
from diffbot_report.drawing import Picture

Span = tuple[float, float]

DRIVING_TIME = "robot time since driving began, s"
DASHES = (0, (5, 3))
DOTS = (0, (2, 2))
# Top of the legend, inch below the figure's top.
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
    """Return four panels over time.

    Args:
        figure: Figure to draw in.
        label: Label of the time axis, below the lower panels.
        end: End of the time axis, s; it begins at 0.
        edges: Edges of the grid, see Figure.add_gridspec.
        color: Colour of the label.
    """
    grid = figure.add_gridspec(2, 2, **edges)
    panels = [figure.add_subplot(grid[i // 2, i % 2]) for i in range(4)]
    for axes in panels:
        style.quiet(axes)
        axes.set_xlim(0.0, end)
    for axes in panels[2:]:
        axes.set_xlabel(label, fontsize=9, color=color)
    return panels


def plain_number(value: float, _position: int = 0) -> str:
    """Format a tick: as a plain number, or a power of ten if it is very small or large."""
    return f"{value:g}" if 1e-3 <= value < 1e5 else style.power_of_ten(value)


def draw_logarithmic(
    axes: Axes,
    low: float,
    high: float,
    text: Callable[[float, int], str] = style.power_of_ten,
) -> None:
    """Make the value axis logarithmic, with plain text at its ticks."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.yaxis.set_major_formatter(FuncFormatter(text))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", color="#BBBBBB", length=2)


@dataclass(frozen=True)
class PanelCurve:
    """One line of a panel; values of shape (n,)."""

    label: str
    values: NDArray[np.float64]
    colour: str
    width: float = 1.6
    dashed: bool = False
    steps: bool = False


@dataclass(frozen=True)
class Panel:
    """One quantity over time, drawn as a whole and in detail.

    Attributes:
        name: Name and unit, for the title.
        figure: Text at the right of the title.
        curves: Lines.
        detail: Begin and end of the part that is enlarged, s.
        limits: Values that must not be crossed; drawn as dashed lines.
    """

    name: str
    figure: str
    curves: Sequence[PanelCurve]
    detail: Span
    limits: Sequence[float] = ()


def draw_panels(figure: Figure, time: NDArray[np.float64], panels: Sequence[Panel]) -> None:
    """Draw each panel twice, the whole run left and a detail right, and the legend."""
    height = figure.get_figheight()
    grid = figure.add_gridspec(
        len(panels), 2, width_ratios=(1.5, 1), left=0.085, right=0.985,
        top=1.0 - 1.12 / height, bottom=0.52 / height, hspace=0.30, wspace=0.16,
    )  # fmt: skip
    for number, panel in enumerate(panels):
        whole = figure.add_subplot(grid[number, 0])
        detail = figure.add_subplot(grid[number, 1])
        style.panel_title(whole, panel.name, panel.figure)
        style.panel_title(detail, "", f"{panel.detail[0]:.3g} to {panel.detail[1]:.3g} s")
        for axes, (begin, end) in ((whole, (0.0, max(time[-1], 1e-3))), (detail, panel.detail)):
            style.quiet(axes)
            _draw_panel(axes, time, panel, begin, end)
            if number == len(panels) - 1:
                axes.set_xlabel(DRIVING_TIME if axes is whole else "s", fontsize=9, color=style.INK)
    style.legend(figure, LEGEND)


def _draw_panel(
    axes: Axes, time: NDArray[np.float64], panel: Panel, begin: float, end: float
) -> None:
    inside = (time >= begin - 1e-9) & (time <= end + 1e-9)
    shown = [np.zeros(0)]
    for curve in panel.curves:
        values = curve.values[inside]
        shown.append(values[np.isfinite(values)])
        axes.plot(
            time[inside], values, label=curve.label, color=curve.colour, linewidth=curve.width,
            linestyle=DASHES if curve.dashed else "-", zorder=4 if curve.dashed else 3,
            # A command acts during the period that begins at its stamp.
            drawstyle="steps-post" if curve.steps else "default",
        )  # fmt: skip
    for limit in panel.limits:
        axes.axhline(limit, color=style.QUIET, linewidth=1.0, linestyle=DOTS, zorder=2)
    axes.set_xlim(begin, end)
    axes.set_ylim(*value_range(np.concatenate(shown), panel.limits))


def value_range(values: NDArray[np.float64], limits: Sequence[float] = ()) -> tuple[float, float]:
    """Return (low, high) that includes all values, 0, and limits that the values come near."""
    low, high = float(min(values.min(initial=0.0), 0.0)), float(max(values.max(initial=0.0), 0.0))
    for limit in limits:
        if low < 0.6 * limit < 0.0 or high > 0.6 * limit > 0.0:
            low, high = min(low, limit), max(high, limit)
    margin = 0.10 * (high - low) or 1e-3
    return low - margin, high + margin


def rms_text(values: NDArray[np.float64], unit: str) -> str:
    """Format root mean square and maximum magnitude, for a panel's title."""
    values = values[np.isfinite(values)]
    if not len(values):
        return "not known"
    return f"rms {np.sqrt(np.mean(values**2)):.2g}, max {np.abs(values).max():.2g} {unit}"
