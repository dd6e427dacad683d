# SPDX-License-Identifier: Apache-2.0
"""Motions that identify wheel radii and track best: `calibration`, and the squares of UMBmark.

Motions that identify each quantity, from poses of a sensor anywhere on the robot, or from a gyro:

    mean radius            long paths between distant places, there and back
    track                  turns on the spot in both directions: their angle depends on it most
    radii's difference     long straights and arcs: it turns the robot in proportion to the path
    delay                  starts and stops; its effect changes sign between forwards and backwards
    pose of the sensor     turns on the spot move it on a circle, straights show its heading
"""

from __future__ import annotations

import math
from numbers import Integral

from pose2d_trajectories.reference import Trajectory, finite, positive
from pose2d_trajectories.timing import (
    ACCELERATION,
    SPEED,
    TURN_ACCELERATION,
    TURN_RATE,
    Chain,
    Route,
    TrajectoryLimits,
)

SENSES = ("ccw", "cw")
EIGHTH = 0.25 * math.pi  # an eighth of a turn, rad
# Crossings: sense of the turn before, whether curved, direction (1 forwards). The first two contain
# each motion in both directions but arcs; all six contain these, too.
ELEMENTS = (
    *((1.0, False, -1.0), (-1.0, True, 1.0), (-1.0, False, -1.0)),
    *((1.0, False, 1.0), (1.0, True, -1.0), (-1.0, False, 1.0)),
)
# Fewest crossings; least size, and that for one more crossing, as shares; bisections of the size.
FEWEST, SMALLEST, GENTLY, HALVINGS = 2, 0.3, 0.9, 20


def crossings(half: float, count: int, limits: TrajectoryLimits) -> Chain:
    """Return the route from a square's centre to a corner, with crossings to the opposite corner.

    Before each there is a whole turn on the spot; they are straight or S-shaped with two quarter
    circles, forwards or backwards, as listed in ELEMENTS.

    Args:
        half: Half of the side of the square, m.
        count: Number of crossings there and back, >= 1.
        limits: All finite.
    """
    diagonal, quarter = math.sqrt(2.0) * half, 2.0 * EIGHTH
    route = Route(limits)
    route.drive(turn=EIGHTH)
    route.drive(diagonal)
    for index in range(count):
        sense, curved, direction = ELEMENTS[index % len(ELEMENTS)]
        if not curved:
            route.drive(turn=sense * 8.0 * EIGHTH)
            route.drive(2.0 * direction * diagonal)
            continue
        # The S starts and ends along a side, which is an eighth of a turn off the diagonal.
        route.drive(turn=sense * 8.0 * EIGHTH - EIGHTH)
        route.drive(direction * half * quarter, quarter)
        route.drive(direction * half * quarter, -quarter)
        route.drive(turn=EIGHTH)
    return Chain(route.parts)


def calibration_route(half: float, time: float, limits: TrajectoryLimits) -> Chain:
    """Return as many crossings as end in time, s, at least two; smaller ones to fill it.

    Raises:
        ValueError: Even the smallest crossings do not end in time.
    """
    count = FEWEST
    least = crossings(SMALLEST * half, count, limits).duration
    if least > time:
        raise ValueError(
            f"time = {time:g} s: must be at least {math.ceil(10.0 * least) / 10.0:g} s, in which "
            f"the smallest calibration motion in a square of {2.0 * half:g} m ends; lengthen the "
            "motion's time (the launch's duration), or raise its speed and turn rate"
        )
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
    border: float = 0.0,
    time: float = 60.0,
    speed: float = SPEED,
    acceleration: float = ACCELERATION,
    turn_rate: float = TURN_RATE,
    turn_acceleration: float = TURN_ACCELERATION,
    limits: TrajectoryLimits = TrajectoryLimits(),  # noqa: B008  (frozen)
) -> Trajectory:
    """Return the motion that identifies radii, track and delays best, in a square around the start.

    From rest to rest: it begins in the centre, along a side, goes to a corner and from there to the
    opposite one and back, straight or along an S, forwards or backwards, with a whole turn on the
    spot in each corner. At least two crossings, which shrink down to 0.3 of the square to end in
    time.

    Args:
        side: Side of the square in which the midpoint of the axle stays, m, > 0.
        border: Distance that it keeps to the border of the square, m, >= 0.
        time: Maximum duration, s; at least that of the smallest two crossings.
        speed: Maximum speed, m/s, > 0; `acceleration`: m/s^2, > 0.
        turn_rate: Maximum yaw rate, rad/s, > 0; `turn_acceleration`: rad/s^2, > 0.
    """
    border = finite("border", border, "m")
    half = 0.5 * (positive("side", side, "m") - 2.0 * border)
    if border < 0.0 or half <= 0.0:
        raise ValueError(
            f"side = {side} m: must be > {2.0 * border:g} m, as {border:g} m (border) are kept "
            "free on each side; clear a larger floor"
        )
    within = limits.within(speed, acceleration, turn_rate, turn_acceleration)
    return calibration_route(half, positive("time", time, "s"), within)


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
    """Return a square with stops and turns on the spot, back to the start pose.

    It is that of UMBmark (Borenstein and Feng 1996), driven in both senses: radii and track follow
    from the robot's true final positions. The first leg goes along x from the origin.

    Args:
        side: Side of the square, m, > 0; 4 m in the paper.
        sense: 'ccw', which turns left at the corners, or 'cw'.
        laps: Number of squares, >= 1.
        speed: As `acceleration`, `turn_rate` and `turn_acceleration` those of `calibration`.
    """
    length = positive("side", side, "m")
    if sense not in SENSES:
        raise ValueError(f"sense = {sense!r}: must be one of {', '.join(SENSES)}")
    if isinstance(laps, bool) or not isinstance(laps, Integral) or laps < 1:
        raise ValueError(f"laps = {laps!r}: must be a whole number >= 1 for umbmark")
    route = Route(limits.within(speed, acceleration, turn_rate, turn_acceleration))
    for _ in range(4 * laps):
        route.drive(length)
        route.drive(turn=0.5 * math.pi if sense == "ccw" else -0.5 * math.pi)
    return Chain(route.parts)
