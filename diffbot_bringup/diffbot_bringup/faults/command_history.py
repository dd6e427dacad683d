"""What a robot was commanded, and what follows from it for the table."""

from __future__ import annotations

import math

Pair = tuple[float, float]
ZERO: Pair = (0.0, 0.0)


class CommandHistory:
    """Commands in the order in which they came.

    Args:
        limits: largest size of each of the pair; what is told of commands is in shares of these
            times `unit`.
        unit: what the larger share is told in; of torques the limit itself, so that it is N m.
    """

    def __init__(self, limits: Pair, unit: float) -> None:
        self._scale = tuple(unit / limit for limit in limits)
        self.entries: list[tuple[float, float, float]] = []

    def add(self, time: float, values: tuple[float, ...]) -> None:
        """Keep what came at a time, s; other than two numbers are kept as NaN."""
        if len(values) != 2:
            values = (math.nan, math.nan)
        scaled = (abs(s) * value for s, value in zip(self._scale, values, strict=True))
        self.entries.append((time, *scaled))

    def held(self, time: float) -> Pair:
        """What the robot held right before a time, s; it drops what is not finite."""
        held = ZERO
        for at, first, second in self.entries:
            if at >= time:
                break
            if math.isfinite(first) and math.isfinite(second):
                held = (first, second)
        return held

    def zero_after(self, since: float, until: float) -> float | None:
        """Time from `since` until the robot held zero for the rest of a span, s.

        None: it did not hold zero at the end of the span. 0: it held it all the time.
        """
        zero = 0.0 if self.held(since) == ZERO else None
        for at, first, second in self.entries:
            if not since <= at <= until:
                continue
            if (first, second) != ZERO:
                zero = None
            elif zero is None:
                zero = at - since
        return zero

    def worst(self, since: float = -math.inf, until: float = math.inf) -> float:
        """Largest command of either sign that held in a span, times in s.

        That is what was held when it began, too. NaN when one that came was not finite.
        """
        worst = max(map(abs, self.held(since)))
        for at, first, second in self.entries:
            if since <= at <= until:
                if not (math.isfinite(first) and math.isfinite(second)):
                    return math.nan
                worst = max(worst, abs(first), abs(second))
        return worst

    def moved(self, since: float, until: float = math.inf) -> bool:
        """Whether anything but zero came in a span, times in s."""
        return any(since <= at <= until and any(pair) for at, *pair in self.entries)

    def fastest_change(self, period: float) -> float:
        """Largest change per s that is no stop; commands answer states of at least a period, s."""
        worst, last, before = 0.0, -math.inf, ZERO
        for at, first, second in self.entries:
            if (first, second) != ZERO:
                change = max(abs(first - before[0]), abs(second - before[1]))
                worst = max(worst, change / max(at - last, period))
            last, before = at, (first, second)
        return worst
