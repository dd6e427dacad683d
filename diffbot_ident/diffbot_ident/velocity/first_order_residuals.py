"""Residuals of a first-order axis: measured minus simulated velocity, and their Jacobian.

See first_order for the equations. theta = [log tau, gain]; the velocity at the beginning of each
stretch is eliminated, v0 = g'(y - gain f) / g'g for the forced response f and g(k) = a^k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from diffbot_ident.velocity.stretch import Stretch

Array = NDArray[np.float64]

# Time constants tried first, when no start is given: from the period to the longest stretch.
GRID = 12
# Samples that a stretch needs beyond those that the dead time takes.
LEAST = 3
# A time constant is kept between this share of the period and so many times all samples.
FASTEST, SLOWEST = 0.05, 100.0


def _split(dead_time: float, period: float) -> tuple[int, float]:
    """Whole periods m of a dead time, and the fraction f of one that is left."""
    if not 0.0 <= dead_time < math.inf:
        raise ValueError(f"dead_time = {dead_time}: must be finite and >= 0 s")
    # A dead time of 0.3 s is 6 periods of 0.05 s, not 5.999.
    whole = int(dead_time / period + 1e-9)
    return whole, max(dead_time / period - whole, 0.0)


def late(command: Array, period: float, dead_time: float) -> tuple[Array, Array, float]:
    """Commands (n,) of m and of m + 1 periods before, and the fraction f of the dead time."""
    whole, fraction = _split(dead_time, period)
    index = np.arange(len(command)) - whole
    return command[np.maximum(index, 0)], command[np.maximum(index - 1, 0)], fraction


def forced(tau: float, commands: tuple[Array, Array, float], period: float) -> tuple[Array, Array]:
    """Response of unit gain from rest, and its derivative by log tau, each of shape (n,)."""
    newer, older, f = commands
    x = period / tau
    a = math.exp(-x)
    part = math.exp(-x * (1.0 - f))
    # d a / d log tau = x a, and so on.
    drive = -math.expm1(-x * (1.0 - f)) * newer + (part - a) * older
    slope = x * ((f - 1.0) * part * newer + ((1.0 - f) * part - a) * older)
    response = lfilter((0.0, 1.0), (1.0, -a), drive)
    return response, lfilter((0.0, 1.0), (1.0, -a), slope + x * a * response)


class OutputError:
    """Residuals of all stretches as functions of theta = [log tau, gain].

    All stretches are filtered as one series: what one leaves behind in the next decays as the
    next one's free response does, and is taken out with it.
    """

    def __init__(self, stretches: Sequence[Stretch], dead_time: float, lead: float) -> None:
        if not stretches:
            raise ValueError("stretches is empty: must hold at least one")
        self.dead_time = dead_time
        self.period = stretches[0].period
        for stretch in stretches:
            if not math.isclose(stretch.period, self.period, rel_tol=1e-9):
                raise ValueError(
                    f"stretches have periods {self.period} s and {stretch.period} s: must be one"
                )
        if not lead >= dead_time:
            raise ValueError(f"lead = {lead} s: must be >= dead_time = {dead_time} s")
        skip = math.ceil(lead / self.period - 1e-9)
        pieces = [_piece(stretch, skip, dead_time) for stretch in stretches]
        pieces = [piece for piece in pieces if np.count_nonzero(piece[3]) >= LEAST]
        if not pieces:
            raise ValueError(
                f"no stretch is long enough: must be at least {skip + LEAST} samples with a "
                f"lead of {lead:g} s; record for longer"
            )
        if all(np.ptp(newer) == 0.0 for newer, *_ in pieces):
            raise ValueError("command never changes within a stretch: record steps of the command")
        newer, older, velocity, use = (
            np.concatenate([piece[i] for piece in pieces]) for i in range(4)
        )
        self.measured = velocity[use]
        if np.ptp(self.measured) == 0.0:
            raise ValueError(f"velocity is always {self.measured[0]:g}: check its channel")
        _, fraction = _split(dead_time, self.period)
        self._commands = (newer, older, fraction)
        self._use = use
        # Samples since the stretch's first that counts, and where its residuals begin.
        counting = [np.flatnonzero(piece[3]) for piece in pieces]
        self._since = np.concatenate([k - k[0] for k in counting]).astype(float)
        self.lengths = [int(np.count_nonzero(piece[3])) for piece in pieces]
        self._first = np.cumsum([0, *self.lengths[:-1]])
        self._longest = self.period * max(len(piece[3]) for piece in pieces)
        self._slowest = SLOWEST * self.period * len(use)
        self._theta: Array | None = None

    def checked(self, start: tuple[float, float]) -> Array:
        """Theta of a start (inertia, drag): its time constant, as far as samples can show it.

        The gain is the best one there: a start far off would lead into the flat region of time
        constants below the period.
        """
        inertia, drag = start
        if not (math.isfinite(inertia) and math.isfinite(drag) and inertia * drag > 0.0):
            raise ValueError(f"start = {start}: inertia and drag must be finite and of one sign")
        tau = min(max(inertia / drag, self.period), self._longest)
        return self._with_gain(tau)[1]

    def first_guess(self) -> Array:
        """The best of a grid of time constants, each with its best gain."""
        taus = np.geomspace(0.5 * self.period, self._longest, GRID)
        return min((self._with_gain(float(tau)) for tau in taus), key=lambda entry: entry[0])[1]

    def _with_gain(self, tau: float) -> tuple[float, Array]:
        """Least sum of squares at a time constant, and theta there: the gain enters linearly."""
        theta = np.array([math.log(tau), 0.0])
        without, response = self.residuals(theta), -self.jacobian(theta)[:, 1]
        power = float(response @ response)
        theta[1] = float(response @ without) / power if power > 0.0 else 0.0
        return float(np.sum((without - theta[1] * response) ** 2)), theta

    def time_constant(self, theta: Array) -> float:
        """Time constant of theta within what the samples can show, s."""
        low, high = math.log(FASTEST * self.period), math.log(self._slowest)
        return math.exp(min(max(theta[0], low), high))

    def residuals(self, theta: Array) -> Array:
        """Measured minus simulated velocity at all samples that count, shape (n,)."""
        self._evaluate(theta)
        return self._residuals

    def jacobian(self, theta: Array) -> Array:
        """Derivative of the residuals by theta, shape (n, 2)."""
        self._evaluate(theta)
        return self._jacobian

    def _evaluate(self, theta: Array) -> None:
        if self._theta is not None and np.array_equal(theta, self._theta):
            return
        x = self.period / self.time_constant(theta)
        response, slope = (
            series[self._use]
            for series in forced(self.time_constant(theta), self._commands, self.period)
        )
        decay = np.exp(-x * self._since)
        # Derivative of the decay by log tau.
        bend = x * self._since * decay
        power = self._sums(decay * decay)
        rest = self.measured - theta[1] * response
        starts = self._sums(decay * rest) / power
        residuals = rest - self._each(starts) * decay
        by_tau = -theta[1] * slope - self._each(starts) * bend
        shift = self._sums(decay * by_tau + residuals * bend) / power
        by_tau -= self._each(shift) * decay
        by_gain = self._each(self._sums(decay * response) / power) * decay - response
        self._theta = np.array(theta)
        self._residuals = residuals
        self._jacobian = np.column_stack((by_tau, by_gain))

    def _sums(self, values: Array) -> Array:
        """Sum over each stretch, shape (stretches,)."""
        return np.add.reduceat(values, self._first)

    def _each(self, values: Array) -> Array:
        """One value of each stretch at each of its residuals, shape (n,)."""
        return np.repeat(values, self.lengths)


def _piece(stretch: Stretch, skip: int, dead_time: float) -> tuple[Array, Array, Array, Array]:
    """Late commands, velocity and which samples count, without the first ones."""
    command = np.asarray(stretch.command, dtype=float)
    newer, older, _ = late(command, stretch.period, dead_time)
    velocity = np.asarray(stretch.velocity, dtype=float)
    fresh = np.ones(len(velocity), bool) if stretch.fresh is None else stretch.fresh
    return newer[skip:], older[skip:], velocity[skip:], np.asarray(fresh, bool)[skip:]
