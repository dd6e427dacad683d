"""The robot of an animation, from above."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import ImageDraw

from diffbot_bringup.drive_report.robot_outline import Polygon, RobotOutline, placed, rounded_box
from diffbot_bringup.drive_report.scene import SKY, Scene, blend, colour_of
from diffbot_description import Robot

TYRE, TREAD = (52, 58, 66), (120, 128, 138)
SHADOW = (222, 226, 232)
GHOST = (150, 160, 174)
TREADS = 10  # around a wheel


class RobotSprite:
    """Draws a robot and the ghost of its reference.

    Args:
        robot: its shape and colours.
        scene: where to.
    """

    def __init__(self, robot: Robot, scene: Scene) -> None:
        self._scene = scene
        self._outline = outline = RobotOutline.of(robot)
        self._body = colour_of(robot.appearance.body)
        self._accent = colour_of(robot.appearance.accent)
        shape = robot.body.shape
        length, half = shape.front - shape.rear, 0.5 * shape.width
        self._deck = rounded_box(
            shape.rear + 0.13 * length, shape.front - 0.42 * length, 0.72 * half, 0.25
        )
        lamp = rounded_box(-0.02 * length, 0.03 * length, 0.13 * shape.width, 0.45)
        front = np.array([shape.front - 0.03 * length, 0.0])
        side = np.array([0.0, 0.58 * half])
        self._lamps = (lamp + front + side, lamp + front - side)
        self._tyre_half = 0.5 * robot.wheels.width
        self._centres = tuple(np.array([0.0, s * outline.half_track]) for s in (1.0, -1.0))

    def ghost(self, draw: ImageDraw.ImageDraw, pose: NDArray[np.float64]) -> None:
        """The reference: an empty outline at a pose."""
        width = self._scene.width(0.0, 1.3)
        for polygon in (self._outline.body, *self._outline.wheels):
            self._fill(draw, polygon, pose, None, GHOST, width)
        self._fill(draw, self._outline.nose, pose, blend(GHOST, SKY, 0.45))

    def robot(
        self,
        draw: ImageDraw.ImageDraw,
        pose: NDArray[np.float64],
        angles: NDArray[np.float64],
    ) -> None:
        """The robot at a pose (m, m, rad), its wheels turned by angles [left, right], rad."""
        # Light from above: the shadow falls the same way wherever the robot looks.
        below = pose + np.array([0.018, -0.018, 0.0])
        for polygon in (self._outline.body, *self._outline.wheels):
            self._fill(draw, polygon, below, SHADOW)
        for tyre, centre, angle in zip(self._outline.wheels, self._centres, angles, strict=True):
            self._fill(draw, tyre, pose, TYRE)
            self._treads(draw, centre, angle, pose)
        edge = blend(self._body, (0, 0, 0), 0.35)
        self._fill(draw, self._outline.body, pose, self._body, edge, self._scene.width(0.0, 1.2))
        self._fill(draw, self._deck, pose, blend(self._body, (255, 255, 255), 0.22))
        self._fill(draw, self._outline.nose, pose, (255, 255, 255))
        for lamp in self._lamps:
            self._fill(draw, lamp, pose, self._accent)

    def _treads(
        self,
        draw: ImageDraw.ImageDraw,
        centre: NDArray[np.float64],
        angle: float,
        pose: NDArray[np.float64],
    ) -> None:
        """Bars across the upper half of a tyre, which move as it rolls."""
        turn = np.remainder(angle, 2.0 * np.pi / TREADS)
        for spoke in turn + np.arange(TREADS // 2 + 1) * 2.0 * np.pi / TREADS - 0.5 * np.pi:
            if abs(spoke) > 0.45 * np.pi:
                continue
            x = 0.96 * self._outline.radius * np.sin(spoke)
            bar = np.array([(x, 0.8 * self._tyre_half), (x, -0.8 * self._tyre_half)]) + centre
            points = self._scene.pixels(placed(bar, pose))
            draw.line([tuple(p) for p in points], fill=TREAD, width=self._scene.width(0.006, 0.8))

    def _fill(
        self,
        draw: ImageDraw.ImageDraw,
        polygon: Polygon,
        pose: NDArray[np.float64],
        fill: tuple[int, int, int] | None,
        outline: tuple[int, int, int] | None = None,
        width: int = 1,
    ) -> None:
        points = self._scene.pixels(placed(polygon, pose)).ravel().tolist()
        draw.polygon(points, fill=fill, outline=outline, width=width)
