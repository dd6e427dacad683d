"""Motions of the arm: f(t) = a0 + a sin(w t), (24), within limits, changed without jumps.

The paper changes amplitude, frequency and offset every 0.4 s and does not say how the arm gets
from one sinusoid to the next. Here the phase goes on, and over a fixed time the new motion takes
the old one's place by a polynomial s(t) of fifth order, so that angle, speed and acceleration are
continuous:

    f = f_old + s (f_new - f_old)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ArmLimits:
    """What the arm can do.

    Attributes:
        lowest: angle, rad.
        highest: angle, rad.
        speed: largest, rad/s, > 0.
        acceleration: largest, rad/s^2, > 0.
        slowest: least frequency of an excitation, rad/s, > 0.
        fastest: largest frequency, rad/s, > slowest: the bandwidth.
    """

    lowest: float = 0.0
    highest: float = 0.5 * math.pi
    speed: float = 6.0
    acceleration: float = 60.0
    slowest: float = 0.5 * math.pi
    fastest: float = 8.0 * math.pi

    def __post_init__(self) -> None:
        if not self.lowest < self.highest:
            raise ValueError(f"lowest = {self.lowest}: must be below highest = {self.highest} rad")
        if not (self.speed > 0.0 and self.acceleration > 0.0):
            raise ValueError(f"speed = {self.speed}, acceleration = {self.acceleration}: need > 0")
        if not 0.0 < self.slowest < self.fastest:
            raise ValueError(f"slowest = {self.slowest}: must be > 0 and below {self.fastest}")

    def sinusoid(self, unit: Array) -> tuple[Array, Array, Array]:
        """Offset, amplitude and frequency from three numbers of 0 to 1 each.

        Every point of the cube is within the limits, so an optimiser needs no more than bounds:
        the frequency comes first, then the largest amplitude at it, then the offset's room.

        Args:
            unit: shape (3, ...).
        """
        frequency = self.slowest * (self.fastest / self.slowest) ** unit[1]
        largest = np.minimum(
            0.5 * (self.highest - self.lowest),
            np.minimum(self.speed / frequency, self.acceleration / frequency**2),
        )
        amplitude = unit[0] * largest
        room = self.highest - self.lowest - 2.0 * amplitude
        return self.lowest + amplitude + unit[2] * room, amplitude, frequency

    def excess(self, motion: ArmMotion) -> Array:
        """How far a motion goes beyond, as a share of each limit, summed; 0 within.

        Args:
            motion: n samples each of (...) motions.

        Returns:
            Shape (...).
        """
        middle, half = 0.5 * (self.lowest + self.highest), 0.5 * (self.highest - self.lowest)
        shares = (
            np.abs(motion.angle - middle) / half,
            np.abs(motion.speed) / self.speed,
            np.abs(motion.acceleration) / self.acceleration,
        )
        return sum(np.maximum(share.max(axis=-1) - 1.0, 0.0) for share in shares)


@dataclass(frozen=True)
class ArmMotion:
    """Samples of the arm's angle and its derivatives, rad, rad/s, rad/s^2, each (..., n)."""

    angle: Array
    speed: Array
    acceleration: Array


@dataclass(frozen=True)
class Sinusoid:
    """offset + amplitude sin(phase + frequency t), t counted from its start.

    Attributes:
        offset: a0, rad; as all others a number or an array of candidates.
        amplitude: a, rad.
        frequency: w, rad/s.
        phase: at t = 0, rad.
    """

    offset: ArrayLike
    amplitude: ArrayLike
    frequency: ArrayLike
    phase: ArrayLike = 0.0

    def motion(self, times: Array) -> ArmMotion:
        """At these times, s: numbers (...) and times (n,) give (..., n)."""
        a0, a, w, phase = (
            np.asarray(each, dtype=float)[..., None]
            for each in (self.offset, self.amplitude, self.frequency, self.phase)
        )
        turned = phase + w * times
        sine, cosine = np.sin(turned), np.cos(turned)
        return ArmMotion(a0 + a * sine, a * w * cosine, -a * w * w * sine)

    def later(self, time: float) -> Sinusoid:
        """The same motion with its start moved by this time, s."""
        phase = np.asarray(self.phase) + np.asarray(self.frequency) * time
        return Sinusoid(self.offset, self.amplitude, self.frequency, phase)


def changed(old: Sinusoid, new: Sinusoid, times: Array, blend: float) -> ArmMotion:
    """From one motion to another that takes its place within `blend`.

    Args:
        old: motion until t = 0.
        new: motion from t = blend on.
        times: >= 0, s, shape (n,).
        blend: how long the change takes, s, > 0.
    """
    x = np.minimum(times / blend, 1.0)
    s = x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
    ds = 30.0 * x * x * (1.0 - x) ** 2 / blend
    dds = 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / blend**2
    one, two = old.motion(times), new.motion(times)
    gap = two.angle - one.angle
    gap_speed = two.speed - one.speed
    return ArmMotion(
        one.angle + s * gap,
        one.speed + s * gap_speed + ds * gap,
        one.acceleration
        + s * (two.acceleration - one.acceleration)
        + 2.0 * ds * gap_speed
        + dds * gap,
    )


# (24): the constant excitation of the paper's first test.
CONSTANT = Sinusoid(0.25 * math.pi, 2.0 * math.pi / 9.0, 0.5 * math.pi)
