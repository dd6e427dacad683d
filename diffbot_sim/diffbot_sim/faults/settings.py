"""Which settings each kind of fault has, and their limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from diffbot_description.quantity import METADATA_KEY, Quantity

NUMBERS = (int, float)
LISTS = (list, tuple)
STAMPS = ("fresh", "old")
VALUES = ("random", "nan", "inf", "-inf")
ARRAYS = ("", "reversed", "missing", "extra", "duplicated", "short", "empty")


@dataclass(frozen=True)
class Kind:
    """What a kind of fault can be told.

    Attributes:
        settings: names of its settings.
        needed: of these at least one has to differ from its default, or it would do nothing.
    """

    settings: tuple[str, ...]
    needed: tuple[str, ...] = ()


_TIME = ("start", "duration")
_CHANCE = (*_TIME, "probability", "burst", "seed")

KINDS = {
    "off": Kind(_TIME),
    "stuck": Kind((*_CHANCE, "fields", "stamps")),
    "garbage": Kind((*_CHANCE, "fields", "value", "magnitude")),
    "wrong": Kind(
        (*_CHANCE, "fields", "scale", "offset", "wrap", "swap", "arrays", "index"),
        ("scale", "offset", "wrap", "swap", "arrays"),
    ),
    "slow": Kind((*_TIME, "rate"), ("rate",)),
    "delayed": Kind((*_CHANCE, "delay", "jitter", "overtake"), ("delay", "jitter")),
    "intermittent": Kind((*_CHANCE, "copies"), ("probability", "copies")),
}


def setting(unit: str, meaning: str, default: float | int, **limits: float) -> Any:
    """Return a dataclass field of a number with its default, unit, meaning and limits."""
    return field(default=default, metadata={METADATA_KEY: Quantity(unit, meaning, **limits)})
