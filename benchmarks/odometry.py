#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy and cost of exact-arc odometry, compared with Euler and midpoint odometry.

The robot drives circular arcs with a known end point; prints the distance of the odometry's end
point from it, then the time of an update with and without noise.

    ./diffbot python benchmarks/odometry.py
"""

from __future__ import annotations

import math
import timeit

from arc_odometry import Arc, DiffOdometry, Pose, WheelGeometry

# Radius in m, angle in rad, number of steps.
ARCS = (
    (1.0, math.pi / 2.0, 1),
    (1.0, math.pi / 2.0, 4),
    (1.0, math.pi / 2.0, 100),
    (0.1, 9.0 * math.pi, 1000),
    (10.0, 1.0, 200),
)


def euler_end(arc: Arc, start: Pose) -> Pose:
    """Return the end of the Euler step: straight on, then turn; error D a / 2."""
    return straight(arc, start, start.theta)


def midpoint_end(arc: Arc, start: Pose) -> Pose:
    """Return the end of the midpoint step: D along the chord; too long by D a^2 / 24."""
    return straight(arc, start, start.theta + 0.5 * arc.turn)


def straight(arc: Arc, start: Pose, direction: float) -> Pose:
    """Return the end of the arc's length straight in a direction [rad], with the arc's turn."""
    x = start.x + arc.length * math.cos(direction)
    y = start.y + arc.length * math.sin(direction)
    return Pose(x, y, start.theta + arc.turn)


def end_error(end, radius: float, angle: float, steps: int) -> float:
    """Return the distance between the odometry's end point and the true one, m."""
    piece, pose = Arc(radius * angle, angle).fraction(1.0 / steps), Pose(0.0, 0.0, 0.0)
    for _ in range(steps):
        pose = end(piece, pose)
    truth = radius * math.sin(angle), radius * (1.0 - math.cos(angle))
    return math.dist(pose[:2], truth)


def update_time(path_noise: float, updates: int = 5000) -> float:
    """Return the time of an update, s, best of 5 rounds; 10 ms steps, 0.5 m/s, 1 m circle."""
    odometry = DiffOdometry(WheelGeometry(0.075, 0.075, 0.272), path_noise)
    number = 0

    def update() -> None:
        nonlocal number
        number += 1
        odometry.update(0.01 * number, (0.058 * number, 0.076 * number))

    return min(timeit.repeat(update, number=updates, repeat=5)) / updates


def main() -> None:
    """Print the tables."""
    print("radius m | angle rad | steps | error m: arc | midpoint | Euler")
    for radius, angle, steps in ARCS:
        errors = [
            end_error(end, radius, angle, steps) for end in (Arc.end, midpoint_end, euler_end)
        ]
        print(
            f"{radius:8.1f} | {angle:9.3f} | {steps:5d} |",
            " | ".join(f"{error:8.1e}" for error in errors),
        )
    for path_noise in (0.0, 1e-6):
        print(f"one update, path_noise {path_noise:g}: {1e6 * update_time(path_noise):.1f} us")


if __name__ == "__main__":
    main()
