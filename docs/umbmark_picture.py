#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/images/umbmark.png: what to measure when squares are driven both ways.

./diffbot python docs/umbmark_picture.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from arc_odometry import WheelGeometry
from diffbot_calibration.umbmark import square_end
from diffbot_report.figure_style import BLUE, INK, ORANGE, QUIET, new_figure

GIVEN = WheelGeometry(0.075, 0.075, 0.27)
TRUE = WheelGeometry(0.0748, 0.0752, 0.275)
SIDE = 4.0


def main() -> None:
    """Draw it."""
    figure = new_figure(
        "UMBmark: drive a square by odometry, five times each way",
        "Measure where the robot's middle of the axle ends: x along the first leg, y to its left",
        4.6,
    )
    panels = figure.subplots(1, 2, gridspec_kw={"left": 0.03, "right": 0.97, "top": 0.82})
    for axes, clockwise in zip(panels, (True, False), strict=True):
        _draw(axes, clockwise)
    figure.savefig(Path(__file__).parent / "images" / "umbmark.png")


def _draw(axes: Axes, clockwise: bool) -> None:
    side = -SIDE if clockwise else SIDE
    corners = np.array([(0, 0), (SIDE, 0), (SIDE, side), (0, side), (0, 0)])
    axes.plot(*corners.T, color=QUIET, linewidth=1.2)
    for begin, end in zip(corners[:-1], corners[1:], strict=True):
        middle = 0.5 * (begin + end)
        direction = 0.1 * (end - begin)
        axes.annotate(
            "", middle + direction, middle, arrowprops={"arrowstyle": "->", "color": QUIET}
        )
    rng = np.random.default_rng(1)
    ends = np.array(square_end(SIDE, clockwise, GIVEN, TRUE)) + rng.normal(0.0, 0.05, (5, 2))
    axes.plot(*ends.T, "x", color=ORANGE, markersize=7)
    axes.plot(0.0, 0.0, "o", color=INK, markersize=6)
    axes.annotate("start", (0.0, 0.0), (-0.1, 0.15), ha="right", color=INK)
    x, y = ends.mean(axis=0)
    axes.text(x + 0.2, y - 0.4, "ends", color=ORANGE, ha="left")
    for vector, name in (((1.2, 0.0), "x"), ((0.0, 1.2), "y")):
        axes.annotate("", vector, (0.0, 0.0), arrowprops={"arrowstyle": "-|>", "color": BLUE})
        axes.annotate(name, vector, color=BLUE)
    option = "--cw" if clockwise else "--ccw"
    axes.set_title(f"{option}: {'with' if clockwise else 'against'} the clock", color=INK)
    axes.set_aspect("equal")
    axes.set_axis_off()


if __name__ == "__main__":
    main()
