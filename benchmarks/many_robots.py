# SPDX-License-Identifier: Apache-2.0
"""Many runs of one setting at once, for ensembles: 50 times as fast as one after the other.

The closed-form model with friction of the wheels for all seeds together, by the midpoint rule with
steps of STEP; the friction's sign changes within a step where a wheel turns round. That
is not as exact as the ideal engine. Over 20 s with the same torques the wheels' angles differ by
what `compare` prints; estimates of both agree far better than their noise.

    ./diffbot python benchmarks/many_robots.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from arc_odometry import JointSample, WheelGeometry
from diffbot_description import DynamicParameters, closed_form
from diffbot_description.dynamics import accelerations, acting_torque
from diffbot_description.robot import Friction
from diffbot_sim.engines import make_simulator
from diffbot_study.recorded_runs import (
    RecordedRun,
    RunSetting,
    driver,
    make_run,
    next_torque,
    record,
)

Array = NDArray[np.float64]
STEP = 1e-3  # s


class ManyRobots:
    """Equal robots that start at rest, [left, right] in the first axis, robots in the second.

    Args:
        k: K5..K8 of all.
        friction: of all.
        geometry: of the wheels.
        count: of robots.
    """

    def __init__(
        self, k: DynamicParameters, friction: Friction, geometry: WheelGeometry, count: int
    ) -> None:
        self._k = k
        self._viscous = np.array(friction.viscous)[:, None]
        self._coulomb = np.array(friction.coulomb)[:, None]
        self._wheels = np.column_stack(
            (geometry.wheel_velocity(1.0, 0.0), geometry.wheel_velocity(0.0, 1.0))
        )
        self._u = np.zeros((2, count))
        self.angles = np.zeros((2, count))

    @property
    def speeds(self) -> Array:
        """Of the wheels, rad/s."""
        return self._wheels @ self._u

    def step(self, torque: Array, period: float) -> None:
        """Move on under constant torque, N m."""
        steps = max(1, round(period / STEP))
        h = period / steps
        for _ in range(steps):
            u = self._u
            before = self._wheels @ u
            sign = np.sign(before)
            after = self._wheels @ (u + h * self._acceleration(u, torque, sign))
            turned = before * after < 0.0
            if turned.any():
                mean = (np.abs(after) - np.abs(before)) / np.where(turned, after - before, 1.0)
                sign = np.where(turned, mean, sign)
            a = self._acceleration(u, torque, sign)
            a = self._acceleration(u + 0.5 * h * a, torque, sign)
            self._u = u + h * a
            self.angles = self.angles + h * self._wheels @ (u + 0.5 * h * a)

    def _acceleration(self, u: Array, torque: Array, sign: Array) -> Array:
        acting = acting_torque(torque, self._wheels @ u, self._viscous, self._coulomb, sign)
        return np.array(accelerations(self._k, *u, *acting))


def record_many(setting: RunSetting, seeds: Iterable[int], seconds: float) -> list[RecordedRun]:
    """As `record` for each of the seeds; wiring and d = 0 are left to `record`."""
    seeds = list(seeds)
    robot = setting.make_robot()
    drivers = [driver(setting, robot, seed) for seed in seeds]
    k = closed_form(robot.model)
    robots = ManyRobots(k, robot.friction, robot.geometry, len(seeds))
    reported = [(0.0, 0.0)] * len(seeds)
    samples: list[list[JointSample]] = [[] for _ in seeds]
    for step in range(round(seconds / setting.period) + 1):
        if step:
            torques = [
                actuator.apply(next_torque(source, own, setting))
                for (source, actuator, _), own in zip(drivers, samples, strict=True)
            ]
            reported = [torque[0] for torque in torques]
            robots.step(np.array([torque[1] for torque in torques]).T, setting.period)
        state = zip(robots.angles.T.tolist(), robots.speeds.T.tolist(), strict=True)
        for i, (angles, speeds) in enumerate(state):
            position, velocity = drivers[i][2].read(tuple(angles), tuple(speeds))
            samples[i].append(JointSample(step * setting.period, position, velocity, reported[i]))
    return [make_run(robot, k, own) for own in samples]


def compare(seconds: float = 20.0) -> None:
    """Print the largest difference of angles from the ideal engine's under the same torques."""
    setting = RunSetting(counts=0, noise=0.0)
    run = record(setting, 0, seconds)
    robot = setting.make_robot()
    engine = make_simulator("ideal", robot)
    robots = ManyRobots(engine.parameters(), robot.friction, run.geometry, 1)
    worst = 0.0
    for sample in run.samples[1:]:
        robots.step(np.array(sample.effort)[:, None], setting.period)
        worst = max(worst, float(np.abs(robots.angles[:, 0] - sample.position).max()))
    counts = replace(setting, counts=4096).counts
    print(f"{seconds:g} s: {worst:.2g} rad, {worst * counts / (2.0 * np.pi):.2g} of 4096 counts")


if __name__ == "__main__":
    compare()
