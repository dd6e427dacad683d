# SPDX-License-Identifier: Apache-2.0
"""Methods 2 and 1 + 2: friction over mass, and the inertia, from coasting to standstill.

    (16)-(18)  dV/dt = -b V - c,   b = B / M, c = C / M     (J in place of M for W)

Derivation, and the bias of the printed method: docs/theory/omni.md#methods-2-and-1--2-coasting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from diffbot_papers.omni.model import Array, decay_integral, time_to_rest
from diffbot_papers.omni.omni_identification import (
    LinearFit,
    SteadyFit,
    UncertainValue,
    combined,
    ordinary_least_squares,
)

LEAST_MOVING = 6
"""Minimum number of readings in motion for a useful coasting curve."""


@dataclass(frozen=True)
class Coasting:
    """Readings of one axis after the motors were switched off.

    `speed`: V, Vn or W, (n,) m/s or rad/s, every `period`, s, > 0; may end at standstill.

    Raises:
        ValueError: A number is outside its limits, or too few readings are in motion.
    """

    period: float
    speed: Array

    def __post_init__(self) -> None:
        if not self.period > 0.0:
            raise ValueError(f"period = {self.period} s: must be > 0")
        object.__setattr__(self, "speed", np.asarray(self.speed, dtype=float))
        if np.ndim(self.speed) != 1 or not np.isfinite(self.speed).all():
            raise ValueError("speed: must be one row of finite readings")
        if self.moving < LEAST_MOVING:
            raise ValueError(
                f"{self.moving} readings before standstill: at least {LEAST_MOVING} are needed; "
                "start faster, or read more often"
            )

    @property
    def forward(self) -> Array:
        """The speeds, with the sign that makes the start positive, (n,)."""
        return self.speed * np.sign(np.mean(self.speed[:3])) if len(self.speed) else self.speed

    @property
    def moving(self) -> int:
        """Number of readings before the speed has fallen to a tenth of that at the start."""
        if len(self.speed) < 3:
            return len(self.speed)
        slow = np.flatnonzero(self.forward < 0.1 * np.mean(self.forward[:3]))
        return int(slow[0]) if len(slow) else len(self.speed)

    @property
    def time(self) -> Array:
        """Times of the readings since the first, (n,) s."""
        return self.period * np.arange(float(len(self.speed)))


def coasting_speed(
    time: ArrayLike, start: float | Array, rate: float, deceleration: float
) -> tuple[Array, Array]:
    """Return the speed while coasting, (n,), and its derivatives by the last three, (n, 3); exact.

    Args:
        time: Since the motors were switched off, (n,) s.
        start: V0, > 0; one number, or one for each time.
        rate: b, 1/s, of any sign.
        deceleration: c, m/s^2 or rad/s^2.
    """
    time = np.asarray(time, dtype=float)
    moving = time < time_to_rest(start, deceleration, rate)
    decay, integral = np.exp(-rate * time), decay_integral(rate, time)
    speed = start * decay - deceleration * integral
    by_rate = -start * time * decay - deceleration * _integral_by_rate(rate, time)
    derivatives = np.column_stack((decay, by_rate, -integral))
    return np.where(moving, speed, 0.0), np.where(moving[:, None], derivatives, 0.0)


def _integral_by_rate(rate: float, time: Array) -> Array:
    x = rate * time
    with np.errstate(all="ignore"):
        exact = (time * np.exp(-x) - decay_integral(rate, time)) / rate
    # For small x the difference above loses digits.
    return np.where(np.abs(x) < 1e-3, time**2 * (-0.5 + x / 3.0 - x**2 / 8.0), exact)


Law = Callable[[Array], tuple[float, float, Array]]
"""Returns the rate b, the deceleration c, and their derivatives (2, k) for k law parameters."""


@dataclass(frozen=True)
class CoastingSolution:
    """Least-squares fit of coasting to the readings of m runs.

    Attributes:
        parameters: Of the law, (k,).
        starts: Magnitude of the speed at the first reading of each run, (m,).
        inverse: Of the normal matrix, parameters first, (k + m, k + m); `jacobian`: (N, k + m).
        by_law: Derivatives by [rate, deceleration], (N, 2).
        variance: Of the readings in motion about the model, (m/s)^2 or (rad/s)^2.
        freedom: Readings in motion minus parameters and starts.
    """

    parameters: Array
    starts: Array
    inverse: Array
    jacobian: Array
    by_law: Array
    variance: float
    freedom: int


def solve_coasting(runs: Sequence[Coasting], law: Law, guess: ArrayLike) -> CoastingSolution:
    """Fit the parameters of a law, common to all runs, and the speed at each start.

    Raises:
        ValueError: There are no runs, or their readings do not determine the parameters.
    """
    if not runs:
        raise ValueError("no runs of coasting: at least one is needed")
    guess = np.atleast_1d(np.asarray(guess, dtype=float))
    k = len(guess)
    seen = np.concatenate([run.forward for run in runs])
    time = np.concatenate([run.time for run in runs])
    own = np.repeat(np.eye(len(runs)), [len(run.speed) for run in runs], axis=0)

    def model(p: Array) -> tuple[Array, Array, Array]:
        rate, deceleration, derivatives = law(p[:k])
        speeds, sensitive = coasting_speed(time, own @ p[k:], rate, deceleration)
        by_law = sensitive[:, 1:]
        return speeds, np.hstack((by_law @ derivatives, own * sensitive[:, :1])), by_law

    result = least_squares(
        lambda p: model(p)[0] - seen,
        np.concatenate((guess, [float(np.mean(run.forward[:2])) for run in runs])),
        jac=lambda p: model(p)[1],
        method="lm",
        x_scale="jac",
    )
    speeds, jacobian, by_law = model(result.x)
    moving = speeds > 0.0
    freedom = int(moving.sum()) - len(result.x)
    if freedom < 1 or np.linalg.matrix_rank(jacobian) < len(result.x):
        raise ValueError("the readings of coasting do not determine friction; read more often")
    # An encoder at rest has no noise.
    variance = float(np.sum((speeds - seen)[moving] ** 2)) / freedom
    inverse: Array = np.asarray(np.linalg.inv(jacobian.T @ jacobian), dtype=float)
    return CoastingSolution(
        result.x[:k], result.x[k:], inverse, jacobian, by_law, variance, freedom
    )


def mean_deceleration(run: Coasting) -> float:
    """Return the deceleration of a line through the readings, m/s^2 or rad/s^2, or ValueError."""
    n = run.moving
    result = -float(np.polyfit(run.time[:n], run.forward[:n], 1)[0])
    if not result > 0.0:
        raise ValueError(
            f"the speed falls by {result:.3g} per second while coasting: it must fall; were the "
            "motors off and the floor level?"
        )
    return result


# Methods 2 and 1 + 2.


@dataclass(frozen=True)
class CoastingFit:
    """Result of coasting for one axis; J in place of M for W.

    `rate`: b = B / M, 1/s; `deceleration`: c = C / M, m/s^2 or rad/s^2; fitted first speeds, if
    a method has them: `starts`.
    """

    rate: UncertainValue
    deceleration: UncertainValue
    covariance: Array
    starts: tuple[float, ...] = ()

    def friction(self, mass: UncertainValue | float) -> tuple[UncertainValue, UncertainValue]:
        """Return B and C for a mass in kg (J in kg m^2 for W), with its uncertainty."""
        return self.rate.scaled(mass), self.deceleration.scaled(mass)


def fit_coasting(runs: Sequence[Coasting]) -> CoastingFit:
    """Fit the closed form of coasting to runs of one axis with independent errors.

    Raises:
        ValueError: There are no runs, or they do not determine b and c.
    """
    guess = [0.0, float(np.mean([mean_deceleration(run) for run in runs]))] if runs else [0.0, 0.0]
    coasting_solution = solve_coasting(runs, lambda p: (p[0], p[1], np.eye(2)), guess)
    covariance = coasting_solution.variance * coasting_solution.inverse[:2, :2]
    fit = LinearFit(coasting_solution.parameters, covariance, coasting_solution.freedom)
    return CoastingFit(
        fit.estimate(0), fit.estimate(1), covariance, tuple(coasting_solution.starts.tolist())
    )


def fit_inertia(runs: Sequence[Coasting], steady: SteadyFit) -> UncertainValue:
    """Return J in kg m^2 from coasting runs in W and method 1's friction of W.

    Raises:
        ValueError: There are no runs, they do not determine J, or the friction is not > 0.
    """
    viscous, coulomb = steady.viscous.value, steady.coulomb.value
    if not (coulomb > 0.0 and viscous >= 0.0):
        raise ValueError(
            f"B_w = {viscous:g}, C_w = {coulomb:g}: friction must be > 0; repeat method 1"
        )

    def law(p: Array) -> tuple[float, float, Array]:
        friction = np.array([viscous, coulomb])
        return viscous / p[0], coulomb / p[0], -(friction / p[0] ** 2)[:, None]

    guess = coulomb / np.mean([mean_deceleration(run) for run in runs]) if runs else 1.0
    coasting_solution = solve_coasting(runs, law, guess)
    inertia = float(coasting_solution.parameters[0])
    noise = float(np.sqrt(coasting_solution.variance * coasting_solution.inverse[0, 0]))
    # The fitted J compensates B_w and C_w.
    shift = (
        -(coasting_solution.inverse @ coasting_solution.jacobian.T @ coasting_solution.by_law)[0]
        / inertia
    )
    friction = float(np.sqrt(shift @ steady.covariance @ shift))
    std, freedom = combined((noise, friction), (coasting_solution.freedom, steady.viscous.freedom))
    return UncertainValue(inertia, std, freedom)


# The same as printed.


def euler_accelerations(runs: Sequence[Coasting]) -> tuple[Array, Array]:
    """Return speeds and accelerations while the robot moves, (N,) each."""
    if not runs:
        raise ValueError("no runs of coasting: at least one is needed")
    # The last reading above the limit was selected by its noise.
    speeds = [run.forward[: run.moving - 1] for run in runs]
    rates = [np.diff(v) / run.period for v, run in zip(speeds, runs, strict=True)]
    return np.concatenate([v[:-1] for v in speeds]), np.concatenate(rates)


def fit_coasting_published(runs: Sequence[Coasting]) -> CoastingFit:
    """Fit (16)-(18) by Euler and ordinary least squares; biased by noise."""
    speed, acceleration = euler_accelerations(runs)
    rows = np.column_stack((-speed, -np.ones_like(speed)))
    fit = ordinary_least_squares(rows, acceleration)
    return CoastingFit(fit.estimate(0), fit.estimate(1), fit.covariance)


def inertia_published(runs: Sequence[Coasting], viscous: float, coulomb: float) -> UncertainValue:
    """Return J by methods 1 + 2 as printed, dW/dt = -(B_w W + C_w) / J, both taken as exact."""
    speed, acceleration = euler_accelerations(runs)
    torque = -(viscous * speed + coulomb)
    power = float(torque @ torque)
    per_inertia = float(torque @ acceleration) / power
    freedom = len(speed) - 1
    variance = float(np.sum((acceleration - per_inertia * torque) ** 2)) / freedom
    std = (variance / power) ** 0.5
    return UncertainValue(1.0 / per_inertia, std / per_inertia**2, freedom)
