#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random velocity robots, excited in a room and analysed: coverage of every interval, by kind.

Each robot has, per axis, a lag of 0.05 to 1 s and a gain of 0.8 to 1.2, and one delay of 0 to
0.4 s; two of three have a dead band of 0 to 0.15 m/s (three times that in rad/s) of either kind. In
a third acceleration is limited: by the driver, with the same or another limit of braking, or by a
smoother before the dead band, with a limit of each axis or both slowed down together. Odometry at
10 to 50 Hz is the mean over its period, by encoders of 500 to 4000 counts on wheels of 3 to 10 cm,
with noise of 1 to 5 mm/s. The simulation shares nothing with the suite's; its step is 2 ms.
Commands are of `VelocityExcitation` in a room of 3 m x 3 m, or of any function given to `record`.

Prints a line per robot, and then, for axes with and without a limit of acceleration, per parameter:
the share of 95 % intervals that hold, how often it is not identifiable, and the largest error in
standard deviations; the shares of verified and refused axes; which limits were found; how far the
robot went; and the processor time of the analysis.

    ./diffbot python benchmarks/velocity_robots.py --robots 100 --first 0
"""

from __future__ import annotations

import argparse
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from arc_odometry import Arc, Pose, Velocity
from arc_odometry.odometry import Array
from diffbot_ident.excitation.velocity_excitation import VelocityExcitation
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_recordings.findings import analyse_axes
from diffbot_recordings.recording_analysis import STILL
from diffbot_recordings.samples import Batch, Recording
from diffbot_recordings.segments import Segment, Segmenter, SegmentSettings
from diffbot_recordings.velocity_analysis import AxisAnalysis

STEP = 0.002  # s
# From odometry to the command computed from it, s.
COMPUTING = 0.002
ROOM = 1.5  # half length and width, m
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
class Truth:
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


def draw(seed: int) -> Truth:
    """Return the robot of a seed."""
    rng = np.random.default_rng(seed)
    scale = np.array((1.0, 3.0))
    banded, ramped = rng.random() < 2.0 / 3.0, rng.random() < 1.0 / 3.0
    ramp = str(rng.choice(RAMPS)) if ramped else ""
    speeding = rng.uniform(0.3, 1.5, 2) * scale
    apart = rng.uniform(0.5, 2.0) if ramp == "driver, braking apart" else 1.0
    return Truth(
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
class Plant:
    """The robot, in steps of STEP."""

    truth: Truth
    pose: Pose = Pose(0.0, 0.0, 0.0)
    rims: Array = field(default_factory=lambda: np.zeros(2))
    farthest: float = 0.0

    def __post_init__(self) -> None:
        late = round(self.truth.delay / STEP)
        self._late = deque([(0.0, 0.0)] * (late + 1), maxlen=late + 1)
        self._limited, self._velocity = [0.0, 0.0], [0.0, 0.0]
        self._decay = np.exp(-STEP / self.truth.tau).tolist()

    def step(self, command: Velocity) -> None:
        """Move for STEP."""
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
        # The mean over the step.
        return [0.5 * (a + b) for a, b in zip(before, self._limited, strict=True)]


class _Recorded:
    """Odometry and commands as a source of a Recording."""

    name, done, total = "random robot", 1.0, 1.0

    def __init__(self, odometry: Array, commands: Array) -> None:
        self.warnings: list[str] = []
        self._odometry, self._commands = odometry.T, commands.T

    def batches(self) -> Iterator[Batch]:
        t, v, w = self._odometry
        yield Batch(t, {"v": v, "w": w})
        t, v, w = self._commands
        yield Batch(t, {"command_v": v, "command_w": w})


class Odometer:
    """What a robot's driver tells: pose by dead reckoning from counts, mean velocities with noise.

    Attributes:
        pose: By the last reading.
    """

    def __init__(self, truth: Truth, rng: np.random.Generator) -> None:
        self._truth, self._rng, self._seen = truth, rng, np.zeros(2)
        self.pose = Pose(0.0, 0.0, 0.0)

    def read(self, plant: Plant) -> Velocity:
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


def record(truth: Truth, excite: Excite, duration: float, seed: int) -> tuple[list[Segment], float]:
    """Drive a robot; return what was recorded, and how far it went from the start, m."""
    rng = np.random.default_rng(seed)
    plant, command = Plant(truth), Velocity(0.0, 0.0)
    every, late = round(truth.period / STEP), round(COMPUTING / STEP)
    odometer = Odometer(truth, rng)
    odometry, commands = [], []
    planned = command
    for k in range(round(duration / STEP)):
        if k % every == 0:
            velocity = odometer.read(plant)
            odometry.append((k * STEP, *velocity))
            planned = excite(k * STEP, plant.pose, velocity)
        if k % every == late:
            command = planned
            commands.append((k * STEP, command.v, command.omega))
        plant.step(command)
    source = _Recorded(np.array(odometry), np.array(commands))
    channels = ("command_v", "command_w", "v", "w")
    recording = Recording("velocity", [source], channels)
    segmenter = Segmenter(SegmentSettings(still=STILL))
    return list(segmenter.segments(recording.batches(), recording.channels)), plant.farthest


@dataclass
class Tally:
    """Results of axes of one kind."""

    axes: int = 0
    usable: int = 0
    limits: int = 0
    errors: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in NAMES})
    unknown: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))

    def add(self, truth: Truth, axis: int, analysis: AxisAnalysis | None) -> str:
        """Add an axis; return a text of it."""
        self.axes += 1
        if analysis is None or not analysis.verdict.usable:
            reason = "not in the recording" if analysis is None else analysis.verdict.summary()
            return f"{AXES[axis]} {reason[:100]}"
        self.usable += 1
        estimated = {value.name: value for value in analysis.verdict.values}
        self.limits += "acceleration limit" in estimated
        texts = []
        for name, short in NAMES.items():
            true = float(truth.values[name][axis])
            value = estimated.get(name)
            if value is None or math.isnan(true):
                continue
            if not value.identifiable:
                self.unknown[name] += 1
                continue
            miss = value.value - true
            # A given value, or one without an error, has no deviation.
            error = miss / value.std if value.std > 0.0 else (0.0 if miss == 0.0 else math.inf)
            self.errors[name].append(error)
            texts.append(f"{short} {true:.3f} {error:+.1f}")
        return f"{AXES[axis]} " + ", ".join(texts)

    def report(self, kind: str) -> None:
        """Print shares and largest errors."""
        if not self.axes:
            return
        print(
            f"{kind}: {self.axes} axes, verified {self.usable / self.axes:.0%}, "
            f"limit of acceleration found in {self.limits}"
        )
        print("  parameter  known  unknown  hold  largest error (standard deviations)")
        for name, short in NAMES.items():
            errors = np.abs(self.errors[name])
            if len(errors):
                fraction = np.mean(errors <= NORMAL_95)
                print(
                    f"  {short:9} {len(errors):6d} {self.unknown[name]:8d} {fraction:5.0%}"
                    f"  {errors.max():.1f}"
                )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--robots", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed of the first robot")
    parser.add_argument("--duration", type=float, default=90.0, help="of each recording, s")
    parser.add_argument("--ramps", action="store_true", help="only robots with limits")
    arguments = parser.parse_args()
    seconds, farthest, left = [], 0.0, arguments.robots
    tallies = {"without a limit": Tally(), "with a limit of acceleration": Tally()}
    seed = arguments.first
    while left > 0:
        truth = draw(seed)
        seed += 1
        if arguments.ramps and not truth.ramp:
            continue
        left -= 1
        excitation = VelocityExcitation((ROOM, ROOM), truth.limits, seed=seed)
        segments, far = record(truth, excitation.command, arguments.duration, seed)
        farthest = max(farthest, far)
        begin = time.process_time()
        results = analyse_axes(segments)
        seconds.append(time.process_time() - begin)
        tally = tallies["with a limit of acceleration" if truth.ramp else "without a limit"]
        band = "" if truth.band[0] == 0.0 else "threshold" if truth.threshold else "offset"
        print(
            f"robot {seed - 1}: {1.0 / truth.period:.0f} Hz {band} {truth.ramp}, "
            f"{seconds[-1]:.1f} s, {far:.2f} m"
        )
        for axis, name in enumerate(AXES):
            print("  " + tally.add(truth, axis, results.get(name)), flush=True)
    for kind, tally in tallies.items():
        tally.report(kind)
    print(f"analysis: median {np.median(seconds):.1f} s, longest {max(seconds):.1f} s; ", end="")
    print(f"farthest {farthest:.2f} m of {ROOM:g} m")


if __name__ == "__main__":
    main()
