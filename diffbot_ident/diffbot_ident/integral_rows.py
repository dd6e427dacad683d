"""From joint samples to rows of the integrated model, many at once.

The model, (41) of Lages (2017) less the wheels' friction, integrated over a window:

    v(t+h) - v(t)         = K5 int omega^2 + K7 int (T_l + T_r)
    omega(t+h) - omega(t) = K6 int v omega + K8 int (T_l - T_r),    T = tau - c w - f sign(w)

Differences over a window are far less noisy than accelerations, and the integrals keep the times
straight. The difference of two wheel angles is the mean speed of a period, hence the speed at its
middle; from one middle to the next the torque of either period acts for half of its length
("encoder-matched torque"). Both ends of a window are means over some such windows, which divides
the noise of the angles.

Products of velocities are averaged as mean_products says.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_ident.mean_products import NO_KINKS, Kinks, Velocity, delayed, mean_product

# Control periods of torque delay that are told apart: 0 to DELAYS - 1.
DELAYS = 5

# Columns of a row. The regressors are integrals over the window; the last two are the outputs.
OMEGA_SQUARED, V_OMEGA, V, OMEGA, SIGN_LEFT, SIGN_RIGHT = range(6)
SUM = slice(6, 6 + DELAYS)
"""tau_l + tau_r, as reported 0, 1, ... periods earlier."""
DIFFERENCE = slice(6 + DELAYS, 6 + 2 * DELAYS)
"""tau_l - tau_r, as reported 0, 1, ... periods earlier."""
DV, DOMEGA = 6 + 2 * DELAYS, 7 + 2 * DELAYS
COLUMNS = 8 + 2 * DELAYS

Array = NDArray[np.float64]


class IntegralRows:
    """Turns a stretch of joint samples into rows, one beginning with each sample.

    Args:
        geometry: of the wheels.
        window: control periods from one end of a window to the other, >= 1.
        smoothing: control periods over which either end is averaged, >= 1.
    """

    def __init__(self, geometry: WheelGeometry, window: int, smoothing: int) -> None:
        self._geometry = geometry
        self.window = window
        self.smoothing = smoothing
        # Samples that a stretch shares with the one before it so that no row is lost.
        self.overlap = window + smoothing + DELAYS + 1

    def make(self, samples: Array, kinks: Kinks = NO_KINKS) -> tuple[Array, NDArray[np.bool_]]:
        """Rows of a stretch of consecutive samples.

        Args:
            samples: stamp (s), angles [left, right] (rad) and torques [left, right] (N m) that
                acted over the period that ends with the sample, shape (n, 5).
            kinks: what is known of those of the velocities.

        Returns:
            Rows, shape (max(n - overlap, 0), COLUMNS), and for each whether both wheels keep
            turning one way in it: where one turns round, the integral of its sign is uncertain.
        """
        if len(samples) <= self.overlap:
            return np.empty((0, COLUMNS)), np.empty(0, dtype=bool)
        steps, turning = self._steps(samples, kinks)
        inner = moving_sum(steps, self.window)
        rows = moving_sum(inner, self.smoothing) / self.smoothing
        turns = moving_sum((~turning).astype(float)[:, None], self.window + self.smoothing - 1)
        return rows, turns[:, 0] == 0.0

    def _steps(self, samples: Array, kinks: Kinks) -> tuple[Array, NDArray[np.bool_]]:
        """The columns from the middle of each period to that of the next."""
        period = np.diff(samples[:, 0])
        turned = turns(samples[:, 1:3])
        length, angle = self._geometry.body_velocity(turned[:, 0], turned[:, 1])
        v, omega = length / period, angle / period
        effort = samples[1:, 3:5] * period[:, None]
        total, difference = effort[:, 0] + effort[:, 1], effort[:, 0] - effort[:, 1]
        sign = np.sign(turned)
        linear = Velocity(v, kinks.gain * np.diff(delayed(total, kinks.delay)))
        angular = Velocity(omega, kinks.yaw_gain * np.diff(delayed(difference, kinks.delay)))
        first, last = DELAYS, len(period) - 2  # steps from period k to k + 1
        at = slice(first, last)
        gap = 0.5 * (period[:-1] + period[1:])[at]
        steps = np.empty((last - first, COLUMNS))
        steps[:, OMEGA_SQUARED] = gap * mean_product(angular, angular)[first - 1 :]
        steps[:, V_OMEGA] = gap * mean_product(linear, angular)[first - 1 :]
        steps[:, V] = _halves(length)[at]
        steps[:, OMEGA] = _halves(angle)[at]
        steps[:, SIGN_LEFT] = _halves(sign[:, 0] * period)[at]
        steps[:, SIGN_RIGHT] = _halves(sign[:, 1] * period)[at]
        for delay in range(DELAYS):
            late = slice(first - delay, last - delay)
            steps[:, SUM.start + delay] = _halves(total)[late]
            steps[:, DIFFERENCE.start + delay] = _halves(difference)[late]
        steps[:, DV] = np.diff(v)[at]
        steps[:, DOMEGA] = np.diff(omega)[at]
        turning = (sign[:-1] * sign[1:] > 0.0).all(axis=1)[at]
        return steps, turning


def turns(angles: Array) -> Array:
    """What the wheels turned from one sample to the next, rad, shape (n - 1, 2), from (n, 2).

    Encoders may wrap; half a turn in one period is far beyond any wheel's speed.
    """
    return np.remainder(np.diff(angles, axis=0) + np.pi, 2.0 * np.pi) - np.pi


def _halves(per_period: Array) -> Array:
    """Half of a period's share and half of the next one's."""
    return 0.5 * (per_period[:-1] + per_period[1:])


def moving_sum(columns: Array, length: int) -> Array:
    """Sums over `length` successive rows, shape (n - length + 1, columns)."""
    sums = np.cumsum(columns, axis=0)
    sums[length:] -= sums[:-length].copy()
    return sums[length - 1 :]
