# SPDX-License-Identifier: Apache-2.0
"""When a robot's driver stops by itself: the time since the last command, from the robot's motion.

The robot turns on the spot at a low speed, so that it stays where it is. It is stopped once by a
zero command, and once by silence. Lag and odometry delay both stops alike: the difference of the
times at which half of the speed is left is the driver's timeout T, or, if the dead time d of
commands lies behind the driver's clock, T - d. The result is the middle of both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto
from statistics import fmean, pstdev

from arc_odometry import REST, Velocity
from diffbot_ident.excitation.velocity_excitation import MOVING, STANDING, StopTime

# Shares of the largest yaw rate that are tried: a dead band may hold the robot at the first.
SHARES = (0.25, 0.5)
# Duration of a turn before a stop, in stopping times, and its bounds, s.
TURN, SHORTEST_TURN, LONGEST_TURN = 2.0, 1.0, 6.0
# Share of the turn, its end, in which the speed is measured.
MEASURED = 1.0 / 3.0
# Share of the speed that is left when the dead time of a zero command is over for certain.
SLOWED = 0.8
# A driver that has not stopped after this time of silence does not stop by itself, s.
LONGEST_SILENCE = 2.5
# Longest time in which a commanded stop is awaited, s.
LONGEST_STOP = 10.0
RUNS_ON = "the robot does not come to rest when zero is commanded"


@dataclass(frozen=True)
class DriverStop:
    """When a driver stops.

    Attributes:
        seconds: After the last command, s; infinite: not within LONGEST_SILENCE; NaN: not measured.
        error: Largest error of it, s: the time between two odometry messages, the noise of the
            speed over the slope with which it falls, and half of the longest possible dead time.
        reason: Why it was not measured; empty if it was.
    """

    seconds: float = math.nan
    error: float = math.nan
    reason: str = ""

    @property
    def runs_on(self) -> bool:
        return math.isinf(self.seconds)

    def __str__(self) -> str:
        if self.reason:
            return f"when the driver stops by itself is not known: {self.reason}"
        if self.runs_on:
            return (
                f"the driver does not stop by itself within {LONGEST_SILENCE:g} s after the last "
                "command: if a commanding node or the network fails, the robot drives on; set the "
                "driver's command timeout, or put a node before it that stops it"
            )
        return (
            f"the driver stops {self.seconds:.2f} s (± {self.error:.2f} s) after the last command"
        )


class _Part(Enum):
    TURN = auto()
    STOP = auto()  # by zero commands
    SILENCE = auto()
    REST = auto()
    DONE = auto()


class DriverStopTest:
    """Turns and stops a robot that stands, odometry message by odometry message.

    Args:
        limit: Largest yaw rate, rad/s, > 0.
        stop_time: How long the robot takes to stop.

    Attributes:
        result: None before the end.

    Example:
        >>> test = DriverStopTest(2.0, StopTime(Velocity(0.5, 2.0)))
        >>> test.command(0.0, REST)
        Velocity(v=0.0, omega=0.5)
    """

    def __init__(self, limit: float, stop_time: StopTime) -> None:
        self._limit = limit
        self._turning = min(max(TURN * stop_time.seconds, SHORTEST_TURN), LONGEST_TURN)
        self._shares = [*SHARES]
        self._part, self._since = _Part.TURN, math.nan
        self._silent = False  # whether this turn ends in silence
        self._stopped = math.nan  # time from zero commands to half of the speed, s
        self._slowed = math.nan  # time from zero commands to a share SLOWED of the speed, s
        self._before: tuple[float, float] | None = None  # stamp and speed of the previous sample
        self._longest_step = 0.0
        self._speeds: list[float] = []
        self._measured = DriverStop()
        self.result: DriverStop | None = None

    def command(self, stamp: float, velocity: Velocity) -> Velocity | None:
        """Return the answer to an odometry message, zero after the end; None: send nothing."""
        speed = abs(velocity.omega)
        if math.isnan(self._since):
            self._since = stamp
        if self._before is not None:
            self._longest_step = max(self._longest_step, stamp - self._before[0])
        command = self._next(stamp, speed)
        self._before = stamp, speed
        return command

    def interrupt(self, why: str) -> None:
        """End the test, as something else was commanded."""
        if self.result is None:
            self._measured = DriverStop(reason=why)
            self._end()

    def _next(self, stamp: float, speed: float) -> Velocity | None:
        passed, turn = stamp - self._since, Velocity(0.0, self._shares[0] * self._limit)
        if self._part is _Part.TURN:
            if passed >= (1.0 - MEASURED) * self._turning:
                self._speeds.append(speed)
            if passed < self._turning:
                return turn
            return self._stop(stamp)
        if self._part in (_Part.STOP, _Part.SILENCE):
            half = 0.5 * fmean(self._speeds)
            slowed = 2.0 * SLOWED * half
            if self._part is _Part.STOP and math.isnan(self._slowed) and speed <= slowed:
                self._slowed = self._crossing(stamp, speed, slowed)
            if speed <= half:
                self._halved(self._crossing(stamp, speed, half))
                return self._rest(stamp)
            if self._part is _Part.STOP and passed > LONGEST_STOP:
                self._measured = DriverStop(reason=RUNS_ON)
                return self._rest(stamp)
            if self._part is _Part.STOP:
                return REST
            if passed <= LONGEST_SILENCE + self._stopped:
                return None
            self._measured = DriverStop(math.inf, self._longest_step)
            return self._rest(stamp)
        stands = speed < STANDING * self._limit
        if self._part is _Part.REST and (stands or passed > LONGEST_STOP):
            if not stands and not self._measured.reason:
                self._measured = DriverStop(reason=RUNS_ON)
            if self._measured.reason or not math.isnan(self._measured.seconds):
                self._end()
                return REST
            self._begin(_Part.TURN, stamp)
            self._speeds = []
            return turn
        return REST

    def _stop(self, stamp: float) -> Velocity | None:
        assert self._before is not None
        if fmean(self._speeds) < MOVING * self._limit:
            if len(self._shares) > 1:
                del self._shares[0]
            else:
                fraction = f"{100.0 * SHARES[-1]:g} %"
                why = f"it hardly turns at {fraction} of its largest yaw rate"
                self._measured = DriverStop(reason=why)
            return self._rest(stamp)
        if self._silent:
            self._begin(_Part.SILENCE, self._before[0])
            return None
        self._begin(_Part.STOP, stamp)
        return REST

    def _crossing(self, stamp: float, speed: float, half: float) -> float:
        """Return the time since the part began at which the speed was half, s."""
        then, faster = self._before or (stamp, speed)
        fraction = (faster - half) / (faster - speed) if faster > speed else 1.0
        return then + min(max(fraction, 0.0), 1.0) * (stamp - then) - self._since

    def _halved(self, after: float) -> None:
        if self._part is _Part.STOP:
            self._stopped, self._silent = after, True
            return
        mean, noise = fmean(self._speeds), pstdev(self._speeds)
        unsure = 2.0 * noise * self._stopped / (0.5 * mean)
        dead = 0.5 * self._slowed
        self._measured = DriverStop(
            max(after - self._stopped, 0.0) + dead, self._longest_step + unsure + dead
        )

    def _rest(self, stamp: float) -> Velocity:
        self._begin(_Part.REST, stamp)
        return REST

    def _begin(self, part: _Part, stamp: float) -> None:
        self._part, self._since = part, stamp

    def _end(self) -> None:
        self._part, self.result = _Part.DONE, self._measured
