"""The model and the law of Lages (2018) as printed, in continuous time."""

from __future__ import annotations

import math

from scipy.integrate import solve_ivp

from arc_odometry import Pose
from diffbot_controllers.motion import Velocity
from diffbot_controllers.nonsmooth import (
    NonsmoothGains,
    backstep_command,
    eta_rates,
    polar_error,
    polar_rates,
)

F12, F21 = 0.08444, 3.7706  # m/rad^2 and 1/m, below (4)
NEAR = 1e-5  # m; below it the polar coordinates are not to be had


def escape_time(start: tuple[float, float] = (1.0, 0.1), fast: float = 1e6) -> float:
    """Time until |v| of (3) without torque is `fast` m/s, s; infinite if it is not in 10 s.

    Args:
        start: v in m/s and omega in rad/s.
        fast: m/s.
    """

    def escaped(_t: float, u: list[float]) -> float:
        return abs(u[0]) - fast

    escaped.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        lambda _t, u: [F12 * u[1] ** 2, F21 * u[0] * u[1]],
        (0.0, 10.0), start, rtol=1e-10, events=escaped,
    )  # fmt: skip
    return float(solution.t[-1]) if solution.status == 1 else math.inf


def final_distance(goal: tuple[float, float, float], sign: float, duration: float = 12.0) -> float:
    """Distance from a goal at the end, m, from rest at the origin, by (8)-(34) on (6).

    Args:
        goal: x, y, theta, m, m, rad.
        sign: of eta' in (33), (34): -1 as printed, +1 as (24), (25) demand.
        duration: s; the run ends earlier where it is within 0.01 mm.
    """
    gains = NonsmoothGains()

    def away(state: list[float]) -> float:
        return math.hypot(state[0] - goal[0], state[1] - goal[1])

    def rate(_t: float, state: list[float]) -> list[float]:
        x, y, theta, v, omega = state
        error = polar_error(Pose(x - goal[0], y - goal[1], theta - goal[2]))
        eta1, eta2 = eta_rates(*polar_rates(error, Velocity(v, omega)), gains)
        bar = backstep_command(error, Velocity(v - eta1.value, omega - eta2.value), gains)
        return [
            v * math.cos(theta),
            v * math.sin(theta),
            omega,
            bar.v + sign * eta1.rate,
            bar.omega + sign * eta2.rate,
        ]

    def arrived(_t: float, state: list[float]) -> float:
        return away(state) - NEAR

    arrived.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        rate, (0.0, duration), [0.0] * 5, rtol=1e-6, atol=1e-8, max_step=0.02, events=arrived
    )
    return away(list(solution.y[:, -1]))
