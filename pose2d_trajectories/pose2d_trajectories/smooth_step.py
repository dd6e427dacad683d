"""The polynomial that joins two values with two continuous derivatives.

S(u) = 6 u^5 - 15 u^4 + 10 u^3 goes from 0 to 1 for u from 0 to 1; its first and second derivatives
vanish at both ends. Speeds that change by it have a continuous acceleration, headings that
change by it over the path have a continuous curvature, so that no torque has to jump.
S(1 - u) = 1 - S(u).
"""

from __future__ import annotations

import math
from typing import TypeVar

Number = TypeVar("Number")  # a float, or an array of them

# Largest S', at u = 1/2: the peak of a ramp's acceleration is this times its mean.
MAX_SLOPE = 1.875
# Largest |S''|, at u = (1 -+ 1 / sqrt 3) / 2.
MAX_CURVATURE = 10.0 / math.sqrt(3.0)


def step(u: Number) -> Number:
    """S(u), 0 <= u <= 1."""
    return u * u * u * (10.0 - u * (15.0 - 6.0 * u))


def step_slope(u: Number) -> Number:
    """S'(u)."""
    return 30.0 * u * u * (1.0 - u) * (1.0 - u)


def step_curvature(u: Number) -> Number:
    """S''(u)."""
    return 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u)


def step_integral(u: Number) -> Number:
    """Integral of S from 0 to u; 1/2 at u = 1."""
    return u * u * u * u * (2.5 - u * (3.0 - u))
