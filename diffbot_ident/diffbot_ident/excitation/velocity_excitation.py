# SPDX-License-Identifier: Apache-2.0
"""Commands that excite a robot which takes velocities, within a room and its limits.

A deck holds a card for each axis, and for both, with each size of command, which is held for a
random time and with random signs, as far as the room allows: by the longest stop so far, the robot
must come to rest inside; docs/theory/excitation.md#velocity-commands.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from random import Random

from arc_odometry import REST, UNLIMITED_RIMS, Arc, Pose, RimLimit, Velocity

# Largest sizes of commands over the limit; the small ones tell the dead band.
SIZES = (0.05, 0.08, 0.13, 0.2, 0.32, 0.5, 0.75, 1.0)
# A command is this share of its size or more: about down to the next size, as a threshold is known
# as exactly only as the sizes on both sides of it are close.
SMALLEST = 0.6
AXES = ((True, False), (False, True), (True, True))
# Assumed time to stop before that has been seen, s: the way to rest over the speed.
ASSUMED_STOP = 1.0
# Factor on what was seen: drivers that limit accelerations need longer from higher speeds.
STOP_MARGIN = 1.7
# Duration of a hold, in stopping times: least and most.
HOLDS = (0.35, 1.4)
# Share of the holds that are rests; these are as short as a hold may be.
RESTS = 0.15
# Largest speed per command.
LARGEST_GAIN = 1.3
# Shares of the limits up to which a robot stands, and from which on a stop is measured.
STANDING, MOVING = 0.03, 0.1
STEPS = 12


def is_faster(velocity: Velocity, limits: Velocity, fraction: float) -> bool:
    """Whether v or omega is larger in size than a fraction of its limit, m/s and rad/s.

    >>> is_faster(Velocity(0.1, 0.0), Velocity(0.5, 1.5), MOVING)
    True
    """
    return any(abs(a) > fraction * limit for a, limit in zip(velocity, limits, strict=True))


@dataclass(frozen=True)
class _Hold:
    command: Velocity
    end: float  # s


class StopTime:
    """How long a robot takes to stop: its way after a zero command over its largest speed, s.

    `limits`: largest |v| in m/s and |omega| in rad/s; plans allow for `seconds`.
    """

    def __init__(self, limits: Velocity) -> None:
        self.seconds = ASSUMED_STOP * STOP_MARGIN
        self._limits = limits
        self._stopping = False

    def begin(self) -> None:
        self._stopping, self._fastest, self._path = True, [0.0, 0.0], [0.0, 0.0]

    def follow(self, velocity: Velocity, duration: float) -> None:
        """Add a measured velocity that lasted a duration, s, while zero is commanded."""
        if not self._stopping:
            return
        for axis, (now, limit) in enumerate(zip(map(abs, velocity), self._limits, strict=True)):
            if now > STANDING * limit:
                self._path[axis] += now * duration
                self._fastest[axis] = max(self._fastest[axis], now)

    def end(self) -> None:
        if self._stopping:
            for path, fastest, limit in zip(self._path, self._fastest, self._limits, strict=True):
                if fastest > MOVING * limit:
                    self.seconds = max(self.seconds, STOP_MARGIN * path / fastest)
        self._stopping = False


class VelocityExcitation:
    """Commands (v, omega) for each odometry message.

    Args:
        room: Largest |x| and |y| of the axle's midpoint from the start, m, > 0; infinite: no bound.
        limits: Largest |v| in m/s and |omega| in rad/s commanded, > 0.
        rims: Limit of the wheels' rims.
        latency: Longest time for which the robot may drive on without an odometry message, s.
        seed: Of order, signs and durations, >= 0.

    Attributes:
        stop_time: How long the robot takes to stop.
        shortened: Number of holds that ended early, as the robot came near the border.

    Raises:
        ValueError: An argument is outside its range.

    Example:
        >>> excitation = VelocityExcitation((1.0, 1.0), Velocity(0.5, 1.5), seed=1)
        >>> excitation.command(0.0, Pose(0.0, 0.0, 0.0), REST)
        Velocity(v=0.0, omega=0.0)
    """

    def __init__(
        self,
        room: tuple[float, float],
        limits: Velocity,
        rims: RimLimit = UNLIMITED_RIMS,
        *,
        latency: float = 0.0,
        seed: int = 0,
    ) -> None:
        for name, value, unit in (
            ("room's half length", room[0], "m"),
            ("room's half width", room[1], "m"),
            ("linear velocity limit", limits.v, "m/s"),
            ("angular velocity limit", limits.omega, "rad/s"),
        ):
            if not value > 0.0 or (not math.isfinite(value) and unit != "m"):
                raise ValueError(f"excitation's {name} = {value} {unit}: must be > 0 and finite")
        self._room, self._limits, self._rims, self._latency = room, limits, rims, latency
        self._random = Random(seed)
        # The way that small commands need to stop limits the large ones.
        self._deck = sorted(self._new_deck(), key=lambda card: max(card))
        self._hold: _Hold | None = None
        self._last = math.nan
        self.stop_time = StopTime(limits)
        self.shortened = 0

    def command(self, stamp: float, pose: Pose, velocity: Velocity) -> Velocity:
        """Return the command at an increasing time, s, pose from the start, and velocity."""
        if self._hold is None:
            self._hold = _Hold(REST, stamp + 0.5 * ASSUMED_STOP)
        elif self._hold.command == REST:
            self.stop_time.follow(velocity, stamp - self._last)
        self._last = stamp
        if self._hold.command != REST and not self._inside(self._stopping(pose, velocity)):
            self.shortened += 1
            self._take(REST, stamp, self._random.uniform(0.5, 0.7))
        elif stamp >= self._hold.end:
            self._next(stamp, pose, velocity)
        return self._hold.command

    def interrupt(self) -> None:
        """Forget the command that is held, as zero was commanded instead."""
        if self._hold is not None:
            self._hold = _Hold(REST, -math.inf)
        self.stop_time.end()

    def _take(self, command: Velocity, stamp: float, times: float) -> None:
        self.stop_time.end()
        self._hold = _Hold(command, stamp + times * self.stop_time.seconds)
        if command == REST:
            self.stop_time.begin()

    def _next(self, stamp: float, pose: Pose, velocity: Velocity) -> None:
        times = math.exp(self._random.uniform(*map(math.log, HOLDS)))
        if self._random.random() < RESTS:
            return self._take(REST, stamp, HOLDS[0])
        self._deck = self._deck or self._new_deck()
        signs = [*product((1.0, -1.0), repeat=2)]
        for index, (v, omega) in enumerate(self._deck):
            self._random.shuffle(signs)
            for (forward, left), lasts in product(signs, (times, HOLDS[0])):
                wanted = Velocity(forward * v * self._limits.v, left * omega * self._limits.omega)
                command = self._rims.within(wanted)
                if self._fits(pose, velocity, command, lasts * self.stop_time.seconds):
                    del self._deck[index]
                    return self._take(command, stamp, lasts)
        self._deck = []  # those that are left are too large for the room
        return self._take(REST, stamp, HOLDS[0])

    def _new_deck(self) -> list[tuple[float, float]]:
        """Return all cards in random order: shares of the limits of (v, omega)."""
        deck = [
            (
                self._within(size) * drives,
                self._within(self._random.choice(SIZES) if drives else size) * turns,
            )
            for (drives, turns), size in product(AXES, SIZES)
        ]
        self._random.shuffle(deck)
        return deck

    def _within(self, size: float) -> float:
        return size * (self._random.uniform(SMALLEST, 1.0) if size < SIZES[-1] else 1.0)

    def _fits(self, pose: Pose, velocity: Velocity, command: Velocity, lasts: float) -> bool:
        """Whether the robot comes to rest inside after a hold, obeying late or at once."""
        half = 0.5 * self.stop_time.seconds
        fast = _times(LARGEST_GAIN, command)
        late = _path(pose, ((velocity, half), (fast, lasts + half)))
        soon = _path(pose, ((fast, lasts + half),))
        return self._inside((*late, *soon))

    def _stopping(self, pose: Pose, velocity: Velocity) -> Iterator[Pose]:
        """Yield the poses up to rest from now on: it may be speeding up, or not."""
        assert self._hold is not None
        fast = _times(LARGEST_GAIN, self._hold.command)
        worst = Velocity(max(velocity.v, fast.v, key=abs), max(velocity.omega, fast.omega, key=abs))
        whole = self.stop_time.seconds
        slow = _path(pose, ((velocity, 0.5 * whole + self._latency), (worst, 0.5 * whole)))
        yield from (*slow, *_path(pose, ((worst, whole + self._latency),)))

    def _inside(self, poses: Iterable[Pose]) -> bool:
        return all(abs(p.x) <= self._room[0] and abs(p.y) <= self._room[1] for p in poses)


def _times(factor: float, velocity: Velocity) -> Velocity:
    return Velocity(factor * velocity.v, factor * velocity.omega)


def _path(pose: Pose, parts: tuple[tuple[Velocity, float], ...]) -> Iterator[Pose]:
    """Yield poses while each velocity lasts its time, s."""
    for velocity, lasts in parts:
        step = lasts / STEPS
        arc = Arc(velocity.v * step, velocity.omega * step)
        for _ in range(STEPS):
            pose = arc.end(pose)
            yield pose
