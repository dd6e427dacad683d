"""Methods 2 and 1 + 2 as printed: accelerations by Euler's method, then least squares.

    dV/dt at k is (V(k + 1) - V(k)) / T,   regressed on V(k)

The noise e of a reading stands in the regressor as e(k) and in the acceleration as -e(k) / T. The
regression takes that for friction: with a noise of the standard deviation s, b comes out too large
by about s^2 / (T var V), and c too small by that times the mean speed. Reading more often makes it
worse. In the paper, B_v and B_vn of method 2 are 0.5 and 0.9 N/(m/s) above method 1's; readings
every 40 ms with 9 mm/s of noise do that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffbot_ident.omni.coasting import Coasting
from diffbot_ident.omni.coasting_fit import CoastingFit
from diffbot_ident.omni.estimate import Estimate
from diffbot_ident.omni.kinematics import Array


def euler_accelerations(runs: Sequence[Coasting]) -> tuple[Array, Array]:
    """Speeds and accelerations while the robot moves, (N,) each.

    Raises:
        ValueError: there are no runs.
    """
    if not runs:
        raise ValueError("no runs of coasting: at least one is needed")
    # The last reading before the limit of `moving` is there because its noise did not push it
    # below: leaving it out keeps this choice from adding an error of its own.
    speeds = [run.forward[: run.moving - 1] for run in runs]
    rates = [np.diff(v) / run.period for v, run in zip(speeds, runs, strict=True)]
    return np.concatenate([v[:-1] for v in speeds]), np.concatenate(rates)


def fit_coasting_published(runs: Sequence[Coasting]) -> CoastingFit:
    """(16)-(18) by Euler and ordinary least squares; biased by noise.

    Raises:
        ValueError: there are no runs.
    """
    speed, acceleration = euler_accelerations(runs)
    rows = np.column_stack((-speed, -np.ones_like(speed)))
    inverse = np.linalg.inv(rows.T @ rows)
    values = inverse @ rows.T @ acceleration
    freedom = len(speed) - 2
    variance = float(np.sum((acceleration - rows @ values) ** 2)) / freedom
    covariance = variance * inverse
    rate, deceleration = (
        Estimate(float(value), float(std), freedom)
        for value, std in zip(values, np.sqrt(np.diag(covariance)), strict=True)
    )
    # The noise of a difference of two readings, back to that of one.
    noise = variance**0.5 * runs[0].period / 2.0**0.5
    return CoastingFit(rate, deceleration, covariance, noise)


def inertia_published(runs: Sequence[Coasting], viscous: float, coulomb: float) -> Estimate:
    """Methods 1 + 2 as printed: J from dW/dt = -(B_w W + C_w) / J by least squares.

    The paper says only that (18) was "used"; this regresses dW/dt on the friction torque. The
    interval takes B_w and C_w for exact, as the paper does.

    Args:
        runs: coasting of W.
        viscous: B_w, N m/(rad/s).
        coulomb: C_w, N m.
    """
    speed, acceleration = euler_accelerations(runs)
    torque = -(viscous * speed + coulomb)
    power = float(torque @ torque)
    per_inertia = float(torque @ acceleration) / power
    freedom = len(speed) - 1
    variance = float(np.sum((acceleration - per_inertia * torque) ** 2)) / freedom
    std = (variance / power) ** 0.5
    return Estimate(1.0 / per_inertia, std / per_inertia**2, freedom)
