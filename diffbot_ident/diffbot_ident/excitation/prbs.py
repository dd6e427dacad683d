# SPDX-License-Identifier: Apache-2.0
"""Excitation torques of the two wheels: guarded PRBS and multisines.

Lages (2017), section 5.3; Schroeder (1970). See docs/theory/excitation.md.
"""

from __future__ import annotations

import math
from collections import deque
from random import Random

import numpy as np

from diffbot_ident.estimate import Array, Estimate
from diffbot_ident.excitation.body_model import Motion

# Exponents of one primitive feedback polynomial per register length.
PRIMITIVE_TAPS = {
    7: (7, 6),
    8: (8, 6, 5, 4),
    9: (9, 5),
    10: (10, 7),
    11: (11, 9),
    12: (12, 6, 4, 1),
    13: (13, 4, 3, 1),
    14: (14, 5, 3, 1),
    15: (15, 14),
}


class Prbs:
    """One maximal-length binary sequence; iterate it for its next bit.

        >>> prbs = Prbs(7)
        >>> sum(next(prbs) for _ in range(prbs.period)), prbs.period
        (64, 127)

    Args:
        register: Number of bits of the shift register, 7 to 15; the period is 2^register - 1.
        start: Offset of the first bit. Sequences half a period apart are uncorrelated at every
            shorter lag.
    """

    def __init__(self, register: int, start: int = 0) -> None:
        if register not in PRIMITIVE_TAPS:
            raise ValueError(
                f"register = {register} bits: must be one of {min(PRIMITIVE_TAPS)} to "
                f"{max(PRIMITIVE_TAPS)}; 10 suits runs of a minute"
            )
        self.period = 2**register - 1
        self._shifts = tuple(register - tap for tap in PRIMITIVE_TAPS[register])
        self._top = register - 1
        self._state = 1
        for _ in range(start % self.period):
            next(self)

    def __iter__(self) -> Prbs:
        return self

    def __next__(self) -> int:
        feedback = 0
        for shift in self._shifts:
            feedback ^= self._state >> shift
        bit = self._state & 1
        self._state = (self._state >> 1) | ((feedback & 1) << self._top)
        return bit


class SteppedPrbs:
    """PRBS torque of one wheel; iterate it for the torque of the next control period, N m.

    Args:
        amplitude: Size of the torque, which has either sign, N m, > 0.
        hold: Control periods for which each bit is held, >= 1.
        sizes: Another sequence: two of its bits, if both are 1, halve one bit's amplitude.
    """

    def __init__(self, amplitude: float, hold: int, prbs: Prbs, sizes: Prbs | None = None) -> None:
        if not (math.isfinite(amplitude) and amplitude > 0.0):
            raise ValueError(f"amplitude = {amplitude} N m: must be finite and > 0")
        if hold < 1:
            raise ValueError(f"hold = {hold} samples: must be 1 or more; 20 suits 100 Hz")
        self.amplitude = amplitude
        self._hold = hold
        self._prbs = prbs
        self._sizes = sizes
        self._left_to_hold = 0
        self._constant_torque = 0.0

    def __iter__(self) -> SteppedPrbs:
        return self

    def __next__(self) -> float:
        if self._left_to_hold == 0:
            self._constant_torque = self._next_stepped()
            self._left_to_hold = self._hold
        self._left_to_hold -= 1
        return self._constant_torque

    def _next_stepped(self) -> float:
        constant_torque = self.amplitude if next(self._prbs) else -self.amplitude
        if self._sizes is None:
            return constant_torque
        both = next(self._sizes) + next(self._sizes) == 2
        return 0.5 * constant_torque if both else constant_torque


LEVELS = (2, 4)
"""Numbers of torque levels: the amplitude with either sign, or also half of it."""


class PrbsPair:
    """PRBS torques of both wheels, [left, right]: one sequence, half a period apart.

    `seed` selects where in its period the sequence starts, `levels` is one of LEVELS; see Prbs and
    SteppedPrbs for the others.
    """

    def __init__(
        self, amplitude: float, hold: int, register: int, seed: int, levels: int = 2
    ) -> None:
        if levels not in LEVELS:
            raise ValueError(
                f"levels = {levels}: must be 2, all bits with the amplitude, or 4, a quarter of "
                "them with half of it"
            )
        first = Random(seed).randrange(2**register)
        # Another length repeats at other times.
        other = register + 1 if register < max(PRIMITIVE_TAPS) else register - 1

        def wheel(halves: int) -> SteppedPrbs:
            start, size = (first + halves * 2 ** (bits - 1) for bits in (register, other))
            sizes = Prbs(other, size) if levels > 2 else None
            return SteppedPrbs(amplitude, hold, Prbs(register, start), sizes)

        self.left, self.right = wheel(0), wheel(1)

    def take(self, count: int) -> Array:
        return np.array([(next(self.left), next(self.right)) for _ in range(count)]).T


# Age of the speeds that the speed guards use, control periods.
GUARD_DELAY = 2
# Control periods in which the speed may keep rising: the delay and the commanded period, doubled.
BRAKING_PERIODS = 6
# Braking never starts below this share of the limit.
MIN_ENGAGE = 0.3


class SpeedGuard:
    """Brakes one wheel that nears its speed limit, rad/s, > 0, until it is well below again.

    It starts and ends at shares of the limit (`engage`, `release`), earlier if speeds change fast.
    """

    def __init__(self, limit: float, engage: float = 0.7, release: float = 0.4) -> None:
        if not (math.isfinite(limit) and limit > 0.0):
            raise ValueError(f"wheel speed limit = {limit} rad/s: must be finite and > 0")
        self._limit = limit
        self._engage = engage * limit
        self._release = release / engage
        self._braking = False
        self._speeds: deque[float] = deque(maxlen=BRAKING_PERIODS + 1)
        self._largest_change = 0.0

    def forget(self) -> None:
        self._speeds.clear()

    def brakes(self, speed: float) -> bool:
        """Whether a wheel that turns at `speed` (rad/s) must be braked now."""
        self._speeds.append(speed)
        self._largest_change = max(self._largest_change, abs(speed - self._speeds[0]))
        engage = self._limit - self._largest_change
        engage = max(MIN_ENGAGE * self._limit, min(self._engage, engage))
        self._braking = abs(speed) >= (self._release * engage if self._braking else engage)
        return self._braking


class GuardedPrbs:
    """An Excitation by PRBS torques, each wheel with its speed guard; see PrbsPair.

    It limits the speed but not the position, without a model. The guards use the speeds of two
    periods ago, whose noise is not in the regression's row; `speed_limit` is in rad/s, > 0.
    """

    information = math.nan
    predicted_information = math.nan

    def __init__(
        self,
        amplitude: float,
        hold: int,
        register: int,
        speed_limit: float,
        seed: int = 0,
        levels: int = 2,
    ) -> None:
        pair = PrbsPair(amplitude, hold, register, seed, levels)
        self._wheels = tuple((wheel, SpeedGuard(speed_limit)) for wheel in (pair.left, pair.right))
        self._speeds = deque([(0.0, 0.0)] * (GUARD_DELAY + 1), maxlen=GUARD_DELAY + 1)
        self._interrupted = False
        self.guarded = 0

    def torque(self, motion: Motion) -> tuple[float, float]:
        self._speeds.append(motion.wheel_speeds)
        left, right = (
            self._guarded(next(wheel), wheel.amplitude, guard, speed)
            for (wheel, guard), speed in zip(self._wheels, self._speeds[0], strict=True)
        )
        if self._interrupted:
            # Means over the gap do not show how fast speeds change.
            self._forget()
            self._interrupted = False
        return left, right

    def _guarded(self, wanted: float, most: float, guard: SpeedGuard, speed: float) -> float:
        if not guard.brakes(speed):
            return wanted
        brake = -math.copysign(most, speed)
        self.guarded += wanted != brake
        return brake

    def interrupt(self) -> None:
        self._forget()
        self._interrupted = True

    def learn(self, estimate: Estimate) -> None:
        """Ignore the estimate, as nothing is predicted."""

    def _forget(self) -> None:
        self._speeds.clear()
        for _, guard in self._wheels:
            guard.forget()


def wheel_speed_limit(linear: float, angular: float, radius: float, half_track: float) -> float:
    """Return the wheel speed (rad/s) that ensures |v| <= linear (m/s), |omega| <= angular (rad/s).

    >>> wheel_speed_limit(1.0, 4.0, radius=0.1, half_track=0.25)
    10.0
    """
    return min(linear, angular * half_track) / radius
