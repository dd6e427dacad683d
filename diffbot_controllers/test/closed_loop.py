# SPDX-License-Identifier: Apache-2.0
"""A law and a simulated robot in one process, without a ROS graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arc_odometry import Pose, Velocity, WheelGeometry
from diffbot_controllers.laws.motion import State
from diffbot_controllers.laws.tracking_errors import TrackingErrors
from diffbot_description import Torque
from diffbot_sim.simulator import Simulator
from pose2d_trajectories import Reference


@dataclass(frozen=True)
class Run:
    """Samples of a run at the control instants, n of them.

    Attributes:
        time: s, shape (n,).
        pose: true x, y, theta, m and rad, shape (n, 3).
        velocity: true v, omega, m/s and rad/s, shape (n, 2).
        torque: [left, right] for the period that begins, N m, shape (n, 2).
        error: pose minus the reference's, the heading within +-pi, shape (n, 3).
    """

    time: NDArray[np.float64]
    pose: NDArray[np.float64]
    velocity: NDArray[np.float64]
    torque: NDArray[np.float64]
    error: NDArray[np.float64]

    @property
    def errors(self) -> TrackingErrors:
        """Errors of the true pose."""
        return TrackingErrors(self.time, self.error)

    @property
    def distance(self) -> NDArray[np.float64]:
        """Distance from the reference, m, shape (n,)."""
        return self.errors.distance

    @property
    def settling_time(self) -> float:
        """First time from which on the robot stays within 1 cm and 1 degree, s; inf if never."""
        return self.errors.settling_time

    def rms(self, since: float) -> tuple[float, float]:
        """Root mean square of distance (m) and heading error (rad) from a time (s) on."""
        return self.errors.rms(since)


def run(
    plant: Simulator,
    update: Callable[[State, float], Torque],
    reference: Callable[[float], Reference],
    duration: float,
    period: float = 0.01,
    encoders: WheelGeometry | None = None,
) -> Run:
    """Close the loop from where the plant stands.

    Args:
        plant: is moved.
        update: the law: the state and the time of the run in s give torques.
        reference: at a time of the run, for the errors.
        duration: s.
        period: control period, s.
        encoders: when given, the law gets the mean velocity over the last period that ideal
            encoders on wheels of this geometry would give; else the true one.
    """
    rows = []
    angles = plant.wheel_angles()
    for k in range(round(duration / period)):
        time, pose, velocity = k * period, Pose(*plant.pose()), Velocity(*plant.velocity())
        seen = velocity
        if encoders is not None:
            now = plant.wheel_angles()
            turned = [(b - a) / period for a, b in zip(angles, now, strict=True)]
            seen, angles = Velocity(*encoders.body_velocity(*turned)), now
        torque = update(State(pose, seen), time)
        wanted = reference(time)
        error = (
            pose.x - wanted.x,
            pose.y - wanted.y,
            math.remainder(pose.theta - wanted.theta, math.tau),
        )
        rows.append((time, *pose, *velocity, *torque, *error))
        plant.step(torque, period)
    columns = np.array(rows)
    return Run(columns[:, 0], columns[:, 1:4], columns[:, 4:6], columns[:, 6:8], columns[:, 8:])
