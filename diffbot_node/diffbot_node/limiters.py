"""Limits in size and rate for a pair of commands."""

from __future__ import annotations

import math

Pair = tuple[float, float]


class PairLimiter:
    """Keeps a pair of commands finite, and each inside its own limit and rate limit.

    Args:
        what: the quantity, for messages, such as "torque".
        unit: of the pair, for messages, such as "N m".
        limits: largest size of each, > 0, in its unit.
        rates: largest change of each, > 0, in its unit per s; infinite for none.

    Attributes:
        command: what was allowed last.
        unit: of the pair.

    Raises:
        ValueError: a limit is outside its range.
    """

    def __init__(
        self, what: str, unit: str, limits: Pair, rates: Pair = (math.inf, math.inf)
    ) -> None:
        for limit in limits:
            if not (math.isfinite(limit) and limit > 0.0):
                raise ValueError(f"{what} limit = {limit} {unit}: must be finite and > 0")
        for rate in rates:
            if not rate > 0.0:
                raise ValueError(f"{what} rate limit = {rate} {unit} per s: must be > 0")
        self._what, self.unit = what, unit
        self.limits = limits
        self.rates = rates
        self.command: Pair = (0.0, 0.0)

    def apply(self, wanted: Pair, period: float) -> Pair:
        """The allowed command nearest to the wanted one, `period` s after the last one.

        Raises:
            ValueError: a wanted value or the period is not finite, there are not two values, or
                the period is negative. The command is zero then and has to be sent.
        """
        if len(wanted) != 2:
            self.stop()
            raise ValueError(
                f"{self._what} {list(wanted)}: must be 2 values; zero is commanded instead"
            )
        if not (all(map(math.isfinite, wanted)) and math.isfinite(period) and period >= 0.0):
            self.stop()
            raise ValueError(
                f"{self._what} {list(wanted)} {self.unit} for a period of {period} s: must be "
                "finite; zero is commanded instead"
            )
        steps = (rate * period if period > 0.0 else 0.0 for rate in self.rates)
        first, second = (
            max(-limit, min(limit, max(last - step, min(last + step, value))))
            for last, value, limit, step in zip(
                self.command, wanted, self.limits, steps, strict=True
            )
        )
        self.command = (first, second)
        return self.command

    def stop(self) -> Pair:
        """Zero at once: safety knows no rate limit."""
        self.command = (0.0, 0.0)
        return self.command


# ---
# Limits in size and rate for a pair of wheel torques.


class TorqueLimiter(PairLimiter):
    """Keeps wheel torques [left, right] finite and inside a limit and a rate limit.

    Args:
        limit: largest torque of either sign on a wheel, N m, > 0.
        rate: largest change of a wheel's torque, N m/s, > 0; infinite for none.
    """

    def __init__(self, limit: float, rate: float = math.inf) -> None:
        super().__init__("torque", "N m", (limit, limit), (rate, rate))

    @property
    def limit(self) -> float:
        """Largest torque of either sign, N m."""
        return self.limits[0]

    @property
    def torque(self) -> tuple[float, float]:
        """What was allowed last, [left, right], N m."""
        return self.command
