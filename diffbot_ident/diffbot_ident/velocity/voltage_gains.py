# SPDX-License-Identifier: Apache-2.0
"""Gains ks, kv, ka of V = ks sign(v) + kv v + ka dv/dt, from stretches whose start is unknown.

In a stretch the voltage pushes one way and the axis moves that way, so that friction is a constant
effort. With tau = ka / kv and g = 1 / kv, and for a voltage that is held between samples,

    v(k) = v_0 exp(-k T / tau) + g (R V)(k) - g ks (R s)(k)

where R is the response of unit gain from rest, and s the direction. All but tau enter linearly:
they are eliminated (variable projection), the velocity v_0 at each stretch's first sample that
counts, too. So nothing depends on how a stretch began. What comes before that sample may be a wheel
that jumps through its backlash, slips, or a filter that has not filled yet.

In a step of constant voltage, tau is seen in how the velocity approaches its end; the dead time
is not seen at all, and in a ramp it only adds to ks. It is taken as known, with a deviation that
goes into the intervals of all three.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

from diffbot_ident.velocity.first_order import Array, AxisSegment, correlated_covariance

# Time constants that are tried: from this share of a period to this share of all stretches.
FASTEST, SLOWEST, GRID = 0.5, 3.0, 12
# Factor, as a logarithm, in which a time constant is sought that is near to another one.
REACH = 1.0
# Step of the derivative by log tau.
STEP = 1e-3
# Deviation of a gain over itself beyond which it is not identifiable.
LARGEST_RELATIVE_STD = 0.5
# Samples that count which a stretch needs.
LEAST_SAMPLES = 5


@dataclass(frozen=True)
class VoltageGains:
    """Gains of one side or axis.

    Attributes:
        ks: V.
        kv: V s/m (or V s/rad).
        ka: V s^2/m (or V s^2/rad).
        covariance: of [ks, kv, ka], shape (3, 3); infinite variances where not identifiable.
        dead_time: s, as given.
        residuals: measured minus fitted velocity of each stretch, of the samples that count.
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
        """Velocity by the voltage, its first one that which fits best, shape (n,).

        Samples before the first that counts are 0: they say nothing.
        """
        stretch = _Stretch(segment, self.dead_time)
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
        segments: stretches of one period in which the voltage pushes the way of the motion;
            samples that do not count at their beginning only give past voltages.
        dead_time: of the measurement, s, >= 0.
        dead_time_std: how well it is known, s.
        near: time constant ka / kv that it is near to, s, as of another fit to much of the same
            data; None: all are tried.

    Raises:
        ValueError: nothing to fit: no stretch is long enough, or the voltage never changes.
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


class _Stretch:
    """One segment from its first sample that counts on."""

    def __init__(self, segment: AxisSegment, dead_time: float) -> None:
        counts = segment.counts
        self.first = int(np.argmax(counts))
        self.period = segment.period
        late = np.arange(len(counts)) - dead_time / segment.period
        # Before its first row, a test held the voltage of that row.
        voltage = np.interp(late, np.arange(len(counts)), segment.command)
        sign = np.full(len(counts), np.sign(np.sum(segment.command)))
        self.drive: Array = np.column_stack((voltage, -sign))[self.first :]
        self.velocity: Array = segment.velocity[self.first :]
        self.counts = counts[self.first :]

    def columns(self, tau: float) -> tuple[Array, Array]:
        """Responses to voltage and friction, shape (n, 2), and of the first velocity, (n,)."""
        decay: Array = np.exp(-self.period / tau * np.arange(len(self.drive)))
        return _response(self.drive, self.period, tau), decay


def _response(drive: Array, period: float, tau: float) -> Array:
    """Response of unit gain from rest to what is held between samples, shape of drive."""
    b, a = (0.0, -math.expm1(-period / tau)), (1.0, -math.exp(-period / tau))
    found: Array = lfilter(b, a, drive, axis=0)
    return found


class _Fit:
    """The least sum of squares over log tau.

    Args:
        segments: see fit_voltage_gains.
        dead_time: s.
        near: see there.
    """

    def __init__(
        self, segments: Sequence[AxisSegment], dead_time: float, near: float | None
    ) -> None:
        found = [_Stretch(segment, dead_time) for segment in segments]
        stretches = [s for s in found if np.count_nonzero(s.counts) >= LEAST_SAMPLES]
        if not stretches:
            raise ValueError(
                f"no stretch of motion has {LEAST_SAMPLES} readings: record for longer"
            )
        self._period = period = stretches[0].period
        longest = period * max(len(s.velocity) for s in stretches)
        # All are filtered as one series: what one leaves behind in the next decays as the next
        # one's first velocity does, and is taken out with it.
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
        """The neighbours of the best of some time constants."""
        grid = np.linspace(*self._bounds, GRID)
        best = int(np.argmin([self._error(value) for value in grid]))
        return float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID - 1)])

    def gains(self) -> tuple[Array, Array]:
        """[ks, kv, ka] and their covariance, under residuals that are correlated in time."""
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
        """Columns and velocities of the samples that count, without what v_0 explains."""
        response = _response(self._drive, self._period, tau)[self._use]
        decay = np.exp(-self._period / tau * self._since)
        x = np.vstack((response.T, self._velocity))
        power = np.add.reduceat(decay * decay, self._firsts)
        shares = np.add.reduceat(x * decay, self._firsts, axis=1) / power
        x -= np.repeat(shares, self._lengths, axis=1) * decay
        return x[:2].T, x[2]

    def _solve(self, log_tau: float) -> Array:
        """[gain, gain times friction] that fit best."""
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
    """Coefficients, shape (2,); by scaled normal equations, as there are only two."""
    gram, right = columns.T @ columns, columns.T @ values
    scale = np.sqrt(np.diag(gram))
    scale[scale == 0.0] = 1.0
    scaled = gram / np.outer(scale, scale)
    found: Array = np.linalg.lstsq(scaled, right / scale, rcond=1e-12)[0] / scale
    return found
