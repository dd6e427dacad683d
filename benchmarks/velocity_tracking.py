#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Identification and tracking of velocity-commanded robots, Siwek et al. (2023).

The true sigma of the simulated robot is the average of the paper's Table 1; see
diffbot_papers/siwek2023_experiments.py for noise and limits. Prints CPU time and spread of batch
fits from random starts; errors of on-line estimates over random starts and noise; time to Table 4's
best band (5 mm, 2 mm, 1 mrad), by the true pose; the largest true errors after 20 s; and the
response to a load of +50 % inertia.

    ./diffbot python benchmarks/velocity_tracking.py [--robots 10]
"""

from __future__ import annotations

import numpy as np
from benchmark_tables import options
from ensemble import Ensemble, ensemble

from arc_odometry import MotionLimits
from diffbot_description.sigma import Sigma
from diffbot_papers.siwek2023_experiments import (
    BEST_BAND,
    NOISE,
    TRUE,
    TURTLEBOT_LIMITS,
    Conditions,
    drive,
    earliest_regulation,
    fit_from_random_starts,
    random_start,
    three_ways,
)
from diffbot_recordings.sigma_batch_fit import BatchFit

LATE = 20.0  # s
LOADED = 25.0  # s


def estimated(seed: int, noise: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors of s1 to s4 from the start of a seed, at LATE and at the end, %."""
    start = random_start(np.random.default_rng((seed, 7)))
    run = drive(Conditions(noise=noise, duration=60.02, seed=seed), start, adaptive=True)
    error = 100.0 * np.abs(run.estimate / TRUE.as_array() - 1.0)
    return error[np.searchsorted(run.time, LATE)], error[-1]


def on_line(runs: Ensemble, noise: tuple[float, float]) -> None:
    """Print estimate errors at 20 s and 60 s over random starts and noise, and intervals."""
    result = runs.map(estimated, noise=noise)
    for when, errors in zip((20, 60), np.swapaxes(result, 0, 1), strict=True):
        print(
            f"on line, noise {noise}, {len(runs.seeds)} random starts, after {when} s: "
            f"% error of s1..s4 median {np.median(errors, axis=0).round(4)}, largest "
            f"{errors.max(axis=0).round(4)}, "
            f"within 1 %: {np.count_nonzero(errors <= 1.0, axis=0)}",
            flush=True,
        )


def loaded(seed: int, adaptive: bool) -> tuple[float, ...]:
    """Return largest distances (mm) before and after the load, and time to identify it, s."""
    heavy = Sigma(1.5 * TRUE.s1, 1.5 * TRUE.s2, TRUE.s3, TRUE.s4)
    conditions = Conditions(noise=NOISE, duration=60.0, seed=seed)
    run = drive(conditions, TRUE, adaptive=adaptive, new_sigma=(LOADED, heavy))
    away = 1e3 * run.true.distance
    parts = [
        away[(run.time >= since) & (run.time < until)].max()
        for since, until in ((10, 25), (25, 35), (35, 45), (45, 60))
    ]
    off = np.abs(run.sigma[:, :2] / heavy.as_array()[:2] - 1.0).max(axis=1) > 0.05
    last = np.flatnonzero(off)[-1] + 1
    known = run.time[last] - LOADED if last < len(off) else np.inf
    return (*parts, known)


def load(runs: Ensemble) -> None:
    """Print path and estimate errors with +50 % inertia in mid-run, adaptive and not."""
    for adaptive in (True, False):
        rows = runs.map(loaded, adaptive=adaptive)
        print(
            f"load + 50 % at {LOADED:g} s, {'adaptive' if adaptive else 'fixed'}: largest mm before"
            f" | 0-10 s after | 10-20 | 20-35 | s1, s2 within 5 % after s: "
            f"{np.max(rows, axis=0).round(2)} (worst of {len(runs.seeds)})",
            flush=True,
        )


def main() -> None:
    """Print the figures."""
    parser = options(__doc__, robots=10, cluster=True)
    given = parser.parse_args()
    with ensemble(given) as runs:
        print_figures(runs)


def print_figures(runs: Ensemble) -> None:
    """Print all figures of a number of runs."""
    starts = fit_from_random_starts(50, seed=0)
    spread = np.ptp(starts.result, axis=0) / starts.result.mean(axis=0)
    print(
        f"batch fit, 50 random starts: CPU mean {1e3 * starts.seconds.mean():.1f} ms, largest "
        f"{1e3 * starts.seconds.max():.1f} ms; relative spread {spread.max():.1e}",
        flush=True,
    )
    for limit in (np.inf, 0.7):
        limits = MotionLimits(linear_velocity=limit)
        run = drive(Conditions(limits, period=0.01), TRUE, adaptive=False)
        bound = earliest_regulation(limit, BEST_BAND[0]) if np.isfinite(limit) else 0.0
        print(
            f"exact sigma, |v| <= {limit}: in the best band from {run.within_from(BEST_BAND):.2f} s"
            f" (no controller before {bound:.2f} s)",
            flush=True,
        )
    for noise in ((0.0, 0.0), NOISE):
        on_line(runs, noise)
    few = runs._replace(seeds=runs.seeds[:5])
    worst: dict[str, list] = {}
    for ways in few.map(in_the_laboratory, fit=starts.fit):
        for direction, largest in ways.items():
            worst.setdefault(direction, []).append(largest)
    for direction, errors in worst.items():
        print(
            f"simulated laboratory, {direction}: largest e_x, e_y, e_theta, e_v, e_omega from "
            f"{LATE:g} s on {np.max(errors, axis=0).round(5)}, least "
            f"{np.min(errors, axis=0).round(5)}",
            flush=True,
        )
    load(few)


def in_the_laboratory(seed: int, fit: BatchFit) -> dict[str, np.ndarray]:
    """Return the largest errors from LATE on by control mode."""
    conditions = Conditions(TURTLEBOT_LIMITS, laboratory=True, seed=seed)
    return {
        direction: np.abs(run.errors()[run.time >= LATE]).max(axis=0)
        for direction, run in three_ways(conditions, fit).items()
    }


if __name__ == "__main__":
    main()
