# SPDX-License-Identifier: Apache-2.0
"""Friction of the wheels, the gears and the floor, from the fits of both axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.estimate import Array, FrictionEstimate, TurningEstimate
from diffbot_ident.torque.axis_fit import batch
from diffbot_ident.torque.columns import AxisFit, ExtraColumns
from diffbot_ident.torque.effects.gear_loss import GEAR_COLUMNS, GEAR_LEFT
from diffbot_ident.torque.effects.turning import SIGN_OMEGA

# Coefficients are separable with at least this smallest eigenvalue of their correlations.
MIN_EIGENVALUE = 1e-9
# Standard deviations up to this, in N m s/rad and N m, stem from rounding, not from noise.
NO_NOISE_STD = 1e-15

UNKNOWN_FRICTION = FrictionEstimate((0.0,) * 4, (np.inf,) * 4)
UNKNOWN_TURNING = TurningEstimate((0.0, 0.0), (np.inf, np.inf))


def friction_terms(geometry: WheelGeometry) -> tuple[Array, Array]:
    """Return the maps, (4, 4), from friction to the parameters of [v, omega, sign left, right].

    Of [c_l, c_r, f_l, f_r], times K7 for the linear axis and K8 for the angular one:

        K7 (T_l + T_r):  -K7 (c_l + c_r) / r,  K7 b (c_l - c_r) / r,  -K7 f_l,  -K7 f_r
        K8 (T_l - T_r):  -K8 (c_l - c_r) / r,  K8 b (c_l + c_r) / r,  -K8 f_l,  +K8 f_r
    """
    r = 0.5 * (geometry.left_radius + geometry.right_radius)
    b = geometry.half_track
    linear = np.array(
        [[-1 / r, -1 / r, 0, 0], [b / r, -b / r, 0, 0], [0, 0, -1, 0], [0, 0, 0, -1]], dtype=float
    )
    angular = np.array(
        [[-1 / r, 1 / r, 0, 0], [b / r, b / r, 0, 0], [0, 0, -1, 0], [0, 0, 0, 1]], dtype=float
    )
    return linear, angular


def fuse_friction(linear: AxisFit, angular: AxisFit, geometry: WheelGeometry) -> FrictionEstimate:
    """Return friction from both axes, weighted by precision; infinite variances where unknown."""
    information, weighted = np.zeros((4, 4)), np.zeros(4)
    jacobian = np.empty((4, 5))
    with np.errstate(all="ignore"):
        for fit, inverse in zip((linear, angular), _inverse_terms(geometry), strict=True):
            gain = fit.theta[1]
            values = inverse @ fit.theta[2:6] / gain
            jacobian[:, 0], jacobian[:, 1:] = -values / gain, inverse / gain
            own = _inverse(jacobian @ fit.covariance[1:6, 1:6] @ jacobian.T, NO_NOISE_STD)
            if own is not None:
                information += own
                weighted += own @ values
        covariance = _inverse(information, 0.0)
    if covariance is None:
        return UNKNOWN_FRICTION
    values = covariance @ weighted
    return FrictionEstimate.of(values, covariance)


def fuse_more(
    linear: AxisFit, angular: AxisFit, geometry: WheelGeometry, extra: ExtraColumns
) -> tuple[FrictionEstimate, TurningEstimate | None]:
    """Return wheel friction, with gear losses, and floor resistance from both axes.

    A gear loss enters as Coulomb friction. Skid steer adds K8 (r / b) c_w and K8 (r / b) f_w to the
    parameters of omega and its sign; `extra` has TURNING_COLUMNS, GEAR_COLUMNS, or both.
    """
    terms, places = list(friction_terms(geometry)), [list(range(2, 6)), list(range(2, 6))]
    geared, turning = GEAR_LEFT in extra[0], SIGN_OMEGA in extra[1]
    if geared:
        for i, gears in enumerate(GEAR_COLUMNS):
            signs = terms[i][2:, 2:]
            terms[i] = np.block([[terms[i], np.zeros((4, 2))], [np.zeros((2, 4)), signs]])
            places[i] += [6 + extra[i].index(column) for column in gears]
    if turning:
        lever = 0.5 * (geometry.left_radius + geometry.right_radius) / geometry.half_track
        terms = [np.hstack((own, np.zeros((len(own), 2)))) for own in terms]
        terms[1][1, -2] = lever
        terms[1] = np.vstack((terms[1], np.append(np.zeros(terms[1].shape[1] - 1), lever)))
        places[1].append(6 + extra[1].index(SIGN_OMEGA))
    result = _fused((linear, angular), terms, places)
    if result is None:
        return UNKNOWN_FRICTION, UNKNOWN_TURNING if turning else None
    values, covariance = result
    count = 6 if geared else 4
    friction = FrictionEstimate.of(values[:count], covariance[:count, :count])
    if not turning:
        return friction, None
    viscous, coulomb = values[count:].tolist()
    of_viscous, of_coulomb = np.diag(covariance)[count:].tolist()
    return friction, TurningEstimate((viscous, coulomb), (of_viscous, of_coulomb))


def _fused(
    axes: Sequence[AxisFit], terms: Sequence[Array], places: Sequence[Sequence[int]]
) -> tuple[Array, Array] | None:
    """Return n coefficients and their covariance from both axes; None if they are unknown.

    `terms` map the coefficients to m parameters per gain, (m, n), at these places of theta.
    """
    size = terms[0].shape[1]
    information, weighted = np.zeros((size, size)), np.zeros(size)
    with np.errstate(all="ignore"):
        for fit, own, place in zip(axes, terms, places, strict=True):
            gain, seen = fit.theta[1], fit.theta[[*place]]
            jacobian = np.column_stack((-seen / gain**2, np.eye(len(own)) / gain))
            spread = fit.covariance[batch((1, *place))]
            precision = _inverse(jacobian @ spread @ jacobian.T, 0.0)
            if precision is not None:
                information += own.T @ precision @ own
                weighted += own.T @ precision @ (seen / gain)
        covariance = _inverse(information, 0.0)
    return None if covariance is None else (covariance @ weighted, covariance)


@lru_cache
def _inverse_terms(geometry: WheelGeometry) -> tuple[Array, Array]:
    linear, angular = (np.asarray(np.linalg.inv(terms)) for terms in friction_terms(geometry))
    return linear, angular


def _inverse(matrix: Array, min_scale: float) -> Array | None:
    scale = np.sqrt(matrix.diagonal())
    shape = scale[:, None] * scale
    correlation = matrix / shape
    if not (np.isfinite(correlation).all() and (scale > min_scale).all()):
        return None
    if np.linalg.eigvalsh(correlation)[0] < MIN_EIGENVALUE:
        return None
    inverse: Array = np.linalg.inv(correlation) / shape
    return inverse
