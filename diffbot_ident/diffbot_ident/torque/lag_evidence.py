# SPDX-License-Identifier: Apache-2.0
"""How sure it is that torques act gradually, by the moments of their response.

Torques that act after times t with the mean d and the variance T^2 have, at delays near d0,

    K (tau(d0) + m1 tau'(d0) + m2 tau''(d0) / 2),    m1 = mean of t - d0, m2 = mean of (t - d0)^2

A delay alone has T^2 = m2 - m1^2 = 0; docs/theory/integral_estimator.md#delay-and-lag.
"""

from __future__ import annotations

import math
from copy import copy

import numpy as np

from diffbot_ident.torque.axis_fit import fit_axes, joined
from diffbot_ident.torque.columns import ExtraColumns
from diffbot_ident.torque.effects import DIFFERENCE, SUM
from diffbot_ident.torque.sums import RowSums, of_both_torques, weighted_products
from diffbot_ident.torque.torque_delay import DELAYS, EARLIEST, FINE_DELAYS, acting_weights

# Columns of the derivatives, behind those of the torques.
DERIVATIVES: ExtraColumns = (
    (SUM.start + 2, SUM.start + 4),
    (DIFFERENCE.start + 2, DIFFERENCE.start + 4),
)
# Distance of the delays whose columns tell the derivatives, with one sample per period, periods.
APART = 0.25


def lag_evidence(sums: RowSums, delay: float, extra: ExtraColumns) -> float:
    """Return the variance of the times after which torques act, in its deviations; 0: not known.

    Args:
        sums: Sums of the rows, with the torques of all delays.
        delay: Best delay without a lag, control periods.
        extra: Columns of additional regressors; none of torques.
    """
    apart = _apart(delay, sums.fine)
    # With several samples per period, columns between them are mere interpolations.
    middle = delay if sums.fine == 1 else apart * round(delay / apart)
    earliest = EARLIEST if sums.fine == 1 else 0.0
    middle = max(middle, earliest + apart)
    if middle + apart > DELAYS - 1.0:
        return 0.0
    near = acting_weights(middle + apart * np.array([-1.0, 0.0, 1.0]), np.zeros(3), sums.fine)
    slope, bend = (
        (near[2] - near[0]) / (2.0 * apart),
        (near[2] - 2.0 * near[1] + near[0]) / apart**2,
    )
    seen = copy(sums)
    seen.products = weighted_products(
        sums.products, of_both_torques(np.column_stack((near[1], slope, bend)))
    )
    weight = weighted = 0.0
    for fitted in fit_axes(seen, joined(extra, DERIVATIVES)):
        gain, first, second = fitted.theta[[1, -2, -1]].tolist()
        if gain == 0.0:
            continue
        late = first / gain
        spread = 2.0 * second / gain - late**2
        rates = np.array([2.0 * late**2 - 2.0 * second / gain, -2.0 * late, 2.0]) / gain
        own = np.array([1, len(fitted.theta) - 2, len(fitted.theta) - 1])
        variance = float(rates @ fitted.covariance[np.ix_(own, own)] @ rates)
        if variance > 0.0:
            weight += 1.0 / variance
            weighted += spread / variance
    return weighted / math.sqrt(weight) if weight > 0.0 else 0.0


def _apart(delay: float, fine: int) -> float:
    if fine == 1:
        return APART
    return 1.0 / fine if delay + 2.0 / fine < FINE_DELAYS - 1 else 1.0
