# SPDX-License-Identifier: Apache-2.0
"""Extended Kalman filter on the wheels' angles that estimates K5..K8 and the friction online.

An integral estimator runs in parallel. The filter starts from its values, since a linearised filter
must start near the true values, and uses its delay, coverage and wiring check. Readings that do not
fit the motion are skipped; after several in a row the filter restarts.

State, 12 numbers: wheel angles [left, right] beyond the last reading (rad), v (m/s), omega
(rad/s), K5..K8, viscous friction [left, right] (N m s/rad), Coulomb friction [left, right] (N m).
The last eight, theta, are constant. With W the map from u = [v, omega] to the wheels' speeds w =
W u, Lages (2017), (41), with friction is

    du/dt = a(u, theta) = [K5 omega^2, K6 v omega]' + M T,   M = [[K7, K7], [K8, -K8]]
    T = tau - c w - f s,   s the mean sign of a wheel's speed over the period

One step of length h uses the midpoint rule for u. The path and turn p over it are exact if du/dt
changes linearly:

    a_0 = a(u, theta),  a_m = a(u + h a_0 / 2, theta)
    u'  = u + h a_m,    p = h u + h^2 (a_0 + 2 a_m) / 6,   angles' = angles + W p

Hence, with A = da/du and B = da/dtheta at the start (0) and in the middle (m),

    da_m/du = A_m (I + h A_0 / 2),   da_m/dtheta = B_m + h A_m B_0 / 2

A torque n that acts without being reported moves u by h M n and the angles by h^2 W M n / 2. The
filter predicts over a period and corrects with the wheels' angles:

    x' = f(x, tau) + G n,   z = angles + q,   n ~ N(0, s^2 tau^2),   q ~ N(0, resolution^2 / 12)

    P-  = F P F' + G N G'               S = H P- H' + R,   K = P- H' / S
    P   = (I - K H) P- (I - K H)' + K R K'                 (Joseph's form: never negative)

The relative noise s of the torque is unknown. Too small an s leaves innovations that drift, so s is
adapted until the mean square of sums of whitened innovations over BATCH periods equals that of
white noise. Model errors thus count as torque noise and widen the intervals.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from diffbot_description.dynamics import accelerations, acting_torque
from diffbot_ident.torque.coverage import MotionScale
from diffbot_ident.torque.estimate import Array, Estimate, EstimateState, FrictionEstimate
from diffbot_ident.torque.integral_estimator import IntegralEstimator
from diffbot_ident.torque.judgement import judge
from diffbot_ident.torque.prior import Prior
from diffbot_ident.torque.robot_fit import FLOOR
from diffbot_ident.torque.torque_delay import DELAYS

STATES = 12
ANGLES, VELOCITY, THETA = slice(0, 2), slice(2, 4), slice(4, 12)

# Torque noise: initial and minimum value as shares of the torque, and the share of the typical
# torque that is uncertain even where no torque is reported.
START_NOISE, MIN_NOISE, BASE_NOISE = 0.1, 1e-4, 0.02
# Periods over which innovations are summed to adapt the noise, and the memory of the adaptation in
# batches.
BATCH, MEMORY = 20, 200
# Limit of a batch's mean square relative to white noise, as outliers must not count as noise.
MAX_BATCH_RATIO = 10.0
# Relative uncertainty of the Coulomb friction of a wheel that reverses.
TURNING_FRACTION = 0.3
# Squared norm of a whitened innovation of both wheels beyond which it is implausible.
MAX_INNOVATION = 200.0
# Variance of the readings of exact encoders, rad^2.
EXACT_VARIANCE = 1e-16
# Minimum weight of a period in the mean square of the prediction errors.
ERROR_WEIGHT = 0.002
# Samples before the first start, and between two attempts to start. Starts after 200 samples left
# K8 up to 9 stated standard deviations off with 5 % torque noise.
START_SAMPLES, ATTEMPT_SAMPLES = 500, 50
# Factor on the initial covariance, as some of its correlations are neglected.
START_INFLATION = 9.0
# Successive skipped readings after which the filter restarts.
MAX_SKIPPED = 10
# Samples without a change of either angle after which the robot counts as parked.
PARKED_SAMPLES = 20
# Changes of an angle below this are rounding, rad.
ROUNDING = 1e-9


class KalmanModel:
    """Propagates the filter's state by one period.

    Args:
        geometry: Wheel radii and separation.
    """

    def __init__(self, geometry: WheelGeometry) -> None:
        self.wheels = np.column_stack(
            (geometry.wheel_velocity(1.0, 0.0), geometry.wheel_velocity(0.0, 1.0))
        )

    def step(
        self, state: Array, torque: tuple[float, float], period: float
    ) -> tuple[Array, Array, Array, Array]:
        """Return the state after a period of constant torque.

        Args:
            state: State, shape (12,).
            torque: Acting torques [left, right], N m.
            period: h, s.

        Returns:
            The new state (12,), its Jacobian (12, 12), the effect of a unit of unreported torque
            of each wheel (12, 2), and the uncertain share of each wheel's Coulomb friction, > 0 if
            the wheel reverses, (2,).
        """
        h, u = period, state[VELOCITY]
        sign = self._mean_signs(state, torque, h)
        a0, du0, dtheta0 = self._acceleration(u, state, torque, sign)
        am, dum, dthetam = self._acceleration(u + 0.5 * h * a0, state, torque, sign)
        dthetam = dthetam + 0.5 * h * dum @ dtheta0
        dum = dum + 0.5 * h * dum @ du0
        new, jacobian = state.copy(), np.eye(STATES)
        new[VELOCITY] += h * am
        new[ANGLES] += self.wheels @ (h * u + h * h / 6.0 * (a0 + 2.0 * am))
        jacobian[VELOCITY, VELOCITY] += h * dum
        jacobian[VELOCITY, THETA] = h * dthetam
        path = h * np.eye(2) + h * h / 6.0 * (du0 + 2.0 * dum)
        jacobian[ANGLES, VELOCITY] = self.wheels @ path
        jacobian[ANGLES, THETA] = self.wheels @ (h * h / 6.0 * (dtheta0 + 2.0 * dthetam))
        effect = np.zeros((STATES, 2))
        effect[VELOCITY] = h * _gains(state)
        effect[ANGLES] = 0.5 * h * self.wheels @ effect[VELOCITY]
        return new, jacobian, effect, 1.0 - np.square(sign)

    def _acceleration(
        self, u: Array, state: Array, torque: tuple[float, float], sign: Sequence[float]
    ) -> tuple[Array, Array, Array]:
        """Return a (2,), da/du (2, 2) and da/dtheta (2, 8)."""
        v, omega = u.tolist()
        k5, k6, k7, k8, c_left, c_right, f_left, f_right = state[THETA].tolist()
        w_left, w_right = (self.wheels @ u).tolist()
        left = acting_torque(torque[0], w_left, c_left, f_left, sign[0])
        right = acting_torque(torque[1], w_right, c_right, f_right, sign[1])
        total, difference = left + right, left - right
        a = np.array(accelerations((k5, k6, k7, k8), v, omega, left, right))
        lost = np.array([[-c_left], [-c_right]]) * self.wheels
        du = np.array([[0.0, 2.0 * k5 * omega], [k6 * omega, k6 * v]]) + _gains(state) @ lost
        dtheta = np.array(
            [
                (omega * omega, 0.0, total, 0.0)
                + (-k7 * w_left, -k7 * w_right, -k7 * sign[0], -k7 * sign[1]),
                (0.0, v * omega, 0.0, difference)
                + (-k8 * w_left, k8 * w_right, -k8 * sign[0], k8 * sign[1]),
            ]
        )
        return a, du, dtheta

    def _mean_signs(
        self, state: Array, torque: tuple[float, float], h: float
    ) -> tuple[float, float]:
        """Return the mean sign of each wheel's speed; between -1 and 1 where it reverses."""
        u = state[VELOCITY]
        before = (self.wheels @ u).tolist()
        sign = tuple(math.copysign(1.0, w) if w else 0.0 for w in before)
        after = (self.wheels @ (u + h * self._acceleration(u, state, torque, sign)[0])).tolist()
        left, right = (
            s if a * b > 0.0 else (abs(b) - abs(a)) / (b - a) if a != b else 0.0
            for s, a, b in zip(sign, before, after, strict=True)
        )
        return left, right


def _gains(state: Array) -> Array:
    """Return M of du/dt = ... + M T, shape (2, 2)."""
    k7, k8 = state[6], state[7]
    return np.array([[k7, k7], [k8, -k8]])


class KalmanFilter:
    """Motion and parameters with their covariance.

    Args:
        geometry: Wheel radii and separation.
        torque: Typical torque of one wheel, N m; see BASE_NOISE.
        theta: Initial parameters, as in the state, shape (8,).
        covariance: Covariance of theta, shape (8, 8).

    Attributes:
        state: State as described in the module, shape (12,).
        covariance: Covariance of the state, shape (12, 12); symmetric.
        errors: Mean squares of the prediction errors of dv/dt and domega/dt, shape (2,).
    """

    def __init__(
        self, geometry: WheelGeometry, torque: float, theta: Array, covariance: Array
    ) -> None:
        self._geometry = geometry
        self._model = KalmanModel(geometry)
        self._torque = torque
        self._to_body = np.linalg.inv(self._model.wheels)
        self.state = np.concatenate((np.zeros(4), theta))
        self.covariance = np.zeros((STATES, STATES))
        self.covariance[THETA, THETA] = covariance
        self.errors = np.zeros(2)
        self._periods = self._batches = 0
        self._noise = START_NOISE**2
        self._begin_batch()

    def _begin_batch(self) -> None:
        self._sum, self._summed = np.zeros(2), 0

    @property
    def torque_noise(self) -> float:
        """Standard deviation of the acting torque, as a share of the reported one."""
        return math.sqrt(self._noise)

    def place(self, turned: Array, period: float, resolution: float) -> None:
        """Initialise the motion from one period; the parameters and their covariance are kept.

        Args:
            turned: Rotation of the wheels in the period, rad, shape (2,).
            period: Length of the period, s.
            resolution: Resolution of the encoders, rad.
        """
        variance = _reading_variance(resolution)
        self.state[ANGLES] = 0.0
        self.state[VELOCITY] = self._to_body @ turned / period
        p = self.covariance
        p[:4, :], p[:, :4] = 0.0, 0.0
        p[ANGLES, ANGLES] = variance * np.eye(2)
        # The mean speed of a period differs from that at its end by half a period of torque.
        gained = self.state[6:8] * self._torque * period
        readings = 2.0 * variance / period**2 * self._to_body @ self._to_body.T
        p[VELOCITY, VELOCITY] = readings + np.diag(gained**2)
        self._begin_batch()

    def follow(
        self, turned: Array, torque: tuple[float, float], period: float, resolution: float
    ) -> bool:
        """Predict over a period, then correct with the measured rotation of the wheels.

        Args:
            turned: Rotation of the wheels in the period, rad, shape (2,).
            torque: Acting torques [left, right], N m.
            period: Length of the period, s.
            resolution: Resolution of the encoders, rad.

        Returns:
            False if the reading is implausible or a result is not finite; the state is then
            unchanged.
        """
        with np.errstate(all="ignore"):  # what overflows is refused below
            state, jacobian, effect, turning = self._model.step(self.state, torque, period)
            unknown = self._noise * (np.square(torque) + (BASE_NOISE * self._torque) ** 2)
            unknown += np.square(TURNING_FRACTION * turning * state[10:12])
            p = jacobian @ self.covariance @ jacobian.T + (effect * unknown) @ effect.T
            # Angles are relative to the newest reading, so that they stay small.
            state[ANGLES] -= turned
            innovation = -state[ANGLES]
            variance = _reading_variance(resolution)
            root = _cholesky(p[0, 0] + variance, p[0, 1], p[1, 1] + variance)
            whitened = root @ innovation
            gain = p[:, ANGLES] @ root.T @ root
            state = state + gain @ innovation
            left = p - gain @ p[ANGLES, :]
            p = left - left[:, ANGLES] @ gain.T + variance * gain @ gain.T
            p = 0.5 * (p + p.T)
            plausible = whitened @ whitened < MAX_INNOVATION
        finite = math.isfinite(float(state.sum())) and math.isfinite(float(p.sum()))
        if not (plausible and finite and p.diagonal().min() >= 0.0):
            return False
        self.state, self.covariance = state, p
        self._learn(whitened, np.square(gain[VELOCITY] @ innovation / period))
        return True

    def _learn(self, whitened: Array, squares: Array) -> None:
        """Adapt the torque noise and the mean squares of the errors."""
        self._periods += 1
        self.errors += max(ERROR_WEIGHT, 1.0 / self._periods) * (squares - self.errors)
        self._sum += whitened
        self._summed += 1
        if self._summed < BATCH:
            return
        ratio = min(float(self._sum @ self._sum) / (2 * BATCH), MAX_BATCH_RATIO)
        self._batches += 1
        weight = max(2.0 / (self._batches + 4.0), 1.0 / MEMORY)
        self._noise = max(self._noise * math.exp((ratio - 1.0) * weight), MIN_NOISE**2)
        self._begin_batch()


def _reading_variance(resolution: float) -> float:
    return max(resolution**2 / 12.0, EXACT_VARIANCE)


def _cholesky(a: float, b: float, c: float) -> Array:
    """Return the inverse of the lower Cholesky factor of [[a, b], [b, c]]; NaN if none exists."""
    first = math.sqrt(a) if a > 0.0 else math.nan
    rest = c - b * b / a if a > 0.0 else math.nan
    second = math.sqrt(rest) if rest > 0.0 else math.nan
    return np.array([[1.0 / first, 0.0], [-b / (a * second), 1.0 / second]])


LACKING = (
    "estimator kalman has no states for what is found besides friction and a delay, nor for stamps "
    "that are late: the values are those of estimator integral"
)


class KalmanEstimator:
    """Estimates K5..K8 and the wheels' friction from joint samples.

    Args:
        geometry: Wheel radii and separation.
        scale: Size of the expected motions and torques.
        prior: Prior knowledge.
        resolution: Resolution of the encoders, rad; None: the smallest change of an angle so far.
        min_samples: Number of samples below which nothing is estimated.

    Attributes:
        skipped: Number of skipped readings.
        restarts: Number of restarts of the filter.

    Raises:
        ValueError: The resolution is not finite or negative.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        scale: MotionScale,
        prior: Prior | None = None,
        resolution: float | None = None,
        min_samples: int = 100,
    ) -> None:
        if resolution is not None and not (math.isfinite(resolution) and resolution >= 0.0):
            raise ValueError(
                f"resolution = {resolution} rad: must be finite and >= 0; 2 pi / counts per turn"
            )
        self._geometry = geometry
        self._scale = scale
        self._given_resolution = resolution
        self._min_samples = min_samples
        self._companion = IntegralEstimator(geometry, scale, prior=prior, min_samples=min_samples)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._companion.reset()
        self.filter: KalmanFilter | None = None
        self._resolution = math.inf if self._given_resolution is None else self._given_resolution
        self._samples = self._delay = 0
        self.skipped = self.restarts = 0
        self._interrupt()

    def _interrupt(self) -> None:
        """Start a new segment: the next sample does not continue the previous ones."""
        self._last: JointSample | None = None
        self._torques: deque[tuple[float, float]] = deque(maxlen=DELAYS)
        self._placed = False
        self._still = self._in_a_row = 0

    @property
    def velocity(self) -> tuple[float, float] | None:
        """Newest body velocity (v in m/s, omega in rad/s); None before there is one."""
        return self._companion.velocity

    def update(self, sample: JointSample) -> bool:
        """Process one joint sample; see Estimator.update."""
        try:
            self._companion.update(sample)
        except ValueError:
            self._interrupt()
            raise
        self._samples += 1
        last, self._last = self._last, sample
        self._torques.append(sample.effort)
        if last is None:
            return False
        turned = [
            math.remainder(now - before, math.tau)
            for now, before in zip(sample.position, last.position, strict=True)
        ]
        self._still = 0 if any(turned) else self._still + 1
        if self._given_resolution is None:
            changes = [abs(t) for t in turned if abs(t) > ROUNDING]
            self._resolution = min(self._resolution, *changes, math.inf)
        if (
            self.filter is None
            and self._samples >= START_SAMPLES
            and self._samples % ATTEMPT_SAMPLES == 0
        ):
            self._start()
        if self.filter is None:
            return False
        return self._follow(self.filter, np.array(turned), sample.stamp - last.stamp)

    def interrupt(self) -> None:
        """See Estimator.interrupt."""
        self._companion.interrupt()
        self._interrupt()

    def suspicion(self) -> str | None:
        """Return the companion's suspicion; see Estimator.suspicion."""
        return self._companion.suspicion()

    def _start(self) -> None:
        """Start the filter from the companion's values once its K7 and K8 are ESTIMATED."""
        result = self._companion.estimate()
        significant = all(state is EstimateState.ESTIMATED for state in result.parameter_states[2:])
        if not significant or result.friction is None:
            return
        self._delay = 0 if math.isnan(result.delay) else round(result.delay)
        b, torque = self._geometry.half_track, self._scale.torque
        viscous = torque * self._geometry.left_radius / self._scale.velocity
        # Typical sizes of the parameters limit the initial deviations of those hardly known.
        size = np.array(
            [b, 1.0 / b, *map(abs, result.values[2:]), viscous, viscous, torque, torque]
        )
        covariance = np.zeros((8, 8))
        # K5 K8 = b K6 K7 makes the companion's covariance singular, and rounding could make it
        # indefinite here. The discretisation errors FLOOR are not bound by that constraint.
        floor = np.diag(np.square(FLOOR * np.array(result.values)))
        covariance[:4, :4] = result.covariance + floor
        covariance[4:, 4:] = np.diag(result.friction.variances)
        shrink = np.minimum(1.0, size / np.sqrt(np.diag(covariance)))
        covariance = START_INFLATION * covariance * np.outer(shrink, shrink)
        theta = np.array((*result.values, *result.friction.values))
        self.filter = KalmanFilter(self._geometry, torque, theta, covariance)
        self._placed = False

    def _follow(self, kalman: KalmanFilter, turned: Array, period: float) -> bool:
        """Update the filter with a period unless the robot is parked."""
        if self._still > PARKED_SAMPLES or len(self._torques) <= self._delay:
            self._placed = False
            return False
        if not self._placed:
            kalman.place(turned, period, self._resolution)
            self._placed = True
            return False
        torque = self._torques[-1 - self._delay]
        if kalman.follow(turned, torque, period, self._resolution):
            self._in_a_row = 0
            return True
        self.skipped += 1
        self._in_a_row += 1
        self._placed = False
        if self._in_a_row >= MAX_SKIPPED:
            self.restarts += 1
            self.filter, self._in_a_row = None, 0
        return False

    def estimate(self) -> Estimate:
        """Return the current estimate.

        It is the companion's until the filter has started, and while the companion finds what the
        filter has no states for: on a slope of 1 degree the filter's K5 to K7 are 8 of their
        standard deviations off. It takes stamps as they are.
        """
        companion = self._companion.estimate()
        warnings = (*companion.warnings, *self._warnings())
        if self.filter is None:
            return replace(companion, warnings=warnings)
        if self._companion.explains_more:
            return replace(companion, warnings=(*warnings, LACKING))
        theta = self.filter.state[4:]
        v, omega = np.sqrt(self.filter.errors).tolist()
        values = replace(
            companion,
            warnings=warnings,
            residual_std=(v, omega),
            friction=FrictionEstimate.of(theta[4:], self.filter.covariance[8:, 8:]),
        ).with_values(
            theta[:4], self.filter.covariance[4:8, 4:8] + np.diag((FLOOR * theta[:4]) ** 2)
        )
        return judge(
            values,
            self._geometry.half_track,
            problem=companion.reason if companion.state is EstimateState.INVALID else None,
            min_samples=self._min_samples,
        )

    def _warnings(self) -> list[str]:
        if not self.skipped:
            return []
        return [
            f"{self.skipped} readings did not fit the motion and were ignored, {self.restarts} "
            "restarts; check the encoders for jumps, and that the reported torques really act"
        ]
