# SPDX-License-Identifier: Apache-2.0
"""Logs of two motors on a stand, wheels in the air, with known parameters and faults.

    V = R i + Ke w,     J dw/dt = Ke i - b w - c sign(w)          per wheel, without inductance

Voltages are random steps, different left and right. As in logs of motor drivers, currents have
noise and an offset, and speeds are quantised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from arc_odometry.number_range import Array

PERIOD, PARTS = 0.001, 4
# Noise of currents, and their maximum offset, as a fraction of the maximum current.
NOISE = 0.05
# Faults of the left wheel, and the part of the message that `identify` must give for each.
FAULTS = {
    "current sensor reads nothing": "left current sensor does not react",
    "current sensor reads half": "left current sensor reads 0.",
    "three times the friction": "left wheel has",
    "sign of the speed": "sign of the left speed",
    "swapped motors": "motors are swapped",
}


@dataclass(frozen=True)
class Motor:
    """A motor with its wheel, referred to the wheel.

    Attributes:
        resistance: Resistance, ohm.
        constant: Motor constant Ke, V s/rad, which is also N m/A.
        inertia: Moment of inertia, kg m^2.
        viscous: Viscous friction, N m s/rad.
        coulomb: Coulomb friction, N m.
    """

    resistance: float
    constant: float
    inertia: float
    viscous: float
    coulomb: float


def drawn(rng: np.random.Generator) -> tuple[Motor, Motor]:
    """Draw two motors of one type, which differ slightly."""
    resistance, constant = float(rng.uniform(0.2, 3.0)), float(rng.uniform(0.2, 1.5))
    settle = float(rng.uniform(0.03, 0.12))
    stall = 12.0 / resistance * constant
    own = {
        "resistance": resistance,
        "constant": constant,
        "inertia": settle * constant**2 / resistance,
        "viscous": 0.05 * constant**2 / resistance,
        "coulomb": float(rng.uniform(0.04, 0.12)) * stall,
    }
    left, right = (
        Motor(**{name: value * float(rng.uniform(0.93, 1.07)) for name, value in own.items()})
        for _ in range(2)
    )
    return left, right


def make_log(
    motors: tuple[Motor, Motor],
    rng: np.random.Generator,
    fault: str | None = None,
    seconds: float = 0.7,
) -> Mapping[str, Array]:
    """Return the columns of a log: time, voltages, currents and speeds, shape (n,) each.

    Args:
        motors: Left and right motor.
        rng: Generator for voltages, noise and offset.
        fault: Fault of the left wheel, one of FAULTS; None: no fault.
        seconds: Duration, s.
    """
    left, right = motors
    if fault == "three times the friction":
        left = Motor(**{**left.__dict__, "coulomb": 3.0 * left.coulomb})
    count = round(seconds / PERIOD)
    columns: dict[str, Array] = {"time": np.float64(PERIOD) * np.arange(count)}
    for side, motor in (("left", left), ("right", right)):
        voltage = _steps(rng, count)
        current, speed = _simulated(motor, voltage)
        largest, fastest = float(np.abs(current).max()), float(np.abs(speed).max())
        measured = current + NOISE * largest * (
            rng.standard_normal(count) + float(rng.uniform(-1.0, 1.0))
        )
        step = fastest / float(rng.uniform(40.0, 200.0))
        columns[f"{side}_voltage"] = voltage
        columns[f"{side}_current"] = measured
        columns[f"{side}_velocity"] = step * np.round(speed / step)
    _break(columns, fault, rng)
    return columns


def _break(columns: dict[str, Array], fault: str | None, rng: np.random.Generator) -> None:
    if fault == "current sensor reads nothing":
        largest = float(np.abs(columns["left_current"]).max())
        quiet = rng.standard_normal(len(columns["time"])) + float(rng.uniform(-1.0, 1.0))
        columns["left_current"] = NOISE * largest * quiet
    if fault == "current sensor reads half":
        columns["left_current"] = 0.5 * columns["left_current"]
    if fault == "sign of the speed":
        columns["left_velocity"] = -columns["left_velocity"]
    if fault == "swapped motors":
        left, right = columns["left_voltage"], columns["right_voltage"]
        columns["left_voltage"], columns["right_voltage"] = right, left


def _steps(rng: np.random.Generator, count: int) -> Array:
    """Return random voltages, each held for 40 to 120 ms."""
    results: list[float] = []
    while len(results) < count:
        results += [float(rng.uniform(-12.0, 12.0))] * int(rng.integers(40, 120))
    return np.array(results[:count])


def _simulated(motor: Motor, voltage: Array) -> tuple[Array, Array]:
    """Simulate current and speed at each sample in small steps; friction holds a stopped wheel."""
    speed, currents, speeds = 0.0, [], []
    step = PERIOD / PARTS
    for volts in voltage.tolist():
        currents.append((volts - motor.constant * speed) / motor.resistance)
        speeds.append(speed)
        for _ in range(PARTS):
            drive = motor.constant * (volts - motor.constant * speed) / motor.resistance
            free = speed + step * (drive - motor.viscous * speed) / motor.inertia
            slow = step * motor.coulomb / motor.inertia
            speed = math.copysign(max(abs(free) - slow, 0.0), free)
    return np.array(currents), np.array(speeds)
