# SPDX-License-Identifier: Apache-2.0
"""Numbers in sentences: none that is unknown is ever printed as "nan" or "inf"."""

from __future__ import annotations

import math

# Sizes up to which a number is printed without an exponent.
PLAIN = 1e6


def spoken(value: float, digits: int = 3) -> str:
    """Return a number with so many digits, without exponent up to PLAIN, or "unknown"."""
    if not math.isfinite(value):
        return "unknown"
    if 10.0**digits <= abs(value) < PLAIN:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def one(name: str) -> str:
    """Return a noun with its article.

    >>> one("odometry message")
    'an odometry message'
    """
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
