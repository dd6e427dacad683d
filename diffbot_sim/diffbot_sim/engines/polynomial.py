"""Real polynomials in ascending order of powers, as lists of floats."""

from __future__ import annotations

from collections.abc import Sequence

# Halving an interval this often reaches the spacing of floats.
DEEPEST = 50


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
