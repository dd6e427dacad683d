# SPDX-License-Identifier: Apache-2.0
"""Samples of a robot that is moved for a check, and what its commands did. Knows no ROS."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field

Pair = tuple[float, float]
Command = Pair | None
"""What to publish; None: nothing, so that only the driver itself can stop the wheels."""
Steps = Generator[Command, None, None]

ZERO: Pair = (0.0, 0.0)
TICK = 0.02  # s
# Longest time from a pulse to its motion, s.
LATE = 0.25
# A wheel rests below this speed, rad/s.
REST = 0.06


class SurpriseError(Exception):
    """The robot did something that ends the test at once; the text says what."""


@dataclass(frozen=True)
class MovingSample:
    """What was seen at a time, s: angles and efforts [left, right], rad and N m, and yaw, rad.

    Forward is positive, as the robot's file says. NaN: not known.
    """

    time: float
    angles: Pair
    efforts: Pair = (math.nan, math.nan)
    yaw: float = math.nan


@dataclass(frozen=True)
class CommandResponse:
    """What a ramp of one channel in one direction did.

    Attributes:
        channel: 0 or 1.
        sign: Direction of the command.
        least: Least command at which a wheel turned, of its unit, > 0; None: nothing turned.
        most: Largest command, > 0.
        turns: Turns [left, right] when the ramp ended, rad.
        yaw: Turn of the body by a gyro, rad; NaN: no gyro.
        efforts: Reported efforts [left, right] for 1 N m of the channel; NaN: not known.
        width: Length of the last pulse, s; 0: it was no pulse.
    """

    channel: int
    sign: int
    least: float | None
    most: float
    turns: Pair
    yaw: float = math.nan
    efforts: Pair = (math.nan, math.nan)
    width: float = 0.0


@dataclass
class MovingResult:
    """What a test showed; None where it is not known.

    Attributes:
        responses: One of each ramp; the last of a channel and sign counts.
        delay: From a command to the first motion that was seen, s: at most so much.
        gain: Acceleration of a wheel by its own torque, rad/s^2 per N m, friction apart.
        timeout: Within how long the driver has ended a motion by itself, s.
        watched: How long nothing was sent, s; 0: not tried.
        farthest: Largest turn of a wheel from its first angle, rad.
        ended: Why the test ended early; empty if it did not.
    """

    responses: list[CommandResponse] = field(default_factory=list)
    delay: float | None = None
    gain: float | None = None
    timeout: float | None = None
    watched: float = 0.0
    farthest: float = 0.0
    ended: str = ""

    def of(self, channel: int, sign: int = 1) -> CommandResponse | None:
        """Return the last response of a channel in a direction."""
        matches = [each for each in self.responses if (each.channel, each.sign) == (channel, sign)]
        return matches[-1] if matches else None

    def least(self, channel: int) -> float | None:
        """Return the least command of a channel that turns a wheel in both directions."""
        values = [each.least for sign in (1, -1) if (each := self.of(channel, sign)) is not None]
        numbers = [value for value in values if value is not None]
        return max(numbers) if numbers else None


class MotionRecord:
    """The samples of a test, oldest first."""

    def __init__(self) -> None:
        self.samples: list[MovingSample] = []

    def add(self, samples: Iterable[MovingSample]) -> None:
        self.samples.extend(samples)

    @property
    def mark(self) -> int:
        """Index of the newest sample."""
        return max(len(self.samples) - 1, 0)

    def turns(self, since: int) -> Pair:
        """Return the turns [left, right] from a sample to the newest, rad."""
        first, last = self.samples[since].angles, self.samples[-1].angles
        return last[0] - first[0], last[1] - first[1]

    def speeds(self) -> Pair:
        """Return the speeds [left, right] over the newest samples, rad/s."""
        newest = self.samples[-1]
        for each in reversed(self.samples[-12:-1]):
            if newest.time - each.time >= 0.035:
                span = newest.time - each.time
                return (
                    (newest.angles[0] - each.angles[0]) / span,
                    (newest.angles[1] - each.angles[1]) / span,
                )
        return ZERO
