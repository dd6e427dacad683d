#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sigma identified while driving, by a controller that does not know the robot's dead time.

Robots are drawn at random: time constants 0.1 to 3 s, drags 0.5 to 1.3, dead times 0 to 0.3 s,
odometry at 10 to 50 Hz with 2048 or 8192 counts or exact, with noise of 1 to 10 mm/s and 2 to 20
mrad/s. The tracker begins with sigma = 1 and a dead time of 0 and drives a figure-8 for 60 s, as
`launch siwek adaptive:=true` does. The true dead time of velocities from counts includes half a
period, as they are means over it.

Prints coverage and errors of sigma1..sigma4 and of the dead times, and how many axes are trusted;
`--known`: of a controller that knows the dead time.

    nice ./diffbot python benchmarks/sigma_dead_time.py --robots 40 --seed 2
"""

from __future__ import annotations

import numpy as np
from benchmark_tables import INTERVALS, Table, interval_cells, options

from arc_odometry import MotionLimits
from diffbot_controllers.velocity_tracking.law import (
    TrackerSettings,
    VelocityTracker,
)
from diffbot_description.sigma import Sigma
from diffbot_ident.velocity.sigma_fit import RecursiveFit, RecursiveSettings
from diffbot_sim.velocity_robot import VelocityRobot
from diffbot_study.velocity_driving import simulate_velocity_drive
from pose2d_trajectories import make_trajectory

DURATION = 60.0  # s
LIMITS = MotionLimits(0.7, 3.14)
START = Sigma(1.0, 1.0, 1.0, 1.0)


def drive(seed: int, number: int, known: bool) -> tuple[RecursiveFit, Sigma, float]:
    """Drive a random robot; return the estimator, the true sigma, and the true dead time, s."""
    r = np.random.default_rng((seed, number))
    dead_time = float(r.uniform(0.0, 0.3))
    tau, drag = 10.0 ** r.uniform(-1.0, 0.5, 2), r.uniform(0.5, 1.3, 2)
    true = Sigma.of_axes(*((t * d, d) for t, d in zip(tau.tolist(), drag.tolist(), strict=True)))
    period, counts = float(r.choice([0.02, 0.05, 0.1])), int(r.choice([0, 2048, 8192]))
    late = dead_time + (0.5 * period if counts else 0.0)
    assumed = (late, late) if known else None
    fit = RecursiveFit(START, None, RecursiveSettings(dead_time=assumed))
    settings = TrackerSettings(limits=LIMITS, dead_time=assumed or (0.0, 0.0))
    trajectory = make_trajectory(
        "figure_eight", amplitude_x=1.0, amplitude_y=0.6, period=float(r.uniform(15.0, 30.0)),
        laps=3, ramp_up=3.0, ramp_down=3.0,
    )  # fmt: skip
    noise = 10.0 ** r.uniform((-3.0, -2.7), (-2.0, -1.7))
    simulate_velocity_drive(
        VelocityRobot(true, dead_time=dead_time),
        VelocityTracker(settings, START, fit),
        trajectory,
        DURATION,
        estimator=fit,
        encoder_counts=counts,
        velocity_noise=(float(noise[0]), float(noise[1])),
        seed=number,
        period=period,
    )
    return fit, true, late


def main() -> None:
    """Print the figures."""
    parser = options(__doc__, robots=40, seed=2)
    parser.add_argument("--known", action="store_true", help="the controller knows the dead time")
    given = parser.parse_args()
    sigmas, stds, lates, late_stds, trusted = [], [], [], [], 0
    for number in range(given.robots):
        fit, true, late = drive(given.seed, number, given.known)
        sigmas.append(fit.values / true.as_array() - 1.0)
        stds.append(np.sqrt(fit.covariance.diagonal()) / true.as_array())
        lates += [each - late for each in fit.dead_time]
        late_stds += np.sqrt(fit.dead_time_variances).tolist()
        trusted += sum(reason is None for reason in fit.reasons())
    print(f"{trusted} of {2 * given.robots} axes trusted")
    table = Table("errors in %, ms", *INTERVALS)
    for k, (errors, deviations) in enumerate(
        zip(np.transpose(sigmas), np.transpose(stds), strict=True)
    ):
        table.row(f"sigma{k + 1}", *interval_cells(errors, deviations))
    if not given.known:
        table.row("dead time", *interval_cells(lates, late_stds, 1e3))
    with np.errstate(invalid="ignore"):
        largest = np.nanmax(np.abs(np.divide(sigmas, stds)))
    print(f"largest error of sigma: {largest:.1f} standard deviations")


if __name__ == "__main__":
    main()
