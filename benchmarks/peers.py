#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comparison of the estimators with other libraries: cost per sample, error on the same data.

All estimate K5..K8 from the same recordings (twil, ideal engine, PRBS, 4096 counts, 1 % torque
noise), in turn in one run. Cost is CPU time per sample on one of them, the median of the rounds;
error is |found - true| / |true| in %, the median over the recordings, of a robot with and without
friction.

Rows: the two regressions of Lages (2017), (41)-(55), with two parameters per axis, from prepared
rows, which is the task of a library. They model no friction and give no confidence intervals.
Samples: from joint samples, which this suite's estimators first check and convert to rows;
`integral` identifies friction and delay, and gives confidence intervals.

padasip, filterpy and statsmodels are included if installed; the suite does not need them:

    ./diffbot python -m pip install --target=FOLDER padasip filterpy statsmodels
    ./diffbot python benchmarks/peers.py --peers FOLDER [--seconds 60] [--robots 5] [--rounds 5]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import numpy as np
from benchmark_tables import Table, options
from made_recordings.excited_runs import RecordedRun, RunSetting, record_runs
from scipy.optimize import curve_fit

from arc_odometry import JointSample
from arc_odometry.number_range import Array
from diffbot_ident.torque.estimators import make_estimator
from diffbot_ident.torque.rls import PositionRegression, RecursiveLeastSquares, Row

# Processes a complete recording and returns K5..K8.
Work = Callable[[], Array]

# Samples between two requested estimates.
ASKED = 20
# Ratio of the generic fit's initial values to the truth: a wrong description.
WRONG = 1.3
# Width of the sign change of its Coulomb friction, rad/s: a fit needs derivatives.
SMOOTH = 0.1


class PlainRls:
    """Two parameters by recursive least squares, Lages (2017), (57)-(59), in plain floats."""

    def __init__(self) -> None:
        self.a = self.b = 0.0
        self._paa = self._pbb = 1e6
        self._pab = 0.0

    def update(self, x: float, z: float, y: float) -> None:
        """Update with regressors x, z and output y."""
        paa, pab, pbb = self._paa, self._pab, self._pbb
        ka, kb = paa * x + pab * z, pab * x + pbb * z
        scale = 1.0 / (1.0 + x * ka + z * kb)
        error = (y - self.a * x - self.b * z) * scale
        self.a += ka * error
        self.b += kb * error
        self._paa = paa - ka * ka * scale
        self._pab = pab - ka * kb * scale
        self._pbb = pbb - kb * kb * scale


def rows_of(run: RecordedRun) -> list[Row]:
    """Return the rows of the two-parameter regressions."""
    regression = PositionRegression(run.geometry)
    return [row for sample in run.samples if (row := regression.push(sample)) is not None]


def axes_of(run: RecordedRun) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return regressors, shape (n, 2), and outputs, shape (n,), of both axes."""
    rows = rows_of(run)
    linear = np.array([row.linear[0] for row in rows]), np.array([row.linear[1] for row in rows])
    angular = np.array([row.angular[0] for row in rows]), np.array([row.angular[1] for row in rows])
    return linear, angular


def joined(linear: Array, angular: Array) -> Array:
    """Compute K5..K8 from the parameters of both axes."""
    return np.array((linear[0], angular[0], linear[1], angular[1]), dtype=float)


# From rows.


def plain_rls(run: RecordedRun) -> Work:
    """RLS in plain floats, with the minimum of operations."""
    rows = rows_of(run)

    def work() -> Array:
        linear, angular = PlainRls(), PlainRls()
        for row in rows:
            linear.update(*row.linear[0], row.linear[1])
            angular.update(*row.angular[0], row.angular[1])
        return joined(np.array((linear.a, linear.b)), np.array((angular.a, angular.b)))

    return work


def own_rls(run: RecordedRun) -> Work:
    """The suite's RLS, which also updates the data for its intervals."""
    rows = rows_of(run)

    def work() -> Array:
        linear, angular = RecursiveLeastSquares(), RecursiveLeastSquares()
        for row in rows:
            linear.update(*row.linear)
            angular.update(*row.angular)
        return joined(linear.theta, angular.theta)

    return work


def padasip_rls(run: RecordedRun) -> Work:
    """FilterRLS of padasip."""
    filters = import_module("padasip").filters
    axes = axes_of(run)

    def work() -> Array:
        results = [filters.FilterRLS(n=2, mu=1.0, eps=1e-6, w="zeros") for _ in axes]
        for rls, (x, y) in zip(results, axes, strict=True):
            for row, output in zip(x, y, strict=True):
                rls.adapt(output, row)
        return joined(*(rls.w for rls in results))

    return work


def filterpy_kalman(run: RecordedRun) -> Work:
    """KalmanFilter of filterpy with a constant state."""
    kalman = import_module("filterpy.kalman")
    axes = [(x[:, None, :], y) for x, y in axes_of(run)]

    def work() -> Array:
        results = [kalman.KalmanFilter(dim_x=2, dim_z=1) for _ in axes]
        for each, (x, y) in zip(results, axes, strict=True):
            each.P *= 1e6
            for row, output in zip(x, y, strict=True):
                each.update(output, H=row)
        return joined(*(each.x[:, 0] for each in results))

    return work


def statsmodels_rls(run: RecordedRun) -> Work:
    """RecursiveLS of statsmodels: all rows at once, with its statistics."""
    recursive = import_module("statsmodels.api").RecursiveLS
    axes = axes_of(run)

    def work() -> Array:
        return joined(*(recursive(y, x).fit().params for x, y in axes))

    return work


def numpy_batch(run: RecordedRun) -> Work:
    """numpy.linalg.lstsq, all rows at once."""
    axes = axes_of(run)

    def work() -> Array:
        return joined(*(np.linalg.lstsq(x, y)[0] for x, y in axes))

    return work


def numpy_friction(run: RecordedRun) -> Work:
    """numpy.linalg.lstsq with additional columns for the friction of each wheel."""
    rows = rows_of(run)
    speeds = np.array([run.geometry.wheel_velocity(*row.velocity) for row in rows])
    axes = [(np.column_stack((x, speeds, np.sign(speeds))), y) for x, y in axes_of(run)]

    def work() -> Array:
        return joined(*(np.linalg.lstsq(x, y)[0] for x, y in axes))

    return work


# From joint samples.


def estimator(name: str, ask: int = 0) -> Callable[[RecordedRun], Work]:
    """An estimator of the suite, with an estimate every `ask` samples, if any, and at the end."""

    def prepare(run: RecordedRun) -> Work:
        def work() -> Array:
            estimator = make_estimator(name, run.geometry, run.scale)
            for i, sample in enumerate(run.samples, start=1):
                estimator.update(sample)
                if ask and i % ask == 0:
                    estimator.estimate()
            return np.array(estimator.estimate().values)

        return work

    return prepare


def scipy_fit(run: RecordedRun) -> Work:
    """curve_fit of SciPy: integrate (41) with friction, and search for its parameters."""
    samples, geometry = run.samples, run.geometry
    periods = np.diff([sample.stamp for sample in samples])
    turns = np.diff([sample.position for sample in samples], axis=0)
    measured = np.array([geometry.body_velocity(*turn) for turn in turns]) / periods[:, None]

    def work() -> Array:
        # Scale friction (N m s/rad and N m) so that 1 is a typical value.
        scales = np.concatenate((np.abs(run.truth), np.full(2, 0.01), np.full(2, 0.1)))
        begin = np.concatenate((WRONG * np.sign(run.truth), np.full(4, 0.1)))

        def model(_: object, *parameters: float) -> Array:
            return simulated(run, (np.array(parameters) * scales).tolist()).ravel()

        result = curve_fit(model, np.arange(measured.size), measured.ravel(), begin)[0]
        return np.array(result[:4] * scales[:4])

    return work


def simulated(run: RecordedRun, parameters: list[float]) -> Array:
    """Simulate the mean body velocities of each period, shape (n, 2), by the midpoint rule.

    Args:
        run: Run with the torques.
        parameters: K5..K8, viscous friction of the wheels, Coulomb friction of the wheels.
    """
    k5, k6, k7, k8, *friction = parameters
    wheels = run.geometry.wheel_velocity
    v = omega = 0.0
    means = []

    def change(v: float, omega: float, sample: JointSample) -> tuple[float, float]:
        left, right = (
            torque - viscous * speed - coulomb * math.tanh(speed / SMOOTH)
            for torque, speed, viscous, coulomb in zip(
                sample.effort, wheels(v, omega), friction[:2], friction[2:], strict=True
            )
        )
        return (
            k5 * omega * omega + k7 * (left + right),
            k6 * v * omega + k8 * (left - right),
        )

    for before, sample in zip(run.samples, run.samples[1:], strict=False):
        period = sample.stamp - before.stamp
        dv, domega = change(v, omega, sample)
        dv, domega = change(v + 0.5 * period * dv, omega + 0.5 * period * domega, sample)
        means.append((v + 0.5 * period * dv, omega + 0.5 * period * domega))
        v, omega = v + period * dv, omega + period * domega
    return np.array(means)


CONTENDERS: dict[str, Callable[[RecordedRun], Work]] = {
    "rows: plain floats": plain_rls,
    "rows: this suite's RecursiveLeastSquares": own_rls,
    "rows: padasip FilterRLS": padasip_rls,
    "rows: filterpy KalmanFilter": filterpy_kalman,
    "rows: statsmodels RecursiveLS, at once": statsmodels_rls,
    "rows: NumPy lstsq, at once": numpy_batch,
    "rows: NumPy lstsq with friction, at once": numpy_friction,
    "samples: this suite's rls": estimator("rls"),
    "samples: this suite's integral": estimator("integral"),
    f"samples: integral, asked every {ASKED}": estimator("integral", ASKED),
    "samples: SciPy curve_fit, at once": scipy_fit,
}


def prepared(run: RecordedRun, names: list[str]) -> dict[str, Work]:
    """Return the installed estimators, ready to run; missing ones are reported once."""
    works = {}
    for name in names:
        try:
            works[name] = CONTENDERS[name](run)
        except ImportError as error:
            print(f"{name}: left out, {error}; the top of this file says how to get it")
    return works


def costs(works: dict[str, Work], samples: int, rounds: int) -> dict[str, float]:
    """Return the CPU time per sample, s: the median of rounds in which all take turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            start = time.process_time()
            work()
            times[name].append((time.process_time() - start) / samples)
    return {name: float(np.median(each)) for name, each in times.items()}


def main() -> None:
    """Print the table."""
    parser = options(__doc__, robots=5)
    parser.add_argument("--seconds", type=float, default=60.0, help="robot time at 100 Hz, s")
    parser.add_argument("--rounds", type=int, default=5, help="rounds for the costs")
    parser.add_argument("--only", nargs="*", default=[""], help="names that contain these words")
    parser.add_argument("--peers", default="", help="folder in which the libraries are installed")
    asked = parser.parse_args()
    if asked.peers:
        sys.path.append(asked.peers)  # last, so that NumPy and SciPy come from the environment
    seeds, rubbing = range(asked.seed, asked.seed + asked.robots), RunSetting()
    free = replace(rubbing, viscous=(0.0, 0.0), coulomb=(0.0, 0.0))
    recordings = [record_runs(setting, seeds, asked.seconds) for setting in (rubbing, free)]
    names = [name for name in CONTENDERS if any(word in name for word in asked.only)]
    works = prepared(recordings[0][0], names)
    cost = costs(works, len(recordings[0][0].samples), asked.rounds)
    unit = cost.get("rows: padasip FilterRLS", math.nan)
    heads = ("us per sample", "of padasip", "error with friction, %", "without")
    table = Table("", *heads, width=42)
    for name in works:
        errors = [
            np.median(
                [100.0 * np.abs(CONTENDERS[name](run)() / run.truth - 1.0) for run in runs], axis=0
            )
            for runs in recordings
        ]
        table.row(name, 1e6 * cost[name], cost[name] / unit, *errors)


if __name__ == "__main__":
    main()
