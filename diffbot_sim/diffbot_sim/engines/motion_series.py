"""Taylor series of planar motion, and safe roots of polynomials: integration exact to floats.

A polynomial is a list of its coefficients, floats, in ascending order of powers. Every quantity of
the motion is a row in the basis [omega^2, v omega, v, omega, 1]; v' and omega' are two such rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

Row = Sequence[float]
"""Coefficients of a quantity in the basis [omega^2, v omega, v, omega, 1]."""

ORDER = 18
# Size of the last term of a series relative to the motion: below float resolution.
TRUNCATION = 1e-17
# A motion whose series hold for less than this, s, is too fast.
SHORTEST = 1e-9
# A robot that needs more pieces of motion within one step is beyond any real one.
MOST_PIECES = 1000
# Halving an interval this often reaches the spacing of floats.
DEEPEST = 50


@dataclass(frozen=True)
class MotionSeries:
    """Taylor coefficients in time, ascending, of one smooth piece of motion.

    v (m/s), omega (rad/s); centripetal = omega^2 and coriolis = v omega; path = integral of v
    (m); theta (rad), x and y (m) relative to the pose at the start of the piece. `span` (s) is
    the time over which the series hold to float accuracy.
    """

    v: list[float]
    omega: list[float]
    centripetal: list[float]
    coriolis: list[float]
    path: list[float]
    theta: list[float]
    x: list[float]
    y: list[float]
    span: float

    def combine(self, row: Row) -> list[float]:
        """Series of a quantity."""
        series = [
            row[0] * ww + row[1] * vw + row[2] * v + row[3] * w
            for ww, vw, v, w in zip(
                self.centripetal, self.coriolis, self.v, self.omega, strict=False
            )
        ]
        series[0] += row[4]
        return series

    def magnitude(self, row: Row) -> list[float]:
        """Sums of the absolute values that combine adds up: what its rounding is relative to."""
        parts = (self.centripetal, self.coriolis, self.v, self.omega)
        sums = [
            sum(abs(factor * term) for factor, term in zip(row[:4], terms, strict=True))
            for terms in zip(*parts, strict=False)
        ]
        sums[0] += abs(row[4])
        return sums


def motion_series(v: float, omega: float, heading: float, rows: tuple[Row, Row]) -> MotionSeries:
    """Expand v' = rows[0] . basis, omega' = rows[1] . basis and the pose about the given state.

    The products of series are Cauchy products; cos and sin of the heading follow from
    c' = -s omega, s' = c omega.

    Raises:
        FloatingPointError: the motion is too fast to be expanded.
    """
    (a0, a1, a2, a3, a4), (b0, b1, b2, b3, b4) = rows
    vs, ws, ww, vw = [v], [omega], [], []
    path, theta, x, y = [0.0], [0.0], [0.0], [0.0]
    cosine, sine = [math.cos(heading)], [math.sin(heading)]
    for k in range(ORDER):
        reverse_w = ws[::-1]
        ww.append(sum(map(mul, ws, reverse_w)))
        vw.append(sum(map(mul, vs, reverse_w)))
        n = 1.0 / (k + 1)
        one = 1.0 if k == 0 else 0.0
        rate_c = -sum(map(mul, sine, reverse_w))
        rate_s = sum(map(mul, cosine, reverse_w))
        reverse_v = vs[::-1]
        x.append(n * sum(map(mul, cosine, reverse_v)))
        y.append(n * sum(map(mul, sine, reverse_v)))
        path.append(n * vs[k])
        theta.append(n * ws[k])
        cosine.append(n * rate_c)
        sine.append(n * rate_s)
        rate_v = a0 * ww[k] + a1 * vw[k] + a2 * vs[k] + a3 * ws[k] + a4 * one
        rate_w = b0 * ww[k] + b1 * vw[k] + b2 * vs[k] + b3 * ws[k] + b4 * one
        vs.append(n * rate_v)
        ws.append(n * rate_w)
    span = min(_span(vs, ws), _span(cosine, sine))
    if not span > SHORTEST:
        raise FloatingPointError(
            f"v = {v:.3g} m/s, omega = {omega:.3g} rad/s: the motion is too fast to integrate; "
            "lower the torque"
        )
    return MotionSeries(vs, ws, ww, vw, path, theta, x, y, span)


def _span(first: list[float], second: list[float]) -> float:
    """Time over which the last two terms stay below TRUNCATION of the first two."""
    scale = max(abs(first[0]), abs(second[0]))
    slope = max(abs(first[1]), abs(second[1]))
    span = math.inf
    for k in (ORDER - 1, ORDER):
        last = max(abs(first[k]), abs(second[k]))
        if not math.isfinite(last):
            return 0.0
        if last > 0.0:
            # Ratios first: products of tiny speeds would underflow.
            from_start = (TRUNCATION * (scale / last)) ** (1.0 / k)
            from_slope = (TRUNCATION * (slope / last)) ** (1.0 / (k - 1))
            span = min(span, max(from_start, from_slope))
    return span


def evaluate(coefficients: Sequence[float], t: float) -> float:
    """Value at t (Horner)."""
    value = 0.0
    for coefficient in reversed(coefficients):
        value = value * t + coefficient
    return value


def shifted(coefficients: Sequence[float], offset: float) -> list[float]:
    """Coefficients of q(t) = p(t + offset) (repeated synthetic division)."""
    result = list(coefficients)
    for start in range(len(result) - 1):
        for k in range(len(result) - 2, start - 1, -1):
            result[k] += offset * result[k + 1]
    return result


def first_root(coefficients: Sequence[float], end: float, depth: int = 0) -> float | None:
    """Smallest t in [0, end] at which the polynomial reaches zero, or None.

    Safe: bounds on the value and the slope over the whole interval decide, not samples, so no pair
    of crossings is missed unless it is narrower than float resolution.
    """
    if coefficients[0] == 0.0:
        return 0.0
    powers = [1.0]
    for _ in coefficients[1:]:
        powers.append(powers[-1] * end)
    change = sum(abs(c) * p for c, p in zip(coefficients[1:], powers[1:], strict=True))
    if change < abs(coefficients[0]):
        return None
    bend = sum(k * abs(coefficients[k]) * powers[k - 1] for k in range(2, len(coefficients)))
    monotone = len(coefficients) > 1 and bend < abs(coefficients[1])
    if monotone or depth == DEEPEST:
        crosses = evaluate(coefficients, end) * coefficients[0] <= 0.0
        return _bisect(coefficients, end) if crosses else None
    half = 0.5 * end
    root = first_root(coefficients, half, depth + 1)
    if root is not None:
        return root
    root = first_root(shifted(coefficients, half), half, depth + 1)
    return None if root is None else half + root


def _bisect(coefficients: Sequence[float], end: float) -> float:
    """The root in [0, end] of a polynomial that changes its sign there once."""
    low, high = 0.0, end
    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            return high
        if evaluate(coefficients, middle) * coefficients[0] > 0.0:
            low = middle
        else:
            high = middle
