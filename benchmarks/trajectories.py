#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All trajectories in one picture: their shapes, and their speeds and yaw rates over time.

Arrows show the heading; a circle marks the start, a square the end.

    ./diffbot python benchmarks/trajectories.py [PICTURE.png]
"""

from __future__ import annotations

import math
import sys
import timeit

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from pose2d_trajectories import (
    TRAJECTORIES,
    Trajectory,
    TrajectoryLimits,
    make_trajectory,
    options_of,
)

SAMPLES = 2000
ARROWS = 14
COLORS = {"v": "#1f6fb4", "omega": "#d1495b"}


def examples() -> dict[str, Trajectory]:
    """Return the trajectories to draw, by title."""
    one_lap = {name: {"laps": 1} if "laps" in options_of(name) else {} for name in TRAJECTORIES}
    shapes = {name: make_trajectory(name, **options) for name, options in one_lap.items()}
    slow = TrajectoryLimits(linear_velocity=0.25, angular_velocity=0.6, linear_acceleration=0.05)
    shapes["figure_eight, backwards, limited"] = make_trajectory(
        "figure_eight", laps=1, backwards=True, limits=slow
    )
    shapes["waypoints, corners = stop"] = make_trajectory("waypoints", corners="stop")
    return shapes


def draw(shape: plt.Axes, speeds: plt.Axes, title: str, trajectory: Trajectory) -> None:
    """Draw one trajectory: its path above, its speeds below."""
    times = [trajectory.duration * k / SAMPLES for k in range(SAMPLES + 1)]
    samples = [trajectory.at(t) for t in times]
    shape.plot([s.x for s in samples], [s.y for s in samples], color="0.35", linewidth=1.5)
    marks = samples[SAMPLES // (2 * ARROWS) :: SAMPLES // ARROWS]
    shape.quiver(
        [s.x for s in marks],
        [s.y for s in marks],
        [math.cos(s.theta) for s in marks],
        [math.sin(s.theta) for s in marks],
        color=COLORS["v"],
        scale=14.0,
        width=0.012,
        pivot="mid",
        zorder=3,
    )
    start, end = samples[0], samples[-1]
    shape.plot(end.x, end.y, "s", color=COLORS["omega"], markersize=8, zorder=4)
    shape.plot(
        start.x, start.y, "o", color="white", markeredgecolor="black", markersize=5, zorder=5
    )
    shape.set(title=title, aspect="equal", xlabel="x, m", ylabel="y, m")
    shape.margins(0.12)
    if all(s.y == start.y for s in samples):
        shape.set_ylim(start.y - 0.3, start.y + 0.3)
    speeds.plot(times, [s.v for s in samples], color=COLORS["v"], label="v, m/s")
    speeds.plot(times, [s.omega for s in samples], "--", color=COLORS["omega"], label="ω, rad/s")
    speeds.set(xlabel="t, s", xlim=(0.0, times[-1]))
    for axes in (shape, speeds):
        axes.grid(color="0.9")


def main(argv: list[str]) -> int:
    """Draw the picture and print the cost of a reference; return the exit status."""
    path = argv[0] if argv else "trajectories.png"
    shown = examples()
    columns = 4
    rows = 2 * math.ceil(len(shown) / columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(17.0, 12.0), layout="constrained", height_ratios=[2.2, 1.0] * 2
    )
    for index, (title, trajectory) in enumerate(shown.items()):
        row, column = divmod(index, columns)
        draw(axes[2 * row][column], axes[2 * row + 1][column], title, trajectory)
        cost = min(timeit.repeat(lambda it=trajectory: it.at(7.0), number=2000, repeat=3)) / 2000
        print(f"{title:34s} {trajectory.duration:8.3f} s   {1e6 * cost:5.1f} us per reference")
    figure.legend(*axes[1][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.savefig(path, dpi=80)
    print(f"picture: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
