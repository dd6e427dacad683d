# SPDX-License-Identifier: Apache-2.0
"""How fast a robot may drive through bends and stay within a tolerance, by its identified model.

The path is a line, a bend of 90 degrees and a line. Whoever follows it commands the speed and the
path's curvature times the speed, for the place where the robot is: without looking ahead, and
without a correction until REACH behind the bend. The commands pass the limits of acceleration and,
where there are any, the wheel loops; the model moves. The deviation is the largest distance from
the path up to there. It counts what lags and what overshoots; not in it: errors of odometry, slip,
and what a follower adds by itself. A follower that looks ahead or corrects deviates less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from diffbot_export.plant import Pid, Plant, WheelLoops

REACH = 0.5  # m
RADII = (0.25, 0.5, 1.0, 2.0)  # m
TOLERANCES = (0.01, 0.02, 0.05, 0.1)  # m
# Speeds that are tried, evenly spread in their logarithms from this share of the fastest on.
SPEEDS, SLOWEST = 12, 0.02
# Time of the straight line before the bend beyond that of gaining speed, s.
CALM = 1.0
LONGEST = 60.0


@dataclass(frozen=True)
class Follower:
    """A plant with its loops and limits.

    Attributes:
        plant: the robot.
        pid: of the wheels; None: the plant takes wheel speeds as commands.
        period: of the loops, s.
        speed: largest, m/s.
        yaw_rate: largest, rad/s.
        acceleration: m/s^2.
        yaw_acceleration: rad/s^2.
    """

    plant: Plant
    pid: Pid | None
    period: float
    speed: float
    yaw_rate: float
    acceleration: float
    yaw_acceleration: float

    def fastest(self, radius: float) -> float:
        """Speed that the limits allow in a bend of this radius, m/s."""
        return min(self.speed, self.yaw_rate * radius)


def deviation(follower: Follower, speed: float, radius: float) -> float:
    """Largest distance from the path, m; infinite where the robot does not get through.

    Args:
        follower: robot, loops and limits.
        speed: m/s, > 0.
        radius: of the bend, m, > 0.
    """
    plant, period = follower.plant, follower.period
    geometry = plant.geometry
    fastest = max(geometry.wheel_velocity(speed, speed / radius))
    loops = WheelLoops(plant, follower.pid, period, fastest)
    step = period / loops.steps
    v_asked = w_asked = 0.0
    x = y = theta = way = largest = 0.0
    calm = CALM + speed / follower.acceleration + 3.0 * sum(plant.delay)
    for k in range(round((calm + LONGEST) / period)):
        bending = k * period >= calm
        v_asked = min(speed, v_asked + follower.acceleration * period)
        wanted = speed / radius if bending and way < 0.5 * math.pi * radius else 0.0
        most = follower.yaw_acceleration * period
        w_asked += max(-most, min(most, wanted - w_asked))
        for left, right in loops.advance(geometry.wheel_velocity(v_asked, w_asked)):
            if not bending:
                continue
            body = geometry.body_velocity(left, right)
            middle = theta + 0.5 * body[1] * step
            x += body[0] * step * math.cos(middle)
            y += body[0] * step * math.sin(middle)
            theta += body[1] * step
            way += abs(body[0]) * step
            largest = max(largest, distance_to_bend(x, y, radius))
        if bending and way > 0.5 * math.pi * radius + REACH:
            return largest
    return math.inf


def distance_to_bend(x: float, y: float, radius: float) -> float:
    """Distance of a point from the path, m: along x to 0, the bend to (radius, radius), along y."""
    candidates = []
    if x <= 0.0:
        candidates.append(abs(y))
    if y >= radius:
        candidates.append(abs(x - radius))
    if x >= 0.0 and y <= radius:
        candidates.append(abs(math.hypot(x, y - radius) - radius))
    return min(candidates)


@dataclass(frozen=True)
class BendRow:
    """Speeds for one radius.

    Attributes:
        radius: of the bend, m.
        speeds: largest for each tolerance, m/s; None: not even the slowest that was tried.
        limited: for each tolerance, whether the limits of speed and yaw rate say so, and not the
            tolerance.
    """

    radius: float
    speeds: tuple[float | None, ...]
    limited: tuple[bool, ...]


def bend_table(
    follower: Follower,
    radii: Sequence[float] = RADII,
    tolerances: Sequence[float] = TOLERANCES,
) -> tuple[BendRow, ...]:
    """Largest speeds for tolerances, by interpolation between simulated speeds."""
    rows = []
    for radius in radii:
        top = follower.fastest(radius)
        speeds = [top * SLOWEST ** (1.0 - index / (SPEEDS - 1)) for index in range(SPEEDS)]
        errors: list[float] = []
        for speed in speeds:
            errors.append(deviation(follower, speed, radius))
            if errors[-1] > max(tolerances):
                break
        found = [_largest_speed(speeds, errors, tolerance) for tolerance in tolerances]
        rows.append(BendRow(radius, tuple(found), tuple(speed == top for speed in found)))
    return tuple(rows)


def _largest_speed(
    speeds: Sequence[float], errors: Sequence[float], tolerance: float
) -> float | None:
    """The speed at which the error first reaches the tolerance."""
    if errors[0] > tolerance:
        return None
    pairs = zip(speeds, speeds[1:], errors, errors[1:], strict=False)
    for slow, fast, below, above in pairs:
        if above > tolerance:
            if not math.isfinite(above):
                return slow
            return slow + (fast - slow) * (tolerance - below) / (above - below)
    return speeds[len(errors) - 1]


def table_text(rows: Sequence[BendRow], tolerances: Sequence[float] = TOLERANCES) -> list[str]:
    """The table, a line each."""
    title = "bend of radius | " + " | ".join(f"within {100 * t:g} cm" for t in tolerances)
    lines = [f"| {title} |", "|---" * (len(tolerances) + 1) + "|"]
    for row in rows:
        cells = []
        for speed, limited in zip(row.speeds, row.limited, strict=True):
            if speed is None:
                cells.append("not at all")
            else:
                cells.append(f"{speed:.2f} m/s{' *' if limited else ''}")
        lines.append(f"| {row.radius:g} m | {' | '.join(cells)} |")
    return lines
