# SPDX-License-Identifier: Apache-2.0
"""Fitted parameters of one axis, v or omega, of the integrated model."""

from __future__ import annotations

from dataclasses import dataclass

from diffbot_ident.torque.estimate import Array


@dataclass(frozen=True)
class AxisFit:
    """Parameters of one axis.

    Attributes:
        theta: Parameters of [product, torque, v, omega, sign left, sign right] and of the
            additional regressors, shape (6 + extra,); `covariance`: theirs.
        variance: Mean square of the residuals.
        noise: Variances of gains in velocity by one period's torque and one reading.
    """

    theta: Array
    covariance: Array
    variance: float
    noise: tuple[float, float]

    def with_covariance(self, covariance: Array) -> AxisFit:
        """Return this fit with another covariance."""
        return AxisFit(self.theta, covariance, self.variance, self.noise)


def averaged(one: AxisFit, other: AxisFit, fraction: float) -> AxisFit:
    """Average two fits, the other of which, with more parameters, is true with this probability.

    The covariance is that of the mixture, and includes the difference between the fits.
    """
    own = slice(len(one.theta))
    apart = other.theta[own] - one.theta[own]
    covariance = (
        (1.0 - fraction) * one.covariance[own, own]
        + fraction * other.covariance[own, own]
        + fraction * (1.0 - fraction) * apart[:, None] * apart
    )
    variance = (1.0 - fraction) * one.variance + fraction * other.variance
    return AxisFit(one.theta[own] + fraction * apart, covariance, variance, one.noise)
