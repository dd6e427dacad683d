# SPDX-License-Identifier: Apache-2.0
"""Online estimation of the dead band of one axis, together with its inertia and drag.

With an offset b, (3) integrated from the beginning of a block as in sigma_fit.py is

    v(t) = v(t0) + a int p(u; b) ds - c int v ds        p(u; b) = sign(u) max(|u| - b, 0)

For a width b_k near b, p(u; b) = p(u; b_k) - (b - b_k) sign(u) where |u| > b_k, which is linear:

    v(t) = v(t0) + a int p(u; b_k) ds - c int v ds - a (b - b_k) int sign(u) [|u| > b_k] ds

The moments of these rows are stored block by block for a grid of b_k. The b_k with the smallest sum
of squares gives a, c and b = b_k + the ratio of the last coefficient to a, by least squares. No
initial value and no iterative search is needed. Integrals of measured velocities contain their
noise, and the residuals drift: the covariance is computed from the disagreement of the blocks
(Liang and Zeger, 1986), and is never below that of independent residuals.

int v is a sum of trapezoids. A command that starts to act between two samples, a share f of the
period T after the first, changes the slope of v there; the trapezoids overestimate the integral by
a T^2 f (1 - f) / 2 times the jump of p. With c from earlier blocks, this is corrected in int p.

Large commands alone fit any dead band with other values of a and c. The dead band is therefore not
identifiable without small commands, whatever the interval.
"""

from __future__ import annotations

import math

import numpy as np

from diffbot_description.dead_band import passed_of
from diffbot_ident.torque.estimate import NORMAL_95, Array

# Number of widths of the grid, and exponent of their spacing, which is denser at 0.
GRID, POWER = 24, 1.5
# Commands count as small up to this share of the largest, or up to so many dead bands.
SMALL, BANDS = 0.25, 2.0
# Histogram bins of the sizes of commands, up to twice the largest dead band.
BINS = 80
# Minimum time of small commands, s, and minimum share of the total time.
LEAST_SECONDS, LEAST_SHARE = 1.0, 0.02
# Standard deviations beyond which a dead band is significant, and its minimum share of the largest.
SIGNIFICANT_SIGMAS, LEAST_BAND = 5.0, 0.02
# Minimum number of blocks for an estimate, and maximum number of blocks stored separately.
LEAST_BLOCKS, MOST_BLOCKS = 6, 64


class DeadBandEstimator:
    """Estimates the offset of one axis, block by block.

    Args:
        axis: Name of the axis, for messages.
        largest: Largest possible width, m/s or rad/s, > 0.
        memory: Time constant of forgetting, s; math.inf: never.
        start: Width that is used until there is a precise estimate, m/s or rad/s.
        precision: Half width of the 95 % interval, relative to the width, from which on the
            estimate is used.

    Attributes:
        value: Estimate, m/s or rad/s; of any sign; NaN before there is one.
        variance: Variance of the estimate; infinite if it is not identifiable.
        reason: Why it is not identifiable; None if it is.
        trusted: Width to be used, m/s or rad/s, >= 0.
    """

    def __init__(
        self, axis: str, largest: float, memory: float, start: float, precision: float
    ) -> None:
        self._axis, self._largest, self._memory = axis, largest, memory
        self._start, self._precision = start, precision
        self._widths: Array = largest * np.linspace(0.0, 1.0, GRID) ** POWER
        self.trusted = start
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget everything except the trusted width, as for another robot."""
        # Moments of each block, weighted by its age, (GRID, 4, 4), and the weighted samples.
        self._blocks: list[Array] = []
        self._samples = 0.0
        self._seconds: Array = np.zeros(BINS + 1)
        self._rate = 0.0  # c, 1/s
        self.value, self.variance = math.nan, math.inf
        self.reason: str | None = f"{self._axis}: too little motion"

    def update(
        self, times: Array, velocities: Array, stamps: Array, commands: Array, dead_time: float
    ) -> None:
        """Process a block.

        Args:
            times: Times of the velocities, s, increasing, shape (n,).
            velocities: Measured velocities, m/s or rad/s, shape (n,).
            stamps: Ends of the commands, s, increasing, shape (m,); they must start before the
                first time less the dead time.
            commands: Commands as sent, each held since the previous stamp, m/s or rad/s, shape
                (m,).
            dead_time: Time from a command to its effect, s.
        """
        rows = self._rows(times, velocities, stamps, commands, dead_time)
        keep = math.exp(-float(times[-1] - times[0]) / self._memory)
        with np.errstate(over="ignore", invalid="ignore"):
            moments = np.einsum("kin,kjn->kij", rows, rows)
        if not np.isfinite(moments).all():
            return  # unusable velocities, which the fit of sigma refuses
        self._blocks = [keep * block for block in self._blocks]
        self._blocks.append(moments)
        if len(self._blocks) > MOST_BLOCKS:
            self._blocks[:2] = [self._blocks[0] + self._blocks[1]]
        self._samples = keep * self._samples + len(times) - 1
        self._note_sizes(np.diff(stamps), np.abs(commands[1:]), keep)
        self._estimate()

    def _rows(
        self, times: Array, velocities: Array, stamps: Array, commands: Array, dead_time: float
    ) -> Array:
        """Return [int p, -int v, -int sign, v] less their means for each width, (GRID, 4, n)."""
        # Only integrals within the block matter: earlier parts are constant and part of the mean.
        steps = np.diff(stamps)
        held = commands[1:]
        acting = passed_of(held[None, :], self._widths[:, None])
        beyond = np.where(np.abs(held)[None, :] > self._widths[:, None], np.sign(held), 0.0)
        late = times - dead_time
        index = np.clip(np.searchsorted(stamps, late, side="right") - 1, 0, len(steps) - 1)
        part = np.minimum(late - stamps[index], steps[index])
        bends = self._rate * _bends(late, stamps[:-1])
        rows = np.empty((GRID, 4, len(times)))
        for column, values in ((0, acting), (2, -beyond)):
            whole = np.cumsum(values * steps, axis=1)
            begun = np.where(index > 0, whole[:, index - 1], 0.0)
            jumps = np.diff(values, axis=1, prepend=values[:, :1])
            bent = np.cumsum(jumps * bends, axis=1)
            rows[:, column] = begun + values[:, index] * part + bent[:, index]
        means = 0.5 * np.diff(times) * (velocities[1:] + velocities[:-1])
        rows[:, 1] = -np.concatenate(([0.0], np.cumsum(means)))
        rows[:, 3] = velocities
        return np.asarray(rows - rows.mean(axis=2, keepdims=True))

    def _note_sizes(self, durations: Array, sizes: Array, keep: float) -> None:
        bins = np.minimum((sizes / (2.0 * self._largest) * BINS).astype(int) + 1, BINS)
        bins[sizes == 0.0] = 0
        self._seconds = keep * self._seconds + np.bincount(bins, durations, BINS + 1)

    def _estimate(self) -> None:
        blocks = np.array(self._blocks)
        moments = blocks.sum(axis=0)
        scale = np.sqrt(np.maximum(np.einsum("kii->ki", moments[:, :3, :3]), 1e-300))
        scaled = moments[:, :3, :3] / (scale[:, :, None] * scale[:, None, :]) + 1e-12 * np.eye(3)
        products = moments[:, :3, 3]
        theta = np.linalg.solve(scaled, (products / scale)[:, :, None])[:, :, 0] / scale
        squares = moments[:, 3, 3] - np.einsum("ki,ki->k", theta, products)
        best = int(np.argmin(squares))
        a, c, shift = theta[best].tolist()
        free = self._samples - 3.0 - len(blocks)
        self.value, self.variance = math.nan, math.inf
        if len(blocks) < LEAST_BLOCKS or free < 1.0 or not a > 0.0:
            self.reason = f"{self._axis}: too little motion"
            return
        self._rate = max(c, 0.0)
        inverse = np.linalg.inv(scaled[best]) / np.outer(scale[best], scale[best])
        noise = max(float(squares[best]), 0.0) / free
        slope = np.array([-shift / a**2, 0.0, 1.0 / a])
        # Influence of each block on the estimate.
        pulls = (blocks[:, best, :3, 3] - blocks[:, best, :3, :3] @ theta[best]) @ inverse @ slope
        apart = len(blocks) - 3.0
        few = (1.0 + 1.21 / apart) ** 2 * len(blocks) / apart
        self.value = float(self._widths[best]) + shift / a
        self.variance = max(few * float(pulls @ pulls), noise * float(slope @ inverse @ slope))
        self._judge()

    def _judge(self) -> None:
        """Decide whether the estimate is identifiable, and whether it is used."""
        used = np.flatnonzero(self._seconds[1:])
        size = 2.0 * self._largest / BINS
        most = size * (float(used[-1]) + 1.0) if len(used) else 0.0
        limit = max(SMALL * most, BANDS * self.value)
        small = float(np.sum(self._seconds[1 : 1 + int(limit / size)]))
        if small < max(LEAST_SECONDS, LEAST_SHARE * float(np.sum(self._seconds))):
            self.variance = math.inf
            self.reason = f"{self._axis}: no small commands, of up to {limit:.2g}, were sent"
            return
        deviation = math.sqrt(max(self.variance, 0.0))
        there = self.value > max(SIGNIFICANT_SIGMAS * deviation, LEAST_BAND * self._largest)
        self.reason = None
        if NORMAL_95 * deviation > 0.5 * self._largest:
            self.variance = math.inf
            self.reason = f"{self._axis}: dead band known to {NORMAL_95 * deviation:.2g} only"
        elif NORMAL_95 * deviation <= self._precision * max(self.value, self._start):
            self.trusted = min(self.value, self._largest) if there else 0.0


def _bends(late: Array, begins: Array) -> Array:
    """Return T^2 f (1 - f) / 2 of each command.

    Args:
        late: Times of the samples less the dead time, s, increasing, shape (n,).
        begins: Stamps from which on the commands were held, s, shape (m,).

    Returns:
        Shape (m,), s^2; 0 for those that do not start between two of the samples.
    """
    before = np.searchsorted(late, begins, side="right") - 1
    inside = (before >= 0) & (before < len(late) - 1)
    before = np.clip(before, 0, len(late) - 2)
    period = late[before + 1] - late[before]
    since = begins - late[before]
    return np.where(inside, 0.5 * since * (period - since), 0.0)
