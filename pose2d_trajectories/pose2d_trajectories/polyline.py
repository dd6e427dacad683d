"""Lines through points, and the pieces that they are driven on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pose2d_trajectories.checks import finite
from pose2d_trajectories.pieces import Corner, Straight

# A sharper turn cannot be rounded sensibly: the curve would be all but a turn on the spot.
SHARPEST = math.radians(160.0)
# Smaller turns, rad, are rounding errors of points on one line.
STRAIGHT_ON = 1e-9


class Leg(NamedTuple):
    """The line from one point to the next.

    Attributes:
        x: start, m.
        y: start, m.
        heading: rad; continuous over the legs, each turn being between -pi and pi.
        length: m, > 0.
    """

    x: float
    y: float
    heading: float
    length: float


def legs(points: Sequence[Sequence[float]]) -> list[Leg]:
    """The legs between points (x, y) in m.

    Raises:
        ValueError: fewer than two points, one is not two finite numbers, or two in a row are one.
    """
    checked = [_point(index, point) for index, point in enumerate(points)]
    if len(checked) < 2:
        raise ValueError(f"points = {checked}: must be at least 2 points (x, y) in m")
    found: list[Leg] = []
    for index, ((x, y), (x2, y2)) in enumerate(zip(checked, checked[1:], strict=False)):
        length = math.hypot(x2 - x, y2 - y)
        if length < 1e-6:
            raise ValueError(
                f"points {index} and {index + 1} = {(x, y)} m: must be at least 1e-6 m apart; "
                "take one away"
            )
        heading = math.atan2(y2 - y, x2 - x)
        if found:
            before = found[-1].heading
            heading = before + math.remainder(heading - before, 2.0 * math.pi)
        found.append(Leg(x, y, heading, length))
    return found


def _point(index: int, point: Sequence[float]) -> tuple[float, float]:
    try:
        x, y = point
    except (TypeError, ValueError):
        raise ValueError(f"point {index} = {point!r}: must be (x, y) in m") from None
    return finite(f"x of point {index}", x, "m"), finite(f"y of point {index}", y, "m")


def half_leg_roundings(lines: Sequence[Leg], rounding: float) -> list[float]:
    """The rounding of each corner, m: the wanted one, or half of a shorter leg beside it."""
    return [
        min(rounding, 0.5 * before.length, 0.5 * after.length)
        for before, after in zip(lines, lines[1:], strict=False)
    ]


def rounded(lines: Sequence[Leg], roundings: Sequence[float]) -> list[Straight | Corner]:
    """Straights and smooth corners along the legs.

    Args:
        lines: n legs.
        roundings: for each of the n - 1 corners, how far from its point it begins and ends, m.

    Raises:
        ValueError: a turn is too sharp to be rounded.
    """
    pieces: list[Straight | Corner] = []
    begun = 0.0  # of a leg, where its straight begins, m
    for index, leg in enumerate(lines):
        cos, sin = math.cos(leg.heading), math.sin(leg.heading)
        turn = lines[index + 1].heading - leg.heading if index + 1 < len(lines) else 0.0
        if abs(turn) > SHARPEST:
            raise ValueError(
                f"turn of {math.degrees(turn):.0f} deg at point {index + 1}: must be <= "
                f"{math.degrees(SHARPEST):.0f} deg to be driven through smoothly; stop there "
                "(corners = 'stop') or add a point"
            )
        rounding = roundings[index] if abs(turn) > STRAIGHT_ON else 0.0
        length = leg.length - begun - rounding
        if length > 1e-12 * leg.length:
            pieces.append(Straight(leg.x + begun * cos, leg.y + begun * sin, leg.heading, length))
        if rounding > 0.0:
            way = leg.length - rounding
            pieces.append(
                Corner(
                    leg.x + way * cos,
                    leg.y + way * sin,
                    leg.heading,
                    turn,
                    Corner.length_for(turn, rounding),
                )
            )
        begun = rounding
    return pieces
