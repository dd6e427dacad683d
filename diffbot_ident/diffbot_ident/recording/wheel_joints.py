"""Which joints are the two driven wheels, by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from diffbot_ident.recording.stream import RecordingError

_SIDES = (("left", "right"), ("l", "r"), ("lh", "rh"), ("lhs", "rhs"))


def find_wheels(
    names: Sequence[str],
    left: str | None,
    right: str | None,
    described: Iterable[tuple[str, str]] = (),
) -> tuple[str, str]:
    """Names of the left and the right wheel.

    Args:
        names: of all joints in the recording.
        left: the user's choice; None: find it.
        right: the same.
        described: pairs that are taken where both are there, as of a robot's description.

    Raises:
        RecordingError: a chosen one is not there, or there is no pair, or more than one.
    """
    listed = ", ".join(names) or "none"
    for option, name in (("--left-joint", left), ("--right-joint", right)):
        if name is not None and name not in names:
            raise RecordingError(f"{option} {name}: not among the joints {listed}")
    if left is not None and right is not None:
        if left == right:
            raise RecordingError(f"--left-joint and --right-joint are both {left}: give two")
        return left, right
    for pair in described:
        if set(pair) <= set(names):
            return pair
    pairs = [
        (a, b)
        for a in names
        for b in names
        if _counterparts(a, b) and left in (None, a) and right in (None, b)
    ]
    if len(pairs) > 1:
        # Of several pairs, such as arms and wheels, the one that says so.
        pairs = [pair for pair in pairs if "wheel" in pair[0].lower()] or pairs
    if len(pairs) == 1:
        return pairs[0]
    found = "no pair" if not pairs else "pairs " + ", ".join(f"{a}/{b}" for a, b in pairs)
    raise RecordingError(
        f"which joints are the wheels? {found} of left and right found by name; choose with "
        f"--left-joint NAME --right-joint NAME among: {listed}"
    )


def _counterparts(a: str, b: str) -> bool:
    words_a, words_b = (
        re.split(r"([^a-z]+)", re.sub(r"([a-z])([A-Z])", r"\1_\2", text).lower()) for text in (a, b)
    )
    if len(words_a) != len(words_b):
        return False
    different = [pair for pair in zip(words_a, words_b, strict=True) if pair[0] != pair[1]]
    return len(different) == 1 and different[0] in _SIDES
