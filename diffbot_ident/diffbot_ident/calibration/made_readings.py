# SPDX-License-Identifier: Apache-2.0
"""Readings of robots that never were, with a truth to compare: for tests, benchmarks and pictures.

The wheels roll along exact arcs, plus white noise of their paths; encoders count steps; a gyro has
bias, walk, noise, scale and delay; a pose source has noise, delay, a mounting, a frame of its own,
outliers and jumps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.calibration.readings import Array, GyroReadings, PoseReadings, WheelTurns
from diffbot_ident.calibration.wheel_path import WheelPath

PERIOD = 0.01
"""Between readings of the wheels, s."""
# Time over which a leg speeds up and slows down, s.
RAMP = 0.4

Leg = tuple[float, float, float]
"""Forward speed m/s, yaw rate rad/s, and how long, s, without the ramps' share."""


@dataclass(frozen=True)
class MadeGyro:
    """A gyro; 0 is a perfect one.

    Attributes:
        bias: rad/s.
        bias_walk: variance of the bias per time, (rad/s)^2/s.
        noise: standard deviation of a reading, rad/s.
        scale: what it shows over what is.
        delay: of its stamps, s.
    """

    bias: float = 0.01
    bias_walk: float = 1e-9
    noise: float = 0.005
    scale: float = 1.0
    delay: float = 0.01


@dataclass(frozen=True)
class MadePoses:
    """A pose source.

    Attributes:
        period: between poses, s.
        position: standard deviation of x and y, m.
        yaw: of the heading, rad.
        delay: of its stamps, s.
        mounting: (x m, y m, yaw rad) of the sensor on the robot.
        frame: (x m, y m, yaw rad) of the robot's start in its frame.
        outliers: share of poses that are anywhere within 2 m and any heading.
        jumps: times, s, at which its frame moves by 0.1 to 0.3 m for good.
    """

    period: float = 0.05
    position: float = 0.01
    yaw: float = math.radians(0.5)
    delay: float = 0.06
    mounting: tuple[float, float, float] = (0.12, -0.05, 0.3)
    frame: tuple[float, float, float] = (3.0, -1.0, 2.0)
    outliers: float = 0.02
    jumps: Sequence[float] = ()


@dataclass(frozen=True)
class MadeDrive:
    """What a simulated robot has read, and where it was.

    Attributes:
        wheels: as its encoders say.
        truth: where the robot was: wheels as they rolled, slip included.
        geometry: true radii and track.
    """

    wheels: WheelTurns
    truth: WheelPath
    geometry: WheelGeometry

    def gyro(self, sensor: MadeGyro, rng: np.random.Generator) -> GyroReadings:
        """What a gyro says, at the wheels' rate."""
        stamps = self.wheels.stamps
        half = 0.5 * PERIOD
        taken = stamps - sensor.delay
        rate = (self.truth.headings(taken + half) - self.truth.headings(taken - half)) / PERIOD
        steps = rng.normal(0.0, math.sqrt(sensor.bias_walk * PERIOD), len(stamps))
        noise = rng.normal(0.0, sensor.noise, len(stamps))
        return GyroReadings(stamps, sensor.scale * rate + sensor.bias + np.cumsum(steps) + noise)

    def poses(self, sensor: MadePoses, rng: np.random.Generator) -> PoseReadings:
        """What a pose source says."""
        stamps = np.arange(
            self.wheels.stamps[0] + sensor.delay + 0.013, self.wheels.stamps[-1], sensor.period
        )
        robot = self.truth.poses(stamps - sensor.delay)
        place = robot[:, 0] + 1j * robot[:, 1]
        place = place + complex(*sensor.mounting[:2]) * np.exp(1j * robot[:, 2])
        place = complex(*sensor.frame[:2]) + place * np.exp(1j * sensor.frame[2])
        for at in sensor.jumps:
            size, way = rng.uniform(0.1, 0.3), rng.uniform(-math.pi, math.pi)
            place[stamps > at] += size * np.exp(1j * way)
        count = len(stamps)
        place = place + rng.normal(0.0, sensor.position, (count, 2)) @ np.array([1.0, 1j])
        yaw = robot[:, 2] + sensor.frame[2] + sensor.mounting[2] + rng.normal(0, sensor.yaw, count)
        wrong = rng.random(count) < sensor.outliers
        place[wrong] += rng.uniform(-2.0, 2.0, (int(wrong.sum()), 2)) @ np.array([1.0, 1j])
        yaw[wrong] = rng.uniform(-math.pi, math.pi, int(wrong.sum()))
        yaw = (yaw + math.pi) % (2.0 * math.pi) - math.pi
        return PoseReadings(stamps, place.real, place.imag, yaw)


def simulated_drive(
    geometry: WheelGeometry,
    legs: Sequence[Leg],
    rng: np.random.Generator,
    path_noise: float = 0.0,
    counts: int = 4096,
) -> MadeDrive:
    """Drive legs one after another, each with a ramp up and a ramp down.

    Args:
        geometry: true radii and track.
        legs: what the body does; see Leg.
        rng: of slip.
        path_noise: variance of a wheel's path per path, m^2/m.
        counts: of the encoders, per turn of a wheel; 0: perfect.
    """
    v, omega = _speeds(legs)
    left, right = geometry.wheel_velocity(v, omega)  # type: ignore[arg-type]
    turned: list[Array] = [
        np.concatenate(([0.0], np.cumsum(speed * PERIOD))) for speed in (left, right)
    ]
    stamps: Array = np.asarray(100.0 + PERIOD * np.arange(len(turned[0])), dtype=np.float64)
    rolled: list[Array] = []
    for angle, radius in zip(turned, (geometry.left_radius, geometry.right_radius), strict=True):
        way = np.diff(angle) * radius
        noise = rng.normal(0.0, 1.0, len(way)) * np.sqrt(path_noise * np.abs(way))
        rolled.append(np.concatenate(([0.0], np.cumsum(way + noise))) / radius)
    truth = WheelPath(WheelTurns(stamps, *rolled), geometry)
    if counts:
        step = 2.0 * math.pi / counts
        turned = [step * np.floor(angle / step) for angle in turned]
    return MadeDrive(WheelTurns(stamps, *turned), truth, geometry)


def _speeds(legs: Sequence[Leg]) -> tuple[Array, Array]:
    ramp = np.arange(0.5, RAMP / PERIOD) * PERIOD / RAMP
    v, omega = [], []
    for forward, turn, time in legs:
        shape = np.concatenate((ramp, np.ones(max(1, round(time / PERIOD))), ramp[::-1]))
        v.append(forward * shape)
        omega.append(turn * shape)
    return np.concatenate(v), np.concatenate(omega)


def calibration_legs(duration: float = 60.0, speed: float = 0.5, rate: float = 1.5) -> list[Leg]:
    """Legs inside 4 m x 4 m that tell all: straight ones, turns on the spot, circles both ways.

    Args:
        duration: about how long, s.
        speed: m/s, on straight legs and circles.
        rate: rad/s, on the spot.
    """
    straight, half = (speed, 0.0, 2.4 / speed - RAMP), math.pi / rate - RAMP
    radius = 0.6
    whole = 2.0 * math.pi * radius / speed - RAMP
    unit: list[Leg] = [
        straight,
        (0.0, rate, half),
        straight,
        (0.0, -rate, half),
        (speed, speed / radius, whole),
        (speed, -speed / radius, whole),
        straight,
        (0.0, -rate, half),
        straight,
        (0.0, rate, half),
    ]
    legs: list[Leg] = []
    while (done := sum(leg[2] + 2.0 * RAMP for leg in legs)) < duration:
        legs.append(unit[len(legs) % len(unit)])
        if done + legs[-1][2] > duration + 2.0:
            break
    return legs
