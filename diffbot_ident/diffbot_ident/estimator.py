"""On-line estimator of K5..K8: two recursive least squares with two parameters each.

Lages (2017), section 2.2: "it is easier and more convenient to identify two models depending on
two parameters each one than to identify a single model depending on four parameters".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from arc_odometry import JointSample
from diffbot_ident.regression import Regression
from diffbot_ident.rls import RecursiveLeastSquares

NAMES = ("k5", "k6", "k7", "k8")
UNITS = ("m", "1/m", "1/(kg m)", "1/(kg m^2)")

# Beyond these a sample is garbage, whatever the robot: rad, rad/s, N m.
PLAUSIBLE = {"position": 1e9, "velocity": 1e4, "effort": 1e6}


class State(IntEnum):
    """Whether an estimate may be used; the numbers are those of DynamicParameters.msg."""

    UNESTIMATED = 0
    ESTIMATED = 1
    INVALID = 2


@dataclass(frozen=True)
class Estimate:
    """Values of K5..K8 with their confidence.

    Attributes:
        values: [K5 in m, K6 in 1/m, K7 in 1/(kg m), K8 in 1/(kg m^2)].
        variances: of the values, in their units squared; infinite where not fixed by the data.
        state: whether the values may be used.
        reason: why the state is not ESTIMATED and what to do; empty when it is.
        samples: rows that the estimate rests on.
        residual_std: standard deviations of the prediction errors, [m/s^2, rad/s^2].
    """

    values: tuple[float, float, float, float]
    variances: tuple[float, float, float, float]
    state: State
    reason: str
    samples: int
    residual_std: tuple[float, float]


class DynamicsEstimator:
    """Estimates K5..K8 from joint samples, one control period after another.

    Args:
        regression: turns joint samples into regression rows.
        initial_covariance: c of P(-1) = c I.
        min_samples: rows below which nothing is called estimated.
        max_relative_deviation: largest standard deviation of K7 and K8, relative to the value,
            with which the estimate is called estimated.
        max_gap: longest period between samples that may be bridged, s.
        min_step: shortest period between samples that can be told from a doubled one, s.
    """

    def __init__(
        self,
        regression: Regression,
        initial_covariance: float = 1e6,
        min_samples: int = 100,
        max_relative_deviation: float = 0.05,
        max_gap: float = 0.05,
        min_step: float = 1e-4,
    ) -> None:
        self._regression = regression
        self._initial_covariance = initial_covariance
        self._min_samples = min_samples
        self._max_relative_deviation = max_relative_deviation
        self._max_gap = max_gap
        self._min_step = min_step
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._linear = RecursiveLeastSquares(2, self._initial_covariance)
        self._angular = RecursiveLeastSquares(2, self._initial_covariance)
        self._regression.reset()
        self._stamp: float | None = None

    @property
    def velocity(self) -> tuple[float, float] | None:
        """Newest body velocity (v in m/s, omega in rad/s); None before there is one."""
        return self._regression.velocity

    def update(self, sample: JointSample) -> bool:
        """Take in one joint sample; returns whether it gave a row.

        Raises:
            ValueError: the sample is not finite or absurdly large, or its stamp does not follow
                the last one by [min_step, max_gap]. The estimate is unchanged and goes on from
                the next good sample.
        """
        for field, largest in PLAUSIBLE.items():
            pair = getattr(sample, field)
            if not all(abs(value) <= largest for value in pair):
                self._regression.reset()
                raise ValueError(
                    f"{field} = {list(pair)} of [left, right]: must be finite and at most "
                    f"{largest:g} in size; check the robot's driver"
                )
        last, self._stamp = self._stamp, sample.stamp
        if last is not None and not self._min_step <= sample.stamp - last <= self._max_gap:
            self._regression.reset()
            self._regression.push(sample)
            raise ValueError(
                f"time step = {sample.stamp - last:.6g} s: must be {self._min_step} to "
                f"{self._max_gap} s; check the rate and the clock of the joint states"
            )
        row = self._regression.push(sample)
        if row is None:
            return False
        self._linear.update(*row.linear)
        self._angular.update(*row.angular)
        return True

    def estimate(self) -> Estimate:
        """The estimate as it stands."""
        k5, k7 = map(float, self._linear.theta)
        k6, k8 = map(float, self._angular.theta)
        var5, var7 = map(float, self._linear.variances)
        var6, var8 = map(float, self._angular.variances)
        values, variances = (k5, k6, k7, k8), (var5, var6, var7, var8)
        state, reason = self._judge(values, variances)
        return Estimate(
            values,
            variances,
            state,
            reason,
            self._linear.samples,
            (math.sqrt(self._linear.noise_variance), math.sqrt(self._angular.noise_variance)),
        )

    def _judge(self, values: tuple[float, ...], variances: tuple[float, ...]) -> tuple[State, str]:
        samples = self._linear.samples
        if samples < self._min_samples:
            return State.UNESTIMATED, f"{samples} of {self._min_samples} samples; wait"
        for name, variance in zip(NAMES, variances, strict=True):
            if math.isinf(variance):
                return State.UNESTIMATED, (
                    f"{name.upper()} is not fixed by the motion so far; excite both wheels "
                    "independently, so that the robot also turns"
                )
        for name, value, variance, sign in (
            ("K7", values[2], variances[2], 1.0),
            ("K8", values[3], variances[3], -1.0),
        ):
            deviation = math.sqrt(variance)
            if sign * value + 2.0 * deviation <= 0.0:
                return State.INVALID, (
                    f"{name} = {value:.4g} has the wrong sign; check for a flipped torque sign "
                    "or swapped wheels"
                )
            if deviation > self._max_relative_deviation * abs(value):
                return State.UNESTIMATED, (
                    f"{name} = {value:.4g} +- {2.0 * deviation:.2g} is not precise enough; "
                    "excite longer or harder"
                )
        return State.ESTIMATED, ""
