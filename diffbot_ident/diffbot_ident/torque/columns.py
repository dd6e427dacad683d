# SPDX-License-Identifier: Apache-2.0
"""Columns of the integrated model's rows, of the model and of effects, and the fit of an axis.

The last columns of all are the torques, at several delays.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from diffbot_ident.estimate import Array


class ModelColumn(IntEnum):
    """Columns of the model, integrated over a window.

    Products of velocities; v and omega (viscous friction); signs of the wheels' speeds (Coulomb
    friction); the outputs; the duration; and last, in sums with one delay, the torques as they act.
    """

    OMEGA_SQUARED = 0
    V_OMEGA = 1
    V = 2
    OMEGA = 3
    SIGN_LEFT = 4
    SIGN_RIGHT = 5
    DV = 6
    DOMEGA = 7
    ONE = 8
    ACTING_SUM = -2
    ACTING_DIFFERENCE = -1


OMEGA_SQUARED, V_OMEGA = int(ModelColumn.OMEGA_SQUARED), int(ModelColumn.V_OMEGA)
V, OMEGA = int(ModelColumn.V), int(ModelColumn.OMEGA)
SIGN_LEFT, SIGN_RIGHT = int(ModelColumn.SIGN_LEFT), int(ModelColumn.SIGN_RIGHT)
DV, DOMEGA, ONE = int(ModelColumn.DV), int(ModelColumn.DOMEGA), int(ModelColumn.ONE)
ACTING_SUM, ACTING_DIFFERENCE = int(ModelColumn.ACTING_SUM), int(ModelColumn.ACTING_DIFFERENCE)

ExtraColumns = tuple[tuple[int, ...], tuple[int, ...]]
"""Columns of additional regressors of the linear and of the angular axis."""
NO_COLUMNS: ExtraColumns = ((), ())

_names = [column.name.lower() for column in ModelColumn if column >= 0]


def new_columns(*names: str) -> tuple[int, ...]:
    """Return new columns with these names, in their order."""
    first = len(_names)
    _names.extend(names)
    return tuple(range(first, len(_names)))


def column_names() -> tuple[str, ...]:
    """Return the names of all columns before the torques."""
    return tuple(_names)


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

    def added(self, variances: Array) -> AxisFit:
        """Return this fit with these variances more of its first parameters."""
        more = np.zeros(len(self.theta))
        more[: len(variances)] = variances
        return self.with_covariance(self.covariance + np.diag(more))

    def widened(self, least: Array) -> AxisFit:
        """Return this fit with at least these variances of its parameters, and more."""
        own = self.covariance.diagonal()
        ratio = np.divide(least[: len(own)], own, out=np.ones_like(own), where=own > 0.0)
        factors = np.sqrt(np.maximum(ratio, 1.0))
        return self.with_covariance(factors[:, None] * self.covariance * factors)


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
