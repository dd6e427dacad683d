"""The precision at which an identification may stop, such as "K5 5% K6 5% K7 1% K8 1%"."""

from __future__ import annotations

import math
from dataclasses import dataclass

from diffbot_ident.estimate import NAMES, NORMAL_95, Estimate, State

EXAMPLE = "K5 5% K6 5% K7 1% K8 1%"


@dataclass(frozen=True)
class Precision:
    """Largest half widths of the 95 % intervals, relative to the values.

    Attributes:
        limits: by parameter, "k5" to "k8", each > 0.
    """

    limits: dict[str, float]

    @classmethod
    def parse(cls, text: str) -> Precision | None:
        """Read names and percentages; None where the text is empty.

        Raises:
            ValueError: the text is not pairs of a parameter and a percentage > 0.
        """
        words = text.replace("=", " ").replace(",", " ").replace("%", " ").split()
        if not words:
            return None
        limits: dict[str, float] = {}
        if len(words) % 2:
            raise ValueError(
                f"until = {text!r}: must be pairs of a parameter and a percentage, "
                f"such as {EXAMPLE!r}"
            )
        for name, number in zip(words[::2], words[1::2], strict=True):
            key = name.lower()
            if key not in NAMES or key in limits:
                raise ValueError(
                    f"until = {text!r}: {name!r} must be one of K5, K6, K7, K8, each once; for "
                    f"example {EXAMPLE!r}"
                )
            limits[key] = cls._share(number, text)
        return cls(limits)

    @staticmethod
    def _share(number: str, text: str) -> float:
        try:
            share = 0.01 * float(number)
        except ValueError:
            share = math.nan
        if not 0.0 < share < math.inf:
            raise ValueError(
                f"until = {text!r}: {number!r} must be a percentage > 0; for example {EXAMPLE!r}"
            )
        return share

    def missing(self, estimate: Estimate) -> str:
        """What is not precise enough yet; empty when everything is.

        K5 and K6 of a robot whose centre of mass is on the axle are as precise as can be.
        """
        if estimate.state is not State.ESTIMATED:
            return estimate.reason
        for name, value, variance in zip(NAMES, estimate.values, estimate.variances, strict=True):
            half = NORMAL_95 * math.sqrt(variance)
            limit = self.limits.get(name, math.inf)
            if math.isfinite(half) and half > limit * abs(value):
                return (
                    f"{name.upper()} = {value:.4g} is known to +- {half:.2g}, asked for "
                    f"{100.0 * limit:g} %"
                )
        return ""
