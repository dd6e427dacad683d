"""From joint samples to rows of the integrated model, and to their sums in constant memory.

The model, (41) of Lages (2017) less the wheels' friction, integrated over a window:

    v(t+h) - v(t)         = K5 int omega^2 + K7 int (T_l + T_r)
    omega(t+h) - omega(t) = K6 int v omega + K8 int (T_l - T_r),    T = tau - c w - f sign(w)

Differences over a window are far less noisy than accelerations, and the integrals keep the times
straight. The difference of two wheel angles is the mean speed of a period, hence the speed at its
middle; from one middle to the next the torque of either period acts for half of its length
("encoder-matched torque"). Both ends of a window are means over some such windows, which divides
the noise of the angles.

Products of velocities. A control period's torque is constant, so that a velocity x is a line in it,
whose slope jumps where the torque does: x = b - a s before the end of period k and x = b + a' s
after it, s the time from there as a share of a period. What an encoder gives are the means of the
periods, x(k) = b - a / 2 and x(k+1) = b + a' / 2. Their difference is the integral of dx/dt under a
triangle over both periods, so a product has to be averaged under the same triangle. With y likewise
(c, e, e'), d = a' - a and a bar = (a + a') / 2:

    mean of x y = [x(k) y(k+1) + y(k) x(k+1)] / 2
                  - (b d_y + c d_x) / 12 + 5 / 12 (a bar)(e bar) - d_x d_y / 48

The jumps d come from the torques, b = [x(k) + x(k+1)] / 2 - d / 4, and a bar twice, from either
neighbour period. Only velocities of different periods are multiplied: the noise of a square would
raise its mean.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_ident.torque.estimate import Array

Flags = NDArray[np.bool_]

# Control periods of torque delay that are told apart: 0 to DELAYS - 1.
DELAYS = 5

# Columns of a row. The regressors are integrals over the window; the last two are the outputs.
OMEGA_SQUARED, V_OMEGA, V, OMEGA, SIGN_LEFT, SIGN_RIGHT = range(6)
SUM = slice(6, 6 + DELAYS)
"""tau_l + tau_r, as reported 0, 1, ... periods earlier."""
DIFFERENCE = slice(6 + DELAYS, 6 + 2 * DELAYS)
"""tau_l - tau_r, as reported 0, 1, ... periods earlier."""
DV, DOMEGA = 6 + 2 * DELAYS, 7 + 2 * DELAYS
COLUMNS = 8 + 2 * DELAYS
REGRESSORS = DV


@dataclass(frozen=True)
class TorqueResponse:
    """What is known of how torques act; it tells where the slopes of the velocities jump.

    Attributes:
        k7: m/s^2 per N m of both wheels' sum; 0 while it is not known.
        k8: rad/s^2 per N m of the wheels' difference; 0 while it is not known.
        delay: control periods by which torques act late, >= 0.
    """

    k7: float = 0.0
    k8: float = 0.0
    delay: float = 0.0


class IntegralRows:
    """Turns a stretch of joint samples into rows, one beginning with each sample.

    Args:
        geometry: of the wheels.
        window: control periods from one end of a window to the other, >= 1.
        smoothing: control periods over which either end is averaged, >= 1.

    Attributes:
        overlap: samples that a stretch shares with the one before it so that no row is lost.
    """

    def __init__(self, geometry: WheelGeometry, window: int, smoothing: int) -> None:
        self._geometry = geometry
        self.window = window
        self.smoothing = smoothing
        self.overlap = window + smoothing + DELAYS + 1

    def make(
        self, samples: Array, response: TorqueResponse = TorqueResponse()
    ) -> tuple[Array, Flags]:
        """Rows of a stretch of consecutive samples.

        Args:
            samples: stamp (s), angles [left, right] (rad) and torques [left, right] (N m) that
                acted over the period that ends with the sample, shape (n, 5).
            response: of the velocities to the torques.

        Returns:
            Rows, shape (max(n - overlap, 0), COLUMNS), and for each whether both wheels keep
            turning one way in it: where one turns round, the integral of its sign is uncertain.
        """
        if len(samples) <= self.overlap:
            return np.empty((0, COLUMNS)), np.empty(0, dtype=bool)
        steps, turning = self._steps(samples, response)
        inner = moving_sum(steps, self.window)
        rows = moving_sum(inner, self.smoothing) / self.smoothing
        turns = moving_sum((~turning).astype(float)[:, None], self.window + self.smoothing - 1)
        return rows, turns[:, 0] == 0.0

    def _steps(self, samples: Array, response: TorqueResponse) -> tuple[Array, Flags]:
        """The columns from the middle of each period to that of the next."""
        period = np.diff(samples[:, 0])
        turned = turns(samples[:, 1:3])
        length, angle = np.array(self._geometry.body_velocity(*turned.T))
        effort = samples[1:, 3:5] * period[:, None]
        total, difference = effort[:, 0] + effort[:, 1], effort[:, 0] - effort[:, 1]
        sign = np.sign(turned)
        v = _Velocity(length / period, response.k7 * np.diff(delayed(total, response.delay)))
        omega = _Velocity(
            angle / period, response.k8 * np.diff(delayed(difference, response.delay))
        )
        first, last = DELAYS, len(period) - 2  # steps from period k to k + 1
        at = slice(first, last)
        gap = 0.5 * (period[:-1] + period[1:])[at]
        steps = np.empty((last - first, COLUMNS))
        steps[:, OMEGA_SQUARED] = gap * _mean_product(omega, omega)[first - 1 :]
        steps[:, V_OMEGA] = gap * _mean_product(v, omega)[first - 1 :]
        steps[:, V] = _halves(length)[at]
        steps[:, OMEGA] = _halves(angle)[at]
        steps[:, SIGN_LEFT] = _halves(sign[:, 0] * period)[at]
        steps[:, SIGN_RIGHT] = _halves(sign[:, 1] * period)[at]
        for delay in range(DELAYS):
            late = slice(first - delay, last - delay)
            steps[:, SUM.start + delay] = _halves(total)[late]
            steps[:, DIFFERENCE.start + delay] = _halves(difference)[late]
        steps[:, DV] = np.diff(v.mean)[at]
        steps[:, DOMEGA] = np.diff(omega.mean)[at]
        turning = np.all(sign[:-1] * sign[1:] > 0.0, axis=1)
        return steps, turning[at]


@dataclass(frozen=True)
class _Velocity:
    """Means of a velocity over periods, shape (n,), and the jumps of its slope, (n - 1,).

    A jump is what the velocity gains by torque in period k + 1 less that in period k.
    """

    mean: Array
    jump: Array

    def at_boundary(self) -> Array:
        """At the end of period k, for k = 1 to n - 3: b."""
        return 0.5 * (self.mean[1:-2] + self.mean[2:-1]) - 0.25 * self.jump[1:-1]

    def gained(self) -> tuple[Array, Array]:
        """Gained in a period, the mean of k and k + 1, by the period before them and after."""
        mean, jump = self.mean, self.jump
        before = mean[1:-2] - mean[:-3] + 0.5 * (jump[1:-1] + jump[:-2])
        after = mean[3:] - mean[2:-1] - 0.5 * (jump[1:-1] + jump[2:])
        return before, after


def _mean_product(x: _Velocity, y: _Velocity) -> Array:
    """Mean of x y under the triangle over periods k and k + 1, for k = 1 to n - 3."""
    near = 0.5 * (x.mean[1:-2] * y.mean[2:-1] + y.mean[1:-2] * x.mean[2:-1])
    jump_x, jump_y = x.jump[1:-1], y.jump[1:-1]
    (x_before, x_after), (y_before, y_after) = x.gained(), y.gained()
    gained = 0.5 * (x_before * y_after + x_after * y_before)
    bent = x.at_boundary() * jump_y + y.at_boundary() * jump_x
    return near - bent / 12.0 + 5.0 / 12.0 * gained - jump_x * jump_y / 48.0


def delayed(torque: Array, delay: float) -> Array:
    """Torques that act when reported ones act late: (1 - a) tau[k - d] + a tau[k - d - 1].

    Args:
        torque: as reported for each of n control periods, shape (..., n).
        delay: d + a control periods, d whole, 0 <= a < 1.

    Returns:
        Shape (..., n); the first ceil(delay) periods, of which too little is known, are as
        reported first.
    """
    whole = int(delay)
    part = delay - whole
    first = np.repeat(torque[..., :1], whole + 1, axis=-1)
    padded = np.concatenate((first, torque), axis=-1)[..., : torque.shape[-1] + 1]
    return (1.0 - part) * padded[..., 1:] + part * padded[..., :-1]


def turns(angles: Array) -> Array:
    """What the wheels turned from one sample to the next, rad, shape (n - 1, 2), from (n, 2).

    Encoders may wrap; half a turn in one period is far beyond any wheel's speed.
    """
    return np.remainder(np.diff(angles, axis=0) + np.pi, 2.0 * np.pi) - np.pi


def _halves(per_period: Array) -> Array:
    """Half of a period's share and half of the next one's."""
    return 0.5 * (per_period[:-1] + per_period[1:])


def moving_sum(columns: Array, length: int) -> Array:
    """Sums over `length` successive rows, shape (n - length + 1, columns)."""
    sums = np.cumsum(columns, axis=0)
    sums[length:] -= sums[:-length].copy()
    return sums[length - 1 :]


class Decimation:
    """Keeps each n-th sample of a fast robot, with the mean torque since the one before.

    At 1 kHz one encoder count of 4096 is 1.5 rad/s: speeds of single periods are nothing but noise,
    and products of neighbouring ones are biased, since both take the reading between them.

    Args:
        factor: n, >= 1.
    """

    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.interrupt()

    def interrupt(self) -> None:
        """The next sample does not follow those before."""
        self._left = np.empty((0, 5))

    def take(self, samples: Array) -> Array:
        """Those kept of samples of nearly even periods: stamp, angles and torques, shape (n, 5)."""
        if self.factor == 1:
            return samples
        samples = np.concatenate((self._left, samples))
        whole = len(samples) - len(samples) % self.factor
        groups = samples[:whole].reshape(-1, self.factor, 5)
        self._left = samples[whole:]
        kept = groups[:, -1].copy()
        kept[:, 3:] = groups[:, :, 3:].mean(axis=1)
        return kept


# Weight of a row in which a wheel turns round. Its sign, hence its Coulomb friction, is known to a
# period only: with full weight K7 and K8 came out up to 0.04 % too small; without such rows half
# of the data is lost (benchmarks/trust.py). The error grows with the period, hence the weight falls
# with its square beyond TURNING_PERIOD.
TURNING_WEIGHT, TURNING_PERIOD = 0.2, 0.02


class RowSums:
    """Everything that an estimate needs to know of the rows so far, with exponential forgetting.

    Rows that begin one sample apart share most of their window, so their errors are correlated, in
    a way that is known: they come from torques that acted a little differently than reported, each
    period's for itself, and from the reading of the angles, each reading's for itself. A row takes
    either in through a kernel, so that the covariance of sums of x e over the rows is

        Omega = s_torque sum psi_t psi_t' + s_reading sum psi_r psi_r'

    with psi the regressors seen through the kernel from a single period or reading.

    Args:
        window: control periods from one end of a window to the other.
        smoothing: control periods over which either end is averaged.
        period: control period, s.

    Attributes:
        moments: weighted sum of z z' over the rows z, shape (COLUMNS, COLUMNS).
        lags: lags in rows at which `lagged` is kept: 0, half a window, a window.
        lagged: sums of z(k) z(k + lag)' over rows in which no wheel turns round, shape
            (3, COLUMNS, COLUMNS).
        pairs: number of terms in each of `lagged`, shape (3,).
        torque: sum of psi_t psi_t', shape (REGRESSORS, REGRESSORS), for a unit of v or omega
            gained in one period.
        reading: sum of psi_r psi_r', the same for a unit of the mean path or turn at one reading,
            over one period.
        rows: number of rows, forgotten ones less.
    """

    def __init__(self, window: int, smoothing: int, period: float) -> None:
        self.window = window
        self.smoothing = smoothing
        self._turning_weight = TURNING_WEIGHT * min(1.0, TURNING_PERIOD / period) ** 2
        self.lags = (0, window // 2, window)
        self.moments = np.zeros((COLUMNS, COLUMNS))
        self.lagged = np.zeros((3, COLUMNS, COLUMNS))
        self.pairs = np.zeros(3)
        self.torque = np.zeros((REGRESSORS, REGRESSORS))
        self.reading = np.zeros((REGRESSORS, REGRESSORS))
        self.rows = 0.0
        self.interrupt()

    def interrupt(self) -> None:
        """The next rows do not follow those before."""
        self._plain = np.zeros((self.window, COLUMNS))
        self._clear = np.zeros(self.window)
        self._weighted = np.zeros((self.window + self.smoothing, REGRESSORS))

    def delayed(self, delay: float) -> RowSums:
        """These sums as seen with torques that act so many control periods late, 0 to DELAYS - 1.

        The torque's columns of delay 0 take the place of those of this delay; between whole
        periods they are interpolated, as an integral over a window changes with a shift.
        """
        shift = _shift(delay)
        seen = copy(self)
        seen.moments = self.moments_at(delay)
        seen.lagged = shift.T @ self.lagged @ shift
        known = shift[:REGRESSORS, :REGRESSORS]
        seen.torque = known.T @ self.torque @ known
        seen.reading = known.T @ self.reading @ known
        return seen

    def moments_at(self, delay: float) -> Array:
        """The moments of `delayed` alone, shape (COLUMNS, COLUMNS)."""
        shift = _shift(delay)
        moved: Array = shift.T @ self.moments @ shift
        return moved

    def forget(self, factor: float) -> None:
        """Let everything so far count by this factor (0 to 1) only."""
        for sums in (self.moments, self.lagged, self.pairs):
            sums *= factor
        # Sums of squares of weighted rows: a weight counts twice.
        self.torque *= factor * factor
        self.reading *= factor * factor
        self.rows *= factor

    def add(self, rows: Array, turning: Flags) -> None:
        """Take in rows of shape (n, COLUMNS) that follow those before.

        Args:
            rows: from IntegralRows.
            turning: whether both wheels keep turning one way, shape (n,).
        """
        weight = np.where(turning, 1.0, self._turning_weight)[:, None]
        weighted = weight * rows
        self.moments += weighted.T @ rows
        self.rows += len(rows)
        self._add_lagged(rows * turning[:, None], turning.astype(float))
        self._add_noise(weighted[:, :REGRESSORS])

    def _add_lagged(self, rows: Array, clear: Array) -> None:
        plain = np.concatenate((self._plain, rows))
        flags = np.concatenate((self._clear, clear))
        first = self.window
        for i, lag in enumerate(self.lags):
            before = slice(first - lag, len(plain) - lag)
            self.lagged[i] += plain[before].T @ rows
            self.pairs[i] += flags[before] @ clear
        self._plain, self._clear = plain[-self.window :], flags[-self.window :]

    def _add_noise(self, weighted: Array) -> None:
        tail = self.window + self.smoothing
        x = np.concatenate((self._weighted, weighted))
        self._weighted = x[-tail:]
        through = 0.5 * (x[1:] + x[:-1])
        for length in (self.window, self.smoothing):
            through = moving_sum(through, length)
        through = through[-len(weighted) :] / self.smoothing
        self.torque += through.T @ through
        count = len(weighted)
        p, m = self.smoothing, self.window
        seen = x[tail:] - x[tail - p : tail - p + count] - x[tail - m : tail - m + count]
        seen = (seen + x[:count]) / p
        self.reading += seen.T @ seen


@lru_cache
def _shift(delay: float) -> Array:
    """Takes columns to those that `RowSums.delayed` sees, shape (COLUMNS, COLUMNS)."""
    whole = min(int(delay), DELAYS - 1)
    part = delay - whole
    shift = np.eye(COLUMNS)
    for first in (SUM.start, DIFFERENCE.start):
        shift[first, first] = 0.0
        shift[first + whole, first] += 1.0 - part
        if part > 0.0:
            shift[first + whole + 1, first] += part
    return shift


@lru_cache
def kernels(window: int, smoothing: int) -> tuple[Array, Array]:
    """What one period's torque and one reading add to successive rows, as in RowSums."""
    torque = np.convolve(np.ones(window), (0.5, 0.5))
    torque = np.convolve(torque, np.ones(smoothing)) / smoothing
    reading = np.zeros(window + smoothing + 1)
    np.add.at(reading, [0, smoothing, window, window + smoothing], (1.0, -1.0, -1.0, 1.0))
    return torque, reading / smoothing


@dataclass(frozen=True)
class MotionScale:
    """The size of motions and torques of a robot under identification.

    Attributes:
        velocity: m/s.
        yaw_rate: rad/s.
        torque: of one wheel, N m.
    """

    velocity: float
    yaw_rate: float
    torque: float


# Windows that fill a bucket.
FULL_BUCKET = 10


class Coverage:
    """How much of the motion that each parameter needs has been seen: windows in buckets.

    K5 needs turning to both sides, K6 driving while turning in all four combinations, K7 torques in
    common to both sides and K8 opposite ones.

    Args:
        scale: of the motion; a window counts beyond a tenth of it.
    """

    def __init__(self, scale: MotionScale) -> None:
        self._scale = scale
        self._counts = [np.zeros(2), np.zeros(4), np.zeros(2), np.zeros(2)]

    def add(self, rows: Array, span: float) -> None:
        """Count rows; span is the length of a row's window, s."""
        scale = self._scale
        v = _side(rows[:, V] / span, 0.1 * scale.velocity)
        omega = _side(rows[:, OMEGA] / span, 0.1 * scale.yaw_rate)
        total = _side(rows[:, SUM.start] / span, 0.2 * scale.torque)
        difference = _side(rows[:, DIFFERENCE.start] / span, 0.2 * scale.torque)
        for counts, side in ((0, omega), (2, total), (3, difference)):
            self._counts[counts] += (np.sum(side > 0), np.sum(side < 0))
        self._counts[1] += [np.sum((v == a) & (omega == b)) for a in (1, -1) for b in (1, -1)]

    def forget(self, factor: float) -> None:
        """Let the counts so far be worth this factor (0 to 1) only."""
        for counts in self._counts:
            counts *= factor

    def shares(self) -> tuple[float, float, float, float]:
        """Share of the buckets of [K5, K6, K7, K8] that is full, 0 to 1."""
        k5, k6, k7, k8 = (float(np.minimum(c / FULL_BUCKET, 1.0).mean()) for c in self._counts)
        return k5, k6, k7, k8


def _side(values: Array, threshold: float) -> Array:
    """+1, 0 or -1: on which side of the threshold."""
    return np.where(np.abs(values) > threshold, np.sign(values), 0.0)
