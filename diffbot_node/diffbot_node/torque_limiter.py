"""Limits in size and rate for a pair of wheel torques."""

from __future__ import annotations

import math


class TorqueLimiter:
    """Keeps wheel torques [left, right] finite and inside a limit and a rate limit.

    Args:
        limit: largest torque of either sign on a wheel, N m, > 0.
        rate: largest change of a wheel's torque, N m/s, > 0; infinite for none.
    """

    def __init__(self, limit: float, rate: float = math.inf) -> None:
        if not (math.isfinite(limit) and limit > 0.0):
            raise ValueError(f"torque limit = {limit} N m: must be finite and > 0")
        if not rate > 0.0:
            raise ValueError(f"torque rate limit = {rate} N m/s: must be > 0")
        self.limit = limit
        self.rate = rate
        self.torque = (0.0, 0.0)

    def apply(self, wanted: tuple[float, float], period: float) -> tuple[float, float]:
        """The allowed torque nearest to the wanted one, N m, `period` s after the last one.

        Raises:
            ValueError: a wanted torque or the period is not finite, or the period is negative.
                The torque is zero then and has to be sent.
        """
        if not (all(map(math.isfinite, wanted)) and math.isfinite(period) and period >= 0.0):
            self.stop()
            raise ValueError(
                f"torque {list(wanted)} N m for a period of {period} s: must be finite; "
                "zero is commanded instead"
            )
        step = self.rate * period if period > 0.0 else 0.0
        left, right = (
            max(-self.limit, min(self.limit, max(last - step, min(last + step, torque))))
            for last, torque in zip(self.torque, wanted, strict=True)
        )
        self.torque = (left, right)
        return self.torque

    def stop(self) -> tuple[float, float]:
        """Zero torque at once: safety knows no rate limit."""
        self.torque = (0.0, 0.0)
        return self.torque
