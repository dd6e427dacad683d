# SPDX-License-Identifier: Apache-2.0
"""First-order dynamics of one velocity-commanded axis, fitted by output error.

    s_inertia dv/dt + s_drag v = command(t - d)        v: sigma1, sigma3;  omega: sigma2, sigma4

Intervals hold for residuals correlated in time; docs/theory/velocity_robots.md#output-error.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from arc_odometry.number_range import Array as Array
from diffbot_ident.velocity.bounded_search import BoundedSearch
from diffbot_recordings.all_pole_filter import after_one_sample
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.correlated_residuals import bounded_covariance, correlated_covariance
from diffbot_recordings.smoothed_response import (
    UNSMOOTHED,
    Drive,
    ForcedResponse,
    PaddedCommands,
    Smoothing,
    reach_of,
)

T = TypeVar("T")

# Standard deviation of log tau, or relative one of the gain, beyond which it is not identifiable.
LARGEST_RELATIVE_STD = 0.5
# Share of the period below which a time constant cannot be distinguished from noise.
FAST = 1.0 / 3.0
# Number of initial time constants if no start is given: from half a period to the longest segment.
GRID = 12
# Readings that are enough for a first guess.
FEW = 250
# Minimum number of samples of a segment, in addition to those of the dead time.
LEAST_SAMPLES = 3
# Limits of a time constant: a share of the period, and a multiple of the duration of all samples.
FASTEST, SLOWEST = 0.05, 100.0
# By how much a dead time that is the lead may be longer than it by rounding, as a share.
ROUNDING = 1e-12


@dataclass(frozen=True)
class FirstOrder:
    """Dynamics of one axis, (3) of the 2023 paper.

        >>> FirstOrder(inertia=0.5, drag=1.0).simulate(np.ones(3), 0.5, 0.0).round(3).tolist()
        [0.0, 0.632, 0.865]

    Attributes:
        inertia: sigma1 or sigma2, s.
        drag: sigma3 or sigma4, dimensionless (unit of the command over that of the velocity).
    """

    inertia: float
    drag: float

    @property
    def time_constant(self) -> float:
        """Inertia / drag, s."""
        return self.inertia / self.drag

    @property
    def gain(self) -> float:
        """Velocity over constant command, 1 / drag."""
        return 1.0 / self.drag

    def simulate(
        self,
        command: Array,
        period: float,
        start: float,
        dead_time: float = 0.0,
        smoothing: Smoothing = UNSMOOTHED,
    ) -> Array:
        """Simulate the velocity at each sample, shape (n,), exactly for a command that is held.

        Args:
            command: Commands, shape (n,).
            period: Sampling period, s, > 0.
            start: Velocity at the first sample.
            dead_time: Dead time, s, >= 0; the first command is assumed to have been held before.
            smoothing: How the velocity is smoothed; its delay is part of the dead time.

        Raises:
            ValueError: The dead time is negative, or the axis is not stable (inertia / drag <= 0).
        """
        if not self.time_constant > 0.0:
            raise ValueError(
                f"inertia = {self.inertia}, drag = {self.drag}: must have the same sign"
            )
        command = np.asarray(command, dtype=float)
        if not len(command):
            return np.empty(0)
        padded = PaddedCommands([command], reach_of(_checked(dead_time), smoothing, period))
        drive = Drive.of(padded, period, dead_time, smoothing)
        response = ForcedResponse(self.time_constant, drive, period).values[padded.rows[0]]
        decay: Array = np.exp(-period / self.time_constant * np.arange(len(command)))
        return (start - self.gain * float(response[0])) * decay + self.gain * response


@dataclass(frozen=True)
class FirstOrderFit:
    """Parameters of one axis and their uncertainty.

    Attributes:
        covariance: Of [inertia in s, drag], shape (2, 2); infinite variances, as infinite standard
            deviations, where a parameter is not identifiable.
        residual_std: Standard deviation of measured minus simulated velocity.
        r_squared: 1 - SSE / SST of the free simulation, at most 1; NaN for a constant velocity.
        dead_time: Dead time as given, s.
        search: How the search of the time constant ended.
    """

    model: FirstOrder
    covariance: Array
    time_constant_std: float
    gain_std: float
    residual_std: float
    r_squared: float
    dead_time: float
    search: BoundedSearch

    @property
    def std(self) -> tuple[float, float]:
        inertia, drag = np.sqrt(np.diag(self.covariance)).tolist()
        return inertia, drag


def fit_first_order(
    segments: Sequence[AxisSegment],
    start: tuple[float, float] | None = None,
    dead_time: float = 0.0,
    smoothing: Smoothing = UNSMOOTHED,
) -> FirstOrderFit:
    """Fit one axis by output error.

        >>> command = np.repeat((0.0, 1.0, -1.0, 0.5), 30)
        >>> velocity = FirstOrder(0.5, 1.0).simulate(command, 0.05, 0.0)
        >>> fit = fit_first_order([AxisSegment(0.05, command, velocity)])
        >>> round(fit.model.inertia, 4), round(fit.model.drag, 4)
        (0.5, 1.0)

    Args:
        segments: At least one segment, all with the same period.
        start: Initial (inertia in s, drag), of equal sign; None: the best of a coarse grid.
        dead_time: Dead time, s, >= 0, treated as known.
        smoothing: How the velocity is smoothed, treated as known.

    Raises:
        ValueError: A fit is impossible: too few samples, different periods, a velocity or a command
            that never changes, or a start that is not stable.
    """
    problem = OutputError(segments, dead_time, dead_time, smoothing)
    theta = problem.first_guess() if start is None else problem.checked(start)
    result = scipy.optimize.least_squares(
        problem.residuals, theta, jac=problem.jacobian, method="lm", x_scale="jac", max_nfev=200
    )
    return fit_at(problem, result.x)[0]


def fit_at(
    problem: OutputError,
    theta: Array,
    others: Array | None = None,
    unknown: Array | None = None,
) -> tuple[FirstOrderFit, Array]:
    """Return the fit at the minimum, and the standard deviations of q additional parameters, (q,).

    Args:
        theta: [log tau, gain] at which the sum of squares is minimal.
        others: Derivatives of the residuals by the additional parameters, shape (n, q).
        unknown: Their standard deviations before any data, shape (q,); None: infinite.

    Raises:
        ValueError: The velocity does not depend on the command.
    """
    residuals, jacobian = problem.residuals(theta), problem.jacobian(theta)
    if others is not None:
        jacobian = np.column_stack((jacobian, others))
    of_all = correlated_covariance(jacobian, residuals, problem.lengths)
    if unknown is not None:
        for i in np.flatnonzero(np.isfinite(unknown)).tolist():
            known = float(unknown[i])
            of_all = bounded_covariance(of_all, jacobian, residuals, problem.lengths, 2 + i, known)
    tau, gain = problem.time_constant(theta), float(theta[1])
    if gain == 0.0:
        raise ValueError("the command is 0 wherever the velocity counts: record more steps of it")
    # Derivatives by log tau and gain of inertia = tau / gain and drag = 1 / gain.
    turn = np.array([[tau / gain, -tau / gain**2], [0.0, -1.0 / gain**2]])
    with np.errstate(invalid="ignore"):
        of_model = turn @ of_all[:2, :2] @ turn.T
    of_model[np.isnan(of_model)] = math.inf
    search = problem.time_constant_search(theta)
    if tau < FAST * problem.period or not search.inside:
        of_all[0, 0] = of_model[0, 0] = math.inf
    deviations = np.sqrt(np.diag(of_all))
    tau_std, gain_std = deviations[:2].tolist()
    inertia_fraction = math.sqrt(of_model[0, 0]) * abs(gain) / tau
    if not gain_std < LARGEST_RELATIVE_STD * abs(gain):
        gain_std = of_model[1, 1] = math.inf
    if not inertia_fraction < LARGEST_RELATIVE_STD:
        of_model[0, 0] = math.inf
    total = problem.measured - problem.measured.mean()
    fit = FirstOrderFit(
        model=FirstOrder(tau / gain, 1.0 / gain),
        covariance=of_model,
        time_constant_std=tau * tau_std if tau_std < LARGEST_RELATIVE_STD else math.inf,
        gain_std=gain_std,
        residual_std=float(np.sqrt(np.mean(residuals**2))),
        r_squared=1.0 - float(residuals @ residuals) / float(total @ total),
        dead_time=problem.dead_time,
        search=search,
    )
    return fit, deviations[2:]


class NothingActsError(ValueError):
    """A command never changes where its readings count; its text says what to record."""

    def __init__(self) -> None:
        super().__init__("command never changes within a stretch: record steps of the command")


class OutputError:
    """Residuals of all segments as functions of theta = [log tau, gain], and their Jacobian.

    All segments are filtered as one series: the response that one leaves in the next decays like
    the next one's free response, and is eliminated with it.

    Args:
        segments, dead_time, smoothing: See fit_first_order.
        lead: Time at each segment's beginning that is only used for past commands, s, >= dead_time.
            It must be equal for fits whose residuals are compared.
    """

    def __init__(
        self,
        segments: Sequence[AxisSegment],
        dead_time: float,
        lead: float,
        smoothing: Smoothing = UNSMOOTHED,
    ) -> None:
        if not segments:
            raise ValueError("segments is empty: must hold at least one")
        self.period = segments[0].period
        for segment in segments:
            if not math.isclose(segment.period, self.period, rel_tol=1e-9):
                raise ValueError(
                    f"segments have periods {self.period} s and {segment.period} s: must be one"
                )
        self._lead = lead
        self._skip = math.ceil(lead / self.period - 1e-9)
        # The first `skip` do not count: at the end of the lead a low-pass has forgotten the
        # beginning.
        uses = [segment.counts.copy() for segment in segments]
        for mask in uses:
            mask[: self._skip] = False
        self._long_enough = [np.count_nonzero(mask) >= LEAST_SAMPLES for mask in uses]
        # Only readings count, of which there may be one in `every` samples.
        self._every = segments[0].every
        if any(np.any(np.flatnonzero(mask) % self._every) for mask in uses):
            self._every = 1
        self._used = self._chosen([np.flatnonzero(mask) // self._every for mask in uses])
        self._set_commands(segments)
        self._set_drive(dead_time, smoothing)
        use = np.concatenate(self._chosen(uses))
        velocity = np.concatenate(self._chosen([segment.velocity for segment in segments]))
        self.measured: Array = velocity[use]
        if np.ptp(self.measured) == 0.0:
            raise ValueError(f"velocity is always {self.measured[0]:g}: check its channel")
        # Index of each sample relative to its segment's first one that counts.
        counting = [np.flatnonzero(mask) for mask in self._chosen(uses)]
        self._since = np.concatenate([k - k[0] for k in counting]).astype(float)
        self.lengths = [len(k) for k in counting]
        self._first = np.cumsum([0, *self.lengths[:-1]])
        self._longest = self.period * max(len(mask) for mask in self._chosen(uses))
        self._slowest = SLOWEST * self.period * len(use)

    def moved(
        self, segments: Sequence[AxisSegment], dead_time: float, smoothing: Smoothing
    ) -> OutputError:
        """Return the residuals of other commands, dead time and smoothing, with the same lead."""
        other = copy.copy(self)
        if segments is not self._segments:
            other._set_commands(segments)
        other._set_drive(dead_time, smoothing)
        return other

    def _set_commands(self, segments: Sequence[AxisSegment]) -> None:
        self._segments = segments
        self._commands = [segment.command for segment in self._chosen(segments)]
        if not self._commands:
            raise ValueError(
                f"no stretch is long enough: must be at least {self._skip + LEAST_SAMPLES} samples "
                f"with a lead of {self._lead:g} s; record for longer"
            )
        self._changes = [np.flatnonzero(np.diff(command)) for command in self._commands]
        self._pad(reach_of(self._lead, UNSMOOTHED, self.period))

    def _pad(self, reach: int) -> None:
        self._padded = PaddedCommands(self._commands, reach, self._every)
        rows = zip(self._padded.rows, self._used, strict=True)
        self._rows = np.concatenate([row[used] for row, used in rows])

    def _set_drive(self, dead_time: float, smoothing: Smoothing) -> None:
        if not self._lead * (1.0 + ROUNDING) >= _checked(dead_time):
            raise ValueError(f"lead = {self._lead} s: must be >= dead_time = {dead_time} s")
        dead_time = self.dead_time = min(dead_time, self._lead)
        self._smoothing = smoothing
        reach = reach_of(self._lead, smoothing, self.period)
        if self._padded.reach < reach:
            self._pad(reach)
        self._drive = Drive.of(self._padded, self.period, dead_time, smoothing)
        late = round((dead_time - smoothing.delay) / self.period)
        if not any(map(self._acts, self._commands, self._changes, repeat(late))):
            raise NothingActsError
        # Where the results of _evaluate hold, and the Jacobian there; None: not needed yet.
        self._theta: list[float] = []
        self._jacobian: Array | None = None

    def _acts(self, command: Array, changes: NDArray[np.int64], late: int) -> bool:
        acting = changes + late
        return bool(np.any((acting >= self._skip) & (acting < len(command) - 1)))

    def _chosen(self, values: Sequence[T]) -> list[T]:
        return [value for value, long in zip(values, self._long_enough, strict=True) if long]

    def checked(self, start: tuple[float, float]) -> Array:
        """Return theta of a start (inertia, drag) within the range, with the best gain."""
        inertia, drag = start
        if not (math.isfinite(inertia) and math.isfinite(drag) and inertia * drag > 0.0):
            raise ValueError(f"start = {start}: inertia and drag must be finite and of one sign")
        tau = min(max(inertia / drag, self.period), self._longest)
        return self.with_gain(math.log(tau))[1]

    def first_guess(self) -> Array:
        """Return the best theta of a grid of time constants, with its best gain."""
        log_taus, _ = self.guesses([round(self.dead_time / self.period)])
        return self.with_gain(float(log_taus[0]))[1]

    def with_gain(self, log_tau: float) -> tuple[float, Array]:
        """Return the sum of squares with the best gain for a time constant, and that theta."""
        theta = np.array([log_tau, 0.0])
        without, response = self.residuals(theta), -self._by_gain()
        power = float(response @ response)
        theta[1] = float(response @ without) / power if power > 0.0 else 0.0
        return float(np.sum((without - theta[1] * response) ** 2)), theta

    def guesses(self, lates: Sequence[int]) -> tuple[Array, Array]:
        """Return the best log tau and its sum of squares at m dead times, (m,) each.

        Both are of unsmoothed responses at about FEW readings, by a grid and a parabola through its
        best point. Dead times are whole samples.
        """
        thin = max(len(self._rows) // FEW, 1)
        offset = int(np.argmax(np.bincount(self._rows % thin)))
        chosen = np.flatnonzero(self._rows % thin == offset)
        at, measured = self._rows[chosen] // thin, self.measured[chosen]
        begins = np.diff(np.repeat(np.arange(len(self.lengths)), self.lengths)[chosen], prepend=-1)
        first, own = np.flatnonzero(begins), np.cumsum(begins > 0) - 1
        since = self._since[chosen] - self._since[chosen][first][own]
        width = thin * self._every
        commands = np.stack([self._padded.pieces(late, offset, width) for late in lates])
        log_taus = np.linspace(math.log(0.5 * self.period), math.log(self._longest), GRID)
        tried = np.empty((GRID, len(lates)))
        for i, x in enumerate((self.period / np.exp(log_taus)).tolist()):
            weights = -math.expm1(-x) * np.exp(-x * np.arange(width - 1.0, -1.0, -1.0))
            drive = (commands @ weights).T
            response = after_one_sample(math.exp(-x * width), drive)[at].T
            decay = np.exp(-x * since)
            power = np.add.reduceat(decay * decay, first)
            response -= (np.add.reduceat(response * decay, first, axis=1) / power)[:, own] * decay
            rest = measured - (np.add.reduceat(measured * decay, first) / power)[own] * decay
            powers = np.maximum(np.sum(response**2, axis=1), sys.float_info.min)
            tried[i] = rest @ rest - (response @ rest) ** 2 / powers
        best = np.clip(np.argmin(tried, axis=0), 1, GRID - 2)
        low, middle, high = (tried[best + k, np.arange(len(lates))] for k in (-1, 0, 1))
        bend = low - 2.0 * middle + high
        shift = 0.5 * (low - high) / np.where(bend > 0.0, bend, math.inf)
        shift = np.clip(shift, -1.0, 1.0)
        squares = middle - 0.25 * (low - high) * shift
        return log_taus[best] + shift * (log_taus[1] - log_taus[0]), squares

    def time_constant(self, theta: Array) -> float:
        """Return the time constant of theta, limited to what the samples can determine, s."""
        low, high = math.log(FASTEST * self.period), math.log(self._slowest)
        return math.exp(min(max(theta[0], low), high))

    def time_constant_search(self, theta: Array) -> BoundedSearch:
        """Return how a search that ended at theta ended; a lower end is natural."""
        low, high = FASTEST * self.period, self._slowest
        return BoundedSearch(
            "time constant", self.time_constant(theta), low, high, natural_low=True
        )

    def residuals(self, theta: Array) -> Array:
        """Return measured minus simulated velocity at all samples that count, shape (n,)."""
        self._evaluate(theta)
        return self._residuals

    def jacobian(self, theta: Array) -> Array:
        """Return the derivative of the residuals by theta, shape (n, 2)."""
        self._evaluate(theta)
        if self._jacobian is None:
            self._jacobian = np.stack((self._by_log_tau(theta), self._by_gain()), axis=1)
        return self._jacobian

    def by_dead_time(self, theta: Array) -> Array:
        """Return the derivative of the residuals by the dead time, 1/s, shape (n,)."""
        self._evaluate(theta)
        return self._by_response(theta, -self._forced.by_time()[self._rows])

    def by_square(self, theta: Array) -> Array:
        """Return the derivative by the square of the smoothing's width, 1/s^2, shape (n,)."""
        self._evaluate(theta)
        return self._by_response(theta, self._forced.by_square()[self._rows])

    def by_commands(
        self, theta: Array, low: Sequence[AxisSegment], high: Sequence[AxisSegment]
    ) -> Array:
        """Return the change of the residuals from some commands to others, shape (n,)."""
        self._evaluate(theta)
        pairs = zip(self._chosen(low), self._chosen(high), strict=True)
        change = [other.command - one.command for one, other in pairs]
        padded = PaddedCommands(change, self._padded.reach, self._every)
        drive = Drive.of(padded, self.period, self.dead_time, self._smoothing)
        response = ForcedResponse(self.time_constant(theta), drive, self.period).values
        return self._by_response(theta, response[self._rows])

    def _by_response(self, theta: Array, response: Array) -> Array:
        free = self._sums(self._decay * response) / self._power
        change: Array = theta[1] * (self._each(free) * self._decay - response)
        return change

    def _evaluate(self, theta: Array) -> None:
        if theta.tolist() == self._theta:
            return
        tau = self.time_constant(theta)
        self._forced = ForcedResponse(tau, self._drive, self.period)
        self._response: Array = self._forced.values[self._rows]
        self._x = self.period / tau
        self._decay: Array = np.exp(-self._x * self._since)
        self._power = self._sums(self._decay * self._decay)
        rest = self.measured - theta[1] * self._response
        self._starts = self._sums(self._decay * rest) / self._power
        self._residuals: Array = rest - self._each(self._starts) * self._decay
        self._jacobian = None
        self._theta = theta.tolist()

    def _by_log_tau(self, theta: Array) -> Array:
        # Derivative of the decay by log tau.
        bend = self._x * self._since * self._decay
        by_tau: Array = -theta[1] * self._forced.slope()[self._rows]
        by_tau = by_tau - self._each(self._starts) * bend
        shift = self._sums(self._decay * by_tau + self._residuals * bend) / self._power
        by_tau -= self._each(shift) * self._decay
        return by_tau

    def _by_gain(self) -> Array:
        return self._by_response(np.ones(2), self._response)

    def _sums(self, values: Array) -> Array:
        return np.add.reduceat(values, self._first)

    def _each(self, values: Array) -> Array:
        """Return each segment's value repeated for its residuals, (n,); (1,) for one segment."""
        return values if len(self.lengths) == 1 else np.repeat(values, self.lengths)


def _checked(dead_time: float) -> float:
    if not 0.0 <= dead_time < math.inf:
        raise ValueError(f"dead_time = {dead_time}: must be finite and >= 0 s")
    return dead_time
