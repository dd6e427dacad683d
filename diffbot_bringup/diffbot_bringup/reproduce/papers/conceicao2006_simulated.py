"""The experiments of Conceicao and others (2006) simulated: tables of what comes back."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffbot_bringup.reproduce.comparison import Row, matches, shows
from diffbot_bringup.reproduce.section import Table
from diffbot_ident.omni import published
from diffbot_ident.omni.coasting_experiment import coast, coasting_of
from diffbot_ident.omni.coasting_inertia import fit_inertia
from diffbot_ident.omni.estimate import Estimate, mean
from diffbot_ident.omni.recording import OmniRecording
from diffbot_ident.omni.repeated import Repeated
from diffbot_ident.omni.robot import AXES, OmniRobot
from diffbot_ident.omni.sensors import OmniSensors, Reading
from diffbot_ident.omni.steady_experiment import drive_steadily, steady_points
from diffbot_ident.omni.steady_fit import fit_steady

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


def inertia_by_methods_1_2(inertia: float, runs: int = 20) -> Estimate:
    """J by methods 1 + 2, mean over simulated experiments with Table 2's friction; seed 0."""
    friction = published.TABLE_2
    robot = OmniRobot(inertia=inertia, viscous=friction.viscous, coulomb=friction.coulomb)
    random, sensors = np.random.default_rng(0), OmniSensors()
    speeds, forces = steady_points(drive_steadily(robot, sensors, random, runs), robot)
    recording = coast(robot, sensors, random, runs)
    found = [
        fit_inertia([coasting_of(recording, run, 2)], fit_steady(speeds[run, 2], forces[run, 2]))
        for run in range(runs)
    ]
    return mean([estimate.value for estimate in found])


def recovery_table(found: Sequence[Repeated]) -> Table:
    """Estimates of simulated experiments beside what the robot was made with."""
    printed = {(one.method, one.quantity): one for one in found}
    rows = []
    for one in found:
        if one.method not in _OURS:
            continue
        # Three standard errors of the mean: once in 370 rows by chance.
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
    return Table(
        "Tables 5 and 6 from simulated experiments",
        rows,
        f"{_NOISE}{len(found[0].values)} repetitions, seed 0. The robot has the printed means of "
        "Tables 5 and 6; method 2 knows no mass, so its parameters are over M, and J for W.",
    )


def coverage_table(found: Sequence[Repeated]) -> Table:
    """How many of the 95 % intervals hold the truth."""
    rows: list[Row] = []
    for one in found:
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
    return Table(
        "What the intervals are worth",
        rows,
        "Student's t; J by methods 1 + 2 with what is not known of B_w and C_w. Not in the "
        "intervals: errors of K_t, of the gear, of b and of the radius of the disc.",
    )


def noiseless_steps() -> OmniRecording:
    """The three simulations of section 4: 1 m/s, 1 m/s and 1 rad/s from rest, exact readings."""
    exact = Reading(0.0, 0.0)
    sensors = OmniSensors(exact, exact, exact)
    return drive_steadily(OmniRobot(), sensors, np.random.default_rng(0), 1, (1.0,))


def saturation_table() -> Table:
    """Figs. 10-12: which motors meet their limit, and where the speed is after 1.5 s."""
    steps = noiseless_steps()
    span = steps.time <= _LIMIT_TIME
    rows: list[Row] = []
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
                "within 1.5 s from rest; motor data and gains stand in",
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
    return Table(
        "Figs. 10 to 12: the model robot driven",
        rows,
        "Friction and J of Tables 5 and 6; motors of 24 V and 4 Ω with 6 N/A at the wheel, which "
        "the paper does not print.",
    )


def _named(motors: tuple[int, ...]) -> str:
    return " and ".join(str(motor) for motor in motors) or "none"
