# SPDX-License-Identifier: Apache-2.0
"""Simulated readings with known truth, for tests, benchmarks and pictures.

The wheels roll along exact arcs, plus white noise on their paths. Encoders count steps. A gyro has
bias, bias walk, noise, scale and delay. A pose source has noise, delay, a mounting, a frame of its
own, outliers and jumps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_recordings.sensor_readings import (
    Array,
    GyroReadings,
    PoseReadings,
    WheelPath,
    WheelTurns,
)

PERIOD = 0.01
"""Time between readings of the wheels, s."""
# Duration of each ramp at the begin and the end of a leg, s.
RAMP = 0.4

Leg = tuple[float, float, float]
"""Forward speed m/s, yaw rate rad/s, and duration s without the ramps."""


@dataclass(frozen=True)
class MadeGyro:
    """Properties of a simulated gyro.

    Attributes:
        bias: Initial bias, rad/s.
        bias_walk: Variance of the bias per time, (rad/s)^2/s.
        noise: Standard deviation of a reading, rad/s.
        scale: Ratio of measured to true rate.
        delay: Delay of its stamps, s.
    """

    bias: float = 0.01
    bias_walk: float = 1e-9
    noise: float = 0.005
    scale: float = 1.0
    delay: float = 0.01


@dataclass(frozen=True)
class MadePoses:
    """Properties of a simulated pose source.

    Attributes:
        period: Time between poses, s.
        position: Standard deviation of x and y, m.
        yaw: Standard deviation of the heading, rad.
        delay: Delay of its stamps, s.
        mounting: Pose of the sensor on the robot, (x m, y m, yaw rad).
        frame: Pose of the robot's start in the source's frame, (x m, y m, yaw rad).
        outliers: Share of outliers, which are anywhere within 2 m and have any heading.
        jumps: Times, s, at which the frame moves by 0.1 to 0.3 m for good.
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
    """Wheel readings of a simulated robot, and its true path.

    Attributes:
        wheels: Turns of the wheels as the encoders measure them.
        truth: True path of the robot, slip included.
        geometry: True radii and track.
    """

    wheels: WheelTurns
    truth: WheelPath
    geometry: WheelGeometry

    def gyro(self, sensor: MadeGyro, rng: np.random.Generator) -> GyroReadings:
        """Return simulated readings of a gyro, at the stamps of the wheels."""
        stamps = self.wheels.stamps
        half = 0.5 * PERIOD
        taken = stamps - sensor.delay
        rate = (self.truth.headings(taken + half) - self.truth.headings(taken - half)) / PERIOD
        steps = rng.normal(0.0, math.sqrt(sensor.bias_walk * PERIOD), len(stamps))
        noise = rng.normal(0.0, sensor.noise, len(stamps))
        return GyroReadings(stamps, sensor.scale * rate + sensor.bias + np.cumsum(steps) + noise)

    def poses(self, sensor: MadePoses, rng: np.random.Generator) -> PoseReadings:
        """Return simulated readings of a pose source."""
        stamps = np.arange(
            self.wheels.stamps[0] + sensor.delay + 0.013, self.wheels.stamps[-1], sensor.period
        )
        robot = self.truth.poses(stamps - sensor.delay)
        place = robot[:, 0] + 1j * robot[:, 1]
        place = place + complex(*sensor.mounting[:2]) * np.exp(1j * robot[:, 2])
        place = complex(*sensor.frame[:2]) + place * np.exp(1j * sensor.frame[2])
        for at in sensor.jumps:
            size, path = rng.uniform(0.1, 0.3), rng.uniform(-math.pi, math.pi)
            place[stamps > at] += size * np.exp(1j * path)
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
        geometry: True radii and track.
        legs: Motion of the body; see Leg.
        rng: Random numbers for slip.
        path_noise: Variance of a wheel's path per path, m^2/m.
        counts: Counts of the encoders per turn of a wheel; 0: exact angles.
    """
    v, omega = _speeds(legs)
    left, right = geometry.wheel_velocity(v, omega)  # type: ignore[arg-type]
    turned: list[Array] = [
        np.concatenate(([0.0], np.cumsum(speed * PERIOD))) for speed in (left, right)
    ]
    stamps: Array = np.asarray(100.0 + PERIOD * np.arange(len(turned[0])), dtype=np.float64)
    rolled: list[Array] = []
    for angle, radius in zip(turned, (geometry.left_radius, geometry.right_radius), strict=True):
        path = np.diff(angle) * radius
        noise = rng.normal(0.0, 1.0, len(path)) * np.sqrt(path_noise * np.abs(path))
        rolled.append(np.concatenate(([0.0], np.cumsum(path + noise))) / radius)
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
    """Return legs inside 4 m x 4 m that identify all: straight legs, turns on the spot, circles.

    Turns and circles are driven both ways.

    Args:
        duration: Approximate duration, s.
        speed: Speed on straight legs and circles, m/s.
        rate: Yaw rate of turns on the spot, rad/s.
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
