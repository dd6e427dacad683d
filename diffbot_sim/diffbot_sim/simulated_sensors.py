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
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from arc_odometry import REST, Pose, Velocity
from diffbot_description.robot import Pair
from diffbot_node.parameter_fields import check_settings, parameter
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


@dataclass(frozen=True)
class GyroParameters:
    """Parameters of a simulated gyro."""

    imu: bool = parameter(False, "publish a gyro's readings on imu/data")
    imu_rate: float = parameter(100.0, "gyro: readings per second, Hz", minimum=0.1, maximum=1e4)
    imu_noise: float = parameter(
        0.0, "gyro: standard deviation of a reading, rad/s", minimum=0.0, maximum=10.0
    )
    imu_bias: float = parameter(
        0.0, "gyro: bias at the beginning, rad/s", minimum=-10.0, maximum=10.0
    )
    imu_bias_walk: float = parameter(
        0.0, "gyro: random walk of the bias, rad/s per sqrt(s)", minimum=0.0, maximum=10.0
    )
    imu_scale: float = parameter(
        1.0, "gyro: scale, reading per true yaw rate", minimum=-10.0, maximum=10.0
    )
    imu_delay: float = parameter(
        0.0, "gyro: time from a stamp to its reading, s", minimum=0.0, maximum=LONGEST_DELAY
    )


class GyroReading(NamedTuple):
    """Stamp in s, yaw rate in rad/s, counter-clockwise."""

    stamp: float
    rate: float


class SimulatedGyro(_Sensor[GyroReading]):
    """Measures the yaw rate of a robot; the seed is that of noise and random walk, >= 0.

    Raises:
        ValueError: A value is outside its limits.
    """

    def __init__(self, values: GyroParameters, seed: int = 0) -> None:
        check_settings(values)
        super().__init__(values.imu_rate, values.imu_delay, (seed, 2))
        self._values = values
        self._bias = values.imu_bias

    def _read(self, time: float, pose: Pose, velocity: Velocity) -> GyroReading:
        values = self._values
        noise, walk = self._generator.standard_normal(2).tolist()
        rate = values.imu_scale * velocity.omega + self._bias + values.imu_noise * noise
        self._bias += values.imu_bias_walk * math.sqrt(1.0 / values.imu_rate) * walk
        return GyroReading(time, rate)


@dataclass(frozen=True)
class PoseSourceParameters:
    """Parameters of a simulated pose source."""

    pose_source: bool = parameter(False, "publish a pose source's readings on pose")
    pose_source_rate: float = parameter(
        20.0, "pose source: readings per second, Hz", minimum=0.1, maximum=1e4
    )
    pose_source_noise: tuple[float, float] = parameter(
        (0.0, 0.0),
        "pose source: standard deviations of position and heading, m, rad",
        minimum=0.0,
        maximum=10.0,
    )
    pose_source_delay: float = parameter(
        0.0, "pose source: time from a stamp to its reading, s", minimum=0.0, maximum=LONGEST_DELAY
    )
    pose_source_mounting: tuple[float, float, float] = parameter(
        (0.0, 0.0, 0.0), "pose source: its sensor's pose on the robot, m, m, rad"
    )
    pose_source_frame: tuple[float, float, float] = parameter(
        (0.0, 0.0, 0.0), "pose source: pose of odom in its frame map, m, m, rad"
    )
    pose_source_outliers: float = parameter(
        0.0, "pose source: share of readings that are outliers", minimum=0.0, maximum=1.0
    )
    pose_source_outlier_size: tuple[float, float] = parameter(
        (0.5, 0.5), "pose source: standard deviations of outliers, m, rad", minimum=0.0
    )
    pose_source_jump_interval: float = parameter(
        0.0, "pose source: mean time between two jumps of its frame, s; 0: never", minimum=0.0
    )
    pose_source_jump_size: tuple[float, float] = parameter(
        (0.05, 0.02), "pose source: standard deviations of a jump, m, rad", minimum=0.0
    )


@dataclass(frozen=True)
class GyroAndPoseParameters(PoseSourceParameters, GyroParameters):
    """Parameters of simulators that equip the robot with a gyro and a pose source."""


class PoseReading(NamedTuple):
    """Stamp in s, x and y in m, yaw in rad, wrapped to [-pi, pi]."""

    stamp: float
    x: float
    y: float
    yaw: float


class SimulatedPoses(_Sensor[PoseReading]):
    """Measures a sensor's pose in the source's frame; the seed, >= 0, is that of its chances.

    Raises:
        ValueError: A value is outside its limits.
    """

    def __init__(self, values: PoseSourceParameters, seed: int = 0) -> None:
        check_settings(values)
        super().__init__(values.pose_source_rate, values.pose_source_delay, (seed, 3))
        self._values = values
        self._frame = Pose(*values.pose_source_frame)

    def _read(self, time: float, pose: Pose, velocity: Velocity) -> PoseReading:
        values, interval = self._values, self._values.pose_source_jump_interval
        # The same numbers are drawn for every reading: settings do not affect each other.
        chance, jumps = self._generator.random(2).tolist()
        noise, outlier, jump = self._generator.standard_normal((3, 3)).tolist()
        if interval and jumps < 1.0 / (values.pose_source_rate * interval):
            self._frame = composed(self._frame, _scaled(jump, values.pose_source_jump_size))
        x, y, yaw = composed(composed(self._frame, pose), values.pose_source_mounting)
        off = _scaled(noise, values.pose_source_noise)
        x, y, yaw = x + off[0], y + off[1], yaw + off[2]
        if chance < values.pose_source_outliers:
            off = _scaled(outlier, values.pose_source_outlier_size)
            x, y, yaw = x + off[0], y + off[1], yaw + off[2]
        return PoseReading(time, x, y, math.remainder(yaw, math.tau))


def _scaled(numbers: Sequence[float], sizes: Pair) -> Triple:
    return sizes[0] * numbers[0], sizes[0] * numbers[1], sizes[1] * numbers[2]
