# SPDX-License-Identifier: Apache-2.0
"""The paper's estimator: recursive least squares on the two halves of the robot's model.

Lages (2017), (41)-(59), with an acceleration and its torque matched in time; docs/theory/rls.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from arc_odometry.sample_check import SampleCheck
from diffbot_ident.estimate import MIN_SAMPLES, NAMES, Advice, Array, Estimate, EstimateState

Symmetric = tuple[float, float, float]


class RecursiveLeastSquares:
    """Estimates theta of y = phi' theta + noise, two parameters, from one row after another.

        K = P phi / (1 + phi' P phi)    theta <- theta + K (y - phi' theta)    P <- (I - K phi') P

    It uses plain floats: NumPy takes ten times as long for so few numbers.

        >>> rls = RecursiveLeastSquares()
        >>> for x in range(1, 101):
        ...     _ = rls.update((float(x), 1.0), 2.0 * x + 3.0)
        >>> rls.theta.round(3).tolist()
        [2.0, 3.0]

    Args:
        initial_covariance: c of P(-1) = c I, > 0, in (parameter unit / noise unit) squared.
        window: Rows over which the noise may be correlated, >= 1; 1 assumes white noise.
    """

    def __init__(self, initial_covariance: float = 1e6, window: int = 20) -> None:
        if not (math.isfinite(initial_covariance) and initial_covariance > 0.0):
            raise ValueError(f"initial_covariance = {initial_covariance}: must be finite and > 0")
        if window < 1:
            raise ValueError(f"window = {window}: must be 1 or more rows")
        self._initial_covariance = initial_covariance
        self._theta = (0.0, 0.0)
        # P and Omega are symmetric: entries 11, 12, 22.
        self._p: Symmetric = (initial_covariance, 0.0, initial_covariance)
        self._omega: Symmetric = (0.0, 0.0, 0.0)
        self.samples = 0
        self._residual_sum = 0.0
        self._window = window
        self._scores = deque([(0.0, 0.0)] * window, maxlen=window)
        self._score_sum = (0.0, 0.0)

    def update(self, phi: tuple[float, float], y: float) -> float:
        """Process a row of regressors and output; return the prediction error y - phi' theta.

        Raises:
            ValueError: The row is not finite or overflows; the estimate is unchanged.
        """
        (x, z), (a, b), (p11, p12, p22) = phi, self._theta, self._p
        error = y - (x * a + z * b)
        px, pz = p11 * x + p12 * z, p12 * x + p22 * z
        scale = 1.0 + (x * px + z * pz)
        left = error / scale  # what remains after this row; scale >= 1
        theta = (a + px * left, b + pz * left)
        p = (p11 - px * px / scale, p12 - px * pz / scale, p22 - pz * pz / scale)
        squared = error * left
        if not math.isfinite(sum(theta) + sum(p) + squared):
            raise ValueError(
                f"regressors {list(phi)} with output {y}: must be finite and of usual size"
            )
        self._theta, self._p = theta, p
        self._residual_sum += squared
        self._add_score(x * left, z * left)
        self.samples += 1
        return error

    def _add_score(self, x: float, z: float) -> None:
        (old_x, old_z), (sum_x, sum_z) = self._scores[0], self._score_sum
        self._scores.append((x, z))
        sum_x, sum_z = sum_x + (x - old_x), sum_z + (z - old_z)
        self._score_sum = sum_x, sum_z
        (o11, o12, o22), window = self._omega, self._window
        self._omega = (
            o11 + sum_x * sum_x / window,
            o12 + sum_x * sum_z / window,
            o22 + sum_z * sum_z / window,
        )

    @property
    def theta(self) -> Array:
        return np.array(self._theta)

    @property
    def p(self) -> Array:
        """P of (59), shape (2, 2)."""
        return _matrix(self._p)

    @property
    def noise_variance(self) -> float:
        """Variance of the noise, (unit of y)^2; infinite for 2 rows or fewer."""
        surplus = self.samples - len(self._theta)
        return self._residual_sum / surplus if surplus > 0 else math.inf

    @property
    def covariance(self) -> Array:
        """Covariance of theta, shape (2, 2), for noise that is correlated over the window."""
        surplus = self.samples - len(self._theta)
        if surplus <= 0:
            return np.full((2, 2), np.inf)
        covariance: Array = self.p @ _matrix(self._omega) @ self.p * (self.samples / surplus)
        return covariance

    @property
    def variances(self) -> Array:
        """Variances of theta, shape (2,); infinite until the rows reduce P to a hundredth."""
        fixed = np.diag(self.p) < 0.01 * self._initial_covariance
        return np.where(fixed, np.diag(self.covariance), np.inf)


def _matrix(symmetric: Symmetric) -> Array:
    p11, p12, p22 = symmetric
    return np.array([[p11, p12], [p12, p22]])


@dataclass(frozen=True)
class Row:
    """One row of each regression.

    Attributes:
        linear: phi_1 = [omega^2 in (rad/s)^2, tau_l + tau_r in N m], and dv/dt, m/s^2.
        angular: phi_2 = [v omega in m/s rad/s, tau_l - tau_r in N m], and domega/dt, rad/s^2.
        velocity: Body velocity (v, omega) at the end of the row, m/s and rad/s.
    """

    linear: tuple[tuple[float, float], float]
    angular: tuple[tuple[float, float], float]
    velocity: tuple[float, float]


class Regression(ABC):
    """Turns joint samples into rows; `velocity`: newest (v, omega), m/s and rad/s, or None."""

    def __init__(self, geometry: WheelGeometry) -> None:
        self._geometry = geometry
        self.reset()

    def reset(self) -> None:
        """Forget the samples so far, e.g. after a gap in time."""
        self._last: JointSample | None = None
        self._period = 0.0
        self.velocity: tuple[float, float] | None = None

    @abstractmethod
    def push(self, sample: JointSample) -> Row | None:
        """Process the next sample; return None while there are too few. Stamps must increase."""


class PositionRegression(Regression):
    """Velocities from differences of wheel angles; the driver's velocities are ignored.

    Between the middles of two periods each torque acted for half of its period:

        u_2 - u_1 = (dt_1 a_1 + dt_2 a_2) / 2,   a_i from the effort reported at the end of i.
    """

    def push(self, sample: JointSample) -> Row | None:
        last, before, period = self._last, self.velocity, self._period
        self._last = sample
        if last is None:
            return None
        self._period = sample.stamp - last.stamp
        left, right = (
            math.remainder(new - old, math.tau)
            for new, old in zip(sample.position, last.position, strict=True)
        )
        length, turn = self._geometry.body_velocity(left, right)
        self.velocity = (length / self._period, turn / self._period)
        if before is None:
            return None
        total = period + self._period
        left, right = (
            (period * old + self._period * new) / total
            for old, new in zip(last.effort, sample.effort, strict=True)
        )
        return _row(before, self.velocity, 0.5 * total, (left, right))


class VelocityRegression(Regression):
    """Velocities as reported by the driver at the stamp; a filter in the driver biases K7, K8."""

    def push(self, sample: JointSample) -> Row | None:
        last, before = self._last, self.velocity
        self._last = sample
        self.velocity = self._geometry.body_velocity(*sample.velocity)
        if last is None or before is None:
            return None
        return _row(before, self.velocity, sample.stamp - last.stamp, sample.effort)


def _row(
    before: tuple[float, float],
    after: tuple[float, float],
    span: float,
    torque: tuple[float, float],
) -> Row:
    """Return the row of body velocities `span` s apart, and the mean torque between them.

    Products take a factor from each: the noise of a square would raise its mean.
    """
    (v0, w0), (v1, w1) = before, after
    left, right = torque
    return Row(
        linear=((w0 * w1, left + right), (v1 - v0) / span),
        angular=((0.5 * (v0 * w1 + v1 * w0), left - right), (w1 - w0) / span),
        velocity=after,
    )


# Largest standard deviation of K7 and K8, relative to the value, that may be used.
MAX_RELATIVE_STD = 0.05


class RlsEstimator:
    """Estimates K5..K8 from joint samples, one control period after another.

    >>> RlsEstimator(PositionRegression(WheelGeometry(0.1, 0.1, 0.5))).estimate().explanation
    '0 of 100 samples; wait'
    """

    def __init__(self, regression: Regression) -> None:
        self._regression = regression
        self._check = SampleCheck()
        self._linear = RecursiveLeastSquares()
        self._angular = RecursiveLeastSquares()

    @property
    def velocity(self) -> tuple[float, float] | None:
        return self._regression.velocity

    def update(self, sample: JointSample) -> bool:
        """See Estimator.update; stamps must follow one another by 0.1 to 60 ms."""
        try:
            self._check.values(sample)
        except ValueError:
            self.interrupt()
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

    def interrupt(self) -> None:
        self._regression.reset()
        self._check.reset()

    def estimate(self) -> Estimate:
        values, covariance = np.zeros(4), np.zeros((4, 4))
        variances = np.zeros(4)
        # The two regressions are treated as independent.
        for half, own in ((self._linear, [0, 2]), (self._angular, [1, 3])):
            values[own], variances[own] = half.theta, half.variances
            covariance[np.ix_(own, own)] = half.covariance
        result = Estimate(
            samples=self._linear.samples,
            residual_std=(
                math.sqrt(self._linear.noise_variance),
                math.sqrt(self._angular.noise_variance),
            ),
        ).with_values(values, covariance)
        samples = self._linear.samples
        waits = samples < MIN_SAMPLES
        state, reason = (
            (EstimateState.UNESTIMATED, f"{samples} of {MIN_SAMPLES} samples")
            if waits
            else self._judge(values.tolist(), variances.tolist())
        )
        if state is EstimateState.INVALID:
            return result.as_a_whole(state, reason)
        states = tuple(
            EstimateState.UNESTIMATED if math.isinf(variance) else EstimateState.ESTIMATED
            for variance in variances
        )
        return replace(
            result,
            state=state,
            reason=reason,
            advice=Advice.WAIT if waits else Advice.NONE,
            parameter_states=states,
            parameter_reasons=tuple("" if s is EstimateState.ESTIMATED else reason for s in states),
        )

    def suspicion(self) -> str | None:
        return None

    def _judge(
        self, values: Sequence[float], variances: Sequence[float]
    ) -> tuple[EstimateState, str]:
        for name, variance in zip(NAMES, variances, strict=True):
            if math.isinf(variance):
                return EstimateState.UNESTIMATED, (
                    f"{name.upper()} is not identifiable from the motion so far; excite both "
                    "wheels independently, so that the robot also turns"
                )
        for name, value, variance, sign in (
            ("K7", values[2], variances[2], 1.0),
            ("K8", values[3], variances[3], -1.0),
        ):
            deviation = math.sqrt(variance)
            if sign * value + 2.0 * deviation <= 0.0:
                return EstimateState.INVALID, (
                    f"{name} = {value:.4g} has the wrong sign; check for a flipped torque sign "
                    "or swapped wheels"
                )
            if deviation > MAX_RELATIVE_STD * abs(value):
                return EstimateState.UNESTIMATED, (
                    f"{name} = {value:.4g} +- {2.0 * deviation:.2g} is not precise enough; "
                    "excite longer or harder"
                )
        return EstimateState.ESTIMATED, ""
