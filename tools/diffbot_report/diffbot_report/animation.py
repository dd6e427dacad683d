# SPDX-License-Identifier: Apache-2.0
"""An animation of the robot on its path, with a ghost of its reference, speed and commands.

Only what has changed is drawn: Matplotlib's writers, which redraw everything, take four times as
long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from numpy.typing import NDArray
from PIL import Image

from diffbot_description import Robot, write_atomically
from diffbot_description.dynamics import Array
from diffbot_report import figure_style as style
from diffbot_report.controller_topics import TORQUE, Commanded
from diffbot_report.drive_recording import DriveRun
from diffbot_report.robot_silhouette import RobotSilhouette, placed, rounded_box

WIDTH = 640  # width of a frame, px; a point of the figure is a pixel
LOWEST, HIGHEST = 300, 460  # least and largest height of the ground, px
LARGEST_ROBOT = 150  # largest length of the robot, px
GRID_SPACINGS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # m
STRIP = 76  # height of the strip of figures, px
BAR, BAR_HEIGHT = 150, 12  # length and height of a bar, px
BAR_BEGIN, BAR_MIDDLE = WIDTH - 70 - BAR, WIDTH - 70 - BAR // 2  # px
# Fraction of a limit that counts as it.
AT_LIMIT = 0.995
TREADS = 10  # treads around a wheel

RATE = 20  # frames per s
LONGEST = 8.0  # longest film, s
LAST_FRAME = 1.2  # s for which the last frame stays
SHORTEST = 3.0  # shortest film, s: shorter ones play in slow motion
SLOW = (0.25, 0.5, 1.0)
FAST = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0)
# Time that the film goes on after the last motion, s.
REST_TIME = 0.6
# Distance from the final pose that counts as motion, m and rad.
MOVED, TURNED = 2e-3, 1e-2
FADING = 30  # frames that a piece of the trail takes to fade
COLOURS = 128  # number of colours of the film
PALETTE_FRAMES = 6  # frames from which they are chosen

GROUND, GRID, GRID_TEXT = "#F8F9FB", "#E6EAEF", "#A8B0BA"
LINE, TRACK, LIMIT = "#DEE2E8", "#ECEFF3", "#C82828"
TYRE, TREAD, SHADOW, GHOST, REFERENCE = "#343A42", "#78808A", "#DEE2E8", "#96A0AE", "#D6DCE4"
GHOST_NOSE = "#C2C8D1"
TRAIL = LinearSegmentedColormap.from_list("trail", ["#B2CEE2", style.BLUE])  # faded to fresh


def write_animation(
    path: Path, run: DriveRun, robot: Robot, limits: tuple[float, float], title: str
) -> Path:
    """Write an animated GIF of at most 8 s; return its path.

    `run` has at least one known pose; unknown `limits` of the commands are 0.
    """
    pictures = list(frames(run, film_of(run), robot, limits, title))
    chosen = np.linspace(0, len(pictures) - 1, PALETTE_FRAMES).astype(int)
    together = Image.fromarray(np.concatenate([np.asarray(pictures[i]) for i in chosen]))
    palette = together.quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    indexed = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    durations = [1000 // RATE] * (len(indexed) - 1) + [round(1000 * LAST_FRAME)]
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
    figure, ground, strip = _canvas(run, robot)
    wanted = run.reference[np.isfinite(run.reference).all(axis=1), :2]
    ground.plot(*wanted.T, color=REFERENCE, linewidth=_width(ground, 0.012, 3.0), zorder=1)
    trail = _Trail(ground, run.pose[:, :2])
    figures = _Figures(strip, title, film.factor, _full_bars(run, limits), run.commanded)
    drawn = _Robot(ground, robot)
    changing = [*trail.artists, *drawn.artists, *figures.artists]
    for artist in changing:
        artist.set_animated(True)
    canvas: Any = FigureCanvasAgg(figure)  # untyped in Matplotlib
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    angles = _wheel_angles(run, robot)
    for number, at in enumerate(film.frames):
        trail.show(film.frames[: number + 1])
        drawn.show(run.pose[at], run.reference[at], angles[at])
        figures.show(run.time[at], run.best_velocity[at], run.command[at])
        canvas.restore_region(background)
        for artist in changing:
            figure.draw_artist(artist)
        yield Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())


def _full_bars(run: DriveRun, limits: tuple[float, float]) -> tuple[float, float]:
    """Return the values of full bars, by limits that are not far above the peaks."""
    peaks = np.abs(run.command).max(axis=0)
    if run.commanded is TORQUE:
        peaks[:] = peaks.max()
    first, second = (
        limit if 0.0 < limit <= 4.0 * peak else max(float(peak), 1e-3)
        for peak, limit in zip(peaks, limits, strict=True)
    )
    return first, second


def _wheel_angles(run: DriveRun, robot: Robot) -> Array:
    """Return the angles by which the wheels have turned, [left, right], rad, shape (n, 2)."""
    v, omega = np.nan_to_num(run.best_velocity).T
    steps = np.diff(run.time, prepend=run.time[:1])[:, None]
    speeds = np.column_stack(robot.geometry.wheel_velocity(v, omega))
    return np.asarray(np.cumsum(speeds * steps, axis=0))


@dataclass(frozen=True)
class Film:
    """The samples that a film shows, and robot time over time of the film."""

    factor: float
    frames: NDArray[np.intp]


def film_of(run: DriveRun) -> Film:
    """Choose a speed for at most 8 s of film; omit a long rest at the end."""
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
    """Index into `known` of the last sample with motion."""
    last = 0
    for poses in (run.pose[known], run.reference[known]):
        away = np.hypot(*(poses[:, :2] - poses[-1, :2]).T) > MOVED
        away |= np.abs(np.remainder(poses[:, 2] - poses[-1, 2] + np.pi, 2 * np.pi) - np.pi) > TURNED
        if away.any():
            last = max(last, int(np.flatnonzero(away)[-1]) + 1)
    return min(last, len(known) - 1)


def _canvas(run: DriveRun, robot: Robot) -> tuple[Figure, Axes, Axes]:
    """Return a figure with the ground, in m, and the strip, in px from above."""
    shape = robot.body.shape
    points = np.concatenate([run.pose[:, :2], run.reference[:, :2]])
    margin = 1.25 * RobotSilhouette.of(robot).reach
    low, high = np.nanmin(points, axis=0) - margin, np.nanmax(points, axis=0) + margin
    size, middle = np.maximum(high - low, 1e-3), 0.5 * (low + high)
    height = int(np.clip(WIDTH * size[1] / size[0], LOWEST, HIGHEST))
    scale = min(WIDTH / size[0], height / size[1], LARGEST_ROBOT / (shape.front - shape.rear))
    half = 0.5 * np.array([WIDTH, height]) / scale
    whole = height + STRIP
    figure = Figure(figsize=(WIDTH / 72, whole / 72), dpi=72, facecolor="white")
    ground = figure.add_axes((0.0, STRIP / whole, 1.0, height / whole), facecolor=GROUND)
    ground.set(xlim=middle[0] + half[:1] * [-1, 1], ylim=middle[1] + half[1:] * [-1, 1])
    spacing = next((s for s in GRID_SPACINGS if s * scale >= 55), GRID_SPACINGS[-1])
    for axis, (begin, end) in (
        (ground.xaxis, ground.get_xlim()),
        (ground.yaxis, ground.get_ylim()),
    ):
        ticks = spacing * np.arange(np.ceil(begin / spacing), np.floor(end / spacing) + 1)
        axis.set_ticks(ticks, [_metres(tick) for tick in ticks])
    ground.grid(color=GRID, linewidth=1.0)
    ground.set_axisbelow(True)
    ground.spines[:].set_visible(False)
    ground.tick_params(length=0, labelsize=9, labelcolor=GRID_TEXT)
    ground.tick_params(axis="x", pad=-2)
    ground.tick_params(axis="y", pad=-4)
    for label in (*ground.get_xticklabels(), *ground.get_yticklabels()):
        label.set(ha="left", va="bottom")
    strip = figure.add_axes((0.0, 0.0, 1.0, STRIP / whole), xlim=(0, WIDTH), ylim=(STRIP, 0))
    strip.set_axis_off()
    return figure, ground, strip


def _metres(value: float) -> str:
    return f" {round(value, 3) + 0.0:g} m".replace("-", "−")


def _width(ground: Axes, metres: float, least: float) -> float:
    low, high = ground.get_xlim()
    return float(max(metres * WIDTH / (high - low), least))


def signed(value: float) -> str:
    """Format a number with sign and two decimals, never as minus 0."""
    return f"{round(float(value), 2) + 0.0:+.2f}".replace("-", "−")


class _Trail:
    def __init__(self, ground: Axes, places: Array) -> None:
        width = _width(ground, 0.008, 2.2)
        self._places = places
        (self._faded,) = ground.plot([], [], color=TRAIL(0.0), linewidth=width, zorder=2)
        self._recent = LineCollection([], linewidths=width, zorder=3, capstyle="round")
        ground.add_collection(self._recent, autolim=False)
        self.artists: Sequence[Artist] = (self._faded, self._recent)

    def show(self, frames: NDArray[np.intp]) -> None:
        recent = frames[-FADING - 1 :]
        self._faded.set_data(*self._places[: recent[0] + 1].T)
        pieces = [self._places[a : b + 1] for a, b in zip(recent[:-1], recent[1:], strict=True)]
        self._recent.set_segments(pieces)
        ages = range(len(pieces) - 1, -1, -1)
        self._recent.set_color([TRAIL(1.0 - age / FADING) for age in ages])


class _Figures:
    def __init__(
        self, strip: Axes, title: str, factor: float, full: tuple[float, float], what: Commanded
    ) -> None:
        self._strip, self._full = strip, full
        self._factor = "" if factor == 1.0 else f"  ×{factor:g}"
        strip.axhline(0.5, color=LINE, linewidth=1.0)
        self._text(16, 20, 11, style.QUIET).set_text(title)
        values = dict.fromkeys(f"{f:.3g} {u}" for f, u in zip(full, what.units, strict=True))
        text = f"{what.what}, full bar {' and '.join(values)}"
        self._text(BAR_MIDDLE, 18, 10, style.QUIET, ha="center").set_text(text)
        self._time = self._text(16, 54, 20, fontweight="bold")
        self._speeds = [self._text(182, 46, 13), self._text(182, 66, 13)]
        self._bars, self._values, middles = [], [], []
        for row, (name, colour) in enumerate(
            zip(what.names, (style.BLUE, style.ORANGE), strict=True)
        ):
            y = 26 + 24 * row
            self._text(BAR_BEGIN - 8, y + 10, 11, style.QUIET, ha="right").set_text(name)
            self._box(BAR_BEGIN, y, BAR, BAR_HEIGHT, TRACK)
            self._bars.append((self._box(BAR_MIDDLE, y, 0, BAR_HEIGHT, colour), colour))
            middles.append(self._box(BAR_MIDDLE - 0.5, y - 2, 1, BAR_HEIGHT + 4, style.QUIET))
            self._values.append(self._text(WIDTH - 16, y + 11, 12, ha="right"))
        bars = [bar for bar, _ in self._bars]
        self.artists: Sequence[Artist] = (
            self._time, *self._speeds, *bars, *middles, *self._values
        )  # fmt: skip

    def _text(self, x: float, y: float, size: int, colour: str = style.INK, **how: Any) -> Text:
        return self._strip.text(x, y, "", size=size, color=colour, **how)

    def _box(self, x: float, y: float, width: float, height: float, colour: str) -> Rectangle:
        box = Rectangle((x, y), width, height, facecolor=colour, linewidth=0)
        self._strip.add_patch(box)
        return box

    def show(self, time: float, velocity: Array, command: Array) -> None:
        self._time.set_text(f"{time:.1f} s{self._factor}")
        for text, name, speed, unit in zip(
            self._speeds, "vω", velocity, ("m/s", "rad/s"), strict=True
        ):
            text.set_text(f"{name} {signed(speed)} {unit}")
        rows = zip(self._bars, self._values, command, self._full, strict=True)
        for (bar, colour), text, value, full in rows:
            fraction = float(np.clip(value / full, -1.0, 1.0))
            bar.set(width=0.5 * BAR * fraction)
            bar.set_facecolor(LIMIT if abs(fraction) >= AT_LIMIT else colour)
            text.set_text(signed(value))


class _Robot:
    def __init__(self, ground: Axes, robot: Robot) -> None:
        silhouette, shape = RobotSilhouette.of(robot), robot.body.shape
        length, half = shape.front - shape.rear, 0.5 * shape.width
        hull, tyres, nose = silhouette.body, silhouette.wheels, silhouette.nose
        deck = rounded_box(
            shape.rear + 0.13 * length, shape.front - 0.42 * length, 0.72 * half, 0.25
        )
        lamp = rounded_box(-0.02 * length, 0.03 * length, 0.13 * shape.width, 0.45)
        lamp += np.array([shape.front - 0.03 * length, 0.0])
        side = np.array([0.0, 0.58 * half])
        accent, colour = robot.appearance.accent, np.array(robot.appearance.body)
        light, dark = 1.0 - 0.78 * (1.0 - colour), 0.65 * colour
        self._lower = (hull, *tyres)  # shadow and ghost
        self._tyres, self._nose = tyres, nose
        self._upper = (hull, deck, nose, lamp + side, lamp - side)
        self._radius, self._tyre_half = silhouette.radius, 0.5 * robot.wheels.width
        self._tracks = (silhouette.half_track, -silhouette.half_track)
        self._ghost = PolyCollection(
            [], facecolors=[*["none"] * 3, GHOST_NOSE], edgecolors=GHOST,
            linewidths=[1.3, 1.3, 1.3, 0.0], zorder=4,
        )  # fmt: skip
        self._below = PolyCollection([], facecolors=[*[SHADOW] * 3, TYRE, TYRE], lw=0, zorder=5)
        width = _width(ground, 0.006, 0.8)
        self._treads = LineCollection([], colors=TREAD, linewidths=width, zorder=6)
        self._above = PolyCollection(
            [], facecolors=[colour, light, "white", accent, accent], edgecolors=dark,
            linewidths=[1.2, 0.0, 0.0, 0.0, 0.0], zorder=7,
        )  # fmt: skip
        self.artists = (self._ghost, self._below, self._treads, self._above)
        for artist in self.artists:
            ground.add_collection(artist, autolim=False)

    def show(self, pose: Array, reference: Array, angles: Array) -> None:
        """Show the robot and its reference at poses, m, m, rad; wheel angles [left, right], rad."""
        known = bool(np.isfinite(reference).all())
        ghost = (*self._lower, self._nose) if known else ()
        self._ghost.set_verts([placed(shape, reference) for shape in ghost])
        shadow = pose + np.array([0.018, -0.018, 0.0])
        self._below.set_verts(
            [placed(shape, shadow) for shape in self._lower]
            + [placed(shape, pose) for shape in self._tyres]
        )
        treads = [
            tread
            for track, angle in zip(self._tracks, angles, strict=True)
            for tread in self._treads_of(track, angle)
        ]
        self._treads.set_segments([placed(tread, pose) for tread in treads])
        self._above.set_verts([placed(shape, pose) for shape in self._upper])

    def _treads_of(self, track: float, angle: float) -> Iterator[Array]:
        """Yield the treads on the upper half of a tyre, which move as it rolls."""
        turn = np.remainder(angle, 2.0 * np.pi / TREADS)
        for spoke in turn + np.arange(TREADS // 2 + 1) * 2.0 * np.pi / TREADS - 0.5 * np.pi:
            if abs(spoke) <= 0.45 * np.pi:
                x, y = 0.96 * self._radius * np.sin(spoke), 0.8 * self._tyre_half
                yield np.array([(x, track + y), (x, track - y)])
