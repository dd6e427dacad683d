# SPDX-License-Identifier: Apache-2.0
"""Torques of the two wheels that excite a robot: guarded PRBS and multisines.

Pseudo-random binary sequences (PRBS) come from a shift register of n bits. One whose feedback
polynomial is primitive runs through all 2^n - 1 non-zero states before it repeats (Press et al.,
Numerical Recipes, reference [21] of Lages (2017)). The sequence is white but for its period: its
autocorrelation at any other lag is -1 / (2^n - 1).

Lages (2017), section 5.3, applies an independent PRBS torque to each wheel. White torque makes
the wheels' speeds walk at random, so a guard replaces the torque of a wheel that comes near its
speed limit by one that brakes it. The identification must be fed the torque that really acted.

Multisines are sums of sines at chosen frequencies with a small peak for their power. Schroeder
(1970), "Synthesis of low-peak-factor signals and binary sequences with low autocorrelation", gives
the phases -pi k (k - 1) / K for K sines of equal amplitude.
"""

from __future__ import annotations

import math
from collections import deque
from random import Random

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.excitation.body_model import Motion
from diffbot_ident.torque.estimate import Array, Estimate

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

    Args:
        register: number of bits of the shift register, 7 to 15; the period is 2^register - 1.
        start: where in the period to begin, any integer (taken modulo the period). Sequences of
            one register that begin half a period apart are uncorrelated at every lag shorter
            than that.

    Raises:
        ValueError: the register length is not offered.
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
        """The next bit, 0 or 1."""
        feedback = 0
        for shift in self._shifts:
            feedback ^= self._state >> shift
        bit = self._state & 1
        self._state = (self._state >> 1) | ((feedback & 1) << self._top)
        return bit


class HeldPrbs:
    """PRBS torque of one wheel; iterate it for the torque of the next control period, N m.

    Args:
        amplitude: torque of either sign, N m, > 0.
        hold: control periods for which each bit is held, >= 1. Longer holds excite the velocities
            more, shorter ones give more changes a second.
        prbs: the binary sequence.
    """

    def __init__(self, amplitude: float, hold: int, prbs: Prbs) -> None:
        if not (math.isfinite(amplitude) and amplitude > 0.0):
            raise ValueError(f"amplitude = {amplitude} N m: must be finite and > 0")
        if hold < 1:
            raise ValueError(f"hold = {hold} samples: must be 1 or more; 20 suits 100 Hz")
        self.amplitude = amplitude
        self._hold = hold
        self._prbs = prbs
        self._left_to_hold = 0
        self._bit = 0

    def __iter__(self) -> HeldPrbs:
        return self

    def __next__(self) -> float:
        """The torque of the next control period, N m."""
        if self._left_to_hold == 0:
            self._bit = next(self._prbs)
            self._left_to_hold = self._hold
        self._left_to_hold -= 1
        return self.amplitude if self._bit else -self.amplitude


class PrbsPair:
    """PRBS torques of both wheels, [left, right].

    The wheels use one sequence half a period apart, so they are uncorrelated over any run
    shorter than half a period.

    Args:
        amplitude: torque of either sign on each wheel, N m, > 0.
        hold: control periods for which each bit is held, >= 1.
        register: bits of the shift register, 7 to 15.
        seed: chooses where in its period the sequence begins, >= 0.
    """

    def __init__(self, amplitude: float, hold: int, register: int, seed: int) -> None:
        first = Random(seed).randrange(2**register)
        half = 2 ** (register - 1)
        self.left, self.right = (
            HeldPrbs(amplitude, hold, Prbs(register, start)) for start in (first, first + half)
        )

    def take(self, count: int) -> Array:
        """The next `count` torques [left, right], N m, shape (2, count)."""
        return np.array([(next(self.left), next(self.right)) for _ in range(count)]).T


# Control periods by which the speed guards look back.
GUARD_DELAY = 2
# Control periods in which the speed may go on rising: the guard's delay, the period that the
# torque is commanded for, and as much again for what the fastest change so far was short of.
BRAKING_PERIODS = 6
# Below this share of the limit nothing is braked.
MIN_ENGAGE = 0.3


class SpeedGuard:
    """Brakes one wheel that comes near its speed limit, until it is well below again.

    The hysteresis keeps the torque from chattering at the limit, where it would be white at the
    control rate and any unknown delay would ruin the estimate. Braking begins earlier where the
    speed has been seen to change so fast that the rest would not do for the brake to act: over
    BRAKING_PERIODS, as from one period to the next coarse encoders make it jump.

    Args:
        limit: speed of the wheel that should not be exceeded, rad/s, > 0.
        engage: largest share of the limit at which braking begins.
        release: largest share of the limit below which the excitation goes on.
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
        """The next speed does not follow the last one."""
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
    """PRBS torques of both wheels, each under its speed guard, [left, right]; see PrbsPair.

    The guards look at the speeds of two periods ago. Those of now share their encoder's noise
    with the acceleration that the torque is paired with; a torque chosen by them would depend on
    that noise, and K7 and K8 came out 0.2 to 0.35 % too large.

    Args:
        amplitude: torque of either sign on each wheel, N m, > 0.
        hold: control periods for which each bit is held, >= 1.
        register: bits of the shift register, 7 to 15.
        speed_limit: wheel speed that should not be exceeded, rad/s, > 0.
        seed: chooses where in its period the sequence begins, >= 0.

    Attributes:
        guarded: wheel torques that the speed guards have replaced so far.
    """

    def __init__(
        self, amplitude: float, hold: int, register: int, speed_limit: float, seed: int = 0
    ) -> None:
        pair = PrbsPair(amplitude, hold, register, seed)
        self._wheels = tuple((wheel, SpeedGuard(speed_limit)) for wheel in (pair.left, pair.right))
        self._speeds = deque([(0.0, 0.0)] * (GUARD_DELAY + 1), maxlen=GUARD_DELAY + 1)
        self._interrupted = False
        self.guarded = 0

    def torque(self, speeds: tuple[float, float]) -> tuple[float, float]:
        """Wheel torques [left, right] for the next control period, N m, from speeds in rad/s."""
        self._speeds.append(speeds)
        left, right = (
            self._guarded(next(wheel), wheel.amplitude, guard, speed)
            for (wheel, guard), speed in zip(self._wheels, self._speeds[0], strict=True)
        )
        if self._interrupted:
            # These speeds are means over the gap, of no use for how fast speeds change.
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
        """Samples were lost: nothing is known of the time in between, zero torque was commanded.

        Until there are older speeds again, the guards look at the oldest ones since then.
        """
        self._forget()
        self._interrupted = True

    def _forget(self) -> None:
        self._speeds.clear()
        for _, guard in self._wheels:
            guard.forget()


class PrbsExcitation:
    """GuardedPrbs as an Excitation: bounded in speed, not in space, and needs no model.

    Args:
        prbs: the guarded sequences.
    """

    learns = False
    information = math.nan
    predicted_information = math.nan

    def __init__(self, prbs: GuardedPrbs) -> None:
        self._prbs = prbs

    @property
    def guarded(self) -> int:
        """Wheel torques that the speed guard has replaced so far."""
        return self._prbs.guarded

    def torque(self, motion: Motion) -> tuple[float, float]:
        """Wheel torques [left, right] for the next control period, N m."""
        return self._prbs.torque(motion.wheel_speeds)

    def interrupt(self) -> None:
        """Samples were lost; the speed guards forget the speeds before."""
        self._prbs.interrupt()

    def learn(self, estimate: Estimate) -> None:
        """Nothing is predicted, so there is nothing to learn."""


def wheel_speed_limit(linear: float, angular: float, radius: float, half_track: float) -> float:
    """Wheel speed (rad/s) that keeps |v| <= linear (m/s) and |omega| <= angular (rad/s).

    With both wheels at most at w, |v| <= r w and |omega| <= r w / b.
    """
    return min(linear, angular * half_track) / radius


# Period of the multisine in stretches of `hold` samples, and its lines in each wheel.
STRETCHES_PER_PERIOD = 64
LINES = 12


def schroeder(lines: NDArray[np.int64], samples: int) -> Array:
    """One period of a multisine with equal amplitudes and Schroeder's phases, peak 1.

    Args:
        lines: frequencies as whole numbers of periods in the signal, shape (K,), 1 to samples / 2.
        samples: in the period.

    Raises:
        ValueError: a line is outside its range.
    """
    if not (len(lines) and lines.min() >= 1 and 2 * lines.max() <= samples):
        raise ValueError(f"lines = {lines}: must be 1 to {samples // 2}, half of the samples")
    order = np.arange(1, len(lines) + 1)
    phases = -math.pi * order * (order - 1) / len(lines)
    time = math.tau * np.arange(samples) / samples
    signal = np.cos(np.outer(time, lines) + phases).sum(axis=1)
    scaled: Array = signal / np.abs(signal).max()
    return scaled


def crest_factor(signal: Array) -> float:
    """Largest size over root mean square; sqrt(2) for a sine, 1 for a binary signal."""
    return float(np.abs(signal).max() / math.sqrt(np.mean(signal**2)))


class Multisine:
    """Multisine torques of the two wheels at interleaved frequencies.

    The left wheel has the odd lines and the right wheel the even ones, so the two are uncorrelated
    over whole periods, and so are their sum and difference but for their equal power.

    Args:
        amplitude: largest torque of each wheel, N m.
        hold: control periods; the lines lie below 1 / (2 hold) of the control rate, as most of
            the power of a binary sequence with this hold does.
        seed: where in its period the signal begins, and each wheel's sign.
    """

    def __init__(self, amplitude: float, hold: int, seed: int = 0) -> None:
        samples = STRETCHES_PER_PERIOD * hold
        random = Random(seed)
        self._index = random.randrange(samples)
        signs = [random.choice((-1.0, 1.0)) for _ in range(2)]
        # Line n has the frequency n / (64 hold) of the control rate; the highest is 24 / 64.
        lines = [np.arange(first, 2 * LINES + 1, 2) for first in (1, 2)]
        self._signals = amplitude * np.array(
            [sign * schroeder(own, samples) for sign, own in zip(signs, lines, strict=True)]
        )

    def take(self, count: int) -> Array:
        """The next `count` torques [left, right], N m, shape (2, count)."""
        samples = self._signals.shape[1]
        indices = (self._index + np.arange(count)) % samples
        self._index = (self._index + count) % samples
        return self._signals[:, indices]
