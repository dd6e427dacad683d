"""Recursive least squares for any model that is linear in its parameters.

Lages (2017), (29)-(31), and (56)-(59) for the two halves of the robot's model:

    K(n)         = P(n-1) phi(n) / (1 + phi(n)' P(n-1) phi(n))            (57)
    theta(n+1)   = theta(n) + K(n) (y(n+1) - phi(n)' theta(n))            (58)
    P(n)         = (I - K(n) phi(n)') P(n-1)                              (59)

(58) is printed with yhat(n); the prediction is yhat(n+1) = phi(n)' theta(n) of (56).

P is the covariance of the estimate only after scaling by the variance of the noise, and only for
white noise. Accelerations from encoders have noise that is far from white: a count that comes a
sample late gives two large errors of opposite sign. So the covariance used here is P Omega P with
Omega the covariance of the sum of phi e over the rows, correlations over a window included (Newey
and West, 1987: the Bartlett weights of a window of m rows are those of the mean square of sums
over m rows, which is how it is computed).
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray


class RecursiveLeastSquares:
    """Estimates theta of y = phi' theta + noise from one row (phi, y) after another.

    Args:
        size: number of parameters p, >= 1.
        initial_covariance: c of P(-1) = c I, > 0, in (parameter unit / noise unit) squared. Large
            means that the start value 0 is not trusted.
        window: rows over which the noise may be correlated, >= 1; 1 trusts it to be white.
    """

    def __init__(self, size: int, initial_covariance: float = 1e6, window: int = 20) -> None:
        if size < 1:
            raise ValueError(f"size = {size}: must be 1 or more parameters")
        if not (np.isfinite(initial_covariance) and initial_covariance > 0.0):
            raise ValueError(f"initial_covariance = {initial_covariance}: must be finite and > 0")
        if window < 1:
            raise ValueError(f"window = {window}: must be 1 or more rows")
        self._initial_covariance = initial_covariance
        self.theta: NDArray[np.float64] = np.zeros(size)
        self.p: NDArray[np.float64] = initial_covariance * np.eye(size)
        self.samples = 0
        self._residual_sum = 0.0
        self._scores = deque([np.zeros(size)] * window, maxlen=window)
        self._score_sum = np.zeros(size)
        self._omega = np.zeros((size, size))

    def update(self, phi: ArrayLike, y: float) -> float:
        """Take in one row; returns the prediction error y - phi' theta, in the unit of y.

        Args:
            phi: regressors, shape (size,).
            y: measured output.

        Raises:
            ValueError: the row is not finite or overflows; the estimate is unchanged.
        """
        phi = np.asarray(phi, dtype=float)
        # Absurd values overflow here; they are refused below with the others.
        with np.errstate(over="ignore", invalid="ignore"):
            error = y - float(phi @ self.theta)
            p_phi = self.p @ phi
            scale = 1.0 + float(phi @ p_phi)
            theta = self.theta + p_phi * (error / scale)
            # An outer product is symmetric to the last bit, so P stays symmetric.
            p = self.p - np.outer(p_phi, p_phi) / scale
            squared = error * error / scale
        if not (np.isfinite(theta).all() and np.isfinite(p).all() and np.isfinite(squared)):
            raise ValueError(
                f"regressors {phi.tolist()} with output {y}: must be finite and of usual size"
            )
        self.theta, self.p = theta, p
        self._residual_sum += squared
        # error / scale is the residual that is left after this row has been taken in.
        score = phi * (error / scale)
        self._score_sum += score - self._scores[0]
        self._scores.append(score)
        self._omega += np.outer(self._score_sum, self._score_sum) / self._scores.maxlen
        self.samples += 1
        return error

    @property
    def noise_variance(self) -> float:
        """Variance of the noise from the residuals, in (unit of y)^2; infinite without surplus.

        The sum of error^2 / (1 + phi' P phi) over the updates is the residual sum of squares.
        """
        surplus = self.samples - self.theta.size
        return self._residual_sum / surplus if surplus > 0 else np.inf

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Covariance of theta, shape (size, size), noise correlated over the window included."""
        surplus = self.samples - self.theta.size
        if surplus <= 0:
            return np.full_like(self.p, np.inf)
        return self.p @ self._omega @ self.p * (self.samples / surplus)

    @property
    def variances(self) -> NDArray[np.float64]:
        """Variances of theta, shape (size,); infinite where the rows do not fix a parameter.

        A parameter counts as fixed when the rows have reduced its entry of P to a hundredth of
        the initial one.
        """
        fixed = np.diag(self.p) < 0.01 * self._initial_covariance
        return np.where(fixed, np.diag(self.covariance), np.inf)
