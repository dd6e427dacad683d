"""Limits in size and rate for a pair of wheel torques."""

from __future__ import annotations

import math

from diffbot_node.pair_limiter import PairLimiter


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
