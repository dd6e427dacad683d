# SPDX-License-Identifier: Apache-2.0
"""Gains ks, kv, ka of V = ks sign(v) + kv v + ka dv/dt from segments, and the delay of a SysId log.

With tau = ka / kv and g = 1 / kv, R the response of unit gain from rest, s the direction,

    v(k) = v_0 exp(-k T / tau) + g (R V)(k) - g ks (R s)(k)

All but tau is linear and eliminated; docs/theory/velocity_robots.md#voltage-gains. The delay is the
shorter of two estimates: docs/theory/recordings.md#delay-of-a-sysid-log.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from diffbot_ident.velocity.bounded_search import BoundedSearch
from diffbot_recordings.all_pole_filter import after_one_sample
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.correlated_residuals import correlated_covariance
from diffbot_recordings.first_order import Array
from diffbot_recordings.verdict import Value

# Search range of the time constant, as multiples of a period and of the longest segment, and number
# of grid points.
FASTEST, SLOWEST, GRID = 0.5, 3.0, 12
# Half width of the search around a given time constant, in log tau.
REACH = 1.0
# A search ends at its end within this distance, in log tau.
END = 1e-2
STEP = 1e-3
# Relative standard deviation of a gain beyond which it is not identifiable.
LARGEST_RELATIVE_STD = 0.5
LEAST_SAMPLES = 5


@dataclass(frozen=True)
class VoltageGains:
    """Gains of one side or axis: ks, V; kv, V s/m (or V s/rad); ka, V s^2/m (or V s^2/rad).

    Attributes:
        covariance: Covariance of [ks, kv, ka], (3, 3); infinite variances where not identifiable.
        dead_time: Dead time as given, s.
        residuals: Measured minus fitted velocity of each segment, for the samples that count.
        own_friction: By how much the friction of each group with its own exceeds ks, V, and its
            standard deviation, shape (groups, 2).
    """

    ks: float
    kv: float
    ka: float
    covariance: Array
    dead_time: float
    residuals: tuple[Array, ...]
    own_friction: Array = field(default_factory=lambda: np.zeros((0, 2)))

    @property
    def std(self) -> tuple[float, float, float]:
        ks, kv, ka = np.sqrt(np.diag(self.covariance)).tolist()
        return ks, kv, ka

    def simulate(self, segment: AxisSegment, more_friction: float = 0.0) -> Array:
        """Simulate the velocity by the voltage, from the best initial velocity, shape (n,).

        Samples before the first one that counts are 0. `more_friction` is what exceeds ks, V.
        """
        stretch = _CountedSegment(segment, self.dead_time)
        columns, decay = stretch.columns(max(self.ka / self.kv, 1e-9))
        forced = columns @ np.array([1.0 / self.kv, (self.ks + more_friction) / self.kv])
        missed = stretch.velocity - forced
        chosen = stretch.counts
        power = float(decay[chosen] @ decay[chosen])
        start = float(decay[chosen] @ missed[chosen]) / power if power > 0.0 else 0.0
        result = np.zeros(len(segment.velocity))
        result[stretch.first :] = forced + start * decay
        return result


def fit_voltage_gains(
    segments: Sequence[AxisSegment],
    dead_time: float = 0.0,
    dead_time_std: float = 0.0,
    near: float | None = None,
    own: Sequence[int | None] | None = None,
) -> VoltageGains:
    """Fit ks, kv and ka.

    Args:
        segments: Segments with one period, with the voltage in the direction of motion; initial
            samples that do not count only provide past voltages.
        dead_time: Dead time of the measurement, s, >= 0.
        dead_time_std: Standard deviation of the dead time, s.
        near: Approximate time constant ka / kv, s; None: the whole range is searched.
        own: For each segment the group, 0, 1, ..., with which it shares a friction of its own; None
            for those with friction ks, or for all.

    Raises:
        ValueError: No segment is long enough.
    """
    fit = _Fit(segments, dead_time, near, own)
    gains, covariance = fit.gains()
    if dead_time_std > 0.0:
        tau = float(gains[2] / gains[1])
        other, _ = _Fit(segments, dead_time + dead_time_std, tau, own).gains()
        shift = other - gains
        covariance = covariance + np.outer(shift, shift)
    if not fit.time_constant.inside:
        covariance[2] = covariance[:, 2] = 0.0
        covariance[2, 2] = math.inf
    more = np.column_stack((gains[3:], np.sqrt(np.diag(covariance)[3:])))
    gains, covariance = gains[:3], covariance[:3, :3]
    vague = ~(np.sqrt(np.diag(covariance)) < LARGEST_RELATIVE_STD * np.abs(gains))
    for i in (1, 2):
        if vague[i]:
            covariance[i, i] = math.inf
    ks, kv, ka = gains.tolist()
    return VoltageGains(ks, kv, ka, covariance, dead_time, fit.residuals, more)


class _CountedSegment:
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

    def driven(self, group: int | None, groups: int) -> Array:
        own = np.zeros((len(self.drive), groups))
        if group is not None:
            own[:, group] = self.drive[:, 1]
        return np.column_stack((self.drive, own))

    def columns(self, tau: float) -> tuple[Array, Array]:
        """Return the responses to voltage and friction, (n, 2), and to the first velocity, (n,)."""
        decay: Array = np.exp(-self.period / tau * np.arange(len(self.drive)))
        return _response(self.drive, self.period, tau), decay


def _response(drive: Array, period: float, tau: float) -> Array:
    """Return the response of unit gain from rest to held inputs, in the shape of drive."""
    return after_one_sample(math.exp(-period / tau), -math.expm1(-period / tau) * drive)


class _Fit:
    def __init__(
        self,
        segments: Sequence[AxisSegment],
        dead_time: float,
        near: float | None,
        own: Sequence[int | None] | None,
    ) -> None:
        counted = [_CountedSegment(segment, dead_time) for segment in segments]
        groups = [None] * len(counted) if own is None else own
        pairs = [
            (stretch, group)
            for stretch, group in zip(counted, groups, strict=True)
            if np.count_nonzero(stretch.counts) >= LEAST_SAMPLES
        ]
        stretches = [stretch for stretch, _ in pairs]
        if not stretches:
            raise ValueError(
                f"no stretch of motion has {LEAST_SAMPLES} readings: record for longer"
            )
        self._period = period = stretches[0].period
        longest = period * max(len(s.velocity) for s in stretches)
        # Filtered as one series: what one leaves in the next decays like the next one's first
        # velocity.
        count = 1 + max((group for _, group in pairs if group is not None), default=-1)
        self._drive = np.concatenate([s.driven(group, count) for s, group in pairs])
        self._use = np.concatenate([s.counts for s in stretches])
        self._velocity = np.concatenate([s.velocity for s in stretches])[self._use]
        self._since = np.concatenate([np.flatnonzero(s.counts) for s in stretches])
        self._lengths = [int(np.count_nonzero(s.counts)) for s in stretches]
        self._firsts = np.cumsum([0, *self._lengths[:-1]])
        self._bounds = math.log(FASTEST * period), math.log(SLOWEST * longest)
        self._log_tau = self._searched(near)
        low, high = (math.exp(bound) for bound in self._bounds)
        self.time_constant = BoundedSearch(
            "time constant",
            math.exp(self._log_tau),
            low,
            high,
            margin=END * math.exp(self._log_tau),
        )
        self._linear = _least_squares(*self._projected(math.exp(self._log_tau)))
        error = self._missed(self._log_tau, self._linear)
        self.residuals: tuple[Array, ...] = tuple(np.split(error, self._firsts[1:]))

    def _searched(self, near: float | None) -> float:
        """Return the best log tau: around a given one, or of all if that search ends at its end."""
        if near is not None and near > 0.0:
            low, high = self._around(near)
            result = self._minimum((low, high))
            if BoundedSearch("log tau", result, low, high, "", margin=END).inside:
                return result
        return self._minimum(self._best_of_grid())

    def _minimum(self, bounds: tuple[float, float]) -> float:
        result = scipy.optimize.minimize_scalar(
            self._error, bounds=bounds, method="bounded", options={"xatol": 1e-4}
        )
        return float(result.x)

    def _around(self, near: float) -> tuple[float, float]:
        low, high = self._bounds
        middle = min(max(math.log(near), low + REACH), high - REACH)
        return max(middle - REACH, low), min(middle + REACH, high)

    def _best_of_grid(self) -> tuple[float, float]:
        grid = np.linspace(*self._bounds, GRID)
        best = int(np.argmin([self._error(value) for value in grid]))
        return float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID - 1)])

    def gains(self) -> tuple[Array, Array]:
        """Return [ks, kv, ka, own frictions] and covariance, for residuals correlated in time."""
        (gain, friction, *own), tau = self._linear.tolist(), math.exp(self._log_tau)
        higher, lower = (self._missed(self._log_tau + step, self._linear) for step in (STEP, -STEP))
        jacobian = np.column_stack(((higher - lower) / (2.0 * STEP), -self._projected(tau)[0]))
        residuals = np.concatenate(self.residuals)
        of_theta = correlated_covariance(jacobian, residuals, self._lengths)
        more = [each / gain for each in own]
        values = np.array([friction / gain, 1.0 / gain, tau / gain, *more])
        turn = np.zeros((len(values), len(values)))
        turn[0, 1:3] = -friction / gain**2, 1.0 / gain
        turn[1, 1] = -1.0 / gain**2
        turn[2, :2] = tau / gain, -tau / gain**2
        for i, each in enumerate(own, 3):
            turn[i, 1], turn[i, i] = -each / gain**2, 1.0 / gain
        with np.errstate(invalid="ignore"):
            covariance = turn @ of_theta @ turn.T
        covariance[np.isnan(covariance)] = math.inf
        return values, covariance

    def _projected(self, tau: float) -> tuple[Array, Array]:
        response = _response(self._drive, self._period, tau)[self._use]
        decay = np.exp(-self._period / tau * self._since)
        x = np.vstack((response.T, self._velocity))
        power = np.add.reduceat(decay * decay, self._firsts)
        shares = np.add.reduceat(x * decay, self._firsts, axis=1) / power
        x -= np.repeat(shares, self._lengths, axis=1) * decay
        return x[:-1].T, x[-1]

    def _missed(self, log_tau: float, linear: Array) -> Array:
        columns, velocity = self._projected(math.exp(log_tau))
        missed: Array = velocity - columns @ linear
        return missed

    def _error(self, log_tau: float) -> float:
        columns, velocity = self._projected(math.exp(log_tau))
        missed = velocity - columns @ _least_squares(columns, velocity)
        return float(missed @ missed)


def _least_squares(columns: Array, values: Array) -> Array:
    """Return the coefficients, shape (k,); by scaled normal equations, as there are only few."""
    gram, right = columns.T @ columns, columns.T @ values
    scale = np.sqrt(np.diag(gram))
    scale[scale == 0.0] = 1.0
    scaled = gram / np.outer(scale, scale)
    result: Array = np.linalg.lstsq(scaled, right / scale, rcond=1e-12)[0] / scale
    return result


# Longest delay that is searched, s.
LONGEST = 1.0
# Rows from the first motion to the visible one, and their standard deviation.
SEEN_LATE, ROWS = 0.75, 0.6
# Visible: NOISE standard deviations of noise, and this share of the largest velocity.
NOISE, SEEN = 5.0, 0.01
# A filter's delay without positions, s (they average over 0 to 20 ms), and its deviation.
FILTER, FILTER_STD = 0.005, 0.003
# Share of a filter's delay after the first visible motion, its deviation, and that of a delay by
# positions, s.
AFTER, AFTER_STD, POSITIONS_STD = 0.6, 0.1, 0.0005
# Relative error of velocities against positions; least rows.
SCALE, LEAST_ROWS = 0.05, 20
FROM_REST_STD = 0.002


@dataclass(frozen=True)
class SysIdDelay:
    """Delay of the velocities after the voltage.

    Attributes:
        dead_time: Time to the first motion, s; not identifiable if no motion is visible.
        total: Dead time plus the delay of the filter, s.
        std: Standard deviation of `total`, s.
    """

    dead_time: Value
    total: float
    std: float

    @classmethod
    def seen(cls, dead_time: Value, filters: Sequence[float]) -> SysIdDelay:
        """Return the delay from the dead time, and from filter delays by positions, s."""
        late, std = FILTER, FILTER_STD
        if filters:
            late = AFTER * float(np.mean(filters))
            own = AFTER * math.hypot(deviation_of_mean(filters), POSITIONS_STD)
            std = math.hypot(own, AFTER_STD * late / AFTER)
        if not dead_time.identifiable:
            return cls(dead_time, late, math.hypot(0.01, std))
        return cls(dead_time, dead_time.value + late, math.hypot(dead_time.std, std))

    def from_rest(self, results: Sequence[float]) -> SysIdDelay:
        """Return the delay from rest of fast tests, s, if shorter; otherwise self unchanged."""
        if not results or float(np.mean(results)) >= self.total:
            return self
        std = math.hypot(deviation_of_mean(results), FROM_REST_STD)
        return SysIdDelay(self.dead_time, float(np.mean(results)), std)


def deviation_of_mean(values: Sequence[float]) -> float:
    """Return the standard deviation of a mean, from the spread; 0 for a single value."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def seen_dead_time(voltage: Array, velocity: Array, period: float) -> float | None:
    """Return the time from a fast test's voltage step to the first motion, s; None: not visible."""
    steps = np.diff(velocity)
    noise = float(np.median(np.abs(steps))) / (0.6745 * math.sqrt(2.0)) if len(steps) else 0.0
    moving = np.abs(velocity) > max(NOISE * noise, SEEN * float(np.abs(velocity).max(initial=0.0)))
    if not moving.any():
        return None
    rows = int(np.argmax(moving)) - step_row(voltage)
    return period * (rows - SEEN_LATE) if rows > 0 else None


def step_row(voltage: Array) -> int:
    """Return the row of a fast test at which the voltage steps up."""
    sizes = np.abs(voltage)
    return int(np.argmax(sizes > 0.5 * float(sizes.max(initial=0.0))))


def dead_time_of(results: Sequence[float], period: float) -> Value:
    """Return the mean dead time of fast tests, s; not identifiable if none or too long."""
    if not results or not all(each.inside for each in searched(results)):
        return Value("dead time", math.nan, math.inf, "s")
    own = ROWS * period / math.sqrt(len(results))
    std = math.hypot(own, deviation_of_mean(results))
    return Value("dead time", float(np.mean(results)), std, "s")


def searched(results: Sequence[float]) -> list[BoundedSearch]:
    """Return how the searches of dead times, s, ended; those beyond the longest are no result."""
    return [
        BoundedSearch("dead time", min(each, LONGEST), 0.0, LONGEST, natural_low=True)
        for each in results
    ]


def filter_delay(velocity: Array, position: Array, period: float) -> float | None:
    """Return the delay of velocities after the change of positions, s; None: not identifiable."""
    finite = np.isfinite(position).all() and np.isfinite(velocity).all()
    if len(velocity) < LEAST_ROWS or not finite or np.ptp(position) == 0.0:
        return None
    path = np.concatenate(([0.0], np.cumsum(0.5 * (velocity[1:] + velocity[:-1])))) * period
    columns = np.column_stack((path, velocity, np.ones_like(velocity)))
    scale, late, _ = np.linalg.lstsq(columns, position, rcond=None)[0].tolist()
    if abs(scale - 1.0) > SCALE or not late >= -period:
        return None
    return max(float(late), 0.0)


def delay_from_rest(segment: AxisSegment, since: float, fit: VoltageGains) -> float | None:
    """Return the time from a fast test's voltage step to the fitted start, s, if there is one.

    `since`: time from the step to the first sample that counts of the segment, s.
    """
    first = int(np.argmax(segment.counts))
    rows = max(round(since / segment.period), 1)
    voltage = float(np.mean(np.abs(segment.command[max(first - rows, 0) : first + 1])))
    end, tau = (voltage - fit.ks) / fit.kv, fit.ka / fit.kv
    fraction = abs(float(fit.simulate(segment)[first])) / end if end > 0.0 else 1.0
    if not (0.0 < fraction < 1.0 and tau > 0.0):
        return None
    delay = since + tau * math.log1p(-fraction)
    return delay if -segment.period <= delay <= LONGEST else None
