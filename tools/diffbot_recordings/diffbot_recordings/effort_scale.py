# SPDX-License-Identifier: Apache-2.0
"""Torque k of a unit of effort from a weighed mass or a load, and K5..K8 in N m.

    k = K7' r M_e,    k = r m_L / (1 / K7'_loaded - 1 / K7'),    M_e = m + 2 J / r^2

See docs/theory/recordings.md#effort-scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_ident.estimate import NORMAL_95, Estimate, EstimateState, FrictionEstimate
from diffbot_ident.interpretation.physical import MAX_LINEAR_STD, Function, gradient_of
from diffbot_recordings.options import UNIT_NAMES, Weighing
from diffbot_recordings.samples import Array, RecordingError
from diffbot_recordings.torque_analysis import TorqueResult
from diffbot_recordings.verdict import Value

# Standard deviations from which two values or places contradict each other.
CONTRADICTS = 3.0
# Smallest reported difference between places of a load, m.
PLACE_RESOLUTION = 0.02


@dataclass(frozen=True)
class EffortScale:
    """The torque k of a unit of effort, mean of both wheels, with notes on it.

    Attributes:
        effective_mass: M_e, kg.
        unit: One of UNIT_NAMES.
        ratio: Ratio of the wheels' constants to k, [left, right].
    """

    constant: Value
    effective_mass: Value
    unit: str
    ratio: tuple[float, float]
    notes: tuple[str, ...]

    @property
    def constants(self) -> tuple[float, float]:
        """Torque of a unit of effort, N m, [left, right]."""
        left, right = self.ratio
        return left * self.constant.value, right * self.constant.value

    def summary(self) -> dict[str, Any]:
        return {
            "torque_constant": {
                **self.constant.to_dict(),
                "left_right": list(self.constants),
                "effort_unit": self.unit,
                "effective_mass": self.effective_mass.to_dict(),
            }
        }


def in_newton_metres(
    result: TorqueResult, loaded: Estimate | None, weighing: Weighing
) -> tuple[TorqueResult, EffortScale]:
    """Return the result with torques in N m, and the scale.

    Args:
        result: Result with efforts in their unit, from the recording without the load.
        loaded: Estimate from the recording with the load, if any.

    Raises:
        RecordingError: K7 was not identified, or mass, load and recordings do not go together.
    """
    _check_identified(result.estimate, "")
    if loaded is not None:
        _check_identified(loaded, "of the recording with the load, the second one, ")
    scale = _Scale(result.estimate, loaded, result.geometry, weighing)
    return _scaled(result, scale), scale.result()


def _check_identified(estimate: Estimate, which: str) -> None:
    state, reason = estimate.parameter_states[2], estimate.parameter_reasons[2]
    if reason in ("", estimate.reason):
        reason = estimate.explanation
    if state is not EstimateState.ESTIMATED or not estimate.values[2] > 0.0:
        raise RecordingError(
            f"the torque of a unit of effort is not identifiable: K7 {which}is not identified: "
            f"{reason or 'efforts push backward'}"
        )


# Indices of K5, K6, K7', K8' without load, K5 and K7' with it; mass, load, radius over nominal.
K7, K8, K5_LOADED, K7_LOADED, MASS, LOAD, RADIUS, COUNT = 2, 3, 4, 5, 6, 7, 8, 9


class _Scale:
    def __init__(
        self,
        estimate: Estimate,
        loaded: Estimate | None,
        geometry: WheelGeometry,
        weighing: Weighing,
    ) -> None:
        self._weighing = weighing
        self._radius = geometry.right_radius
        self._spin = 2.0 * weighing.wheel_inertia / self._radius**2
        self.at = np.zeros(COUNT)
        self.covariance = np.zeros((COUNT, COUNT))
        self._put(slice(0, 4), np.array(estimate.values), np.array(estimate.covariance))
        if loaded is not None:
            some = np.ix_([0, 2], [0, 2])
            values, covariance = np.array(loaded.values), np.array(loaded.covariance)
            self._put(slice(4, 6), values[[0, 2]], covariance[some])
        for i, value in ((MASS, weighing.mass), (LOAD, weighing.load)):
            if value is not None:
                self.at[i], self.covariance[i, i] = value.value, value.std**2
        self.at[RADIUS], self.covariance[RADIUS, RADIUS] = 1.0, weighing.radius_std**2
        self._fraction = self._fraction_of_mass()

    def _put(self, where: slice, values: Array, covariance: Array) -> None:
        """Set values; unidentified ones count as exact, since nothing depends on them."""
        known = np.isfinite(covariance).all(axis=1)
        self.at[where] = values
        self.covariance[where, where] = np.where(np.outer(known, known), covariance, 0.0)

    def by_mass(self, x: NDArray[Any]) -> complex:
        return complex(x[K7] * self._radius * x[RADIUS] ** 2 * (x[MASS] + self._spin))

    def by_load(self, x: NDArray[Any]) -> complex:
        change = 1.0 / x[K7_LOADED] - 1.0 / x[K7]
        return complex(self._radius * x[RADIUS] ** 2 * x[LOAD] / change)

    def constant(self, x: NDArray[Any]) -> complex:
        fraction = self._fraction
        if fraction == 1.0:
            return self.by_mass(x)
        if fraction == 0.0:
            return self.by_load(x)
        return fraction * self.by_mass(x) + (1.0 - fraction) * self.by_load(x)

    def effective_mass(self, x: NDArray[Any]) -> complex:
        return complex(self.constant(x) / (self._radius * x[RADIUS] ** 2 * x[K7]))

    def gradient(self, function: Function) -> Array:
        return gradient_of(self.at, function)

    def value(self, name: str, unit: str, function: Function) -> Value:
        gradient = self.gradient(function)
        variance = float(gradient @ self.covariance @ gradient)
        return Value(name, complex(function(self.at)).real, math.sqrt(max(variance, 0.0)), unit)

    def _fraction_of_mass(self) -> float:
        if self._weighing.load is None:
            return 1.0
        self._check_change()
        if self._weighing.mass is None:
            return 0.0
        unit = UNIT_NAMES[self._weighing.unit]
        mass = self.value("mass", unit, self.by_mass)
        load = self.value("load", unit, self.by_load)
        apart = self.value("difference", unit, lambda x: self.by_mass(x) - self.by_load(x))
        if abs(apart.value) > CONTRADICTS * apart.std:
            raise RecordingError(
                "--mass and --load contradict each other: by the mass one unit of effort is "
                f"{_text(mass)}, by the load {_text(load)}: weigh both again, and check "
                "--wheel-inertia (the load does not need it)"
            )
        # Their covariance follows from the variance of their difference.
        common = 0.5 * (mass.std**2 + load.std**2 - apart.std**2)
        fraction = (load.std**2 - common) / apart.std**2 if apart.std > 0.0 else 1.0
        return min(max(fraction, 0.0), 1.0)

    def _check_change(self) -> None:
        change = self.value("change", "1", lambda x: complex(x[K7] / x[K7_LOADED] - 1.0))
        fraction, half = 100.0 * change.value, 100.0 * NORMAL_95 * change.std
        if change.value + CONTRADICTS * change.std < 0.0:
            raise RecordingError(
                f"--load: with the load, the second recording, the robot accelerates "
                f"{-fraction:.2g} % more, not less: give the recording without the load first"
            )
        if not change.std < MAX_LINEAR_STD * change.value:
            raise RecordingError(
                f"--load: the load changes the acceleration by {fraction:.2g} ± {half:.2g} %: too "
                "little to identify the torque of a unit of effort; use a heavier load, or "
                "record longer"
            )

    def result(self) -> EffortScale:
        own = self._weighing
        constant = self.value("torque constant", UNIT_NAMES[own.unit], self.constant)
        mass = self.value("effective mass", "kg", self.effective_mass)
        notes = [
            f"one unit of effort ({own.unit}) is {_text(constant)} of each wheel"
            f"{' in the mean' if own.ratio != (1.0, 1.0) else ''}, {self._basis()}"
        ]
        if own.mass is not None:
            notes.append(
                f"effective mass {_text(mass)}, {self._spin:.3g} kg of it from the spin of two "
                f"wheels of {own.wheel_inertia:.3g} kg m^2 (with rotors and gears), which counts "
                "as exact"
            )
        else:
            notes.append(
                f"effective mass {_text(mass)}: the robot without the load, including the "
                "wheels' spin"
            )
        radius = f"its {100.0 * own.radius_std:.2g} % count" if own.radius_std else "it is exact"
        notes.append(
            f"assumed: {self._wheels()}, no slip, the radius {self._radius:g} m "
            f"({radius}: 1 % of it is 2 % of the constant)"
        )
        notes += self._place()
        left, right = (ratio * constant.value for ratio in own.ratio)
        unit = "percent" if own.unit == "unknown" else own.unit
        notes.append(
            f"for the robot's file:  drive: {{effort_unit: {unit}, torque_constant: "
            f"[{left:.5g}, {right:.5g}]}}"
        )
        return EffortScale(constant, mass, own.unit, own.ratio, tuple(notes))

    def _wheels(self) -> str:
        own = self._weighing
        if own.ratio_std > 0.0:
            left, right = own.ratio
            half = NORMAL_95 * own.ratio_std * 2.0 / left**2
            return (
                f"equal radii: by the motion the right wheel's constant is {right / left:.4g} ± "
                f"{half:.1g} times the left one's"
            )
        equal = "equal" if own.ratio == (1.0, 1.0) else "in the ratio of the robot's file"
        return f"both wheels' constants are {equal}"

    def _basis(self) -> str:
        own = self._weighing
        ways = [
            f"{text} {_text(value)}"
            for text, value in (("the weighed mass", own.mass), ("the load", own.load))
            if value is not None
        ]
        return "by " + " and ".join(ways)

    def _place(self) -> list[str]:
        """Warn if the load lies elsewhere: m_L (x - K5_loaded) = M_e (K5_loaded - K5)."""
        own, known = self._weighing, np.diag(self.covariance)
        if own.load is None or own.place is None or 0.0 in (known[0], known[4]):
            return []

        def place(x: NDArray[Any]) -> complex:
            gained = x[K5_LOADED] - x[0]
            return complex(x[K5_LOADED] + self.effective_mass(x) * gained / x[LOAD])

        result = self.value("place", "m", place)
        away = abs(result.value - own.place)
        if away <= max(CONTRADICTS * result.std, PLACE_RESOLUTION):
            return []
        return [
            f"warning: by K5 the load lay {_text(result)} ahead of the axle, but --load-at is "
            f"{own.place:g} m: check that it is this load and that nothing else moved"
        ]


def _text(value: Value) -> str:
    _, number, spread, unit = value.row()
    return f"{number} {spread} {unit}"


def _scaled(result: TorqueResult, scale: _Scale) -> TorqueResult:
    estimate = result.estimate
    k = complex(scale.constant(scale.at)).real

    def of(i: int) -> Function:
        return lambda x: complex(x[i] / scale.constant(x) if i in (K7, K8) else x[i])

    gradients = np.array([scale.gradient(of(i)) for i in range(4)])
    covariance = gradients @ scale.covariance @ gradients.T
    unknown = ~np.isfinite(np.array(estimate.covariance)).all(axis=1)
    covariance[unknown, unknown] = math.inf
    values = np.array(estimate.values) / [1.0, 1.0, k, k]
    outcome = estimate.with_values(values, covariance)
    if estimate.friction is not None:
        gradient = scale.gradient(scale.constant)
        fraction = float(gradient @ scale.covariance @ gradient) / k**2
        outcome = replace(outcome, friction=_friction(estimate.friction, k, fraction))
    motion = result.held_out_motion.copy()
    motion[:, 3:5] *= k
    return replace(result, estimate=outcome, held_out_motion=motion, runs={})


def _friction(friction: FrictionEstimate, k: float, fraction: float) -> FrictionEstimate:
    """Return friction in N m; `fraction` is the constant's relative variance, independent of it."""
    vl, vr, cl, cr = friction.values
    values = (k * vl, k * vr, k * cl, k * cr)
    a, b, c, d = (
        k**2 * (variance + fraction * value**2)
        for value, variance in zip(friction.values, friction.variances, strict=True)
    )
    return replace(friction, values=values, variances=(a, b, c, d), covariance=None)
