# SPDX-License-Identifier: Apache-2.0
"""Gains ks, kv, ka of V = ks sign(v) + kv v + ka dv/dt, from segments with unknown initial state.

In a segment the voltage and the motion have one direction, so that friction is constant. With
tau = ka / kv and g = 1 / kv, and for a voltage that is held between samples,

    v(k) = v_0 exp(-k T / tau) + g (R V)(k) - g ks (R s)(k)

where R is the response of unit gain from rest, and s the direction. All parameters but tau enter
linearly and are eliminated (variable projection), including the velocity v_0 at each segment's
first sample that counts. So the result does not depend on how a segment began: before that sample
a wheel may cross its backlash or slip, or a filter may still be filling.

In a step of constant voltage, tau is determined by the approach of the velocity to its final value.
The dead time is not observable in it, and in a ramp it only adds to ks. It is treated as known,
with a deviation that is included in the intervals of all three gains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

from diffbot_ident.velocity.first_order import Array, AxisSegment, correlated_covariance

# Search range of the time constant, as multiples of a period and of the longest segment, and number
# of grid points.
FASTEST, SLOWEST, GRID = 0.5, 3.0, 12
# Half width of the search around a given time constant, in log tau.
REACH = 1.0
# Step of the derivative by log tau.
STEP = 1e-3
# Relative standard deviation of a gain beyond which it is not identifiable.
LARGEST_RELATIVE_STD = 0.5
# Minimum number of samples of a segment that count.
LEAST_SAMPLES = 5


@dataclass(frozen=True)
class VoltageGains:
    """Gains of one side or axis.

    Attributes:
        ks: Static gain, V.
        kv: Velocity gain, V s/m (or V s/rad).
        ka: Acceleration gain, V s^2/m (or V s^2/rad).
        covariance: Covariance of [ks, kv, ka], shape (3, 3); infinite variances where not
            identifiable.
        dead_time: Dead time as given, s.
        residuals: Measured minus fitted velocity of each segment, for the samples that count.
    """

    ks: float
    kv: float
    ka: float
    covariance: Array
    dead_time: float
    residuals: tuple[Array, ...]

    @property
    def std(self) -> tuple[float, float, float]:
        """Standard deviations of ks, kv and ka."""
        ks, kv, ka = np.sqrt(np.diag(self.covariance)).tolist()
        return ks, kv, ka

    def simulate(self, segment: AxisSegment) -> Array:
        """Simulate the velocity by the voltage, from the best initial velocity, shape (n,).

        Samples before the first one that counts are 0 and have no meaning.
        """
        stretch = _CountedSegment(segment, self.dead_time)
        columns, decay = stretch.columns(max(self.ka / self.kv, 1e-9))
        forced = columns @ np.array([1.0 / self.kv, self.ks / self.kv])
        missed = stretch.velocity - forced
        chosen = stretch.counts
        power = float(decay[chosen] @ decay[chosen])
        start = float(decay[chosen] @ missed[chosen]) / power if power > 0.0 else 0.0
        found = np.zeros(len(segment.velocity))
        found[stretch.first :] = forced + start * decay
        return found


def fit_voltage_gains(
    segments: Sequence[AxisSegment],
    dead_time: float = 0.0,
    dead_time_std: float = 0.0,
    near: float | None = None,
) -> VoltageGains:
    """Fit ks, kv and ka.

    Args:
        segments: Segments with one period, with the voltage in the direction of motion; initial
            samples that do not count only provide past voltages.
        dead_time: Dead time of the measurement, s, >= 0.
        dead_time_std: Standard deviation of the dead time, s.
        near: Approximate time constant ka / kv, s, e.g. of another fit to mostly the same data;
            None: the whole range is searched.

    Raises:
        ValueError: No segment is long enough.
    """
    fit = _Fit(segments, dead_time, near)
    gains, covariance = fit.gains()
    if dead_time_std > 0.0:
        other, _ = _Fit(segments, dead_time + dead_time_std, float(gains[2] / gains[1])).gains()
        shift = other - gains
        covariance = covariance + np.outer(shift, shift)
    vague = ~(np.sqrt(np.diag(covariance)) < LARGEST_RELATIVE_STD * np.abs(gains))
    for i in (1, 2):
        if vague[i]:
            covariance[i, i] = math.inf
    ks, kv, ka = gains.tolist()
    return VoltageGains(ks, kv, ka, covariance, dead_time, fit.residuals)


class _CountedSegment:
    """A segment from its first sample that counts."""

    def __init__(self, segment: AxisSegment, dead_time: float) -> None:
        counts = segment.counts
        self.first = int(np.argmax(counts))
        self.period = segment.period
        late = np.arange(len(counts)) - dead_time / segment.period
        # Before its first row, a test is assumed to have held the voltage of that row.
        voltage = np.interp(late, np.arange(len(counts)), segment.command)
        sign = np.full(len(counts), np.sign(np.sum(segment.command)))
        self.drive: Array = np.column_stack((voltage, -sign))[self.first :]
        self.velocity: Array = segment.velocity[self.first :]
        self.counts = counts[self.first :]

    def columns(self, tau: float) -> tuple[Array, Array]:
        """Return the responses to voltage and friction, (n, 2), and to the first velocity, (n,)."""
        decay: Array = np.exp(-self.period / tau * np.arange(len(self.drive)))
        return _response(self.drive, self.period, tau), decay


def _response(drive: Array, period: float, tau: float) -> Array:
    """Return the response of unit gain from rest to held inputs, in the shape of drive."""
    b, a = (0.0, -math.expm1(-period / tau)), (1.0, -math.exp(-period / tau))
    found: Array = lfilter(b, a, drive, axis=0)
    return found


class _Fit:
    """The fit with the minimum sum of squares over log tau.

    Args:
        segments: Segments as in fit_voltage_gains.
        dead_time: Dead time, s.
        near: Approximate time constant as in fit_voltage_gains.
    """

    def __init__(
        self, segments: Sequence[AxisSegment], dead_time: float, near: float | None
    ) -> None:
        found = [_CountedSegment(segment, dead_time) for segment in segments]
        stretches = [s for s in found if np.count_nonzero(s.counts) >= LEAST_SAMPLES]
        if not stretches:
            raise ValueError(
                f"no stretch of motion has {LEAST_SAMPLES} readings: record for longer"
            )
        self._period = period = stretches[0].period
        longest = period * max(len(s.velocity) for s in stretches)
        # All are filtered as one series: the response that one leaves in the next decays like the
        # next one's first velocity, and is eliminated with it.
        self._drive = np.concatenate([s.drive for s in stretches])
        self._use = np.concatenate([s.counts for s in stretches])
        self._velocity = np.concatenate([s.velocity for s in stretches])[self._use]
        self._since = np.concatenate([np.flatnonzero(s.counts) for s in stretches])
        self._lengths = [int(np.count_nonzero(s.counts)) for s in stretches]
        self._firsts = np.cumsum([0, *self._lengths[:-1]])
        self._bounds = math.log(FASTEST * period), math.log(SLOWEST * longest)
        bounds = self._around(near) if near is not None and near > 0.0 else self._best_of_grid()
        found = minimize_scalar(
            self._error, bounds=bounds, method="bounded", options={"xatol": 1e-4}
        )
        self._log_tau = float(found.x)
        self._linear = self._solve(self._log_tau)
        error = self._missed(self._log_tau, self._linear)
        self.residuals: tuple[Array, ...] = tuple(np.split(error, self._firsts[1:]))

    def _around(self, near: float) -> tuple[float, float]:
        low, high = self._bounds
        middle = min(max(math.log(near), low + REACH), high - REACH)
        return max(middle - REACH, low), min(middle + REACH, high)

    def _best_of_grid(self) -> tuple[float, float]:
        """Return the neighbours of the best time constant of a grid, in log tau."""
        grid = np.linspace(*self._bounds, GRID)
        best = int(np.argmin([self._error(value) for value in grid]))
        return float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID - 1)])

    def gains(self) -> tuple[Array, Array]:
        """Return [ks, kv, ka] and their covariance, for residuals correlated in time."""
        (gain, friction), tau = self._linear.tolist(), math.exp(self._log_tau)
        higher, lower = (self._missed(self._log_tau + step, self._linear) for step in (STEP, -STEP))
        jacobian = np.column_stack(((higher - lower) / (2.0 * STEP), -self._projected(tau)[0]))
        residuals = np.concatenate(self.residuals)
        of_theta = correlated_covariance(jacobian, residuals, self._lengths)
        values = np.array([friction / gain, 1.0 / gain, tau / gain])
        turn = np.array(
            [
                [0.0, -friction / gain**2, 1.0 / gain],
                [0.0, -1.0 / gain**2, 0.0],
                [tau / gain, -tau / gain**2, 0.0],
            ]
        )
        with np.errstate(invalid="ignore"):
            covariance = turn @ of_theta @ turn.T
        covariance[np.isnan(covariance)] = math.inf
        return values, covariance

    def _projected(self, tau: float) -> tuple[Array, Array]:
        """Return columns and velocities of the samples that count, with v_0 eliminated."""
        response = _response(self._drive, self._period, tau)[self._use]
        decay = np.exp(-self._period / tau * self._since)
        x = np.vstack((response.T, self._velocity))
        power = np.add.reduceat(decay * decay, self._firsts)
        shares = np.add.reduceat(x * decay, self._firsts, axis=1) / power
        x -= np.repeat(shares, self._lengths, axis=1) * decay
        return x[:2].T, x[2]

    def _solve(self, log_tau: float) -> Array:
        """Return the best [gain, gain times friction]."""
        columns, velocity = self._projected(math.exp(log_tau))
        return _least_squares(columns, velocity)

    def _missed(self, log_tau: float, linear: Array) -> Array:
        columns, velocity = self._projected(math.exp(log_tau))
        missed: Array = velocity - columns @ linear
        return missed

    def _error(self, log_tau: float) -> float:
        columns, velocity = self._projected(math.exp(log_tau))
        missed = velocity - columns @ _least_squares(columns, velocity)
        return float(missed @ missed)


def _least_squares(columns: Array, values: Array) -> Array:
    """Return the coefficients, shape (2,); by scaled normal equations, as there are only two."""
    gram, right = columns.T @ columns, columns.T @ values
    scale = np.sqrt(np.diag(gram))
    scale[scale == 0.0] = 1.0
    scaled = gram / np.outer(scale, scale)
    found: Array = np.linalg.lstsq(scaled, right / scale, rcond=1e-12)[0] / scale
    return found
