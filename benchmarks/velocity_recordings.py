#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Velocity robots with coarse encoders: errors and coverage of the intervals of `identify`.

Robots are drawn at random: each axis has a time constant of 0.06 to 0.8 s and a gain of 0.8 to 1.1;
dead time 0 to 0.12 s, wheels of 3 to 10 cm with 100 to 500 counts per revolution, read every 10 to
50 ms, 60 s. The simulation is exact and independent of the suite's: between two changes of the
command a velocity is an exponential, and the wheels' angles are its integral, rounded down to
counts.

Drivers, how the velocity is made of the counts:

mean        difference of two readings over the period
window      difference over several periods, 3 to 6, sliding
filtered    differences, filtered by a first-order low-pass of 1 to 3 periods
instant     an exact velocity at the instant of the sample, with noise (no encoder)
slow        `mean` over 2 to 4 periods, repeated in the samples in between

Commands: `teleop`, steps of random size held for 0.5 to 2 s, sent at 10 to 30 Hz by a clock of
their own; `nav`, ramps of limited acceleration towards random targets, at 20 Hz; `loop`, steps sent
at the instants of the samples.

`--fits`: the fits alone, without the model checks, which take most of the time.

Prints, for each of the drivers and commands, the mean and rms of error / standard deviation, the
share of 95 % intervals that contain the truth, and the median error and half width in % (dead time:
ms). The true dead time of a velocity that is a mean or filtered includes its age, as stated there.

    ./diffbot python benchmarks/velocity_recordings.py --drivers mean --robots 40 --seed 1000
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from arc_odometry import WheelGeometry
from arc_odometry.number_range import Array
from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.dead_time import fit_dead_time
from diffbot_recordings.findings import analyse_axes, axis_segment
from diffbot_recordings.recording_analysis import STILL
from diffbot_recordings.samples import WHEELS, Batch, Recording
from diffbot_recordings.segments import Segment, Segmenter, SegmentSettings, between_readings
from diffbot_recordings.velocity_analysis import prepared, values_of

DURATION = 60.0  # s
LARGEST = (0.5, 1.5)  # commands, m/s and rad/s
DRIVERS = ("mean", "window", "filtered", "instant", "slow")
COMMANDS = ("teleop", "nav", "loop")
PARAMETERS = ("inertia", "drag", "time constant", "gain", "dead time")


@dataclass(frozen=True)
class Drawn:
    """A random robot and its recording.

    Attributes:
        truth: True values of PARAMETERS, for each axis.
        counts: Counts per revolution.
        period: Time between two samples, s.
        geometry: Wheels.
        times: Times of the samples, s, shape (n,).
        wheels: Speeds of the wheels as recorded, rad/s, shape (2, n).
        sent: Times of the commands, s, shape (m,).
        commands: Commands of v and omega, shape (m, 2).
    """

    truth: tuple[dict[str, float], dict[str, float]]
    counts: int
    period: float
    geometry: WheelGeometry
    times: Array
    wheels: Array
    sent: Array
    commands: Array


def commands(kind: str, period: float, r: np.random.Generator) -> tuple[Array, Array]:
    """Return the times of commands, s, and the commands, shapes (m,) and (m, 2)."""
    spacing = {"teleop": 1.0 / r.uniform(10.0, 30.0), "nav": 0.05, "loop": period}[kind]
    first = 0.0 if kind == "loop" else r.uniform(0.0, spacing)
    times = first + np.float64(spacing) * np.arange(int(DURATION / spacing))
    values = np.empty((len(times), 2))
    for axis, most in enumerate(LARGEST):
        until = -1.0
        target = now = 0.0
        slope = most / r.uniform(0.3, 1.0)
        for k, t in enumerate(times):
            if t >= until:
                until = t + r.uniform(0.5, 2.0)
                target = most * r.uniform(-1.0, 1.0)
            reach = slope * spacing if kind == "nav" else math.inf
            now = now + min(max(target - now, -reach), reach)
            values[k, axis] = now
    return times, values


def driven(
    times: Array, sent: Array, command: Array, tau: float, gain: float
) -> tuple[Array, Array]:
    """Return way and velocity at times, (n,), of commands that act from `sent` on, from rest."""
    knots = np.unique(np.concatenate((times, sent)))
    index = np.searchsorted(sent, knots, side="right") - 1
    target = gain * np.where(index >= 0, command[np.maximum(index, 0)], 0.0)
    v = path = 0.0
    rows = np.empty((len(knots), 2))
    steps = np.diff(knots, append=knots[-1])
    for k, (h, aim) in enumerate(zip(steps.tolist(), target.tolist(), strict=True)):
        rows[k] = path, v
        fraction = -math.expm1(-h / tau)
        path += aim * h + (v - aim) * tau * fraction
        v += (aim - v) * fraction
    result = rows[np.searchsorted(knots, times)]
    return result[:, 0], result[:, 1]


def draw(seed: int, number: int, driver: str, kind: str) -> Drawn:
    """Draw a robot and record it."""
    r = np.random.default_rng((seed, number))
    period = float(r.choice([0.01, 0.02, 0.03333, 0.05]))
    tau, gain = 10.0 ** r.uniform(-1.2, -0.1, 2), r.uniform(0.8, 1.1, 2)
    dead, counts = r.uniform(0.0, 0.12), int(r.integers(100, 501))
    radius = r.uniform(0.03, 0.1)
    geometry = WheelGeometry(radius, radius, 6.0 * radius)
    sent, sizes = commands(kind, period, r)
    every = int(r.integers(3, 7)) if driver == "window" else 1
    every = int(r.integers(2, 5)) if driver == "slow" else every
    low_pass = r.uniform(1.0, 3.0) * period if driver == "filtered" else 0.0
    # The readings begin `every` periods before the first sample.
    times = np.float64(period) * np.arange(-every, int(DURATION / period))
    axes = [
        driven(times, sent + dead, sizes[:, i], float(tau[i]), float(gain[i])) for i in range(2)
    ]
    half = 0.5 * geometry.separation
    ways, speeds = (
        np.array([axes[0][j] - half * axes[1][j], axes[0][j] + half * axes[1][j]]) / radius
        for j in range(2)
    )
    if driver == "instant":
        wheels = speeds[:, every:] + 0.02 * r.standard_normal((2, len(times) - every)) / radius
        age = 0.0
    else:
        count = math.tau / counts
        angles = count * np.floor(ways / count + r.uniform(0.0, 1.0, (2, 1)))
        wheels = (angles[:, every:] - angles[:, :-every]) / (every * period)
        age = 0.5 * every * period
        if driver == "slow":
            wheels = wheels[:, np.arange(wheels.shape[1]) // every * every]
            age = 0.5 * every * period
        if driver == "filtered":
            a = math.exp(-period / low_pass)
            wheels = lfilter((1.0 - a,), (1.0, -a), wheels, axis=1)
            age += a / (1.0 - a) * period
    truth = [
        {
            "inertia": t / g,
            "drag": 1.0 / g,
            "time constant": t,
            "gain": g,
            "dead time": dead + age,
        }
        for t, g in zip(tau.tolist(), gain.tolist(), strict=True)
    ]
    return Drawn((truth[0], truth[1]), counts, period, geometry, times[every:], wheels, sent, sizes)


class _Recorded:
    """Blocks of a drawn recording, see samples.Source."""

    def __init__(self, drawn: Drawn, odometry: bool) -> None:
        self.name, self.done, self.total = "drawn", 1.0, 1.0
        self.warnings: list[str] = []
        self._drawn, self._odometry = drawn, odometry

    def batches(self) -> Iterator[Batch]:
        """Yield the measured block and that of the commands."""
        d = self._drawn
        channels = dict(zip(WHEELS, d.wheels, strict=True))
        if self._odometry:
            radius, track = d.geometry.left_radius, d.geometry.separation
            left, right = d.wheels * radius
            channels = {"v": 0.5 * (left + right), "w": (right - left) / track}
        yield Batch(d.times, channels)
        yield Batch(d.sent, {"command_v": d.commands[:, 0], "command_w": d.commands[:, 1]})


Results = dict[str, dict[str, tuple[float, float]]]
"""Value and deviation of PARAMETERS for each usable axis."""


def identified(drawn: Drawn, odometry: bool) -> Results:
    """Return the results of `identify`."""
    of_wheels = () if odometry else ("v", "w")
    results = {}
    for axis, analysis in analyse_axes(pieces(drawn, odometry), drawn.geometry, of_wheels).items():
        verdict = analysis.verdict
        if verdict.usable:
            results[axis] = {
                name: (verdict.value(name).value, verdict.value(name).std) for name in PARAMETERS
            }
    return results


def fitted(drawn: Drawn, odometry: bool) -> Results:
    """Return the results of the fits alone."""
    segments, kept = pieces(drawn, odometry), 0.0
    if not odometry:
        segments, kept = between_readings(segments, drawn.geometry, ("v", "w"))
    results = {}
    for axis in ("v", "w"):
        of_axis, _ = prepared([axis_segment(each, axis, kept > 0.0) for each in segments], kept)
        values = values_of(fit_dead_time(of_axis), "")
        results[axis] = {value.name: (value.value, value.std) for value in values}
    return results


def pieces(drawn: Drawn, odometry: bool) -> list[Segment]:
    """Return the segments of a recording."""
    recording = Recording(
        "velocity",
        [_Recorded(drawn, odometry)],
        ("command_v", "command_w", "v", "w", *(() if odometry else WHEELS)),
        geometry=drawn.geometry,
        from_wheels=() if odometry else ("v", "w"),
    )
    segmenter = Segmenter(SegmentSettings(still=STILL))
    return list(segmenter.segments(recording.batches(), recording.channels))


def main() -> None:
    """Print the figures of the requested drivers and commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drivers", nargs="+", choices=DRIVERS, default=list(DRIVERS))
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--robots", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--odometry", action="store_true", help="v and omega, not wheel speeds")
    parser.add_argument("--fits", action="store_true", help="the fits alone")
    options = parser.parse_args()
    estimate = fitted if options.fits else identified
    for driver in options.drivers:
        for kind in options.commands:
            rows = []
            for number in range(options.robots):
                drawn = draw(options.seed, number, driver, kind)
                result = estimate(drawn, options.odometry)
                for axis, values in result.items():
                    truth = drawn.truth["vw".index(axis)]
                    rows.append([(*values[name], truth[name]) for name in PARAMETERS])
            print(f"{driver}, {kind}: {len(rows)} of {2 * options.robots} axes estimated")
            if rows:
                print_rows(np.array(rows))


def print_rows(rows: Array) -> None:
    """Print the figures of each parameter; rows: value, deviation and truth, (n, parameters, 3)."""
    for name, values in zip(PARAMETERS, rows.transpose(1, 0, 2), strict=True):
        value, std, truth = values[np.isfinite(values).all(axis=1)].T
        sigmas = (value - truth) / std
        scale, unit = (1e-3, "ms") if name == "dead time" else (0.01 * truth, "%")
        print(
            f"  {name}: error / deviation, mean {np.mean(sigmas):.2f}, rms "
            f"{np.sqrt(np.mean(sigmas**2)):.2f}, largest {np.max(np.abs(sigmas)):.1f}; 95 % "
            f"intervals {100.0 * np.mean(np.abs(sigmas) <= NORMAL_95):.1f} %; error "
            f"{np.median(np.abs(value - truth) / scale):.2f} {unit}, half width "
            f"{np.median(NORMAL_95 * std / scale):.2f} {unit}",
            flush=True,
        )


if __name__ == "__main__":
    main()
