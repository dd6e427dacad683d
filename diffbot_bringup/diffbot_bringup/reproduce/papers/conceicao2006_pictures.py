"""Pictures beside Figs. 2-7 and 9-12 of Conceicao and others (2006)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import stdtrit

from diffbot_bringup.reproduce.papers.conceicao2006_simulated import noiseless_steps
from diffbot_bringup.reproduce.section import Picture, picture
from diffbot_ident import figure_style as style
from diffbot_ident.omni import published
from diffbot_ident.omni.coasting import coasting_speed
from diffbot_ident.omni.coasting_experiment import DRIVEN, coast, coasting_of
from diffbot_ident.omni.coasting_fit import fit_coasting
from diffbot_ident.omni.coasting_published import euler_accelerations, fit_coasting_published
from diffbot_ident.omni.estimate import mean
from diffbot_ident.omni.hanging import HangingRig, fit_acceleration
from diffbot_ident.omni.hanging_experiment import hang
from diffbot_ident.omni.recording import OmniRecording
from diffbot_ident.omni.robot import OmniRobot
from diffbot_ident.omni.sensors import OmniSensors
from diffbot_ident.omni.steady_experiment import drive_steadily
from diffbot_ident.omni.steady_fit import SteadyFit

_AXES = (("V", "m/s", "N"), ("Vn", "m/s", "N"), ("W", "rad/s", "N m"))
_MOTORS = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE)
_DRIVING = ((1, 3), (0, 2), (0, 1, 2, 3))
"""The motors that drive V, Vn and W, counted from 0."""


def pictures(fits: list[SteadyFit]) -> list[Picture]:
    """All pictures; fits are those of Table 1."""
    robot, sensors, random = OmniRobot(), OmniSensors(), np.random.default_rng(1)
    steady = drive_steadily(robot, sensors, random, 1, (1.0,))
    return [
        picture(
            "conceicao2006-steady",
            "Simulated readings of speeds and currents at 1 m/s, 1 m/s and 1 rad/s, beside Figs. 2 "
            "to 4. From 3 s on they count for method 1.",
            _driving_figure(steady, "Steady speeds, as they are read", 5.0, False),
        ),
        picture(
            "conceicao2006-lines",
            "Table 1's forces, the fitted lines and the 95 % bands of the lines, beside Fig. 5.",
            _lines_figure(fits),
        ),
        picture(
            "conceicao2006-coasting",
            "Simulated coasting, beside Figs. 6 and 7: the closed form fitted to the speeds (blue) "
            "and Euler's accelerations (dots) with their least squares (orange), as printed.",
            _coasting_figure(coast(robot, sensors, random), robot),
        ),
        picture(
            "conceicao2006-hanging",
            "Angle and speed of the hanging robot, simulated, beside Fig. 9; J of the paper's four "
            "experiments as printed and with the falling mass's own inertia.",
            _hanging_figure(random),
        ),
        picture(
            "conceicao2006-model",
            "The model robot driven to 1 m/s, 1 m/s and 1 rad/s, beside Figs. 10 to 12: the duty "
            "meets its limit for V and Vn, not for W.",
            _driving_figure(noiseless_steps(), "The model robot speeds up", 1.5, True),
        ),
    ]


def _driving_figure(steps: OmniRecording, title: str, until: float, duty: bool) -> Figure:
    """Speeds, currents and, if wanted, duty: one column for each axis."""
    rows = 3 if duty else 2
    figure = style.new_figure(title, "friction and J of Tables 5 and 6", 2.0 * rows + 0.9)
    grid = figure.add_gridspec(
        rows, 3, left=0.07, right=0.985, top=1.0 - 1.0 / figure.get_figheight(),
        bottom=0.47 / figure.get_figheight(), hspace=0.28, wspace=0.2,
    )  # fmt: skip
    span = steps.time <= until
    time = steps.time[span]
    # W first: it has all motors, in their order, for the legend.
    for i in (2, 0, 1):
        name, unit, _ = _AXES[i]
        column = [figure.add_subplot(grid[row, i]) for row in range(rows)]
        for axes in column:
            style.quiet(axes)
            axes.tick_params(labelbottom=axes is column[-1])
        style.panel_title(column[0], name, unit)
        alike = ", all four alike" if duty and name == "W" else ""
        style.panel_title(column[1], "currents", f"A{alike}")
        column[0].plot(time, steps.velocity[0, i, 0, span, i], color=style.INK, linewidth=1.0)
        column[0].axhline(1.0, color=style.QUIET, linestyle=(0, (5, 3)))
        for motor in _DRIVING[i]:
            look = {"color": _MOTORS[motor], "linewidth": 1.0, "label": f"motor {motor + 1}"}
            column[1].plot(time, steps.current[0, i, 0, span, motor], **look)
            if duty:
                column[2].step(time, steps.duty[0, i, 0, span, motor], where="post", **look)
        if duty:
            style.panel_title(column[2], "duty", f"of 255 steps{alike}")
            column[2].set_ylim(-275, 275)
        column[-1].set_xlabel("time, s", fontsize=9, color=style.INK)
    style.legend(figure)
    return figure


def _three_panels(title: str, subtitle: str, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    figure = style.new_figure(title, subtitle, height)
    grid = figure.add_gridspec(1, 3, left=0.06, right=0.985, top=0.74, bottom=0.15, wspace=0.24)
    panels = [figure.add_subplot(grid[0, i]) for i in range(3)]
    for axes in panels:
        style.quiet(axes)
    return figure, panels


def _lines_figure(fits: list[SteadyFit]) -> Figure:
    figure, panels = _three_panels(
        "Forces against speeds, Table 1", "95 % of the line: two degrees of freedom, t = 4.3"
    )
    speed = np.linspace(0.5, 1.3, 50)
    rows = np.column_stack((speed, np.ones_like(speed)))
    for i, ((name, unit, force), fit) in enumerate(zip(_AXES, fits, strict=True)):
        axes = panels[i]
        line = rows @ (fit.viscous.value, fit.coulomb.value)
        std = np.sqrt(np.sum((rows @ fit.covariance) * rows, axis=1))
        half = stdtrit(fit.viscous.freedom, 0.975) * std
        axes.fill_between(speed, line - half, line + half, color=style.BLUE, alpha=0.15, lw=0)
        axes.plot(speed, line, color=style.BLUE, label="line")
        axes.plot(
            published.TABLE_1_SPEEDS, published.TABLE_1_FORCES[i], "o", color=style.ORANGE,
            label="Table 1",
        )  # fmt: skip
        style.panel_title(
            axes, ("F_v", "F_vn", "Γ")[i] + f", {force}",
            f"{fit.viscous.value:.3f} {name} + {fit.coulomb.value:.2f}",
        )  # fmt: skip
        axes.set_xlabel(f"{name}, {unit}", fontsize=9, color=style.INK)
    style.legend(figure)
    return figure


def _coasting_figure(recording: OmniRecording, robot: OmniRobot) -> Figure:
    figure = style.new_figure(
        "Coasting to standstill", "one simulated run of each axis, readings every 40 ms", 5.6
    )
    grid = figure.add_gridspec(
        2, 3, left=0.06, right=0.985, top=0.83, bottom=0.085, hspace=0.45, wspace=0.2
    )
    for i, (name, unit, _) in enumerate(_AXES):
        run = coasting_of(recording, 0, i)
        ours, old = fit_coasting([run]), fit_coasting_published([run])
        upper, lower = (figure.add_subplot(grid[row, i]) for row in range(2))
        style.quiet(upper)
        style.quiet(lower)
        style.panel_title(upper, name, unit)
        seen = recording.velocity[0, i, :, i]
        upper.plot(np.arange(len(seen)) - DRIVEN, seen, ".", ms=3, color=style.QUIET)
        law = ours.rate.value, ours.deceleration.value
        speed = coasting_speed(run.time, ours.starts[0], *law)[0]
        upper.plot(np.arange(len(speed)), speed, color=style.BLUE, label="closed form")
        upper.set_xlabel("readings since the motors went off", fontsize=9, color=style.INK)
        speeds, rates = euler_accelerations([run])
        lower.plot(speeds, rates, ".", ms=4, color=style.QUIET)
        span = np.array([0.0, speeds.max()])
        true = robot.viscous[i] / robot.masses[i], robot.coulomb[i] / robot.masses[i]
        fitted = old.rate.value, old.deceleration.value
        lower.plot(span, -law[0] * span - law[1], color=style.BLUE, label="closed form")
        lower.plot(span, -fitted[0] * span - fitted[1], color=style.ORANGE, label="Euler")
        dashes = (0, (5, 3))
        lower.plot(span, -true[0] * span - true[1], color=style.INK, ls=dashes, label="truth")
        style.panel_title(lower, f"d{name}/dt", f"{unit[:-1]}s²")
        lower.set_xlabel(f"{name}, {unit}", fontsize=9, color=style.INK)
    style.legend(figure)
    return figure


def _hanging_figure(random: np.random.Generator) -> Figure:
    figure, (angle, speed, inertia) = _three_panels(
        "The hanging robot", "angles with 10 mrad of noise; Table 4"
    )
    period, rig = published.SAMPLE_PERIOD, HangingRig(published.TABLE_4[0].load)
    seen = hang(rig, published.TABLE_6_MEAN, OmniSensors().angle, random)[0]
    time = period * np.arange(len(seen))
    found = fit_acceleration(period, seen).value
    angle.plot(time, seen, color=style.INK)
    style.panel_title(angle, "θ", "rad")
    speed.plot(time[:-1], np.diff(seen) / period, color=style.QUIET, linewidth=0.8)
    speed.plot(time, found * time, color=style.BLUE)
    style.panel_title(speed, "W", f"rad/s, {found:.4f} rad/s²")
    for axes in (angle, speed):
        axes.set_xlabel("time, s", fontsize=9, color=style.INK)
    rigs = [HangingRig(row.load) for row in published.TABLE_4]
    accelerations = [row.acceleration for row in published.TABLE_4]
    pairs = list(zip(rigs, accelerations, strict=True))
    place = np.arange(1, 5)
    old = [rig.inertia_published(a).value for rig, a in pairs]
    new = [rig.inertia(a).value for rig, a in pairs]
    inertia.plot(place, old, "s", color=style.ORANGE, label="as printed")
    inertia.plot(place, new, "o", color=style.BLUE, label="with the fall")
    inertia.axhline(mean(new).value, color=style.BLUE, linewidth=1.0)
    inertia.axhline(mean(old).value, color=style.ORANGE, linewidth=1.0)
    both = published.TABLE_6_METHODS_1_2
    inertia.axhline(both, color=style.INK, linestyle=(0, (5, 3)), label="methods 1 + 2")
    inertia.set_xticks(place)
    inertia.set_xlim(0.5, 4.5)
    inertia.set_xlabel("experiment", fontsize=9, color=style.INK)
    style.panel_title(inertia, "J", "kg m²")
    style.legend(figure)
    return figure
