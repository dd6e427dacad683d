# SPDX-License-Identifier: Apache-2.0
"""A plant with any K5..K8, the papers' unphysical ones too, integrated by RK4; for the tests."""

from __future__ import annotations

import math

import numpy as np

STEP = 0.001  # s

PUBLISHED_2018 = (0.08444, 3.7706, 2.6468, -16.0840)  # f12, f21, g11, g21: f12 f21 > 0


class Rk4Plant:
    """v' = K5 w^2 + K7 (l + r), w' = K6 v w + K8 (l - r), rolling on the plane."""

    def __init__(self, k, pose=(0.0, 0.0, 0.0), velocity=(0.0, 0.0)) -> None:
        self.k = k
        self.state = np.array([*pose, *velocity], dtype=float)
        # Path and heading turned, for encoders: angles of wheels of radius 1 and half track 1.
        self.path = 0.0

    def step(self, torque, duration) -> None:
        left, right = torque
        k5, k6, k7, k8 = self.k

        def rate(z):
            _, _, theta, v, w, _ = z
            return np.array(
                [
                    v * math.cos(theta),
                    v * math.sin(theta),
                    w,
                    k5 * w * w + k7 * (left + right),
                    k6 * v * w + k8 * (left - right),
                    v,
                ]
            )

        z = np.array([*self.state, self.path])
        count = max(1, round(duration / STEP))
        h = duration / count
        for _ in range(count):
            a = rate(z)
            b = rate(z + 0.5 * h * a)
            c = rate(z + 0.5 * h * b)
            z = z + h / 6.0 * (a + 2.0 * b + 2.0 * c + rate(z + h * c))
        self.state, self.path = z[:5], z[5]

    def pose(self):
        return tuple(map(float, self.state[:3]))

    def velocity(self):
        return tuple(map(float, self.state[3:]))

    def wheel_angles(self):
        theta = float(self.state[2])
        return self.path - theta, self.path + theta
