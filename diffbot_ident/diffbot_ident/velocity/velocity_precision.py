# SPDX-License-Identifier: Apache-2.0
"""When lag, gain and dead time of a velocity robot are known well enough to end its excitation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from diffbot_ident.estimate import NORMAL_95

# Robot time before which no precision counts as reached, s: in it all sizes of command are driven.
MIN_TIME = 20.0
NAMES = {"time_constant": "%", "gain": "%", "dead_time": "ms"}
"""Names of what may be asked for, and their units."""
EXAMPLE = "time_constant 2% gain 1% dead_time 10ms"


class Estimated(NamedTuple):
    """A value and its standard deviation, infinite or NaN where it is not known."""

    value: float
    std: float

    @property
    def half_width(self) -> float:
        """Half width of the 95 % interval."""
        return NORMAL_95 * self.std


@dataclass(frozen=True)
class AxisQuantities:
    """What is known of an axis; the names are those of `Precision`.

    Attributes:
        time_constant: s.
        gain: 1.
        dead_time: s.
        reason: Why the values may not be used; empty if they may.
    """

    time_constant: Estimated
    gain: Estimated
    dead_time: Estimated
    reason: str = ""


@dataclass(frozen=True)
class VelocityPrecision:
    """Precision at which an excitation may end: half widths of the 95 % intervals of both axes.

        >>> VelocityPrecision.parse("gain 1% dead_time 10ms").limits
        {'gain': 0.01, 'dead_time': 0.01}

    Attributes:
        limits: Of time_constant and gain relative to the value, of dead_time in s, each > 0.
    """

    limits: dict[str, float]

    @classmethod
    def parse(cls, text: str) -> VelocityPrecision | None:
        """Read names with % or ms, such as `EXAMPLE`; None where it is empty or "none".

        Raises:
            ValueError: The text does not consist of these names, each with a number > 0 and a unit.
        """
        if text.strip() in ("", "none"):
            return None
        words = text.replace("=", " ").replace(",", " ").replace("%", " %").replace("ms", " ms")
        parts, limits = words.split(), dict[str, float]()
        while parts:
            name, number, unit = [*parts, "", ""][:3]
            if name not in NAMES or name in limits:
                raise ValueError(
                    f"until = {text!r}: {name!r} must be one of {', '.join(NAMES)}, each once; "
                    f"for example {EXAMPLE!r}"
                )
            if unit != NAMES[name]:
                raise ValueError(
                    f"until = {text!r}: {name} {number} must have the unit {NAMES[name]}; for "
                    f"example {EXAMPLE!r}"
                )
            limits[name] = cls._number(name, number, text) * (0.01 if unit == "%" else 0.001)
            del parts[:3]
        return cls(limits)

    @staticmethod
    def _number(name: str, number: str, text: str) -> float:
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not 0.0 < value < math.inf:
            raise ValueError(
                f"until = {text!r}: {number!r} after {name} must be a number > 0; for example "
                f"{EXAMPLE!r}"
            )
        return value

    def is_reached(self, axes: tuple[AxisQuantities, AxisQuantities]) -> bool:
        """Whether all values may be used, and are precise enough."""
        for axis in axes:
            for name, limit in self.limits.items():
                value, half = getattr(axis, name).value, getattr(axis, name).half_width
                if axis.reason or not half <= limit * (1.0 if name == "dead_time" else value):
                    return False
        return True
