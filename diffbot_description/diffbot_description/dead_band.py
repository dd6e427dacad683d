# SPDX-License-Identifier: Apache-2.0
"""Dead band of a velocity command: the effect of a robot's driver on small commands.

    offset      the band is lost: passed = sign(c) (|c| - band)     PWM or voltage against friction
    threshold   all of it acts:   passed = c                        drivers that cut small commands

An offset has a continuous inverse, c = sign(p) (|p| + band). A threshold has none below the band:
only pulses can reach such a command on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from arc_odometry.number_range import Array


class DeadBandKind(str, Enum):
    """Effect on a command above the dead band; the values are those of ROS parameters."""

    OFFSET = "offset"
    THRESHOLD = "threshold"

    @classmethod
    def named(cls, text: str) -> DeadBandKind:
        try:
            return cls(text)
        except ValueError:
            names = ", ".join(kind.value for kind in cls)
            raise ValueError(f"dead band of the kind '{text}': must be one of {names}") from None


@dataclass(frozen=True)
class DeadBand:
    """Dead band of one axis or wheel: largest command that moves nothing, >= 0, in its unit."""

    width: float = 0.0
    kind: DeadBandKind = DeadBandKind.OFFSET

    def __post_init__(self) -> None:
        if not 0.0 <= self.width < math.inf:
            raise ValueError(f"dead band = {self.width}: must be finite and >= 0; 0 for none")

    def passed(self, command: float) -> float:
        """Return the part of a command that takes effect."""
        if abs(command) <= self.width:
            return command if self.width == 0.0 else 0.0
        if self.kind is DeadBandKind.THRESHOLD:
            return command
        return command - math.copysign(self.width, command)

    def passed_of(self, commands: Array) -> Array:
        return passed_of(commands, self.width, self.kind)


NO_DEAD_BAND = DeadBand()


def passed_of(
    commands: Array, width: float | Array, kind: DeadBandKind = DeadBandKind.OFFSET
) -> Array:
    """Return the part of each command that takes effect, in their shape.

    `width`, in the commands' unit, may be an estimate below 0: then an offset adds to the command.
    """
    size = np.abs(commands)
    if kind is DeadBandKind.THRESHOLD:
        return np.where(size > width, commands, 0.0)
    return np.sign(commands) * np.maximum(size - width, 0.0)
