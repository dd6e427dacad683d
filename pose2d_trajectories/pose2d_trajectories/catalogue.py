"""Trajectories by name."""

from __future__ import annotations

import inspect

from pose2d_trajectories.limits import Limits
from pose2d_trajectories.placed import Placed
from pose2d_trajectories.reference import Trajectory
from pose2d_trajectories.shapes import (
    CORNERS,
    circle,
    figure_eight,
    line,
    rounded_square,
    siwek_eight,
    waypoints,
)

TRAJECTORIES = {
    shape.__name__: shape
    for shape in (figure_eight, siwek_eight, circle, line, rounded_square, waypoints)
}

# Meaning and unit of every option that a trajectory may have; each has those of its function.
OPTIONS = {
    "amplitude_x": "largest x of an 8, m, > 0",
    "amplitude_y": "largest y of an 8, m, > 0",
    "period": "time of a lap of an 8, s, > 0; longer where limits demand it",
    "radius": "radius of the circle, m, > 0",
    "side": "side of the square, m, > 0",
    "length": "length of the line, m, > 0",
    "points": "points of waypoints, m: pairs (x, y)",
    "corners": f"how waypoints are driven through: {' or '.join(CORNERS)}",
    "rounding": "how far from a corner its curve begins and ends, m, > 0",
    "speed": "speed, m/s, > 0; lower where limits demand it",
    "acceleration": "largest acceleration of line and waypoints, m/s^2, > 0",
    "turn_rate": "largest yaw rate of waypoints, rad/s, > 0",
    "turn_acceleration": "largest yaw acceleration of waypoints, rad/s^2, > 0",
    "laps": "laps of a closed curve, whole; 0: for ever",
    "ramp_up": "time from rest to full speed on a closed curve, s, >= 0; 0: in motion at once",
    "ramp_down": "time from full speed to rest at the end of the last lap, s, > 0",
}


def options_of(name: str) -> tuple[str, ...]:
    """Names of the options that a trajectory takes.

    Raises:
        ValueError: there is no trajectory of that name; the message lists them.
    """
    if name not in TRAJECTORIES:
        raise ValueError(f"trajectory = {name!r}: must be one of {', '.join(TRAJECTORIES)}")
    return tuple(key for key in inspect.signature(TRAJECTORIES[name]).parameters if key in OPTIONS)


def make_trajectory(
    name: str,
    *,
    x: float = 0.0,
    y: float = 0.0,
    theta: float = 0.0,
    backwards: bool = False,
    limits: Limits | None = None,
    **options: object,
) -> Trajectory:
    """A trajectory in the odom frame.

    Args:
        name: one of TRAJECTORIES.
        x: where the origin of the trajectory's own frame is, m.
        y: as x, m.
        theta: direction of its frame's x axis, rad.
        backwards: the same points at the same times, the robot facing the other way, v < 0.
        limits: of speed and acceleration; None: none.
        options: of the trajectory, see shapes.

    Raises:
        ValueError: a wrong name or option; the message names it and lists the right ones.
    """
    known = options_of(name)
    for option in options:
        if option not in known:
            raise ValueError(f"{name} has no option {option!r}; it has {', '.join(known)}")
    inner = TRAJECTORIES[name](limits=limits or Limits(), **options)
    return Placed(inner, x, y, theta, backwards)
