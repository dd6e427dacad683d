"""An animation of the robot on its path, drawn with Pillow: some hundred times as fast as plots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from diffbot_bringup.drive_report.controller_topics import TORQUE
from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.hud import Hud
from diffbot_bringup.drive_report.playback import LAST_FRAME, RATE, Playback, playback
from diffbot_bringup.drive_report.robot_outline import RobotOutline
from diffbot_bringup.drive_report.robot_sprite import RobotSprite
from diffbot_bringup.drive_report.scene import SMOOTHING, Scene, blend
from diffbot_description import Robot, write_atomically

REFERENCE = (214, 220, 228)
FRESH, FADED = (0, 114, 178), (178, 206, 226)
FADING = 30  # frames that a piece of the trail takes to fade
COLOURS = 128
# Frames that the colours are taken from.
SAMPLES = 6


def write_movie(
    path: Path, run: DriveRun, robot: Robot, limits: tuple[float, float], title: str
) -> Path:
    """Write an animated GIF of at most 8 s; returns its path.

    Args:
        path: of the file.
        run: with at least one known pose.
        robot: its shape and colours.
        limits: of what is commanded; 0 where unknown: the bars then go to the largest value.
        title: what was run.

    Raises:
        OSError: see write_atomically.
    """
    film = playback(run)
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
    run: DriveRun, film: Playback, robot: Robot, limits: tuple[float, float], title: str
) -> Iterator[Image.Image]:
    """Pictures of a film, RGB, one after the other; arguments as above."""
    outline = RobotOutline.of(robot)
    shown = run.pose[run.known_poses, :2]
    wanted = run.reference[np.isfinite(run.reference).all(axis=1), :2]
    shape = robot.body.shape
    scene = Scene.around(
        np.concatenate([shown, wanted]), 1.25 * outline.reach, shape.front - shape.rear
    )
    sprite = RobotSprite(robot, scene)
    hud = Hud(scene, title, film.factor, _full_bars(run, limits), run.commanded)
    ground = scene.ground()
    pen = ImageDraw.Draw(ground)
    hud.frame(pen)
    if len(wanted) > 1:
        pen.line(
            _points(scene, wanted), fill=REFERENCE, width=scene.width(0.012, 3.0), joint="curve"
        )
    angles = _wheel_angles(run, outline)
    trail = scene.pixels(run.pose[:, :2])
    thick = scene.width(0.008, 2.2)
    for number, at in enumerate(film.frames):
        # What has faded becomes part of the ground.
        old = film.frames[max(number - FADING - 1, 0) : max(number - FADING, 0) + 1]
        if number > FADING:
            _stroke(pen, trail[old[0] : old[-1] + 1], FADED, thick)
        picture = ground.copy()
        draw = ImageDraw.Draw(picture)
        recent = film.frames[max(number - FADING, 0) : number + 1]
        for age, (a, b) in enumerate(zip(recent[:-1], recent[1:], strict=True)):
            share = (len(recent) - 2 - age) / FADING
            _stroke(draw, trail[a : b + 1], blend(FRESH, FADED, share), thick)
        if np.isfinite(run.reference[at]).all():
            sprite.ghost(draw, run.reference[at])
        sprite.robot(draw, run.pose[at], angles[at])
        hud.figures(draw, run.time[at], run.best_velocity[at], run.command[at])
        yield picture.reduce(SMOOTHING)


def _full_bars(run: DriveRun, limits: tuple[float, float]) -> tuple[float, float]:
    """What full bars are; a limit far above what was needed would leave them empty."""
    peaks = np.abs(run.command).max(axis=0)
    if run.commanded is TORQUE:
        peaks[:] = peaks.max()
    first, second = (
        limit if 0.0 < limit <= 4.0 * peak else max(float(peak), 1e-3)
        for peak, limit in zip(peaks, limits, strict=True)
    )
    return first, second


def _points(scene: Scene, metres: np.ndarray) -> list[tuple[float, float]]:
    return [tuple(point) for point in scene.pixels(metres).tolist()]


def _stroke(
    draw: ImageDraw.ImageDraw, points: np.ndarray, colour: tuple[int, int, int], width: int
) -> None:
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) > 1:
        draw.line([tuple(p) for p in points.tolist()], fill=colour, width=width, joint="curve")


def _wheel_angles(run: DriveRun, outline: RobotOutline) -> np.ndarray:
    """Angles by which the wheels have turned, [left, right], rad, shape (n, 2)."""
    velocity = np.nan_to_num(run.best_velocity)
    speeds = velocity[:, :1] + velocity[:, 1:] * outline.half_track * np.array([[-1.0, 1.0]])
    steps = np.diff(run.time, prepend=run.time[:1])[:, None]
    return np.cumsum(speeds * steps, axis=0) / outline.radius


def _palette(pictures: list[Image.Image]) -> Image.Image:
    """Colours for all frames, from some of them."""
    chosen = [pictures[i] for i in np.linspace(0, len(pictures) - 1, SAMPLES).astype(int)]
    width, height = chosen[0].size
    together = Image.new("RGB", (width, height * len(chosen)))
    for number, picture in enumerate(chosen):
        together.paste(picture, (0, number * height))
    return together.quantize(COLOURS, method=Image.Quantize.MEDIANCUT)
