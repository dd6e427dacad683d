# SPDX-License-Identifier: Apache-2.0
"""Scans of a planar laser in rooms of straight walls, with people who walk, noise and dropouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffbot_recordings.laser_poses import LaserPoses, Scan
from diffbot_recordings.samples import RecordingError
from diffbot_recordings.sensor_readings import PoseReadings
from made_recordings.made_readings import MadeDrive

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MadeLaser:
    """A laser: s, rays a turn, field of view rad, m; mounting x m, y m, yaw rad in the robot.

    Attributes:
        scan_time: From the first ray to the last, s; 0: all at once, in a simulator.
        people: Number that walk through the room at 1 m/s, past the robot.
        scale: Measured over true range.
    """

    period: float = 0.1
    rays: int = 720
    view: float = math.tau
    noise: float = 0.01
    dropouts: float = 0.02
    range_max: float = 12.0
    scan_time: float = 0.08
    mounting: tuple[float, float, float] = (0.0, 0.0, 0.0)
    people: int = 0
    scale: float = 1.0


def room(rng: np.random.Generator, size: float = 8.0) -> Array:
    """Return the walls of a room around the origin with furniture, segments (n, 2, 2) in m."""
    width, depth = size * rng.uniform(0.9, 1.4, 2)
    walls = [_box(0.0, 0.0, width, depth, 0.0)]
    for _ in range(4):
        side = rng.integers(4)
        along = rng.uniform(-0.35, 0.35)
        x = (0.5 * width - 0.3) * (1 - 2 * (side // 2)) if side % 2 else along * width
        y = along * depth if side % 2 else (0.5 * depth - 0.3) * (1 - 2 * (side // 2))
        a, b = rng.uniform(0.2, 0.6, 2)
        walls.append(_box(x, y, a, b, rng.uniform(0.0, math.pi)))
    return np.concatenate(walls)


def corridor(width: float = 2.5) -> Array:
    """Return two endless walls."""
    half = 0.5 * width
    return np.array([[[-500.0, y], [500.0, y]] for y in (-half, half)])


def corridor_with_doors(rng: np.random.Generator) -> Array:
    """Return two walls with door frames of 2 to 15 cm; in every second one its end is in sight."""
    width, depth = rng.uniform(1.8, 3.0), rng.uniform(0.02, 0.15)
    walls = [corridor(width)]
    if rng.random() < 0.5:
        end = rng.uniform(6.0, 14.0)
        walls.append(np.array([[[end, -width], [end, width]]]))
    for side in (-0.5, 0.5):
        for place in np.cumsum(rng.uniform(2.0, 7.0, 20)) - 45.0:
            frame = rng.uniform(0.05, 1.0)
            walls.append(_box(float(place), side * width, frame, 2.0 * depth, 0.0))
    return np.concatenate(walls)


def _box(x: float, y: float, width: float, depth: float, yaw: float) -> Array:
    corners = 0.5 * np.array([(-width, -depth), (width, -depth), (width, depth), (-width, depth)])
    cos, sin = math.cos(yaw), math.sin(yaw)
    corners = corners @ np.array([[cos, sin], [-sin, cos]]) + (x, y)
    return np.stack((corners, np.roll(corners, -1, axis=0)), axis=1)


def scans(
    robot: Callable[[Array], Array],
    walls: Array,
    laser: MadeLaser,
    begin: float,
    end: float,
    rng: np.random.Generator,
) -> Iterator[Scan]:
    """Yield the scans of a drive; `robot` gives true poses (n, 3) at times, s."""
    count = laser.rays
    increment = laser.view / count
    first = -0.5 * laser.view
    angles = first + increment * np.arange(count)
    between = laser.scan_time / count
    x, y, yaw = laser.mounting
    starts = rng.uniform(-2.5, 2.5, (laser.people, 2))
    courses = rng.uniform(-math.pi, math.pi, laser.people)
    for stamp in np.arange(begin, end - laser.scan_time, laser.period):
        poses = robot(stamp + between * np.arange(count))
        cos, sin = np.cos(poses[:, 2]), np.sin(poses[:, 2])
        origins = poses[:, :2] + np.column_stack((cos * x - sin * y, sin * x + cos * y))
        seen = walls
        for start, course in zip(starts, courses, strict=True):
            walked = (stamp - begin) * np.array((math.cos(course), math.sin(course)))
            place = (start + walked + 3.0) % 6.0 - 3.0
            if math.dist(place, origins[0]) > 0.6:
                seen = np.concatenate(
                    (seen, _box(float(place[0]), float(place[1]), 0.4, 0.3, course))
                )
        ranges = laser.scale * _cast(origins, poses[:, 2] + yaw + angles, seen)
        ranges += rng.normal(0.0, laser.noise, count)
        ranges[(rng.random(count) < laser.dropouts) | (ranges > laser.range_max)] = math.inf
        yield Scan(float(stamp), ranges, first, increment, 0.05, laser.range_max, between)


def laser_poses(
    drive: MadeDrive, walls: Array, laser: MadeLaser, rng: np.random.Generator
) -> PoseReadings:
    """Return the poses that the scans of a drive give. Raises RecordingError if too few do."""
    result = LaserPoses()
    stamps = drive.wheels.stamps
    for scan in scans(drive.truth.poses, walls, laser, stamps[0], stamps[-1] - 0.2, rng):
        result.add(scan)
    if refusal := result.refusal():
        raise RecordingError(refusal)
    return PoseReadings(*np.array(result.rows).T)


def _cast(origins: Array, angles: Array, walls: Array) -> Array:
    """Return the distance of the nearest wall along each ray, m; inf: none."""
    direction = np.column_stack((np.cos(angles), np.sin(angles)))
    along = walls[:, 1] - walls[:, 0]
    offset = walls[None, :, 0] - origins[:, None]
    cross = direction[:, None, 0] * along[None, :, 1] - direction[:, None, 1] * along[None, :, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (offset[..., 0] * along[:, 1] - offset[..., 1] * along[:, 0]) / cross
        part = offset[..., 0] * direction[:, None, 1] - offset[..., 1] * direction[:, None, 0]
        part /= cross
    hit = (distance > 0.0) & (part >= 0.0) & (part <= 1.0)
    return np.asarray(np.where(hit, distance, math.inf).min(axis=1))
