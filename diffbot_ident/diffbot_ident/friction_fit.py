"""Friction of the wheels from the friction terms of both axes, and priors the other way round.

With w_l = (v - b omega) / r, w_r = (v + b omega) / r and T = tau - c w - f sign(w):

    K7 (T_l + T_r):  v: -K7 (c_l + c_r) / r,  omega: K7 b (c_l - c_r) / r,  signs: -K7 f_l, -K7 f_r
    K8 (T_l - T_r):  v: -K8 (c_l - c_r) / r,  omega: K8 b (c_l + c_r) / r,  signs: -K8 f_l, +K8 f_r
"""

from __future__ import annotations

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.axis_fit import AxisFit
from diffbot_ident.estimate import Friction
from diffbot_ident.integral_rows import Array

# Least eigenvalue of the correlations of friction that are told apart.
LEAST = 1e-9
# Standard deviations below this, in N m s/rad and N m, are those of no noise at all.
SMALLEST = 1e-15

UNKNOWN = Friction((0.0,) * 4, (np.inf,) * 4)


def friction_terms(geometry: WheelGeometry) -> tuple[Array, Array]:
    """What [c_l, c_r, f_l, f_r] times K7 and K8 make of [v, omega, sign left, sign right]."""
    r = 0.5 * (geometry.left_radius + geometry.right_radius)
    b = geometry.half_track
    linear = np.array(
        [[-1 / r, -1 / r, 0, 0], [b / r, -b / r, 0, 0], [0, 0, -1, 0], [0, 0, 0, -1]], dtype=float
    )
    angular = np.array(
        [[-1 / r, 1 / r, 0, 0], [b / r, b / r, 0, 0], [0, 0, -1, 0], [0, 0, 0, 1]], dtype=float
    )
    return linear, angular


def fuse_friction(linear: AxisFit, angular: AxisFit, geometry: WheelGeometry) -> Friction:
    """Friction from both axes, each weighted by its precision; infinite variances where unknown."""
    information, weighted = np.zeros((4, 4)), np.zeros(4)
    for fit, terms in zip((linear, angular), friction_terms(geometry), strict=True):
        gain = fit.theta[1]
        inverse = np.linalg.inv(terms)
        with np.errstate(all="ignore"):
            values = inverse @ fit.theta[2:] / gain
            jacobian = np.column_stack((-values / gain, inverse / gain))
            covariance = jacobian @ fit.covariance[1:, 1:] @ jacobian.T
            scale = np.sqrt(np.diag(covariance))
            correlation = covariance / np.outer(scale, scale)
        # A wheel that did not turn, or no torque: this axis has nothing to say.
        known = np.isfinite(correlation).all() and (scale > SMALLEST).all()
        if not known or np.linalg.eigvalsh(correlation)[0] < LEAST:
            continue
        own = np.linalg.inv(correlation) / np.outer(scale, scale)
        information += own
        weighted += own @ values
    size = np.sqrt(np.diag(information))
    if not (size > 0.0).all():
        return UNKNOWN
    relative = information / np.outer(size, size)
    if not np.isfinite(relative).all() or np.linalg.eigvalsh(relative)[0] < LEAST:
        return UNKNOWN
    covariance = np.linalg.inv(relative) / np.outer(size, size)
    values = covariance @ weighted
    return Friction(tuple(values.tolist()), tuple(np.diag(covariance).tolist()))
