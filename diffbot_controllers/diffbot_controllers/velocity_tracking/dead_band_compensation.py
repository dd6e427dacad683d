# SPDX-License-Identifier: Apache-2.0
"""Commands over the dead band of a robot that takes velocity commands.

The law asks for what has to act. An offset (diffbot_description/dead_band.py) is added to it, with
its sign,

    sent = p + band min(1, |p| / (SMOOTH band)) sign(p)

so that what acts is p again, but for a residue of 5 % of the band about p = 0, through which the
command passes without a jump. Below a threshold nothing but pulses moves the robot: each is a
little above it, and the error of one command is carried to the next, so that their mean is right.

At rest nothing is added. An axis rests where its reference stands and the motion that is wanted of
it is below 2 % of the band, until it is above 6 %: the dead band itself swallows the small commands
of a robot that is where it shall be, and no estimate that is a little too large swings it.
"""

from __future__ import annotations

import math

from arc_odometry import Velocity
from diffbot_description.dead_band import NO_DEAD_BAND, DeadBand, DeadBandKind
from pose2d_trajectories import Reference

BandPair = tuple[DeadBand, DeadBand]
"""Dead bands of v in m/s and of omega in rad/s."""

NO_DEAD_BANDS: BandPair = (NO_DEAD_BAND, NO_DEAD_BAND)

# Commands below this share of the band get less than the whole of it.
SMOOTH = 0.05
# Wanted speeds, as shares of the band, below which an axis comes to rest and above which it leaves.
RESTS, MOVES = 0.02, 0.06
# Height of a pulse over a threshold, which is known to so much only.
PULSE = 1.1


class DeadBandCompensation:
    """Commands of both axes over their dead bands; it remembers rest and pulses."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew, as after a stop."""
        self._resting = [False, False]
        self._carried = [0.0, 0.0]

    def sent(
        self, acting: Velocity, bands: BandPair, wanted: Velocity, reference: Reference
    ) -> Velocity:
        """Command that lets a wanted one act, m/s and rad/s, without limits.

        Args:
            acting: what has to act, by (12).
            bands: of both axes.
            wanted: velocity by the kinematic law, (10).
            reference: that is followed.
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
        share = MOVES if self._resting[index] else RESTS
        self._resting[index] = stands and abs(wanted) <= share * band.width
        if self._resting[index]:
            self._carried[index] = 0.0
            return acting
        if band.kind is DeadBandKind.OFFSET:
            return acting + band.width * max(-1.0, min(1.0, acting / (SMOOTH * band.width)))
        return self._pulse(index, acting, PULSE * band.width)

    def _pulse(self, index: int, acting: float, height: float) -> float:
        """A command above a threshold as it is, else a pulse of a height, or none."""
        if abs(acting) >= height:
            self._carried[index] = 0.0
            return acting
        owed = acting + self._carried[index]
        sent = math.copysign(height, owed) if abs(owed) >= 0.5 * height else 0.0
        self._carried[index] = owed - sent
        return sent


def passed(command: Velocity, bands: BandPair) -> Velocity:
    """What acts of a command that was sent."""
    return Velocity(bands[0].passed(command.v), bands[1].passed(command.omega))
