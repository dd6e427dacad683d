# SPDX-License-Identifier: Apache-2.0
"""The trajectories, each in its own frame, driven forwards from t = 0.

Closed ones have the options `laps` (integer; 0: endless), `ramp_up` (time from rest to full speed,
s; 0: in motion from the start, as in the papers) and `ramp_down` (time to rest at the end, s).
Those between points begin and end at rest. All are slower than specified where `limits` require it.
A wrong option is a ValueError that names it; OPTIONS has meaning and unit of each.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec

from arc_odometry import Pose
from pose2d_trajectories.calibration_motion import calibration, umbmark
from pose2d_trajectories.paths import STRAIGHT_ON, ArcPath, Lissajous, Loop, Path, legs, rounded
from pose2d_trajectories.reference import Reference, Trajectory, finite, positive
from pose2d_trajectories.timing import (
    ACCELERATION,
    SAMPLES,
    SPEED,
    TURN_ACCELERATION,
    TURN_RATE,
    Chain,
    Route,
    TrajectoryLimits,
    drive_laps,
    drive_through,
)

RAMP_TIME = 2.0  # default of ramp_up and ramp_down, s
# Largest ratio of width and height of an 8, either way: beyond it the robot would turn on the spot.
LARGEST_RATIO = 100.0
CORNERS = ("smooth", "stop")
# Time of an endless trajectory in which its size is seen, s.
LONGEST_LAP = 600.0


P = ParamSpec("P")


def _closed(shape: Callable[P, tuple[Path, float]]) -> Callable[..., Trajectory]:
    """Add the options of closed curves to a shape, which returns path and rate of its parameter."""

    @wraps(shape)
    def trajectory(
        *,
        laps: int = 0,
        ramp_up: float = RAMP_TIME,
        ramp_down: float = RAMP_TIME,
        limits: TrajectoryLimits = TrajectoryLimits(),  # noqa: B008  (frozen)
        **options: Any,
    ) -> Trajectory:
        path, rate = shape(**options)  # type: ignore[call-arg]
        return drive_laps(path, rate, laps, ramp_up, ramp_down, limits)

    *added, _ = inspect.signature(trajectory, follow_wrapped=False).parameters.values()
    own = inspect.signature(shape).parameters.values()
    trajectory.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    return trajectory


@_closed
def figure_eight(
    *, amplitude_x: float = 1.0, amplitude_y: float = 0.5, period: float = 40.0
) -> tuple[Path, float]:
    """Return the 8 of Lages (2018), section 6.2: x = Ax sin 2Wt, y = -Ay cos Wt, W = 2 pi / period.

    From (0, -Ay) with heading 0. The paper shows it in Fig. 29 and gives no formula.
    """
    return _eight(amplitude_x, -1.0, amplitude_y, period)


@_closed
def siwek_eight(
    *, amplitude_x: float = 2.0, amplitude_y: float = 2.0, period: float = 2.0 * math.pi / 0.125
) -> tuple[Path, float]:
    """Return the 8 of Siwek et al. (2023), (8): x = Ax sin wx t, y = Ay cos wy t, wx = 2 wy.

    wy = 2 pi / period, in the paper 0.125 rad/s. It starts at (0, Ay) with heading 0.
    """
    return _eight(amplitude_x, 1.0, amplitude_y, period)


def _eight(
    amplitude_x: float, side: float, amplitude_y: float, period: float
) -> tuple[Path, float]:
    width = positive("amplitude_x", amplitude_x, "m")
    height = positive("amplitude_y", amplitude_y, "m")
    if not 1.0 / LARGEST_RATIO <= height / width <= LARGEST_RATIO:
        raise ValueError(
            f"amplitude_y = {height} m: must be between 1/{LARGEST_RATIO:g} and {LARGEST_RATIO:g} "
            f"times amplitude_x = {width} m"
        )
    return Lissajous(width, side * height), 2.0 * math.pi / positive("period", period, "s")


@_closed
def circle(*, radius: float = 1.0, speed: float = SPEED) -> tuple[Path, float]:
    """Return a counter-clockwise circle around the origin, from (0, -radius) with heading 0."""
    radius = positive("radius", radius, "m")
    path = ArcPath(Pose(0.0, -radius, 0.0), radius, 1.0, 2.0 * math.pi)
    return path, positive("speed", speed, "m/s") / radius


@_closed
def rounded_square(
    *, side: float = 2.0, rounding: float = 0.5, speed: float = SPEED
) -> tuple[Path, float]:
    """Return a counter-clockwise square around the origin, from (0, -side / 2) with heading 0.

    Speed is constant and curvature continuous. `rounding`, m: at most side / 2.
    """
    half = 0.5 * positive("side", side, "m")
    rounding = positive("rounding", rounding, "m")
    if rounding > half:
        raise ValueError(f"rounding = {rounding} m: must be <= side / 2 = {half} m")
    corners = [(half, -half), (half, half), (-half, half), (-half, -half)]
    lines = legs([(0.0, -half), *corners, (0.0, -half)])
    path = Loop(rounded(lines, [rounding] * len(corners)))
    return path, positive("speed", speed, "m/s")


def line(
    *,
    length: float = 2.0,
    speed: float = SPEED,
    acceleration: float = ACCELERATION,
    limits: TrajectoryLimits = TrajectoryLimits(),  # noqa: B008
) -> Trajectory:
    """Return a straight line along x from the origin, from rest to rest."""
    route = Route(limits.within(speed, acceleration))
    route.drive(positive("length", length, "m"))
    return Chain(route.parts)


def waypoints(
    *,
    points: Sequence[Sequence[float]] = ((0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)),
    corners: str = "smooth",
    rounding: float = 0.3,
    speed: float = SPEED,
    acceleration: float = ACCELERATION,
    turn_rate: float = TURN_RATE,
    turn_acceleration: float = TURN_ACCELERATION,
    limits: TrajectoryLimits = TrajectoryLimits(),  # noqa: B008
) -> Trajectory:
    """Return straight lines from point to point, from rest to rest.

    corners = 'smooth' passes the points between at some distance, on curves that begin `rounding` m
    before them (at most half of a leg), slower where turn_rate or turn_acceleration require it;
    'stop' stops at each point and turns on the spot.
    """
    lines = legs(points)
    within = limits.within(speed, acceleration, turn_rate, turn_acceleration)
    if corners not in CORNERS:
        raise ValueError(f"corners = {corners!r}: must be one of {', '.join(CORNERS)}")
    if corners == "stop":
        route = Route(within, lines[0].start)
        for leg in lines:
            turn = leg.start.theta - route.end.theta
            if abs(turn) > STRAIGHT_ON:
                route.drive(turn=turn)
            route.drive(leg.length)
        return Chain(route.parts)
    rounding = positive("rounding", rounding, "m")
    roundings = [
        min(rounding, 0.5 * before.length, 0.5 * after.length)
        for before, after in zip(lines, lines[1:], strict=False)
    ]
    return drive_through(rounded(lines, roundings), within)


class Placed:
    """A trajectory transformed from its own frame to the odom frame.

    Args:
        x, y: Origin of its frame, m; `theta`: direction of its x axis, rad.
        backwards: Whether the same points are driven at the same times with the robot facing the
            other way (theta + pi, v < 0), as with k = 1 in (8) of Siwek et al. (2023).
        scale: Factor on its size, and so on its speed, > 0.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        x: float = 0.0,
        y: float = 0.0,
        theta: float = 0.0,
        backwards: bool = False,
        scale: float = 1.0,
    ) -> None:
        self._trajectory = trajectory
        positive("scale", scale, "")
        self._x, self._y = finite("x", x, "m"), finite("y", y, "m")
        turn = finite("theta", theta, "rad")
        self._cos, self._sin = scale * math.cos(turn), scale * math.sin(turn)
        self._sign = -scale if backwards else scale
        self._turn = turn + math.pi if backwards else turn

    @property
    def duration(self) -> float:
        """Time until the end, s; math.inf for an endless trajectory."""
        return self._trajectory.duration

    def at(self, t: float) -> Reference:
        """Return the reference at time t, s, a finite number."""
        inner = self._trajectory.at(finite("t", t, "s"))
        return Reference(
            self._x + self._cos * inner.x - self._sin * inner.y,
            self._y + self._sin * inner.x + self._cos * inner.y,
            inner.theta + self._turn,
            self._sign * inner.v,
            inner.omega,
            self._sign * inner.dv,
            inner.domega,
        )


def from_pose(
    trajectory: Trajectory, start: Pose, room: tuple[float, float] = (math.inf, math.inf)
) -> Placed:
    """Return a trajectory moved so that it begins at a pose, and made smaller to fit in a room.

    `room`: largest distances from the start along its heading, and across, m, > 0. Of an endless
    trajectory the first LONGEST_LAP s count.

    Example:
        >>> ahead = from_pose(make_trajectory("line"), Pose(2.0, 0.0, 0.0), (0.5, 0.5))
        >>> ahead.at(0.0).x, ahead.at(ahead.duration).x
        (2.0, 2.5)
    """
    end = min(trajectory.duration, LONGEST_LAP)
    first = trajectory.at(0.0).pose
    poses = [trajectory.at(end * k / SAMPLES).pose for k in range(SAMPLES + 1)]
    places = [pose.relative_to(first) for pose in poses]
    scale = min(
        1.0,
        *(
            most / size if (size := max(abs(place[axis]) for place in places)) > 0.0 else 1.0
            for axis, most in enumerate(room)
        ),
    )
    turn = start.theta - first.theta
    cos, sin = scale * math.cos(turn), scale * math.sin(turn)
    return Placed(
        trajectory,
        start.x - cos * first.x + sin * first.y,
        start.y - sin * first.x - cos * first.y,
        turn,
        scale=scale,
    )


TRAJECTORIES: dict[str, Callable[..., Trajectory]] = {
    shape.__name__: shape
    for shape in (
        *(figure_eight, siwek_eight, circle, line, rounded_square, waypoints),
        *(calibration, umbmark),
    )
}
"""All trajectories by name."""

OPTIONS = {
    "amplitude_x": "largest x of an 8, m, > 0",
    "amplitude_y": "largest y of an 8, m, > 0",
    "period": "time of a lap of an 8, s, > 0; longer if limits demand it",
    "radius": "radius of the circle, m, > 0",
    "side": "side of the square, m, > 0",
    "border": "distance that the midpoint of the axle keeps to the border of the square, m, >= 0",
    "sense": "sense in which the squares of umbmark are driven: ccw (left turns) or cw",
    "time": "time that calibration takes, s, > 0; more if two small crossings need it",
    "length": "length of the line, m, > 0",
    "points": "points of waypoints, m: pairs (x, y)",
    "corners": f"how waypoints are driven through: {' or '.join(CORNERS)}",
    "rounding": "how far from a corner its curve begins and ends, m, > 0",
    "speed": "speed, m/s, > 0; lower if limits demand it",
    "acceleration": "largest acceleration of line, waypoints, calibration and umbmark, m/s^2, > 0",
    "turn_rate": "largest yaw rate of waypoints, calibration and umbmark, rad/s, > 0",
    "turn_acceleration": "largest yaw acceleration of waypoints and the like, rad/s^2, > 0",
    "laps": "laps of a closed curve, whole; 0: for ever; of umbmark 1 or more",
    "ramp_up": "time from rest to full speed on a closed curve, s, >= 0; 0: in motion at once",
    "ramp_down": "time from full speed to rest at the end of the last lap, s, > 0",
}
"""Meaning and unit of all options of trajectories; each trajectory has those of its function."""


def options_of(name: str) -> tuple[str, ...]:
    """Return the names of a trajectory's options; a ValueError if there is no such trajectory.

    Example:
        >>> options_of("circle")
        ('radius', 'speed', 'laps', 'ramp_up', 'ramp_down')
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
    limits: TrajectoryLimits | None = None,
    **options: Any,
) -> Trajectory:
    """Return a trajectory in the odom frame.

    Example:
        >>> square = make_trajectory("rounded_square", side=2.0, limits=TrajectoryLimits(0.3))
        >>> square.at(0.0).pose
        Pose(x=0.0, y=-1.0, theta=0.0)

    Args:
        name: One of TRAJECTORIES.
        x, y: Origin of the trajectory's own frame, m; `theta`: direction of its x axis, rad.
        backwards: Whether the robot drives backwards, v < 0: see Placed.
        limits: Limits of speed and acceleration; None: none.
        options: Options of the trajectory, see OPTIONS.

    Raises:
        ValueError: A name or option is wrong; the message names it and lists the valid ones.
    """
    known = options_of(name)
    for option in options:
        if option not in known:
            raise ValueError(f"{name} has no option {option!r}; it has {', '.join(known)}")
    inner = TRAJECTORIES[name](limits=limits or TrajectoryLimits(), **options)
    return Placed(inner, x, y, theta, backwards)
