#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""K5..K8 with a wrong track in the robot's file, with and without a gyro.

Random robots (diffbot_study.random_robots) on the ideal engine, PRBS, 20 s each. The estimator's
track is wrong by --track percent, too wide for half of the robots and too narrow for the other
half; its radius has a normal error of --radius percent, which it knows (uncertainty.radius). The
gyro, also random, has a bias with random walk, white noise, and a delay of 0 to 80 ms. Prints the
coverage of the 95 % intervals of K5..K8, errors in %, and the same of the gyro's properties.

    ./diffbot python benchmarks/gyro.py --robots 200 [--track 5] [--radius 0]
    ./diffbot python benchmarks/gyro.py --cost       # processor time of a fit, after 30 s to 10 min
"""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from benchmark_tables import INTERVALS, Table, interval_cells, options
from ensemble import ensemble
from made_recordings.excited_runs import RecordedRun
from made_recordings.random_runs import record_random

from arc_odometry import JointSample, WheelGeometry
from diffbot_description.robot import Uncertainty
from diffbot_ident.estimate import NAMES, Estimate, EstimateState
from diffbot_ident.estimators import make_estimator
from diffbot_ident.interpretation.geometry_errors import DimensionedEstimator
from diffbot_ident.interpretation.yaw_gyro import LIVE_MEMORY, YawGyro
from diffbot_sim.engines import make_simulator
from diffbot_study.random_robots import draw

SECONDS = 20.0
RATES = (50.0, 100.0, 200.0)  # rates of the gyro, Hz
SLICE = 0.005  # time between two true yaw rates, s


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
class Outcome:
    """Results of one robot: true K5..K8, estimates without and with the gyro, gyro's truth."""

    truth: np.ndarray
    without: Estimate
    with_gyro: Estimate
    gyro: dict[str, float]


def readings(watched: WatchedEngine, generator: np.random.Generator) -> tuple[float, list]:
    """Return delay (s), stamps and readings of a MEMS gyro.

    Noise is 2 to 10 mrad/s, the bias some 10 mrad/s.
    """
    rate, delay = float(generator.choice(RATES)), float(generator.uniform(0.0, 0.08))
    bias, walk = float(generator.normal(0.0, 0.02)), float(generator.uniform(0.0, 5e-4))
    noise = float(generator.uniform(0.002, 0.01))
    stamps = np.arange(0.0, watched.times[-1], 1.0 / rate)
    seen = np.interp(stamps - delay, watched.times, watched.rates) + bias
    seen += np.cumsum(generator.normal(0.0, walk / math.sqrt(rate), len(stamps)))
    seen += generator.normal(0.0, noise, len(stamps))
    return delay, list(zip(stamps.tolist(), seen.tolist(), strict=True))


def learn(
    run: RecordedRun, geometry: WheelGeometry, uncertainty: Uncertainty, read: list | None
) -> Estimate:
    """Return the estimate of a run with an assumed geometry."""
    gyro = None if read is None else YawGyro(geometry)
    inner = make_estimator("integral", geometry, run.scale)
    estimator = DimensionedEstimator(inner, geometry, uncertainty, gyro)
    for reading in read or ():
        gyro.add(*reading)
    for sample in run.samples:
        estimator.update(sample)
    return estimator.estimate()


def outcome(track: float, radius: float, seed: int) -> Outcome:
    """Record the robot of a seed with a gyro, and identify it."""
    generator, drawn = np.random.default_rng([seed, 77]), draw(seed)
    with closing(make_simulator("ideal", drawn.robot)) as engine:
        watched = WatchedEngine(engine)
        run = record_random(drawn, SECONDS, watched)
    delay, read = readings(watched, generator)
    wide = 1.0 + (track if seed % 2 else -track) / 100.0
    larger = 1.0 + radius / 100.0 * generator.standard_normal()
    true, uncertainty = run.geometry, Uncertainty(radius=radius)
    reported = WheelGeometry(
        true.left_radius * larger, true.right_radius * larger, true.separation * wide
    )
    without = learn(run, reported, uncertainty, None)
    of_gyro = {"scale": wide / larger, "delay": delay, "radius_difference": 0.0}
    return Outcome(run.truth, without, learn(run, reported, uncertainty, read), of_gyro)


def print_table(runs: list[Outcome]) -> None:
    """Print coverage and errors of K5..K8, and of the gyro's properties."""
    table = Table("errors in %", *INTERVALS)
    for title, chosen in (("without gyro", "without"), ("with gyro", "with_gyro")):
        estimates = [getattr(run, chosen) for run in runs]
        bad = [result for result in estimates if result.state is not EstimateState.ESTIMATED]
        print(f"{title}; not judged good: {len(bad)} of {len(runs)}")
        for reason in sorted({result.reason for result in bad})[:3]:
            print(f"    {reason}")
        truth = np.array([run.truth for run in runs])
        errors = np.array([result.values for result in estimates]) / truth - 1.0
        deviations = np.sqrt([result.variances for result in estimates]) / np.abs(truth)
        for name, error, deviation in zip(NAMES, errors.T, deviations.T, strict=True):
            table.row(name, *interval_cells(error, deviation))
    known = [(run.with_gyro.gyro, run.gyro) for run in runs if run.with_gyro.gyro is not None]
    print("of the gyro, in units of one, s and one")
    for name in known[0][1] if known else ():
        errors = [getattr(fit, name) - true[name] for fit, true in known]
        deviations = [getattr(fit, f"{name}_std") for fit, _ in known]
        table.row(name, *interval_cells(errors, deviations, 1.0))


def print_costs(seconds: tuple[float, ...] = (30.0, 60.0, 120.0, 300.0, 600.0)) -> None:
    """Print the minimum processor time of five gyro fits over time, full and limited memory.

    `ident` makes a fit whenever its data have grown by a twentieth, between two commands.
    """
    geometry, generator = WheelGeometry(0.075, 0.075, 0.27), np.random.default_rng(0)
    table = Table("s", "ms, all readings", "ms, as ident remembers them")
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
                taken.append(1e3 * (time.process_time() - begun))
            cells.append(min(taken))
        table.row(f"{length:g}", *cells)


def main() -> None:
    """Print the table."""
    parser = options(__doc__, robots=200, cluster=True)
    parser.add_argument("--track", type=float, default=5.0, help="error of the track, %%")
    parser.add_argument("--radius", type=float, default=0.0, help="of the radius, %%, 1 sigma")
    parser.add_argument("--cost", action="store_true", help="print the time of a fit instead")
    arguments = parser.parse_args()
    if arguments.cost:
        print_costs()
        return
    with ensemble(arguments) as robots:
        runs = robots.map(outcome, arguments.track, arguments.radius)
    print(
        f"{len(runs)} robots, track wrong by {arguments.track:g} %, radius {arguments.radius:g} %"
    )
    print_table(runs)


if __name__ == "__main__":
    main()
