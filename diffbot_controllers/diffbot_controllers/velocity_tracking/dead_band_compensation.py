# SPDX-License-Identifier: Apache-2.0
"""Compensation of the dead band of robots with velocity commands.

Kinds of dead bands: diffbot_description/dead_band.py; method: docs/theory/velocity_tracking.md.
"""

from __future__ import annotations

import math

from arc_odometry import Velocity
from diffbot_description.dead_band import NO_DEAD_BAND, DeadBand, DeadBandKind
from pose2d_trajectories import Reference

BandPair = tuple[DeadBand, DeadBand]
"""Dead bands of v in m/s and of omega in rad/s."""

NO_DEAD_BANDS: BandPair = (NO_DEAD_BAND, NO_DEAD_BAND)

# Commands below this share of the band are compensated in proportion instead of in full.
SMOOTH = 0.05
# Desired speeds, relative to the band, below which an axis comes to rest and above which it leaves.
RESTS, MOVES = 0.02, 0.06
# Height of a pulse as a multiple of the threshold, to allow for an inexact threshold.
PULSE = 1.1


class DeadBandCompensation:
    """Compensates the dead bands of both axes.

    Thresholds get pulses: what a period owed is carried to the next, less what took effect.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._resting = [False, False]
        self._owed = [0.0, 0.0]

    def took_effect(self, acting: Velocity) -> None:
        """Take the mean of what acted since the last command, m/s and rad/s."""
        self._owed = [
            owed - acted if owed != 0.0 else 0.0
            for owed, acted in zip(self._owed, acting, strict=True)
        ]

    def sent(
        self, acting: Velocity, bands: BandPair, wanted: Velocity, reference: Reference
    ) -> Velocity:
        """Return the command that makes a velocity take effect, m/s and rad/s, without limits.

        `acting` is the command by (12), `wanted` the desired velocity by the kinematic law, (10).
        """
        stands = (
            reference.v == 0.0 and reference.dv == 0.0,
            reference.omega == 0.0 and reference.domega == 0.0,
        )
        return Velocity(
            self._one(0, acting.v, bands[0], wanted.v, stands[0]),
            self._one(1, acting.omega, bands[1], wanted.omega, stands[1]),
        )

    def _one(self, index: int, acting: float, band: DeadBand, wanted: float, stands: bool) -> float:
        if band.width == 0.0:
            return acting
        fraction = MOVES if self._resting[index] else RESTS
        self._resting[index] = stands and abs(wanted) <= fraction * band.width
        if self._resting[index]:
            self._owed[index] = 0.0
            return acting
        if band.kind is DeadBandKind.OFFSET:
            return acting + band.width * max(-1.0, min(1.0, acting / (SMOOTH * band.width)))
        return self._pulse(index, acting, PULSE * band.width)

    def _pulse(self, index: int, acting: float, height: float) -> float:
        """Return a command of at least the height as it is, otherwise a pulse or 0."""
        if abs(acting) >= height:
            self._owed[index] = 0.0
            return acting
        owed = self._owed[index] = acting + self._owed[index]
        return math.copysign(height, owed) if abs(owed) >= 0.5 * height else 0.0


def passed(command: Velocity, bands: BandPair) -> Velocity:
    """Return the part of a sent command that takes effect."""
    return Velocity(bands[0].passed(command.v), bands[1].passed(command.omega))
