#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost of one update of each estimator, side by side on the same recorded samples.

CPU time per sample, the median of several rounds in which all take their turns, and its ratio to a
recursive least squares with two parameters in plain Python floats. That one is fed with ready
regressors; the estimators begin at joint samples, which they check, turn into regressors and learn
both halves of the model from. "Samples to estimate, plain floats" does as much as little as
possible: no checks, two regressions without friction, no confidence.

padasip and filterpy are compared where they are installed:

    ./diffbot python -m pip install padasip filterpy     # or with --target and PYTHONPATH
    ./diffbot python benchmarks/update_cost.py [--seconds 60] [--rounds 7]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from importlib import import_module

import numpy as np
from many_robots import record_many

from arc_odometry import JointSample
from diffbot_ident.torque.estimators import make_estimator
from diffbot_ident.torque.rls import PositionRegression, Row
from diffbot_study.recorded_runs import Run, Setting

# Samples between two estimates where somebody asks.
ASKED = 20


class PlainRls:
    """Two parameters by recursive least squares, Lages (2017), (57)-(59), in plain floats."""

    def __init__(self) -> None:
        self.a = self.b = 0.0
        self._paa = self._pbb = 1e6
        self._pab = 0.0

    def update(self, x: float, z: float, y: float) -> None:
        """Take in regressors x, z and output y."""
        paa, pab, pbb = self._paa, self._pab, self._pbb
        ka, kb = paa * x + pab * z, pab * x + pbb * z
        scale = 1.0 / (1.0 + x * ka + z * kb)
        error = (y - self.a * x - self.b * z) * scale
        self.a += ka * error
        self.b += kb * error
        self._paa = paa - ka * ka * scale
        self._pab = pab - ka * kb * scale
        self._pbb = pbb - kb * kb * scale


class PlainFloats:
    """From joint samples to K5..K8 in plain floats, with nothing that is not needed for that."""

    def __init__(self, run: Run) -> None:
        self._regression = PositionRegression(run.geometry)
        self._linear, self._angular = PlainRls(), PlainRls()

    def update(self, sample: JointSample) -> None:
        """Take in one sample."""
        row = self._regression.push(sample)
        if row is not None:
            (x, z), y = row.linear
            self._linear.update(x, z, y)
            (x, z), y = row.angular
            self._angular.update(x, z, y)


def rows_of(run: Run) -> list[Row]:
    """Rows of the two-parameter regressions."""
    regression = PositionRegression(run.geometry)
    return [row for sample in run.samples if (row := regression.push(sample)) is not None]


def plain_rls(run: Run) -> Callable[[], None]:
    """One two-parameter RLS in plain floats."""
    rows = [(*row.linear[0], row.linear[1]) for row in rows_of(run)]

    def work() -> None:
        update = PlainRls().update
        for x, z, y in rows:
            update(x, z, y)

    return work


def padasip_rls(run: Run) -> Callable[[], None]:
    """One two-parameter RLS of padasip."""
    filters = import_module("padasip").filters
    rows = [(row.linear[1], np.array(row.linear[0])) for row in rows_of(run)]

    def work() -> None:
        adapt = filters.FilterRLS(n=2, mu=1.0, eps=1e-6).adapt
        for y, x in rows:
            adapt(y, x)

    return work


def filterpy_rls(run: Run) -> Callable[[], None]:
    """One two-parameter RLS as a Kalman filter of filterpy with a constant state."""
    kalman = import_module("filterpy.kalman")
    rows = [(row.linear[1], np.array([row.linear[0]])) for row in rows_of(run)]

    def work() -> None:
        update = kalman.KalmanFilter(dim_x=2, dim_z=1).update
        for y, x in rows:
            update(y, H=x)

    return work


def plain_samples(run: Run) -> Callable[[], None]:
    """Both regressions in plain floats, from joint samples."""

    def work() -> None:
        update = PlainFloats(run).update
        for sample in run.samples:
            update(sample)

    return work


def estimator(name: str, ask: int = 0) -> Callable[[Run], Callable[[], None]]:
    """An estimator of the project, with an estimate every `ask` samples, if any."""

    def prepare(run: Run) -> Callable[[], None]:
        def work() -> None:
            found = make_estimator(name, run.geometry, run.scale)
            update = found.update
            if not ask:
                for sample in run.samples:
                    update(sample)
                return
            for i, sample in enumerate(run.samples):
                update(sample)
                if i % ask == 0:
                    found.estimate()

        return work

    return prepare


CONTENDERS = {
    "plain floats, one RLS of 2 parameters": plain_rls,
    "padasip FilterRLS, one of 2 parameters": padasip_rls,
    "filterpy KalmanFilter, one of 2 parameters": filterpy_rls,
    "samples to estimate, plain floats": plain_samples,
    "integral": estimator("integral"),
    f"integral, an estimate every {ASKED} samples": estimator("integral", ASKED),
    "rls (the paper's two regressions)": estimator("rls"),
    "kalman": estimator("kalman"),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of robot time at 100 Hz")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    (run,) = record_many(Setting(), [0], arguments.seconds)
    works = {}
    for name, prepare in CONTENDERS.items():
        try:
            works[name] = prepare(run)
        except ImportError as error:
            print(f"{name}: left out, {error}; see the top of this file")
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(arguments.rounds):
        for name, work in works.items():
            start = time.process_time()
            work()
            times[name].append((time.process_time() - start) / len(run.samples))
    unit = math.inf
    print(f"{'CPU time per sample':46} |     us | ratio")
    for name, each in times.items():
        median = float(np.median(each))
        unit = min(unit, median) if math.isinf(unit) else unit
        print(f"{name:46} | {1e6 * median:6.2f} | {median / unit:6.2f}")


if __name__ == "__main__":
    main()
