"""Search for the dead time, and for one more parameter beside those of a first-order axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, leastsq

from diffbot_ident.velocity.first_order import FirstOrderFit, Stretch, fit_at
from diffbot_ident.velocity.first_order_residuals import OutputError

Array = NDArray[np.float64]

# Step of the derivative by the dead time, in samples.
STEP = 0.2
# Relative changes at which the fit of one dead time of the scan ends: the best is refined later.
TOLERANCE = 1e-4


class Search:
    """Residuals as functions of [log tau, gain, dead time in samples, one more parameter].

    Args:
        stretches: of one period.
        lead: s at each stretch's beginning that only give past commands.
        bent: stretches as the one more parameter makes them; None: there is none.
        bounds: of the one more parameter.
        step: of the derivative by it.
    """

    def __init__(
        self,
        stretches: Sequence[Stretch],
        lead: float,
        bent: Callable[[Stretch, float], Stretch] | None = None,
        bounds: tuple[float, float] = (-math.inf, math.inf),
        step: float = 0.01,
    ) -> None:
        self._stretches = stretches
        self._bent, self._bounds, self._steps = bent, bounds, (STEP, step)
        self._period = stretches[0].period
        self.lead = lead
        self._last: tuple[tuple[float, float | None], OutputError] | None = None

    def problem(self, late: float, more: float | None = None) -> OutputError:
        """Residuals at a dead time in samples, and at one more parameter."""
        key = (float(late), more)
        if self._last is None or self._last[0] != key:
            bent = self._stretches
            if more is not None and self._bent is not None:
                bent = [self._bent(stretch, float(more)) for stretch in self._stretches]
            self._last = key, OutputError(bent, key[0] * self._period, self.lead)
        return self._last[1]

    def scan(self, lates: Sequence[int], more: float | None = None) -> tuple[Array, Array, float]:
        """Errors at dead times of whole samples; the best theta and dead time."""
        errors = np.empty(len(lates))
        theta: Array | None = None
        best = (math.inf, np.zeros(2), 0.0)
        for i, late in enumerate(lates):
            problem = self.problem(late, more)
            if theta is None:
                theta = problem.first_guess()
            # The plain interface of the same MINPACK routine: it is called for every sample.
            found = leastsq(
                problem.residuals,
                theta,
                Dfun=problem.jacobian,
                ftol=TOLERANCE,
                xtol=TOLERANCE,
                maxfev=50,
                full_output=True,
            )
            theta = found[0]
            residuals = problem.residuals(theta)
            errors[i] = math.sqrt(float(residuals @ residuals) / len(residuals))
            if errors[i] < best[0]:
                best = (float(errors[i]), theta, float(late))
        return errors, best[1], best[2]

    def within(self, x: Array) -> Array:
        """Parameters inside their bounds."""
        x = np.array(x)
        x[2] = min(max(x[2], 0.0), self.lead / self._period)
        if len(x) > 3:
            x[3] = min(max(x[3], self._bounds[0]), self._bounds[1])
        return x

    def solve(self, x: Array) -> tuple[FirstOrderFit, Array, Array]:
        """The fit nearest to a start, its parameters, and deviations of those beyond the gain."""
        found = least_squares(
            self.residuals, x, jac=self.jacobian, method="lm", x_scale="jac", max_nfev=60
        )
        x = self.within(found.x)
        problem = self.problem(*x[2:])
        fit, others = fit_at(
            problem, x[:2], int(found.nfev), problem.dead_time, self.jacobian(x)[:, 2:]
        )
        others[0] *= self._period
        # Beyond the scan's own width, the scan says nothing.
        others[0] = others[0] if others[0] < max(self.lead, self._period) else math.inf
        return fit, x, others

    def residuals(self, x: Array) -> Array:
        """Shape (n,)."""
        x = self.within(x)
        return self.problem(*x[2:]).residuals(x[:2])

    def jacobian(self, x: Array) -> Array:
        """Shape (n, len(x)); by differences for the last two."""
        x = self.within(x)
        columns = [self.problem(*x[2:]).jacobian(x[:2])]
        for i, step in zip(range(2, len(x)), self._steps, strict=False):
            low, high = np.array(x), np.array(x)
            low[i] -= step
            high[i] += step
            low, high = self.within(low), self.within(high)
            width = high[i] - low[i]
            if width > 0.0:
                columns.append((self.residuals(high) - self.residuals(low)) / width)
            else:
                columns.append(np.zeros_like(columns[0][:, 0]))
        return np.column_stack(columns)
