# SPDX-License-Identifier: Apache-2.0
"""Motions that tell most about wheel radii and track: `calibration`, and the squares of UMBmark.

What tells of what, from poses of a sensor somewhere on the robot, or from a gyro:

    mean radius            far places and long ways between them, there and back
    track                  turns on the spot, both ways: nothing but the track turns the robot there
    radii's difference     long straights and arcs: it turns the robot with the way
    delay                  starts and stops; forwards and backwards it has other signs
    pose of the sensor     turns on the spot move it on a circle, straights tell its heading
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

from pose2d_trajectories.paths import PathPoint, SpotTurn, Straight
from pose2d_trajectories.reference import Reference, Trajectory, positive
from pose2d_trajectories.timing import (
    ACCELERATION,
    SPEED,
    TURN_ACCELERATION,
    TURN_RATE,
    Chain,
    PathTrajectory,
    RampLaw,
    TrajectoryLimits,
)

SENSES = ("ccw", "cw")
EIGHTH = 0.25 * math.pi  # of a turn, rad
# Sense of the turn on the spot before it, whether it is curved, and whether it is driven forwards.
# The first two have each kind of motion both ways, but for arcs, which six have both ways, too.
ELEMENTS = (
    *((1.0, False, -1.0), (-1.0, True, 1.0), (-1.0, False, -1.0)),
    *((1.0, False, 1.0), (1.0, True, -1.0), (-1.0, False, 1.0)),
)
# Fewest crossings. They shrink to SMALLEST of the square for these to end in time, and to GENTLY
# for one more.
FEWEST, SMALLEST, GENTLY, HALVINGS = 2, 0.3, 0.9, 20


@dataclass(frozen=True)
class CircularArc:
    """Along a circle; the parameter is the path, m. It is driven from rest to rest.

    Attributes:
        x: start, m.
        y: start, m.
        heading: at the start, rad.
        radius: m, > 0.
        turn: rad, counter-clockwise positive.
    """

    x: float
    y: float
    heading: float
    radius: float
    turn: float

    @property
    def length(self) -> float:
        """M."""
        return self.radius * abs(self.turn)

    def at(self, p: float) -> PathPoint:
        """The point p m from the start."""
        curvature = math.copysign(1.0 / self.radius, self.turn)
        heading = self.heading + curvature * p
        return PathPoint(
            self.x + (math.sin(heading) - math.sin(self.heading)) / curvature,
            self.y - (math.cos(heading) - math.cos(self.heading)) / curvature,
            heading,
            1.0,
            0.0,
            curvature,
            0.0,
        )


@dataclass(frozen=True)
class Reversed:
    """A trajectory driven backwards: the same points, the robot facing the other way.

    Attributes:
        forwards: the same driven forwards.
    """

    forwards: Trajectory

    @property
    def duration(self) -> float:
        """S."""
        return self.forwards.duration

    def at(self, t: float) -> Reference:
        """The reference at time t, s."""
        now = self.forwards.at(t)
        return Reference(now.x, now.y, now.theta - math.pi, -now.v, now.omega, -now.dv, now.domega)


class Route:
    """Straights, arcs and turns on the spot one after the other, each from rest to rest.

    Args:
        limits: all finite.

    Attributes:
        parts: so far.
        duration: of them, s.
    """

    def __init__(self, limits: TrajectoryLimits) -> None:
        self._limits = limits
        self._x = self._y = self._heading = 0.0
        self.parts: list[Trajectory] = []
        self.duration = 0.0

    def straight(self, way: float) -> None:
        """Straight on, m; below 0 backwards."""
        limits, back = self._limits, way < 0.0
        path = Straight(self._x, self._y, self._heading + (math.pi if back else 0.0), abs(way))
        law = RampLaw.between(
            path.length, 0.0, limits.linear_velocity, 0.0, limits.linear_acceleration
        )
        self._add(PathTrajectory(path, law), back)

    def arc(self, radius: float, turn: float, back: bool = False) -> None:
        """Along a circle (m) until the heading has turned (rad, counter-clockwise positive)."""
        limits = self._limits
        path = CircularArc(
            self._x, self._y, self._heading + (math.pi if back else 0.0), radius, turn
        )
        law = RampLaw.between(
            path.length,
            0.0,
            min(limits.linear_velocity, limits.angular_velocity * radius),
            0.0,
            min(limits.linear_acceleration, limits.angular_acceleration * radius),
        )
        self._add(PathTrajectory(path, law), back)

    def turn(self, angle: float) -> None:
        """On the spot, rad, counter-clockwise positive."""
        limits = self._limits
        law = RampLaw.between(
            abs(angle), 0.0, limits.angular_velocity, 0.0, limits.angular_acceleration
        )
        self._add(PathTrajectory(SpotTurn(self._x, self._y, self._heading, angle), law), False)

    def _add(self, part: Trajectory, back: bool) -> None:
        part = Reversed(part) if back else part
        end = part.at(part.duration)
        self._x, self._y, self._heading = end.x, end.y, end.theta
        self.parts.append(part)
        self.duration += part.duration


def crossings(half: float, count: int, limits: TrajectoryLimits) -> Route:
    """From the middle of a square to a corner, and so many times to the opposite corner or back.

    Before each there is a whole turn on the spot. Crossings are straight or an S of two quarters of
    a circle, forwards or backwards, by ELEMENTS.

    Args:
        half: half the side of the square, m.
        count: of crossings, >= 1.
        limits: all finite.
    """
    diagonal = math.sqrt(2.0) * half
    route = Route(limits)
    route.turn(EIGHTH)
    route.straight(diagonal)
    for index in range(count):
        sense, curved, way = ELEMENTS[index % len(ELEMENTS)]
        if not curved:
            route.turn(sense * 8.0 * EIGHTH)
            route.straight(2.0 * way * diagonal)
            continue
        # It leaves and arrives along a side, which is an eighth of a turn off the diagonal.
        route.turn(sense * 8.0 * EIGHTH - EIGHTH)
        route.arc(half, 2.0 * EIGHTH, way < 0.0)
        route.arc(half, -2.0 * EIGHTH, way < 0.0)
        route.turn(EIGHTH)
    return route


def calibration_route(half: float, time: float, limits: TrajectoryLimits) -> Route:
    """As many crossings as end in time, and two at least, somewhat smaller ones to fill the time.

    Args:
        half: half the side of the square, m.
        time: s.
        limits: all finite.
    """
    count = FEWEST
    while crossings(GENTLY * half, count + 1, limits).duration <= time:
        count += 1
    route = crossings(half, count, limits)
    if route.duration <= time:
        return route
    low, high = SMALLEST, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        fits = crossings(middle * half, count, limits).duration <= time
        low, high = (middle, high) if fits else (low, middle)
    return crossings(low * half, count, limits)


def calibration(
    *,
    side: float = 2.0,
    time: float = 60.0,
    speed: float = SPEED,
    acceleration: float = ACCELERATION,
    turn_rate: float = TURN_RATE,
    turn_acceleration: float = TURN_ACCELERATION,
    limits: TrajectoryLimits = TrajectoryLimits(),  # noqa: B008  (frozen)
) -> Trajectory:
    """What tells most about radii, track and delays, in a square around the start.

    From rest to rest. It begins in the middle, along a side, goes to a corner and from there to the
    opposite one and back, straight or along an S, forwards or backwards, with a whole turn on the
    spot in each corner. There are two crossings at least, which are smaller than the square, down
    to 0.3 of it, where that makes them end in time.

    Standard deviations that no unbiased estimate can beat, from a pose source of 20 Hz, 1 cm, 0.5
    degrees and unknown delay and mounting, in 60 s in 3 m by 3 m at 0.5 m/s and 1.5 rad/s, wheels
    that slip by 1 mm per sqrt(m), and in brackets without slip (benchmarks/calibration_motion.py):

                                          left, right radius %        track %        delay ms
        calibration                     0.034, 0.029  (0.019, 0.019)  0.049 (0.019)  0.58 (0.34)
        figure_eight as wide and high   0.029, 0.029  (0.020, 0.020)  0.085 (0.020)  1.47 (0.67)
        figure_eight half as high       0.034, 0.035  (0.026, 0.026)  0.070 (0.025)  0.94 (0.56)
        umbmark                         0.034, 0.032  (0.027, 0.027)  0.091 (0.049)  0.74 (0.65)

    Args:
        side: of the square that the middle of the axle stays in, m, > 0.
        time: that it takes at most, if the smallest two crossings do not take longer, s, > 0.
        speed: m/s, > 0.
        acceleration: largest, m/s^2, > 0.
        turn_rate: largest yaw rate, rad/s, > 0.
        turn_acceleration: largest yaw acceleration, rad/s^2, > 0.
    """
    half = 0.5 * positive("side", side, "m")
    within = limits.within(speed, acceleration, turn_rate, turn_acceleration)
    return Chain(calibration_route(half, positive("time", time, "s"), within).parts)


def umbmark(
    *,
    side: float = 4.0,
    sense: str = "ccw",
    laps: int = 1,
    speed: float = SPEED,
    acceleration: float = ACCELERATION,
    turn_rate: float = TURN_RATE,
    turn_acceleration: float = TURN_ACCELERATION,
    limits: TrajectoryLimits = TrajectoryLimits(),  # noqa: B008
) -> Trajectory:
    """A square with stops and turns on the spot, back to the pose of the start.

    It is that of UMBmark (Borenstein and Feng 1996), which is driven both ways: where the robot
    really stands at the end tells of radii and track. The first leg goes along x from the origin.

    Args:
        side: m, > 0; the paper drives 4 m.
        sense: 'ccw', which turns left at the corners, or 'cw'.
        laps: squares one after the other, >= 1.
        speed: m/s, > 0.
        acceleration: largest, m/s^2, > 0.
        turn_rate: largest yaw rate, rad/s, > 0.
        turn_acceleration: largest yaw acceleration, rad/s^2, > 0.
    """
    length = positive("side", side, "m")
    if sense not in SENSES:
        raise ValueError(f"sense = {sense!r}: must be one of {', '.join(SENSES)}")
    if isinstance(laps, bool) or not isinstance(laps, Integral) or laps < 1:
        raise ValueError(f"laps = {laps!r}: must be a whole number >= 1 for umbmark")
    route = Route(limits.within(speed, acceleration, turn_rate, turn_acceleration))
    for _ in range(4 * laps):
        route.straight(length)
        route.turn(0.5 * math.pi if sense == "ccw" else -0.5 * math.pi)
    return Chain(route.parts)
