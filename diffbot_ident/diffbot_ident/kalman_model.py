"""The model of the extended Kalman filter: one control period of the wheels, and its Jacobian.

State, 12 numbers: wheel angles [left, right] beyond the last reading (rad), v (m/s), omega (rad/s),
K5..K8, viscous friction [left, right] (N m s/rad), Coulomb friction [left, right] (N m). The last
eight, theta, are constant. With W the map from u = [v, omega] to the wheels' speeds w = W u,
Lages (2017), (41), with friction is

    du/dt = a(u, theta) = [K5 omega^2, K6 v omega]' + M T,   M = [[K7, K7], [K8, -K8]]
    T = tau - c w - f s,   s the mean sign of a wheel's speed over the period

One step of length h is the midpoint rule for u, and the path and turn [p] that go with it are exact
where du/dt changes evenly:

    a_0 = a(u, theta),  a_m = a(u + h a_0 / 2, theta)
    u'  = u + h a_m,    p = h u + h^2 (a_0 + 2 a_m) / 6,   angles' = angles + W p

Hence, with A = da/du and B = da/dtheta at either place,

    da_m/du = A_m (I + h A_0 / 2),   da_m/dtheta = B_m + h A_m B_0 / 2

A torque n that acts without being reported moves u by h M n and the angles by h^2 W M n / 2.
"""

from __future__ import annotations

import math

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.integral_rows import Array

STATES = 12
ANGLES, VELOCITY, THETA = slice(0, 2), slice(2, 4), slice(4, 12)

IDENTITY = np.eye(2)


class KalmanModel:
    """Moves the state on by one period.

    Args:
        geometry: of the wheels.
    """

    def __init__(self, geometry: WheelGeometry) -> None:
        self.wheels = np.column_stack(
            (geometry.wheel_velocity(1.0, 0.0), geometry.wheel_velocity(0.0, 1.0))
        )

    def step(
        self, state: Array, torque: tuple[float, float], period: float
    ) -> tuple[Array, Array, Array, Array]:
        """The state after a period of constant torque.

        Args:
            state: shape (12,).
            torque: that acted, [left, right], N m.
            period: h, s.

        Returns:
            The new state (12,), its Jacobian (12, 12), the effect of a unit of torque of either
            wheel that is not reported (12, 2), and the share of each wheel's Coulomb friction that
            is uncertain, as the wheel turns round, (2,).
        """
        h, u = period, state[VELOCITY]
        sign = self._mean_signs(state, torque, h)
        a0, du0, dtheta0 = self._acceleration(u, state, torque, sign)
        am, dum, dthetam = self._acceleration(u + 0.5 * h * a0, state, torque, sign)
        dthetam = dthetam + 0.5 * h * dum @ dtheta0
        dum = dum + 0.5 * h * dum @ du0
        new, jacobian = state.copy(), np.eye(STATES)
        new[VELOCITY] += h * am
        new[ANGLES] += self.wheels @ (h * u + h * h / 6.0 * (a0 + 2.0 * am))
        jacobian[VELOCITY, VELOCITY] += h * dum
        jacobian[VELOCITY, THETA] = h * dthetam
        path = h * IDENTITY + h * h / 6.0 * (du0 + 2.0 * dum)
        jacobian[ANGLES, VELOCITY] = self.wheels @ path
        jacobian[ANGLES, THETA] = self.wheels @ (h * h / 6.0 * (dtheta0 + 2.0 * dthetam))
        effect = np.zeros((STATES, 2))
        effect[VELOCITY] = h * _gains(state)
        effect[ANGLES] = 0.5 * h * self.wheels @ effect[VELOCITY]
        return new, jacobian, effect, 1.0 - np.square(sign)

    def _acceleration(
        self, u: Array, state: Array, torque: tuple[float, float], sign: Array
    ) -> tuple[Array, Array, Array]:
        """a, da/du (2, 2) and da/dtheta (2, 8)."""
        v, omega = u.tolist()
        k5, k6, k7, k8, c_left, c_right, f_left, f_right = state[THETA].tolist()
        w_left, w_right = (self.wheels @ u).tolist()
        left = torque[0] - c_left * w_left - f_left * sign[0]
        right = torque[1] - c_right * w_right - f_right * sign[1]
        total, difference = left + right, left - right
        a = np.array([k5 * omega * omega + k7 * total, k6 * v * omega + k8 * difference])
        lost = np.array([[-c_left], [-c_right]]) * self.wheels
        du = np.array([[0.0, 2.0 * k5 * omega], [k6 * omega, k6 * v]]) + _gains(state) @ lost
        dtheta = np.array(
            [
                (omega * omega, 0.0, total, 0.0)
                + (-k7 * w_left, -k7 * w_right, -k7 * sign[0], -k7 * sign[1]),
                (0.0, v * omega, 0.0, difference)
                + (-k8 * w_left, k8 * w_right, -k8 * sign[0], k8 * sign[1]),
            ]
        )
        return a, du, dtheta

    def _mean_signs(
        self, state: Array, torque: tuple[float, float], h: float
    ) -> tuple[float, float]:
        """Mean sign of each wheel's speed over the period; between -1 and 1 where it turns."""
        u = state[VELOCITY]
        before = (self.wheels @ u).tolist()
        sign = tuple(math.copysign(1.0, w) if w else 0.0 for w in before)
        after = (self.wheels @ (u + h * self._acceleration(u, state, torque, sign)[0])).tolist()
        left, right = (
            s if a * b > 0.0 else (abs(b) - abs(a)) / (b - a) if a != b else 0.0
            for s, a, b in zip(sign, before, after, strict=True)
        )
        return left, right


def _gains(state: Array) -> Array:
    """M of du/dt = ... + M T, shape (2, 2)."""
    k7, k8 = state[6], state[7]
    return np.array([[k7, k7], [k8, -k8]])
