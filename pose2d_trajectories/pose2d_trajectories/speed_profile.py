"""How fast to drive on a path of straights and corners."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pose2d_trajectories.chain import Chain
from pose2d_trajectories.limits import Limits
from pose2d_trajectories.path_trajectory import PathTrajectory
from pose2d_trajectories.pieces import Corner, SpotTurn, Straight
from pose2d_trajectories.polyline import STRAIGHT_ON, Leg
from pose2d_trajectories.ramp_law import RampLaw
from pose2d_trajectories.smooth_step import MAX_SLOPE


def corner_speed(corner: Corner, limits: Limits) -> float:
    """Largest speed, m/s, at which a corner keeps the limits, driven at constant speed."""
    return min(
        limits.linear_velocity,
        limits.angular_velocity / corner.max_curvature,
        math.sqrt(limits.angular_acceleration / corner.max_sharpness),
    )


def joint_speeds(pieces: Sequence[Straight | Corner], limits: Limits) -> list[float]:
    """Speeds where the pieces meet, m/s: n + 1 for n pieces, 0 at both ends.

    Corners have one speed throughout. The usual two passes: forwards no straight may gain, then
    backwards none may lose more speed than its length allows (see RampLaw.between).
    """
    gain = 2.0 * limits.linear_acceleration / MAX_SLOPE  # of the squared speed per m
    speeds = [0.0, *[limits.linear_velocity] * (len(pieces) - 1), 0.0]
    for index, piece in enumerate(pieces):
        if isinstance(piece, Corner):
            speed = min(speeds[index], speeds[index + 1], corner_speed(piece, limits))
            speeds[index] = speeds[index + 1] = speed
        else:
            reached = math.sqrt(speeds[index] ** 2 + gain * piece.length)
            speeds[index + 1] = min(speeds[index + 1], reached)
    for index in reversed(range(len(pieces))):
        piece = pieces[index]
        if isinstance(piece, Corner):
            speeds[index] = speeds[index + 1]
        else:
            reached = math.sqrt(speeds[index + 1] ** 2 + gain * piece.length)
            speeds[index] = min(speeds[index], reached)
    return speeds


def drive_through(pieces: Sequence[Straight | Corner], limits: Limits) -> Chain:
    """From rest to rest without a stop, slower in corners where the limits demand it.

    Args:
        pieces: as `rounded` gives them, with a straight at each end.
        limits: all finite; linear_velocity is the speed on straights.
    """
    speeds = joint_speeds(pieces, limits)
    parts = []
    for piece, start, end in zip(pieces, speeds, speeds[1:], strict=False):
        if isinstance(piece, Corner):
            law = RampLaw(piece.length, start, start_rate=start, end_rate=start)
        else:
            law = RampLaw.between(
                piece.length, start, limits.linear_velocity, end, limits.linear_acceleration
            )
        parts.append(PathTrajectory(piece, law))
    return Chain(parts)


def stop_and_turn(lines: Sequence[Leg], limits: Limits) -> Chain:
    """From rest to rest along each leg, with a turn on the spot between two.

    Args:
        lines: the legs.
        limits: all finite.
    """
    parts = []
    for index, leg in enumerate(lines):
        if index:
            before = lines[index - 1].heading
            turn = leg.heading - before
            if abs(turn) > STRAIGHT_ON:
                law = RampLaw.between(
                    abs(turn), 0.0, limits.angular_velocity, 0.0, limits.angular_acceleration
                )
                parts.append(PathTrajectory(SpotTurn(leg.x, leg.y, before, turn), law))
        law = RampLaw.between(
            leg.length, 0.0, limits.linear_velocity, 0.0, limits.linear_acceleration
        )
        parts.append(PathTrajectory(Straight(*leg), law))
    return Chain(parts)
