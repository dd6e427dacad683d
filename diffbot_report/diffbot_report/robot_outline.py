# SPDX-License-Identifier: Apache-2.0
"""The robot as seen from above, as polygons in its own frame, for figures, pages and animation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffbot_description import Robot

Polygon = NDArray[np.float64]
CORNER = 0.28  # radius of the hull's corners as a share of its smaller side
ARC_POINTS = 7


@dataclass(frozen=True)
class RobotOutline:
    """Polygons, each of shape (n, 2), m; x forward from the axle, y to the left.

    Attributes:
        body: the hull.
        wheels: left and right tyre.
        nose: a mark on the hull that points forward.
        radius: of the wheels, m.
        half_track: m.
        reach: largest distance of any point from the axle's middle, m.
    """

    body: Polygon
    wheels: tuple[Polygon, Polygon]
    nose: Polygon
    radius: float
    half_track: float

    @property
    def reach(self) -> float:
        """Largest distance of any point from the axle's middle, m."""
        points = np.concatenate([self.body, *self.wheels])
        return float(np.hypot(*points.T).max())

    @classmethod
    def of(cls, robot: Robot) -> RobotOutline:
        """From a robot's description."""
        shape, wheels = robot.body.shape, robot.wheels
        front, rear, half = shape.front, shape.rear, 0.5 * shape.width
        length = front - rear
        nose = front - 0.1 * length
        tyre = rounded_box(-wheels.radius, wheels.radius, 0.5 * wheels.width, 0.35)
        offset = np.array([0.0, 0.5 * wheels.separation])
        return cls(
            body=rounded_box(rear, front, half, CORNER),
            wheels=(tyre + offset, tyre - offset),
            nose=np.array(
                [
                    (nose, 0.0),
                    (nose - 0.26 * length, 0.5 * half),
                    (nose - 0.18 * length, 0.0),
                    (nose - 0.26 * length, -0.5 * half),
                ]
            ),
            radius=wheels.radius,
            half_track=0.5 * wheels.separation,
        )


def rounded_box(rear: float, front: float, half_width: float, corner: float) -> Polygon:
    """A box from rear to front, m, with round corners; `corner` is a share of its smaller side."""
    radius = corner * min(front - rear, 2.0 * half_width)
    centres = (
        (front - radius, half_width - radius),
        (rear + radius, half_width - radius),
        (rear + radius, radius - half_width),
        (front - radius, radius - half_width),
    )
    angles = np.linspace(0.0, 0.5 * math.pi, ARC_POINTS)
    return np.concatenate(
        [
            np.array(centre)
            + radius * np.column_stack([np.cos(angles + turn), np.sin(angles + turn)])
            for centre, turn in zip(centres, 0.5 * math.pi * np.arange(4), strict=True)
        ]
    )


def placed(polygon: Polygon, pose: NDArray[np.float64]) -> Polygon:
    """The polygon of a robot at a pose x, y, theta (m, m, rad), in the pose's frame."""
    c, s = math.cos(pose[2]), math.sin(pose[2])
    return np.asarray(polygon @ np.array([[c, s], [-s, c]]) + pose[:2])
