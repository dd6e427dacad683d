"""What the figures of all runs share, beside the style that diffbot_ident gives all pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from diffbot_description import write_atomically
from diffbot_ident import figure_style as style
from diffbot_report.drawing import Picture

DRIVING_TIME = "robot time since driving began, s"
DASHES = (0, (5, 3))
DOTS = (0, (2, 2))


def warm_up() -> None:
    """Load what the first drawing loads: fonts, the renderer and the PNG writer."""
    figure = style.new_figure("0", "0", 1.0)
    figure.add_subplot().plot([0.0, 1.0], label="0")
    style.legend(figure)
    figure.savefig(BytesIO(), format="png")


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a PNG; returns its path. Raises OSError; see write_atomically."""
    return write_atomically(path, lambda partial: figure.savefig(partial, format="png"))


def picture(name: str, make: Callable[[], Figure]) -> Picture:
    """A figure that is made when its picture is drawn."""
    return Picture(f"{name}.png", lambda path: save_figure(make(), path))


def two_by_two(
    figure: Figure, label: str, end: float, edges: Mapping[str, float], color: str = "black"
) -> list[Axes]:
    """Four panels over time.

    Args:
        figure: where to.
        label: of the time axis, below the lower ones.
        end: of the time axis, s; it begins at 0.
        edges: of the grid, see Figure.add_gridspec.
        color: of the label.
    """
    grid = figure.add_gridspec(2, 2, **edges)
    panels = [figure.add_subplot(grid[i // 2, i % 2]) for i in range(4)]
    for axes in panels:
        style.quiet(axes)
        axes.set_xlim(0.0, end)
    for axes in panels[2:]:
        axes.set_xlabel(label, fontsize=9, color=color)
    return panels


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
