# SPDX-License-Identifier: Apache-2.0
"""Conceicao, Moreira, Costa (2006): friction and inertia of an omnidirectional robot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import stdtrit

from diffbot_papers.omni import model as published
from diffbot_papers.omni.coasting import (
    coasting_speed,
    euler_accelerations,
    fit_coasting,
    fit_coasting_published,
    fit_inertia,
)
from diffbot_papers.omni.experiments import (
    DRIVEN,
    OmniRecording,
    OmniSensors,
    Repeated,
    SensorModel,
    coast,
    coasting_of,
    drive_steadily,
    hang,
    repeat_experiments,
    steady_points,
)
from diffbot_papers.omni.model import AXES, OmniRobot
from diffbot_papers.omni.omni_identification import (
    HangingRig,
    SteadyFit,
    UncertainValue,
    fit_acceleration,
    fit_steady,
    mean,
)
from diffbot_papers.page import (
    ComparisonRow,
    ComparisonTable,
    PaperPicture,
    PaperSection,
    Report,
    cannot_be,
    chart,
    chart_picture,
    improves,
    matches,
    shows,
)
from diffbot_report.chart import FOUR, Chart, ChartGroup, Curve, Role

_UNITS = {
    "B_v": "N/(m/s)", "B_vn": "N/(m/s)", "B_w": "N m/(rad/s)", "C_v": "N", "C_vn": "N",
    "C_w": "N m", "J": "kg m²", "B_v / M": "1/s", "B_vn / M": "1/s", "B_w / J": "1/s",
    "C_v / M": "m/s²", "C_vn / M": "m/s²", "C_w / J": "rad/s²",
}  # fmt: skip
_OURS = ("1 steady", "2 coasting", "1 + 2", "3 hanging")
_PRINTED = {"2 coasting": "2 as printed", "1 + 2": "1 + 2 as printed", "3 hanging": "3 as printed"}
_NOISE = (
    "Wheel speeds with 12 mm/s of noise every 40 ms, currents with 0.1 A, angles with 10 mrad. "
    "One repetition: four steady speeds and five coastings of each axis, one fall of 0.51 kg. "
)
_LIMIT_TIME = 1.5  # s, the span of Figs. 10-12
_FALL = (
    "(21) equates the wire's pull with the whole weight; the mass falls with a = r_m dW/dt and "
    "pulls with m (g − a) only. As printed, J is too large by m r_m². Ours: corrected."
)
_RUNS = 100


def section(report: Report) -> PaperSection:
    """Compute Tables 1 to 6, Figs. 2 to 7 and 9 to 12."""
    report("Tables 1 to 6")
    steady = [fit_steady(published.TABLE_1_SPEEDS, forces) for forces in published.TABLE_1_FORCES]
    tables = [_table_2(steady), _table_3(), _table_4(), _table_5(steady), _table_6(report)]
    report(f"{_RUNS} repetitions of the three experiments")
    repeateds = repeat_experiments(OmniRobot(), np.random.default_rng(0), _RUNS)
    tables += [_recovery_table(repeateds), _coverage_table(repeateds), _saturation_table()]
    report("pictures")
    return PaperSection(
        "An omnidirectional robot: friction and inertia",
        "A. Scolari Conceição, A. P. Moreira, P. J. Costa, Dynamic Parameters Identification of an "
        "Omni-directional Mobile Robot, ICINCO 2006.",
        (
            "Four motors, three velocities, each with viscous and Coulomb friction. Method 1 "
            "reads the currents at steady speeds, method 2 lets the robot coast, methods 1 and "
            "2 together give the inertia J, and method 3 gives it again from a mass that turns "
            "the hanging robot. Tables 2, 4, 5 and 6 follow from the data that the paper "
            "prints. The readings behind Table 3 and behind J of methods 1 and 2 are only in "
            "its figures; there, experiments are simulated with noise.",
            "Method 3 neglects that the falling mass accelerates, too: its J is 2 to 5 % too "
            "high. That also settles a contradiction: coasting turns the wheels and rotors, "
            "too, so methods 1 and 2 must give at least the J of the hanging robot, whose "
            "wheels stand still. As printed they give less, 1.358 against 1.390; corrected, "
            "1.358 against 1.351.",
            "Method 2 with Euler's accelerations mistakes noise for viscous friction; fitting the "
            "closed form of coasting to the speeds does not. Its Coulomb friction is 6 to 8 % "
            "above method 1's, which noise does not explain; an error of the motors' torque "
            "constant could. Coasting alone gives B / M and C / M only; B and C need the "
            "weighed mass.",
            "The paper prints no motor, gear or wheel data; ours are used, and only figures 10 "
            "to 12 and the noise of the forces depend on them. Its (1) and (2) lack the terms M "
            "W Vn and M W V, which are 0 in its experiments; our simulation has them.",
        ),
        tables,
        _pictures(steady),
    )


# Tables of the paper.


def _parameters(axes: int = 3) -> Iterator[tuple[str, str, str, int]]:
    """Yield name, unit, field of Friction and axis of each B and C."""
    for i, symbol in enumerate(("v", "vn", "w")[:axes]):
        for letter, field in (("B", "viscous"), ("C", "coulomb")):
            name = f"{letter}_{symbol}"
            yield name, _UNITS[name], field, i


def _table_2(fits: list[SteadyFit]) -> ComparisonTable:
    rows: list[ComparisonRow] = []
    for name, unit, field, i in _parameters():
        ours: UncertainValue = getattr(fits[i], field)
        rows.append(
            matches(
                f"{name}, method 1",
                unit,
                getattr(published.TABLE_2, field)[i],
                ours.value,
                why="line through Table 1; 1 % allowed",
                spread=f"± {ours.half_width:.2g} (95 %, 2 degrees of freedom)",
            )
        )
    return ComparisonTable(
        "Table 2: friction by method 1, from the data of Table 1",
        rows,
        "Four points leave two degrees of freedom: the 95 % intervals are wide, and that of each B "
        "is 24 to 61 % of it.",
    )


def _table_3() -> ComparisonTable:
    rows: list[ComparisonRow] = []
    for name, unit, field, i in _parameters(axes=2):
        per_mass = getattr(published.TABLE_3_PER_MASS, field)[i]
        product = getattr(published.TABLE_3, field)[i]
        low, high = published.MASS * per_mass, published.MASS * (per_mass + 0.01)
        rows.append(
            matches(
                f"{name}, method 2, from M and the coefficient {per_mass:.2f}",
                unit,
                product,
                0.5 * (low + high),
                relative=0.0,
                absolute=0.5 * (high - low),
                why=f"the coefficient that gives it is {product / published.MASS:.4f}; half a "
                "digit allowed",
                spread=f"{low:.2f} to {high:.2f}",
            )
        )
    return ComparisonTable(
        "Table 3: friction by method 2",
        rows,
        "The readings of Figs. 6 and 7 are not printed. What can be tested is whether M = 35 kg "
        "times the printed coefficients of (16), (17) gives the printed friction. It does when "
        "their digits were cut, not rounded: 0.1146 to 0.11, 0.1077 to 0.10, 0.8671 to 0.86, "
        "0.8789 to 0.87. Simulated coasting is below.",
    )


def _table_5(fits: list[SteadyFit]) -> ComparisonTable:
    rows: list[ComparisonRow] = []
    for name, unit, field, i in _parameters():
        ours = getattr(fits[i], field).value
        if i < 2:
            ours = 0.5 * (ours + getattr(published.TABLE_3, field)[i])
        printed = getattr(published.TABLE_5_MEAN, field)[i]
        rows.append(matches(f"mean {name}", unit, printed, ours, why="1 % allowed"))
    return ComparisonTable(
        "Table 5: means of methods 1 and 2",
        rows,
        "Method 1 as recomputed from Table 1, method 2 as printed in Table 3; W by method 1 alone.",
    )


def _hanging_inertias() -> tuple[list[float], list[float]]:
    """Return J of each experiment of Table 4, kg m^2: as printed, and with the fall."""
    pairs = [(HangingRig(row.load), row.acceleration) for row in published.TABLE_4]
    as_printed = [rig.inertia_published(a).value for rig, a in pairs]
    return as_printed, [rig.inertia(a).value for rig, a in pairs]


def _table_4() -> ComparisonTable:
    as_printed: list[ComparisonRow] = []
    corrected: list[ComparisonRow] = []
    for i, (row, again, ours) in enumerate(
        zip(published.TABLE_4, *_hanging_inertias(), strict=True)
    ):
        name = f"J, experiment {i + 1}, {row.load:g} kg"
        as_printed.append(
            matches(name, "kg m²", row.inertia, again, relative=1e-3, why="(19)-(21); 0.1 %")
        )
        excess = f"{100 * (row.inertia / ours - 1):.1f} % too high."
        why = f"{_FALL} {excess}" if i == 0 else f"As above; {excess}"
        corrected.append(cannot_be(f"{name}, with the fall", "kg m²", row.inertia, ours, why))
    return ComparisonTable(
        "Table 4: inertia by method 3",
        [*as_printed, *corrected],
        "From the printed masses, radius and accelerations.",
    )


def _table_6(report: Report) -> ComparisonTable:
    as_printed, corrected = _hanging_inertias()
    old, new = mean(as_printed), mean(corrected)
    both = published.TABLE_6_METHODS_1_2
    report("coasting for J by methods 1 and 2")
    simulated = _inertia_by_methods_1_2(both)
    spread = "± {:.3f} (95 %, between the experiments)"
    return ComparisonTable(
        "Table 6: inertia",
        (
            matches(
                "J, methods 1 + 2, from simulated readings of a robot with it",
                "kg m²",
                both,
                simulated.value,
                why="readings of Fig. 7(c) are not printed; ours: mean over 20 simulated "
                "experiments, in each four steady speeds and one coasting, with the friction of "
                "Table 2 and this J as truth; 1 % allowed",
                spread=f"± {simulated.half_width:.3f} (95 %)",
            ),
            matches(
                "J, method 3, mean",
                "kg m²",
                published.TABLE_6_METHOD_3,
                old.value,
                relative=1e-3,
                why="mean of Table 4",
                spread=spread.format(old.half_width),
            ),
            matches(
                "mean of both",
                "kg m²",
                published.TABLE_6_MEAN,
                0.5 * (both + old.value),
                relative=1e-3,
                why="as printed",
            ),
            cannot_be(
                "J, method 3, mean, with the fall",
                "kg m²",
                published.TABLE_6_METHOD_3,
                new.value,
                _FALL,
                spread=spread.format(new.half_width),
            ),
            cannot_be(
                "mean of both, with the fall",
                "kg m²",
                published.TABLE_6_MEAN,
                0.5 * (both + new.value),
                "follows from the row above",
            ),
            improves(
                "difference of methods 1 + 2 and 3",
                "kg m²",
                round(published.TABLE_6_METHOD_3 - both, 6),
                abs(new.value - both),
                why="with the fall accounted for",
            ),
        ),
        "Methods 1 and 2 as printed; method 3 from the accelerations of Table 4.",
    )


def _inertia_by_methods_1_2(inertia: float) -> UncertainValue:
    """Return J by methods 1 + 2: mean of 20 simulations with Table 2's friction; seed 0."""
    runs = 20
    friction = published.TABLE_2
    robot = OmniRobot(inertia=inertia, viscous=friction.viscous, coulomb=friction.coulomb)
    random, sensors = np.random.default_rng(0), OmniSensors()
    speeds, forces = steady_points(drive_steadily(robot, sensors, random, runs), robot)
    recording = coast(robot, sensors, random, runs)
    results = [
        fit_inertia([coasting_of(recording, run, 2)], fit_steady(speeds[run, 2], forces[run, 2]))
        for run in range(runs)
    ]
    return mean([estimate.value for estimate in results])


# Simulated experiments.


def _recovery_table(repeateds: Sequence[Repeated]) -> ComparisonTable:
    printed = {(one.method, one.quantity): one for one in repeateds}
    rows = []
    for one in repeateds:
        if one.method not in _OURS:
            continue
        # Exceeded by chance once in 370 rows.
        allowed = 3.0 * one.spread * one.truth / math.sqrt(len(one.values))
        why = "mean of the repetitions; three standard errors allowed"
        old = printed.get((_PRINTED.get(one.method, ""), one.quantity))
        if old is not None:
            why += (
                f"; as printed the bias is {100 * old.bias:+.1f} % (ours {100 * one.bias:+.1f} %)"
            )
        rows.append(
            matches(
                f"{one.quantity}, method {one.method}",
                _UNITS[one.quantity],
                one.truth,
                float(np.mean(one.values)),
                relative=0.0,
                absolute=allowed,
                why=why,
                spread=f"± {100 * one.half_width:.2g} %, 95 % of one repetition",
            )
        )
    return ComparisonTable(
        "Tables 5 and 6 from simulated experiments",
        rows,
        f"{_NOISE}{len(repeateds[0].values)} repetitions, seed 0. The robot has the printed means "
        "of Tables 5 and 6; method 2 does not use the mass: its parameters are per M, for W per J.",
    )


def _coverage_table(repeateds: Sequence[Repeated]) -> ComparisonTable:
    rows: list[ComparisonRow] = []
    for one in repeateds:
        if one.method not in _OURS:
            continue
        rows.append(
            shows(
                f"{one.quantity}, method {one.method}",
                "",
                "no intervals",
                f"95 % intervals hold the truth in {100 * one.coverage:.0f} % of "
                f"{len(one.values)} repetitions",
                one.coverage >= 0.9,
                "at least 90 %",
            )
        )
    return ComparisonTable(
        "What the intervals are worth",
        rows,
        "Student's t; J by methods 1 + 2 with the uncertainty of B_w and C_w. The "
        "intervals exclude errors of K_t, of the gear, of b and of the radius of the disc.",
    )


def _noiseless_steps() -> OmniRecording:
    """Simulate the steps of section 4: 1 m/s, 1 m/s and 1 rad/s from rest, exact readings."""
    exact = SensorModel(0.0, 0.0)
    sensors = OmniSensors(exact, exact, exact)
    return drive_steadily(OmniRobot(), sensors, np.random.default_rng(0), 1, (1.0,))


def _saturation_table() -> ComparisonTable:
    """Compare Figs. 10-12: motors at their limit, and the speed after 1.5 s."""
    steps = _noiseless_steps()
    span = steps.time <= _LIMIT_TIME
    rows: list[ComparisonRow] = []
    for i, (axis, printed) in enumerate(zip(AXES, ((2, 4), (1, 3), ()), strict=True)):
        duty = np.abs(steps.duty[0, i, 0, span])
        limited = tuple(int(m) + 1 for m in np.flatnonzero(duty.max(axis=0) >= 255))
        rows.append(
            shows(
                f"motors that meet the PWM limit, {axis} = 1",
                "",
                _named(printed),
                _named(limited),
                limited == printed,
                "within 1.5 s from rest; motor data and gains are ours",
            )
        )
    for i, axis in enumerate(AXES):
        rows.append(
            matches(
                f"{axis} after 1.5 s",
                "rad/s" if axis == "W" else "m/s",
                1.0,
                float(steps.velocity[0, i, 0, span, i][-1]),
                relative=0.05,
                why="5 % allowed",
            )
        )
    return ComparisonTable(
        "Figs. 10 to 12: the model robot driven",
        rows,
        "Friction and J of Tables 5 and 6; motors of 24 V and 4 Ω with 6 N/A at the wheel, which "
        "the paper does not print.",
    )


def _named(motors: tuple[int, ...]) -> str:
    return " and ".join(str(motor) for motor in motors) or "none"


# Pictures.

_AXES = (("V", "m/s", "N"), ("Vn", "m/s", "N"), ("W", "rad/s", "N m"))
_DRIVING = ((1, 3), (0, 2), (0, 1, 2, 3))
"""The motors that drive V, Vn and W, counted from 0."""


def _pictures(fits: list[SteadyFit]) -> list[PaperPicture]:
    robot, sensors, random = OmniRobot(), OmniSensors(), np.random.default_rng(1)
    steady = drive_steadily(robot, sensors, random, 1, (1.0,))
    friction = "friction and J of Tables 5 and 6"
    coasted, hanging = coast(robot, sensors, random), _hanging_charts(random)
    return [
        chart_picture(
            ChartGroup("conceicao2006-steady", "Steady speeds, as they are read", friction,
                       _driving_charts(steady, 5.0, False)),
            "Simulated readings of speeds and currents at 1 m/s, 1 m/s and 1 rad/s, beside Figs. 2 "
            "to 4. From 3 s on they count for method 1.",
            columns=3,
        ),
        chart_picture(
            ChartGroup("conceicao2006-lines", "Forces against speeds, Table 1",
                       "95 % of the line: two degrees of freedom, t = 4.3", _line_charts(fits)),
            "Table 1's forces, the fitted lines and the 95 % bands of the lines, beside Fig. 5.",
            columns=3,
        ),
        chart_picture(
            ChartGroup("conceicao2006-coasting", "Coasting to standstill",
                       "one simulated run of each axis, readings every 40 ms",
                       _coasting_charts(coasted, robot)),
            "Simulated coasting, beside Figs. 6 and 7: the closed form fitted to the speeds (blue) "
            "and Euler's accelerations (dots) with their least squares (orange), as printed.",
            columns=3,
        ),
        chart_picture(
            ChartGroup("conceicao2006-hanging", "The hanging robot",
                       "angles with 10 mrad of noise; Table 4", hanging),
            "Angle and speed of the hanging robot, simulated, beside Fig. 9; J of the paper's four "
            "experiments as printed and with the falling mass's own inertia.",
            columns=3,
        ),
        chart_picture(
            ChartGroup("conceicao2006-model", "The model robot speeds up", friction,
                       _driving_charts(_noiseless_steps(), 1.5, True)),
            "The model robot driven to 1 m/s, 1 m/s and 1 rad/s, beside Figs. 10 to 12: the duty "
            "meets its limit for V and Vn, not for W.",
            columns=3,
        ),
    ]  # fmt: skip


def _driving_charts(steps: OmniRecording, until: float, duty: bool) -> list[Chart]:
    span = steps.time <= until
    time = steps.time[span]
    rows: list[list[Chart]] = [[], [], []]
    for i, (name, unit, _) in enumerate(_AXES):
        speed = [
            Curve("wanted", time[[0, -1]], [1.0, 1.0], Role.QUIET, dashed=True),
            Curve("read", time, steps.velocity[0, i, 0, span, i], Role.WANTED),
        ]
        rows[0].append(chart(name, unit, speed))
        for row, title, of_unit, values in (
            (1, "currents", "A", steps.current),
            (2, "duty", "of 255 steps", steps.duty),
        ):
            curves = [
                Curve(f"motor {m + 1}", time, values[0, i, 0, span, m], FOUR[m], steps=row == 2)
                for m in _DRIVING[i]
            ]
            note = "all four alike" if duty and name == "W" else ""
            rows[row].append(chart(f"{title} for {name}", of_unit, curves, note=note))
    return [each for row in rows[: 3 if duty else 2] for each in row]


def _line_charts(fits: list[SteadyFit]) -> list[Chart]:
    speed = np.linspace(0.5, 1.3, 50)
    rows = np.column_stack((speed, np.ones_like(speed)))
    charts = []
    for i, ((name, unit, force), fit) in enumerate(zip(_AXES, fits, strict=True)):
        line = rows @ (fit.viscous.value, fit.coulomb.value)
        std = np.sqrt(np.sum((rows @ fit.covariance) * rows, axis=1))
        half = stdtrit(fit.viscous.freedom, 0.975) * std
        forces = np.asarray(published.TABLE_1_FORCES[i])
        curves = [
            Curve("line", speed, line, half_width=half),
            Curve("Table 1", published.TABLE_1_SPEEDS, forces, Role.SECOND, dots=True, marks=True),
        ]
        text = f"{fit.viscous.value:.3f} {name} + {fit.coulomb.value:.2f}"
        reach = float((line - half).min()), float((line + half).max())
        charts.append(
            chart(("F_v", "F_vn", "Γ")[i], force, curves, f"{name}, {unit}", note=text,
                  y_range=reach)
        )  # fmt: skip
    return charts


def _coasting_charts(recording: OmniRecording, robot: OmniRobot) -> list[Chart]:
    rows: list[list[Chart]] = [[], []]
    for i, (name, unit, _) in enumerate(_AXES):
        run = coasting_of(recording, 0, i)
        ours, old = fit_coasting([run]), fit_coasting_published([run])
        seen = recording.velocity[0, i, :, i]
        law = ours.rate.value, ours.deceleration.value
        speed = coasting_speed(run.time, ours.starts[0], *law)[0]
        curves = [
            Curve("readings", np.arange(len(seen)) - DRIVEN, seen, Role.QUIET, dots=True),
            Curve("closed form", np.arange(len(speed)), speed),
        ]
        rows[0].append(chart(name, unit, curves, "readings since the motors went off"))
        speeds, rates = euler_accelerations([run])
        span = np.array([0.0, speeds.max()])
        lines = (
            ("closed form", law, Role.FIRST),
            ("Euler", (old.rate.value, old.deceleration.value), Role.SECOND),
            ("truth", (robot.viscous[i] / robot.masses[i], robot.coulomb[i] / robot.masses[i]),
             Role.WANTED),
        )  # fmt: skip
        curves = [Curve("readings", speeds, rates, Role.QUIET, dots=True)]
        curves += [
            Curve(label, span, -b * span - c, role, dashed=role is Role.WANTED)
            for label, (b, c), role in lines
        ]
        rows[1].append(chart(f"d{name}/dt", f"{unit[:-1]}s²", curves, f"{name}, {unit}"))
    return [each for row in rows for each in row]


def _hanging_charts(random: np.random.Generator) -> list[Chart]:
    period, rig = published.SAMPLE_PERIOD, HangingRig(published.TABLE_4[0].load)
    seen = hang(rig, published.TABLE_6_MEAN, OmniSensors().angle, random)[0]
    time = period * np.arange(len(seen))
    result = fit_acceleration(period, seen).value
    speed = [
        Curve("differences", time[:-1], np.diff(seen) / period, Role.QUIET),
        Curve("fit", time, result * time),
    ]
    old, new = _hanging_inertias()
    place, ends = np.arange(1, 5), [0.5, 4.5]
    both = published.TABLE_6_METHODS_1_2
    inertia = [
        *(
            curve
            for label, values, role in (
                ("as printed", old, Role.SECOND), ("with the fall", new, Role.FIRST)
            )
            for curve in (
                Curve(label, place, values, role, dots=True, marks=True),
                Curve(label, ends, [mean(values).value] * 2, role),
            )
        ),
        Curve("methods 1 + 2", ends, [both, both], Role.WANTED, dashed=True),
    ]  # fmt: skip
    span = (0.97 * min(*old, *new), 1.02 * max(*old, *new))
    return [
        chart("θ", "rad", [Curve("readings", time, seen, Role.QUIET)]),
        chart("W", "rad/s", speed, note=f"{result:.4f} rad/s²"),
        chart("J", "kg m²", inertia, "experiment", y_range=span),
    ]
