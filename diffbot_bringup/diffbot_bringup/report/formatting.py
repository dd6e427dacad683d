"""Numbers as people read them: as many digits as the uncertainty supports."""

from __future__ import annotations

import math

MISSING = "–"


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


def with_uncertainty(value: float | None, std: float | None) -> tuple[str, str]:
    """(value, 2 std) as text: 2 std to two significant digits, the value to the same decimals.

    The value never gets more than seven significant digits; a missing number is a dash.
    """
    if value is None:
        return MISSING, MISSING
    if std is None:
        return MISSING, "not fixed"
    if std == 0.0:
        return significant(value, 6), "0"
    decimals = 1 - math.floor(math.log10(2.0 * std))
    most = 6 - math.floor(math.log10(abs(value))) if value else decimals
    if decimals > min(most, 9) or decimals < -6:
        return significant(value, 7), f"{2.0 * std:.1e}"
    decimals = max(decimals, 0)
    return f"{value:.{decimals}f}", f"{2.0 * std:.{decimals}f}"
