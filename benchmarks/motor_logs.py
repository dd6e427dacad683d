#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Motors from made logs of 0.7 s at 1 kHz: resistance and Ke, and faults by name; truth is known.

    ./diffbot python benchmarks/motor_logs.py [--robots 100] [--seed 1000]

Currents have 5 % noise and up to 5 % offset of the largest current, speeds 40 to 200 steps
(diffbot_study.motor_logs). Prints the 95th percentiles of the errors and how many 95 % intervals
hold, then how many of each fault are named, and how many healthy robots are blamed.
"""

from __future__ import annotations

import argparse

import numpy as np

from diffbot_ident.recording.motor_analysis import MotorAnalysis, analyse_motors
from diffbot_study.motor_logs import FAULTS, PERIOD, Motor, drawn, make_log

NAMES = {
    "R": "resistance",
    "Ke": "constant",
    "inertia": "inertia",
    "Coulomb friction": "coulomb",
}


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1000)
    arguments = parser.parse_args()
    seeds = range(arguments.seed, arguments.seed + arguments.robots)
    healthy = [analysed(seed, None) for seed in seeds]
    print("parameter         error % (95th percentile)  intervals that hold %")
    for name, field in NAMES.items():
        errors, holds = [], []
        for motors, found in healthy:
            for motor, analysis in zip(motors, found, strict=True):
                value, true = analysis.verdict.value(name), float(getattr(motor, field))
                errors.append(abs(value.value / true - 1.0))
                holds.append(abs(value.value - true) <= 1.96 * value.std)
        print(
            f"{name:17} {100.0 * np.percentile(errors, 95.0):25.2f} {100.0 * np.mean(holds):22.1f}"
        )
    blamed = sum(not all(a.verdict.usable for a in found) for _, found in healthy)
    print(f"\nhealthy robots that are blamed: {blamed} of {len(healthy)}")
    for fault, words in FAULTS.items():
        named = sum(words in analysed(seed, fault)[1][0].verdict.reason for seed in seeds)
        print(f"{fault}: named in {named} of {len(seeds)}")


def analysed(seed: int, fault: str | None) -> tuple[tuple[Motor, Motor], list[MotorAnalysis]]:
    """Two motors, and what is said of their log."""
    rng = np.random.default_rng(seed)
    motors = drawn(rng)
    return motors, analyse_motors([(PERIOD, make_log(motors, rng, fault))])


if __name__ == "__main__":
    main()
