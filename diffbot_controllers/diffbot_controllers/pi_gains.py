"""Gains of the PI velocity loops: the discrete design, and the published ones."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass

from diffbot_controllers.checks import check_finite, check_positive
from diffbot_controllers.motion import check_period

ACCURACY = 0.01  # settled: within 1 % of the step


@dataclass(frozen=True)
class PiGains:
    """nu = kp (weight r - u) + ki z, z' = r - u by forward Euler; (65) of Lages (2017).

    Attributes:
        kp: 1/s, > 0.
        ki: 1/s^2, >= 0.
        weight: share of the reference in the proportional part, > 0 to 1.

    Raises:
        ValueError: a gain is outside its limits.
    """

    kp: float
    ki: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_positive("PI gains", kp=self.kp, weight=self.weight)
        check_finite("PI gains", ki=self.ki)
        if self.ki < 0.0 or self.weight > 1.0:
            raise ValueError(
                f"PI gains: ki = {self.ki}, weight = {self.weight}: must be >= 0 and at most 1"
            )

    def at(self, dt: float) -> PiGains:
        """These gains, whatever the control period dt, s."""
        return self


# (71), (72): from (69), which knows neither the double pole nor the zero of (67).
PUBLISHED = PiGains(184.0, 8464.0)


@dataclass(frozen=True)
class PiDesign:
    """Gains that settle a step within 1 % in a given time, for the control period at hand.

    The loop is u(k+1) = u(k) + T nu(k), z(k+1) = z(k) + T (r - u(k)), which forward Euler makes
    exact, for torque is held over the period. Its poles q obey

        q^2 + (T kp - 2) q + 1 - T kp + T^2 ki = (q - q1)(q - q2),

    so kp = (2 - q1 - q2) / T and ki = (1 - q1)(1 - q2) / T^2, with q = e^(s T) for the poles s of
    (68). With weight 1/2 and from rest u(1) = T kp r / 2, and the error of a step is exactly

        1 - u(k) / r = (q1^k + q2^k) / 2 = Re q1^k for a complex pair.

    With damping 1 that is q1^k: no overshoot, the zero cancels one of the two poles.
    With damping z < 1 it stays within e^(-z wn t) and overshoots by up to e^(-pi z / sqrt(1 - z^2))
    or a little less.

    Attributes:
        settling_time: to within 1 % for good, s, > 0.
        damping: of the pole pair, > 0.

    Raises:
        ValueError: a number is not finite or not > 0.
    """

    settling_time: float = 0.05
    damping: float = 1.0

    def __post_init__(self) -> None:
        check_positive("PI design", settling_time=self.settling_time, damping=self.damping)

    @property
    def natural_frequency(self) -> float:
        """Frequency wn, rad/s, with which the error has come down to 1 % at settling_time."""
        decay = -math.log(ACCURACY)
        if self.damping <= 1.0:
            return decay / (self.damping * self.settling_time)
        # (e^(-fast x) + e^(-slow x)) / 2 = accuracy. The fast part adds at most the factor 2
        # in front of the slow one: bisect between.
        root = math.sqrt(self.damping**2 - 1.0)
        slow, fast = 1.0 / (self.damping + root), self.damping + root
        low, high = (decay - math.log(2.0)) / slow, decay / slow
        for _ in range(60):
            x = 0.5 * (low + high)
            if 0.5 * (math.exp(-slow * x) + math.exp(-fast * x)) > ACCURACY:
                low = x
            else:
                high = x
        return high / self.settling_time

    def at(self, dt: float) -> PiGains:
        """The gains for a control period of dt, s.

        Raises:
            ValueError: dt is not finite and > 0.
        """
        check_period(dt)
        root = cmath.sqrt(self.damping**2 - 1.0)
        wn = self.natural_frequency
        first = cmath.exp(-(self.damping + root) * wn * dt)
        second = cmath.exp(-(self.damping - root) * wn * dt)
        kp = (2.0 - first - second).real / dt
        return PiGains(kp, ((1.0 - first) * (1.0 - second)).real / dt**2, weight=0.5)
