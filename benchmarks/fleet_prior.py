# SPDX-License-Identifier: Apache-2.0
"""Benefit of a fleet's prior for a new robot of its type, and for a different one.

    ./diffbot python benchmarks/fleet_prior.py

A prior is created from recordings of a synthetic fleet with the functions of `diffbot fleet`. New
robots are identified with and without it: time until K5 to K8 are known to 1 %, coverage of the 95
% intervals at several times, and time at which the prior was discarded. Faulty robots have more
mass.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmark_tables import options
from made_recordings.made_fleet import make_fleet, spread_robot

from diffbot_description import Robot, load_robot
from diffbot_ident.estimate import NORMAL_95, Estimate, EstimateState
from diffbot_ident.estimators import make_estimator
from diffbot_ident.interpretation.fleet_prior import FleetPrior, read_prior, with_prior
from diffbot_ident.precision import Precision
from diffbot_ident.torque.learning import MotionScale
from diffbot_study.fleet import write_priors
from diffbot_study.fleet_analysis import analyse_fleet
from diffbot_study.fleet_rows import COLUMNS, Names, find_recordings, read_recordings
from diffbot_study.recorded_runs import BatchRecording, record_batch

LOOKS = (2.0, 2.5, *(float(second) for second in range(3, 21)))
SHOWN = (3.0, 5.0, 10.0, 20.0)
WANTED = Precision.parse("K5 1% K6 1% K7 1% K8 1%")


def main() -> None:
    """Print the figures."""
    parser = options(__doc__, robots=30, seed=1)
    parser.add_argument("--type", default="twil")
    parser.add_argument("--fleet", type=int, default=40, help="robots for the prior")
    given = parser.parse_args()
    nominal = load_robot(given.type)
    prior = make_prior(given.type, given.fleet, given.seed)
    spread = ", ".join(
        f"{name} {100 * std / abs(value):.2g} %"
        for name, std, value in zip(
            ("K5", "K6", "K7", "K8"), prior.deviations, prior.values, strict=True
        )
    )
    print(f"{prior.about}: standard deviations {spread}")
    generator = np.random.default_rng([given.seed, 5])
    for more in (0.0, 0.03, 0.1):
        robots = [
            with_mass(spread_robot(nominal, generator), 1.0 + more) for _ in range(given.robots)
        ]
        first = 10_000 * (given.seed + 1) + 1000 * round(10 * more)
        seeds = list(range(first, first + given.robots))
        made = record_batch(robots, seeds, LOOKS[-1], torque_noise=0.02)
        print(f"{given.robots} further robots with {100 * more:g} % more mass")
        _print(nominal, made, prior, given.robots)


def with_mass(robot: Robot, factor: float) -> Robot:
    """Return the robot with the mass of its body scaled by a factor."""
    return replace(robot, body=replace(robot.body, mass=factor * robot.body.mass))


def make_prior(kind: str, robots: int, seed: int) -> FleetPrior:
    """Return the prior of a synthetic fleet, via its recordings and its file."""
    with tempfile.TemporaryDirectory() as folder:
        make_fleet(Path(folder), [kind], robots, 2, seed=seed)
        recordings, _ = find_recordings([folder], Names(None, kind), {})
        rows = read_recordings([(recording.key, recording) for recording in recordings])
        fleet = analyse_fleet([{**dict.fromkeys(COLUMNS), **row} for row in rows], 0.01)
        (path,) = write_priors(fleet, Path(folder))
        return read_prior(str(path), load_robot(kind))


def looks(robot: Robot, made: BatchRecording, index: int) -> list[Estimate]:
    """Return estimates from the data alone at the times LOOKS."""
    own = robot.excitation
    scale = MotionScale(own.linear_velocity, own.angular_velocity, own.amplitude)
    estimator = make_estimator("integral", robot.geometry, scale)
    estimates, waiting = [], list(LOOKS)
    for sample in made.samples(index):
        estimator.update(sample)
        if waiting and sample.stamp >= waiting[0] - 1e-6:
            estimates.append(estimator.estimate())
            waiting.pop(0)
    return estimates


def _print(robot: Robot, made: BatchRecording, prior: FleetPrior, robots: int) -> None:
    b = robot.geometry.half_track
    alone = [looks(robot, made, index) for index in range(robots)]
    fused = [[with_prior(result, prior, b) for result in own] for own in alone]
    for name, runs in (("without the prior", alone), ("with it", fused)):
        times = [_reached(own) for own in runs]
        known = [time for time in times if time is not None]
        median = f"{float(np.median(known)):g} s" if known else "never"
        print(f"  {name}: K5 to K8 to 1 % in {median} (median of {len(known)} of {robots})")
        for second in SHOWN:
            at = LOOKS.index(second)
            good = [i for i in range(robots) if runs[i][at].state is EstimateState.ESTIMATED]
            covered = [_kept(runs[i][at], made.truth[:, i]) for i in good]
            fraction = (
                " ".join(f"{100 * h:.0f}" for h in np.mean(covered, axis=0)) if covered else "-"
            )
            texts = (" ".join(own[at].warnings) for own in runs)
            dropped = sum("contradict the prior" in text for text in texts)
            half = NORMAL_95 * np.sqrt([runs[i][at].variances for i in good])
            sizes = 100.0 * np.median(half / np.abs(made.truth.T[good]), axis=0)
            widths = " ".join(f"{size:.2g}" for size in sizes)
            print(
                f"    {second:g} s: {len(good)} estimated, K5..K8 held by the intervals in "
                f"{fraction} % of them, half widths {widths} % (median); prior dropped: {dropped}"
            )


def _reached(own: list[Estimate]) -> float | None:
    assert WANTED is not None
    return next(
        (time for time, result in zip(LOOKS, own, strict=True) if WANTED.is_reached(result)), None
    )


def _kept(estimate: Estimate, truth: np.ndarray) -> np.ndarray:
    half = NORMAL_95 * np.sqrt(np.array(estimate.variances))
    return np.abs(np.array(estimate.values) - truth) <= half


if __name__ == "__main__":
    main()
