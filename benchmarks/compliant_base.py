#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Identification of a compliant base, Sujan and Dubowsky (2002): all excitation measures.

First prints the largest error of the regression without noise, %. Then, after 10 s, for the
constant excitation (24) and for the one that each measure selects every 0.4 s: the mean error over
the 20 non-zero parameters, %, as mean, standard deviation and range over the seeds, and its ratio
to that of the constant one; the share of parameters that the published information puts beyond half
of its bits, where (16) begins to prefer less; the rms error in the filter's own standard deviations
and the coverage of the 95 % intervals (1 and 95 % for a reliable filter); CPU time per run.
--published-filter: the paper's Kalman filter estimates, and the planner relies on it. --parameters:
mean |error| and coverage for every parameter. --estimators: the same measurements with every
estimator, with means over other numbers of samples, and again with noise only in the force sensor
or only in the motion sensors: the origin of the filter's overconfidence.

The paper's noise, "up to 10 % of the maximum sensed value", has two interpretations. --sensors own:
relative to the largest value of the same run so far, so that a motion with one jolt is measured
poorly. --sensors equal: relative to the largest value of the constant excitation, so that all have
the same sensors. --settled 4: the arm has moved as in (24) for 4 s before, so that the measurement
includes no starting jolt.

    ./diffbot python benchmarks/compliant_base.py [--sensors equal] [--settled 4] [--robots 8]
    ./diffbot python benchmarks/compliant_base.py --robots 40 --seed 1000 --parameters
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from benchmark_tables import options

from diffbot_papers.compliant_base.estimation import (
    FACTOR,
    ErrorsInVariables,
    ParameterEstimator,
    ParameterKalmanFilter,
    ParameterPrior,
    PublishedFilter,
    pseudo_inverse,
)
from diffbot_papers.compliant_base.experiment import (
    Ensemble,
    Run,
    ensemble,
    equal_sensors,
    true_channels,
    trust,
)
from diffbot_papers.compliant_base.model import (
    FORCE,
    MOMENT,
    NAMES,
    TABLE_1,
    UNITS,
    SensorNoise,
    mean_error,
)
from diffbot_papers.compliant_base.planning import METRICS
from diffbot_papers.compliant_base.simulation import ExperimentSettings

ESTIMATORS: dict[
    str, tuple[Callable[[ParameterPrior, int], ParameterEstimator], tuple[int, ...]]
] = {
    "Kalman filter": (ParameterKalmanFilter, (1, 8)),
    "errors in variables": (ErrorsInVariables, (1, 4, 8, 16)),
}


def main() -> None:
    """Print the tables."""
    parser = options(__doc__, robots=8)
    parser.add_argument("--sensors", choices=("own", "equal"), default="own")
    parser.add_argument("--settled", type=float, default=0.0, help="motion before measuring, s")
    parser.add_argument(
        "--fraction", type=float, default=0.1, help="noise, share of the largest value"
    )
    parser.add_argument(
        "--window", type=int, default=ExperimentSettings().window, help="samples averaged"
    )
    parser.add_argument("--factor", type=float, default=FACTOR, help="factor of the initial guess")
    parser.add_argument("--only", nargs="+", choices=list(METRICS), default=list(METRICS))
    parser.add_argument("--published-filter", action="store_true", help="the paper's estimator")
    parser.add_argument("--estimators", action="store_true", help="compare estimators, too")
    parser.add_argument("--parameters", action="store_true", help="print every parameter's error")
    given = parser.parse_args()
    settings = ExperimentSettings(
        noise=SensorNoise(given.fraction),
        settled=given.settled,
        window=given.window,
        published_filter=PublishedFilter() if given.published_filter else None,
    )
    seeds = range(given.seed, given.seed + given.robots)
    print(f"without noise: largest error {exactness(settings):.1e} %")
    if given.sensors == "equal":
        settings = equal_sensors(TABLE_1, settings)
    ensembles: dict[str, Ensemble] = {}
    print(
        "excitation        | error %: mean  sd   range      | ratio | beyond half | in sd "
        "| held | CPU s"
    )
    for metric in (None, *given.only):
        before = time.process_time()
        result = ensemble(TABLE_1, metric, seeds, settings, given.factor)
        spent = (time.process_time() - before) / given.robots
        ensembles[metric or "constant"] = result
        print_row(metric or "constant", result, ensembles["constant"], spent)
    print(f"guesses beforehand: {ensembles['constant'].starts.mean():.1f} %")
    if given.parameters:
        print_parameters(ensembles)
    if given.estimators:
        for name, result in ensembles.items():
            print_estimators(name, result, settings)


def exactness(settings: ExperimentSettings) -> float:
    """Return the largest parameter error of pseudo-inverse and filter, without noise, %.

    Errors of zero parameters are relative to the largest parameter of their kind.
    """
    silent = replace(settings, noise=SensorNoise(0.0), duration=2.0)
    (run,) = ensemble(TABLE_1, None, [0], silent).runs
    scale = np.where(TABLE_1 == 0.0, 0.2, TABLE_1)
    estimates = np.stack((pseudo_inverse(run.measured), run.estimates[-1]))
    return 100.0 * float(np.abs((estimates - TABLE_1) / scale).max())


def print_row(name: str, result: Ensemble, constant: Ensemble, spent: float) -> None:
    """Print the row of an excitation."""
    errors = result.errors
    kept, size = trust(result.scores)
    beyond = np.mean([run.shares[-1] > 0.5 for run in result.runs])
    print(
        f"{name:17} | {errors.mean():13.1f} {errors.std(ddof=1):5.1f}   "
        f"{errors.min():.1f}-{errors.max():.1f}  | {errors.mean() / constant.errors.mean():5.2f} "
        f"| {100.0 * beyond:9.0f} % | {size:5.2f} | {100.0 * kept:.1f} % | {spent:.1f}",
        flush=True,
    )


def print_parameters(ensembles: dict[str, Ensemble]) -> None:
    """Print the mean |error| of each parameter and the coverage of the intervals."""
    print("\nmean |error|, held | " + " | ".join(ensembles))
    for i, (name, unit) in enumerate(zip(NAMES, UNITS, strict=True)):
        cells = " | ".join(
            f"{each.parameter_errors[i]:9.4g} {100.0 * each.coverage[i]:4.0f} %"
            for each in ensembles.values()
        )
        print(f"{name:18} | {cells} {unit} of {TABLE_1[i]:g}")


def print_estimators(name: str, result: Ensemble, settings: ExperimentSettings) -> None:
    """Print mean errors of other estimators on the same data, also in sd, and the coverage."""
    print(f"\n{name}: noise in      | estimator               | error % | in sd | held")
    sources: dict[str, list[int]] = {
        "all sensors": list(range(8)),
        "force and moment": [FORCE, MOMENT],
        "motion": [i for i in range(8) if i not in (FORCE, MOMENT)],
    }
    for source, noisy in sources.items():
        runs = [_only_noise_of(run, noisy, settings) for run in result.runs]
        for kind, (make, windows) in ESTIMATORS.items():
            for window in windows:
                ends = []
                for run in runs:
                    estimator = make(run.prior, window)
                    run.estimate_again(estimator)
                    ends.append((estimator.estimate, estimator.deviation))
                outcome, deviations = np.swapaxes(ends, 0, 1)
                kept, size = trust((outcome - TABLE_1) / deviations)
                label = f"{kind}, {window}"
                error = mean_error(outcome, TABLE_1).mean()
                print(
                    f"{source:22} | {label:23} | {error:7.1f} | {size:5.1f} "
                    f"| {100.0 * kept:4.0f} %",
                    flush=True,
                )
        ends = [mean_error(pseudo_inverse(run.measured), TABLE_1) for run in runs]
        print(
            f"{source:22} | {'pseudo-inverse':23} | {np.mean(ends):7.1f} |     – |    –", flush=True
        )


def _only_noise_of(run: Run, noisy: list[int], settings: ExperimentSettings) -> Run:
    """Return the run with noise in some quantities only, and true values in the others."""
    measured, noise = true_channels(TABLE_1, run.motion, settings), np.zeros_like(run.noise)
    measured[:, :, noisy], noise[:, noisy] = run.measured[:, :, noisy], run.noise[:, noisy]
    return replace(run, measured=measured, noise=noise)


if __name__ == "__main__":
    main()
