#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""K5..K8 with a wrong track in the robot's file, with and without a gyro.

Random robots (diffbot_study.random_robots) on the ideal engine, PRBS, 20 s each. The estimator's
track is wrong by --track percent, too wide for half of the robots and too narrow for the other
half; its radius has a normal error of --radius percent, which it knows (uncertainty.radius). The
gyro, also random, has a bias with random walk, white noise, and a delay of 0 to 80 ms. Prints for
each of K5..K8 the coverage of the 95 % intervals, with its own 95 % interval, and the errors; and
the accuracy of the gyro's identified properties.

    ./diffbot python benchmarks/gyro.py --robots 200 [--first 0] [--track 5] [--radius 0]
"""

from __future__ import annotations

import argparse
import math
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np
from made_recordings.excited_runs import RecordedRun
from made_recordings.random_runs import record_random

from arc_odometry import JointSample, WheelGeometry
from diffbot_description.robot import Uncertainty
from diffbot_ident.torque.estimate import NORMAL_95, Estimate, EstimateState
from diffbot_ident.torque.estimators import make_estimator
from diffbot_ident.torque.geometry_errors import DimensionedEstimator
from diffbot_ident.torque.yaw_gyro import LIVE_MEMORY, YawGyro
from diffbot_sim.engines import make_simulator
from diffbot_study.random_robots import draw
from diffbot_study.study import add_cluster_options
from diffbot_study.task_cluster import Cluster

SECONDS = 20.0
RATES = (50.0, 100.0, 200.0)  # rates of the gyro, Hz
SLICE = 0.005  # time between two true yaw rates, s
NAMES = ("K5", "K6", "K7", "K8")


class WatchedEngine:
    """An engine that records its yaw rate, for a synthetic gyro."""

    def __init__(self, engine) -> None:
        self._engine = engine
        self.times, self.rates = [0.0], [0.0]

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def step(self, torque: tuple[float, float], seconds: float) -> None:
        """Advance in slices."""
        left = seconds
        while left > 1e-9:
            part = left if left < 1.5 * SLICE else SLICE
            self._engine.step(torque, part)
            left -= part
            self.times.append(self.times[-1] + part)
            self.rates.append(self._engine.velocity()[1])


@dataclass(frozen=True)
class Gyro:
    """Random properties of a synthetic gyro."""

    rate: float
    delay: float
    bias: float
    walk: float
    noise: float

    @classmethod
    def draw(cls, generator: np.random.Generator) -> Gyro:
        """Draw a MEMS gyro: noise per reading 2 to 10 mrad/s, bias some 10 mrad/s."""
        return cls(
            rate=float(generator.choice(RATES)),
            delay=float(generator.uniform(0.0, 0.08)),
            bias=float(generator.normal(0.0, 0.02)),
            walk=float(generator.uniform(0.0, 5e-4)),
            noise=float(generator.uniform(0.002, 0.01)),
        )

    def readings(
        self, times: list[float], rates: list[float], generator: np.random.Generator
    ) -> list[tuple[float, float]]:
        """Return stamps and readings for true yaw rates (rad/s) at times (s)."""
        stamps = np.arange(0.0, times[-1], 1.0 / self.rate)
        walk = np.cumsum(generator.normal(0.0, self.walk / math.sqrt(self.rate), len(stamps)))
        seen = np.interp(stamps - self.delay, times, rates) + self.bias + walk
        seen += generator.normal(0.0, self.noise, len(stamps))
        return list(zip(stamps.tolist(), seen.tolist(), strict=True))


@dataclass(frozen=True)
class Outcome:
    """Results of one robot: truth, estimates without and with the gyro, true gyro."""

    truth: np.ndarray
    wheels: Estimate
    gyro: Estimate
    scale: float
    drawn: Gyro


def learn(
    run: RecordedRun, geometry: WheelGeometry, uncertainty: Uncertainty, readings: list | None
) -> Estimate:
    """Return the estimate of a run with an assumed geometry."""
    gyro = None if readings is None else YawGyro(geometry)
    inner = make_estimator("integral", geometry, run.scale)
    estimator = DimensionedEstimator(inner, geometry, uncertainty, gyro)
    for reading in readings or ():
        gyro.add(*reading)
    for sample in run.samples:
        estimator.update(sample)
    return estimator.estimate()


def outcome(seed: int, track: float, radius: float) -> Outcome:
    """Record the robot of a seed with a gyro, and identify it."""
    generator = np.random.default_rng([seed, 77])
    drawn = draw(seed)
    with closing(make_simulator("ideal", drawn.robot)) as engine:
        watched = WatchedEngine(engine)
        run = record_random(drawn, SECONDS, watched)
    gyro = Gyro.draw(generator)
    readings = gyro.readings(watched.times, watched.rates, generator)
    wide = 1.0 + (track if seed % 2 else -track) / 100.0
    larger = 1.0 + radius / 100.0 * generator.standard_normal()
    true = run.geometry
    reported = WheelGeometry(
        true.left_radius * larger, true.right_radius * larger, true.separation * wide
    )
    uncertainty = Uncertainty(radius=radius)
    return Outcome(
        run.truth,
        learn(run, reported, uncertainty, None),
        learn(run, reported, uncertainty, readings),
        wide / larger,
        gyro,
    )


def wilson(inside: np.ndarray) -> str:
    """Return the share of the runs inside in %, with the 95 % interval of Wilson."""
    n, z = len(inside), NORMAL_95
    fraction = float(np.mean(inside))
    middle = (fraction + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(fraction * (1 - fraction) / n + (z / (2 * n)) ** 2)
    return f"{100 * fraction:5.1f} % ({100 * (middle - half):.0f} to {100 * (middle + half):.0f})"


def print_table(runs: list[Outcome]) -> None:
    """Print coverage and errors of K5..K8, and of the gyro's properties."""
    for title, chosen in (("without gyro", "wheels"), ("with gyro", "gyro")):
        estimates = [getattr(run, chosen) for run in runs]
        bad = [result for result in estimates if result.state is not EstimateState.ESTIMATED]
        print(f"{title}; not judged good: {len(bad)} of {len(runs)}")
        for reason in sorted({result.reason for result in bad})[:3]:
            print(f"    {reason}")
        for i, name in enumerate(NAMES):
            known = [
                (run.truth[i], result.values[i], math.sqrt(result.variances[i]))
                for run, result in zip(runs, estimates, strict=True)
                if math.isfinite(result.variances[i])
            ]
            truth, value, std = np.array(known).T
            errors = 100.0 * (value / truth - 1.0)
            size = np.median(np.abs(errors))
            half = np.median(100.0 * NORMAL_95 * std / np.abs(truth))
            print(
                f"  {name} inside {wilson(np.abs(value - truth) <= NORMAL_95 * std)}, error: "
                f"median size {size:.3f} %, 95th percentile "
                f"{np.percentile(np.abs(errors), 95):.3f} %; half width {half:.3f} % (median)"
            )
    known = [run for run in runs if run.gyro.gyro is not None]
    for name, value, truth, std in (
        ("scale", *_column(known, "scale", [run.scale for run in known])),
        ("delay", *_column(known, "delay", [run.drawn.delay for run in known])),
        ("radius difference", *_column(known, "radius_difference", [0.0] * len(known))),
    ):
        off = (value - truth) / std
        print(
            f"  gyro's {name}: inside {wilson(np.abs(off) <= NORMAL_95)}, mean "
            f"{np.mean(off):+.2f}, rms {np.sqrt(np.mean(off**2)):.2f} standard deviations; rms "
            f"error {np.sqrt(np.mean((value - truth) ** 2)):.2g}"
        )


def _column(runs: list[Outcome], name: str, truth: list[float]) -> tuple[np.ndarray, ...]:
    fits = [run.gyro.gyro for run in runs]
    values = np.array([getattr(fit, name) for fit in fits])
    return values, np.array(truth), np.array([getattr(fit, f"{name}_std") for fit in fits])


def print_costs(seconds: tuple[float, ...] = (30.0, 60.0, 120.0, 300.0, 600.0)) -> None:
    """Print the minimum processor time of five gyro fits over time, full and limited memory.

    `ident` makes a fit whenever its data have grown by a twentieth, between two commands.
    """
    geometry = WheelGeometry(0.075, 0.075, 0.27)
    generator = np.random.default_rng(0)
    print("s | ms, all readings | ms, as ident remembers them")
    for length in seconds:
        gyros = YawGyro(geometry), YawGyro(geometry, memory=LIVE_MEMORY)
        stamps = np.arange(0.0, length, 0.01)
        rates = np.sin(2.0 * stamps) + 0.5 * np.sin(5.3 * stamps)
        turned = np.cumsum(rates) * 0.01 * geometry.half_track / geometry.left_radius
        rates += 0.01 * generator.standard_normal(len(rates))
        for stamp, turn, rate in zip(stamps.tolist(), turned.tolist(), rates.tolist(), strict=True):
            sample = JointSample(stamp, (-0.9 * turn, 1.1 * turn), (0.0, 0.0), (0.0, 0.0))
            for gyro in gyros:
                gyro.add_wheels(sample)
                gyro.add(stamp, rate)
        cells = []
        for gyro in gyros:
            taken = []
            for _ in range(5):
                begun = time.process_time()
                gyro.fit(anew=True)
                taken.append(time.process_time() - begun)
            cells.append(f"{1e3 * min(taken):.1f}")
        print(f"{length:g} | {' | '.join(cells)}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robots", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--track", type=float, default=5.0, help="error of the track, %%")
    parser.add_argument(
        "--radius", type=float, default=0.0, help="error of the radius, %%, 1 sigma"
    )
    add_cluster_options(parser, limit=None)
    parser.add_argument("--cost", action="store_true", help="print the time of a fit instead")
    arguments = parser.parse_args()
    if arguments.cost:
        print_costs()
        return
    seeds = range(arguments.first, arguments.first + arguments.robots)
    work = partial(outcome, track=arguments.track, radius=arguments.radius)
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        runs = cluster.map(work, seeds)
    print(
        f"{len(runs)} robots, track wrong by {arguments.track:g} %, radius by "
        f"{arguments.radius:g} %"
    )
    print_table(runs)


if __name__ == "__main__":
    main()
