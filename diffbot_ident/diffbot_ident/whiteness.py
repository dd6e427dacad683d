"""Are the residuals what noise leaves, or does the model miss something?

Rows that share no torque and no angle must have uncorrelated residuals. A correlation at such lags
says that something moves the robot that the model does not know of: slopes, slip, a flexible load,
a friction of another kind, or a delay that is no whole number of control periods.
"""

from __future__ import annotations

import math

import numpy as np

from diffbot_ident.axis_fit import ANGULAR, LINEAR, Axis
from diffbot_ident.integral_rows import Array
from diffbot_ident.row_sums import RowSums

# Lags, in lengths of a row from its first reading to its last, at which residuals should be
# uncorrelated.
LAGS = (1, 2, 3)
# Correlation that is worth a warning, and how many standard deviations of chance it has to exceed.
NOTABLE, SIGMAS = 0.25, 4.0
# Rows, in lengths of one, before which the parameters are too poor for residuals to mean anything.
LEAST = 20


class Whiteness:
    """Autocorrelations of the residuals, with the parameters known when the rows came."""

    def __init__(self) -> None:
        self._sums = np.zeros((len(LAGS) + 1, 2))
        self._pairs = np.zeros(len(LAGS) + 1)
        self._theta: tuple[Array, Array] | None = None
        self._delay = 0
        self._fitted = 0.0
        self._length = 1
        self.interrupt()

    def interrupt(self) -> None:
        """The next rows do not follow those before."""
        self._last = np.empty((0, 2))
        self._clear = np.empty(0)

    def add(self, rows: Array, turning: Array, sums: RowSums, delay: int) -> None:
        """Take in new rows; sums hold them already."""
        self._length = sums.window + sums.smoothing + 1
        if sums.rows > 1.5 * self._fitted and sums.rows > LEAST * self._length:
            self._theta = tuple(_solution(sums, axis, delay) for axis in (LINEAR, ANGULAR))
            self._fitted, self._delay = sums.rows, delay
        if self._theta is None:
            return
        errors = np.column_stack(
            [
                rows[:, axis.output] - rows[:, axis.regressors(self._delay)] @ theta
                for axis, theta in zip((LINEAR, ANGULAR), self._theta, strict=True)
            ]
        )
        clear = turning.astype(float)
        errors = np.concatenate((self._last, errors * clear[:, None]))
        flags = np.concatenate((self._clear, clear))
        new = len(errors) - len(rows)
        for i, lag in enumerate((0, *LAGS)):
            first = max(new, lag * self._length)
            before = slice(first - lag * self._length, len(errors) - lag * self._length)
            if first < len(errors):
                self._sums[i] += np.sum(errors[first:] * errors[before], axis=0)
                self._pairs[i] += flags[first:] @ flags[before]
        keep = max(LAGS) * self._length
        self._last, self._clear = errors[-keep:], flags[-keep:]

    def correlation(self) -> tuple[float, float]:
        """The largest in size over the lags, [linear, angular]; NaN before there is one."""
        if not self._pairs.all() or not self._sums[0].all():
            return math.nan, math.nan
        means = self._sums / self._pairs[:, None]
        ratios = means[1:] / means[0]
        linear, angular = (float(r[np.argmax(np.abs(r))]) for r in ratios.T)
        return linear, angular

    def warnings(self) -> list[str]:
        """What the correlations say, in words."""
        found = []
        for name, value in zip(("dv/dt", "domega/dt"), self.correlation(), strict=True):
            chance = math.sqrt(self._length / max(self._pairs[0], 1.0))
            if abs(value) > max(NOTABLE, SIGMAS * chance):
                found.append(
                    f"residuals of {name} are not white (correlation {value:+.2f}): something "
                    "moves the robot that the model does not know of; check for slopes, slip, a "
                    "loose load, or velocities and torques that are filtered"
                )
        return found


def _solution(sums: RowSums, axis: Axis, delay: int) -> Array:
    columns = axis.regressors(delay)
    a, b = sums.moments[np.ix_(columns, columns)], sums.moments[columns, axis.output]
    scale = np.sqrt(np.maximum(np.diag(a), 1e-300))
    scaled = a / np.outer(scale, scale) + 1e-9 * np.eye(len(a))
    return np.linalg.solve(scaled, b / scale) / scale
