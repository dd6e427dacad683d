# SPDX-License-Identifier: Apache-2.0
"""Online estimation of the dead time of one axis.

Near a d_k of a grid, with the mean p of the command over a step of it about t - d_k,

    v(t) = v(t0) + a I(t - d_k) - c int v ds - a (d - d_k) p      I: integral of the acting command

is linear; docs/theory/velocity_robots.md#online-fit.
"""

from __future__ import annotations

import math

import numpy as np

from arc_odometry.number_range import Array
from diffbot_ident.velocity.batch_moments import BatchMoments, GridFit
from diffbot_ident.velocity.bounded_search import BoundedSearch
from diffbot_ident.velocity.causal_rows import CausalRows
from diffbot_ident.velocity.constant_commands import ConstantCommands, integral_of_velocity

LONGEST = 0.6
"""Longest dead time that is searched, s."""
# Step of the grid, s.
STEP = 0.01
# Duration of a piece of a block, s, and its least samples: many pieces soon tell the deviation.
PIECE, LEAST_SAMPLES = 1.0, 8
# Rate of the rows before that of the axis is known, 1/s.
FIRST_RATE = 1.0
# Relative change of the rate after which corrections by it no longer hold.
NEW_RATE = 0.1
# Error of the integrals, as a deviation of the dead time in periods.
APPROXIMATE = 0.01
# Excess of the sum of squares, in variances of the noise, up to which another dead time, or kind of
# velocities, is possible: two deviations.
POSSIBLE = 4.0
# Deviations and time, s, by which a wrong given dead time differs; its sum of squares, too.
WRONG_SIGMAS, WRONG_TIME = 5.0, 0.01
# Deviation beyond which a dead time is not known, s.
VAGUE = 0.1


class DeadTimeEstimator:
    """Estimates the dead time of one axis, block by block.

    Args:
        axis: Name of the axis, for messages.
        memory: Time constant of forgetting, s; math.inf: never.

    Attributes:
        value: Estimate, s, >= 0; NaN before there is one.
        variance: Its variance, s^2; infinite if it is not identifiable, for this `reason`.
        averaged: Whether velocities are means over the period.
        rate: c = drag / inertia as last estimated, 1/s; 0 before.
        sensitivity: Derivatives of a and c by the dead time that keep the motion, shape (2,).
        covariance: Covariance of a and c beside an unknown dead time, 1/s^2, shape (2, 2).
    """

    def __init__(self, axis: str, memory: float) -> None:
        self._axis, self._memory = axis, memory
        self._grid: Array = np.float64(STEP) * np.arange(round(LONGEST / STEP) + 1)
        self.rate = self._period = 0.0
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget everything but the rate."""
        # Of instants, and means.
        self._moments = BatchMoments(self._memory), BatchMoments(self._memory)
        self._causal = CausalRows(), CausalRows()
        self.averaged, self._used_rate = False, self.rate
        # Excess of the sum of squares at dead times, s.
        self._against = np.zeros(2), np.array([0.0, LONGEST])
        self.value, self.variance = math.nan, math.inf
        self.sensitivity: Array = np.zeros(2)
        self.covariance: Array = np.zeros((2, 2))
        self.reason: str | None = f"{self._axis}: dead time not known yet, too little motion"

    @property
    def known(self) -> bool:
        return self.reason is None

    @property
    def rate_changed(self) -> bool:
        """Whether the rate is another one than that by which the integrals were corrected."""
        return abs(self.rate - self._used_rate) > NEW_RATE * self.rate

    def update(self, times: Array, velocities: Array, stamps: Array, acting: Array) -> None:
        """Process velocities (n,) at times, s, and acting commands (m,) held up to stamps, s.

        Samples for which the stamps do not go back by `furthest` are not used.
        """
        if len(times) < 2:
            return
        known = times - furthest(float(times[-1] - times[0]) / (len(times) - 1)) >= stamps[0]
        times, velocities = times[known], velocities[known]
        if len(times) < LEAST_SAMPLES or np.ptp(acting[1:]) == 0.0:
            return  # a constant command tells nothing of the dead time
        if self._add(times, velocities, stamps, acting):
            self._estimate()

    def _add(self, times: Array, velocities: Array, stamps: Array, acting: Array) -> bool:
        commands = ConstantCommands(stamps, acting)
        self._period = period = float(times[-1] - times[0]) / (len(times) - 1)
        columns = np.empty((len(self._grid), 4, len(times)))
        # Without the row's own velocity, whose noise is that of the value.
        driven = integral_of_velocity(times, velocities) - 0.5 * period * velocities
        columns[:, 1], columns[:, 3] = -driven, velocities
        halves = 0.5 * STEP * np.arange(-1.0, 2.0 * len(self._grid))
        count = min(round(period * len(times) / PIECE), len(times) // LEAST_SAMPLES)
        added = False
        for moments, causal, window in zip(self._moments, self._causal, (0.0, period), strict=True):
            # No command acts before it is sent, nor on a mean that has ended.
            lates = np.maximum(halves, 0.0) + 0.5 * window
            asked = commands.asked(times, lates, window, self._used_rate)
            apart = (lates[2::2] - lates[:-2:2])[:, None]
            columns[:, 0], columns[:, 2] = asked[1::2], (asked[2::2] - asked[:-2:2]) / apart
            rows = causal.take(times, columns, self._used_rate or FIRST_RATE)
            for piece in np.array_split(rows, max(count, 1), axis=2):
                added |= moments.add(piece, period * piece.shape[2])
        return added

    def _estimate(self) -> None:
        fits = [fit for moments in self._moments if (fit := moments.fit()) is not None]
        self.value, self.variance = math.nan, math.inf
        self.reason = f"{self._axis}: dead time not known yet, too little motion"
        if len(fits) < len(self._moments):
            return
        misfits = [self._misfit(fit) for fit in fits]
        self.averaged = misfits[1] < misfits[0]
        fit, other = fits[self.averaged], fits[not self.averaged]
        a, c, _ = fit.coefficients.tolist()
        # By sums without the row's own velocity the coefficients are those over 1 + c T / 2.
        half = 0.5 * self._period
        whole = 1.0 / max(1.0 - c * half, 0.1)
        self.rate = max(c * whole, 0.0)
        if not a > 0.0:
            self.reason = f"{self._axis}: the velocity does not follow the command: check its sign"
            return
        late, std = self._late(fit)
        search = BoundedSearch("dead time", late, 0.0, LONGEST, natural_low=True, margin=STEP)
        if not search.inside or fit.best == len(self._grid) - 1:
            self.reason = f"{self._axis}: dead time beyond {LONGEST:g} s, the longest searched"
        elif not std < VAGUE:
            self.reason = f"{self._axis}: dead time known to {2.0 * std:.2g} s only"
        else:
            std = math.hypot(std, APPROXIMATE * self._period)
            middles = (half, 0.0) if self.averaged else (0.0, half)
            value, instead = (
                max(self._late(each)[0], 0.0) + middle
                for each, middle in zip((fit, other), middles, strict=True)
            )
            if max(misfits) - min(misfits) < POSSIBLE * fit.noise:
                std = math.hypot(std, instead - value)
            self.value, self.variance, self.reason = value, std**2, None
            self._against = self._excess(fit), self._grid + middles[0]
            slope = np.array([[whole, a * half * whole**2], [0.0, whole**2]])
            self.covariance = slope @ fit.covariance[:2, :2] @ slope.T
            gram = fit.moments[:2, :2]
            along = np.linalg.lstsq(gram, fit.moments[:2, 2], rcond=None)[0]
            self.sensitivity = -a * slope @ along

    def contradicts(self, given: float) -> bool:
        if not self.known:
            return False
        excess, lates = self._against
        off, least = (
            abs(self.value - given),
            max(WRONG_SIGMAS * math.sqrt(self.variance), WRONG_TIME),
        )
        return off > least and float(np.interp(given, lates, excess)) > WRONG_SIGMAS**2

    def _late(self, fit: GridFit) -> tuple[float, float]:
        """Return the dead time, to the end of a mean, and its deviation, s, by possible others."""
        a, _, shift = fit.coefficients.tolist()
        late = float(self._grid[fit.best]) + shift / a
        variance = fit.variance_of(np.array([-shift / a**2, 0.0, 1.0 / a]))
        possible = self._excess(fit) < POSSIBLE
        reach = float(np.abs(self._grid[possible] - late).max(initial=0.0)) - STEP
        return late, max(math.sqrt(max(variance, 0.0)), reach / math.sqrt(POSSIBLE))

    def _excess(self, fit: GridFit) -> Array:
        """Return all sums of squares, less the least, in variances of the noise."""
        beyond = np.maximum(np.abs(fit.last) - 0.5 * STEP * abs(float(fit.coefficients[0])), 0.0)
        squares = fit.squares + fit.cost * beyond**2
        excess: Array = (squares - fit.squares[fit.best]) / (fit.noise * fit.colour + 1e-300)
        return excess

    def _misfit(self, fit: GridFit) -> float:
        if not fit.coefficients[0] > 0.0:
            return math.inf
        late, std = self._late(fit)
        before = min(late, 0.0) / max(std, 1e-9)
        return float(fit.squares[fit.best]) + fit.noise * before**2


def furthest(period: float) -> float:
    """Return how far back commands must be known, s: beyond the longest dead time and a mean."""
    return LONGEST + STEP + period
