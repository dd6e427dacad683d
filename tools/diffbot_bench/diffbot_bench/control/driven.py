# SPDX-License-Identifier: Apache-2.0
"""What a drive along a path was like: distance from the path and from the schedule, and effort."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arc_odometry import Pose
from diffbot_bench.control.peers import PathProgress
from diffbot_bench.independent_plant import Array
from diffbot_controllers.laws.tracking_errors import TrackingErrors
from pose2d_trajectories import Trajectory

# Shares of the path between which errors count: the second of two laps, without its end.
FIRST, LAST = 0.5, 0.95
# A robot that starts this far beside the path has settled within SETTLED, m.
BESIDE, SETTLED = 0.1, 0.02
# Distance from the path from which on a robot is lost, and that lost ones count as, m.
LOST = 0.5
# Between a path's points, as a law gets it, and as it is judged by, m.
PATH_STEP, FINE_STEP = 0.01, 0.0002


@dataclass(frozen=True)
class Driven:
    """A drive; `effort`: torque, rms, as a share of the limit, and J per m and kg, NaN: unknown.

    `from_path`, `from_schedule`: rms of the true distance, m; `settled`: s, infinite: never.
    """

    from_path: float
    from_schedule: float
    settled: float
    torque: float = math.nan
    energy: float = math.nan


def path_of(trajectory: Trajectory, step: float = PATH_STEP) -> Array:
    """Return points of a trajectory that ends, every `step` m, (n, 2), m."""
    time = np.linspace(0.0, trajectory.duration, max(1000, round(100.0 * trajectory.duration)))
    points = np.array([(each.x, each.y) for each in map(trajectory.at, time.tolist())])
    lengths = np.concatenate(((0.0,), np.cumsum(np.hypot(*np.diff(points, axis=0).T))))
    even = np.arange(0.0, lengths[-1], step)
    return np.column_stack([np.interp(even, lengths, column) for column in points.T])


def beside(trajectory: Trajectory) -> Pose:
    """Return where drives begin: BESIDE to the left of the first reference."""
    x, y, theta = trajectory.at(0.0).pose
    return Pose(x - BESIDE * math.sin(theta), y + BESIDE * math.cos(theta), theta)


def driven(
    time: Array,
    pose: Array,
    trajectory: Trajectory,
    torque: float = math.nan,
    energy: float = math.nan,
) -> Driven:
    """Judge the true poses, (n, 3), of a drive; a robot that does not get to LAST is lost."""
    progress = PathProgress(path_of(trajectory, FINE_STEP))
    away, shares = np.empty(len(time)), np.empty(len(time))
    for k, (x, y) in enumerate(pose[:, :2].tolist()):
        away[k], shares[k] = progress.update(x, y), progress.fraction
    counted = (shares >= FIRST) & (shares <= LAST)
    if not counted.any() or shares[-1] < LAST or away[counted].max() > LOST:
        return Driven(LOST, LOST, math.inf, torque, energy)
    reference = np.array([trajectory.at(t).pose for t in time[counted].tolist()])
    errors = TrackingErrors.between(time[counted], pose[counted], reference)
    outside = np.flatnonzero((away > SETTLED) & (shares <= LAST))
    end = int(np.flatnonzero(counted)[-1])
    settled = float(time[0])
    if len(outside):
        settled = float(time[outside[-1] + 1]) if outside[-1] < end else math.inf
    return Driven(
        float(np.sqrt(np.mean(away[counted] ** 2))), errors.rms(0.0)[0], settled, torque, energy
    )
