# SPDX-License-Identifier: Apache-2.0
"""Cost of many robots in a block of engine, sensors and law, compared with one robot at a time.

    ./diffbot python benchmarks/robot_batches.py --robots 1000 --seconds 60

Robots of random_robots with encoders, friction and 2 % torque noise follow a figure-8 with the
backstepping law, from rest up to 0.2 m beside it. Prints the processor time of a block and of one
robot alone, and the extrapolated time of 10 000 robots.
"""

from __future__ import annotations

import math
import time

import numpy as np
from benchmark_tables import options
from driving import law_of

from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import Robot, closed_form
from diffbot_study.batch_driving import BATCH, simulate_drives
from diffbot_study.driving import PERIOD, Law, simulate_drive
from diffbot_study.random_robots import draw
from pose2d_trajectories import make_trajectory

EIGHT = make_trajectory("figure_eight", amplitude_x=1.0, amplitude_y=1.0, period=20.0, ramp_up=0.0)
ASKED = 10_000, 60.0


def standard_law(robot: Robot) -> Law:
    """Create the law for this robot as a node does."""
    return law_of("backstepping", closed_form(robot.model), robot, KnownWheels.of(robot))


def drivable(count: int, first: int) -> list[Robot]:
    """Return robots of seeds from `first` on whose friction leaves enough torque to drive."""
    robots: list[Robot] = []
    seed = first
    while len(robots) < count:
        robot = draw(seed).robot
        seed += 1
        try:
            standard_law(robot)
        except ValueError:
            continue
        robots.append(robot)
    return robots


def main() -> None:
    """Print the figures."""
    parser = options(__doc__, robots=BATCH, seed=1000)
    parser.add_argument("--seconds", type=float, default=ASKED[1])
    parser.add_argument("--alone", type=float, default=5.0, help="drive of one robot alone, s")
    given = parser.parse_args()
    n, seconds = given.robots, given.seconds
    robots = drivable(n, given.seed)
    first = EIGHT.at(0.0)
    beside = np.random.default_rng(given.seed).uniform(-0.2, 0.2, (3, n))
    starts = np.array([[first.x], [first.y], [first.theta]]) + beside
    begun = time.process_time()
    result = simulate_drives(
        robots, [standard_law(robot) for robot in robots], EIGHT.at, seconds,
        starts=starts, torque_noise=0.02, seeds=range(n),
    )  # fmt: skip
    batch = time.process_time() - begun
    begun = time.process_time()
    start = (float(starts[0, 0]), float(starts[1, 0]), float(starts[2, 0]))
    simulate_drive(
        "ideal", robots[0], standard_law(robots[0]), EIGHT.at, given.alone,
        start=start, torque_noise=0.02,
    )  # fmt: skip
    alone = (time.process_time() - begun) * seconds / given.alone
    steps = seconds / PERIOD
    print(f"{n} robots x {seconds:g} s at {1.0 / PERIOD:g} Hz: {batch:.1f} s of processor time")
    print(f"a robot's step: {1e6 * batch / n / steps:.2f} us in the block, ", end="")
    print(f"{1e6 * alone / steps:.0f} us alone: {alone * n / batch:.0f} times")
    robots_asked, seconds_asked = ASKED
    total = batch / n / seconds * robots_asked * seconds_asked
    print(f"{robots_asked} robots x {seconds_asked:g} s: {0.5 * total:.0f} s on two cores")
    settled = np.isfinite(result.settling_time).mean()
    median = 1e3 * float(np.median(result.rms_position))
    print(f"settled: {100.0 * settled:.1f} %; median of the rms error {median:.2f} mm")
    if not math.isfinite(median):
        raise SystemExit("a drive has diverged")


if __name__ == "__main__":
    main()
