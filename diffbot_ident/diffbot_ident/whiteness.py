"""Are the residuals what noise leaves, or does the model miss something?

Rows that share no torque and no angle must have uncorrelated residuals. A correlation at such lags
says that something moves the robot that the model does not know of: slopes, slip, a flexible load,
a friction of another kind, or a delay that is no whole number of control periods.
"""

from __future__ import annotations

import math

import numpy as np

from diffbot_ident.axis_fit import ANGULAR, LINEAR, solution
from diffbot_ident.integral_rows import Array
from diffbot_ident.row_sums import RowSums

# Lags, in lengths of a row from its first reading to its last, at which residuals should be
# uncorrelated.
LAGS = (1, 2, 3)
# Correlation that is worth a warning, and how many standard deviations of chance it has to exceed.
NOTABLE, SIGMAS = 0.25, 4.0
# Rows, in lengths of one, before which the parameters are too poor for residuals to mean anything.
LEAST = 20
# New rows, as a share of those that count, after which the parameters are taken anew.
AGAIN = 0.4


class Whiteness:
    """Autocorrelations of the residuals, with the parameters known when the rows came."""

    def __init__(self) -> None:
        # Of the products at each lag, and of the squares of either factor.
        self._sums = np.zeros((3, len(LAGS), 2))
        self._pairs = np.zeros(len(LAGS))
        self._theta: tuple[Array, Array] | None = None
        self._delay = 0.0
        self._unfitted = 0
        self._length = 1
        self.interrupt()

    def forget(self, factor: float) -> None:
        """Let everything so far count by this factor (0 to 1) only."""
        self._sums *= factor
        self._pairs *= factor

    def interrupt(self) -> None:
        """The next rows do not follow those before."""
        self._last = np.empty((0, 2))
        self._clear = np.empty(0)

    def add(self, rows: Array, turning: Array, sums: RowSums, delay: float) -> None:
        """Take in new rows; sums hold them already."""
        self._length = sums.window + sums.smoothing + 1
        self._unfitted += len(rows)
        if self._unfitted > max(LEAST * self._length, AGAIN * sums.rows):
            seen = sums.delayed(delay)
            self._theta = (solution(seen, LINEAR), solution(seen, ANGULAR))
            self._unfitted, self._delay = 0, delay
        if self._theta is None:
            return
        errors = np.column_stack(
            [
                rows[:, axis.output] - axis.seen(rows, self._delay) @ theta
                for axis, theta in zip((LINEAR, ANGULAR), self._theta, strict=True)
            ]
        )
        clear = turning.astype(float)
        errors = np.concatenate((self._last, errors * clear[:, None]))
        flags = np.concatenate((self._clear, clear))
        new = len(errors) - len(rows)
        for i, lag in enumerate(LAGS):
            step = lag * self._length
            first = max(new, step)
            if first < len(errors):
                after, before = errors[first:], errors[first - step : len(errors) - step]
                both = (flags[first:] * flags[first - step : len(flags) - step])[:, None]
                self._sums[0, i] += np.sum(after * before, axis=0)
                self._sums[1, i] += np.sum(after**2 * both, axis=0)
                self._sums[2, i] += np.sum(before**2 * both, axis=0)
                self._pairs[i] += both.sum()
        keep = max(LAGS) * self._length
        self._last, self._clear = errors[-keep:], flags[-keep:]

    def correlation(self) -> tuple[float, float]:
        """The largest in size over the lags, [linear, angular], -1 to 1; NaN before that."""
        products, after, before = self._sums
        power = np.sqrt(after * before)
        if not power.all():
            return math.nan, math.nan
        linear, angular = (float(r[np.argmax(np.abs(r))]) for r in (products / power).T)
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
