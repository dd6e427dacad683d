# SPDX-License-Identifier: Apache-2.0
"""Robots driven by velocity commands, independent of the suite's engines and models.

Each has, per axis, a lag of 0.05 to 1 s and a gain of 0.8 to 1.2, and one delay of 0 to 0.4 s; two
of three have a dead band of 0 to 0.15 m/s (three times that in rad/s) of either kind. In a third
acceleration is limited, by the driver or a smoother before the dead band. Odometry at 10 to 50 Hz
is the mean over its period, by encoders of 500 to 4000 counts on wheels of 3 to 10 cm, with noise
of 1 to 5 mm/s.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from arc_odometry import Arc, Pose, Velocity

Array = NDArray[np.float64]
STEP = 0.002  # s
# From odometry to the command computed from it, s.
COMPUTING = 0.002
TRACK = 6.0  # in wheel radii
AXES = ("v", "w")
NAMES = {
    "time constant": "tau",
    "gain": "gain",
    "dead time": "delay",
    "smallest command that moves the robot": "band",
    "acceleration limit": "limit",
    "deceleration limit": "braking",
}
RAMPS = ("driver", "driver, braking apart", "smoother", "smoother, together")

# Command (v, omega) for stamp, pose and measured velocity.
Excite = Callable[[float, Pose, Velocity], Velocity]


@dataclass(frozen=True)
class LaggingRobot:
    """A random robot; arrays are of both axes, (2,)."""

    tau: Array
    gain: Array
    delay: float
    band: Array
    threshold: bool
    ramp: str
    speeding: Array
    braking: Array
    period: float
    counts: int
    radius: float
    noise: float
    limits: Velocity

    @property
    def values(self) -> dict[str, Array]:
        """True values of NAMES, by axis; NaN where the robot has no such thing."""
        missing = math.nan if not self.ramp else 1.0
        return {
            "time constant": self.tau,
            "gain": self.gain,
            # A mean over the period is half of it old.
            "dead time": np.full(2, self.delay + 0.5 * self.period),
            "smallest command that moves the robot": self.band,
            "acceleration limit": missing * self.speeding,
            "deceleration limit": missing * self.braking,
        }


def draw(seed: int) -> LaggingRobot:
    """Return the robot of a seed."""
    rng = np.random.default_rng(seed)
    scale = np.array((1.0, 3.0))
    banded, ramped = rng.random() < 2.0 / 3.0, rng.random() < 1.0 / 3.0
    ramp = str(rng.choice(RAMPS)) if ramped else ""
    speeding = rng.uniform(0.3, 1.5, 2) * scale
    apart = rng.uniform(0.5, 2.0) if ramp == "driver, braking apart" else 1.0
    return LaggingRobot(
        tau=10.0 ** rng.uniform(math.log10(0.05), 0.0, 2),
        gain=rng.uniform(0.8, 1.2, 2),
        delay=STEP * round(rng.uniform(0.0, 0.4) / STEP),
        band=(rng.uniform(0.0, 0.15) if banded else 0.0) * scale,
        threshold=bool(rng.random() < 0.5),
        ramp=ramp,
        speeding=speeding,
        braking=apart * speeding,
        period=STEP * round(1.0 / rng.uniform(10.0, 50.0) / STEP),
        counts=int(rng.integers(500, 4000)),
        radius=rng.uniform(0.03, 0.1),
        noise=rng.uniform(0.001, 0.005),
        limits=Velocity(rng.uniform(0.3, 1.0), rng.uniform(1.0, 3.0)),
    )


@dataclass
class VelocityPlant:
    """The robot, in steps of STEP."""

    truth: LaggingRobot
    pose: Pose = Pose(0.0, 0.0, 0.0)
    rims: Array = field(default_factory=lambda: np.zeros(2))
    farthest: float = 0.0

    def __post_init__(self) -> None:
        late = round(self.truth.delay / STEP)
        self._late = deque([(0.0, 0.0)] * (late + 1), maxlen=late + 1)
        self._limited, self._velocity = [0.0, 0.0], [0.0, 0.0]
        self._decay = np.exp(-STEP / self.truth.tau).tolist()

    def step(self, command: Velocity) -> None:
        truth = self.truth
        self._late.append((command.v, command.omega))
        targets = list(self._late[0])
        smoothed = truth.ramp.startswith("smoother")
        if not smoothed:
            targets = [self._passed(axis, target) for axis, target in enumerate(targets)]
        if truth.ramp:
            targets = self._ramped(targets, truth.ramp == "smoother, together")
        if smoothed:
            targets = [self._passed(axis, target) for axis, target in enumerate(targets)]
        before = list(self._velocity)
        for axis, decay in enumerate(self._decay):
            self._velocity[axis] *= decay
            self._velocity[axis] += (1.0 - decay) * truth.gain[axis] * targets[axis]
        v, omega = (0.5 * (a + b) for a, b in zip(before, self._velocity, strict=True))
        heading = self.pose.theta + 0.5 * omega * STEP
        self.pose = Pose(
            self.pose.x + v * STEP * math.cos(heading),
            self.pose.y + v * STEP * math.sin(heading),
            self.pose.theta + omega * STEP,
        )
        lever = 0.5 * TRACK * truth.radius * omega
        self.rims += (STEP * (v - lever), STEP * (v + lever))
        self.farthest = max(self.farthest, abs(self.pose.x), abs(self.pose.y))

    def _passed(self, axis: int, target: float) -> float:
        band = float(self.truth.band[axis])
        if abs(target) <= band:
            return 0.0
        return target if self.truth.threshold else target - math.copysign(band, target)

    def _ramped(self, targets: list[float], together: bool) -> list[float]:
        changes, allowed = [], []
        for axis, (target, now) in enumerate(zip(targets, self._limited, strict=True)):
            slower = target * now < 0.0 or abs(target) < abs(now)
            limit = self.truth.braking[axis] if slower else self.truth.speeding[axis]
            changes.append(target - now)
            allowed.append(float(limit) * STEP)
        pairs = list(zip(changes, allowed, strict=True))
        fractions = [min(1.0, most / abs(change)) if change else 1.0 for change, most in pairs]
        if together:
            fractions = [min(fractions)] * 2
        before = list(self._limited)
        for axis, fraction in enumerate(fractions):
            self._limited[axis] += fraction * changes[axis]
        return [0.5 * (a + b) for a, b in zip(before, self._limited, strict=True)]


@dataclass(frozen=True)
class VelocityLog:
    """What was recorded, and what is true of it.

    Attributes:
        odometry, commands: Stamp, s, v, m/s, and omega, rad/s, (n, 3).
        poses: True poses at the readings, m, m, rad, (n, 3).
        farthest: Room that was used, m.
    """

    odometry: Array
    commands: Array
    poses: Array
    farthest: float


class Odometer:
    """What a driver tells: pose by dead reckoning from counts, mean velocities with noise."""

    def __init__(self, truth: LaggingRobot, rng: np.random.Generator) -> None:
        self._truth, self._rng, self._seen = truth, rng, np.zeros(2)
        self.pose = Pose(0.0, 0.0, 0.0)

    def read(self, plant: VelocityPlant) -> Velocity:
        """Return v and omega since the last reading, a period ago, m/s and rad/s."""
        truth = self._truth
        count = math.tau * truth.radius / truth.counts
        read = np.floor(plant.rims / count) * count
        left, right = (read - self._seen).tolist()
        self._seen = read
        path, turn = 0.5 * (left + right), (right - left) / (TRACK * truth.radius)
        self.pose = Arc(path, turn).end(self.pose)
        noise = truth.noise * self._rng.standard_normal(2)
        return Velocity(path / truth.period + noise[0], turn / truth.period + 3.0 * noise[1])


def record(
    truth: LaggingRobot,
    drive: Excite,
    duration: float,
    seed: int,
    start: Pose | None = None,
) -> VelocityLog:
    """Drive a robot for a duration, s, and return what was recorded.

    `drive` gets the true pose; with a start, at which the odometry begins, that of the odometry.
    """
    plant, odometer = VelocityPlant(truth), Odometer(truth, np.random.default_rng(seed))
    if start is not None:
        plant.pose = odometer.pose = start
    every, late = round(truth.period / STEP), round(COMPUTING / STEP)
    odometry, commands, poses = [], [], []
    command = planned = Velocity(0.0, 0.0)
    for k in range(round(duration / STEP)):
        if k % every == 0:
            velocity = odometer.read(plant)
            odometry.append((k * STEP, *velocity))
            poses.append((*plant.pose,))
            known = plant.pose if start is None else odometer.pose
            planned = drive(k * STEP, known, velocity)
        if k % every == late:
            command = planned
            commands.append((k * STEP, command.v, command.omega))
        plant.step(command)
    return VelocityLog(np.array(odometry), np.array(commands), np.array(poses), plant.farthest)
