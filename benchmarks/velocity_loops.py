#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settling time and overshoot of feedback linearization with PI, Lages (2017), (61)-(72).

Steps of v and omega from rest, small enough for the torque limit, on engine ideal. Settled means
permanently within 1 % of the step, by the true velocity, evaluated every 0.5 ms. Prints the largest
value over the steps. "exact" loops know the velocity at the control instant, "encoder" loops its
mean over the last period, from differences of exact angles. --encoder-counts quantizes the angles;
the velocity then chatters, and `rest` is its rms error from 0.1 s on, % of the step.

    ./diffbot python benchmarks/velocity_loops.py [--encoder-counts 4096]
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from numpy.typing import NDArray

from arc_odometry import Pose, Velocity
from diffbot_controllers import LinearizingController, PiDesign, State
from diffbot_description import Robot, load_robot
from diffbot_sim.engines import make_simulator
from diffbot_sim.simulator import Simulator
from diffbot_sim.virtual_robot import Encoders

FINE = 0.0005  # s
DURATION = 0.4  # s
RATES = (100, 200, 1000)  # Hz
STEPS = ((0.3, 0.0), (-0.3, 0.0), (0.0, 2.0), (0.2, 1.0))  # m/s, rad/s
ACCURACY = 0.01 * (1.0 + 1e-6)


def drive(
    engine: Simulator,
    robot: Robot,
    law: LinearizingController,
    step: Velocity,
    period: float,
    encoders: Encoders | None,
) -> NDArray[np.float64]:
    """Return rows of time (s) and true v, omega, every FINE s, from rest."""
    geometry = robot.geometry
    engine.reset()
    rows, before = [], None
    for k in range(round(DURATION / period)):
        seen = Velocity(*engine.velocity())
        if encoders is not None:
            now, _ = encoders.read(engine.wheel_angles(), engine.wheel_velocities())
            before = before or now
            turned = [(b - a) / period for a, b in zip(before, now, strict=True)]
            seen, before = Velocity(*geometry.body_velocity(*turned)), now
        torque = law.update(State(Pose(0.0, 0.0, 0.0), seen), step, period)
        for i in range(round(period / FINE)):
            rows.append((k * period + i * FINE, *engine.velocity()))
            engine.step(torque, FINE)
    return np.array(rows)


def measures(rows: NDArray[np.float64], step: Velocity) -> NDArray[np.float64]:
    """Return settling time in s, overshoot and rest relative to the step, larger axis."""
    results = []
    for column, target in enumerate(step, start=1):
        if target == 0.0:
            continue
        error = rows[:, column] / target - 1.0
        outside = np.flatnonzero(np.abs(error) > ACCURACY)
        last = outside[-1] + 1
        settled = rows[last, 0] if last < len(rows) else math.inf
        late = rows[:, 0] >= 0.1
        results.append((settled, error.max(), np.sqrt(np.mean(error[late] ** 2))))
    return np.max(results, axis=0)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default="twil", help="name or path of a robot")
    parser.add_argument(
        "--settling-time", type=float, default=0.05, help="settling time of the design, s"
    )
    parser.add_argument("--encoder-counts", type=int, default=0, help="0: exact angles")
    parser.add_argument("--seed", type=int, default=0, help="seed of the encoders' phases")
    arguments = parser.parse_args()
    robot = load_robot(arguments.robot)
    engine = make_simulator("ideal", robot)
    dynamics = engine.parameters()
    print("gains     | rate Hz | velocity | settling ms | overshoot % | rest %")
    for gains in ("design", "published"):
        for rate in RATES:
            for velocity in ("exact", "encoder"):
                mean = velocity == "encoder"
                results = []
                for step in STEPS:
                    if gains == "published":
                        law = LinearizingController.published(dynamics)
                    else:
                        law = LinearizingController(
                            dynamics,
                            PiDesign(arguments.settling_time),
                            robot.limits.torque,
                            mean_velocity=mean,
                        )
                    encoders = Encoders(arguments.encoder_counts, 1.0 / rate, arguments.seed)
                    rows = drive(
                        engine, robot, law, Velocity(*step), 1.0 / rate, encoders if mean else None
                    )
                    results.append(measures(rows, Velocity(*step)))
                settled, overshoot, rest = np.max(results, axis=0)
                print(
                    f"{gains:9} | {rate:7d} | {velocity:8} | {1e3 * settled:11.1f}"
                    f" | {100 * overshoot:11.3g} | {100 * rest:6.3g}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
