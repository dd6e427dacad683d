# SPDX-License-Identifier: Apache-2.0
"""Taylor series of planar motion and safe roots of polynomials, to float accuracy.

A polynomial is a list of coefficients, ascending. Quantities of the motion, v' and omega' among
them, are rows in the basis [omega^2, v omega, v, omega, 1, values of `StateFunction`s].
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, repeat
from operator import mul
from typing import Protocol

Row = Sequence[float]

FIRST, ORDER = 6, 18  # lowest and highest order of a series
TRUNCATION = 1e-17  # largest last term of a series relative to the motion
SHORTEST = 1e-9  # time for which the series of a motion must be valid, s
MOST_PIECES = 1000  # of motion within one step; no real robot needs more
DEEPEST = 50  # bisections of an interval down to the spacing of floats


@dataclass(frozen=True)
class MotionSeries:
    """Taylor coefficients in time, ascending, of one smooth piece of motion.

    v (m/s), omega (rad/s), omega^2, v omega; path (m), theta (rad), x and y (m) relative to the
    start; `others`: values of the functions. They are valid for `span`, s.
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
    others: list[list[float]] = field(default_factory=list)

    def combine(self, row: Row) -> list[float]:
        """Return the series of a quantity."""
        series = [
            row[0] * ww + row[1] * vw + row[2] * v + row[3] * w
            for ww, vw, v, w in zip(
                self.centripetal, self.coriolis, self.v, self.omega, strict=False
            )
        ]
        series[0] += row[4]
        for factor, other in zip(row[5:], self.others, strict=False):
            if factor == 0.0:
                continue
            series = [a + factor * b for a, b in zip(series, other, strict=False)]
        return series

    def changes(self, time: float) -> tuple[float, float]:
        """Return bounds on the changes of v (m/s) and omega (rad/s) up to a time, s."""
        powers = list(accumulate(repeat(time, len(self.v) - 1), mul))  # from the first on
        return (
            sum(map(mul, map(abs, self.v[1:]), powers)),
            sum(map(mul, map(abs, self.omega[1:]), powers)),
        )

    def magnitude(self, row: Row) -> Iterator[float]:
        """Yield sums of absolute values of what `combine` adds, which scale its rounding error."""
        parts = (self.centripetal, self.coriolis, self.v, self.omega)
        others = [
            (factor, other)
            for factor, other in zip(row[5:], self.others, strict=False)
            if factor != 0.0
        ]
        for k, terms in enumerate(zip(*parts, strict=False)):
            size = sum(abs(factor * term) for factor, term in zip(row[:4], terms, strict=True))
            if k == 0:
                size += abs(row[4])
            for factor, other in others:
                size += abs(factor * other[k])
            yield size


class StateFunction(Protocol):
    """Functions of v and omega outside of the basis, of size <= 1, and their series.

    `terms`: coefficients of each value in time, from the last `begin` on.
    """

    terms: list[list[float]]

    def values(self, v: float, omega: float) -> Sequence[float]:
        """Return the values at a state, m/s and rad/s."""

    def validity(self, v: float, omega: float) -> list[Row]:
        """Return rows, linear in v and omega, that are > 0 while series about a state are valid."""

    def begin(self) -> None:
        """Begin new series, without any term."""

    def extend(self, vs: list[float], ws: list[float]) -> None:
        """Append the next term of each value; vs and ws (v and omega) already have that term."""


# For |x| > FAR exp(-x^2) is set to 0; a piece that begins there ends at |x| = NEAR.
FAR, NEAR = 6.5, 6.2
# Largest change of x in a piece: the first omitted term is below 1e-16.
REACH = 0.3


class Stribeck:
    """exp(-x^2), x = per_v v + per_omega omega: a wheel's speed per Stribeck velocity.

    For e = exp(g), g = -x^2: e' = g' e, so that k e_k is the sum of j g_j e_(k-j).
    """

    def __init__(self, per_v: float, per_omega: float) -> None:
        self._per_v, self._per_omega = per_v, per_omega
        self.begin()

    def values(self, v: float, omega: float) -> Sequence[float]:
        x = self._per_v * v + self._per_omega * omega
        return [math.exp(-x * x)]

    def validity(self, v: float, omega: float) -> list[Row]:
        x = self._per_v * v + self._per_omega * omega
        if abs(x) > FAR:
            sign = math.copysign(1.0, x)
            return [[0.0, 0.0, sign * self._per_v, sign * self._per_omega, -NEAR]]
        return [
            [0.0, 0.0, sign * self._per_v, sign * self._per_omega, REACH - sign * x]
            for sign in (1.0, -1.0)
        ]

    def begin(self) -> None:
        self._x: list[float] = []
        self._slope: list[float] = []  # j g_j
        self.terms: list[list[float]] = [[]]

    def extend(self, vs: list[float], ws: list[float]) -> None:
        (terms,) = self.terms
        k = len(terms)
        self._x.append(self._per_v * vs[k] + self._per_omega * ws[k])
        if abs(self._x[0]) > FAR:
            terms.append(0.0)
            return
        power = -sum(map(mul, self._x, self._x[::-1]))
        if k == 0:
            terms.append(math.exp(power))
        else:
            self._slope.append(k * power)
            terms.append(sum(map(mul, self._slope, terms[::-1])) / k)


class Slip:
    """Direction (forward, left) of the velocity of a ground point x ahead, y left (m), 0 at rest.

    The series are those of a p and b p, p = s^(-1/2), s = a^2 + b^2; s p' = -s' p / 2.
    """

    def __init__(self, x: float, y: float) -> None:
        self._x, self._y = x, y
        self.begin()

    def values(self, v: float, omega: float) -> Sequence[float]:
        forward, left = v - self._y * omega, self._x * omega
        speed = math.hypot(forward, left)
        return [forward / speed, left / speed] if speed > 0.0 else [0.0, 0.0]

    def validity(self, v: float, omega: float) -> list[Row]:
        """See StateFunction.validity: until the direction has turned by 90 degrees."""
        forward, left = self.values(v, omega)
        if forward == left == 0.0:
            return []
        return [[0.0, 0.0, forward, left * self._x - forward * self._y, 0.0]]

    def begin(self) -> None:
        self._forward: list[float] = []
        self._left: list[float] = []
        self._square: list[float] = []
        self._inverse: list[float] = []
        self._scale = 1.0
        self.terms: list[list[float]] = [[], []]

    def extend(self, vs: list[float], ws: list[float]) -> None:
        k = len(self._square)
        if k == 0:
            # Relative to the first: squares of speeds would underflow.
            speed = math.hypot(vs[0] - self._y * ws[0], self._x * ws[0])
            self._scale = 1.0 / speed if speed > 0.0 else 0.0
        self._forward.append(self._scale * (vs[k] - self._y * ws[k]))
        self._left.append(self._scale * self._x * ws[k])
        self._square.append(
            sum(map(mul, self._forward, self._forward[::-1]))
            + sum(map(mul, self._left, self._left[::-1]))
        )
        if k == 0:
            self._inverse.append(1.0)
        else:
            total = sum(
                (0.5 * j - k) * self._square[j] * self._inverse[k - j] for j in range(1, k + 1)
            )
            self._inverse.append(total / (k * (self._square[0] or 1.0)))
        for parts, terms in zip((self._forward, self._left), self.terms, strict=True):
            terms.append(sum(map(mul, parts, self._inverse[::-1])))


def motion_series(
    v: float,
    omega: float,
    heading: float,
    rows: tuple[Row, Row],
    horizon: float,
    functions: Sequence[StateFunction] = (),
) -> MotionSeries:
    """Expand v' = rows[0] . basis, omega' = rows[1] . basis and the pose about a state.

    cos and sin of the heading follow from c' = -s omega, s' = c omega. The order is the lowest that
    makes all series valid up to the horizon, s, or ORDER, and their `span` less.

    Raises:
        FloatingPointError: The motion is too fast to be expanded.
    """
    (a0, a1, a2, a3, a4, *a_other), (b0, b1, b2, b3, b4, *b_other) = rows
    for function in functions:
        function.begin()
    others = [terms for function in functions for terms in function.terms]
    vs, ws, ww, vw = [v], [omega], [], []
    path, theta, x, y = [0.0], [0.0], [0.0], [0.0]
    cosine, sine = [math.cos(heading)], [math.sin(heading)]
    newest_v, newest_w, one = v, omega, 1.0
    last, power = math.inf, 1.0
    for k in range(ORDER):
        reverse_v, reverse_w = vs[::-1], ws[::-1]
        square = sum(map(mul, ws, reverse_w))
        product = sum(map(mul, vs, reverse_w))
        rate_c = -sum(map(mul, sine, reverse_w))
        rate_s = sum(map(mul, cosine, reverse_w))
        n = 1.0 / (k + 1)
        x.append(n * sum(map(mul, cosine, reverse_v)))
        y.append(n * sum(map(mul, sine, reverse_v)))
        cosine.append(n * rate_c)
        sine.append(n * rate_s)
        ww.append(square)
        vw.append(product)
        path.append(n * newest_v)
        theta.append(n * newest_w)
        rate_v = a0 * square + a1 * product + a2 * newest_v + a3 * newest_w + a4 * one
        rate_w = b0 * square + b1 * product + b2 * newest_v + b3 * newest_w + b4 * one
        if functions:
            for function in functions:
                function.extend(vs, ws)
            for a, b, terms in zip(a_other, b_other, others, strict=True):
                rate_v += a * terms[k]
                rate_w += b * terms[k]
        newest_v, newest_w, one = n * rate_v, n * rate_w, 0.0
        vs.append(newest_v)
        ws.append(newest_w)
        power *= horizon
        before, last = last, max(abs(newest_v), abs(newest_w)) * power
        if k == 0:
            least = TRUNCATION * max(abs(v), abs(omega), last)
        elif (
            k + 1 >= FIRST
            and max(before, last) <= least
            and _span(cosine, sine) >= horizon
            and all(_has_converged(terms, horizon) for terms in others)
        ):
            return MotionSeries(vs, ws, ww, vw, path, theta, x, y, horizon, others)
    span = min(_span(vs, ws), _span(cosine, sine))
    if not span > SHORTEST:
        raise FloatingPointError(
            f"v = {v:.3g} m/s, omega = {omega:.3g} rad/s: the motion is too fast to integrate; "
            "lower the torque"
        )
    return MotionSeries(vs, ws, ww, vw, path, theta, x, y, span, others)


def _has_converged(terms: list[float], horizon: float) -> bool:
    last = len(terms) - 1
    power = horizon ** (last - 1)
    return max(abs(terms[-2]), abs(terms[-1]) * horizon) * power <= TRUNCATION


def _span(first: list[float], second: list[float]) -> float:
    """Return the time for which the last two terms stay below TRUNCATION of the first two."""
    scale = max(abs(first[0]), abs(second[0]))
    slope = max(abs(first[1]), abs(second[1]))
    span = math.inf
    order = len(first) - 1
    for k in (order - 1, order):
        last = max(abs(first[k]), abs(second[k]))
        if not math.isfinite(last):
            return 0.0
        if last > 0.0:
            # Divide first: products of tiny speeds would underflow.
            from_start = (TRUNCATION * (scale / last)) ** (1.0 / k)
            from_slope = (TRUNCATION * (slope / last)) ** (1.0 / (k - 1))
            span = min(span, max(from_start, from_slope))
    return span


def evaluate(coefficients: Sequence[float], t: float) -> float:
    """Return the value at t (Horner)."""
    value = 0.0
    for coefficient in reversed(coefficients):
        value = value * t + coefficient
    return value


def shifted(coefficients: Sequence[float], offset: float) -> list[float]:
    """Return the coefficients of q(t) = p(t + offset) (repeated synthetic division)."""
    result = list(coefficients)
    for start in range(len(result) - 1):
        for k in range(len(result) - 2, start - 1, -1):
            result[k] += offset * result[k + 1]
    return result


def first_root(coefficients: Sequence[float], end: float, depth: int = 0) -> float | None:
    """Return the smallest t in [0, end] at which the polynomial reaches zero, or None.

    Bounds on value and slope over the whole interval, not samples, make the search safe.
    """
    if coefficients[0] == 0.0:
        return 0.0
    sizes = list(map(abs, coefficients))
    powers = list(accumulate(repeat(end, len(sizes) - 1), mul))  # from the first on
    change = sum(map(mul, sizes[1:], powers))
    if change < sizes[0]:
        return None
    bend = sum(map(mul, map(mul, range(2, len(sizes)), sizes[2:]), powers))
    monotone = len(sizes) > 1 and bend < sizes[1]
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
    low, high = 0.0, end
    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            return high
        if evaluate(coefficients, middle) * coefficients[0] > 0.0:
            low = middle
        else:
            high = middle
