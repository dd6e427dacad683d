"""Means of products of velocities whose slope jumps from one control period to the next.

A control period's torque is constant, so that a velocity x is a line in it, with a kink where the
torque jumps: x = b - a s before the end of period k and x = b + a' s after it, s the time from
there as a share of a period. What an encoder gives are the means of the periods, x(k) = b - a / 2
and x(k+1) = b + a' / 2. Their difference is the integral of dx/dt under a triangle over both
periods, so a product has to be averaged under the same triangle. With y likewise (c, e, e'),
d = a' - a and a bar = (a + a') / 2:

    mean of x y = [x(k) y(k+1) + y(k) x(k+1)] / 2
                  - (b d_y + c d_x) / 12 + 5 / 12 (a bar)(e bar) - d_x d_y / 48

The kinks d come from the torques, b = [x(k) + x(k+1)] / 2 - d / 4, and a bar twice, from either
neighbour period. Only velocities of different periods are multiplied: the noise of a square would
raise its mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Kinks:
    """What the kinks of v and omega are known by.

    Attributes:
        gain: of v, K7, m/s^2 per N m of both wheels' sum; 0 while it is not known.
        yaw_gain: of omega, K8, rad/s^2 per N m of the wheels' difference; 0 while it is not known.
        delay: control periods by which torques act late, >= 0.
    """

    gain: float = 0.0
    yaw_gain: float = 0.0
    delay: float = 0.0


NO_KINKS = Kinks()
"""Nothing is known of them."""


def delayed(values: Array, delay: float) -> Array:
    """Values of as many control periods before; the first one stands for what was before it."""
    whole = int(delay)
    part = delay - whole
    padded = np.concatenate((np.repeat(values[:1], whole + 1), values))[: len(values) + 1]
    return (1.0 - part) * padded[1:] + part * padded[:-1]


@dataclass(frozen=True)
class Velocity:
    """Means of a velocity over periods.

    Attributes:
        mean: of each period, shape (n,).
        kink: gain by torque in period k + 1 less that in period k, shape (n - 1,).
    """

    mean: Array
    kink: Array

    def at_boundary(self) -> Array:
        """At the end of period k, for k = 1 to n - 3."""
        return 0.5 * (self.mean[1:-2] + self.mean[2:-1]) - 0.25 * self.kink[1:-1]

    def gained(self) -> tuple[Array, Array]:
        """Gained in a period, the mean of k and k + 1, by the period before them and after."""
        mean, kink = self.mean, self.kink
        before = mean[1:-2] - mean[:-3] + 0.5 * (kink[1:-1] + kink[:-2])
        after = mean[3:] - mean[2:-1] - 0.5 * (kink[1:-1] + kink[2:])
        return before, after


def mean_product(x: Velocity, y: Velocity) -> Array:
    """Mean of x y under the triangle over periods k and k + 1, for k = 1 to n - 3."""
    near = 0.5 * (x.mean[1:-2] * y.mean[2:-1] + y.mean[1:-2] * x.mean[2:-1])
    kink_x, kink_y = x.kink[1:-1], y.kink[1:-1]
    (x_before, x_after), (y_before, y_after) = x.gained(), y.gained()
    gained = 0.5 * (x_before * y_after + x_after * y_before)
    bent = x.at_boundary() * kink_y + y.at_boundary() * kink_x
    return near - bent / 12.0 + 5.0 / 12.0 * gained - kink_x * kink_y / 48.0
