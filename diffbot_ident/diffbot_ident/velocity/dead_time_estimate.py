# SPDX-License-Identifier: Apache-2.0
"""Online estimation of the dead time of one axis.

With a dead time d, (3) integrated from the beginning of a block as in sigma_fit.py is

    v(t) = v(t0) + a I(t - d) - c int v ds        I: integral of the acting command

Near a d_k of a grid, I(t - d) = I(t - d_k) - (d - d_k) p, with the mean p of the command over one
step of the grid about t - d_k. So

    v(t) = v(t0) + a I(t - d_k) - c int v ds - a (d - d_k) p

is linear. The d_k with the least sum of squares gives a, c and d = d_k + the ratio of the last
coefficient to a. In slow motion a dead time and an inertia look alike; then the interval is wide.
"""

from __future__ import annotations

import math

import numpy as np

from arc_odometry.odometry import Array
from diffbot_ident.velocity.block_moments import (
    BlockMoments,
    integral_of_commands,
    integral_of_velocity,
)
from diffbot_ident.velocity.bounded_search import BoundedSearch

LONGEST = 0.6
"""Longest dead time that is searched, s."""
# Step of the grid, s.
STEP = 0.01
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
        sensitivity: Derivatives of a = 1 / inertia (1/s) and c = drag / inertia (1/s) by the dead
            time (s), with which the fit goes through the same motion, shape (2,).
    """

    def __init__(self, axis: str, memory: float) -> None:
        self._axis, self._memory = axis, memory
        self._grid: Array = STEP * np.arange(round(LONGEST / STEP) + 1)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget everything, as for another robot."""
        self._moments = BlockMoments(self._memory)
        self.value, self.variance = math.nan, math.inf
        self.sensitivity: Array = np.zeros(2)
        self.reason: str | None = f"{self._axis}: dead time not known yet, too little motion"

    @property
    def known(self) -> bool:
        """Whether there is an estimate."""
        return self.reason is None

    def update(self, times: Array, velocities: Array, stamps: Array, acting: Array) -> None:
        """Process a block.

        Args:
            times: Times of the velocities, s, increasing, shape (n,).
            velocities: Measured velocities, m/s or rad/s, shape (n,).
            stamps: Ends of the commands, s, increasing, shape (m,); if they do not start LONGEST and
                a step before the first time, the block is not used.
            acting: Acting commands, each held since the previous stamp, shape (m,).
        """
        if stamps[0] > times[0] - LONGEST - 0.5 * STEP or np.ptp(acting[1:]) == 0.0:
            return  # a constant command tells nothing of the dead time
        late = times - self._grid[:, None]
        asked, later, earlier = (
            integral_of_commands(stamps, acting, late + shift)
            for shift in (0.0, 0.5 * STEP, -0.5 * STEP)
        )
        rows = np.empty((len(self._grid), 4, len(times)))
        rows[:, 0], rows[:, 2] = asked, -(later - earlier) / STEP
        rows[:, 1], rows[:, 3] = -integral_of_velocity(times, velocities), velocities
        rows -= rows.mean(axis=2, keepdims=True)
        if self._moments.add(rows, float(times[-1] - times[0])):
            self._estimate()

    def _estimate(self) -> None:
        fit = self._moments.fit()
        self.value, self.variance = math.nan, math.inf
        self.reason = f"{self._axis}: dead time not known yet, too little motion"
        if fit is None:
            return
        a, _, shift = fit.coefficients.tolist()
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
            self.value, self.variance, self.reason = max(late, 0.0), std**2, None
            gram = fit.moments[:2, :2]
            self.sensitivity = a * np.linalg.lstsq(gram, fit.moments[:2, 2], rcond=None)[0]
            self.sensitivity = -self.sensitivity
