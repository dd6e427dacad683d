"""First-order dynamics of one velocity-commanded axis, fitted by its simulated output.

Equation (3) of the 2023 paper has the same form for both axes, with a dead time d added here:

    s_inertia dv/dt + s_drag v = command(t - d)        v: sigma1, sigma3;  omega: sigma2, sigma4

The command is held from one sample to the next, so that with tau = s_inertia / s_drag,
gain = 1 / s_drag, a = exp(-T / tau) and d = (m + f) T, 0 <= f < 1, without approximation

    v(k+1) = a v(k) + gain (1 - a^(1-f)) command(k-m) + gain (a^(1-f) - a) command(k-m-1).

The residual is measured minus simulated velocity (output error): noise of the measurement does not
bias the parameters. log tau and the gain are sought by Levenberg-Marquardt; the velocity at the
beginning of each stretch enters linearly and is solved for on the way (variable projection).
Residuals are correlated in practice. Their covariance Gamma is that of an autoregressive process
fitted to them; the parameters' is (J'J)^-1 J' Gamma J (J'J)^-1 for the Jacobian J.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from diffbot_ident.velocity.first_order_covariance import covariance, first_correlation
from diffbot_ident.velocity.first_order_residuals import OutputError, forced, late
from diffbot_ident.velocity.stretch import Stretch

__all__ = ["FirstOrder", "FirstOrderFit", "Stretch", "fit_first_order"]

Array = NDArray[np.float64]

# Standard deviation of log tau, or of the gain over itself, beyond which it is not identifiable.
VAGUE = 0.5
# Share of the period below which a time constant leaves no trace that noise does not leave, too.
FAST = 1.0 / 3.0


@dataclass(frozen=True)
class FirstOrder:
    """Dynamics of one axis, (3) of the 2023 paper.

    Attributes:
        inertia: sigma1 or sigma2, s.
        drag: sigma3 or sigma4, 1 (unit of the command over the velocity's).
    """

    inertia: float
    drag: float

    @property
    def time_constant(self) -> float:
        """Inertia / drag, s."""
        return self.inertia / self.drag

    @property
    def gain(self) -> float:
        """Velocity over constant command, 1 / drag."""
        return 1.0 / self.drag

    def simulate(
        self, command: Array, period: float, start: float, dead_time: float = 0.0
    ) -> Array:
        """Velocity at each sample, exact for a command that is held between samples.

        Args:
            command: shape (n,).
            period: s, > 0.
            start: velocity at the first sample.
            dead_time: s, >= 0; before the first sample the first command held already.

        Returns:
            shape (n,), in the velocity's unit; the first is start.

        Raises:
            ValueError: the dead time is negative, or the axis is not stable (inertia / drag <= 0).
        """
        if not self.time_constant > 0.0:
            raise ValueError(
                f"inertia = {self.inertia}, drag = {self.drag}: must have the same sign"
            )
        command = np.asarray(command, dtype=float)
        if not len(command):
            return np.empty(0)
        response, _ = forced(self.time_constant, late(command, period, dead_time), period)
        decay = np.exp(-period / self.time_constant * np.arange(len(command)))
        return start * decay + self.gain * response


@dataclass(frozen=True)
class FirstOrderFit:
    """Parameters of one axis and how far they can be trusted.

    Attributes:
        model: inertia and drag.
        covariance: of [inertia in s, drag], shape (2, 2), under correlated residuals; infinite
            variances where a parameter is not identifiable.
        time_constant_std: s; infinite where not identifiable.
        gain_std: of the gain; infinite where not identifiable.
        residual_std: standard deviation of measured minus simulated velocity.
        r_squared: 1 - SSE / SST of the free simulation, at most 1; NaN for a constant velocity.
        iterations: evaluations of the residuals.
        dead_time: s, as given.
        samples: residuals that the fit rests on.
        residual_correlation: between successive residuals, -1 to 1.
    """

    model: FirstOrder
    covariance: Array
    time_constant_std: float
    gain_std: float
    residual_std: float
    r_squared: float
    iterations: int
    dead_time: float
    samples: int
    residual_correlation: float

    @property
    def std(self) -> tuple[float, float]:
        """Standard deviations of inertia (s) and drag; infinite where not identifiable."""
        inertia, drag = np.sqrt(np.diag(self.covariance)).tolist()
        return inertia, drag


def fit_first_order(
    stretches: Sequence[Stretch],
    start: tuple[float, float] | None = None,
    dead_time: float = 0.0,
    lead: float | None = None,
) -> FirstOrderFit:
    """Fit one axis by output error.

    Args:
        stretches: at least one; of one period.
        start: (inertia in s, drag) to begin at, of one sign; None: the best time constant of a
            coarse grid.
        dead_time: s, >= 0, taken as known.
        lead: s at each stretch's beginning that only give past commands, >= dead_time; None: the
            dead time. Give the same to fits whose residuals are compared.

    Raises:
        ValueError: nothing to fit: too few samples, different periods, a velocity or a command
            that never changes, or a start that is not stable.
    """
    problem = OutputError(stretches, dead_time, dead_time if lead is None else lead)
    theta = problem.first_guess() if start is None else problem.checked(start)
    found = least_squares(
        problem.residuals, theta, jac=problem.jacobian, method="lm", x_scale="jac", max_nfev=200
    )
    return fit_at(problem, found.x, int(found.nfev), dead_time)[0]


def fit_at(
    problem: OutputError,
    theta: Array,
    iterations: int,
    dead_time: float,
    others: Array | None = None,
) -> tuple[FirstOrderFit, Array]:
    """The fit at the least sum of squares, and standard deviations of parameters beside it.

    Args:
        problem: residuals.
        theta: [log tau, gain], where their sum of squares is least.
        iterations: that it took.
        dead_time: s, that the problem was made with.
        others: derivatives of the residuals by parameters that were fitted beside, shape (n, q).

    Returns:
        the fit, with intervals that allow for the q parameters, and their deviations, shape (q,).
    """
    residuals, jacobian = problem.residuals(theta), problem.jacobian(theta)
    if others is not None:
        jacobian = np.column_stack((jacobian, others))
    of_all = covariance(jacobian, residuals, problem.lengths)
    tau, gain = problem.time_constant(theta), float(theta[1])
    # By log tau and gain: inertia = tau / gain, drag = 1 / gain.
    turn = np.array([[tau / gain, -tau / gain**2], [0.0, -1.0 / gain**2]])
    with np.errstate(invalid="ignore"):
        of_model = turn @ of_all[:2, :2] @ turn.T
    of_model[np.isnan(of_model)] = math.inf
    if tau < FAST * problem.period:
        of_all[0, 0] = of_model[0, 0] = math.inf
    deviations = np.sqrt(np.diag(of_all))
    tau_std, gain_std = deviations[:2].tolist()
    inertia_share = math.sqrt(of_model[0, 0]) * abs(gain) / tau
    if not gain_std < VAGUE * abs(gain):
        gain_std = of_model[1, 1] = math.inf
    if not inertia_share < VAGUE:
        of_model[0, 0] = math.inf
    total = problem.measured - problem.measured.mean()
    fit = FirstOrderFit(
        model=FirstOrder(tau / gain, 1.0 / gain),
        covariance=of_model,
        time_constant_std=tau * tau_std if tau_std < VAGUE else math.inf,
        gain_std=gain_std,
        residual_std=float(np.sqrt(np.mean(residuals**2))),
        r_squared=1.0 - float(residuals @ residuals) / float(total @ total),
        iterations=iterations,
        dead_time=dead_time,
        samples=len(residuals),
        residual_correlation=first_correlation(residuals, problem.lengths),
    )
    return fit, deviations[2:]
