"""What becomes of a live estimate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

GATES = ("finite", "estimated", "physical", "verified", "excited", "precise", "band", "law")


class AdaptationState(IntEnum):
    """What the parameters in use do; the numbers are those of AdaptationStatus.msg."""

    WAITING = 0
    FOLLOWING = 1
    FROZEN = 2


@dataclass(frozen=True)
class Judgement:
    """What became of one estimate.

    Attributes:
        state: WAITING before the first estimate was accepted, FROZEN while nothing may follow.
        reasons: against the estimate, by gate of GATES; empty where it passed. `excited` and
            `precise` hold those of single parameters while the others go on; `band` is
            of an estimate that the parameters in use follow to the edge of the band only; `law`
            is of one that passed and gave parameters that no law can be made of.
        follows: whether each of K5..K8 moves towards its estimate. One that agrees with it does
            not have to.
        refused: whether no parameter could follow the estimate.
    """

    state: AdaptationState
    reasons: dict[str, str]
    follows: tuple[bool, bool, bool, bool]
    refused: bool

    @property
    def reason(self) -> str:
        """All that is against the estimate, in one line."""
        return "; ".join(text for text in self.reasons.values() if text)
