# SPDX-License-Identifier: Apache-2.0
"""Design a wheel's sampled speed loop: as fast as phase margin, noise and overshoot allow.

C(z) = p + i T / (z - 1) of pid_controller acts on the wheel's mean speed over the last period T.
The effort is held and acts after the delay d; the discrete-time model is exact for any delay. The
integral gain follows Skogestad's rule (J. Process Control 13, 2003) for the slower axis:

    i = p / min(J / D, 4 J / p)

p is the largest gain with which both axes, each J anywhere in its 95 % interval, keep the phase
margin, a gain margin of 2, an overshoot of at most MOST_OVERSHOOT, and a change of the effort by
one encoder count of at most the share RIPPLE of its limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffbot_description.dynamics import Array

Complex = NDArray[np.complex128]

MARGIN = 60.0  # degrees, default of the phase margin
GAIN_MARGIN = 2.0
RIPPLE = 0.25
MOST_OVERSHOOT = 0.25
# Integral time as a multiple of J / p, unless drag makes it shorter.
INTEGRAL = 4.0
FREQUENCIES = 2000
BISECTIONS = 24
# Duration of the step response, as a multiple of the loop's time.
LONG = 12.0


@dataclass(frozen=True)
class LoopAxis:
    """One axis of a plant: J w' = e(t - delay) - drag w.

    Attributes:
        inertia: J, effort per rad/s^2, > 0.
        drag: D, effort per rad/s, >= 0.
        delay: Of the effort, s, >= 0.
    """

    inertia: float
    drag: float
    delay: float

    def coefficients(self, period: float) -> tuple[float, int, tuple[float, ...], Array]:
        """Return the coefficients of the sampled axis with a held effort.

        Returns:
            a, the whole periods n of the delay, (g0, g1), and (alpha, h0, h1) of w[k+1] = a w[k] +
            g0 e[k-n] + g1 e[k-n-1], and mean speed over that period = alpha w[k] + h0 e[k-n] + h1
            e[k-n-1].
        """
        whole = math.floor(self.delay / period + 1e-9)
        late = max(self.delay - whole * period, 0.0)
        rate = self.drag / self.inertia

        def speed(time: float) -> float:
            """Return the speed from rest after a unit effort for a time."""
            fraction = rate * time
            return (
                time
                / self.inertia
                * (-math.expm1(-fraction) / fraction if fraction > 1e-9 else 1.0)
            )

        def path(time: float) -> float:
            """Return the angle from rest after a unit effort for a time."""
            fraction = rate * time
            if fraction < 1e-4:
                return 0.5 * time**2 / self.inertia * (1.0 - fraction / 3.0)
            return (time - -math.expm1(-fraction) / rate) / self.drag

        def coasted(time: float) -> float:
            """Return the angle in a time without effort, from unit speed."""
            fraction = rate * time
            return time * (-math.expm1(-fraction) / fraction if fraction > 1e-9 else 1.0)

        rest = period - late
        fade = math.exp(-rate * rest)
        mean = np.array(
            [coasted(period), path(rest), path(late) + speed(late) * coasted(rest)], dtype=float
        )
        gains = (speed(rest), fade * speed(late))
        return math.exp(-rate * period), whole, gains, mean / period

    def response(self, period: float, angles: Array) -> Complex:
        """Return measured speed per effort at z = exp(j angle), shape of the angles."""
        a, whole, (g0, g1), (alpha, h0, h1) = self.coefficients(period)
        back = np.exp(-1j * angles)
        effort = back ** (whole + 1)
        speed = (g0 + g1 * back) * effort / (1.0 - a * back)
        measured: Complex = alpha * back * speed + (h0 + h1 * back) * effort
        return measured


@dataclass(frozen=True)
class Margins:
    """Stability margins of one loop.

    Attributes:
        phase: Degrees; infinite if the gain is below 1 everywhere.
        gain: Factor by which the gain may grow.
        crossover: Highest frequency at which the gain is 1, rad/s; 0: none.
    """

    phase: float
    gain: float
    crossover: float


def margins(axis: LoopAxis, p: float, i: float, period: float) -> Margins:
    """Return the margins of a loop with these gains."""
    angles = np.geomspace(1e-5, math.pi, FREQUENCIES)
    back = np.exp(-1j * angles)
    loop = (p + i * period * back / (1.0 - back)) * axis.response(period, angles)
    size, phase = np.abs(loop), np.unwrap(np.angle(loop))
    # At low frequencies the phase of an integrating loop is between -180 and 0 degrees.
    phase -= 2.0 * math.pi * math.ceil(phase[0] / (2.0 * math.pi))
    result = Margins(math.inf, math.inf, 0.0)
    crossings = np.flatnonzero((size[:-1] >= 1.0) & (size[1:] < 1.0))
    if len(crossings):
        at = [_at(size, phase, angles, index) for index in crossings.tolist()]
        least = min(math.degrees(math.pi + where[0]) for where in at)
        result = Margins(least, math.inf, max(where[1] for where in at) / period)
    turns = np.flatnonzero((phase[:-1] > -math.pi) & (phase[1:] <= -math.pi))
    if len(turns):
        result = Margins(result.phase, float(1.0 / size[turns].max()), result.crossover)
    return result


def _at(size: Array, phase: Array, angles: Array, index: int) -> tuple[float, float]:
    above, below = math.log(size[index]), math.log(size[index + 1])
    fraction = above / (above - below) if above > below else 0.0
    return (
        float(phase[index] + fraction * (phase[index + 1] - phase[index])),
        float(angles[index] + fraction * (angles[index + 1] - angles[index])),
    )


def linear_step(axis: LoopAxis, p: float, i: float, feedforward: float, period: float) -> Array:
    """Return the speed at the sampling instants after a unit step of the reference, (n,)."""
    a, whole, (g0, g1), (alpha, h0, h1) = axis.coefficients(period)
    count = min(max(round(LONG * axis.inertia / max(p, axis.drag) / period), 20), 4000)
    efforts = [0.0] * (whole + 2)
    speed = measured = integral = 0.0
    speeds = np.empty(count)
    for k in range(count):
        error = 1.0 - measured
        efforts.append(feedforward + p * error + integral)
        integral += period * i * error
        now, before = efforts[-1 - whole], efforts[-2 - whole]
        measured = alpha * speed + h0 * now + h1 * before
        speed = a * speed + g0 * now + g1 * before
        speeds[k] = speed
    return speeds


@dataclass(frozen=True)
class LoopGains:
    """Designed gains: p and feedforward, effort per rad/s; i, effort per rad.

    Attributes:
        margins: Worst of all axes and interval ends.
        bound: The condition that limits p, as a text for the user.
    """

    p: float
    i: float
    feedforward: float
    margins: Margins
    bound: str


def integral_gain(axes: tuple[LoopAxis, ...], p: float) -> float:
    """Return the integral gain i for a proportional gain p."""
    times = [
        min(INTEGRAL * axis.inertia / p, axis.inertia / axis.drag if axis.drag else math.inf)
        for axis in axes
    ]
    return p / max(times)


def _fault(
    axes: tuple[LoopAxis, ...], p: float, period: float, feedforward: float, margin: float
) -> str | None:
    i = integral_gain(axes, p)
    for axis in axes:
        result = margins(axis, p, i, period)
        if result.phase < margin:
            return f"the phase margin of {margin:g} degrees"
        if result.gain < GAIN_MARGIN:
            return f"the gain margin of {GAIN_MARGIN:g}"
    for axis in axes:
        if linear_step(axis, p, i, feedforward, period).max() > 1.0 + MOST_OVERSHOOT:
            return f"the overshoot of {100.0 * MOST_OVERSHOOT:g} %"
    return None


def design(
    axes: tuple[LoopAxis, ...],
    period: float,
    *,
    feedforward: float,
    margin: float = MARGIN,
    largest: float = math.inf,
) -> LoopGains:
    """Return the largest gains that meet the conditions of this module; ValueError if none does.

    Args:
        axes: The ends of an inertia's interval are axes of their own.
        period: Of the loop, s, > 0.
        feedforward: Effort per rad/s.
        margin: Least phase margin, degrees, 20 to 85.
        largest: Largest p that the noise of the encoders allows.
    """

    def fault(p: float) -> str | None:
        return _fault(axes, p, period, feedforward, margin)

    high = 4.0 * max(axis.inertia for axis in axes) / period
    low = 1e-6 * high
    why = "the encoders' resolution (a lower --loop-rate allows more)"
    if largest < high:
        high = largest
    refused = fault(high)
    if refused is None:
        low = high
    else:
        if fault(low) is not None:
            raise ValueError(
                f"no gain meets {fault(low)} at {1.0 / period:g} Hz; lower --margin, or change "
                "--loop-rate"
            )
        for _ in range(BISECTIONS):
            middle = math.sqrt(low * high)
            result = fault(middle)
            if result is None:
                low = middle
            else:
                high, refused = middle, result
        why = refused
    i = integral_gain(axes, low)
    worst = [margins(axis, low, i, period) for axis in axes]
    return LoopGains(
        low,
        i,
        feedforward,
        Margins(
            min(result.phase for result in worst),
            min(result.gain for result in worst),
            max(result.crossover for result in worst),
        ),
        why,
    )
