# SPDX-License-Identifier: Apache-2.0
"""Taylor series of the speeds of many robots in a step; see motion_series.py."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from arc_odometry.number_range import Array
from diffbot_sim.engines.motion_series import ORDER

Index = NDArray[np.intp]

# Largest last term of a series, relative to the speed and its first change in the step, from
# order FIRST on.
TRUNCATION, FIRST = 1e-13, 5
# Gauss-Legendre nodes on [0, 1] with weights for the displacement in a step. Relative errors: four
# nodes 6e-10 turn^8 (up to SHARP rad), six 2e-16 turn^12. Steps of more than SHARPEST are divided.
SHARP, SHARPEST = 0.35, 1.2
NODES = [
    [(0.5 * (node + 1.0), 0.5 * weight) for node, weight in zip(*leggauss(count), strict=True)]
    for count in (4, 6)
]


class BatchSeries:
    """Taylor coefficients of the speeds of n robots, up to the highest order that any one needs.

    Args:
        v, omega: States, m/s and rad/s, (n,).
        rows: Rows of v' and omega' as in motion_series, (2, 5, n).
        horizon: Time for which the series are needed, s.

    Attributes:
        v, omega: Coefficients, ascending.
        change: Largest changes of v and omega within the horizon.
        span: Time for which the series are valid, s, at most the horizon.
    """

    def __init__(self, v: Array, omega: Array, rows: Array, horizon: float) -> None:
        (a0, a1, a2, a3, a4), (b0, b1, b2, b3, b4) = rows
        stuck = bool(a1.any() or b0.any())
        self.v, self.omega = [v], [omega]
        self.centripetal: list[Array] = []
        self.coriolis: list[Array] = []
        self.change = [np.zeros_like(v), np.zeros_like(v)]
        self.span = horizon
        power, scratch = 1.0, np.empty_like(v)
        for k in range(ORDER):
            ww = _squared(self.omega, k, scratch)
            vw = _convolved(self.v, self.omega, k, scratch)
            self.centripetal.append(ww)
            self.coriolis.append(vw)
            rate_v = a0 * ww + a2 * self.v[k] + a3 * self.omega[k]
            rate_w = b1 * vw + b2 * self.v[k] + b3 * self.omega[k]
            if stuck:
                rate_v += a1 * vw
                rate_w += b0 * ww
            if k == 0:
                rate_v += a4
                rate_w += b4
            rate_v /= k + 1
            rate_w /= k + 1
            self.v.append(rate_v)
            self.omega.append(rate_w)
            power *= horizon
            last = [np.abs(rate_v) * power, np.abs(rate_w) * power]
            for total, term in zip(self.change, last, strict=True):
                total += term
            if k == 0:
                scales = [np.abs(v) + last[0], np.abs(omega) + last[1]]
            if k + 1 >= FIRST and all(
                bool((term <= TRUNCATION * scale).all())
                for term, scale in zip(last, scales, strict=True)
            ):
                break
        else:
            worst = max(
                float((term / np.maximum(scale, 1e-300)).max())
                for term, scale in zip(last, scales, strict=True)
            )
            self.span = 0.5 * horizon * min(1.0, (TRUNCATION / worst) ** (1.0 / ORDER))
        turn = float((np.abs(omega) + self.change[1]).max()) * horizon
        self._nodes = NODES[0 if turn < SHARP else 1]
        self.span = min(self.span, horizon * SHARPEST / max(turn, SHARPEST))

    def at(
        self, time: Array | float, heading: Array
    ) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return v, omega, path, turn, x and y after a time, s, from a heading, rad, both (n,)."""
        v, path = _value_and_integral(self.v, time)
        omega, turn = _value_and_integral(self.omega, time)
        x, y = np.zeros_like(v), np.zeros_like(v)
        turns = [term / (k + 1) for k, term in enumerate(self.omega[:-1])]
        for node, weight in self._nodes:
            at = node * time
            speed = self.v[-1] * at
            angle = self.omega[-1] * (at / len(self.omega))
            for k in range(len(self.v) - 2, 0, -1):
                speed += self.v[k]
                speed *= at
                angle += turns[k]
                angle *= at
            speed += self.v[0]
            angle += turns[0]
            angle *= at
            angle += heading
            speed *= weight
            x += speed * np.cos(angle)
            y += speed * np.sin(angle)
        return v, omega, path, turn, x * time, y * time

    def of_wheels(
        self, where: Index, mode: Array, lever: Array, radius: Array
    ) -> tuple[Array, Array]:
        """Return series of mode x wheel speed of robots `where`, (terms, m), and their sizes.

        `lever`: rim speed of the wheel per yaw rate, m; `radius`: of the wheel, m.
        """
        order = len(self.centripetal)
        v = np.stack([term[where] for term in self.v[:order]]) / radius
        turn = np.stack([term[where] for term in self.omega[:order]]) * (lever / radius)
        return mode * (v + turn), np.abs(v) + np.abs(turn)

    def combined(self, where: Index, rows: Array) -> tuple[Array, Array]:
        """Return series and sizes, (terms, m), of a quantity of robots `where` with rows (5, m).

        See MotionSeries.combine and MotionSeries.magnitude.
        """
        order = len(self.centripetal)
        terms = np.array(
            [
                [each[where] for each in series[:order]]
                for series in (self.centripetal, self.coriolis, self.v, self.omega)
            ]
        )
        parts = rows[:4, None] * terms
        values, sizes = parts.sum(axis=0), np.abs(parts).sum(axis=0)
        values[0] += rows[4]
        sizes[0] += np.abs(rows[4])
        return values, sizes


def _convolved(first: list[Array], second: list[Array], k: int, scratch: Array) -> Array:
    """Return coefficient k of the product of two series."""
    total = first[0] * second[k]
    for j in range(1, k + 1):
        total += np.multiply(first[j], second[k - j], out=scratch)
    return total


def _squared(series: list[Array], k: int, scratch: Array) -> Array:
    """Return coefficient k of the square of a series."""
    if k == 0:
        return series[0] * series[0]
    total = series[0] * series[k]
    for j in range(1, (k + 1) // 2):
        total += np.multiply(series[j], series[k - j], out=scratch)
    total *= 2.0
    if k % 2 == 0:
        total += np.multiply(series[k // 2], series[k // 2], out=scratch)
    return total


def _value_and_integral(series: list[Array], time: Array | float) -> tuple[Array, Array]:
    """Return the value of a series at a time, and its integral up to then."""
    value = series[-1] * time
    integral = value / len(series)
    for k in range(len(series) - 2, 0, -1):
        value += series[k]
        integral += series[k] / (k + 1)
        value *= time
        integral *= time
    value += series[0]
    integral += series[0]
    return value, integral * time
