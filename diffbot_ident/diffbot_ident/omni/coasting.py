"""Coasting to standstill in closed form, and fits of it to speed readings.

    (16)-(18)  dV/dt = -b V - c,   b = B / M, c = C / M     (J in place of M for W)

    V(t) = V0 exp(-b t) - c (1 - exp(-b t)) / b             until V = 0, then it rests

Fitting this to the speeds needs no accelerations, and uses when the robot came to rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from diffbot_ident.omni.kinematics import Array
from diffbot_ident.omni.viscous_coulomb import decay_integral, time_to_rest

LEAST_MOVING = 6
"""Readings in motion below which a run of coasting says nothing useful about its curve."""


@dataclass(frozen=True)
class Coasting:
    """Readings of one axis from when the motors were switched off.

    Attributes:
        period: between two readings, s, > 0.
        speed: V, Vn or W, (n,) m/s or rad/s, of either sign; standstill at the end may be there.

    Raises:
        ValueError: the period is not > 0, a speed is not finite, or there are too few readings
            before standstill.
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
        """The speeds with the sign that makes the start positive, (n,)."""
        return self.speed * np.sign(np.mean(self.speed[:3])) if len(self.speed) else self.speed

    @property
    def moving(self) -> int:
        """How many readings come before the speed is a tenth of that at the start."""
        if len(self.speed) < 3:
            return len(self.speed)
        slow = np.flatnonzero(self.forward < 0.1 * np.mean(self.forward[:3]))
        return int(slow[0]) if len(slow) else len(self.speed)

    @property
    def time(self) -> Array:
        """Of the readings from the first on, (n,) s."""
        return self.period * np.arange(len(self.speed))


def coasting_speed(
    time: ArrayLike, start: ArrayLike, rate: float, deceleration: float
) -> tuple[Array, Array]:
    """The speed while coasting, and what it depends on; exact.

    Args:
        time: since the motors were switched off, (n,) s.
        start: V0, > 0; one number, or one for each time.
        rate: b, 1/s. Noise may make an estimate of it negative.
        deceleration: c, m/s^2 or rad/s^2.

    Returns:
        Speeds, (n,), and their derivatives by [start, rate, deceleration], (n, 3); 0 at rest.
    """
    time = np.asarray(time, dtype=float)
    moving = time < time_to_rest(start, deceleration, rate)
    decay, integral = np.exp(-rate * time), decay_integral(rate, time)
    speed = start * decay - deceleration * integral
    by_rate = -start * time * decay - deceleration * _integral_by_rate(rate, time)
    derivatives = np.column_stack((decay, by_rate, -integral))
    return np.where(moving, speed, 0.0), np.where(moving[:, None], derivatives, 0.0)


def _integral_by_rate(rate: float, time: Array) -> Array:
    """The derivative of decay_integral by the rate, s^2."""
    x = rate * time
    with np.errstate(all="ignore"):
        exact = (time * np.exp(-x) - decay_integral(rate, time)) / rate
    # The difference above loses digits where x is small; its series does not.
    return np.where(np.abs(x) < 1e-3, time**2 * (-0.5 + x / 3.0 - x**2 / 8.0), exact)


Law = Callable[[Array], tuple[float, float, Array]]
"""From k parameters of the law to the rate b, the deceleration c, and their derivatives (2, k)."""


@dataclass(frozen=True)
class CoastingSolution:
    """Least squares of coasting to the readings of several runs.

    Attributes:
        parameters: of the law, (k,).
        starts: size of the speed at the first reading of each run, (m,).
        inverse: of the normal matrix, of the parameters first and then the starts, (k + m, k + m).
        jacobian: of the model's speeds by the same, (N, k + m).
        by_law: of the model's speeds by [rate, deceleration], (N, 2).
        variance: of the readings in motion about the model, (m/s)^2 or (rad/s)^2.
        freedom: degrees of freedom: readings in motion less parameters and starts.
    """

    parameters: Array
    starts: Array
    inverse: Array
    jacobian: Array
    by_law: Array
    variance: float
    freedom: int


def solve_coasting(runs: Sequence[Coasting], law: Law, guess: ArrayLike) -> CoastingSolution:
    """Fit the parameters of a law, common to all runs, and the speed at each run's start.

    Args:
        runs: at least one.
        law: what the parameters mean.
        guess: of the parameters, (k,).

    Raises:
        ValueError: there are no runs, or their readings do not determine the parameters.
    """
    if not runs:
        raise ValueError("no runs of coasting: at least one is needed")
    guess = np.atleast_1d(np.asarray(guess, dtype=float))
    k = len(guess)
    seen = np.concatenate([run.forward for run in runs])
    time = np.concatenate([run.time for run in runs])
    # One column for the start of each run.
    own = np.repeat(np.eye(len(runs)), [len(run.speed) for run in runs], axis=0)

    def model(p: Array) -> tuple[Array, Array, Array]:
        rate, deceleration, derivatives = law(p[:k])
        speeds, sensitive = coasting_speed(time, own @ p[k:], rate, deceleration)
        by_law = sensitive[:, 1:]
        return speeds, np.hstack((by_law @ derivatives, own * sensitive[:, :1])), by_law

    found = least_squares(
        lambda p: model(p)[0] - seen,
        np.concatenate((guess, [float(np.mean(run.forward[:2])) for run in runs])),
        jac=lambda p: model(p)[1],
        method="lm",
        x_scale="jac",
    )
    speeds, jacobian, by_law = model(found.x)
    moving = speeds > 0.0
    freedom = int(moving.sum()) - len(found.x)
    if freedom < 1 or np.linalg.matrix_rank(jacobian) < len(found.x):
        raise ValueError("the readings of coasting do not determine friction; read more often")
    # Readings at rest know nothing of the noise in motion: an encoder at rest has none.
    variance = float(np.sum((speeds - seen)[moving] ** 2)) / freedom
    inverse = np.linalg.inv(jacobian.T @ jacobian)
    return CoastingSolution(found.x[:k], found.x[k:], inverse, jacobian, by_law, variance, freedom)


def mean_deceleration(run: Coasting) -> float:
    """That of a straight line through the readings in motion, m/s^2 or rad/s^2; to start from.

    Raises:
        ValueError: the speed does not fall.
    """
    n = run.moving
    found = -float(np.polyfit(run.time[:n], run.forward[:n], 1)[0])
    if not found > 0.0:
        raise ValueError(
            f"the speed falls by {found:.3g} per second while coasting: it must fall; were the "
            "motors off and the floor level?"
        )
    return found
