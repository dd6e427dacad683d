"""Recursive least squares for any model that is linear in its parameters.

Lages (2017), (29)-(31), and (56)-(59) for the two halves of the robot's model:

    K(n)         = P(n-1) phi(n) / (1 + phi(n)' P(n-1) phi(n))            (57)
    theta(n+1)   = theta(n) + K(n) (y(n+1) - phi(n)' theta(n))            (58)
    P(n)         = (I - K(n) phi(n)') P(n-1)                              (59)

(58) is printed with yhat(n); the prediction is yhat(n+1) = phi(n)' theta(n) of (56). P is the
covariance of the estimate only after scaling by the variance of the noise, which is estimated
here from the residuals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


class RecursiveLeastSquares:
    """Estimates theta of y = phi' theta + noise from one row (phi, y) after another.

    Args:
        size: number of parameters p, >= 1.
        initial_covariance: c of P(-1) = c I, > 0, in (parameter unit / noise unit) squared. Large
            means that the start value 0 is not trusted.
    """

    def __init__(self, size: int, initial_covariance: float = 1e6) -> None:
        if size < 1:
            raise ValueError(f"size = {size}: must be 1 or more parameters")
        if not (np.isfinite(initial_covariance) and initial_covariance > 0.0):
            raise ValueError(f"initial_covariance = {initial_covariance}: must be finite and > 0")
        self._initial_covariance = initial_covariance
        self.theta: NDArray[np.float64] = np.zeros(size)
        self.p: NDArray[np.float64] = initial_covariance * np.eye(size)
        self.samples = 0
        self._residual_sum = 0.0

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
    def variances(self) -> NDArray[np.float64]:
        """Variances of theta, shape (size,); infinite where the rows do not fix a parameter.

        They are exact for white noise. A parameter counts as fixed when the rows have reduced
        its entry of P to a hundredth of the initial one.
        """
        diagonal = np.diag(self.p)
        fixed = diagonal < 0.01 * self._initial_covariance
        return np.where(fixed, np.maximum(diagonal, 0.0) * self.noise_variance, np.inf)
