"""From metres to pixels, and the ground of an animation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]

# All is drawn this many times as large, and then made smaller, which smooths edges.
SMOOTHING = 2
WIDTH = 640  # px
LOWEST, HIGHEST = 300, 460  # px, of the ground
# The robot is never longer than this, px.
LARGEST_ROBOT = 150
HUD = 76  # px, height of the strip of figures below the ground
SKY = (248, 249, 251)
GRID = (230, 234, 239)
GRID_TEXT = (168, 176, 186)
SPACINGS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


@dataclass(frozen=True)
class Scene:
    """A map of the ground.

    Attributes:
        height: of the ground, px of the finished picture.
        scale: px per m.
        centre: what is in the middle, m.
    """

    height: int
    scale: float
    centre: NDArray[np.float64]

    @classmethod
    def around(cls, points: NDArray[np.float64], margin: float, robot_length: float) -> Scene:
        """A scene that shows all points, shape (n, 2), with a margin; m."""
        low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
        size = np.maximum(high - low, 1e-3)
        height = int(np.clip(WIDTH * size[1] / size[0], LOWEST, HIGHEST))
        scale = min(WIDTH / size[0], height / size[1], LARGEST_ROBOT / robot_length)
        return cls(height, float(scale), 0.5 * (low + high))

    @property
    def size(self) -> tuple[int, int]:
        """Of the finished picture, strip included, px."""
        return WIDTH, self.height + HUD

    def pixels(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where points, shape (n, 2), m, are in the large picture."""
        offset = (points - self.centre) * (SMOOTHING * self.scale)
        middle = 0.5 * SMOOTHING * np.array([WIDTH, self.height])
        return middle + offset * np.array([1.0, -1.0])

    def width(self, metres: float, least: float = 1.0) -> int:
        """Width of a line in the large picture; at the least so many px of the finished one."""
        return max(1, round(SMOOTHING * max(metres * self.scale, least)))

    def ground(self) -> Image.Image:
        """The large picture with its grid; labels tell the distances."""
        width, height = (SMOOTHING * side for side in self.size)
        image = Image.new("RGB", (width, height), SKY)
        draw = ImageDraw.Draw(image)
        spacing = next((s for s in SPACINGS if s * self.scale >= 55), SPACINGS[-1])
        half = 0.5 * np.array([WIDTH, self.height]) / self.scale
        low, high = self.centre - half, self.centre + half
        bottom = SMOOTHING * self.height
        small = font(9)
        for k in range(math.ceil(low[0] / spacing), math.floor(high[0] / spacing) + 1):
            x = float(self.pixels(np.array([[k * spacing, 0.0]]))[0, 0])
            draw.line((x, 0, x, bottom), fill=GRID, width=SMOOTHING)
            draw.text((x + 5, bottom - 5), _metres(k * spacing), GRID_TEXT, small, anchor="ls")
        for k in range(math.ceil(low[1] / spacing), math.floor(high[1] / spacing) + 1):
            y = float(self.pixels(np.array([[0.0, k * spacing]]))[0, 1])
            draw.line((0, y, width, y), fill=GRID, width=SMOOTHING)
            if y < bottom - 60:
                draw.text((6, y - 4), _metres(k * spacing), GRID_TEXT, small, anchor="ls")
        return image


def _metres(value: float) -> str:
    return f"{round(value, 3) + 0.0:g} m".replace("-", "−")


@lru_cache(maxsize=8)
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Matplotlib's own font, so that all pictures have one; size in px of the finished picture."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name
    return ImageFont.truetype(str(path), SMOOTHING * size)


def blend(colour: Colour, other: Colour, share: float) -> Colour:
    """The colour with a share (0 to 1) of the other one."""
    return tuple(round(a + share * (b - a)) for a, b in zip(colour, other, strict=True))


def colour_of(rgb: tuple[float, float, float]) -> Colour:
    """A colour of a robot's description, 0 to 1, as bytes."""
    return tuple(round(255 * part) for part in rgb)
