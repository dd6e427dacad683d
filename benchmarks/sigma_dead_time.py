#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sigma identified while driving, by a controller that does not know the robot's dead time.

Robots are drawn at random: time constants 0.1 to 3 s, drags 0.5 to 1.3, dead times 0 to 0.3 s,
odometry at 10 to 50 Hz with 2048 or 8192 counts or exact, with noise of 1 to 10 mm/s and 2 to 20
mrad/s. The tracker begins with sigma = 1 and a dead time of 0 and drives a figure-8 for 60 s, as
`launch siwek adaptive:=true` does. The true dead time of velocities from counts includes half a
period, as they are means over it.

Prints coverage of the 95 % intervals of sigma1..sigma4 and of the dead times, how many axes are
trusted, the largest error in standard deviations, the median relative half width, and the same for
a controller that knows the dead time (`--known`).

    nice ./diffbot python benchmarks/sigma_dead_time.py --robots 40 --seed 2
"""

from __future__ import annotations

import argparse

import numpy as np

from arc_odometry import MotionLimits
from diffbot_controllers.velocity_tracking.law import (
    TrackerSettings,
    VelocityTracker,
)
from diffbot_description.sigma import Sigma
from diffbot_ident.torque.estimate import NORMAL_95
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
    settings = TrackerSettings(limits=LIMITS, dead_time=late if known else 0.0)
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", type=int, default=40)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--known", action="store_true", help="the controller knows the dead time")
    options = parser.parse_args()
    sigmas, lates, shares, trusted = [], [], [], 0
    for number in range(options.robots):
        fit, true, late = drive(options.seed, number, options.known)
        deviations = np.sqrt(fit.covariance.diagonal())
        known = np.isfinite(deviations)
        sigmas.append(np.where(known, (fit.values - true.as_array()) / deviations, np.nan))
        shares.append(np.where(known, NORMAL_95 * deviations / true.as_array(), np.nan))
        if not options.known:
            spread = np.sqrt(fit.dead_time_variances)
            lates += ((np.array(fit.dead_time) - late) / spread)[np.isfinite(spread)].tolist()
        trusted += sum(reason is None for reason in fit.reasons())
    covered = np.where(np.isnan(sigmas), np.nan, np.abs(sigmas) <= NORMAL_95)
    print(
        f"sigma on line, dead time {'known' if options.known else 'not known'}, {options.robots} "
        f"robots: {trusted} of {2 * options.robots} axes trusted; intervals that hold the truth "
        f"{(100.0 * np.nanmean(covered, axis=0)).round(1)} %, all "
        f"{100.0 * np.nanmean(covered):.1f} %; largest error {np.nanmax(np.abs(sigmas)):.1f} "
        f"deviations; half width, median {(100.0 * np.nanmedian(shares, axis=0)).round(2)} %"
    )
    if lates:
        inside = 100.0 * np.mean(np.abs(lates) <= NORMAL_95)
        print(f"dead times: {inside:.1f} % of {len(lates)}; largest {np.max(np.abs(lates)):.1f}")


if __name__ == "__main__":
    main()
