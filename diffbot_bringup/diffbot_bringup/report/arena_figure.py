"""The way that the robot took while it was excited, and the arena that it had to stay in."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from diffbot_bringup.report.recording import IdentRecording
from diffbot_ident import figure_style as style

FRAME = (0.085, 0.085, 0.90, 0.775)  # left, bottom, width, height as shares of the figure


def margin(places: NDArray[np.float64], arena: tuple[float, float]) -> float:
    """Least distance of the places [x, y] (n, 2) to the arena's edge, m; negative outside."""
    if not len(places):
        return 0.5 * min(arena)
    return float((0.5 * np.array(arena) - np.abs(places).max(axis=0)).min())


def arena_figure(recording: IdentRecording, arena: tuple[float, float], title: str) -> Figure:
    """The path by odometry in the arena.

    Args:
        recording: the run.
        arena: length along x and width along y, m, around where the excitation began.
        title: what was run.
    """
    exciting, verifying = recording.path()
    least = margin(np.concatenate([exciting, verifying]), arena)
    how = (
        f"stayed {1e3 * least:.0f} mm inside" if least >= 0.0 else f"{-1e3 * least:.0f} mm outside"
    )
    length, width = arena
    subtitle = f"{length:g} m × {width:g} m, axle's middle by odometry; {how}"
    figure = style.new_figure(f"Path in the arena of {title}", subtitle, 6.0)
    axes = figure.add_axes(FRAME)
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
    # One metre is as long along both axes.
    size = figure.get_size_inches() * FRAME[2:]
    reach = size * (reach / size).max()
    axes.set_xlim(-reach[0], reach[0])
    axes.set_ylim(-reach[1], reach[1])
    axes.set_xlabel("x, m (forward at the start)", fontsize=9, color=style.INK)
    axes.set_ylabel("y, m", fontsize=9, color=style.INK)
    style.legend(figure)
    return figure


def _reach(*paths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest |x| and |y| of all places."""
    return np.max([np.abs(path).max(axis=0) for path in paths if len(path)] or [(0, 0)], axis=0)
