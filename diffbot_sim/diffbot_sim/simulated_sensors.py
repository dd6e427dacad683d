# SPDX-License-Identifier: Apache-2.0
"""A gyro and a pose source on a simulated robot, with the errors of real ones.

They are read at times k / rate, also within control periods. A reading with stamp t is

    gyro      scale omega(t - delay) + bias(t) + noise,   bias a random walk
    pose      frame * jumps(t) * robot(t - delay) * mounting, and noise; some are outliers

where * composes poses in the plane. Equal seeds give equal readings.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from arc_odometry import REST, Pose, Velocity
from diffbot_description.robot import Pair
from diffbot_sim.simulator import Triple

LONGEST_DELAY = 2.0  # s
# Between a reading's time and a control instant, s.
ROUNDING = 1e-9


def composed(first: Triple, second: Triple) -> Pose:
    """Return pose `second`, given in the frame `first`, in the frame of `first`; m, m, rad."""
    cos, sin = math.cos(first[2]), math.sin(first[2])
    return Pose(
        first[0] + cos * second[0] - sin * second[1],
        first[1] + sin * second[0] + cos * second[1],
        first[2] + second[2],
    )


class MotionHistory:
    """True motion of a robot in the last `length` s, interpolated by cubics."""

    def __init__(self, length: float) -> None:
        self._length = length
        self._states: list[tuple[float, Pose, Velocity]] = []

    def note(self, stamp: float, pose: Triple, velocity: Pair) -> None:
        """Add pose (m, m, rad, unwrapped) and velocity (m/s, rad/s) at a later stamp, s."""
        states = self._states
        if states and stamp <= states[-1][0]:
            raise ValueError(
                f"stamp = {stamp} s after {states[-1][0]} s: must be later; begin a new history "
                "when a robot is reset"
            )
        states.append((stamp, Pose(*pose), Velocity(*velocity)))
        while len(states) > 2 and states[1][0] < stamp - self._length:
            del states[0]

    def at(self, time: float) -> tuple[Pose, Velocity]:
        """Return pose and velocity at a time, s; before the first instant at rest at its pose."""
        index = bisect_right(self._states, time, key=lambda state: state[0]) - 1
        if index < 0:
            return self._states[0][1], REST
        start, a, u = self._states[index]
        if index + 1 == len(self._states):
            return a, u
        end, b, w = self._states[index + 1]
        step = end - start
        fraction = (time - start) / step
        pose = Pose(
            _cubic(fraction, step, a.x, b.x, u.v * math.cos(a.theta), w.v * math.cos(b.theta)),
            _cubic(fraction, step, a.y, b.y, u.v * math.sin(a.theta), w.v * math.sin(b.theta)),
            _cubic(fraction, step, a.theta, b.theta, u.omega, w.omega),
        )
        return pose, Velocity(
            u.v + fraction * (w.v - u.v), u.omega + fraction * (w.omega - u.omega)
        )


def _cubic(fraction: float, step: float, start: float, end: float, up: float, down: float) -> float:
    """Return the Hermite cubic for values and slopes (per s) at both ends of a step (s)."""
    rest = 1.0 - fraction
    return (
        start
        + fraction * fraction * (1.0 + 2.0 * rest) * (end - start)
        + step * fraction * rest * (rest * up - fraction * down)
    )


R_co = TypeVar("R_co", covariant=True)


class _Sensor(ABC, Generic[R_co]):
    """Takes readings of a robot's motion `delay` s ago, `rate` per second."""

    def __init__(self, rate: float, delay: float, seed: tuple[int, int]) -> None:
        self._rate, self._delay = rate, delay
        self._generator = np.random.default_rng(seed)
        self._history = MotionHistory(delay + 1.0 / rate)
        self._count = 0

    def note(self, stamp: float, pose: Triple, velocity: Pair) -> list[R_co]:
        """Return the readings since the last instant; see MotionHistory.note."""
        self._history.note(stamp, pose, velocity)
        readings = []
        while (time := self._count / self._rate) <= stamp + ROUNDING:
            readings.append(self._read(time, *self._history.at(time - self._delay)))
            self._count += 1
        return readings

    @abstractmethod
    def _read(self, time: float, pose: Pose, velocity: Velocity) -> R_co:
        """Return the reading with a stamp, s, of the motion that it shows."""


def _within(default: Any, low: float, high: float) -> Any:
    return field(default=default, metadata={"limits": (low, high)})


def _check(what: str, settings: GyroErrors | PoseErrors) -> None:
    for each in fields(settings):
        name, (low, high) = each.name, each.metadata["limits"]
        value = getattr(settings, name)
        numbers = value if isinstance(value, Sequence) else (value,)
        if not all(low <= number <= high for number in numbers):
            raise ValueError(f"{what} {name} = {value}: must be from {low:g} to {high:g}")


@dataclass(frozen=True)
class GyroErrors:
    """Errors of a simulated gyro; the defaults are those of a perfect one.

    Attributes:
        rate: Readings per second, Hz.
        noise: Standard deviation of a reading, rad/s.
        bias: Initial bias, rad/s.
        bias_walk: Standard deviation of its random walk, rad/s per sqrt(s).
        scale: Ratio of reading to true rate.
        delay: How old the motion of a reading is, s.
    """

    rate: float = _within(100.0, 0.1, 1e4)
    noise: float = _within(0.0, 0.0, 10.0)
    bias: float = _within(0.0, -10.0, 10.0)
    bias_walk: float = _within(0.0, 0.0, 10.0)
    scale: float = _within(1.0, -10.0, 10.0)
    delay: float = _within(0.0, 0.0, LONGEST_DELAY)

    def __post_init__(self) -> None:
        _check("gyro", self)


class GyroReading(NamedTuple):
    """Stamp in s, yaw rate in rad/s, counter-clockwise."""

    stamp: float
    rate: float


class SimulatedGyro(_Sensor[GyroReading]):
    """Measures the yaw rate of a robot; the seed is that of noise and random walk, >= 0."""

    def __init__(self, errors: GyroErrors, seed: int = 0) -> None:
        super().__init__(errors.rate, errors.delay, (seed, 2))
        self._errors = errors
        self._bias = errors.bias

    def _read(self, time: float, pose: Pose, velocity: Velocity) -> GyroReading:
        errors = self._errors
        noise, walk = self._generator.standard_normal(2).tolist()
        rate = errors.scale * velocity.omega + self._bias + errors.noise * noise
        self._bias += errors.bias_walk * math.sqrt(1.0 / errors.rate) * walk
        return GyroReading(time, rate)


@dataclass(frozen=True)
class PoseErrors:
    """Errors of a simulated pose source; the defaults are those of a perfect one at the axle.

    Attributes:
        rate: Readings per second, Hz.
        position_noise, heading_noise: Standard deviations of x and y, m, and of the heading, rad.
        delay: How old the motion of a reading is, s.
        mounting: Pose of the sensor on the robot, m, m, rad.
        frame: Pose of the robot's start frame in that of the source, m, m, rad.
        outliers, outlier_size: Their share, 0 to 1, and standard deviations, m and rad.
        jump_interval, jump_size: Mean time between two jumps of the source's frame, s, 0: none, and
            their standard deviations, m and rad.
    """

    rate: float = _within(20.0, 0.1, 1e4)
    position_noise: float = _within(0.0, 0.0, 10.0)
    heading_noise: float = _within(0.0, 0.0, math.pi)
    delay: float = _within(0.0, 0.0, LONGEST_DELAY)
    mounting: Triple = _within((0.0, 0.0, 0.0), -1e3, 1e3)
    frame: Triple = _within((0.0, 0.0, 0.0), -1e6, 1e6)
    outliers: float = _within(0.0, 0.0, 1.0)
    outlier_size: Pair = _within((0.5, 0.5), 0.0, 1e3)
    jump_interval: float = _within(0.0, 0.0, 1e6)
    jump_size: Pair = _within((0.05, 0.02), 0.0, 1e3)

    def __post_init__(self) -> None:
        _check("pose source", self)


class PoseReading(NamedTuple):
    """Stamp in s, x and y in m, yaw in rad, wrapped to [-pi, pi]."""

    stamp: float
    x: float
    y: float
    yaw: float


class SimulatedPoses(_Sensor[PoseReading]):
    """Measures a sensor's pose in the source's frame; the seed, >= 0, is that of its chances."""

    def __init__(self, errors: PoseErrors, seed: int = 0) -> None:
        super().__init__(errors.rate, errors.delay, (seed, 3))
        self._errors = errors
        self._frame = Pose(*errors.frame)

    def _read(self, time: float, pose: Pose, velocity: Velocity) -> PoseReading:
        errors = self._errors
        # The same numbers are drawn for every reading: settings do not affect each other.
        chance, jumps = self._generator.random(2).tolist()
        noise, outlier, jump = self._generator.standard_normal((3, 3)).tolist()
        if errors.jump_interval and jumps < 1.0 / (errors.rate * errors.jump_interval):
            self._frame = composed(self._frame, _scaled(jump, errors.jump_size))
        x, y, yaw = composed(composed(self._frame, pose), errors.mounting)
        off = _scaled(noise, (errors.position_noise, errors.heading_noise))
        x, y, yaw = x + off[0], y + off[1], yaw + off[2]
        if chance < errors.outliers:
            off = _scaled(outlier, errors.outlier_size)
            x, y, yaw = x + off[0], y + off[1], yaw + off[2]
        return PoseReading(time, x, y, math.remainder(yaw, math.tau))


def _scaled(numbers: Sequence[float], sizes: Pair) -> Triple:
    return sizes[0] * numbers[0], sizes[0] * numbers[1], sizes[1] * numbers[2]
