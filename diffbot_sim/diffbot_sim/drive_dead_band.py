# SPDX-License-Identifier: Apache-2.0
"""Dead band and static friction in the drive of a robot that takes velocity commands.

Small commands can get lost in two places, and a robot may have both:

    axes     the driver suppresses small v and omega, as velocity smoothers and base firmwares do
    wheels   the speed loop of each wheel does not overcome its friction: small rim speeds
             v -+ omega b / 2, b the track, have no effect. So a turning robot has no dead band
             forward, and vice versa: the faster of both motions takes both wheels out of it.

An axis or wheel at rest needs `stiction` times the dead band to start moving. Once it moves, the
dead band itself applies until the command lets it come to rest.
"""

from __future__ import annotations

import math

from diffbot_description.dead_band import DeadBand, DeadBandKind

Pair = tuple[float, float]

# Speed at which an axis or wheel without effective command sticks, per breakaway command.
STICKS = 0.02


class DriveDeadBand:
    """Maps commands to those that take effect.

    Args:
        axes: Dead bands of (v, omega), m/s and rad/s, >= 0.
        wheels: Dead bands of the (left, right) wheel, m/s at the rim, >= 0.
        kind: What remains of larger commands.
        stiction: Ratio of the command that starts a motion to the dead band, >= 1.
        track: Distance of the contact points, m, > 0.

    Raises:
        ValueError: An argument is outside its range.
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
        """Put all axes and wheels at rest."""
        self._axes.reset()
        self._wheels.reset()

    def passed(self, command: Pair, velocity: Pair) -> Pair:
        """Return the effective part of a command of (v, omega), m/s and rad/s, at a velocity."""
        command = self._axes.passed(command, velocity)
        if not self._wheels.there:
            return command
        left, right = self._wheels.passed(self._rims(command), self._rims(velocity))
        return 0.5 * (left + right), 0.5 * (right - left) / self._half_track

    def _rims(self, body: Pair) -> Pair:
        v, turn = body[0], self._half_track * body[1]
        return v - turn, v + turn


class _BandPair:
    """Two dead bands, and whether the axis or wheel behind each is at rest."""

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
