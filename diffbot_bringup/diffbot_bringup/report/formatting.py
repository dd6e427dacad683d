"""Numbers as people read them: as many digits as the uncertainty supports."""

from __future__ import annotations

import math

MISSING = "–"
UNBOUNDED = "(−∞, ∞)"


def significant(value: float, digits: int = 3) -> str:
    """The value with this many significant digits, without an exponent for usual sizes."""
    if value == 0.0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    if not -6 <= decimals <= 9:
        return f"{value:.{digits - 1}e}"
    rounded = round(value, decimals)
    return f"{rounded:.{max(decimals, 0)}f}"


def supported(value: float, std: float) -> str:
    """The value with the digits that its standard deviation supports, two or three."""
    if value == 0.0 or std <= 0.0:
        return significant(value)
    digits = 2 + math.floor(math.log10(abs(value) / (2.0 * std)))
    return significant(value, min(max(digits, 2), 3))


def with_uncertainty(value: float | None, half_width: float | None) -> tuple[str, str]:
    """(value, half width of its interval) as text, with the decimals that the interval supports.

    The half width gets two significant digits, the value the same decimals but never more than
    seven significant digits. A missing number is a dash; a value whose interval is not bounded gets
    two significant digits.
    """
    if value is None:
        return MISSING, MISSING
    if half_width is None:
        return significant(value, 2), UNBOUNDED
    if half_width == 0.0:
        return significant(value, 6), "0"
    decimals = 1 - math.floor(math.log10(half_width))
    most = 6 - math.floor(math.log10(abs(value))) if value else decimals
    if decimals > min(most, 9) or decimals < -6:
        return significant(value, 7), f"{half_width:.1e}"
    decimals = max(decimals, 0)
    return f"{value:.{decimals}f}", f"{half_width:.{decimals}f}"
