"""The three experiments many times over: do the 95 % intervals hold the truth?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diffbot_papers.omni.coasting import (
    Coasting,
    Estimate,
    SteadyFit,
    combined,
    fit_coasting,
    fit_coasting_published,
    fit_inertia,
    fit_steady,
    inertia_published,
    steady_forces,
)
from diffbot_papers.omni.model import (
    AXES,
    DISC_RADIUS,
    GRAVITY,
    SAMPLE_PERIOD,
    TABLE_1_SPEEDS,
    TABLE_4,
    Array,
    OmniRobot,
    OmniSensors,
    OmniState,
    Reading,
    SpeedLoop,
    body_velocities,
    simulate,
    wheel_velocities,
)

# ---
# Method 3: the inertia of the robot, hung from the ceiling, turned by a falling mass.
#
#     (19)  Gamma = J dW/dt     (20)  Gamma = f_m r_m     (21)  f_m = m_o g     as printed
#
# The falling mass accelerates, too: with a = r_m dW/dt the wire pulls only with f_m = m_o (g - a),
# so
#
#     Gamma = m_o (g - a) r_m     J = m_o r_m (g - r_m dW/dt) / (dW/dt)
#
# As printed, J holds m_o r_m^2 too much.


@dataclass(frozen=True)
class HangingRig:
    """A mass on a wire that unwinds from a disc on the hanging robot.

    Attributes:
        load: m_o, kg, > 0.
        radius: r_m, of the disc, m, > 0.
        gravity: g, m/s^2, > 0; the paper's by default.
        load_std: standard deviation of m_o, kg, >= 0.
        radius_std: standard deviation of r_m, m, >= 0.

    Raises:
        ValueError: a value is not finite or out of its range.
    """

    load: float
    radius: float = DISC_RADIUS
    gravity: float = GRAVITY
    load_std: float = 0.0
    radius_std: float = 0.0

    def __post_init__(self) -> None:
        for name in ("load", "radius", "gravity"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} = {value}: must be finite and > 0")
        for name in ("load_std", "radius_std"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"{name} = {value}: must be finite and >= 0")

    def acceleration(self, inertia: float) -> float:
        """dW/dt, rad/s^2, of a body with this J, kg m^2: the mass and the body move together."""
        m, r = self.load, self.radius
        return m * self.gravity * r / (inertia + m * r**2)

    def inertia_published(self, acceleration: Estimate | float) -> Estimate:
        """(19)-(21): J = m_o g r_m / (dW/dt), kg m^2, too large by m_o r_m^2."""
        found = _estimate(acceleration)
        m, g, r = self.load, self.gravity, self.radius
        value = m * g * r / found.value
        slopes = (-value / found.value, value / m, value / r)
        return self._propagated(value, slopes, found)

    def inertia(self, acceleration: Estimate | float) -> Estimate:
        """J = m_o r_m (g - r_m dW/dt) / (dW/dt), kg m^2, from dW/dt, rad/s^2.

        Raises:
            ValueError: the acceleration is not between 0 and that of the falling mass alone.
        """
        found = _estimate(acceleration)
        m, g, r = self.load, self.gravity, self.radius
        if not found.value < g / r:
            raise ValueError(
                f"acceleration = {found.value} rad/s^2: the mass cannot fall faster than g, so it "
                f"must be below g / r_m = {g / r:g}; check the radius and the unit of the angle"
            )
        value = m * r * (g - r * found.value) / found.value
        slopes = (
            -m * r * g / found.value**2,
            value / m,
            m * (g - 2.0 * r * found.value) / found.value,
        )
        return self._propagated(value, slopes, found)

    def _propagated(
        self, value: float, slopes: tuple[float, float, float], acceleration: Estimate
    ) -> Estimate:
        """J with what acceleration, load and radius leave unknown of it."""
        stds = (acceleration.std, self.load_std, self.radius_std)
        parts = [slope * std for slope, std in zip(slopes, stds, strict=True)]
        std, freedom = combined(parts, (acceleration.freedom, math.inf, math.inf))
        return Estimate(value, std, freedom)


def _estimate(acceleration: Estimate | float) -> Estimate:
    if not isinstance(acceleration, Estimate):
        acceleration = Estimate(float(acceleration), 0.0)
    if not acceleration.value > 0.0:
        raise ValueError(
            f"acceleration = {acceleration.value} rad/s^2: must be > 0, in the sense in which the "
            "mass falls"
        )
    return acceleration


def fit_acceleration(period: float, angle: ArrayLike) -> Estimate:
    """dW/dt, rad/s^2, by least squares of theta0 + W0 t + (dW/dt) t^2 / 2 to the angles.

    Args:
        period: between two readings, s.
        angle: theta, (n,) rad, n >= 4, not wrapped.

    Raises:
        ValueError: there are too few readings or one is not finite.
    """
    angle = _angles(angle)
    time = period * np.arange(len(angle))
    rows = np.column_stack((np.ones_like(time), time, 0.5 * time**2))
    return _last_of(rows, angle)


def fit_acceleration_published(period: float, angle: ArrayLike) -> Estimate:
    """dW/dt, rad/s^2, as printed: W by differences of the angle, then a straight line, Fig. 9(b).

    Neighbouring differences share a reading with opposite signs. The value stays unbiased, but the
    line's own interval, given here, takes them for independent and comes out far too wide.
    """
    angle = _angles(angle)
    time = period * np.arange(len(angle) - 1)
    return _last_of(np.column_stack((np.ones_like(time), time)), np.diff(angle) / period)


def _angles(angle: ArrayLike) -> Array:
    angle = np.asarray(angle, dtype=float)
    if angle.ndim != 1 or len(angle) < 4 or not np.isfinite(angle).all():
        raise ValueError(f"angle {angle.shape}: must be one row of at least 4 finite readings")
    return angle


def _last_of(rows: Array, outputs: Array) -> Estimate:
    """The last parameter of ordinary least squares."""
    inverse = np.linalg.inv(rows.T @ rows)
    values = inverse @ rows.T @ outputs
    freedom = len(outputs) - rows.shape[1]
    variance = float(np.sum((outputs - rows @ values) ** 2)) / freedom
    return Estimate(float(values[-1]), float(np.sqrt(variance * inverse[-1, -1])), freedom)


# ---
# Readings of a run of the robot, and driving it while they are taken.


@dataclass(frozen=True)
class OmniRecording:
    """n readings of each run; the leading dimensions count runs.

    Attributes:
        period: between two readings, s.
        velocity: [V, Vn, W] from the wheels' readings by the inverse of (12), (..., n, 3).
        current: readings of the motors' currents, (..., n, 4) A.
        duty: that the motors get from each reading to the next, in steps, (..., n, 4).
        driven: whether the motors are on after each reading, (n,).
    """

    period: float
    velocity: Array
    current: Array
    duty: Array
    driven: Array

    @property
    def time(self) -> Array:
        """Of the readings from the first on, (n,) s."""
        return self.period * np.arange(len(self.driven))


def record(
    robot: OmniRobot,
    wanted: ArrayLike,
    driven: ArrayLike,
    period: float,
    sensors: OmniSensors,
    random: np.random.Generator,
) -> OmniRecording:
    """Drive robots from rest with the speed loop on what the sensors read.

    Args:
        robot: all runs are of this one.
        wanted: [V, Vn, W], (..., 3); the leading dimensions are the runs.
        driven: whether the motors are on, for each period, (n,).
        period: of loop and readings, s.
        sensors: noise and quantisation.
        random: source of the noise.
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


# ---
# Method 2 as a simulation: bring the robot to speed, switch the motors off, read on; Fig. 6.

START_SPEEDS = (1.3, 0.9, 1.8)
"""[V, Vn in m/s, W in rad/s] from which the robot of Fig. 6 coasts."""

DRIVEN, OFF = 65, 45
"""Readings with the motors on and off; the robot rests before the last."""


def coast(
    robot: OmniRobot,
    sensors: OmniSensors,
    random: np.random.Generator,
    runs: int = 1,
    speeds: tuple[float, float, float] = START_SPEEDS,
) -> OmniRecording:
    """Each axis by itself: from rest to its speed, then coasting to standstill.

    Args:
        robot: that is driven.
        sensors: noise and quantisation of its readings.
        random: source of the noise.
        runs: repetitions, each with noise of its own.
        speeds: at which [V, Vn, W] are when the motors go off, m/s, m/s, rad/s.

    Returns:
        Recordings with the leading dimensions (runs, 3 axes).
    """
    wanted = np.broadcast_to(np.diag(speeds), (runs, 3, 3))
    driven = np.arange(DRIVEN + OFF) < DRIVEN
    return record(robot, wanted, driven, SAMPLE_PERIOD, sensors, random)


def coasting_of(recording: OmniRecording, run: int, axis: int) -> Coasting:
    """The readings of one run and axis (0, 1, 2: V, Vn, W) from when the motors are off."""
    off = ~recording.driven
    return Coasting(recording.period, recording.velocity[run, axis, off, axis])


# ---
# Method 3 as a simulation: a camera reads the angle of the hanging robot, as in Fig. 9(a).

HANGING_DURATION, START_ANGLE = 4.5, 1.0
"""s and rad, as in Fig. 9(a)."""


def hang(
    rig: HangingRig, inertia: float, sensor: Reading, random: np.random.Generator, runs: int = 1
) -> Array:
    """Readings of theta every SAMPLE_PERIOD from the mass's release on, (runs, n) rad.

    Nothing but the falling mass turns the robot: no friction and no twist of the robot's own wire.

    Args:
        rig: mass and disc.
        inertia: J, kg m^2.
        sensor: noise and quantisation of the angle, rad.
        random: source of the noise.
        runs: repetitions, each with noise of its own.
    """
    time = np.arange(0.0, HANGING_DURATION + 1e-9, SAMPLE_PERIOD)
    truth = START_ANGLE + 0.5 * rig.acceleration(inertia) * time**2
    return sensor.of(np.broadcast_to(truth, (runs, len(time))), random)


# ---
# Method 1 as a simulation: drive at steady speeds, read speeds and currents, as in Figs. 2-4.

DURATION, SETTLED = 5.0, 3.0
"""Length of a run as in Figs. 2-4, and from when on the speed counts as steady, s."""


def drive_steadily(
    robot: OmniRobot,
    sensors: OmniSensors,
    random: np.random.Generator,
    runs: int = 1,
    speeds: tuple[float, ...] = TABLE_1_SPEEDS,
) -> OmniRecording:
    """Each axis at each speed by itself, from rest, 5 s long.

    Args:
        robot: that is driven.
        sensors: noise and quantisation of its readings.
        random: source of the noise.
        runs: repetitions, each with noise of its own.
        speeds: of each axis, m/s or rad/s.

    Returns:
        Recordings with the leading dimensions (runs, 3 axes, speeds).
    """
    wanted = np.eye(3)[:, None, :] * np.asarray(speeds)[None, :, None]
    wanted = np.broadcast_to(wanted, (runs, *wanted.shape))
    driven = np.ones(round(DURATION / SAMPLE_PERIOD), dtype=bool)
    return record(robot, wanted, driven, SAMPLE_PERIOD, sensors, random)


def steady_points(recording: OmniRecording, robot: OmniRobot) -> tuple[Array, Array]:
    """Means over the steady part of each run: a table like the paper's Table 1.

    Args:
        recording: from `drive_steadily`.
        robot: gives l K_t / r and b of (4)-(8); nothing else of it is used.

    Returns:
        Speeds and forces, each (runs, 3 axes, speeds); m/s and N, rad/s and N m.
    """
    steady = recording.time >= SETTLED
    speeds = recording.velocity[..., steady, :].mean(axis=-2)
    forces = steady_forces(recording.current[..., steady, :].mean(axis=-2), robot)
    # The driven axis of each experiment, which is counted by the second dimension.
    own = np.arange(3)[:, None]
    column = np.arange(speeds.shape[-2])[None, :]
    return speeds[..., own, column, own], forces[..., own, column, own]


@dataclass(frozen=True)
class Repeated:
    """One parameter by one method, over all runs.

    Attributes:
        method: of identification.
        quantity: the parameter.
        truth: its value in the simulated robot, SI.
        values: estimates of it, (runs,).
        half_widths: of their 95 % intervals, (runs,).
    """

    method: str
    quantity: str
    truth: float
    values: Array
    half_widths: Array

    @property
    def bias(self) -> float:
        """Mean error, as a share of the truth."""
        return float(np.mean(self.values)) / self.truth - 1.0

    @property
    def spread(self) -> float:
        """Standard deviation of the estimates, as a share of the truth."""
        return float(np.std(self.values, ddof=1)) / self.truth

    @property
    def half_width(self) -> float:
        """Mean half width of the 95 % intervals, as a share of the truth."""
        return float(np.mean(self.half_widths)) / self.truth

    @property
    def coverage(self) -> float:
        """Share of the intervals that hold the truth."""
        return float(np.mean(np.abs(self.values - self.truth) <= self.half_widths))


def _repeated(method: str, quantity: str, truth: float, estimates: Sequence[Estimate]) -> Repeated:
    values = np.array([estimate.value for estimate in estimates])
    half_widths = np.array([estimate.half_width for estimate in estimates])
    return Repeated(method, quantity, truth, values, half_widths)


def repeat_experiments(
    robot: OmniRobot,
    random: np.random.Generator,
    runs: int,
    coastings: int = 5,
    sensors: OmniSensors | None = None,
) -> list[Repeated]:
    """All methods on simulated experiments.

    Args:
        robot: holds the truth. The methods get l K_t / r and b of it, and nothing else.
        random: source of the noise.
        runs: repetitions, at least 2.
        coastings: of each axis in one repetition.
        sensors: noise and quantisation; those of `OmniSensors` by default.

    Raises:
        ValueError: there are fewer than 2 runs or no coastings.
    """
    if runs < 2 or coastings < 1:
        raise ValueError(f"runs = {runs}, coastings = {coastings}: at least 2 and 1 are needed")
    sensors = sensors or OmniSensors()
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
    found = [*_friction(robot, steady, coasts), *_inertia_1_2(robot, steady[2], coasts[2])]
    return [*found, *_inertia_3(robot, random, runs, sensors)]


def _friction(
    robot: OmniRobot, steady: list[list[SteadyFit]], coasts: list[list[list[Coasting]]]
) -> list[Repeated]:
    """Methods 1 and 2."""
    found = []
    for i, axis in enumerate(AXES):
        b, c, name = robot.viscous[i], robot.coulomb[i], axis.lower()
        found.append(_repeated("1 steady", f"B_{name}", b, [fit.viscous for fit in steady[i]]))
        found.append(_repeated("1 steady", f"C_{name}", c, [fit.coulomb for fit in steady[i]]))
    for i, axis in enumerate(AXES):
        mass, name = robot.masses[i], axis.lower()
        per = "J" if axis == "W" else "M"
        b, c = robot.viscous[i] / mass, robot.coulomb[i] / mass
        for method, fit in (
            ("2 coasting", fit_coasting),
            ("2 as printed", fit_coasting_published),
        ):
            fits = [fit(runs) for runs in coasts[i]]
            found.append(_repeated(method, f"B_{name} / {per}", b, [f.rate for f in fits]))
            found.append(_repeated(method, f"C_{name} / {per}", c, [f.deceleration for f in fits]))
    return found


def _inertia_1_2(
    robot: OmniRobot, steady: list[SteadyFit], coasts: list[list[Coasting]]
) -> list[Repeated]:
    """Methods 1 and 2 together."""
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
    """Method 3 with the mass of the paper's first experiments."""
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
