"""The rectangle that the whole robot must stay in while it is excited, and the robot's outline."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffbot_description import Robot
from diffbot_ident.torque.estimate import Array

# Half of the least length of the midpoint's own rectangle, m. Less leaves no way to pick up speed.
MIN_ROOM = 0.25


@dataclass(frozen=True)
class Arena:
    """A rectangle around the robot's start, along the robot's first heading (x) and across (y).

    It bounds the **whole body**: hull, wheels and casters in any heading. The axle's midpoint
    therefore keeps to the rectangle less the robot's reach and the margin on each side.

    Attributes:
        length: along x, m, > 0.
        width: along y, m, > 0.
        margin: kept free on each side for drift of the odometry and for errors of the model that
            motion is predicted with, m, >= 0.

    Raises:
        ValueError: a length is not finite or outside its range.
    """

    length: float
    width: float
    margin: float = 0.1

    def __post_init__(self) -> None:
        for name in ("length", "width"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"arena {name} = {value} m: must be finite and > 0; measure it")
        if not (math.isfinite(self.margin) and self.margin >= 0.0):
            raise ValueError(f"arena margin = {self.margin} m: must be finite and >= 0; try 0.1")

    @classmethod
    def parse(cls, text: str) -> Arena | None:
        """Read "length x width" in m, such as "3x3" or "4,2.5"; None where the text is empty.

        Raises:
            ValueError: it is not two numbers > 0.
        """
        if not text.strip():
            return None
        words = text.lower().replace("x", " ").replace(",", " ").split()
        try:
            length, width = map(float, words)
        except ValueError:
            raise ValueError(
                f"arena = {text!r}: must be length x width in m, such as 3x3; measure the floor"
            ) from None
        return cls(length, width)

    def room(self, reach: float) -> tuple[float, float]:
        """Largest |x| and |y|, m, that the axle's midpoint may have.

        Args:
            reach: largest distance of a part of the robot from the axle's midpoint, m.

        Raises:
            ValueError: the arena is too small for the robot.
        """
        taken = reach + self.margin
        least = 2.0 * (taken + MIN_ROOM)
        for name in ("length", "width"):
            value = getattr(self, name)
            if value < least:
                raise ValueError(
                    f"arena {name} = {value:g} m: must be >= {least:.2f} m for this robot, which "
                    f"reaches {reach:.2f} m from its axle's middle and keeps a margin of "
                    f"{self.margin:g} m; clear a larger floor"
                )
        return 0.5 * self.length - taken, 0.5 * self.width - taken


def outline(robot: Robot) -> Array:
    """Corners of hull, wheels and the squares around the casters, x and y, shape (2, n), m.

    In the robot's frame, its origin the axle's midpoint.
    """
    shape, wheels = robot.body.shape, robot.wheels
    side, tread = 0.5 * shape.width, 0.5 * wheels.width
    boxes = [(shape.rear, shape.front, -side, side)]
    boxes += [
        (-wheels.radius, wheels.radius, y - tread, y + tread)
        for y in (wheels.half_track, -wheels.half_track)
    ]
    boxes += [
        (c.x - c.radius, c.x + c.radius, c.y - c.radius, c.y + c.radius) for c in robot.casters
    ]
    return np.array([(x, y) for x0, x1, *ys in boxes for x in (x0, x1) for y in ys]).T


def reach(robot: Robot) -> float:
    """Largest distance in the plane of a part of the robot from the axle's midpoint, m."""
    return float(np.hypot(*outline(robot)).max())


def extent(corners: Array, pose: tuple[float, float, float]) -> tuple[float, float]:
    """Largest |x| and |y|, m, of the corners (see `outline`) of a robot at a pose (m, m, rad)."""
    x, y, theta = pose
    along, across = corners
    c, s = math.cos(theta), math.sin(theta)
    xs, ys = x + c * along - s * across, y + s * along + c * across
    return float(np.abs(xs).max()), float(np.abs(ys).max())
