# SPDX-License-Identifier: Apache-2.0
"""Numbers as people write them in arguments and parameters. Standard library only."""

from __future__ import annotations

import math
import re

_PI = re.compile(r"([-+]?)(?:([\d.]+)\*)?pi(?:/([\d.]+))?")  # such as -pi/2 and 2*pi


def number(word: str) -> float:
    """Return the number that a word represents; NaN if it represents none.

    >>> number("2.5"), number("-pi/2"), number("x")
    (2.5, -1.5707963267948966, nan)
    """
    try:
        if match := _PI.fullmatch(word):
            sign, factor, divisor = match.groups()
            return float(f"{sign}{factor or 1}") * math.pi / float(divisor or 1)
        return float(word)
    except (ValueError, ZeroDivisionError):
        return math.nan


def list_items(text: str) -> list[str]:
    """Return what a text has between its commas, in brackets or without; a single bracket stays.

    >>> list_items("[1.0, 2.5]"), list_items("[]"), list_items("[1.0")
    (['1.0', ' 2.5'], [], ['[1.0'])
    """
    text = text.strip()
    if text[:1] == "[" and text[-1:] == "]":
        text = text[1:-1].strip()
    return text.split(",") if text else []
