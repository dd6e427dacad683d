"""What of a recording was left out, and why."""

from __future__ import annotations

from collections import Counter

GAP = "samples missing"
BACKWARDS = "time steps back"
DOUBLED = "stamps that do not increase"
NOT_FINITE = "values that are not finite"
NO_COMMAND = "no command known"
STANDSTILL = "standstill"
SHORT = "pieces too short"
FILTERED = "rows that --where leaves out"


class Losses:
    """Adds up times and numbers, by reason.

    Attributes:
        seconds: of recording time left out, by reason, s.
        counts: how many times, by reason.
    """

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()

    def add(self, reason: str, seconds: float = 0.0, count: int = 1) -> None:
        """Count something left out: for so long (s), so many times."""
        if count:
            self.seconds[reason] += seconds
            self.counts[reason] += count

    def lines(self) -> list[str]:
        """One line for each reason, what cost most time first."""
        found = sorted(self.counts, key=lambda reason: -self.seconds[reason])
        return [
            f"{reason}: {self.counts[reason]} ×"
            + (f", {self.seconds[reason]:.1f} s" if self.seconds[reason] else "")
            for reason in found
        ]
