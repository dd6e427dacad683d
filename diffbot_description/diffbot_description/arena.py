# SPDX-License-Identifier: Apache-2.0
"""The area that a whole robot stays in, and the room that it leaves to the axle's midpoint."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arc_odometry.number_range import Array
from diffbot_description.robot import Robot

# Half of the smallest side that leaves the axle's midpoint room to accelerate, m.
MIN_ROOM = 0.25


@dataclass(frozen=True)
class Arena:
    """A rectangle around the robot's start, along its first heading (x) and across (y).

    The **whole body** stays in it in any heading: the axle's midpoint keeps the robot's reach and
    the margin on each side.

        >>> Arena.parse("3x2").room(reach=0.3)
        (1.1, 0.6)

    Attributes:
        length: Size along x, m, > 0.
        width: Size along y, m, > 0.
        margin: Distance kept free on each side for errors of odometry and model, m, >= 0.
        border: Distance that the whole robot keeps to each side besides, m, >= 0.

    Raises:
        ValueError: A length is not finite or outside its range.
    """

    length: float
    width: float
    margin: float = 0.1
    border: float = 0.0

    def __post_init__(self) -> None:
        for name in ("length", "width"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"arena {name} = {value} m: must be finite and > 0; measure it")
        for name in ("margin", "border"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"arena {name} = {value} m: must be finite and >= 0; try 0.1")

    @classmethod
    def parse(cls, text: str, border: float = 0.0) -> Arena | None:
        """Read "length x width" in m, such as "3x3" or "4,2.5"; None for "" and "none"."""
        if text.strip() in ("", "none"):
            return None
        words = text.lower().replace("x", " ").replace(",", " ").split()
        try:
            length, width = map(float, words)
        except ValueError:
            raise ValueError(
                f"arena = {text!r}: must be length x width in m, such as 3x3; measure the floor"
            ) from None
        return cls(length, width, border=border)

    @property
    def allowed(self) -> tuple[float, float]:
        """Length and width of the rectangle within the border, m."""
        return self.length - 2.0 * self.border, self.width - 2.0 * self.border

    def room(self, reach: float) -> tuple[float, float]:
        """Return the largest |x| and |y|, m, of the axle's midpoint, for a robot of this reach, m.

        Raises:
            ValueError: The arena is too small for the robot.
        """
        taken = reach + self.margin
        least = 2.0 * (taken + MIN_ROOM)
        for name, value in zip(("length", "width"), self.allowed, strict=True):
            if value < least:
                raise ValueError(
                    f"arena {name} = {getattr(self, name):g} m: must be >= "
                    f"{least + 2.0 * self.border:.2f} m for this robot, which reaches {reach:.2f} "
                    f"m from its axle's middle and keeps a margin of {self.margin + self.border:g} "
                    "m; clear a larger floor"
                )
        length, width = self.allowed
        return 0.5 * length - taken, 0.5 * width - taken


def silhouette(robot: Robot) -> Array:
    """Return the corners of hull, wheels and casters' bounding squares, x and y, (2, n), m."""
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
    """Return the largest planar distance of a part of the robot from the axle's midpoint, m."""
    return float(np.hypot(*silhouette(robot)).max())


def extent(corners: Array, pose: tuple[float, float, float]) -> tuple[float, float]:
    """Return the largest |x| and |y|, m, of corners (see `silhouette`) at a pose (m, m, rad)."""
    x, y, theta = pose
    along, across = corners
    c, s = math.cos(theta), math.sin(theta)
    xs, ys = x + c * along - s * across, y + s * along + c * across
    return float(np.abs(xs).max()), float(np.abs(ys).max())
