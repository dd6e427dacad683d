"""Prediction of body velocities from measured torques, by a model that may be right or wrong.

(41) of Lages (2017) less the wheels' friction, one control period after another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.estimate import Friction
from diffbot_ident.integral_rows import Array

# Wheel speed over which the Coulomb friction of a prediction fades in, rad/s. A sign would chatter.
FADE = 0.05


@dataclass(frozen=True)
class Model:
    """What predicts.

    Attributes:
        values: [K5, K6, K7, K8].
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m].
        delay: control periods between a torque's report and its action, >= 0; d + a, d whole, means
            that (1 - a) tau[k - d] + a tau[k - d - 1] acts in period k.
    """

    values: tuple[float, float, float, float]
    friction: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    delay: float = 0.0

    @classmethod
    def of(
        cls,
        values: tuple[float, float, float, float],
        friction: Friction | None,
        delay: float,
    ) -> Model:
        """The model of an estimate.

        Args:
            values: [K5, K6, K7, K8].
            friction: what is not known, or negative, is taken for none.
            delay: control periods; one that is not known, or negative, is taken for none.
        """
        known = (0.0,) * 4
        if friction is not None:
            known = tuple(
                max(0.0, value) if np.isfinite(variance) else 0.0
                for value, variance in zip(friction.values, friction.variances, strict=True)
            )
        return cls(values, known, max(0.0, float(delay)) if np.isfinite(delay) else 0.0)

    def acceleration(self, v: Array, omega: Array, torque: Array, geometry: WheelGeometry) -> Array:
        """[dv/dt, domega/dt] of n robots, shape (2, n), m/s^2 and rad/s^2.

        Args:
            v: m/s, shape (n,).
            omega: rad/s, shape (n,).
            torque: [left, right], N m, shape (2, n).
            geometry: of the wheels.
        """
        k5, k6, k7, k8 = self.values
        viscous, coulomb = np.array(self.friction[:2]), np.array(self.friction[2:])
        speed = np.array(geometry.wheel_velocity(v, omega))
        acting = torque - viscous[:, None] * speed - coulomb[:, None] * np.tanh(speed / FADE)
        return np.array(
            [
                k5 * omega**2 + k7 * (acting[0] + acting[1]),
                k6 * v * omega + k8 * (acting[0] - acting[1]),
            ]
        )

    def predict(self, start: Array, torque: Array, period: float, geometry: WheelGeometry) -> Array:
        """Velocities [v, omega] after m periods, shape (2, n).

        Args:
            start: [v, omega] at the beginning, shape (2, n).
            torque: [left, right] of each period, N m, shape (m, 2, n).
            period: s.
            geometry: of the wheels.
        """
        velocity = start
        for acting in torque:
            # The midpoint rule: products of velocities change little within a period.
            half = velocity + 0.5 * period * self.acceleration(*velocity, acting, geometry)
            velocity = velocity + period * self.acceleration(*half, acting, geometry)
        return velocity
