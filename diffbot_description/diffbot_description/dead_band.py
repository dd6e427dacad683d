# SPDX-License-Identifier: Apache-2.0
"""Dead band of a velocity command: what a robot's driver makes of commands that are small.

A command whose size is not above the band moves nothing. Above it there are two kinds of drivers:

    offset      the band is lost: passed = sign(c) (|c| - band)     PWM or voltage against friction
    threshold   all of it acts:   passed = c                        drivers that cut small commands

An offset has a continuous inverse, c = sign(p) (|p| + band), so that any small motion can be asked
for. A threshold has none below the band: on average such a command is reached by pulses only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class DeadBandKind(str, Enum):
    """What is left of a command above the dead band; the values are those of parameters."""

    OFFSET = "offset"
    THRESHOLD = "threshold"

    @classmethod
    def named(cls, text: str) -> DeadBandKind:
        """The kind of this name.

        Raises:
            ValueError: there is none.
        """
        try:
            return cls(text)
        except ValueError:
            names = ", ".join(kind.value for kind in cls)
            raise ValueError(f"dead band of the kind '{text}': must be one of {names}") from None


@dataclass(frozen=True)
class DeadBand:
    """Of one axis or wheel.

    Attributes:
        width: largest command that moves nothing, in the command's unit, >= 0; 0: none.
        kind: what is left of a larger one.

    Raises:
        ValueError: the width is not finite or < 0.
    """

    width: float = 0.0
    kind: DeadBandKind = DeadBandKind.OFFSET

    def __post_init__(self) -> None:
        if not 0.0 <= self.width < math.inf:
            raise ValueError(f"dead band = {self.width}: must be finite and >= 0; 0 for none")

    def passed(self, command: float) -> float:
        """What acts of a command."""
        if abs(command) <= self.width:
            return command if self.width == 0.0 else 0.0
        if self.kind is DeadBandKind.THRESHOLD:
            return command
        return command - math.copysign(self.width, command)

    def passed_of(self, commands: Array) -> Array:
        """What acts of each of some commands, in their shape."""
        return passed_of(commands, self.width, self.kind)


NO_DEAD_BAND = DeadBand()


def passed_of(
    commands: Array, width: float | Array, kind: DeadBandKind = DeadBandKind.OFFSET
) -> Array:
    """What acts of each of some commands.

    Args:
        commands: of any shape, in any unit.
        width: in that unit, of a shape that goes with the commands'. An estimate may be below 0:
            then an offset adds to the command.
        kind: of the band.
    """
    size = np.abs(commands)
    if kind is DeadBandKind.THRESHOLD:
        return np.where(size > width, commands, 0.0)
    return np.sign(commands) * np.maximum(size - width, 0.0)
