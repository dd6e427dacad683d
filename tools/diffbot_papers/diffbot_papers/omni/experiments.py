# SPDX-License-Identifier: Apache-2.0
"""Simulations of the three experiments, single and repeated, with a PI speed loop.

docs/theory/omni.md describes loop and methods.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffbot_papers.omni.coasting import (
    Coasting,
    fit_coasting,
    fit_coasting_published,
    fit_inertia,
    inertia_published,
)
from diffbot_papers.omni.model import (
    AXES,
    SAMPLE_PERIOD,
    TABLE_1_SPEEDS,
    TABLE_4,
    Array,
    OmniRobot,
    OmniState,
    body_velocities,
    simulate,
    wheel_velocities,
)
from diffbot_papers.omni.omni_identification import (
    HangingRig,
    SteadyFit,
    UncertainValue,
    fit_acceleration,
    fit_acceleration_published,
    fit_steady,
    steady_forces,
)

# Sensors and speed loop.


@dataclass(frozen=True)
class SensorModel:
    """White normal noise and quantisation of one kind of reading, in its unit, >= 0 each."""

    noise: float
    step: float

    def __post_init__(self) -> None:
        for name in ("noise", "step"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"{name} = {value} of a reading: must be finite and >= 0")

    def of(self, truth: ArrayLike, random: np.random.Generator) -> Array:
        """Return readings of true values, in the same shape."""
        truth = np.asarray(truth, dtype=float)
        noisy = truth + self.noise * random.standard_normal(truth.shape)
        return self.step * np.round(noisy / self.step) if self.step else noisy


@dataclass(frozen=True)
class OmniSensors:
    """Sensors of the experiments, of which the paper specifies none: m/s, A, and rad.

    This noise explains Tables 3 and 2, the scatter in Table 1, and Fig. 9(b).
    """

    wheel_speed: SensorModel = SensorModel(0.012, 0.002)
    current: SensorModel = SensorModel(0.1, 0.02)
    angle: SensorModel = SensorModel(0.01, 0.005)


PROPORTIONAL, INTEGRAL = 60.0, 130.0
"""Gains Kp, V/(m/s), and Ki, V/m, at the rim. The paper prints none; with these the loop settles in
1 s and saturates as in its figures."""


class SpeedLoop:
    """Speed loop for any number of robots at once, called every `period`, s."""

    def __init__(self, robot: OmniRobot, period: float) -> None:
        self._robot, self._period = robot, period
        self._integral: Array | float = 0.0

    def update(self, wanted: Array, read: Array) -> Array:
        """Return the motors' duty in steps, (..., 4), for [V, Vn, W] wanted and read, (..., 3)."""
        robot, error = self._robot, wanted - read
        integral = self._integral + self._period * error
        correction = PROPORTIONAL * error + INTEGRAL * integral
        voltage = wheel_velocities(correction, robot.wheel_distance)
        # Anti-windup.
        free = np.all(np.abs(voltage) < robot.motor.supply, axis=-1, keepdims=True)
        self._integral = np.where(free, integral, self._integral)
        return robot.motor.duty(voltage)


@dataclass(frozen=True)
class OmniRecording:
    """n readings of each run; the leading dimensions count runs.

    Attributes:
        period: s.
        velocity: [V, Vn, W] by the inverse of (12), (..., n, 3).
        current: Of the motors, (..., n, 4) A.
        duty: From each reading to the next, in steps, (..., n, 4).
        driven: Whether the motors are on after each reading, (n,).
    """

    period: float
    velocity: Array
    current: Array
    duty: Array
    driven: NDArray[np.bool_]

    @property
    def time(self) -> Array:
        """Times of the readings since the first, (n,) s."""
        return self.period * np.arange(float(len(self.driven)))


def record(
    robot: OmniRobot,
    wanted: ArrayLike,
    driven: ArrayLike,
    period: float,
    sensors: OmniSensors,
    random: np.random.Generator,
) -> OmniRecording:
    """Drive robots from rest with the speed loop on the sensor readings.

    Args:
        wanted: Desired [V, Vn, W], (..., 3); the leading dimensions are the runs.
        driven: Whether the motors are on, for each period, s, (n,).
        random: Source of the noise.
    """
    wanted, driven = np.asarray(wanted, dtype=float), np.asarray(driven, dtype=bool)
    state, loop = OmniState.at_rest(*wanted.shape[:-1]), SpeedLoop(robot, period)
    velocities, currents, duties = [], [], []
    for on in driven:
        rims = wheel_velocities(state.velocity, robot.wheel_distance)
        read = body_velocities(sensors.wheel_speed.of(rims, random), robot.wheel_distance)
        duty = loop.update(wanted, read) if on else np.zeros_like(state.current)
        velocities.append(read)
        currents.append(sensors.current.of(state.current, random))
        duties.append(duty)
        state = simulate(robot, state, robot.motor.voltage(duty) if on else None, period)
    velocity, current, duty = (np.stack(rows, axis=-2) for rows in (velocities, currents, duties))
    return OmniRecording(period, velocity, current, duty, driven)


# Method 1, as in Figs. 2-4.

DURATION, SETTLED = 5.0, 3.0
"""Length of a run as in Figs. 2-4, and time from which the speed counts as steady, s."""


def drive_steadily(
    robot: OmniRobot,
    sensors: OmniSensors,
    random: np.random.Generator,
    runs: int = 1,
    speeds: tuple[float, ...] = TABLE_1_SPEEDS,
) -> OmniRecording:
    """Drive each axis separately at each speed, from rest, for 5 s: (runs, 3 axes, speeds)."""
    wanted = np.eye(3)[:, None, :] * np.asarray(speeds)[None, :, None]
    wanted = np.broadcast_to(wanted, (runs, *wanted.shape))
    driven = np.ones(round(DURATION / SAMPLE_PERIOD), dtype=bool)
    return record(robot, wanted, driven, SAMPLE_PERIOD, sensors, random)


def steady_points(recording: OmniRecording, robot: OmniRobot) -> tuple[Array, Array]:
    """Return speeds and forces, (runs, 3 axes, speeds), of the steady parts, as in Table 1."""
    steady = recording.time >= SETTLED
    speeds = recording.velocity[..., steady, :].mean(axis=-2)
    forces = steady_forces(recording.current[..., steady, :].mean(axis=-2), robot)
    own = np.arange(3)[:, None]
    column = np.arange(speeds.shape[-2])[None, :]
    return speeds[..., own, column, own], forces[..., own, column, own]


# Method 2, Fig. 6.

START_SPEEDS = (1.3, 0.9, 1.8)
"""[V, Vn in m/s, W in rad/s] from which the robot of Fig. 6 coasts."""

DRIVEN, OFF = 65, 45
"""Number of readings with the motors on and off; the robot rests before the last."""


def coast(
    robot: OmniRobot,
    sensors: OmniSensors,
    random: np.random.Generator,
    runs: int = 1,
) -> OmniRecording:
    """Drive each axis separately to its START_SPEEDS, then coast to standstill: (runs, 3 axes)."""
    wanted = np.broadcast_to(np.diag(START_SPEEDS), (runs, 3, 3))
    driven = np.arange(DRIVEN + OFF) < DRIVEN
    return record(robot, wanted, driven, SAMPLE_PERIOD, sensors, random)


def coasting_of(recording: OmniRecording, run: int, axis: int) -> Coasting:
    """Return the readings of a run and axis (0, 1, 2: V, Vn, W) after the motors are off."""
    off = ~recording.driven
    return Coasting(recording.period, recording.velocity[run, axis, off, axis])


# Method 3: a camera reads the angle, Fig. 9(a).

HANGING_DURATION, START_ANGLE = 4.5, 1.0
"""Duration in s and initial angle in rad, as in Fig. 9(a)."""


def hang(
    rig: HangingRig, inertia: float, sensor: SensorModel, random: np.random.Generator, runs: int = 1
) -> Array:
    """Return readings of theta from the mass's release on, (runs, n) rad; J in kg m^2."""
    time = np.arange(0.0, HANGING_DURATION + 1e-9, SAMPLE_PERIOD)
    truth = START_ANGLE + 0.5 * rig.acceleration(inertia) * time**2
    return sensor.of(np.broadcast_to(truth, (runs, len(time))), random)


# Repetitions.


@dataclass(frozen=True)
class Repeated:
    """One parameter by one method, over all runs: the truth, estimates and half widths, SI."""

    method: str
    quantity: str
    truth: float
    values: Array
    half_widths: Array

    @property
    def bias(self) -> float:
        """Mean error as a fraction of the truth."""
        return float(np.mean(self.values)) / self.truth - 1.0

    @property
    def spread(self) -> float:
        """Standard deviation of the estimates as a fraction of the truth."""
        return float(np.std(self.values, ddof=1)) / self.truth

    @property
    def half_width(self) -> float:
        """Mean half width of the 95 % intervals as a fraction of the truth."""
        return float(np.mean(self.half_widths)) / self.truth

    @property
    def coverage(self) -> float:
        """Fraction of the intervals that contain the truth."""
        return float(np.mean(np.abs(self.values - self.truth) <= self.half_widths))


def _repeated(
    method: str, quantity: str, truth: float, estimates: Sequence[UncertainValue]
) -> Repeated:
    values = np.array([estimate.value for estimate in estimates])
    half_widths = np.array([estimate.half_width for estimate in estimates])
    return Repeated(method, quantity, truth, values, half_widths)


def repeat_experiments(
    robot: OmniRobot,
    random: np.random.Generator,
    runs: int,
    coastings: int = 5,
) -> list[Repeated]:
    """Apply all methods to at least 2 simulated runs; of the robot they use l K_t / r and b."""
    if runs < 2 or coastings < 1:
        raise ValueError(f"runs = {runs}, coastings = {coastings}: at least 2 and 1 are needed")
    sensors = OmniSensors()
    speeds, forces = steady_points(drive_steadily(robot, sensors, random, runs), robot)
    steady = [
        [fit_steady(speeds[run, axis], forces[run, axis]) for run in range(runs)]
        for axis in range(3)
    ]
    recording = coast(robot, sensors, random, runs * coastings)
    coasts = [
        [
            [coasting_of(recording, coastings * run + i, axis) for i in range(coastings)]
            for run in range(runs)
        ]
        for axis in range(3)
    ]
    results = [*_friction(robot, steady, coasts), *_inertia_1_2(robot, steady[2], coasts[2])]
    return [*results, *_inertia_3(robot, random, runs, sensors)]


def _friction(
    robot: OmniRobot, steady: list[list[SteadyFit]], coasts: list[list[list[Coasting]]]
) -> list[Repeated]:
    repeateds = []
    for i, axis in enumerate(AXES):
        b, c, name = robot.viscous[i], robot.coulomb[i], axis.lower()
        repeateds.append(_repeated("1 steady", f"B_{name}", b, [fit.viscous for fit in steady[i]]))
        repeateds.append(_repeated("1 steady", f"C_{name}", c, [fit.coulomb for fit in steady[i]]))
    for i, axis in enumerate(AXES):
        mass, name = robot.masses[i], axis.lower()
        per = "J" if axis == "W" else "M"
        b, c = robot.viscous[i] / mass, robot.coulomb[i] / mass
        for method, fit in (
            ("2 coasting", fit_coasting),
            ("2 as printed", fit_coasting_published),
        ):
            fits = [fit(runs) for runs in coasts[i]]
            repeateds.append(_repeated(method, f"B_{name} / {per}", b, [f.rate for f in fits]))
            repeateds.append(
                _repeated(method, f"C_{name} / {per}", c, [f.deceleration for f in fits])
            )
    return repeateds


def _inertia_1_2(
    robot: OmniRobot, steady: list[SteadyFit], coasts: list[list[Coasting]]
) -> list[Repeated]:
    pairs = list(zip(coasts, steady, strict=True))
    ours = [fit_inertia(runs, fit) for runs, fit in pairs]
    old = [inertia_published(runs, fit.viscous.value, fit.coulomb.value) for runs, fit in pairs]
    return [
        _repeated("1 + 2", "J", robot.inertia, ours),
        _repeated("1 + 2 as printed", "J", robot.inertia, old),
    ]


def _inertia_3(
    robot: OmniRobot, random: np.random.Generator, runs: int, sensors: OmniSensors
) -> list[Repeated]:
    rig = HangingRig(TABLE_4[0].load)
    angles = hang(rig, robot.inertia, sensors.angle, random, runs)
    ours = [rig.inertia(fit_acceleration(SAMPLE_PERIOD, angle)) for angle in angles]
    old = [
        rig.inertia_published(fit_acceleration_published(SAMPLE_PERIOD, angle)) for angle in angles
    ]
    fitted = [rig.inertia_published(fit_acceleration(SAMPLE_PERIOD, angle)) for angle in angles]
    return [
        _repeated("3 hanging", "J", robot.inertia, ours),
        _repeated("3 as printed", "J", robot.inertia, old),
        _repeated("3 as printed, our dW/dt", "J", robot.inertia, fitted),
    ]
