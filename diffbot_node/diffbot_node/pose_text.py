"""Poses in the plane as people write them: x,y,theta."""

from __future__ import annotations

import math
import re

UNITS = {"x": "m", "y": "m", "theta": "rad"}
PI = re.compile(r"([-+]?)(?:([\d.]+)\*)?pi(?:/([\d.]+))?")  # such as -pi/2 and 2*pi


def pose_from_text(name: str, text: str) -> tuple[float, float, float]:
    """The pose (x in m, y in m, theta in rad) that a text gives.

    Args:
        name: what the pose is, for messages; the name of the parameter that holds the text.
        text: three numbers with commas or spaces between them; a number may be written as pi,
            -pi/2 or 2*pi.

    Raises:
        ValueError: not three finite numbers; the message has the name, the text and an example.
    """
    words = re.split(r"\s*,\s*|\s+", text.strip())
    example = "give x,y,theta in m, m, rad, for example 1.0,-0.5,pi/2"
    if len(words) != len(UNITS):
        raise ValueError(f"{name} = {text!r}: must be 3 numbers; {example}")
    for word, (part, unit) in zip(words, UNITS.items(), strict=True):
        if not math.isfinite(_number(word)):
            raise ValueError(
                f"{name} = {text!r}: {part} = {word!r} must be a finite number in {unit}; {example}"
            )
    x, y, theta = map(_number, words)
    return x, y, theta


def _number(word: str) -> float:
    """The number that a word stands for; not a number where there is none."""
    try:
        if found := PI.fullmatch(word):
            sign, factor, divisor = found.groups()
            return float(f"{sign}{factor or 1}") * math.pi / float(divisor or 1)
        return float(word)
    except (ValueError, ZeroDivisionError):
        return math.nan
