# SPDX-License-Identifier: Apache-2.0
"""The four-wheel omnidirectional robot: kinematics, motors, friction, and its motion.

Equations (1)-(12), and how standstill is exact: docs/theory/omni.md#model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from arc_odometry.number_range import Array as Array

# Values printed in Tables 1 to 6, DOI 10.5220/0001220805650570. Order of axes: [V, Vn, W].

MASS = 35.0
"""M, weighed, kg; section 3."""

GRAVITY = 9.8
"""g of (21), m/s^2."""

DISC_RADIUS = 0.25
"""r_m of (20), m."""

SAMPLE_PERIOD = 0.04
"""Sampling period of Figs. 6 and 7, s. Not printed; the figures count samples: coasting from 1.3
m/s takes 33 samples there, and 1.3 s with the friction of Table 5 and M."""


class AxisFriction(NamedTuple):
    """Friction of [V, Vn, W], or of [V, Vn] only: N/(m/s), N m/(rad/s), and N, N m."""

    viscous: tuple[float, ...]
    coulomb: tuple[float, ...]


TABLE_1_SPEEDS = (0.6, 0.8, 1.0, 1.2)
"""Applied V, Vn in m/s and W in rad/s: the same four numbers for each."""

TABLE_1_FORCES = (
    (30.585, 31.459, 31.874, 32.765),
    (30.285, 30.814, 31.174, 32.106),
    (5.556, 5.730, 5.842, 6.009),
)
"""Resulting F_v and F_vn in N, Gamma in N m."""

TABLE_2 = AxisFriction((3.45, 2.90, 0.73), (28.55, 28.46, 5.12))
"""Friction by method 1."""

TABLE_3_PER_MASS = AxisFriction((0.11, 0.10), (0.86, 0.87))
"""Coefficients B / M in 1/s and C / M in m/s^2 of method 2, as printed in its equations."""

TABLE_3 = AxisFriction((4.01, 3.77), (30.35, 30.76))
"""Friction by method 2."""


class HangingRow(NamedTuple):
    """One experiment of Table 4: m_o, kg, Gamma, N m, dW/dt, rad/s^2, and J as printed, kg m^2."""

    load: float
    torque: float
    acceleration: float
    inertia: float


TABLE_4 = (
    HangingRow(0.510, 1.2495, 0.9126, 1.3691),
    HangingRow(0.510, 1.2495, 0.8942, 1.3974),
    HangingRow(0.510, 1.2495, 0.8947, 1.3965),
    HangingRow(1.0, 2.4500, 1.7512, 1.3990),
)
"""Inertia by method 3."""

TABLE_5_MEAN = AxisFriction((3.73, 3.34, 0.73), (29.45, 29.61, 5.12))
"""Means of methods 1 and 2 (of method 1 alone for W)."""

TABLE_6_METHODS_1_2 = 1.358
"""J by methods 1 and 2, kg m^2."""

TABLE_6_METHOD_3 = 1.390
"""J by method 3, mean of Table 4, kg m^2."""

TABLE_6_MEAN = 1.374
"""Mean of both, kg m^2."""


AXES = ("V", "Vn", "W")


def check_positive(**values: float) -> None:
    """Refuse values that are not finite or not > 0, by name."""
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} = {value}: must be finite and > 0")


# Kinematics.


def columns(values: ArrayLike) -> tuple[Array, ...]:
    """Split along the last dimension, for example into v, vn and w; (...,) each."""
    values = np.asarray(values, dtype=float)
    return tuple(values[..., i] for i in range(values.shape[-1]))


def wheel_matrix(wheel_distance: float) -> Array:
    """Return the matrix of (12), 4 rows of 3; `wheel_distance`: b, m, > 0."""
    b = wheel_distance
    return np.array([[0.0, 1.0, b], [-1.0, 0.0, b], [0.0, -1.0, b], [1.0, 0.0, b]])


def wheel_velocities(body: ArrayLike, wheel_distance: float) -> Array:
    """(12): return rim speeds, (..., 4) m/s, from [V, Vn, W], (..., 3) m/s, m/s, rad/s."""
    return np.asarray(body, dtype=float) @ wheel_matrix(wheel_distance).T


def body_velocities(wheels: ArrayLike, wheel_distance: float) -> Array:
    """Invert (12) by least squares: [V, Vn, W], (..., 3), from rim speeds, (..., 4) m/s."""
    v1, v2, v3, v4 = columns(wheels)
    total = v1 + v2 + v3 + v4
    return np.stack(((v4 - v2) / 2.0, (v1 - v3) / 2.0, total / (4.0 * wheel_distance)), axis=-1)


def body_forces(wheel_forces: ArrayLike, wheel_distance: float) -> Array:
    """(4)-(6): return [F_v, F_vn, Gamma], (..., 3) N, N, N m, from wheel forces, (..., 4) N."""
    return np.asarray(wheel_forces, dtype=float) @ wheel_matrix(wheel_distance)


def advance_pose(pose: ArrayLike, body: ArrayLike, duration: float) -> Array:
    """Integrate (11) over a time, s, in which [V, Vn, W], (..., 3), are constant; exact."""
    x, y, theta = columns(pose)
    v, vn, w = columns(body)
    turn = w * duration
    # The chord's direction is that after half the turn.
    chord = duration * np.sinc(0.5 * turn / np.pi)
    cos, sin = np.cos(theta + 0.5 * turn), np.sin(theta + 0.5 * turn)
    moved = (x + chord * (v * cos - vn * sin), y + chord * (v * sin + vn * cos), theta + turn)
    return np.stack(np.broadcast_arrays(*moved), axis=-1)


# The robot.


@dataclass(frozen=True)
class GearedMotor:
    """Constants of one motor, its gear and its wheel, > 0.

    The paper prints none: only l K_t / r = 6 N/A affects the forces.

    Attributes:
        reduction: l, turns of the rotor per turn of the wheel.
        wheel_radius: r, m.
        torque_constant: K_t, N m/A.
        emf_constant: K_v, V/(rad/s).
        resistance: R_a, ohm.
        inductance: L_a, H.
        supply: Voltage at full duty, V.
        duty_steps: Steps of the duty cycle from 0 to full.
    """

    reduction: float = 12.0
    wheel_radius: float = 0.05
    torque_constant: float = 0.025
    emf_constant: float = 0.025
    resistance: float = 4.0
    inductance: float = 0.5e-3
    supply: float = 24.0
    duty_steps: int = 255

    def __post_init__(self) -> None:
        check_positive(**{f"motor {name}": value for name, value in vars(self).items()})

    @property
    def force_per_ampere(self) -> float:
        """(7), (8): l K_t / r, N/A."""
        return self.reduction * self.torque_constant / self.wheel_radius

    def wheel_force(self, current: ArrayLike) -> Array:
        """(7), (8): return the force f at the wheel's rim, N, for the current i, A."""
        return self.force_per_ampere * np.asarray(current, dtype=float)

    def duty(self, voltage: ArrayLike) -> Array:
        """Return the duty step nearest to a desired voltage, within +-duty_steps."""
        steps = np.round(np.asarray(voltage, dtype=float) / self.supply * self.duty_steps)
        return np.clip(steps, -self.duty_steps, self.duty_steps)

    def voltage(self, duty: ArrayLike) -> Array:
        """Return the mean voltage u of a duty cycle given in steps, V."""
        return self.supply * np.asarray(duty, dtype=float) / self.duty_steps

    def advance(
        self, current: ArrayLike, voltage: ArrayLike, wheel_velocity: ArrayLike, duration: float
    ) -> tuple[Array, Array]:
        """(9): return the current at the end, and its mean, A, after a duration, s, > 0; exact.

        `current`: i at the start, A; `voltage`: u, V; `wheel_velocity`: v of the rim, m/s.
        """
        rotor = self.reduction / self.wheel_radius * np.asarray(wheel_velocity, dtype=float)
        steady = (np.asarray(voltage, dtype=float) - self.emf_constant * rotor) / self.resistance
        time_constant = self.inductance / self.resistance
        gone = -math.expm1(-duration / time_constant)
        off = np.asarray(current, dtype=float) - steady
        return steady + off * (1.0 - gone), steady + off * (time_constant / duration * gone)


@dataclass(frozen=True)
class OmniRobot:
    """The robot; by default the paper's section 4, with the means of Tables 5 and 6.

    Attributes:
        mass: M, kg, > 0.
        inertia: J about the vertical axis, kg m^2, > 0.
        viscous: [B_v, B_vn in N/(m/s), B_w in N m/(rad/s)], each >= 0.
        coulomb: [C_v, C_vn in N, C_w in N m], each >= 0.
        wheel_distance: b, from the centre to each wheel, m, > 0. Not in the paper.
        motor: Each of the four motors. Not in the paper.

    Raises:
        ValueError: A value is not finite or out of its range.
    """

    mass: float = MASS
    inertia: float = TABLE_6_MEAN
    viscous: tuple[float, ...] = TABLE_5_MEAN.viscous
    coulomb: tuple[float, ...] = TABLE_5_MEAN.coulomb
    wheel_distance: float = 0.2
    motor: GearedMotor = field(default_factory=GearedMotor)

    def __post_init__(self) -> None:
        check_positive(mass=self.mass, inertia=self.inertia, wheel_distance=self.wheel_distance)
        for name in ("viscous", "coulomb"):
            values = getattr(self, name)
            if len(values) != 3 or not all(math.isfinite(v) and v >= 0.0 for v in values):
                raise ValueError(
                    f"{name} = {values}: must be three finite numbers >= 0, for {', '.join(AXES)}"
                )

    @property
    def masses(self) -> Array:
        """[M, M, J], (3,) kg, kg, kg m^2."""
        return np.array([self.mass, self.mass, self.inertia])


# Motion of the robot.

SMALL = 1e-8
"""Value of b t below which two terms of a series are exact to rounding, unlike a division."""


def decay_integral(rate: ArrayLike, time: ArrayLike) -> Array:
    """Return (1 - exp(-b t)) / b, s, the integral of exp(-b t) from 0 to t."""
    rate, time = np.asarray(rate, float), np.asarray(time, float)
    x = rate * time
    with np.errstate(all="ignore"):
        result = -np.expm1(-x) / rate
    return np.asarray(np.where(np.abs(x) < SMALL, time * (1.0 - 0.5 * x), result))


def time_to_rest(speed: ArrayLike, deceleration: ArrayLike, rate: ArrayLike) -> Array:
    """Return the time until dv/dt = -b v - d stops from speed v >= 0, s; infinite if never."""
    speed, deceleration, rate = (np.asarray(x, float) for x in (speed, deceleration, rate))
    with np.errstate(all="ignore"):
        ratio = speed / deceleration
        x = rate * ratio
        dual = np.where(np.abs(x) < SMALL, ratio * (1.0 - 0.5 * x), np.log1p(x) / rate)
    return np.asarray(np.where((deceleration > 0.0) & np.isfinite(dual), dual, np.inf))


def advance(
    velocity: ArrayLike,
    force: ArrayLike,
    mass: ArrayLike,
    viscous: ArrayLike,
    coulomb: ArrayLike,
    duration: float,
) -> Array:
    """Return the velocity after a time with a constant force, by (1)-(3); all broadcast.

    `velocity`: m/s or rad/s; `force`: N or N m; `mass`: M or J; `viscous`: B; `coulomb`: C.
    """
    velocity, force, mass, viscous, coulomb = (
        np.asarray(x, float) for x in (velocity, force, mass, viscous, coulomb)
    )
    rate, direction = viscous / mass, np.sign(velocity)
    drive = (force - coulomb * direction) / mass
    rest = time_to_rest(np.abs(velocity), -direction * drive, rate)
    rest = np.where(direction == 0.0, 0.0, rest)
    moving = velocity * np.exp(-rate * duration) + drive * decay_integral(rate, duration)
    excess = np.sign(force) * np.maximum(np.abs(force) - coulomb, 0.0) / mass
    after = excess * decay_integral(rate, np.maximum(duration - rest, 0.0))
    return np.asarray(np.where(rest > duration, moving, after))


STEP = 2e-3
"""Maximum integration step, s."""


@dataclass(frozen=True)
class OmniState:
    """Velocities (..., 3), currents (..., 4) A, and poses [x, y, theta] (..., 3) of robots."""

    velocity: Array
    current: Array
    pose: Array

    @classmethod
    def at_rest(cls, *runs: int) -> OmniState:
        """Return robots at the origin without speed or current; `runs`: leading dimensions."""
        return cls(np.zeros((*runs, 3)), np.zeros((*runs, 4)), np.zeros((*runs, 3)))


def simulate(
    robot: OmniRobot, state: OmniState, voltage: ArrayLike | None, duration: float
) -> OmniState:
    """Return the state after a time, s, > 0, with constant voltages (..., 4), V; None: off."""
    if not duration > 0.0:
        raise ValueError(f"duration = {duration} s: must be > 0")
    steps = int(np.ceil(duration / STEP - 1e-9))
    for _ in range(steps):
        state = _step(robot, state, voltage, duration / steps)
    return state


def _step(
    robot: OmniRobot, state: OmniState, voltage: ArrayLike | None, duration: float
) -> OmniState:
    if voltage is None:
        current = mean = np.zeros_like(state.current)
    else:
        rims = wheel_velocities(state.velocity, robot.wheel_distance)
        current, mean = robot.motor.advance(state.current, voltage, rims, duration)
    force = body_forces(robot.motor.wheel_force(mean), robot.wheel_distance)
    velocity = advance(
        _turned(state.velocity, duration), force, robot.masses, robot.viscous, robot.coulomb,
        duration,
    )  # fmt: skip
    pose = advance_pose(state.pose, 0.5 * (state.velocity + velocity), duration)
    return OmniState(velocity, current, pose)


def _turned(velocity: Array, duration: float) -> Array:
    v, vn, w = columns(velocity)
    cos, sin = np.cos(w * duration), np.sin(w * duration)
    return np.stack((cos * v + sin * vn, cos * vn - sin * v, w), axis=-1)
