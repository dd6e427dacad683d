# SPDX-License-Identifier: Apache-2.0
"""Masses, inertias and friction derived from K5..K8, with 95 % intervals.

    M_e = 1 / (r K7)    I_e = -b / (r K8)    m_b d = K5 M_e = -K6 I_e

r, b and the wheels' parts are the description's, taken as exact; docs/theory/estimates.md#masses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffbot_description import RobotModel
from diffbot_ident.estimate import (
    FRICTION_NAMES,
    FRICTION_UNITS,
    GEAR_NAMES,
    NORMAL_95,
    TURNING_NAMES,
    TURNING_UNITS,
    Array,
    FrictionEstimate,
    TurningEstimate,
)

# Methods by which intervals are computed.
TRANSFORMED = "transformed end points"
DELTA = "linearised (delta method)"
FIELLER = "Fieller"
NONE = "not identifiable"

Interval = tuple[float, float]
EVERYTHING: Interval = (-math.inf, math.inf)


@dataclass(frozen=True)
class PhysicalQuantity:
    """A quantity that follows from the identified parameters.

        >>> normal("M_e", "kg", 20.0, 0.01, DELTA).interval
        (19.8040036, 20.1959964)

    Attributes:
        value: Estimate; NaN if there is none.
        std: Standard deviation to first order; infinite if not identifiable.
        interval: 95 % confidence interval [lo, hi]; an end is infinite where nothing bounds it.
        method: TRANSFORMED (exact for one monotonic parameter), DELTA, FIELLER (exact) or NONE.
    """

    symbol: str
    unit: str
    value: float
    std: float
    interval: Interval
    method: str


def normal(symbol: str, unit: str, value: float, variance: float, method: str) -> PhysicalQuantity:
    """Return a quantity with normal estimate: value ± 1.96 standard deviations."""
    if not (math.isfinite(value) and math.isfinite(variance)):
        return nothing(symbol, unit)
    std = math.sqrt(max(variance, 0.0))
    interval = (value - NORMAL_95 * std, value + NORMAL_95 * std)
    return PhysicalQuantity(symbol, unit, value, std, interval, method)


def nothing(symbol: str, unit: str) -> PhysicalQuantity:
    """Return a quantity that the data do not determine."""
    return PhysicalQuantity(symbol, unit, math.nan, math.inf, EVERYTHING, NONE)


def fieller(
    symbol: str, unit: str, pair: tuple[float, float], spread: tuple[float, float, float]
) -> PhysicalQuantity:
    """Return the ratio of a and c, `pair` (Fieller, 1954): all q with |a - q c| <= 1.96 std of it.

    `spread`: variance of a, variance of c, covariance.
    """
    a, c = map(np.float64, pair)
    square = NORMAL_95**2
    leading = c * c - square * spread[1]
    ratio = a / c
    variance = (spread[0] - 2.0 * ratio * spread[2] + ratio**2 * spread[1]) / c**2
    if not (np.isfinite(ratio) and np.isfinite(variance)):
        return nothing(symbol, unit)
    std = math.sqrt(max(variance, 0.0))
    if leading <= 0.0:
        return PhysicalQuantity(symbol, unit, float(ratio), std, EVERYTHING, FIELLER)
    middle = a * c - square * spread[2]
    root = math.sqrt(max(middle**2 - leading * (a * a - square * spread[0]), 0.0))
    interval = (float((middle - root) / leading), float((middle + root) / leading))
    return PhysicalQuantity(symbol, unit, float(ratio), std, interval, FIELLER)


# Relative deviation of a denominator up to which its ratio counts as linear.
MAX_LINEAR_STD = 0.10
# Complex step of derivatives, which loses no digits.
IMAGINARY_STEP = 1e-30

Function = Callable[[NDArray[Any]], complex]
"""Function of [K5, K6, K7, K8] as a complex array."""


def gradient_of(at: Array, function: Function) -> Array:
    """Return the gradient at n quantities, shape (n,), exact to rounding."""
    steps = at + 1j * IMAGINARY_STEP * np.eye(len(at))
    return np.array([complex(function(row)).imag / IMAGINARY_STEP for row in steps])


@dataclass(frozen=True)
class _Ratio:
    """First moment of mass: over K[numerator] / (under K[denominator])."""

    numerator: int
    denominator: int
    over: float
    under: float

    def __call__(self, k: NDArray[Any]) -> complex:
        return complex(self.over * k[self.numerator] / (self.under * k[self.denominator]))


class _Derivation:
    def __init__(
        self,
        values: ArrayLike,
        covariance: ArrayLike,
        identifiable: Sequence[bool],
        model: RobotModel,
    ) -> None:
        self._k = np.array(values, dtype=float)
        matrix = np.array(covariance, dtype=float).reshape(4, 4)
        signs = np.array([0.0, 0.0, 1.0, -1.0])
        with np.errstate(invalid="ignore"):
            self._known = (
                np.array(identifiable, dtype=bool)
                & np.isfinite(self._k)
                & np.isfinite(matrix).all(axis=1)
                & (np.diag(matrix) >= 0.0)
                & ((signs == 0.0) | (signs * self._k > 0.0))
            )
        self._covariance = np.where(np.outer(self._known, self._known), matrix, 0.0)
        self._std = np.sqrt(np.diag(self._covariance))
        self._radius, self._half_track = model.wheel_radius, model.half_track
        self._wheels_mass = model.equivalent_mass - model.mass_body
        own = model.inertia_body + model.mass_body * model.com_offset**2
        self._wheels_inertia = model.equivalent_inertia - own
        self._moment = self._moment_function()

    def quantities(self) -> dict[str, PhysicalQuantity]:
        mass = self._reciprocal("M_e", "kg", 2, 1.0 / self._radius)
        inertia = self._reciprocal("I_e", "kg m^2", 3, self._half_track / self._radius)
        return {
            "equivalent_mass": mass,
            "equivalent_inertia": inertia,
            "first_moment": self._first_moment(),
            "com_offset": self._com_offset(),
            "body_mass": PhysicalQuantity(
                "m_b", "kg", mass.value - self._wheels_mass, mass.std,
                (mass.interval[0] - self._wheels_mass, mass.interval[1] - self._wheels_mass),
                mass.method,
            ),
            "body_inertia": self._body_inertia(),
        }  # fmt: skip

    def _reciprocal(self, symbol: str, unit: str, index: int, factor: float) -> PhysicalQuantity:
        """Return factor / |K|, with the end points of K's interval transformed."""
        if not self._known[index]:
            return nothing(symbol, unit)
        size, spread = abs(float(self._k[index])), NORMAL_95 * float(self._std[index])
        value = factor / size
        high = factor / (size - spread) if size > spread else math.inf
        std = value * float(self._std[index]) / size
        return PhysicalQuantity(
            symbol, unit, value, std, (factor / (size + spread), high), TRANSFORMED
        )

    def _ratios(self) -> list[_Ratio]:
        """Return the formulas of m_b d that the data allow: K5 / (r K7) and b K6 / (r K8)."""
        ways = [
            _Ratio(0, 2, 1.0, self._radius),
            _Ratio(1, 3, self._half_track, self._radius),
        ]
        return [
            direction
            for direction in ways
            if self._known[direction.numerator] and self._known[direction.denominator]
        ]

    def _is_linear(self, index: int) -> bool:
        return bool(self._std[index] <= MAX_LINEAR_STD * abs(self._k[index]))

    def _moment_function(self) -> Function | None:
        """Return m_b d as a function of K5..K8, of minimum variance."""
        ways = [direction for direction in self._ratios() if self._is_linear(direction.denominator)]
        if not ways:
            return None
        if len(ways) == 1:
            return ways[0]
        first, second = ways
        gradients = np.array([gradient_of(self._k, first), gradient_of(self._k, second)])
        c = gradients @ self._covariance @ gradients.T
        spread = c[0, 0] + c[1, 1] - 2.0 * c[0, 1]
        weight = min(max((c[1, 1] - c[0, 1]) / spread, 0.0), 1.0) if spread > 0.0 else 0.5
        return lambda k: weight * first(k) + (1.0 - weight) * second(k)

    def _first_moment(self) -> PhysicalQuantity:
        if self._moment is not None:
            return self._delta("m_b d", "kg m", self._moment)
        for direction in self._ratios():
            n, d, c = direction.numerator, direction.denominator, self._covariance
            factor = direction.over / direction.under
            return fieller(
                "m_b d", "kg m",
                (factor * self._k[n], self._k[d]),
                (factor**2 * c[n, n], c[d, d], factor * c[n, d]),
            )  # fmt: skip
        return nothing("m_b d", "kg m")

    def _com_offset(self) -> PhysicalQuantity:
        """Return d = m_b d / (M_e - wheels) = K5 / (1 - wheels r K7)."""
        if not self._known[2]:
            return nothing("d", "m")
        fraction = self._wheels_mass * self._radius
        rest = 1.0 - fraction * self._k[2]
        moment = self._moment
        linear = self._is_linear(2) and fraction * self._std[2] <= MAX_LINEAR_STD * abs(rest)
        if moment is not None and linear:
            return self._delta("d", "m", lambda k: moment(k) / self._body_mass(k))
        if not self._known[0]:
            return nothing("d", "m")
        c = self._covariance
        return fieller(
            "d", "m", (self._k[0], rest), (c[0, 0], fraction**2 * c[2, 2], -fraction * c[0, 2])
        )

    def _body_mass(self, k: NDArray[Any]) -> complex:
        return complex(1.0 / (self._radius * k[2]) - self._wheels_mass)

    def _body_inertia(self) -> PhysicalQuantity:
        """Return I_b = I_e - wheels - (m_b d)^2 / m_b."""
        moment = self._moment
        linear = self._is_linear(2) and self._is_linear(3)
        if moment is None or not linear or not (self._known[2] and self._known[3]):
            return nothing("I_b", "kg m^2")
        factor = -self._half_track / self._radius
        # Of an uncertain x with deviation s, E(x^2 - m^2)^2 has 3 s^4 beside the linear term.
        root = np.float64(self._first_moment().std)
        ratio = root * root / np.float64(np.real(self._body_mass(self._k)))
        return self._delta(
            "I_b", "kg m^2",
            lambda k: factor / k[3]
            - self._wheels_inertia
            - moment(k) * moment(k) / self._body_mass(k),
            3.0 * ratio * ratio,
        )  # fmt: skip

    def _delta(
        self, symbol: str, unit: str, function: Function, more_variance: float = 0.0
    ) -> PhysicalQuantity:
        gradient = np.where(self._known, gradient_of(self._k, function), 0.0)
        variance = float(gradient @ self._covariance @ gradient) + more_variance
        return normal(symbol, unit, float(np.real(function(self._k))), variance, DELTA)


def physical_quantities(
    values: ArrayLike, covariance: ArrayLike, identifiable: Sequence[bool], model: RobotModel
) -> dict[str, PhysicalQuantity]:
    """Return what follows from K5..K8, by key.

    Keys: equivalent_mass, equivalent_inertia, first_moment (m_b d), com_offset (d), body_mass,
    body_inertia (about the body's own centre of mass).

        >>> from diffbot_description import closed_form, load_robot
        >>> model = load_robot("twil").model
        >>> found = physical_quantities(closed_form(model), np.zeros((4, 4)), (True,) * 4, model)
        >>> round(found["equivalent_mass"].value / model.equivalent_mass, 9)
        1.0

    Args:
        values: [K5 in m, K6 in 1/m, K7 in 1/(kg m), K8 in 1/(kg m^2)]; covariance: (4, 4).
        identifiable: Whether each value may be used, (4,).
        model: The robot's description; its wheels and track are used, never its body.
    """
    with np.errstate(all="ignore"):
        return _Derivation(values, covariance, identifiable, model).quantities()


def friction_quantities(friction: FrictionEstimate | None) -> dict[str, PhysicalQuantity]:
    """Return friction, by FRICTION_NAMES, and gear losses of the wheels; empty if None."""
    if friction is None:
        return {}
    symbols = ("c_l", "c_r", "f_l", "f_r")
    wheels = _by_name(FRICTION_NAMES, symbols, FRICTION_UNITS, friction.values, friction.variances)
    return wheels | gear_quantities(friction)


def gear_quantities(friction: FrictionEstimate) -> dict[str, PhysicalQuantity]:
    """Return the shares of torque that the gears lose, by GEAR_NAMES; empty: none was found."""
    loss, variances = friction.gear_loss, friction.gear_variances
    known = all(map(math.isfinite, variances))
    return _by_name(GEAR_NAMES, ("g_l", "g_r"), ("", ""), loss, variances) if known else {}


def turning_quantities(turning: TurningEstimate | None) -> dict[str, PhysicalQuantity]:
    """Return the floor's resistance against turning, by the names TURNING_NAMES; empty if None."""
    if turning is None:
        return {}
    symbols, variances = ("c_w", "f_w"), turning.variances
    return _by_name(TURNING_NAMES, symbols, TURNING_UNITS, turning.values, variances)


def _by_name(
    names: Sequence[str],
    symbols: Sequence[str],
    units: Sequence[str],
    values: Sequence[float],
    variances: Sequence[float],
) -> dict[str, PhysicalQuantity]:
    return {
        name: normal(symbol, unit, float(value), variance, TRANSFORMED)
        if math.isfinite(value) and 0.0 <= variance < math.inf
        else nothing(symbol, unit)
        for name, symbol, unit, value, variance in zip(
            names, symbols, units, values, variances, strict=True
        )
    }


def smallest_torque(friction: FrictionEstimate) -> PhysicalQuantity:
    """Return the equal torque of both wheels that moves the robot, (f_l + f_r) / (2 e), e exact.

    e is the gears' mean efficiency; the deviation is the largest over correlations.
    """
    coulomb, variances = friction.values[2:], friction.variances[2:]
    if not all(map(math.isfinite, (*coulomb, *variances))):
        return nothing("f", "N m")
    both = 2.0 - sum(friction.gear_loss)
    std = (math.sqrt(max(variances[0], 0.0)) + math.sqrt(max(variances[1], 0.0))) / both
    return normal("f", "N m", (coulomb[0] + coulomb[1]) / both, std**2, TRANSFORMED)
