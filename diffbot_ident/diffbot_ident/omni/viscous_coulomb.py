"""One axis with viscous and Coulomb friction under a constant force, solved exactly.

    (1)-(3)  F = M dv/dt + B v + C sgn(v)

At v = 0 the friction is whatever holds the axis, up to C; the printed sgn(0) = 0 would let any
force move it, and a solver that follows it chatters about standstill. With b = B / M and
a = (F - C s) / M, s the direction of motion:

    v(t) = v0 exp(-b t) + a (1 - exp(-b t)) / b      until v = 0, at t = ln(1 - b v0 / a) / b

After that the axis rests where |F| <= C, and else moves on from rest in the direction of F.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from diffbot_ident.omni.kinematics import Array

SMALL = 1e-8
"""Of b t, below which two terms of a series are exact to rounding, and a division is not."""


def decay_integral(rate: ArrayLike, time: ArrayLike) -> Array:
    """(1 - exp(-b t)) / b, s, the integral of exp(-b t) from 0 to t; t itself where b = 0."""
    rate, time = np.asarray(rate, float), np.asarray(time, float)
    x = rate * time
    with np.errstate(all="ignore"):
        found = -np.expm1(-x) / rate
    return np.where(np.abs(x) < SMALL, time * (1.0 - 0.5 * x), found)


def time_to_rest(speed: ArrayLike, deceleration: ArrayLike, rate: ArrayLike) -> Array:
    """When dv/dt = -b v - d comes from the speed v to 0, s; infinite where it never does.

    Args:
        speed: v, >= 0, m/s or rad/s.
        deceleration: d, beside the viscous one; only d > 0 stops.
        rate: b, 1/s.
    """
    speed, deceleration, rate = (np.asarray(x, float) for x in (speed, deceleration, rate))
    with np.errstate(all="ignore"):
        ratio = speed / deceleration
        x = rate * ratio
        found = np.where(np.abs(x) < SMALL, ratio * (1.0 - 0.5 * x), np.log1p(x) / rate)
    return np.where((deceleration > 0.0) & np.isfinite(found), found, np.inf)


def advance(
    velocity: ArrayLike,
    force: ArrayLike,
    mass: ArrayLike,
    viscous: ArrayLike,
    coulomb: ArrayLike,
    duration: float,
) -> Array:
    """The velocity after a time with a constant force, by (1)-(3); all arguments broadcast.

    Args:
        velocity: at the start, m/s or rad/s.
        force: F, N or N m.
        mass: M or J, kg or kg m^2, > 0.
        viscous: B, N/(m/s) or N m/(rad/s), >= 0.
        coulomb: C, N or N m, >= 0.
        duration: s, >= 0.
    """
    velocity, force, mass, viscous, coulomb = (
        np.asarray(x, float) for x in (velocity, force, mass, viscous, coulomb)
    )
    rate, direction = viscous / mass, np.sign(velocity)
    drive = (force - coulomb * direction) / mass
    rest = time_to_rest(np.abs(velocity), -direction * drive, rate)
    rest = np.where(direction == 0.0, 0.0, rest)
    moving = velocity * np.exp(-rate * duration) + drive * decay_integral(rate, duration)
    # From standstill: what the force has more than friction can hold.
    excess = np.sign(force) * np.maximum(np.abs(force) - coulomb, 0.0) / mass
    after = excess * decay_integral(rate, np.maximum(duration - rest, 0.0))
    return np.where(rest > duration, moving, after)
