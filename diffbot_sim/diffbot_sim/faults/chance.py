"""Which messages a fault hits: a share of them, several in a row."""

from __future__ import annotations

from random import Random


class Chance:
    """Hits messages in bursts.

    A burst begins at a message outside of one with the probability that makes the share of hit
    messages `probability` in the long run: of bursts of b messages between which (1 - q) / q pass
    on the average, the share b / (b + (1 - q) / q) is `probability` with
    q = probability / (probability + b (1 - probability)).

    Args:
        probability: share of messages that is hit, above 0 up to 1.
        burst: messages in a row, >= 1.
        random: source of chances.
    """

    def __init__(self, probability: float, burst: int, random: Random) -> None:
        self._begin = probability / (probability + burst * (1.0 - probability))
        self._burst = burst
        self._random = random
        self._left = 0

    def hit(self) -> bool:
        """Whether the next message is hit."""
        if not self._left and self._random.random() < self._begin:
            self._left = self._burst
        if not self._left:
            return False
        self._left -= 1
        return True
