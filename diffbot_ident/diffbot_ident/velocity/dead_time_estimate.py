# SPDX-License-Identifier: Apache-2.0
"""Online estimation of the dead time of one axis.

With a dead time d, (3) integrated from the beginning of a block as in sigma_fit.py is

    v(t) = v(t0) + a I(t - d) - c int v ds        I: integral of the acting command

Near a d_k of a grid, I(t - d) = I(t - d_k) - (d - d_k) p, with the mean p of the command over one
step of the grid about t - d_k. So

    v(t) = v(t0) + a I(t - d_k) - c int v ds - a (d - d_k) p

is linear. The d_k with the least sum of squares gives a, c and d = d_k + the ratio of the last
coefficient to a. In slow motion a dead time and an inertia look alike; then the interval is wide.

Velocities are those of instants, or means over the period, whichever fits better; d is the time to
the middle of a mean. See held_commands.py.
"""

from __future__ import annotations

import math

import numpy as np

from arc_odometry.odometry import Array
from diffbot_ident.velocity.block_moments import BlockMoments
from diffbot_ident.velocity.bounded_search import BoundedSearch
from diffbot_ident.velocity.held_commands import HeldCommands, integral_of_velocity

LONGEST = 0.6
"""Longest dead time that is searched, s."""
# Step of the grid, s.
STEP = 0.01
# Duration of a piece of a block, s, and minimum number of its samples: the more pieces, the sooner
# their disagreement tells the deviation.
PIECE, LEAST_SAMPLES = 1.0, 8
# Change of the rate after which earlier corrections by it no longer hold, as a share of it.
NEW_RATE = 0.1
# Error of the integrals, as a standard deviation of the dead time in periods.
APPROXIMATE = 0.01
# A dead time that is known worse than this is not known: standard deviation, s.
VAGUE = 0.1


class DeadTimeEstimator:
    """Estimates the dead time of one axis, block by block.

    Args:
        axis: Name of the axis, for messages.
        memory: Time constant of forgetting, s; math.inf: never.

    Attributes:
        value: Estimate, s, >= 0; NaN before there is one.
        variance: Variance of the estimate, s^2; infinite if it is not identifiable.
        reason: Why it is not identifiable; None if it is.
        averaged: Whether velocities are means over the period.
        rate: c = drag / inertia as last estimated, 1/s; 0 before.
        sensitivity: Derivatives of a = 1 / inertia (1/s) and c = drag / inertia (1/s) by the dead
            time (s), with which the fit goes through the same motion, shape (2,).
        covariance: Covariance of a and c beside an unknown dead time, by the disagreement of the
            pieces of the blocks, 1/s^2, shape (2, 2).
    """

    def __init__(self, axis: str, memory: float) -> None:
        self._axis, self._memory = axis, memory
        self._grid: Array = np.float64(STEP) * np.arange(round(LONGEST / STEP) + 1)
        self.rate = self._period = 0.0
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget everything but the rate."""
        # For velocities of instants, and for means.
        self._moments = BlockMoments(self._memory), BlockMoments(self._memory)
        self.averaged, self._used_rate = False, self.rate
        self.value, self.variance = math.nan, math.inf
        self.sensitivity: Array = np.zeros(2)
        self.covariance: Array = np.zeros((2, 2))
        self.reason: str | None = f"{self._axis}: dead time not known yet, too little motion"

    @property
    def known(self) -> bool:
        """Whether there is an estimate."""
        return self.reason is None

    @property
    def rate_changed(self) -> bool:
        """Whether the rate is another one than that by which the integrals were corrected."""
        return abs(self.rate - self._used_rate) > NEW_RATE * self.rate

    def update(self, times: Array, velocities: Array, stamps: Array, acting: Array) -> None:
        """Process a block.

        Args:
            times: Times of the velocities, s, increasing, shape (n,).
            velocities: Measured velocities, m/s or rad/s, shape (n,).
            stamps: Ends of the commands, s, increasing, shape (m,). Samples for which they do not
                go back by LONGEST and a step are not used.
            acting: Acting commands, each held since the previous stamp, shape (m,).
        """
        known = times - LONGEST - STEP >= stamps[0]
        times, velocities = times[known], velocities[known]
        if len(times) < LEAST_SAMPLES or np.ptp(acting[1:]) == 0.0:
            return  # a constant command tells nothing of the dead time
        count = max(round(float(times[-1] - times[0]) / PIECE), 1)
        added = [
            self._add(*piece, stamps, acting)
            for piece in zip(
                np.array_split(times, count), np.array_split(velocities, count), strict=True
            )
            if len(piece[0]) >= LEAST_SAMPLES
        ]
        if any(added):
            self._estimate()

    def _add(self, times: Array, velocities: Array, stamps: Array, acting: Array) -> bool:
        """Add the moments of a piece of a block; return whether they count."""
        commands = HeldCommands(stamps, acting)
        self._period = period = float(times[-1] - times[0]) / (len(times) - 1)
        rows = np.empty((len(self._grid), 4, len(times)))
        rows[:, 1], rows[:, 3] = -integral_of_velocity(times, velocities), velocities
        halves = 0.5 * STEP * np.arange(-1.0, 2.0 * len(self._grid))
        added = []
        for moments, window in zip(self._moments, (0.0, period), strict=True):
            asked = commands.asked(times, halves, window, self._used_rate)
            rows[:, 0], rows[:, 2] = asked[1::2], (asked[2::2] - asked[:-2:2]) / STEP
            apart = rows - rows.mean(axis=2, keepdims=True)
            added.append(moments.add(apart, float(times[-1] - times[0])))
        return all(added)

    def _estimate(self) -> None:
        fits = [fit for moments in self._moments if (fit := moments.fit()) is not None]
        self.value, self.variance = math.nan, math.inf
        self.reason = f"{self._axis}: dead time not known yet, too little motion"
        if len(fits) < len(self._moments):
            return
        fit = min(fits, key=lambda each: float(each.squares[each.best]))
        self.averaged = fit is fits[1]
        a, c, shift = fit.coefficients.tolist()
        self.rate = max(c, 0.0)
        if not a > 0.0:
            self.reason = f"{self._axis}: the velocity does not follow the command: check its sign"
            return
        late = float(self._grid[fit.best]) + shift / a
        search = BoundedSearch("dead time", late, 0.0, LONGEST, natural_low=True, margin=STEP)
        std = math.sqrt(max(fit.variance_of(np.array([-shift / a**2, 0.0, 1.0 / a])), 0.0))
        if not search.inside or fit.best == len(self._grid) - 1:
            self.reason = f"{self._axis}: dead time beyond {LONGEST:g} s, the longest searched"
        elif not std < VAGUE:
            self.reason = f"{self._axis}: dead time known to {2.0 * std:.2g} s only"
        else:
            std = math.hypot(std, APPROXIMATE * self._period)
            self.value, self.variance, self.reason = max(late, 0.0), std**2, None
            gram = fit.moments[:2, :2]
            self.covariance = fit.covariance[:2, :2]
            self.sensitivity = a * np.linalg.lstsq(gram, fit.moments[:2, 2], rcond=None)[0]
            self.sensitivity = -self.sensitivity
