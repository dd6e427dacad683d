"""Estimates of the parameters from rows A x = F (section 3 and Fig. 5 of the paper).

The parameters are constant, so the Kalman filter of Fig. 5 has Q = 0 and is recursive least
squares, row after row, with R the variance of a row's noise. It works in units of what is not
known beforehand: x = start + deviation * theta, theta ~ N(0, I).

R is that of F and of A: noise in the regressors counts with the parameters, as they are estimated
so far. Noise in the regressors also biases least squares, as random motion looks like motion. It
is white, and the motion is slow against the sampling, so means over some samples (`window`) keep
the equations, which are linear, and have less of it. A window of 1 is the paper's way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.compliant_base.parameters import SIZE
from diffbot_ident.compliant_base.regressor import row_variance, rows
from diffbot_ident.rls import RecursiveLeastSquares

Array = NDArray[np.float64]

# Noise of a row that is taken for exact, as a share of the row's mean square.
EXACT = 1e-12


class KalmanEstimator:
    """Sequential estimate with covariance.

    Args:
        start: values beforehand, shape (22,).
        deviation: how far they may be off, standard deviations, > 0, shape (22,).
        window: samples whose rows are averaged, >= 1.

    Raises:
        ValueError: a shape, a deviation or the window is not as said.
    """

    def __init__(self, start: Array, deviation: Array, window: int = 1) -> None:
        if start.shape != (SIZE,) or deviation.shape != (SIZE,):
            raise ValueError(f"shapes {start.shape}, {deviation.shape}: must both be ({SIZE},)")
        if not (np.isfinite(deviation).all() and (deviation > 0.0).all()):
            raise ValueError(f"deviation = {deviation.tolist()}: all must be finite and > 0")
        if window < 1:
            raise ValueError(f"window = {window}: must be 1 or more samples")
        self._start, self._deviation, self._window = start, deviation, window
        self._filter = RecursiveLeastSquares(SIZE, initial_covariance=1.0, window=1)

    @property
    def estimate(self) -> Array:
        """Parameters, shape (22,)."""
        return self._start + self._deviation * self._filter.theta

    @property
    def deviation(self) -> Array:
        """Standard deviations of the estimate, shape (22,)."""
        return self._deviation * np.sqrt(np.diag(self._filter.p))

    @property
    def information(self) -> Array:
        """Inverse covariance in units of the deviations beforehand, shape (22, 22)."""
        return np.linalg.inv(self._filter.p)

    def update(self, measured: Array, noise: Array) -> None:
        """Take in n samples of all modes.

        Args:
            measured: channels, shape (3 modes, n, 8, 3), n a multiple of the window.
            noise: standard deviations of the channels, shape (8, 3).

        Raises:
            ValueError: n is not a multiple of the window.
        """
        a, f = (averaged(each, self._window) for each in rows(measured))
        variance = row_variance(noise, self.estimate) / self._window
        root = np.sqrt(np.maximum(variance, EXACT * (f * f).mean(axis=(0, 1))))
        outputs = (f - a @ self._start) / root
        regressors = a * self._deviation / root[:, None]
        # In the order of time; at each time all modes and rows.
        for at in range(a.shape[1]):
            for phi, y in zip(
                regressors[:, at].reshape(-1, SIZE), outputs[:, at].ravel(), strict=True
            ):
                self._filter.update(phi, y)


def averaged(values: Array, window: int) -> Array:
    """Means over windows along the second axis: (modes, n, ...) -> (modes, n / window, ...).

    Raises:
        ValueError: n is not a multiple of the window.
    """
    count = values.shape[1]
    if count % window:
        raise ValueError(f"{count} samples: must be a multiple of the window, {window}")
    return values.reshape(len(values), count // window, window, *values.shape[2:]).mean(axis=2)


def pseudo_inverse(measured: Array) -> Array:
    """Least squares over all rows at once, (A'A)^-1 A'F, shape (22,); columns of equal length.

    Args:
        measured: channels, shape (..., 8, 3).

    Raises:
        ValueError: the rows do not fix all parameters.
    """
    a, f = rows(measured)
    a, f = a.reshape(-1, SIZE), f.ravel()
    scale = np.linalg.norm(a, axis=0)
    if not (scale > 0.0).all():
        raise ValueError("a parameter has no effect in the motion: let all axes move")
    x, _, rank, _ = np.linalg.lstsq(a / scale, f, rcond=None)
    if rank < SIZE:
        raise ValueError(f"the motion fixes {rank} of {SIZE} parameters: excite it more richly")
    return x / scale
