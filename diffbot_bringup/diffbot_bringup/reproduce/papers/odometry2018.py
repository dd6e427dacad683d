"""Odometry of Lages (2018), (35)-(38), as it should be and as it is printed."""

from __future__ import annotations

import cmath
import math

from arc_odometry import DiffOdometry, WheelGeometry


def lap_errors(radius: float = 1.0, omega: float = 1.0, period: float = 0.01) -> tuple:
    """Largest position errors in a lap of a circle: by arcs, by straight lines, as printed; m.

    Args:
        radius: of the circle, m.
        omega: yaw rate, rad/s.
        period: between readings, s.
    """
    geometry = WheelGeometry(0.075, 0.075, 0.272)
    odometry = DiffOdometry(geometry)
    left, right = geometry.wheel_velocity(radius * omega, omega)
    steps = round(2.0 * math.pi / (omega * period))
    turn = omega * period
    chord = 2.0 * radius * math.sin(0.5 * turn)
    straight = printed = 0.0j
    errors = [0.0, 0.0, 0.0]
    odometry.update(0.0, (0.0, 0.0))
    for k in range(1, steps + 1):
        time = k * period
        odometry.update(time, (left * time, right * time))
        theta = k * turn
        straight += cmath.rect(radius * turn, theta - turn)
        # (36) with theta(k), the heading at the end.
        printed += cmath.rect(chord, theta + 0.5 * turn)
        true = complex(radius * math.sin(theta), radius * (1.0 - math.cos(theta)))
        by_arcs = complex(odometry.pose.x, odometry.pose.y)
        for i, place in enumerate((by_arcs, straight, printed)):
            errors[i] = max(errors[i], abs(place - true))
    return tuple(errors)
