"""Wheel torques that excite the robot, inside its speed limits.

Lages (2017), section 5.3, applies an independent PRBS torque to each wheel. White torque makes
the wheels' speeds walk at random, so a guard replaces the torque of a wheel that comes near its
speed limit by one that brakes it. The identification must be fed the torque that really acted.
"""

from __future__ import annotations

import math
from collections import deque
from random import Random

from diffbot_ident.prbs import Prbs

# Control periods by which the speed guards look back.
GUARD_DELAY = 2
# Control periods in which the speed may go on rising: the guard's delay, the period that the
# torque is commanded for, and as much again for what the fastest change so far was short of.
BRAKING_PERIODS = 6
# Coarse encoders make speeds jump; below this share of the limit nothing is braked.
LEAST_ENGAGE = 0.3


class SpeedGuard:
    """Brakes one wheel that comes near its speed limit, until it is well below again.

    The hysteresis keeps the torque from chattering at the limit, where it would be white at the
    control rate and any unknown delay would ruin the estimate. Braking begins earlier where the
    speed has been seen to change so fast that the rest would not do for the brake to act.

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
        self._last: float | None = None
        self._fastest_change = 0.0

    def forget(self) -> None:
        """The next speed does not follow the last one."""
        self._last = None

    def brakes(self, speed: float) -> bool:
        """Whether a wheel that turns at `speed` (rad/s) must be braked now."""
        if self._last is not None:
            self._fastest_change = max(self._fastest_change, abs(speed - self._last))
        self._last = speed
        engage = self._limit - BRAKING_PERIODS * self._fastest_change
        engage = max(LEAST_ENGAGE * self._limit, min(self._engage, engage))
        self._braking = abs(speed) >= (self._release * engage if self._braking else engage)
        return self._braking


class WheelExcitation:
    """PRBS torque of one wheel under its speed guard.

    Args:
        amplitude: torque of either sign, N m, > 0.
        hold: control periods for which each bit is held, >= 1. Longer holds excite the velocities
            more, shorter ones give more changes a second.
        prbs: the binary sequence.
        guard: the wheel's speed guard.
    """

    def __init__(self, amplitude: float, hold: int, prbs: Prbs, guard: SpeedGuard) -> None:
        if not (math.isfinite(amplitude) and amplitude > 0.0):
            raise ValueError(f"amplitude = {amplitude} N m: must be finite and > 0")
        if hold < 1:
            raise ValueError(f"hold = {hold} samples: must be 1 or more; 20 suits 100 Hz")
        self._amplitude = amplitude
        self._hold = hold
        self._prbs = prbs
        self._guard = guard
        self._left_to_hold = 0
        self._bit = 0
        self.guarded = 0

    def interrupt(self) -> None:
        """The next speed does not follow the last one by one control period."""
        self._guard.forget()

    def torque(self, speed: float) -> float:
        """Torque for the next control period, N m, given the wheel's speed in rad/s."""
        if self._left_to_hold == 0:
            self._bit = next(self._prbs)
            self._left_to_hold = self._hold
        self._left_to_hold -= 1
        wanted = self._amplitude if self._bit else -self._amplitude
        if not self._guard.brakes(speed):
            return wanted
        brake = -math.copysign(self._amplitude, speed)
        self.guarded += wanted != brake
        return brake


class GuardedPrbs:
    """PRBS torques for both wheels, [left, right].

    The wheels use one sequence half a period apart, so they are uncorrelated over any run
    shorter than half a period.

    The guards look at the speeds of two periods ago. Those of now share their encoder's noise
    with the acceleration that the torque is paired with; a torque chosen by them would depend on
    that noise, and K7 and K8 came out 0.2 to 0.35 % too large.

    Args:
        amplitude: torque of either sign on each wheel, N m, > 0.
        hold: control periods for which each bit is held, >= 1.
        register: bits of the shift register, 7 to 15.
        speed_limit: wheel speed that should not be exceeded, rad/s, > 0.
        seed: chooses where in its period the sequence begins, >= 0.
    """

    def __init__(
        self, amplitude: float, hold: int, register: int, speed_limit: float, seed: int = 0
    ) -> None:
        first = Random(seed).randrange(2**register)
        half = 2 ** (register - 1)
        self._wheels = tuple(
            WheelExcitation(amplitude, hold, Prbs(register, start), SpeedGuard(speed_limit))
            for start in (first, first + half)
        )
        self._speeds = deque([(0.0, 0.0)] * (GUARD_DELAY + 1), maxlen=GUARD_DELAY + 1)
        self._interrupted = False

    @property
    def guarded(self) -> int:
        """Wheel torques that the speed guard has replaced so far."""
        return sum(wheel.guarded for wheel in self._wheels)

    def torque(self, speeds: tuple[float, float]) -> tuple[float, float]:
        """Wheel torques [left, right] for the next control period, N m, from speeds in rad/s."""
        self._speeds.append(speeds)
        (left, right), (old_left, old_right) = self._wheels, self._speeds[0]
        torques = left.torque(old_left), right.torque(old_right)
        if self._interrupted:
            # These speeds are means over the gap, of no use for how fast speeds change.
            self._forget()
            self._interrupted = False
        return torques

    def interrupt(self) -> None:
        """Samples were lost: nothing is known of the time in between, zero torque was commanded.

        Until there are older speeds again, the guards look at the oldest ones since then.
        """
        self._forget()
        self._interrupted = True

    def _forget(self) -> None:
        self._speeds.clear()
        for wheel in self._wheels:
            wheel.interrupt()


def wheel_speed_limit(linear: float, angular: float, radius: float, half_track: float) -> float:
    """Wheel speed (rad/s) that keeps |v| <= linear (m/s) and |omega| <= angular (rad/s).

    With both wheels at most at w, |v| <= r w and |omega| <= r w / b.
    """
    return min(linear, angular * half_track) / radius
