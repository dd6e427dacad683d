#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""10 hours of robot time in one process: check for drift, numerical degradation and memory growth.

Three robots, each with encoders, noise, and sample faults (see long_run_watch.Troubles). From half
time on, their stamps are seconds since 1970, as on real robots.

identification  twil with friction under PRBS; the integral estimator without forgetting, one with a
                memory of 60 s, and RLS run all the time
control         twil with changing loads; alternately the backstepping law on a figure-8, the
                linearizing law with steps, and the polar pose law with goals, all with live
                parameters from the estimator of dynamics_estimator
velocity        the robot of Siwek et al. (2023) with its dead time and loads; tracker and on-line
                sigma

Once per second of robot time, the benchmark checks every covariance (finite, symmetric, smallest
eigenvalue of its correlation matrix), compares the estimates with the truth, and checks every
command against its limits; at 1 h and at the end it checks the memory. Exit status 1 if a promise
was broken. The coverage of the 95 % intervals is required only for control periods up to 10 ms, for
which it is specified.

    ./diffbot python benchmarks/long_run.py [--hours 10] [--period 0.04] [--robots control ...]
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from functools import partial
from multiprocessing import get_context

from long_run_control import Control
from long_run_identification import Identification
from long_run_velocity import Velocity
from long_run_watch import CHANCE, Report, resident

ROBOTS = {"identification": Identification, "control": Control, "velocity": Velocity}
HOUR = 3600.0
RATED = 0.01  # s; longest control period for which the estimators' intervals are specified
GROWTH = 0.05  # largest relative growth of memory between 1 h and the end
# Minimum eigenvalues of correlation matrices: definite ones, and semidefinite ones with rounding.
LEAST, ROUNDING = 1e-9, -1e-12
ASYMMETRY = 1e-9


def live(hours: float, period: float, seed: int, name: str) -> Report:
    """Run a robot for some hours; return its report."""
    steps = round(hours * HOUR / period)
    robot = ROBOTS[name](seed, period, steps)
    report, each = robot.report, round(1.0 / period)
    began, first = time.process_time(), 0
    # Initial memory: after the first hour, or the first tenth of shorter runs.
    early = min(round(HOUR / period), steps // 10)
    for step in range(1, steps + 1):
        robot.advance()
        if step % each == 0:
            robot.look()
        if step == early:
            first = resident()
        if step % round(HOUR / period) == 0:
            print(f"{name}, {step * period / HOUR:.0f} h: {progress(robot.report)}", flush=True)
    growth = resident() / first - 1.0
    cpu = time.process_time() - began
    report.lines.insert(
        0,
        f"{name}: {hours:g} h in {steps} periods of {period:g} s, CPU {cpu:.0f} s "
        f"({hours * HOUR / cpu:.0f} times real time); memory {first / 2**20:.1f} MiB after "
        f"{early * period / HOUR:.2g} h, {100.0 * growth:+.2f} % at the end",
    )
    report.demand(growth <= GROWTH, f"memory grew by {100.0 * growth:.1f} %")
    robot.conclude()
    return report


def progress(report: Report) -> str:
    """Return memory and the worst values so far, in a line."""
    definite = {what: watch for what, watch in report.matrices.items() if watch.definite}
    least = min(definite, key=lambda what: definite[what].least)
    return (
        f"memory {resident() / 2**20:.1f} MiB; smallest eigenvalue {definite[least].least:.2g} of "
        f"{least}; problems {report.problems_so_far}"
    )


def problems_of(report: Report, rated: bool) -> list[str]:
    """Return the broken promises.

    Args:
        report: Report of a robot.
        rated: Whether the intervals are specified for its control period.
    """
    results = [f"{what}: {number} times" for what, number in report.problems.items() if number]
    for name, watch in report.matrices.items():
        if watch.bad:
            results.append(f"{name}: {watch.bad} of {watch.looks} not finite or negative")
        if watch.asymmetry > ASYMMETRY:
            results.append(f"{name}: not symmetric")
        if watch.least < (LEAST if watch.definite else ROUNDING):
            results.append(
                f"{name}: not positive {'definite' if watch.definite else 'semidefinite'}"
            )
    for name, intervals in report.intervals.items() if rated else ():
        for what, looks, covered in zip(
            intervals.names, intervals.looks, intervals.covered, strict=True
        ):
            least = 0.95 * looks - CHANCE * math.sqrt(0.95 * 0.05 * looks)
            if looks and covered < least:
                results.append(f"{name}: {what} in its interval {covered} of {looks} times")
    return results


def show(report: Report, rated: bool) -> list[str]:
    """Print a report; return its problems."""
    print(*report.lines, sep="\n  ")
    print("  " + ", ".join(f"{number} {what}" for what, number in report.counts.items()))
    for what, watch in report.matrices.items():
        print(
            f"  {what}: {watch.looks} looks, smallest eigenvalue {watch.least:.2g} of its "
            f"correlations, asymmetry {watch.asymmetry:.1g}, {watch.bad} bad"
        )
    for what, intervals in report.intervals.items():
        print(f"  {what}, in the 95 % interval: {intervals}")
    problems = problems_of(report, rated)
    print("  " + ("\n  ".join(f"PROBLEM {p}" for p in problems) or "no problem"), flush=True)
    return problems


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=10.0, help="robot time, h")
    parser.add_argument("--period", type=float, default=0.04, help="control period, s")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=list(ROBOTS))
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # small matrices only
    work = partial(live, options.hours, options.period, options.seed)
    broken = 0
    # A new process per robot, so that memory of one robot is not attributed to another.
    with get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        for report in pool.imap(work, options.robots):
            broken += bool(show(report, options.period <= RATED))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
