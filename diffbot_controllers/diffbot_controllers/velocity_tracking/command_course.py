# SPDX-License-Identifier: Apache-2.0
"""What a robot's driver makes of sent commands: its dead bands and limits of acceleration."""

from __future__ import annotations

import math
from typing import NamedTuple

from arc_odometry import REST, Velocity
from diffbot_controllers.velocity_tracking.dead_band_compensation import BandPair, passed
from diffbot_description.command_ramp import CommandRamp

# Longest piece of a ramp that is taken for a constant command, s.
PIECE = 0.01


class Piece(NamedTuple):
    """A constant effective command, m/s and rad/s, between two times, s."""

    start: float
    end: float
    acting: Velocity


class CommandCourse:
    """Follows the command inside a driver, which starts at rest; `ramp` limits its acceleration."""

    def __init__(self, ramp: CommandRamp | None) -> None:
        self.ramp = ramp
        self.reset()

    def reset(self) -> None:
        self._now = REST

    def hold(self, start: float, end: float, command: Velocity, bands: BandPair) -> list[Piece]:
        """Return what takes effect of a command that is held between two times, s."""
        if self.ramp is None:
            return [Piece(start, end, passed(command, bands))]
        before = self.ramp.before_band
        target = command if before else passed(command, bands)
        parts = max(math.ceil((end - start) / PIECE), 1)
        step, pieces = (end - start) / parts, []
        for k in range(parts):
            middle = self.ramp.after(self._now, target, 0.5 * step)
            self._now = self.ramp.after(self._now, target, step)
            acting = passed(middle, bands) if before else middle
            pieces.append(Piece(start + k * step, start + (k + 1) * step, acting))
        return pieces

    def reachable(self, command: Velocity, duration: float) -> Velocity:
        """Return the command that the ramp reaches within a duration, s, of one that is wanted."""
        return command if self.ramp is None else self.ramp.after(self._now, command, duration)
