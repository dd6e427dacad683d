#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Identification of the omnidirectional robot of Conceicao et al. (2006), their data and ours.

First prints the results from the paper's Tables 1 and 4. Then repeats its three experiments in
simulation, on the robot with the means of Tables 5 and 6, many times with different noise:

    speeds of the wheels    12 mm/s, steps of 2 mm/s       every 40 ms
    currents                0.1 A, steps of 0.02 A
    angle of the camera     10 mrad, steps of 5 mrad

Method 1 uses four speeds of 5 s for each axis, method 2 several coasting runs for each, method 3
one fall of 0.510 kg. Prints the true value, bias and standard deviation of the estimates, the mean
half width of their 95 % intervals, all in % of the truth, and the coverage of the intervals. Method
2 does not know the mass: its parameters are B / M and C / M, for W B / J and C / J.

    ./diffbot python benchmarks/omni.py                       # 100 runs, 5 coastings: 15 s
    ./diffbot python benchmarks/omni.py --runs 1000
    ./diffbot python benchmarks/omni.py --coastings 1         # what a single coasting gives

"as printed" uses Euler accelerations with least squares, and neglects the inertia of the falling
mass; "our dW/dt" is the same with the acceleration fitted to the angles.
"""

from __future__ import annotations

import numpy as np
from benchmark_tables import options

from diffbot_papers.omni import model as published
from diffbot_papers.omni.experiments import Repeated, repeat_experiments
from diffbot_papers.omni.model import AXES, OmniRobot
from diffbot_papers.omni.omni_identification import HangingRig, fit_steady, mean


def print_paper() -> None:
    """Print the results from Tables 1 and 4."""
    print("Tables 1, 2  axis | B as printed, recomputed, 95 %  | C as printed, recomputed, 95 %")
    for i, axis in enumerate(AXES):
        fit = fit_steady(published.TABLE_1_SPEEDS, published.TABLE_1_FORCES[i])
        print(
            f"             {axis:4} | {published.TABLE_2.viscous[i]:5.2f}  {fit.viscous.value:7.4f}"
            f" ± {fit.viscous.half_width:.2f} | {published.TABLE_2.coulomb[i]:5.2f}"
            f"  {fit.coulomb.value:7.4f} ± {fit.coulomb.half_width:.2f}"
        )
    print("Table 4   experiment | J as printed, recomputed, with the falling mass, kg m^2")
    corrected = []
    for i, row in enumerate(published.TABLE_4):
        rig = HangingRig(row.load)
        corrected.append(rig.inertia(row.acceleration).value)
        again = rig.inertia_published(row.acceleration).value
        print(f"          {i + 1:10} | {row.inertia:.4f}  {again:.4f}  {corrected[-1]:.4f}")
    uncertain_value = mean(corrected)
    print(
        f"Table 6   J: methods 1 + 2 {published.TABLE_6_METHODS_1_2}, method 3 "
        f"{published.TABLE_6_METHOD_3}, corrected {uncertain_value.value:.4f} ± "
        f"{uncertain_value.half_width:.4f}"
    )


def print_repeated(repeated: Repeated) -> None:
    """Print a line of the table of simulated experiments."""
    print(
        f"{repeated.method:24} | {repeated.quantity:9} | {repeated.truth:8.4f} | "
        f"{100 * repeated.bias:+7.2f} | {100 * repeated.spread:6.2f} | "
        f"{100 * repeated.half_width:6.2f} | {100 * repeated.coverage:5.1f}",
        flush=True,
    )


def main() -> None:
    """Print the tables."""
    parser = options(__doc__, robots=100)
    parser.add_argument(
        "--coastings", type=int, default=5, help="coasting runs per repetition and axis"
    )
    arguments = parser.parse_args()
    print_paper()
    print(f"\n{arguments.robots} runs, {arguments.coastings} coastings each, seed {arguments.seed}")
    print("method                   | parameter |    truth |  bias % |  std % | half % | holds %")
    random = np.random.default_rng(arguments.seed)
    for result in repeat_experiments(
        OmniRobot(), random, arguments.robots, coastings=arguments.coastings
    ):
        print_repeated(result)


if __name__ == "__main__":
    main()
