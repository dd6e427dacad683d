# SPDX-License-Identifier: Apache-2.0
"""Names of joints that do not agree: which one may be meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

# Most names that are listed.
MOST_NAMES = 8
# Least similarity of two names, 0 to 1.
SIMILAR = 0.6
_SIDES = {"l": "left", "lh": "left", "lhs": "left", "r": "right", "rh": "right", "rhs": "right"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case; the sides in full, as "left" and "right".

    >>> words_of("wheelL_joint")
    ['wheel', 'left', 'joint']
    """
    return [_SIDES.get(word, word) for word in map(str.lower, _WORD.findall(name))]


def side_of(name: str) -> str:
    """Return "left" or "right" if a name says one of them; else empty."""
    sides = {"left", "right"}.intersection(words_of(name))
    return sides.pop() if len(sides) == 1 else ""


def likely(name: str, among: Iterable[str]) -> str:
    """Return the name that `name` may mean; empty if none is like it. The sides must agree.

    >>> likely("left_wheel_joint", ["wheel_right", "wheel_left", "arm"])
    'wheel_left'
    """
    own, side = sorted(words_of(name)), side_of(name)
    scores = [
        (SequenceMatcher(None, " ".join(own), " ".join(sorted(words_of(other)))).ratio(), other)
        for other in among
        if side_of(other) == side
    ]
    score, best = max(scores, default=(0.0, ""))
    return best if score >= SIMILAR else ""


def listed(names: Sequence[str]) -> list[str]:
    """Return the first names, and "..." if there are more."""
    return [*names[:MOST_NAMES], *["..."] * (len(names) > MOST_NAMES)]


def meant(needed: Sequence[str], there: Sequence[str]) -> str:
    """Return which of the names that are there may be the needed ones, as a clause; or empty."""
    others = [name for name in there if name not in needed]
    pairs = [(name, likely(name, others)) for name in needed if name not in there]
    said = [f"'{name}' may be '{other}'" for name, other in pairs if other]
    return f"; {', '.join(said)}" if said else ""
