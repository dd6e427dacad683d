# SPDX-License-Identifier: Apache-2.0
"""Many robots under the backstepping law at once: simulate_drive with a robot axis.

    law = lambda robot: tuned_backstepping(..., mean_velocity=True, wheels=Wheels.of(robot))
    drives = simulate_drives(robots, [law(r) for r in robots], eight.at, 60.0, seeds=range(n))

The numbers are those of simulate_drive except for rounding, for what BatchDrivetrain supports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from arc_odometry.arcs import arc_ends
from arc_odometry.number_range import Array, within_each
from diffbot_controllers.laws.backstepping_standard import StandardBackstepping
from diffbot_controllers.laws.tracking_errors import SETTLED_HEADING, SETTLED_POSITION
from diffbot_description import Robot
from diffbot_sim.engines.ideal_batch import IdealBatch
from diffbot_sim.virtual_robot import BatchActuator, BatchEncoders
from diffbot_study.batch_backstepping import BatchBackstepping
from diffbot_study.batch_drivetrain import BatchFirstReading
from diffbot_study.driving import PERIOD
from pose2d_trajectories import Reference

# Robots per block: with fewer, NumPy's calls cost more; with more, the data exceed the caches.
BATCH = 1000


@dataclass(frozen=True)
class BatchDrives:
    """Results of n driven robots, shape (n,) each.

    Attributes:
        settling_time: Time from which a robot stays within 1 cm and 1 degree of its reference, s;
            infinite: never.
        rms_position, rms_heading, max_position: Of the true errors in the second half, m and rad.
        peak_torque, rms_torque: Of the wheels' commanded torques, N m.
        pose, odometry: At the end, true and by odometry, rows x, y, theta, m and rad, shape (3, n).
    """

    settling_time: Array
    rms_position: Array
    rms_heading: Array
    max_position: Array
    peak_torque: Array
    rms_torque: Array
    pose: Array
    odometry: Array


def simulate_drives(
    robots: Sequence[Robot],
    laws: Sequence[StandardBackstepping],
    reference: Callable[[float], Reference],
    duration: float,
    *,
    starts: ArrayLike | None = None,
    torque_noise: ArrayLike = 0.0,
    torque_delay: int = 0,
    seeds: Sequence[int] = (),
) -> BatchDrives:
    """Place n robots at rest at their start poses and drive them; see simulate_drive.

    Args:
        robots: n robots; their nodes observe their traction limits.
        laws: Control law of each robot, see BatchBackstepping.
        reference: Returns the reference of all laws at a time of the run, s.
        starts: True start poses, rows x, y, theta, m and rad, shape (3, n); None: all 0.
        torque_noise: A number, or (n,).
        seeds: Of each robot; empty: 0 for all.

    Raises:
        ValueError: As raised by IdealBatch, BatchBackstepping, BatchActuator and BatchEncoders.
    """
    n = len(robots)
    seeds = list(seeds) or [0] * n
    engine = IdealBatch(robots)
    engine.reset(starts)
    bands = np.array([robot.drive.dead_band for robot in robots]).T
    actuator = BatchActuator(
        [robot.limits.torque for robot in robots], torque_delay, torque_noise, seeds, bands
    )
    encoders = BatchEncoders([robot.encoder.counts for robot in robots], PERIOD, seeds)
    driver = _Driver(robots, BatchBackstepping(laws), np.stack((engine.x, engine.y, engine.theta)))
    tally = _Tally(n, 0.5 * duration)
    measured = encoders.read(engine.angles)
    for step in range(round(duration / PERIOD)):
        time = step * PERIOD
        wanted = reference(time)
        torque = driver.answer(measured, wanted)
        tally.count(time, (engine.x, engine.y, engine.theta), wanted, torque)
        _, acting = actuator.apply(torque)
        engine.step(acting, PERIOD)
        measured = encoders.read(engine.angles)
    return tally.result(np.stack((engine.x, engine.y, engine.theta)), driver.poses)


class _Driver:
    def __init__(self, robots: Sequence[Robot], law: BatchBackstepping, poses: Array) -> None:
        self.poses = poses
        self._law = law
        self._left = np.array([robot.geometry.left_radius for robot in robots])
        self._right = np.array([robot.geometry.right_radius for robot in robots])
        self._separation = np.array([robot.geometry.separation for robot in robots])
        self._limit = np.array([robot.limits.traction for robot in robots])
        self._rate = np.array([robot.limits.torque_rate for robot in robots])
        self._first: BatchFirstReading | None = None
        self._angles = np.zeros((2, len(robots)))
        self._torque = np.zeros((2, len(robots)))

    def answer(self, measured: Array, reference: Reference) -> Array:
        before, self._angles = self._angles, measured
        if self._first is None:
            self._first = BatchFirstReading(self._law.drivetrain, self.poses, measured)
            return self._torque
        turned = measured - before
        left, right = self._left * turned[0], self._right * turned[1]
        length, turn = 0.5 * (left + right), (right - left) / self._separation
        poses = arc_ends(self.poses, length, turn)
        self.poses = self._first.put_right(poses, measured, self._torque, PERIOD)
        mean = np.stack((length, turn)) / PERIOD
        wanted = self._law.update(self.poses, mean, self._torque, reference, PERIOD)
        step = self._rate * PERIOD
        near = within_each(wanted, self._torque - step, self._torque + step)
        self._torque = within_each(near, -self._limit, self._limit)
        return self._torque


class _Tally:
    def __init__(self, n: int, since: float) -> None:
        self._since = since
        self._outside = np.full(n, -math.inf)
        self._last = 0.0
        self._count = self._all = 0
        self._position, self._heading, self._effort = np.zeros(n), np.zeros(n), np.zeros(n)
        self._largest, self._peak = np.zeros(n), np.zeros(n)

    def count(
        self,
        time: float,
        pose: tuple[Array, Array, Array],
        reference: Reference,
        torque: Array,
    ) -> None:
        dx, dy = pose[0] - reference.x, pose[1] - reference.y
        square = dx * dx + dy * dy
        heading = pose[2] - reference.theta
        heading = np.abs(heading - math.tau * np.rint(heading / math.tau))
        outside = (square > SETTLED_POSITION**2) | (heading > SETTLED_HEADING)
        self._outside[outside] = time + PERIOD
        self._last = time
        self._all += 1
        efforts = np.abs(torque)
        np.maximum(self._peak, efforts.max(axis=0), out=self._peak)
        self._effort += (efforts * efforts).sum(axis=0)
        if time >= self._since:
            self._count += 1
            self._position += square
            self._heading += heading * heading
            np.maximum(self._largest, square, out=self._largest)

    def result(self, pose: Array, odometry: Array) -> BatchDrives:
        settled = np.maximum(self._outside, 0.0)
        return BatchDrives(
            settling_time=np.where(settled > self._last, math.inf, settled),
            rms_position=np.sqrt(self._position / max(self._count, 1)),
            rms_heading=np.sqrt(self._heading / max(self._count, 1)),
            max_position=np.sqrt(self._largest),
            peak_torque=self._peak,
            rms_torque=np.sqrt(self._effort / max(2 * self._all, 1)),
            pose=pose,
            odometry=odometry,
        )
