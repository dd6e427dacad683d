# SPDX-License-Identifier: Apache-2.0
"""Maximum speed of a robot in bends for a tolerance of the path, by its identified model.

The path is a line, a bend of 90 degrees of radius R, and a line. The follower knows the pose and,
with the path's curvature k, its distance e to the left and heading error a, commands

    omega = v (k - e / LENGTH^2 - 2 sin a / LENGTH)

through limits and wheel loops. The deviation is the largest |e|, without odometry's errors or slip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context

from arc_odometry.number_range import within
from diffbot_export.plant import TURNING, Pid, Plant, WheelLoops

LENGTH = 0.5  # m
# Length of the line after the bend, m.
REACH = 4.0 * LENGTH
RADII = (0.25, 0.5, 1.0, 2.0)  # m
TOLERANCES = (0.01, 0.02, 0.05, 0.1)  # m
# Speeds to try, logarithmically from this share of the fastest one on.
SPEEDS, SLOWEST = 7, 0.1
# Maximum time, as a multiple of that at the commanded speed.
LONGEST = 2.5


@dataclass(frozen=True)
class CurveFollower:
    """A plant with its loops and limits.

    Attributes:
        pid: Controller of the wheels; None: the plant takes wheel speeds.
        period: Of the loops, s.
        speed, yaw_rate: Maxima, m/s and rad/s.
        yaw_acceleration: Maximum, rad/s^2.
    """

    plant: Plant
    pid: Pid | None
    period: float
    speed: float
    yaw_rate: float
    yaw_acceleration: float

    def fastest(self, radius: float) -> float:
        """Return the speed that the limits allow in a bend of this radius, m/s."""
        return min(self.speed, self.yaw_rate * radius)


def deviation(follower: CurveFollower, speed: float, radius: float) -> float:
    """Return the largest distance from the path, m; infinite if its end is not reached."""
    plant, period = follower.plant, follower.period
    geometry = plant.geometry
    fastest = max(geometry.wheel_velocity(speed, speed / radius))
    loops = WheelLoops(plant, follower.pid, period, fastest, TURNING)
    loops.cruise(speed / plant.radius)
    step = period / loops.steps
    asked = x = y = theta = largest = 0.0
    end = radius + REACH
    most = follower.yaw_acceleration * period
    for _ in range(round(LONGEST * (2.0 * radius + REACH) / speed / period)):
        wanted = yaw_command(x, y, theta, radius, speed)
        wanted = within(wanted, follower.yaw_rate)
        asked += within(wanted - asked, most)
        for left, right in loops.advance(geometry.wheel_velocity(speed, asked)):
            body = geometry.body_velocity(left, right)
            middle = theta + 0.5 * body[1] * step
            x += body[0] * step * math.cos(middle)
            y += body[0] * step * math.sin(middle)
            theta += body[1] * step
        largest = max(largest, abs(bend_error(x, y, theta, radius)[0]))
        if y > end:
            return largest
    return math.inf


def bend_error(x: float, y: float, theta: float, radius: float) -> tuple[float, float, float]:
    """Return distance to the left of the path (m), heading error (rad) and curvature (1/m).

    The path runs along x to 0, through the bend to (radius, radius), and along y.
    """
    if y >= radius:
        return radius - x, theta - 0.5 * math.pi, 0.0
    if x <= 0.0:
        return y, theta, 0.0
    away = math.hypot(x, y - radius)
    return radius - away, theta - math.atan2(x, radius - y), 1.0 / radius


def yaw_command(x: float, y: float, theta: float, radius: float, speed: float) -> float:
    """Return the follower's command omega, rad/s."""
    left, turned, curvature = bend_error(x, y, theta, radius)
    return speed * (curvature - left / LENGTH**2 - 2.0 * math.sin(turned) / LENGTH)


@dataclass(frozen=True)
class BendRow:
    """Maximum speeds for one radius, m.

    Attributes:
        slowest: Slowest speed tried, m/s; None: slower is not better, because of a dead band.
        speeds: For each tolerance, m/s; None: all that were tried deviate more.
        limited: Whether each is bounded by the limits, not by the tolerance.
    """

    radius: float
    slowest: float | None
    speeds: tuple[float | None, ...]
    limited: tuple[bool, ...]


def bend_table(follower: CurveFollower) -> tuple[BendRow, ...]:
    """Return the maximum speeds for TOLERANCES, interpolated between simulated speeds."""
    rows = []
    for radius in RADII:
        top = follower.fastest(radius)
        speeds = [top * SLOWEST ** (1.0 - index / (SPEEDS - 1)) for index in range(SPEEDS)]
        errors: list[float] = []
        for speed in speeds:
            errors.append(deviation(follower, speed, radius))
            if len(errors) > 1 and errors[-1] > max(*TOLERANCES, errors[-2]):
                break
        slowest = speeds[0] if len(errors) < 2 or errors[1] >= errors[0] else None
        result = tuple(_largest_speed(speeds, errors, tolerance) for tolerance in TOLERANCES)
        limited = tuple(speed == top for speed in result)
        rows.append(BendRow(radius, slowest, result, limited))
    return tuple(rows)


def _largest_speed(
    speeds: Sequence[float], errors: Sequence[float], tolerance: float
) -> float | None:
    good = [index for index, error in enumerate(errors) if error <= tolerance]
    if not good:
        return None
    last = good[-1]
    if last + 1 >= len(errors) or not math.isfinite(errors[last + 1]):
        return speeds[last]
    fraction = (tolerance - errors[last]) / (errors[last + 1] - errors[last])
    return speeds[last] + (speeds[last + 1] - speeds[last]) * fraction


def table_text(rows: Sequence[BendRow], tolerances: Sequence[float] = TOLERANCES) -> list[str]:
    """Return the lines of the table."""
    title = "bend of radius | " + " | ".join(f"within {100 * t:g} cm" for t in tolerances)
    lines = [f"| {title} |", "|---" * (len(tolerances) + 1) + "|"]
    for row in rows:
        cells = []
        for speed, limited in zip(row.speeds, row.limited, strict=True):
            if speed is None:
                slow = row.slowest
                cells.append("no speed" if slow is None else f"below {_rounded_down(slow)} m/s")
            else:
                cells.append(f"{_rounded_down(speed)} m/s{' *' if limited else ''}")
        lines.append(f"| {row.radius:g} m | {' | '.join(cells)} |")
    return lines


def _rounded_down(speed: float) -> str:
    digits = Context(prec=3, rounding=ROUND_FLOOR)
    return f"{digits.create_decimal_from_float(speed * (1.0 + 1e-12)):f}"
