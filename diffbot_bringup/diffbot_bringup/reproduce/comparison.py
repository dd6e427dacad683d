"""A published value beside ours, and what follows from the two.

No verdict is typed in: `matches` and `improves` compare the numbers, `shows` takes the outcome of a
test. Only `cannot_be` is a statement, and it must give the reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """What became of a published value."""

    REPRODUCED = "reproduced"
    BETTER = "better"
    CANNOT_BE = "cannot be"
    NOT_REACHED = "not reached"


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Attributes:
        quantity: what it is, such as "viscous friction B_v".
        unit: SI unit; empty for numbers without one.
        published: the paper's value; None where it gives none.
        ours: as recomputed, simulated or measured here.
        verdict: what follows.
        why: how ours was made, the tolerance, or why the value cannot be reproduced.
        spread: of ours over seeds, or its 95 % interval, such as "± 0.02, 8 seeds"; may be empty.
    """

    quantity: str
    unit: str
    published: float | str | None
    ours: float | str
    verdict: Verdict
    why: str = ""
    spread: str = ""


def matches(
    quantity: str,
    unit: str,
    published: float,
    ours: float,
    *,
    relative: float = 0.01,
    absolute: float = 0.0,
    why: str = "",
    spread: str = "",
) -> Row:
    """A value that should be the published one.

    Args:
        quantity: what it is.
        unit: SI unit.
        published: the paper's value.
        ours: our value.
        relative: largest difference, as a share of the published value.
        absolute: largest difference in the unit; the larger of both counts.
        why: how ours was made.
        spread: of ours.
    """
    allowed = max(relative * abs(published), absolute)
    # False for NaN, too.
    same = abs(ours - published) <= allowed
    verdict = Verdict.REPRODUCED if same else Verdict.NOT_REACHED
    return Row(quantity, unit, published, ours, verdict, why, spread)


def improves(
    quantity: str,
    unit: str,
    published: float,
    ours: float,
    *,
    relative: float = 0.1,
    why: str = "",
    spread: str = "",
) -> Row:
    """An error, a time or another value of which less is better.

    It is better when it is smaller than the published one by more than a share `relative` of it,
    reproduced when it is as large within that share, and not reached when it is larger.
    """
    if math.isnan(ours) or ours > (1.0 + relative) * published:
        verdict = Verdict.NOT_REACHED
    elif ours < (1.0 - relative) * published:
        verdict = Verdict.BETTER
    else:
        verdict = Verdict.REPRODUCED
    return Row(quantity, unit, published, ours, verdict, why, spread)


def shows(
    quantity: str, unit: str, published: str, ours: float | str, holds: bool, why: str
) -> Row:
    """A claim or a figure without numbers, and whether ours shows the same.

    Args:
        quantity: what it is about.
        unit: SI unit of ours.
        published: the claim.
        ours: what was measured.
        holds: whether that is what the claim says.
        why: what was tested.
    """
    verdict = Verdict.REPRODUCED if holds else Verdict.NOT_REACHED
    return Row(quantity, unit, published, ours, verdict, why)


def cannot_be(
    quantity: str,
    unit: str,
    published: float | str | None,
    ours: float | str,
    why: str,
    *,
    spread: str = "",
) -> Row:
    """A published value that no right implementation can give, with the reason.

    Raises:
        ValueError: no reason is given.
    """
    if not why:
        raise ValueError(f"{quantity}: say why it cannot be reproduced")
    return Row(quantity, unit, published, ours, Verdict.CANNOT_BE, why, spread)
