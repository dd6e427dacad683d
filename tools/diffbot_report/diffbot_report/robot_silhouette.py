# SPDX-License-Identifier: Apache-2.0
"""The robot seen from above, as polygons in its own frame."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffbot_description import Robot

Polygon = NDArray[np.float64]
CORNER = 0.28  # radius of the hull's corners as a fraction of its smaller side
ARC_POINTS = 7


@dataclass(frozen=True)
class RobotSilhouette:
    """Polygons, each (n, 2), m; x forward from the axle, y to the left.

    `nose` marks the front of the hull; wheels have a radius and half a track, m.
    """

    body: Polygon
    wheels: tuple[Polygon, Polygon]
    nose: Polygon
    radius: float
    half_track: float

    @property
    def reach(self) -> float:
        """Maximum distance of any point from the axle's centre, m."""
        points = np.concatenate([self.body, *self.wheels])
        return float(np.hypot(*points.T).max())

    @classmethod
    def of(cls, robot: Robot) -> RobotSilhouette:
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
    """Return a box, m, with round corners of a radius that is a fraction of the smaller side."""
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
    """Transform a polygon of a robot at pose x, y, theta (m, m, rad) to the pose's frame."""
    c, s = math.cos(pose[2]), math.sin(pose[2])
    return np.asarray(polygon @ np.array([[c, s], [-s, c]]) + pose[:2])
