# SPDX-License-Identifier: Apache-2.0
"""An animation of the robot on its path, drawn with Pillow, about 100 times faster than plots.

A frame shows the ground from above, with the robot, its trail and a ghost of its reference. Below
it, a strip shows time, speed and, as bars, the commands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from diffbot_description import Robot, write_atomically
from diffbot_description.dynamics import Array
from diffbot_report.controller_topics import TORQUE, Commanded
from diffbot_report.drive_recording import DriveRun
from diffbot_report.robot_silhouette import Polygon, RobotSilhouette, placed, rounded_box

Colour = tuple[int, int, int]

# Supersampling: everything is drawn this many times larger and then scaled down.
SMOOTHING = 2
WIDTH = 640  # width of a frame, px
LOWEST, HIGHEST = 300, 460  # minimum and maximum height of the ground, px
# Maximum length of the robot, px.
LARGEST_ROBOT = 150
GRID_SPACINGS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # m
STRIP = 76  # height of the strip of figures, px
BAR, BAR_HEIGHT = 150, 12  # length and height of a bar, px
# Fraction of the limit from which a bar counts as at the limit.
AT_LIMIT = 0.995
TREADS = 10  # treads around a wheel

RATE = 20  # frames per s
LONGEST = 8.0  # maximum length of the film, s
LAST_FRAME = 1.2  # s for which the last frame stays
# Minimum length of the film, s: shorter ones play in slow motion.
SHORTEST = 3.0
SLOW = (0.25, 0.5, 1.0)
FAST = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0)
# The film continues this long after the last motion, s of film.
REST_TIME = 0.6
# Thresholds of motion: distance (m) and angle (rad) from the final pose of robot or reference.
MOVED, TURNED = 2e-3, 1e-2
FADING = 30  # frames that a piece of the trail takes to fade
COLOURS = 128  # number of colours of the film
# Number of frames from which the colours are chosen.
PALETTE_FRAMES = 6

GROUND, GRID, GRID_TEXT = (248, 249, 251), (230, 234, 239), (168, 176, 186)
PAPER, LINE, TRACK = (255, 255, 255), (222, 226, 232), (236, 239, 243)
INK, QUIET = (43, 43, 43), (138, 145, 154)
FIRST_BAR, SECOND_BAR, LIMIT = (0, 114, 178), (213, 94, 0), (200, 40, 40)
TYRE, TREAD, SHADOW, GHOST = (52, 58, 66), (120, 128, 138), (222, 226, 232), (150, 160, 174)
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
REFERENCE = (214, 220, 228)
FRESH, FADED = (0, 114, 178), (178, 206, 226)  # colours of the trail


def write_animation(
    path: Path, run: DriveRun, robot: Robot, limits: tuple[float, float], title: str
) -> Path:
    """Write an animated GIF of at most 8 s; return its path.

    Args:
        path: Path of the file.
        run: A run with at least one known pose.
        robot: The robot, for its shape and colours.
        limits: Limits of the commands; 0 if unknown: a full bar is then the largest value.
        title: What was run.

    Raises:
        OSError: See write_atomically.
    """
    film = film_of(run)
    pictures = list(frames(run, film, robot, limits, title))
    palette = _palette(pictures)
    indexed = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    durations = [1000 // RATE] * len(indexed)
    durations[-1] = round(1000 * LAST_FRAME)
    return write_atomically(
        path,
        lambda partial: indexed[0].save(
            partial, format="GIF", save_all=True, append_images=indexed[1:], duration=durations,
            loop=0, optimize=False, disposal=1,
        ),
    )  # fmt: skip


def frames(
    run: DriveRun, film: Film, robot: Robot, limits: tuple[float, float], title: str
) -> Iterator[Image.Image]:
    """Yield the pictures of a film, RGB; arguments as in write_animation."""
    silhouette = RobotSilhouette.of(robot)
    shown = run.pose[run.known_poses, :2]
    wanted = run.reference[np.isfinite(run.reference).all(axis=1), :2]
    shape = robot.body.shape
    ground = GroundMap.around(
        np.concatenate([shown, wanted]), 1.25 * silhouette.reach, shape.front - shape.rear
    )
    painter = RobotPainter(robot, ground)
    strip = FigureStrip(ground, title, film.factor, _full_bars(run, limits), run.commanded)
    background = ground.picture()
    pen = ImageDraw.Draw(background)
    strip.draw_frame(pen)
    if len(wanted) > 1:
        _stroke(pen, ground.pixels(wanted), REFERENCE, ground.width(0.012, 3.0))
    angles = _wheel_angles(run, robot)
    trail = ground.pixels(run.pose[:, :2])
    thick = ground.width(0.008, 2.2)
    for number, at in enumerate(film.frames):
        # Pieces of the trail that have faded become part of the background.
        old = film.frames[max(number - FADING - 1, 0) : max(number - FADING, 0) + 1]
        if number > FADING:
            _stroke(pen, trail[old[0] : old[-1] + 1], FADED, thick)
        picture = background.copy()
        draw = ImageDraw.Draw(picture)
        recent = film.frames[max(number - FADING, 0) : number + 1]
        for age, (a, b) in enumerate(zip(recent[:-1], recent[1:], strict=True)):
            fraction = (len(recent) - 2 - age) / FADING
            _stroke(draw, trail[a : b + 1], blend(FRESH, FADED, fraction), thick)
        if np.isfinite(run.reference[at]).all():
            painter.draw_ghost(draw, run.reference[at])
        painter.draw_robot(draw, run.pose[at], angles[at])
        strip.draw_figures(draw, run.time[at], run.best_velocity[at], run.command[at])
        yield picture.reduce(SMOOTHING)


def _palette(pictures: list[Image.Image]) -> Image.Image:
    """Choose the colours for all frames from some of them."""
    chosen = [pictures[i] for i in np.linspace(0, len(pictures) - 1, PALETTE_FRAMES).astype(int)]
    width, height = chosen[0].size
    together = Image.new("RGB", (width, height * len(chosen)))
    for number, picture in enumerate(chosen):
        together.paste(picture, (0, number * height))
    return together.quantize(COLOURS, method=Image.Quantize.MEDIANCUT)


def _full_bars(run: DriveRun, limits: tuple[float, float]) -> tuple[float, float]:
    """Return the values of full bars; limits far above the peaks are not used as full bars."""
    peaks = np.abs(run.command).max(axis=0)
    if run.commanded is TORQUE:
        peaks[:] = peaks.max()
    first, second = (
        limit if 0.0 < limit <= 4.0 * peak else max(float(peak), 1e-3)
        for peak, limit in zip(peaks, limits, strict=True)
    )
    return first, second


def _stroke(draw: ImageDraw.ImageDraw, points: Array, colour: Colour, width: int) -> None:
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) > 1:
        draw.line([tuple(p) for p in points.tolist()], fill=colour, width=width, joint="curve")


def _wheel_angles(run: DriveRun, robot: Robot) -> Array:
    """Return the angles by which the wheels have turned, [left, right], rad, shape (n, 2)."""
    v, omega = np.nan_to_num(run.best_velocity).T
    steps = np.diff(run.time, prepend=run.time[:1])[:, None]
    speeds = np.column_stack(robot.geometry.wheel_velocity(v, omega))
    return np.asarray(np.cumsum(speeds * steps, axis=0))


@dataclass(frozen=True)
class Film:
    """The instants that a film shows.

    Attributes:
        factor: Robot time over time of the film.
        frames: Indices of the run's samples, one per frame.
    """

    factor: float
    frames: NDArray[np.intp]


def film_of(run: DriveRun) -> Film:
    """Choose a playback speed for at most 8 s of film; omit a long rest at the end.

    Args:
        run: A run with at least one known pose.
    """
    known = run.known_poses
    time = run.time[known]
    begin, end = float(time[0]), float(time[_last_motion(run, known)])
    span = max(end - begin, 0.1)
    factor = next((f for f in FAST if span / f + REST_TIME <= LONGEST), None)
    if factor is None:
        factor = float(np.ceil(span / (LONGEST - REST_TIME)))
    if factor == 1.0:
        factor = next(f for f in SLOW if f == 1.0 or span / f + REST_TIME >= SHORTEST)
        if span / factor + REST_TIME > LONGEST:
            factor = 1.0
    until = min(end + REST_TIME * factor, float(time[-1]))
    instants = np.arange(begin, until + 1e-9, factor / RATE)
    at = np.clip(np.searchsorted(time, instants - 1e-9), 0, len(time) - 1)
    return Film(factor, known[at])


def _last_motion(run: DriveRun, known: NDArray[np.intp]) -> int:
    """Index into `known` of the last sample at which the robot or its reference moves."""
    last = 0
    for poses in (run.pose[known], run.reference[known]):
        away = np.hypot(*(poses[:, :2] - poses[-1, :2]).T) > MOVED
        away |= np.abs(np.remainder(poses[:, 2] - poses[-1, 2] + np.pi, 2 * np.pi) - np.pi) > TURNED
        if away.any():
            last = max(last, int(np.flatnonzero(away)[-1]) + 1)
    return min(last, len(known) - 1)


@dataclass(frozen=True)
class GroundMap:
    """Mapping from the ground to pixels.

    Attributes:
        height: Height of the ground, px of the finished picture.
        scale: Pixels of the finished picture per m.
        centre: Point in the middle of the picture, m.
    """

    height: int
    scale: float
    centre: Array

    @classmethod
    def around(cls, points: Array, margin: float, robot_length: float) -> GroundMap:
        """Return a map that shows all points, shape (n, 2), m, with a margin, m."""
        low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
        size = np.maximum(high - low, 1e-3)
        height = int(np.clip(WIDTH * size[1] / size[0], LOWEST, HIGHEST))
        scale = min(WIDTH / size[0], height / size[1], LARGEST_ROBOT / robot_length)
        return cls(height, float(scale), 0.5 * (low + high))

    @property
    def size(self) -> tuple[int, int]:
        """Size of the finished picture including the strip, px."""
        return WIDTH, self.height + STRIP

    def pixels(self, points: Array) -> Array:
        """Return the pixels of points, shape (n, 2), m, in the supersampled picture."""
        offset = (points - self.centre) * (SMOOTHING * self.scale)
        middle = 0.5 * SMOOTHING * np.array([WIDTH, self.height])
        return np.asarray(middle + offset * np.array([1.0, -1.0]))

    def width(self, metres: float, least: float = 1.0) -> int:
        """Return a line width for the supersampled picture; at least `least` px when finished."""
        return max(1, round(SMOOTHING * max(metres * self.scale, least)))

    def picture(self) -> Image.Image:
        """Return the supersampled picture with its grid, labelled with distances."""
        width, height = (SMOOTHING * side for side in self.size)
        image = Image.new("RGB", (width, height), GROUND)
        draw = ImageDraw.Draw(image)
        spacing = next((s for s in GRID_SPACINGS if s * self.scale >= 55), GRID_SPACINGS[-1])
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
    """Return Matplotlib's font, for a uniform look; size in px of the finished picture."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name
    return ImageFont.truetype(str(path), SMOOTHING * size)


def blend(colour: Colour, other: Colour, fraction: float) -> Colour:
    """Mix a fraction (0 to 1) of the other colour into a colour."""
    red, green, blue = (round(a + fraction * (b - a)) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def colour_of(rgb: tuple[float, float, float]) -> Colour:
    """Convert a colour of a robot's description, 0 to 1, to bytes."""
    red, green, blue = (round(255 * part) for part in rgb)
    return red, green, blue


def signed(value: float) -> str:
    """Format a number with sign and two decimals, never as minus 0."""
    return f"{round(float(value), 2) + 0.0:+.2f}".replace("-", "−")


class FigureStrip:
    """Draws the strip below the ground: time, speed and the bars of the commands.

    Args:
        ground: Map of the ground above the strip.
        title: What was driven.
        factor: Robot time over time of the film.
        full: Values of full bars, > 0.
        commanded: What the bars show.
    """

    def __init__(
        self,
        ground: GroundMap,
        title: str,
        factor: float,
        full: tuple[float, float],
        commanded: Commanded = TORQUE,
    ) -> None:
        self._top = ground.height
        self._title = title
        self._factor = "" if factor == 1.0 else f"  ×{factor:g}"
        self._full = full
        self._commanded = commanded

    def draw_frame(self, draw: ImageDraw.ImageDraw) -> None:
        """Draw the static parts: the background, the titles and the bars' tracks."""
        self._box(draw, (0, 0, WIDTH, STRIP), PAPER)
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
                # Mention equal values once.
                dict.fromkeys(
                    f"{full:.3g} {unit}"
                    for full, unit in zip(self._full, self._commanded.units, strict=True)
                )
            )
        )
        self._text(draw, (WIDTH - 70 - BAR // 2, 18), text, QUIET, 10, anchor="ms")

    def draw_figures(
        self,
        draw: ImageDraw.ImageDraw,
        time: float,
        velocity: Array,
        command: Array,
    ) -> None:
        """Draw the parts that change.

        Args:
            draw: Canvas of the supersampled picture.
            time: Time since driving began, s.
            velocity: v, omega, m/s and rad/s.
            command: Values of the bars, shape (2,).
        """
        self._text(draw, (16, 54), f"{time:.1f} s{self._factor}", INK, 20, bold=True)
        v, omega = velocity
        for row, text in enumerate((f"v {signed(v)} m/s", f"ω {signed(omega)} rad/s")):
            self._text(draw, (182, 46 + 20 * row), text, INK, 13)
        middle = WIDTH - 70 - BAR // 2
        for row, (value, colour) in enumerate(zip(command, (FIRST_BAR, SECOND_BAR), strict=True)):
            y = 26 + 24 * row
            fraction = float(np.clip(value / self._full[row], -1.0, 1.0))
            if abs(fraction) >= AT_LIMIT:
                colour = LIMIT
            ends = sorted((middle, middle + fraction * BAR / 2))
            self._box(draw, (ends[0], y, ends[1], y + BAR_HEIGHT), colour)
            self._box(draw, (middle - 0.5, y - 2, middle + 0.5, y + BAR_HEIGHT + 2), QUIET)
            place = (WIDTH - 16, y + BAR_HEIGHT - 1)
            self._text(draw, place, signed(value), INK, 12, anchor="rs")

    def _box(
        self,
        draw: ImageDraw.ImageDraw,
        box: tuple[float, float, float, float],
        colour: Colour,
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
        colour: Colour,
        size: int,
        bold: bool = False,
        anchor: str = "ls",
    ) -> None:
        place = (SMOOTHING * at[0], SMOOTHING * (at[1] + self._top))
        draw.text(place, text, colour, font(size, bold), anchor=anchor)


class RobotPainter:
    """Draws a robot and the ghost of its reference.

    Args:
        robot: The robot, for its shape and colours.
        ground: Map of the ground to draw on.
    """

    def __init__(self, robot: Robot, ground: GroundMap) -> None:
        self._ground = ground
        self._silhouette = silhouette = RobotSilhouette.of(robot)
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
        self._centres = tuple(np.array([0.0, s * silhouette.half_track]) for s in (1.0, -1.0))

    def draw_ghost(self, draw: ImageDraw.ImageDraw, pose: Array) -> None:
        """Draw the reference as an empty outline at a pose."""
        width = self._ground.width(0.0, 1.3)
        for polygon in (self._silhouette.body, *self._silhouette.wheels):
            self._fill(draw, polygon, pose, None, GHOST, width)
        self._fill(draw, self._silhouette.nose, pose, blend(GHOST, GROUND, 0.45))

    def draw_robot(
        self,
        draw: ImageDraw.ImageDraw,
        pose: Array,
        angles: Array,
    ) -> None:
        """Draw the robot at a pose (m, m, rad), its wheels turned by angles [left, right], rad."""
        # The shadow falls in a fixed direction, whatever the robot's heading.
        below = pose + np.array([0.018, -0.018, 0.0])
        for polygon in (self._silhouette.body, *self._silhouette.wheels):
            self._fill(draw, polygon, below, SHADOW)
        for tyre, centre, angle in zip(self._silhouette.wheels, self._centres, angles, strict=True):
            self._fill(draw, tyre, pose, TYRE)
            self._treads(draw, centre, angle, pose)
        edge = blend(self._body, BLACK, 0.35)
        self._fill(
            draw, self._silhouette.body, pose, self._body, edge, self._ground.width(0.0, 1.2)
        )
        self._fill(draw, self._deck, pose, blend(self._body, WHITE, 0.22))
        self._fill(draw, self._silhouette.nose, pose, WHITE)
        for lamp in self._lamps:
            self._fill(draw, lamp, pose, self._accent)

    def _treads(
        self,
        draw: ImageDraw.ImageDraw,
        centre: Array,
        angle: float,
        pose: Array,
    ) -> None:
        """Draw bars across the visible upper half of a tyre, which move as it rolls."""
        turn = np.remainder(angle, 2.0 * np.pi / TREADS)
        for spoke in turn + np.arange(TREADS // 2 + 1) * 2.0 * np.pi / TREADS - 0.5 * np.pi:
            if abs(spoke) > 0.45 * np.pi:
                continue
            x = 0.96 * self._silhouette.radius * np.sin(spoke)
            bar = np.array([(x, 0.8 * self._tyre_half), (x, -0.8 * self._tyre_half)]) + centre
            points = self._ground.pixels(placed(bar, pose))
            draw.line([tuple(p) for p in points], fill=TREAD, width=self._ground.width(0.006, 0.8))

    def _fill(
        self,
        draw: ImageDraw.ImageDraw,
        polygon: Polygon,
        pose: Array,
        fill: Colour | None,
        silhouette: Colour | None = None,
        width: int = 1,
    ) -> None:
        points = self._ground.pixels(placed(polygon, pose)).ravel().tolist()
        draw.polygon(points, fill=fill, outline=silhouette, width=width)
