#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Slip alarms of random four-wheel robots that drive onto ice, and on the ground that they know.

The robots are those of skid_steer.py, in MuJoCo. Each drives with random speeds and turns (ramps of
1 s, as of a velocity smoother) for 75 s, from which the watch learns, and then, in each drive, for
20 to 25 s on the same ground and onto ice. Odometry is that of the wheels, the yaw rate a gyro's.
Printed for each ground: drives with an alarm before the ice, and those with one within 1 s of it,
all and where a turn of at least 20 % of the largest yaw rate was commanded then.

    ./diffbot python benchmarks/slip_alarm.py --robots 10 --first 701
"""

from __future__ import annotations

import argparse

import numpy as np
from skid_steer import GROUNDS, SkidSteer, draw, driven

from arc_odometry import Pose, Velocity
from diffbot_ident.velocity.slip_watch import SlipWatch
from diffbot_recordings.segments import Segment

LEARNING, KNOWN, ICY, WITHIN = 75.0, 25.0, 3.0, 1.0
TURN = 0.2


class Tour:
    """Speeds and turns drawn at random, each for 1.5 to 4 s, approached with ramps."""

    def __init__(self, limits: Velocity, seed: int) -> None:
        self._rng, self._limits = np.random.default_rng(seed), np.array(limits)
        self._now, self._target = np.zeros(2), np.zeros(2)
        self._time = self._until = 0.0

    def __call__(self, time: float, pose: Pose, velocity: Velocity) -> Velocity:
        """Return the command at a time, s."""
        if time >= self._until:
            turn = self._rng.choice((-1.0, 1.0)) * self._rng.uniform(0.2, 0.7)
            self._target = self._limits * (self._rng.uniform(0.3, 0.7), turn)
            self._until = time + self._rng.uniform(1.5, 4.0)
        most = self._limits * (time - self._time)
        self._now = self._now + np.clip(self._target - self._now, -most, most)
        self._time = time
        return Velocity(*self._now.tolist())


def alarms(watch: SlipWatch, drive: Segment, track: float) -> list[float]:
    """Return the times of a drive's alarms, s."""
    channels, times, known = drive.channels, [], Velocity(0.0, 0.0)
    watch.reset()
    for k, stamp in enumerate(drive.times.tolist()):
        left, right = float(channels["left_rim"][k]), float(channels["right_rim"][k])
        wheels = Velocity(0.5 * (left + right), (right - left) / track)
        if watch.update(stamp, wheels, known, float(channels["w"][k])):
            times.append(stamp)
        known = Velocity(float(channels["command_v"][k]), float(channels["command_w"][k]))
    return times


def tried(robot: SkidSteer, ground: str, seed: int, drives: int) -> list[tuple[int, bool, bool]]:
    """Return, of each drive, alarms on the known ground, whether ice was told, and in a turn."""
    learning, _ = driven(robot, ground, Tour(robot.limits, seed), seed, LEARNING)
    watch = SlipWatch(robot.limits)
    results = []
    early = alarms(watch, learning, robot.track)
    for drive in range(1, drives + 1):
        own = 1000 * drive + seed
        change = np.random.default_rng(own).uniform(KNOWN - 5.0, KNOWN)
        data, _ = driven(robot, ground, Tour(robot.limits, own), own, change + ICY, change)
        times = alarms(watch, data, robot.track)
        falsely = sum(time < change for time in times) + len(early)
        reported = any(change <= time < change + WITHIN for time in times)
        k = int(np.searchsorted(data.times, change))
        turning = abs(float(data.channels["command_w"][k])) >= TURN * robot.limits.omega
        results.append((falsely, reported, turning))
        early = []
    return results


def main() -> None:
    """Print a line per robot and ground, and the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--robots", type=int, default=10)
    parser.add_argument("--drives", type=int, default=4, help="of each robot on each ground")
    parser.add_argument("--first", type=int, default=701, help="seed of the first robot")
    arguments = parser.parse_args()
    results: dict[str, list[tuple[int, bool, bool]]] = {ground: [] for ground in GROUNDS}
    for seed in range(arguments.first, arguments.first + arguments.robots):
        for ground, every in results.items():
            own = tried(draw(seed), ground, seed, arguments.drives)
            every += own
            print(
                f"robot {seed}, {ground}: {sum(each[0] for each in own)} false alarms, ice told "
                f"in {sum(each[1] for each in own)} of {len(own)}",
                flush=True,
            )
    for ground, every in results.items():
        false, reported, turning = np.array(every).T
        both = reported[turning > 0]
        print(
            f"{ground}: false alarms in {np.sum(false > 0)} of {len(every)} drives, ice told "
            f"within {WITHIN:g} s in {np.sum(reported)}, of {len(both)} in a turn in {np.sum(both)}"
        )


if __name__ == "__main__":
    main()
