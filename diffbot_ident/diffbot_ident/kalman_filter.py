"""Extended Kalman filter of kalman_model: predict over a period, correct with the wheels' angles.

    x' = f(x, tau) + G n,   z = angles + q,   n ~ N(0, s^2 tau^2),   q ~ N(0, resolution^2 / 12)

    P-  = F P F' + G N G'               S = H P- H' + R,   K = P- H' / S
    P   = (I - K H) P- (I - K H)' + K R K'                 (Joseph's form: never negative)

The relative noise s of the torque is not known. Too small an s leaves innovations that drift, so s
is adapted until the mean square of sums of whitened innovations over BATCH periods is what white
noise gives. Whatever the model misses counts as torque noise that way, and widens the intervals.
"""

from __future__ import annotations

import math

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.integral_rows import Array
from diffbot_ident.kalman_model import ANGLES, STATES, THETA, VELOCITY, KalmanModel

# Torque noise: start value, least value (shares of the torque) and the share of the scale's
# torque that is uncertain even where no torque is reported.
NOISE, LEAST_NOISE, BASE = 0.1, 1e-4, 0.02
# Periods over which innovations are summed to adapt the noise, and the memory of that in batches.
BATCH, MEMORY = 20, 200
# Largest mean square of a batch that counts, in what white noise gives; an outlier is no noise.
LARGEST_BATCH = 10.0
# Coulomb friction of a wheel that turns round is uncertain by this share.
TURNING = 0.3
# Square of an innovation, in variances of both wheels together, beyond which it is implausible.
IMPLAUSIBLE = 200.0
# Variance of the readings of exact encoders, rad^2.
EXACT = 1e-16
# Weight of a period in the mean square of the prediction errors.
RECENT = 0.002


class KalmanFilter:
    """Motion and parameters with their covariance.

    Args:
        geometry: of the wheels.
        torque: of one wheel, as usual, N m; see BASE.
        theta: parameters to start with, as in kalman_model, shape (8,).
        covariance: of theta, shape (8, 8).

    Attributes:
        state: see kalman_model, shape (12,).
        covariance: of the state, shape (12, 12); symmetric.
        errors: mean squares of the prediction errors of dv/dt and domega/dt, shape (2,).
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
        self._noise = NOISE**2
        self._begin_batch()

    def _begin_batch(self) -> None:
        self._sum, self._summed = np.zeros(2), 0

    @property
    def torque_noise(self) -> float:
        """Standard deviation of the torque that acts, as a share of the reported one."""
        return math.sqrt(self._noise)

    def place(self, turned: Array, period: float, resolution: float) -> None:
        """Begin with the motion of a period; the parameters keep what is known of them.

        Args:
            turned: what the wheels have turned by in it, rad, shape (2,).
            period: its length, s.
            resolution: of the encoders, rad.
        """
        variance = _reading_variance(resolution)
        self.state[ANGLES] = 0.0
        self.state[VELOCITY] = self._to_body @ turned / period
        p = self.covariance
        p[:4, :], p[:, :4] = 0.0, 0.0
        p[ANGLES, ANGLES] = variance * np.eye(2)
        # The mean speed of a period is that of its end but for half a period of torque.
        gained = self.state[6:8] * self._torque * period
        readings = 2.0 * variance / period**2 * self._to_body @ self._to_body.T
        p[VELOCITY, VELOCITY] = readings + np.diag(gained**2)
        self._begin_batch()

    def follow(
        self, turned: Array, torque: tuple[float, float], period: float, resolution: float
    ) -> bool:
        """Predict over a period, then correct with what the wheels have turned by in it.

        Args:
            turned: rad, shape (2,).
            torque: that acted, [left, right], N m.
            period: its length, s.
            resolution: of the encoders, rad.

        Returns:
            False where the reading is implausible or anything would not be finite; the state is
            then that before the period.
        """
        with np.errstate(all="ignore"):  # what overflows is refused below
            state, jacobian, effect, turning = self._model.step(self.state, torque, period)
            unknown = self._noise * (np.square(torque) + (BASE * self._torque) ** 2)
            unknown += np.square(TURNING * turning * state[10:12])
            p = jacobian @ self.covariance @ jacobian.T + (effect * unknown) @ effect.T
            # Angles count from the newest reading, so that they stay small however far it goes.
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
            plausible = whitened @ whitened < IMPLAUSIBLE
        finite = math.isfinite(float(state.sum())) and math.isfinite(float(p.sum()))
        if not (plausible and finite and p.diagonal().min() >= 0.0):
            return False
        self.state, self.covariance = state, p
        self._learn(whitened, np.square(gain[VELOCITY] @ innovation / period))
        return True

    def _learn(self, whitened: Array, squares: Array) -> None:
        """Adapt the noise and the errors' mean squares."""
        self._periods += 1
        self.errors += max(RECENT, 1.0 / self._periods) * (squares - self.errors)
        self._sum += whitened
        self._summed += 1
        if self._summed < BATCH:
            return
        ratio = min(float(self._sum @ self._sum) / (2 * BATCH), LARGEST_BATCH)
        self._batches += 1
        weight = max(2.0 / (self._batches + 4.0), 1.0 / MEMORY)
        self._noise = max(self._noise * math.exp((ratio - 1.0) * weight), LEAST_NOISE**2)
        self._begin_batch()


def _reading_variance(resolution: float) -> float:
    return max(resolution**2 / 12.0, EXACT)


def _cholesky(a: float, b: float, c: float) -> Array:
    """Inverse of the lower Cholesky factor of [[a, b], [b, c]]; NaN where there is none."""
    first = math.sqrt(a) if a > 0.0 else math.nan
    rest = c - b * b / a if a > 0.0 else math.nan
    second = math.sqrt(rest) if rest > 0.0 else math.nan
    return np.array([[1.0 / first, 0.0], [-b / (a * second), 1.0 / second]])
