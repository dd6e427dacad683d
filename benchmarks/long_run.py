#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""10 hours of robot time in process: does anything wear out?

Three robots, each with encoders, noise, and troubles of its samples (see long_run_watch.Troubles);
from half time on their stamps are those of a clock since 1970, as on real robots.

identification  twil with friction under PRBS; the integral estimator that forgets nothing, one with
                a memory of 60 s, RLS and the Kalman filter learn for all the time
control         twil with loads that change; by turns the backstepping law on an 8, the linearizing
                law with steps, and the polar pose law with goals, all with live parameters from the
                estimator of dynamics_estimator
velocity        the robot of Siwek et al. (2023) with its dead time and loads; tracker and sigma on
                line

Once per second of robot time every covariance is looked at (finite, symmetric, smallest eigenvalue
of its correlation matrix), the estimates are compared with the truth, and every command with its
limits; at 1 h and at the end the memory. It ends with 1 if a promise was broken. How often the 95 %
intervals hold the truth is demanded of control periods up to 10 ms only, for which it is stated.

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
RATED = 0.01  # s; the estimators' intervals are stated for control periods up to this
GROWTH = 0.05  # of the memory between 1 h and the end
# Least eigenvalues of correlation matrices: of definite ones, and what rounding leaves of others.
LEAST, ROUNDING = 1e-9, -1e-12
ASYMMETRY = 1e-9


def live(hours: float, period: float, seed: int, name: str) -> Report:
    """Let a robot live for so many hours; returns its report."""
    steps = round(hours * HOUR / period)
    robot = ROBOTS[name](seed, period, steps)
    report, each = robot.report, round(1.0 / period)
    began, first = time.process_time(), 0
    # After the first hour, or the first tenth of shorter runs.
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
    """Memory and the worst so far, in a line."""
    definite = {what: watch for what, watch in report.matrices.items() if watch.definite}
    least = min(definite, key=lambda what: definite[what].least)
    return (
        f"memory {resident() / 2**20:.1f} MiB; smallest eigenvalue {definite[least].least:.2g} of "
        f"{least}; problems {report.problems_so_far}"
    )


def problems_of(report: Report, rated: bool) -> list[str]:
    """Which promises were broken.

    Args:
        report: of a robot.
        rated: whether its control period is one that the intervals are stated for.
    """
    found = [f"{what}: {number} times" for what, number in report.problems.items() if number]
    for name, watch in report.matrices.items():
        if watch.bad:
            found.append(f"{name}: {watch.bad} of {watch.looks} not finite or negative")
        if watch.asymmetry > ASYMMETRY:
            found.append(f"{name}: not symmetric")
        if watch.least < (LEAST if watch.definite else ROUNDING):
            found.append(f"{name}: not positive {'definite' if watch.definite else 'semidefinite'}")
    for name, intervals in report.intervals.items() if rated else ():
        for what, looks, held in zip(intervals.names, intervals.looks, intervals.held, strict=True):
            least = 0.95 * looks - CHANCE * math.sqrt(0.95 * 0.05 * looks)
            if looks and held < least:
                found.append(f"{name}: {what} in its interval {held} of {looks} times")
    return found


def show(report: Report, rated: bool) -> list[str]:
    """Print a report; returns its problems."""
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
    parser.add_argument("--hours", type=float, default=10.0, help="of robot time")
    parser.add_argument("--period", type=float, default=0.04, help="control period, s")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=list(ROBOTS))
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # small matrices only
    work = partial(live, options.hours, options.period, options.seed)
    broken = 0
    # Fresh processes: what one robot leaves in memory is not counted as another's.
    with get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        for report in pool.imap(work, options.robots):
            broken += bool(show(report, options.period <= RATED))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
