# SPDX-License-Identifier: Apache-2.0
"""Driving runs simulated in one process, to test the report and to look at its pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arc_odometry import Velocity
from diffbot_controllers import LinearizingController, State, tuned_backstepping
from diffbot_description import Torque, load_robot
from diffbot_report.controller_topics import CONTROLLERS
from diffbot_report.drive_recording import DriveRecording
from diffbot_report.run_end import ControllerState, RunPhase
from diffbot_report.sample_buffer import NANOSECONDS
from diffbot_sim.engines import make_simulator
from diffbot_study.driving import simulate_drive
from pose2d_trajectories import Reference, make_trajectory

# Stamp of the first joint state, s.
START = 3.21


class _Recorded:
    """A law that keeps the records of all its updates."""

    def __init__(self, law: Any) -> None:
        self._law = law
        self.records: list[Any] = []

    def update(self, state: State, reference: Any, dt: float) -> Torque:
        torque = self._law.update(state, reference, dt)
        self.records.append(self._law.record)
        return torque


def backstepping_example(
    goal: tuple[float, float, float] | None = None,
    duration: float = 8.0,
    engine: str = "ideal",
    robot_name: str = "twil",
    torque_limit: float | None = None,
    start: tuple[float, float, float] = (0.0, 0.0, 0.0),
    encoder_counts: int | None = None,
    **trajectory: Any,
) -> DriveRecording:
    """A run of the standard backstepping law.

    Args:
        goal: set point, m, m, rad; None: a trajectory.
        duration: s.
        engine: "ideal" or "mujoco".
        robot_name: of the suite.
        torque_limit: of a wheel, N m; None for the robot's traction limit.
        start: true pose, m, m, rad.
        encoder_counts: per revolution; None for the robot's own.
        trajectory: name and options of make_trajectory.
    """
    robot = load_robot(robot_name)
    plant = make_simulator(engine, robot)
    limit = robot.limits.traction if torque_limit is None else torque_limit
    law = _Recorded(tuned_backstepping(plant.parameters(), limit, mean_velocity=True))
    reference: Callable[[float], Any] = (
        make_trajectory(**trajectory).at if goal is None else lambda _: Reference(*goal)
    )
    drive = simulate_drive(
        plant, robot, law, reference, duration,
        start=start, torque_limit=limit, encoder_counts=encoder_counts,
    )  # fmt: skip
    rows = np.hstack(
        [
            drive.reference[1:],
            drive.odometry[1:],
            [record.backstep_set_point for record in law.records],
            [record.backstep_process_value for record in law.records],
            drive.torque[1:],
        ]
    )
    return _recording("backstep_controller", drive, rows, limit)


def linearizing_example(
    duration: float = 2.5, engine: str = "ideal", encoder_counts: int | None = 0
) -> DriveRecording:
    """Steps of velocity: v 0.3 m/s at 0.5 s, omega 1 rad/s at 1 s, v -0.2 m/s at 1.5 s."""
    robot = load_robot("twil")
    plant = make_simulator(engine, robot)
    limit = robot.limits.torque
    law = LinearizingController(plant.parameters(), torque_limit=limit, mean_velocity=True)
    wanted: list[Velocity] = []

    class Steps(_Recorded):
        """Asks for the velocities instead of a pose."""

        def update(self, state: State, reference: Any, dt: float) -> Torque:
            at = len(self.records) * dt + dt + 1e-9
            v = 0.3 * (at >= 0.5) - 0.5 * (at >= 1.5)
            wanted.append(Velocity(v, 1.0 * (at >= 1.0)))
            return super().update(state, wanted[-1], dt)

    recorded = Steps(law)
    drive = simulate_drive(
        plant, robot, recorded, lambda _: Reference(0.0, 0.0, 0.0), duration,
        torque_limit=limit, encoder_counts=encoder_counts,
    )  # fmt: skip
    velocity = [record.velocity for record in recorded.records]
    rows = np.hstack([wanted, velocity, drive.torque[1:]])
    return _recording("linearizing_controller", drive, rows, limit)


def _recording(node: str, drive: Any, rows: np.ndarray, limit: float) -> DriveRecording:
    recording = DriveRecording(CONTROLLERS[node])
    stamps = np.round((START + drive.time) * NANOSECONDS).astype(np.int64)
    half = 0.5 * drive.pose[:, 2]
    truth = np.column_stack([drive.pose[:, :2], np.sin(half), np.cos(half), drive.velocity])
    recording.add_truth(stamps, truth)
    recording.add_status(stamps[1:], rows)
    elapsed = float(drive.time[-1])
    recording.add_state(
        ControllerState(
            round((START + elapsed) * NANOSECONDS),
            RunPhase.DONE,
            elapsed=elapsed,
            law="standard",
            torque_limit=limit,
            parameters=(0.08444, -3.7706, 2.6468, -16.084),
            parameters_source="robot",
        )
    )
    return recording
