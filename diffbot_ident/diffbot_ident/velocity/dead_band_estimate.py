# SPDX-License-Identifier: Apache-2.0
"""Online estimation of the dead band of one axis, together with its inertia and drag.

For a width b_k of a grid near an offset b, p(u; b) = sign(u) max(|u| - b, 0) is linear in b:

    v(t) = v(t0) + a int p(u; b_k) ds - c int v ds - a (b - b_k) int sign(u) [|u| > b_k] ds

For a threshold each b_k is judged; docs/theory/velocity_robots.md#online-fit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from diffbot_description.dead_band import NO_DEAD_BAND, DeadBand, DeadBandKind, passed_of
from diffbot_ident.estimate import NORMAL_95, Array
from diffbot_ident.velocity.batch_moments import BatchMoments, GridFit
from diffbot_ident.velocity.bounded_search import BoundedSearch
from diffbot_ident.velocity.constant_commands import excess_of_trapezoids, integral_of_velocity

# Widths of the grid, and exponent of their spacing, which is denser at 0.
GRID, POWER = 24, 1.5
# Commands count as small up to this share of the largest, or up to so many dead bands.
SMALL, BANDS = 0.25, 2.0
# Bins of the sizes of commands, up to twice the largest dead band.
BINS = 80
# Least time of small commands, s, and share of the total time.
LEAST_SECONDS, LEAST_FRACTION = 1.0, 0.02
# Deviations, and share of the largest, beyond which a dead band is significant.
SIGNIFICANT_SIGMAS, LEAST_BAND = 5.0, 0.02
# Excess of the sum of squares, in variances of a residual, beyond which a point is impossible.
EXCESS = 10.0
# Distance of an offset from a width up to which its rows are linear, in gaps.
NEAR = 1.0
# Deviation over the width of an interval with certain ends.
RANGE_STD = 0.5 / NORMAL_95


class DeadBandEstimator:
    """Estimates the dead band of one axis, block by block.

    Args:
        axis: Name of the axis, for messages.
        largest: Largest possible width, m/s or rad/s, > 0.
        memory: Time constant of forgetting, s; math.inf: never.
        start: Dead band that is used until there is a precise estimate.
        precision: Half width of the 95 % interval, relative to the width, from which on it is used.

    Attributes:
        value: Estimate, m/s or rad/s; of any sign; NaN before there is one.
        variance: Variance of the estimate; infinite if it is not identifiable, for this `reason`.
        trusted: Dead band to be used.
    """

    def __init__(
        self, axis: str, largest: float, memory: float, start: DeadBand, precision: float
    ) -> None:
        self._axis, self._largest, self._memory = axis, largest, memory
        self._start, self._precision = start, precision
        self._widths: Array = largest * np.linspace(0.0, 1.0, GRID) ** POWER
        self.trusted = start
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget everything except the trusted dead band, as for another robot."""
        self._moments = {kind: BatchMoments(self._memory) for kind in DeadBandKind}
        self._seconds: Array = np.zeros(BINS + 1)
        # Least and largest command between two widths of the grid.
        self._least, self._most = np.full(GRID, math.inf), np.zeros(GRID)
        self._rate = 0.0  # c, 1/s
        self.value, self.variance = math.nan, math.inf
        self.reason: str | None = f"{self._axis}: too little motion"

    def update(
        self, times: Array, velocities: Array, stamps: Array, commands: Array, dead_time: float
    ) -> None:
        """Process velocities (n,) at times, s, and commands (m,) held up to stamps, s.

        The stamps must start before the first time less the dead time, s.
        """
        seconds = float(times[-1] - times[0])
        added = [
            self._moments[kind].add(
                self._rows(kind, times, velocities, stamps, commands, dead_time), seconds
            )
            for kind in DeadBandKind
        ]
        if all(added):
            keep = math.exp(-seconds / self._memory)
            self._note_sizes(np.diff(stamps), np.abs(commands[1:]), keep)
            self._estimate()

    def _rows(
        self,
        kind: DeadBandKind,
        times: Array,
        velocities: Array,
        stamps: Array,
        commands: Array,
        dead_time: float,
    ) -> Array:
        """Return rows for each width less their means: (GRID, 4, n), of a threshold (GRID, 3, n).

        Columns: int p, -int v, for an offset -int sign, and v.
        """
        # Earlier parts are constant and part of the mean.
        steps = np.diff(stamps)
        constant = commands[1:]
        columns = [passed_of(constant[None, :], self._widths[:, None], kind)]
        if kind is DeadBandKind.OFFSET:
            beyond = np.abs(constant)[None, :] > self._widths[:, None]
            columns.append(np.where(beyond, -np.sign(constant), 0.0))
        late = times - dead_time
        index = np.clip(np.searchsorted(stamps, late, side="right") - 1, 0, len(steps) - 1)
        part = np.minimum(late - stamps[index], steps[index])
        bends = self._rate * excess_of_trapezoids(late, stamps[:-1])
        rows = []
        for values in columns:
            whole = np.cumsum(values * steps, axis=1)
            begun = np.where(index > 0, whole[:, index - 1], 0.0)
            jumps = np.diff(values, axis=1, prepend=values[:, :1])
            bent = np.cumsum(jumps * bends, axis=1)
            rows.append(begun + values[:, index] * part + bent[:, index])
        driven = np.broadcast_to(-integral_of_velocity(times, velocities), rows[0].shape)
        rows[1:1] = [driven]
        rows.append(np.broadcast_to(velocities, rows[0].shape))
        result = np.stack(rows, axis=1)
        return np.asarray(result - result.mean(axis=2, keepdims=True))

    def _note_sizes(self, durations: Array, sizes: Array, keep: float) -> None:
        cells = np.minimum(sizes / (2.0 * self._largest) * BINS, BINS - 1)
        bins = cells.astype(int) + 1
        bins[sizes == 0.0] = 0
        self._seconds = keep * self._seconds + np.bincount(bins, durations, BINS + 1)
        # Element k: sizes above width k, up to the next width.
        above = np.searchsorted(self._widths, sizes, side="left") - 1
        sent = above >= 0
        np.minimum.at(self._least, above[sent], sizes[sent])
        np.maximum.at(self._most, above[sent], sizes[sent])

    def _estimate(self) -> None:
        offset = self._moments[DeadBandKind.OFFSET].fit(self._is_linear)
        threshold = self._moments[DeadBandKind.THRESHOLD].fit()
        self.value, self.variance = math.nan, math.inf
        self.reason = f"{self._axis}: too little motion"
        if offset is None or threshold is None or not offset.coefficients[0] > 0.0:
            return
        self._rate = max(float(offset.coefficients[1]), 0.0)
        a, _, shift = offset.coefficients.tolist()
        band = float(self._widths[offset.best]) + shift / a
        slope = np.array([-shift / a**2, 0.0, 1.0 / a])
        std = math.sqrt(max(offset.variance_of(slope), 0.0))
        low, high = self._possible(threshold)
        worse = _excess(offset, offset.best, threshold, threshold.best)
        if worse > 1.0:  # an offset is impossible
            band, std = 0.5 * (low + high), RANGE_STD * (high - low)
            self._judge(band, std, DeadBandKind.THRESHOLD, low > 0.0)
            return
        if _excess(threshold, threshold.best, offset, offset.best) <= 1.0:
            # Both are possible.
            half = NORMAL_95 * std
            low, high = min(low, band - half), max(high, band + half)
            band, std = 0.5 * (low + high), RANGE_STD * (high - low)
        there = band > max(SIGNIFICANT_SIGMAS * std, LEAST_BAND * self._largest)
        end = BoundedSearch("dead band", band, 0.0, self._largest, "", natural_low=True)
        self._judge(band, end.std(std), DeadBandKind.OFFSET, there)

    def _is_linear(self, coefficients: Array) -> NDArray[np.bool_]:
        """Return whether the offset at each width is near it, (GRID,)."""
        gaps = np.diff(self._widths, append=2.0 * self._widths[-1] - self._widths[-2])
        a, shift = coefficients[:, 0], coefficients[:, 2]
        near: NDArray[np.bool_] = np.abs(shift) <= NEAR * gaps * np.abs(a)
        return near

    def _possible(self, fit: GridFit) -> tuple[float, float]:
        possible = np.flatnonzero([_excess(fit, k, fit, fit.best) <= 1.0 for k in range(GRID)])
        first, last = int(possible[0]), int(possible[-1])
        # Impossible widths exclude all up to the next command that was sent.
        low = 0.0 if first == 0 else float(np.min(self._least[first - 1 :]))
        high = math.inf if last == GRID - 1 else float(np.max(self._most[: last + 1]))
        return low, max(high, low)

    def _judge(self, band: float, deviation: float, kind: DeadBandKind, there: bool) -> None:
        used = np.flatnonzero(self._seconds[1:])
        size = 2.0 * self._largest / BINS
        most = size * (float(used[-1]) + 1.0) if len(used) else 0.0
        self.value = band if math.isfinite(band) else math.nan
        limit = max(SMALL * most, BANDS * band if math.isfinite(band) else 0.0)
        small = float(np.sum(self._seconds[1 : 1 + int(limit / size)]))
        if small < max(LEAST_SECONDS, LEAST_FRACTION * float(np.sum(self._seconds))):
            self.reason = f"{self._axis}: no small commands, of up to {limit:.2g}, were sent"
            return
        half = NORMAL_95 * deviation
        if not half <= 0.5 * self._largest:
            self.reason = f"{self._axis}: dead band known to {half:.2g} only"
            return
        self.variance, self.reason = deviation**2, None
        known = self._start.width if self._start.kind is kind else 0.0
        threshold = kind is self.trusted.kind is DeadBandKind.THRESHOLD
        if threshold and abs(self.trusted.width - band) <= half:
            return  # nothing contradicts it
        # A threshold beyond doubt biases sigma, whatever its width.
        significant = there and kind is DeadBandKind.THRESHOLD
        if significant or half <= self._precision * max(band, known):
            self.trusted = DeadBand(min(band, self._largest), kind) if there else NO_DEAD_BAND


def _excess(fit: GridFit, at: int, other: GridFit, other_at: int) -> float:
    """Return how much worse a point explains the blocks; above 1: beyond doubt."""
    more = float(fit.squares[at] - other.squares[other_at])
    return more / max(EXCESS * other.colour * other.noise, 1e-300)
