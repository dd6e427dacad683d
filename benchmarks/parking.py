#!/usr/bin/env python3
"""Parking times and figure-8 errors of the backstepping laws on the ideal engine.

Parking is from the origin, settled when the robot stays within 1 cm and 1 degree; least, median and
largest over the starts, "lost" counts those that never settle. A figure-8 is x = Ax sin 2Wt,
y = -Ay cos Wt, W = 2 pi / Tp, from a start 0.5 m beside it; root mean squares over the second lap,
the worst start. Starts are perturbed by up to 1 mm and 1 mrad, uniformly, from --seed.

    ./diffbot python benchmarks/parking.py [--starts 15] [--laps-starts 3] [--torque 5]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from diffbot_controllers import (
    BodyDynamics,
    LinearizingController,
    PolarPoseController,
    PublishedBackstepping,
    Reference,
    approach_gains,
    tuned_backstepping,
)
from diffbot_controllers.closed_loop import Plant, Run, run
from diffbot_description import load_robot
from diffbot_sim.engines import make_simulator
from pose2d_trajectories import make_trajectory

PERIOD = 0.01  # s
GOALS = ((1.0, 0.0, 0.0), (5.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, math.pi))
# Ax and Ay in m, Tp in s.
EIGHTS = (
    (1.0, 0.5, 40.0),
    (1.0, 0.5, 20.0),
    (0.5, 0.25, 20.0),
    (0.5, 0.5, 20.0),
    (0.3, 0.15, 15.0),
    (1.0, 1.0, 30.0),
    (2.0, 0.5, 40.0),
    (2.0, 1.0, 30.0),
    (3.0, 1.5, 60.0),
)


class Bench:
    """Laws by name on one robot.

    Args:
        robot: name or path.
        torque: limit of a wheel, N m.
        seed: of the starts.
    """

    def __init__(self, robot: str, torque: float, seed: int) -> None:
        self.plant = make_simulator("ideal", load_robot(robot))
        k = self.plant.parameters()
        dynamics = BodyDynamics(k.k5, k.k6, k.k7, k.k8)
        gains = approach_gains(dynamics, torque, 3.0, 10.0)
        self.laws: dict[str, Callable] = {
            "standard": lambda: tuned_backstepping(dynamics, torque),
            "polar+PI": lambda: PolarPoseController(
                LinearizingController(dynamics, torque_limit=torque), gains
            ),
            "published": lambda: PublishedBackstepping(dynamics, torque_limit=torque),
        }
        self._seed = seed

    def perturbations(self, count: int) -> np.ndarray:
        """Offsets of the starts, m, m, rad, shape (count, 3)."""
        return np.random.default_rng(self._seed).uniform(-1e-3, 1e-3, (count, 3))

    def drive(
        self, law: str, start: np.ndarray, reference: Callable[[float], Reference], time: float
    ) -> Run:
        """One run of a law from a start (x, y, theta) for a time, s."""
        self.plant.reset(tuple(map(float, start)))
        controller = self.laws[law]()
        plant: Plant = self.plant
        return run(
            plant, lambda s, t: controller.update(s, reference(t), PERIOD), reference, time, PERIOD
        )


def print_parking(bench: Bench, starts: int) -> None:
    """Settling times by law and goal."""
    print("goal x y theta    | law       | settling time s: least median largest | lost | torque")
    for goal in GOALS:
        reference = Reference(*goal)
        for law in bench.laws:
            runs = [
                bench.drive(law, start, lambda t, r=reference: r, 8.0)
                for start in bench.perturbations(starts)
            ]
            times = np.sort([r.settling_time for r in runs])
            lost = int(np.sum(np.isinf(times)))
            peak = max(np.abs(r.torque).max() for r in runs)
            cells = " ".join(f"{times[i]:5.2f}" for i in (0, len(times) // 2, -1))
            print(
                f"{goal[0]:4.1f} {goal[1]:4.1f} {goal[2]:6.3f} | {law:9} | {cells:>37} | {lost:4d}"
                f" | {peak:.2f}",
                flush=True,
            )


def print_eights(bench: Bench, starts: int) -> None:
    """Errors over the second lap by law, size and driving direction."""
    print("Ax   Ay   Tp   way       | law       | rms: mm | degrees | torque of the lap N m")
    for ax, ay, period in EIGHTS:
        for backwards in (False, True):
            eight = make_trajectory(
                "figure_eight",
                amplitude_x=ax,
                amplitude_y=ay,
                period=period,
                ramp_up=0.0,
                backwards=backwards,
            )
            first = eight.at(0.0)
            start = np.array([first.x, first.y + 0.5, first.theta])
            for law in ("standard", "published"):
                runs = [
                    bench.drive(law, start + offset, eight.at, 2.0 * period)
                    for offset in bench.perturbations(starts)
                ]
                distance, heading = np.max([r.rms(period) for r in runs], axis=0)
                peak = max(np.abs(r.torque[r.time >= period]).max() for r in runs)
                way = "backwards" if backwards else "forwards"
                print(
                    f"{ax:.1f}  {ay:.2f} {period:3.0f}  {way:9} | {law:9} | {1e3 * distance:7.4f}"
                    f" | {math.degrees(heading):7.4f} | {peak:.2f}",
                    flush=True,
                )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=15, help="parking runs per row")
    parser.add_argument("--laps-starts", type=int, default=3, help="figure-8 runs per row")
    parser.add_argument("--torque", type=float, default=5.0, help="limit of a wheel, N m")
    parser.add_argument("--robot", default="twil", help="name or path of a robot")
    parser.add_argument("--seed", type=int, default=0, help="of the starts")
    arguments = parser.parse_args()
    bench = Bench(arguments.robot, arguments.torque, arguments.seed)
    print_parking(bench, arguments.starts)
    print_eights(bench, arguments.laps_starts)


if __name__ == "__main__":
    main()
