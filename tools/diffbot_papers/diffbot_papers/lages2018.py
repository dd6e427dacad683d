# SPDX-License-Identifier: Apache-2.0
"""Lages (2018): non-smooth backstepping with arc odometry.

Each claim is tested by a simulated run, and misprints in continuous time.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

import numpy as np
from scipy.integrate import solve_ivp

from arc_odometry import DiffOdometry, Pose, Velocity, WheelGeometry
from diffbot_controllers import PublishedBackstepping, tuned_backstepping
from diffbot_controllers.laws.backstepping_published import (
    NonsmoothGains,
    backstep_command,
    eta_rates,
    polar_error,
    polar_rates,
)
from diffbot_controllers.laws.tracking_errors import TrackingErrors
from diffbot_description import load_robot
from diffbot_papers.lages2017 import LAP, ROLES, drive_eight, eight_group
from diffbot_papers.page import (
    ComparisonRow,
    ComparisonTable,
    PaperSection,
    Report,
    cannot_be,
    chart,
    chart_picture,
    shows,
)
from diffbot_report.chart import Chart, ChartGroup, Curve
from diffbot_sim.engines import make_simulator
from diffbot_study.driving import PERIOD, DriveSamples, Law, simulate_drive
from pose2d_trajectories import Reference

_GOALS = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0)}
_FIGURES = {"X": "Figs. 12 to 18", "Y": "Figs. 19 to 25"}
_LIMIT = 5.0  # torque limit in the runs of the standard law, N m
_UNLIMITED = 1e6  # effectively unlimited torque for all laws here, N m
_START = (0.0, 0.0, 0.0)
_PARKING_LAWS = ("published", "standard")
F12, F21 = 0.08444, 3.7706  # m/rad^2 and 1/m, below (4)
NEAR = 1e-5  # m; below it the polar coordinates are singular


def section(report: Report) -> PaperSection:
    """Compute the set points, the trajectory, the odometry, and the misprints."""
    report("parking")
    parked = {
        (law, name): _park(law, goal) for name, goal in _GOALS.items() for law in _PARKING_LAWS
    }
    eights = {}
    for law in ("standard", "published"):
        report(f"driving a figure-8, {law} law")
        eights[law] = drive_eight(law, _START, (0.0, -0.5), engine="ideal")
    backwards = drive_eight("published", (0.0, 0.0, math.pi), (0.0, -0.5), engine="ideal",
                            backwards=True)  # fmt: skip
    report("the printed equations")
    return PaperSection(
        "Non-smooth backstepping and arc odometry",
        "W. F. Lages, Implementation of Non-smooth Backstepping Control of Mobile Robots in ROS, "
        "2018.",
        (
            "The paper gives figures without numbers; each claim that they carry is tested here. "
            "Its law is Listing 3 with the gains of section 6, to the letter. The standard law is "
            "ours: forwards, backwards or either, within torque limits, with the reference's "
            "motion.",
        ),
        (
            _model_table(),
            _parking_table(parked),
            _eight_table(eights, backwards),
            _odometry_table(),
        ),
        (
            chart_picture(
                ChartGroup(
                    "lages2018-steps",
                    "Set points",
                    "distance of the true pose from the goal, engine ideal",
                    _steps_charts(parked),
                ),
                "Steps in X0 and Y0: distance from the goal over time, beside Figs. 12 to 25.",
            ),
            chart_picture(
                eight_group(
                    "lages2018-eight", eights, "Figure-8 from half a metre beside", "engine ideal"
                ),
                "The 8 from half a metre beside, engine ideal, beside Fig. 29: the published law "
                "turns round, because it parks in reverse.",
            ),
        ),
    )


# Set points.


Parked = Mapping[tuple[str, str], tuple[DriveSamples, float]]
"""By law and step: the run, and the larger of e1 and e2 at its end (published law only)."""


def _park(name: str, goal: tuple[float, float, float]) -> tuple[DriveSamples, float]:
    robot = load_robot("twil")
    with closing(make_simulator("ideal", robot)) as engine:
        dynamics = engine.parameters()
        published = PublishedBackstepping(dynamics, time_step=PERIOD)
        law: Law = published
        limit = _UNLIMITED
        if name == "published":
            # Listing 3 has no limits.
            limits = replace(robot.limits, torque=_UNLIMITED, torque_rate=1e3 * _UNLIMITED)
            robot = replace(robot, limits=limits)
        else:
            speeds = (robot.limits.linear_velocity, robot.limits.angular_velocity)
            law, limit = tuned_backstepping(dynamics, _LIMIT, *speeds, mean_velocity=True), _LIMIT
        run = simulate_drive(
            engine, robot, law, lambda t: Reference(*goal), 10.0, encoder_counts=0,
            torque_limit=limit,
        )  # fmt: skip
    if name != "published":
        return run, math.nan
    assert published.record is not None  # it has driven
    return run, max(abs(part) for part in published.record.backstep_error)


def _parking_table(parked: Parked) -> ComparisonTable:
    rows: list[ComparisonRow] = []
    for name in _GOALS:
        text = f"step in {name}0 direction"
        for law in _PARKING_LAWS:
            run, _ = parked[law, name]
            limits = "no limit" if law == "published" else f"{_LIMIT:g} N m"
            rows.append(
                shows(
                    f"{text}, {law} law",
                    "s",
                    f"converges ({_FIGURES[name]})",
                    f"{run.true.settling_time:.3g}",
                    math.isfinite(run.true.settling_time),
                    f"true pose within 1 cm and 1° for good; {limits}, largest torque "
                    f"{run.peak_torque:.3g} N m",
                )
            )
        _, largest = parked["published", name]
        rows.append(
            shows(
                f"{text}, e1 and e2 at the end",
                "m/s, rad/s",
                "u converges to η",
                f"{largest:.2g}",
                largest < 0.01,
                "the larger of both below 0.01 after 10 s",
            )
        )
    return ComparisonTable(
        "Set points",
        rows,
        "Engine ideal, exact wheel angles, from rest at the origin. The published law needs its "
        "peak of torque for the first sample, where its difference of η begins with 0.",
    )


def _steps_charts(parked: Parked) -> list[Chart]:
    charts = []
    for name, goal in _GOALS.items():
        curves = []
        for law in _PARKING_LAWS:
            run, _ = parked[law, name]
            away = np.maximum(np.hypot(*(run.pose[:, :2] - np.array(goal[:2])).T), 1e-6)
            begins = run.time <= 6.0
            curves.append(Curve(law, run.time[begins], away[begins], ROLES[law]))
        charts.append(chart(f"step in {name}0", "m", curves, logarithmic=True, y_range=(1e-5, 3.0)))
    return charts


# Trajectory.


def _eight_table(eights: dict[str, DriveSamples], backwards: DriveSamples) -> ComparisonTable:
    standard, published = eights["standard"].true, eights["published"].true
    return ComparisonTable(
        "Trajectory tracking: an 8 from (0, 0, 0), which begins at (0, −0.5, 0)",
        (
            shows(
                "tracking error, standard law",
                "mm, °",
                "very small (Figs. 29 to 32)",
                "{:.2g} mm, {:.2g}° rms".format(*_readable(standard)),
                standard.rms(LAP)[0] < 0.01,
                "within 1 cm rms in the second lap, true pose, 4096 counts",
            ),
            shows(
                "tracking error, published law driven backwards",
                "mm, °",
                "very small (Figs. 29 to 32)",
                "{:.2g} mm, {:.2g}° rms".format(*_readable(backwards.true)),
                backwards.true.rms(LAP)[0] < 0.1,
                "within 10 cm rms in the second lap; it lags by v / γ1",
            ),
            cannot_be(
                "tracking error, published law driven forwards",
                "mm, °",
                "very small (Figs. 29 to 32)",
                "{:.2g} mm, {:.2g}° rms".format(*_readable(published)),
                "(14) has v < 0 where α = ψ = 0: it is a law of parking in reverse, and turns "
                "the robot round.",
            ),
        ),
        "8 of 2 m by 1 m in 40 s, engine ideal, 4096 counts.",
    )


def _readable(errors: TrackingErrors) -> tuple[float, float]:
    distance, heading = errors.rms(LAP)
    return 1e3 * distance, math.degrees(heading)


# The model and the law as printed, in continuous time.


def _model_table() -> ComparisonTable:
    signs = {sign: max(final_distance(g, sign) for g in _GOALS.values()) for sign in (1.0, -1.0)}
    return ComparisonTable(
        "Equations (3), (4), (33), (34)",
        (
            cannot_be(
                "f12 f21",
                "1/rad²",
                0.08444 * 3.7706,
                0.08444 * -3.7706,
                "Energy demands f12 f21 <= 0. Undisturbed from v = 1 m/s, ω = 0.1 rad/s the "
                f"printed model is infinitely fast after {escape_time():.3g} s.",
            ),
            cannot_be(
                "g22",
                "1/(kg m²)",
                -16.084,
                16.084,
                "(4) prints g21 twice; the text below it has g21 = −g22. Ours is K8 = −16.084 for "
                "τl − τr.",
            ),
            cannot_be(
                "sign of η' in (33), (34)",
                "",
                "minus",
                "plus, as in Listing 3",
                f"In continuous time the set points are missed by up to {signs[-1.0]:.2g} m after "
                f"12 s with minus, and by {1e3 * signs[1.0]:.2g} mm with plus.",
            ),
        ),
    )


def escape_time(start: tuple[float, float] = (1.0, 0.1)) -> float:
    """Return the time, s, until |v| of (3) without torque is 1e6 m/s; infinite above 10 s."""

    def escaped(_t: float, u: list[float]) -> float:
        return abs(u[0]) - 1e6

    escaped.terminal = True  # type: ignore[attr-defined]  # required by SciPy
    solution = solve_ivp(
        lambda _t, u: [F12 * u[1] ** 2, F21 * u[0] * u[1]],
        (0.0, 10.0), start, rtol=1e-10, events=escaped,
    )  # fmt: skip
    return float(solution.t[-1]) if solution.status == 1 else math.inf


def final_distance(goal: tuple[float, float, float], sign: float, duration: float = 12.0) -> float:
    """Return the distance from a goal at the end, m, from rest at the origin, by (8)-(34) on (6).

    `sign` is that of eta' in (33), (34): -1 as printed, +1 as (24), (25) require. The run ends
    earlier within 0.01 mm.
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

    arrived.terminal = True  # type: ignore[attr-defined]  # required by SciPy
    solution = solve_ivp(
        rate, (0.0, duration), [0.0] * 5, rtol=1e-6, atol=1e-8, max_step=0.02, events=arrived
    )
    return away(list(solution.y[:, -1]))


# Odometry, as it should be and as it is printed.


def _odometry_table() -> ComparisonTable:
    arc, straight, printed = lap_errors()
    return ComparisonTable(
        "Odometry (35) to (38)",
        (
            shows(
                "largest error in a lap of a circle, arcs",
                "m",
                "more precise than straight lines",
                f"{arc:.1e}; straight lines {straight:.1e}",
                arc < straight,
                "1 m radius at 1 rad/s, 100 Hz, exact wheel angles; straight lines along the "
                "heading at the interval's start",
            ),
            cannot_be(
                "the same, θ(k) in (36) as printed",
                "m",
                "θ(k) + Δθ(k)/2",
                printed,
                "The arc's chord lies at the heading at the interval's start plus Δθ/2.",
            ),
            cannot_be(
                "(37) for a straight line",
                "",
                "sin(Δθ/2) / (Δθ/2)",
                "its series",
                "0/0 at Δθ = 0.",
            ),
        ),
    )


def lap_errors() -> tuple[float, float, float]:
    """Return the largest errors in a lap of 1 m, 1 rad/s, 10 ms: arcs, lines, as printed; m."""
    radius, omega, period = 1.0, 1.0, 0.01
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
        # (36) with the heading at the end of the step.
        printed += cmath.rect(chord, theta + 0.5 * turn)
        true = complex(radius * math.sin(theta), radius * (1.0 - math.cos(theta)))
        by_arcs = complex(odometry.pose.x, odometry.pose.y)
        for i, place in enumerate((by_arcs, straight, printed)):
            errors[i] = max(errors[i], abs(place - true))
    return errors[0], errors[1], errors[2]
