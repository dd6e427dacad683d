# SPDX-License-Identifier: Apache-2.0
"""Dead band and static friction of the drive of a robot that takes velocity commands.

Two places lose small commands, and a robot may have both:

    axes     the driver cuts v and omega, as velocity smoothers and base firmwares do
    wheels   the loop of each wheel does not overcome its friction: rim speeds v -+ omega b / 2 are
             cut, b the track. So a robot that turns has no dead band forward, and the other way
             round: the faster of both motions takes both wheels out of it.

What stands needs `stiction` times the dead band to begin to move. Once it moves, the dead band
itself holds, until the command lets it come to rest.
"""

from __future__ import annotations

import math

from diffbot_description.dead_band import DeadBand, DeadBandKind

Pair = tuple[float, float]

# Speed below which what is driven by nothing sticks, as a share of the breakaway command.
STICKS = 0.02


class DriveDeadBand:
    """What the drive makes of commands.

    Args:
        axes: dead bands of (v, omega), m/s and rad/s, >= 0.
        wheels: dead bands of the (left, right) wheel, m/s at the rim, >= 0.
        kind: what is left of larger commands.
        stiction: command that moves what stands, over the dead band, >= 1.
        track: left to right contact point, m, > 0.

    Raises:
        ValueError: an argument is outside its range.
    """

    def __init__(
        self,
        axes: Pair = (0.0, 0.0),
        wheels: Pair = (0.0, 0.0),
        kind: DeadBandKind = DeadBandKind.OFFSET,
        stiction: float = 1.0,
        track: float = 0.23,
    ) -> None:
        if not 1.0 <= stiction < math.inf:
            raise ValueError(f"stiction = {stiction}: must be finite and >= 1; 1 for none")
        if not 0.0 < track < math.inf:
            raise ValueError(f"track = {track} m: must be finite and > 0")
        self._axes = _BandPair(axes, kind, stiction)
        self._wheels = _BandPair(wheels, kind, stiction)
        self._half_track = 0.5 * track

    def reset(self) -> None:
        """All stands."""
        self._axes.reset()
        self._wheels.reset()

    def passed(self, command: Pair, velocity: Pair) -> Pair:
        """What acts of a command of (v, omega), m/s and rad/s.

        Args:
            command: that begins to act.
            velocity: true (v, omega) at that time.
        """
        command = self._axes.passed(command, velocity)
        if not self._wheels.there:
            return command
        left, right = self._wheels.passed(self._rims(command), self._rims(velocity))
        return 0.5 * (left + right), 0.5 * (right - left) / self._half_track

    def _rims(self, body: Pair) -> Pair:
        v, turn = body[0], self._half_track * body[1]
        return v - turn, v + turn


class _BandPair:
    """Two dead bands, and whether what they drive stands."""

    def __init__(self, widths: Pair, kind: DeadBandKind, stiction: float) -> None:
        self._moving = [DeadBand(width, kind) for width in widths]
        self._breakaway = [stiction * width for width in widths]
        self.there = any(width > 0.0 for width in widths)
        self.reset()

    def reset(self) -> None:
        self._stuck = [True, True]

    def passed(self, command: Pair, speed: Pair) -> Pair:
        if not self.there:
            return command
        return self._one(0, command[0], speed[0]), self._one(1, command[1], speed[1])

    def _one(self, index: int, command: float, speed: float) -> float:
        band, breakaway = self._moving[index], self._breakaway[index]
        free = band.passed(command)
        if free == 0.0 and abs(speed) <= STICKS * breakaway:
            self._stuck[index] = True
        elif abs(command) > breakaway:
            self._stuck[index] = False
        return 0.0 if self._stuck[index] and band.width > 0.0 else free
