"""Pictures beside those of Siwek et al. (2023)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from diffbot_bringup.reproduce.papers.siwek2023_published import BEST_BAND, NAMES, TRUE, UNITS
from diffbot_bringup.reproduce.section import Picture, picture
from diffbot_bringup.velocity_rehearsal import VelocityDrive
from diffbot_ident import figure_style as style

Array = NDArray[np.float64]

COLOURS = {"L-M": style.BLUE, "RLS": style.ORANGE, "RLS + L-M": style.GREEN}
LEAST = 1e-6  # m and rad; smaller errors are drawn there


def errors_picture(runs: dict[str, VelocityDrive], name: str, where: str, stands: str) -> Picture:
    """Path, and errors of the true pose over time, of the three ways."""
    figure = style.new_figure("The figure of 8 in three ways", where, 7.2)
    grid = figure.add_gridspec(
        3, 2, left=0.065, right=0.985, top=0.845, bottom=0.075, hspace=0.42, wspace=0.2,
        width_ratios=(1.0, 1.25),
    )  # fmt: skip
    path = figure.add_subplot(grid[:, 0])
    _draw_paths(path, runs)
    panels = [figure.add_subplot(grid[row, 1]) for row in range(3)]
    titles = (("e_x", "along, m"), ("e_y", "across, m"), ("e_θ", "heading, rad"))
    for index, (axes, (title, unit)) in enumerate(zip(panels, titles, strict=True)):
        style.quiet(axes)
        style.panel_title(axes, title, unit)
        axes.set_yscale("log")
        for way, run in runs.items():
            size = np.maximum(np.abs(run.errors()[:, index]), LEAST)
            axes.plot(run.time, size, color=COLOURS[way], linewidth=1.1)
        axes.axhline(BEST_BAND[index], color=style.QUIET, linestyle="--", linewidth=1.0)
        axes.set_ylim(LEAST, 5.0)
        axes.yaxis.set_major_formatter(style.power_of_ten)
        axes.minorticks_off()
    panels[0].plot([], [], color=style.QUIET, linestyle="--", label="Table 4's best")
    panels[-1].set_xlabel("time, s", fontsize=9)
    style.legend(figure)
    return picture(name, f"{where}. {stands}", figure)


def _draw_paths(axes: Axes, runs: dict[str, VelocityDrive]) -> None:
    style.quiet(axes)
    style.panel_title(axes, "path", "m")
    first = next(iter(runs.values()))
    axes.plot(
        *first.reference[:, :2].T, color=style.QUIET, linewidth=4.0, alpha=0.35, label="reference"
    )
    for way, run in runs.items():
        axes.plot(*run.pose[:, :2].T, color=COLOURS[way], linewidth=1.2, label=way)
    axes.set_aspect("equal")


def sigma_picture(random: VelocityDrive, warm: VelocityDrive, laws: dict[str, Array]) -> Picture:
    """Sigma over time from a random start and from the batch fit, and by the laws."""
    figure = style.new_figure(
        "σ while driving",
        "velocities with noise of 5 mm/s and 10 mrad/s; the adaptation laws hear the same run",
        6.4,
    )
    grid = figure.add_gridspec(
        2, 2, left=0.065, right=0.985, top=0.835, bottom=0.085, hspace=0.34, wspace=0.16
    )
    lines = {
        "RLS": (random.time, random.estimate, style.ORANGE),
        "RLS + L-M": (warm.time, warm.estimate, style.GREEN),
        "(6) as printed": (random.time, laws["published"], style.PURPLE),
        "(6) corrected": (random.time, laws["corrected"], style.BLUE),
    }
    for index, (name, unit, truth) in enumerate(zip(NAMES, UNITS, TRUE.as_array(), strict=True)):
        axes = figure.add_subplot(grid[index // 2, index % 2])
        style.quiet(axes)
        style.panel_title(axes, name, unit)
        axes.axhline(truth, color=style.INK, linestyle=":", linewidth=1.2, label="truth")
        for label, (time, values, colour) in lines.items():
            axes.plot(time, values[:, index], color=colour, linewidth=1.3, label=label)
        axes.set_ylim(-0.5 * truth, 2.0 * truth)
        if index >= 2:
            axes.set_xlabel("time, s", fontsize=9)
    style.legend(figure, below=0.62)
    return picture(
        "siwek2023-sigma",
        "σ1 to σ4 over time from the start of the paper's test 4 and from the batch fit, beside "
        "Figs. 4 and 5; the adaptation law (6) as printed leaves the picture or ends elsewhere.",
        figure,
    )


def published_law_picture(printed: VelocityDrive, right: VelocityDrive) -> Picture:
    """The kinematic law with the printed signs beside the right one."""
    figure: Figure = style.new_figure(
        "The kinematic law (10) as printed drives away from its reference",
        "exact σ, no noise, commands of 0.7 m/s and π rad/s at most; from rest on the first pose",
        3.6,
    )
    grid = figure.add_gridspec(1, 2, left=0.065, right=0.985, top=0.72, bottom=0.15, wspace=0.2)
    lines = {"printed": (printed, style.PURPLE), "right signs": (right, style.GREEN)}
    path, distance = (figure.add_subplot(grid[0, column]) for column in range(2))
    for axes, title in ((path, ("path", "m")), (distance, ("distance", "from the reference, m"))):
        style.quiet(axes)
        style.panel_title(axes, *title)
    path.plot(*right.reference[:, :2].T, color=style.QUIET, linewidth=4.0, alpha=0.35)
    for label, (run, colour) in lines.items():
        path.plot(*run.pose[:, :2].T, color=colour, linewidth=1.3, label=label)
        away = np.maximum(run.true.distance, LEAST)
        distance.plot(run.time, away, color=colour, linewidth=1.3)
    path.set_xlim(-6.0, 6.0)
    path.set_ylim(-3.0, 3.0)
    distance.set_yscale("log")
    distance.yaxis.set_major_formatter(style.power_of_ten)
    distance.minorticks_off()
    distance.set_xlabel("time, s", fontsize=9)
    style.legend(figure)
    return picture(
        "siwek2023-published-law",
        "(10), (11) as printed and as implemented; the paper has no such picture.",
        figure,
    )
