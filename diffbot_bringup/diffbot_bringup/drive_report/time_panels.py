"""Panels of quantities over time: the whole run and a part of it in detail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from diffbot_bringup.drive_report.path_figure import LEGEND
from diffbot_ident import figure_style as style

TIME = "robot time since driving began, s"
DASHES = (0, (5, 3))


@dataclass(frozen=True)
class Curve:
    """One line of a panel; values of shape (n,)."""

    label: str
    values: NDArray[np.float64]
    colour: str
    width: float = 1.6
    dashed: bool = False
    steps: bool = False


@dataclass(frozen=True)
class Row:
    """One quantity.

    Attributes:
        name: its name and unit, for the title.
        figure: what is said at the right of the title.
        curves: lines.
        detail: begin and end of the part that is enlarged, s.
        limits: values that it may not cross; drawn as dashed lines.
    """

    name: str
    figure: str
    curves: Sequence[Curve]
    detail: tuple[float, float]
    limits: Sequence[float] = field(default=())


def panels(figure: Figure, time: NDArray[np.float64], rows: Sequence[Row]) -> None:
    """Draw each row twice, whole at the left and its detail at the right, and the legend."""
    height = figure.get_figheight()
    grid = figure.add_gridspec(
        len(rows), 2, width_ratios=(1.5, 1), left=0.085, right=0.985,
        top=1.0 - 1.12 / height, bottom=0.52 / height, hspace=0.30, wspace=0.16,
    )  # fmt: skip
    for number, row in enumerate(rows):
        whole = figure.add_subplot(grid[number, 0])
        detail = figure.add_subplot(grid[number, 1])
        style.panel_title(whole, row.name, row.figure)
        style.panel_title(detail, "", f"{row.detail[0]:.3g} to {row.detail[1]:.3g} s")
        for axes, (begin, end) in ((whole, (0.0, max(time[-1], 1e-3))), (detail, row.detail)):
            style.quiet(axes)
            _draw(axes, time, row, begin, end)
            if number == len(rows) - 1:
                axes.set_xlabel(TIME if axes is whole else "s", fontsize=9, color=style.INK)
    style.legend(figure, LEGEND)


def _draw(axes: Axes, time: NDArray[np.float64], row: Row, begin: float, end: float) -> None:
    inside = (time >= begin - 1e-9) & (time <= end + 1e-9)
    shown = [np.zeros(0)]
    for curve in row.curves:
        values = curve.values[inside]
        shown.append(values[np.isfinite(values)])
        axes.plot(
            time[inside], values, label=curve.label, color=curve.colour, linewidth=curve.width,
            linestyle=DASHES if curve.dashed else "-", zorder=4 if curve.dashed else 3,
            # A command acts during the period that begins at its stamp.
            drawstyle="steps-post" if curve.steps else "default",
        )  # fmt: skip
    for limit in row.limits:
        axes.axhline(limit, color=style.QUIET, linewidth=1.0, linestyle=(0, (2, 2)), zorder=2)
    axes.set_xlim(begin, end)
    axes.set_ylim(*value_range(np.concatenate(shown), row.limits))


def value_range(values: NDArray[np.float64], limits: Sequence[float] = ()) -> tuple[float, float]:
    """(low, high) that shows all values, with 0, and the limits where values come near them."""
    low, high = float(min(values.min(initial=0.0), 0.0)), float(max(values.max(initial=0.0), 0.0))
    for limit in limits:
        if low < 0.6 * limit < 0.0 or high > 0.6 * limit > 0.0:
            low, high = min(low, limit), max(high, limit)
    margin = 0.10 * (high - low) or 1e-3
    return low - margin, high + margin


def rms_text(values: NDArray[np.float64], unit: str) -> str:
    """Root mean square and largest size, for a panel's title."""
    values = values[np.isfinite(values)]
    if not len(values):
        return "not known"
    return f"rms {np.sqrt(np.mean(values**2)):.2g}, max {np.abs(values).max():.2g} {unit}"
