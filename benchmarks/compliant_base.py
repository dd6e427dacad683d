#!/usr/bin/env python3
"""Identification of a compliant base, Sujan and Dubowsky (2002): every measure of an excitation.

First: the largest error of the regression without noise, %. Then for the constant excitation (24)
and for that chosen every 0.4 s by each measure, after 10 s: the mean error over the 20 parameters
that are not zero, %, as mean, standard deviation and range over the seeds, and its ratio to the
constant one's; the share of parameters that the published information puts beyond half of its
bits, where (16) begins to prefer less; the root mean square of errors in the filter's own standard
deviations, 1 where these can be trusted; CPU time per run. --estimators estimates once more from
the same measurements, by Kalman filters that average other numbers of samples and by
pseudo-inverse.

The paper's noise, "up to 10 % of the maximum sensed value", has two readings. --sensors own: of the
largest value in that very run so far, so that a motion with one jolt is measured badly. --sensors
equal: of the largest value that the constant excitation gives, so that all have the same sensors.
--settled 4: the arm has moved as in (24) for 4 s before, and no jolt of a start is measured.

    ./diffbot python benchmarks/compliant_base.py [--sensors equal] [--settled 4] [--seeds 8]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

from diffbot_papers.compliant_base.experiment import Ensemble, ensemble, equal_sensors
from diffbot_papers.compliant_base.model import NAMES, TABLE_1, UNITS, SensorNoise, mean_error
from diffbot_papers.compliant_base.planning import (
    FACTOR,
    METRICS,
    KalmanEstimator,
    draw_prior,
    pseudo_inverse,
)
from diffbot_papers.compliant_base.simulation import ExperimentSettings

WINDOWS = (1, 4, 8, 16)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--sensors", choices=("own", "equal"), default="own")
    parser.add_argument("--settled", type=float, default=0.0, help="motion before measuring, s")
    parser.add_argument(
        "--share", type=float, default=0.1, help="noise, share of the largest value"
    )
    parser.add_argument(
        "--window", type=int, default=ExperimentSettings().window, help="samples averaged"
    )
    parser.add_argument("--factor", type=float, default=FACTOR, help="of the guess beforehand")
    parser.add_argument("--only", nargs="+", choices=list(METRICS), default=list(METRICS))
    parser.add_argument("--estimators", action="store_true", help="compare estimators, too")
    parser.add_argument("--parameters", action="store_true", help="print every parameter's error")
    options = parser.parse_args()
    settings = ExperimentSettings(
        noise=SensorNoise(options.share), settled=options.settled, window=options.window
    )
    print(f"without noise: largest error {exactness(settings):.1e} %")
    if options.sensors == "equal":
        settings = equal_sensors(TABLE_1, settings)
    ensembles: dict[str, Ensemble] = {}
    print(
        "excitation        | error %: mean  sd   range      | ratio | beyond half | in sd | CPU s"
    )
    for metric in (None, *options.only):
        before = time.process_time()
        result = ensemble(TABLE_1, metric, range(options.seeds), settings, options.factor)
        spent = (time.process_time() - before) / options.seeds
        ensembles[metric or "constant"] = result
        print_row(metric or "constant", result, ensembles["constant"], spent)
    print(f"guesses beforehand: {ensembles['constant'].starts.mean():.1f} %")
    if options.parameters:
        print_parameters(ensembles)
    if options.estimators:
        for name, result in ensembles.items():
            print_estimators(name, result, settings, options.factor)


def exactness(settings: ExperimentSettings) -> float:
    """Largest error of a parameter by pseudo-inverse and by the filter, without noise, %.

    Errors of parameters that are zero count as shares of the largest one of their kind.
    """
    silent = replace(settings, noise=SensorNoise(0.0), duration=2.0)
    (run,) = ensemble(TABLE_1, None, [0], silent).runs
    scale = np.where(TABLE_1 == 0.0, 0.2, TABLE_1)
    estimates = np.stack((pseudo_inverse(run.measured), run.estimates[-1]))
    return 100.0 * float(np.abs((estimates - TABLE_1) / scale).max())


def print_row(name: str, result: Ensemble, constant: Ensemble, spent: float) -> None:
    """One excitation."""
    errors = result.errors
    ends = ((run.estimates[-1] - TABLE_1) / run.deviations[-1] for run in result.runs)
    trust = float(np.sqrt(np.mean(np.square(list(ends)))))
    beyond = np.mean([run.shares[-1] > 0.5 for run in result.runs])
    print(
        f"{name:17} | {errors.mean():13.1f} {errors.std(ddof=1):5.1f}   "
        f"{errors.min():.1f}-{errors.max():.1f}  | {errors.mean() / constant.errors.mean():5.2f} "
        f"| {100.0 * beyond:9.0f} % | {trust:5.1f} | {spent:.1f}",
        flush=True,
    )


def print_parameters(ensembles: dict[str, Ensemble]) -> None:
    """Mean |error| of each parameter."""
    print("\nmean |error|       | " + " | ".join(ensembles))
    for i, (name, unit) in enumerate(zip(NAMES, UNITS, strict=True)):
        cells = " | ".join(f"{each.parameter_errors[i]:9.4g}" for each in ensembles.values())
        print(f"{name:18} | {cells} {unit} of {TABLE_1[i]:g}")


def print_estimators(
    name: str, result: Ensemble, settings: ExperimentSettings, factor: float
) -> None:
    """Mean errors from the same measurements by other estimators."""
    errors: dict[str, list[float]] = {}
    for seed, run in enumerate(result.runs):
        guess = draw_prior(TABLE_1, seed, factor)
        # The noise that the sensors had at the end; the filter of the run knew it as it came.
        deviation = settings.noise.deviation(np.abs(run.measured).max(axis=(0, 1)))
        for window in WINDOWS:
            kalman = KalmanEstimator(guess, window)
            for part in np.split(run.measured, settings.intervals, axis=1):
                kalman.update(part, deviation)
            errors.setdefault(f"window {window}", []).append(mean_error(kalman.estimate, TABLE_1))
        x = pseudo_inverse(run.measured)
        errors.setdefault("pseudo-inverse", []).append(mean_error(x, TABLE_1))
    cells = " | ".join(f"{key} {np.mean(each):.1f}" for key, each in errors.items())
    print(f"{name:17} | {cells}", flush=True)


if __name__ == "__main__":
    main()
