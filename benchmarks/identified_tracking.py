#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of 8 by random velocity robots, with true, identified and the launch file's parameters.

The robots are those of diffbot_bench, whose simulation shares nothing with the suite's. Each
is excited for 90 s and analysed as there; then the tracking law drives two laps, with the pose by
dead reckoning from encoder counts, three times: with the true parameters, with the identified ones,
and with the defaults of `launch siwek` (sigma of a TurtleBot 2, no dead time, dead band or ramp).
The figure-8 is one that the robot can follow: at most 60 % of its speeds and accelerations. The
error is the rms distance of the true position from the reference over the second lap. A robot
of which an axis is refused is not driven, and counts as one that does not keep the ratio.

    ./diffbot python benchmarks/identified_tracking.py --robots 100 --first 9000
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from arc_odometry import Pose, Velocity
from diffbot_bench.control.velocity_drives import SuiteLaw, figure, identified
from diffbot_bench.velocity_plant import COMPUTING, LaggingRobot, draw, record
from diffbot_controllers.laws.tracking_errors import TrackingErrors
from diffbot_description import Sigma
from diffbot_description.command_ramp import CommandRamp, RampCoupling
from diffbot_description.dead_band import DeadBand, DeadBandKind
from diffbot_description.velocity_parameters import IdentifiedSigma

# Default of launch siwek.
DEFAULT = IdentifiedSigma(Sigma(3.446, 4.576, 0.86, 0.254))
# Asked: at most this ratio to the error with the true parameters, at least this with the defaults.
IDENTIFIED, WORSE = 1.3, 3.0


def true_parameters(truth: LaggingRobot) -> IdentifiedSigma:
    """Return what an identification without error would have told."""
    drag, late = 1.0 / truth.gain, truth.delay + 0.5 * truth.period + COMPUTING
    kind = DeadBandKind.THRESHOLD if truth.threshold else DeadBandKind.OFFSET
    v, omega = (DeadBand(float(width), kind) for width in truth.band)
    ramp = None
    if truth.ramp:
        together = truth.ramp == "smoother, together"
        ramp = CommandRamp(
            Velocity(*truth.speeding.tolist()),
            Velocity(*truth.braking.tolist()),
            RampCoupling.SCALED if together else RampCoupling.OWN,
            truth.ramp.startswith("smoother"),
        )
    sigma = Sigma(*(truth.tau * drag).tolist(), *drag.tolist())
    return IdentifiedSigma(sigma, dead_time=(late, late), dead_band=(v, omega), ramp=ramp)


def drive(truth: LaggingRobot, known: IdentifiedSigma, seed: int) -> float:
    """Return the rms distance of the second lap, m."""
    trajectory = figure(truth)
    start = trajectory.at(0.0)
    law, begin = SuiteLaw(truth, known, trajectory), Pose(start.x, start.y, start.theta)
    log = record(truth, law.command, trajectory.duration, seed, begin)
    times = log.odometry[:, 0]
    reference = np.array([trajectory.at(t).pose for t in times.tolist()])
    return TrackingErrors.between(times, log.poses, reference).rms(0.5 * trajectory.duration)[0]


def outcome(truth: LaggingRobot, seed: int) -> tuple[IdentifiedSigma | None, str]:
    """Return what 90 s of excitation tell, or None and the reason."""
    try:
        return identified(truth, seed), ""
    except ValueError as error:
        return None, str(error)


def main() -> None:
    """Print the errors of each robot, and the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--robots", type=int, default=100)
    parser.add_argument("--first", type=int, default=9000, help="seed of the first robot")
    parser.add_argument("--known", action="store_true", help="only the true parameters")
    arguments = parser.parse_args()
    ratios, worse, errors = [], [], []
    for seed in range(arguments.first, arguments.first + arguments.robots):
        truth = draw(seed)
        band = "" if truth.band[0] == 0.0 else "threshold" if truth.threshold else "offset"
        best = drive(truth, true_parameters(truth), seed)
        errors.append(best)
        default = drive(truth, DEFAULT, seed) / best
        worse.append(default)
        text = "" if arguments.known else "refused"
        if not arguments.known:
            known, reason = outcome(truth, seed)
            ratios.append(math.inf if known is None else drive(truth, known, seed) / best)
            text = f"identified x {ratios[-1]:.2f} {reason[:80]}"
        print(
            f"robot {seed}: {1.0 / truth.period:.0f} Hz, dead time {truth.delay:.2f} s, lags "
            f"{truth.tau[0]:.2f} {truth.tau[1]:.2f} s, {band} {truth.ramp}: true "
            f"{1e3 * best:.1f} mm, {text}, default x {default:.0f}",
            flush=True,
        )
    low, median, high = 1e3 * np.quantile(errors, (0.1, 0.5, 0.9))
    print(f"true parameters: rms {low:.1f}, {median:.1f}, {high:.1f} mm (10, 50, 90 %)")
    if ratios:
        kept, refused = np.mean(np.array(ratios) <= IDENTIFIED), np.mean(np.isinf(ratios))
        print(
            f"identified: at most {IDENTIFIED:g} times that in {kept:.0%} of {len(ratios)} "
            f"(refused {refused:.0%}), median {np.median(ratios):.3f}"
        )
    print(
        f"defaults: at least {WORSE:g} times in {np.mean(np.array(worse) >= WORSE):.0%}, median "
        f"{np.median(worse):.0f}"
    )


if __name__ == "__main__":
    main()
