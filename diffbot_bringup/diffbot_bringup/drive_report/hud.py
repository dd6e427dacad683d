"""The strip of figures below an animation: time, speed, and what is commanded as bars."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import ImageDraw

from diffbot_bringup.drive_report.controller_topics import TORQUE, Commanded
from diffbot_bringup.drive_report.scene import HUD, SMOOTHING, WIDTH, Scene, font

INK, QUIET = (43, 43, 43), (138, 145, 154)
PAPER, LINE = (255, 255, 255), (222, 226, 232)
TRACK = (236, 239, 243)
LEFT, RIGHT, LIMIT = (0, 114, 178), (213, 94, 0), (200, 40, 40)
BAR, BAR_HEIGHT = 150, 12  # px
# Share of the limit from which on a bar is at the limit.
FULL = 0.995


def signed(value: float) -> str:
    """A number with its sign and two decimals; what is shown as 0 is never minus 0."""
    return f"{round(float(value), 2) + 0.0:+.2f}".replace("-", "−")


class Hud:
    """Draws the figures of a frame.

    Args:
        scene: above the strip.
        title: what is driven.
        factor: robot time per time of the film.
        full: what full bars are, > 0.
        commanded: what the bars show.
    """

    def __init__(
        self,
        scene: Scene,
        title: str,
        factor: float,
        full: tuple[float, float],
        commanded: Commanded = TORQUE,
    ) -> None:
        self._top = scene.height
        self._title = title
        self._factor = "" if factor == 1.0 else f"  ×{factor:g}"
        self._full = full
        self._commanded = commanded

    def frame(self, draw: ImageDraw.ImageDraw) -> None:
        """What stays: the paper, the titles and the bars' tracks."""
        self._box(draw, (0, 0, WIDTH, HUD), PAPER)
        self._box(draw, (0, 0, WIDTH, 1), LINE)
        self._text(draw, (16, 20), self._title, QUIET, 11)
        for row, name in enumerate(self._commanded.names):
            y = 26 + 24 * row
            self._text(draw, (WIDTH - BAR - 78, y + BAR_HEIGHT - 2), name, QUIET, 11, anchor="rs")
            self._box(draw, (WIDTH - BAR - 70, y, WIDTH - 70, y + BAR_HEIGHT), TRACK)
        text = (
            self._commanded.what
            + ", full bar "
            + " and ".join(
                # Equal ones are said once.
                dict.fromkeys(
                    f"{full:.3g} {unit}"
                    for full, unit in zip(self._full, self._commanded.units, strict=True)
                )
            )
        )
        self._text(draw, (WIDTH - 70 - BAR // 2, 18), text, QUIET, 10, anchor="ms")

    def figures(
        self,
        draw: ImageDraw.ImageDraw,
        time: float,
        velocity: NDArray[np.float64],
        command: NDArray[np.float64],
    ) -> None:
        """What changes.

        Args:
            draw: on the large picture.
            time: since driving began, s.
            velocity: v, omega, m/s and rad/s.
            command: what the bars show, shape (2,).
        """
        self._text(draw, (16, 54), f"{time:.1f} s{self._factor}", INK, 20, bold=True)
        v, omega = velocity
        for row, text in enumerate((f"v {signed(v)} m/s", f"ω {signed(omega)} rad/s")):
            self._text(draw, (182, 46 + 20 * row), text, INK, 13)
        middle = WIDTH - 70 - BAR // 2
        for row, (value, colour) in enumerate(zip(command, (LEFT, RIGHT), strict=True)):
            y = 26 + 24 * row
            share = float(np.clip(value / self._full[row], -1.0, 1.0))
            if abs(share) >= FULL:
                colour = LIMIT
            ends = sorted((middle, middle + share * BAR / 2))
            self._box(draw, (ends[0], y, ends[1], y + BAR_HEIGHT), colour)
            self._box(draw, (middle - 0.5, y - 2, middle + 0.5, y + BAR_HEIGHT + 2), QUIET)
            place = (WIDTH - 16, y + BAR_HEIGHT - 1)
            self._text(draw, place, signed(value), INK, 12, anchor="rs")

    def _box(
        self,
        draw: ImageDraw.ImageDraw,
        box: tuple[float, float, float, float],
        colour: tuple[int, int, int],
    ) -> None:
        x, y, right, below = (SMOOTHING * value for value in box)
        top = SMOOTHING * self._top
        if right - x >= 1:
            draw.rectangle((x, y + top, right - 1, below + top - 1), fill=colour)

    def _text(
        self,
        draw: ImageDraw.ImageDraw,
        at: tuple[float, float],
        text: str,
        colour: tuple[int, int, int],
        size: int,
        bold: bool = False,
        anchor: str = "ls",
    ) -> None:
        place = (SMOOTHING * at[0], SMOOTHING * (at[1] + self._top))
        draw.text(place, text, colour, font(size, bold), anchor=anchor)
