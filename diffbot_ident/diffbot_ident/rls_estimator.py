"""On-line estimator of K5..K8: two recursive least squares with two parameters each.

Lages (2017), section 2.2: "it is easier and more convenient to identify two models depending on
two parameters each one than to identify a single model depending on four parameters".
"""

from __future__ import annotations

import math

from arc_odometry import JointSample
from diffbot_ident.estimate import NAMES, Estimate, State
from diffbot_ident.regression import Regression
from diffbot_ident.rls import RecursiveLeastSquares
from diffbot_ident.sample_check import SampleCheck


class RlsEstimator:
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
        max_gap: float = 0.06,
        min_step: float = 1e-4,
    ) -> None:
        self._regression = regression
        self._initial_covariance = initial_covariance
        self._min_samples = min_samples
        self._max_relative_deviation = max_relative_deviation
        self._check = SampleCheck(max_gap, min_step)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._linear = RecursiveLeastSquares(2, self._initial_covariance)
        self._angular = RecursiveLeastSquares(2, self._initial_covariance)
        self._regression.reset()
        self._check.reset()

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
        try:
            self._check.values(sample)
        except ValueError:
            self._regression.reset()
            raise
        try:
            self._check.follows(sample)
        except ValueError:
            self._regression.reset()
            self._regression.push(sample)
            raise
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
        if state is State.INVALID:
            states = (State.INVALID,) * 4
        else:
            states = tuple(
                State.UNESTIMATED if math.isinf(variance) else State.ESTIMATED
                for variance in variances
            )
        return Estimate(
            values=values,
            covariance=self._covariance(),
            parameter_states=states,
            parameter_reasons=tuple("" if s is State.ESTIMATED else reason for s in states),
            state=state,
            reason=reason,
            samples=self._linear.samples,
            residual_std=(
                math.sqrt(self._linear.noise_variance),
                math.sqrt(self._angular.noise_variance),
            ),
        )

    def suspicion(self) -> str:
        """No idea; see Estimator.suspicion."""
        return ""

    def _covariance(self) -> tuple[tuple[float, ...], ...]:
        """Covariance of [K5, K6, K7, K8]; the two regressions count as independent."""
        rows = [[0.0] * 4 for _ in range(4)]
        for half, indices in ((self._linear, (0, 2)), (self._angular, (1, 3))):
            for i, row in zip(indices, half.covariance.tolist(), strict=True):
                for j, value in zip(indices, row, strict=True):
                    rows[i][j] = value
        return tuple(map(tuple, rows))

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
