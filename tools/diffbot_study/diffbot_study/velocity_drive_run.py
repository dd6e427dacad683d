# SPDX-License-Identifier: Apache-2.0
"""`diffbot simulate drive` of a robot that takes velocities: along a trajectory, with its report.

Law, estimator, path, driver and odometry are those of launch/drive.launch.xml.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arc_odometry.joints import RateLimit
from arc_odometry.odometry_checks import OdometrySample
from diffbot_controllers.velocity_tracking.law import VelocityTracker
from diffbot_controllers.velocity_tracking.tracking_setup import (
    FROM_PARAMETER,
    InUse,
    TrackerParameters,
    estimator,
    identified,
    tracker_settings,
)
from diffbot_description import Robot, load_robot
from diffbot_description.robot import Pair
from diffbot_node.command_guard import PairLimiter
from diffbot_node.command_interfaces import CommandParameters
from diffbot_node.parameter_fields import parameter
from diffbot_report.controller_topics import CONTROLLERS
from diffbot_report.drive_recording import DriveRecording
from diffbot_report.run_end import ControllerState, RunPhase
from diffbot_report.sample_buffer import NANOSECONDS
from diffbot_sim.simulated_velocity_robot import SimulatedVelocityRobot, VelocityRobotParameters
from diffbot_sim.virtual_robot import received_stamp
from diffbot_study.drive_report import HOLD, STATE_RATE, report_drive, true_rows
from diffbot_study.run_arguments import PathArguments, VelocityArguments, read_arguments, replaced
from diffbot_study.run_bag import VelocityRows
from diffbot_study.velocity_run import odometry_of
from pose2d_trajectories import Reference, make_trajectory
from pose2d_trajectories.robot_limits import robot_limits
from pose2d_trajectories.shapes import from_pose

NODE = "velocity_tracking_controller"
# Of launch/drive.launch.xml and config/siwek.yaml.
ASSUMED_ACCELERATIONS = (0.1, 0.4)  # of the path where nothing tells them, m/s^2 and rad/s^2
RAMP = 8.0  # from rest to full speed, and back, on a closed path, s


@dataclass(frozen=True)
class VelocityDriveArguments(VelocityArguments, PathArguments):
    """Arguments of a simulated drive of a robot that takes velocities."""

    parameters: str = parameter(
        FROM_PARAMETER,
        "what the controller knows: 'sigma' (sigma, dead time and dead band of the simulated "
        "robot), or the path of a velocity_parameters.yaml, such as simulate ident writes",
    )
    adaptive: bool = parameter(False, "whether sigma is identified while driving")
    encoder_counts: int = replaced(VelocityRobotParameters, "encoder_counts", 0)


class SimulatedVelocityDrive:
    """A simulated drive; `recording` and `rows` are complete after `execute`.

    Raises ValueError if a setting is outside its range, or a file has no usable parameters.
    """

    def __init__(self, arguments: VelocityDriveArguments, robot: Robot) -> None:
        self._arguments, self._robot = arguments, robot
        of_file = arguments.parameters != FROM_PARAMETER
        self._values = TrackerParameters(
            robot=arguments.robot,
            parameters=arguments.parameters,
            sigma=arguments.sigma,
            adaptive=arguments.adaptive,
            dead_time=-1.0 if of_file else arguments.dead_time,
            dead_band=(-1.0, -1.0) if of_file else arguments.dead_band,
        )
        self._known = identified(self._values)
        self._settings = tracker_settings(
            self._values, self._known, CommandParameters.input_timeout
        )
        self._estimator = (
            estimator(self._values, self._known, self._settings) if arguments.adaptive else None
        )
        self._tracker = VelocityTracker(self._settings, self._known.sigma, self._estimator)
        self._simulated = SimulatedVelocityRobot(
            arguments, robot, load_robot(arguments.moved_robot).geometry, arguments.period
        )
        options: dict[str, Any] = arguments.laps_of_path
        if options:  # a closed path
            options |= {"ramp_up": RAMP, "ramp_down": RAMP}
        limits = robot_limits(
            robot, arguments.parameters if of_file else None, ASSUMED_ACCELERATIONS
        )
        shape = make_trajectory(arguments.trajectory, limits=limits, **options)
        self._trajectory = from_pose(shape, odometry_of(self._simulated).pose)
        self.recording = DriveRecording(CONTROLLERS[NODE], truth_due=True)
        self.rows = VelocityRows()
        self._state_due, self._begin = RateLimit(STATE_RATE), 0.0
        self._statuses, self._newest = 0, 0.0

    @property
    def gains(self) -> dict[str, float]:
        own = self._settings
        return {"epsilon": own.gains.damping, "b": own.gains.b, "k_v": own.k_v, "k_omega": own.k_w}

    @property
    def duration(self) -> float:
        return self._arguments.duration or self._trajectory.duration + HOLD

    def execute(self, progress: Callable[[DriveRecording], None] = lambda _: None) -> None:
        simulated, period = self._simulated, self._arguments.period
        limits = self._settings.limits
        limiter = PairLimiter(
            "velocity", "(m/s, rad/s)", (limits.linear_velocity, limits.angular_velocity)
        )
        # As in the launch, the first odometry is answered with zero, and the second one begins.
        self.rows.add(odometry_of(simulated), limiter.command)
        simulated.advance(limiter.command)
        self._begin = received_stamp(simulated.stamp)
        elapsed, ends = 0.0, self._arguments.duration or math.inf
        while elapsed < self.duration:
            sample = odometry_of(simulated)
            self._newest, elapsed = sample.stamp, round(sample.stamp - self._begin, 9)
            if elapsed >= ends:  # with the time that was asked for, without another command
                break
            wanted = self._trajectory.at(elapsed)
            command = limiter.apply(
                self._tracker.update(
                    sample.stamp, wanted, sample.pose, sample.velocity, limiter.command
                ),
                period,
            )
            self.rows.add(sample, command)
            self._note(sample, wanted, command)
            if self._state_due.due(sample.stamp):
                self._note_state(RunPhase.DRIVING)
                progress(self.recording)
            simulated.advance(command)
        self._note_state(RunPhase.DONE)

    def stop(self, problem: str) -> None:
        self._note_state(RunPhase.STOPPED, problem)

    def _note(self, sample: OdometrySample, wanted: Reference, command: Pair) -> None:
        stamps, limits = np.array([round(sample.stamp * NANOSECONDS)]), self._settings.limits
        known = InUse.of(self._values, self._known, self._tracker, self._estimator)
        self._statuses += 1
        row = (
            (wanted.x, wanted.y, wanted.theta, *sample.pose, wanted.v, wanted.omega)
            + (*sample.velocity, *command, *known.sigma.as_array(), *known.variances)
            + (limits.linear_velocity, limits.angular_velocity)
            + tuple(float(each.width) for each in known.dead_band)
            + (*known.bands, *known.band_variances, *known.dead_times, *known.dead_time_variances)
        )
        self.recording.add_status(stamps, np.array([row]), [self._statuses])
        self.recording.add_truth(stamps, true_rows(self._simulated.robot))

    def _note_state(self, phase: RunPhase, message: str = "") -> None:
        self.recording.add_state(
            ControllerState(
                stamp=round(self._newest * NANOSECONDS),
                phase=phase,
                message=message,
                elapsed=self._newest - self._begin,
                duration=self._arguments.duration,
                statuses=self._statuses,
                law="adaptive" if self._arguments.adaptive else "fixed",
                parameters_source=self._arguments.parameters,
            )
        )


ARGUMENTS = VelocityDriveArguments


def simulate(words: Sequence[str]) -> int:
    """Run with arguments NAME:=VALUE; return the exit status. Raises ValueError."""
    arguments = read_arguments(VelocityDriveArguments, words)
    robot = load_robot(arguments.robot)
    run = SimulatedVelocityDrive(arguments, robot)
    return report_drive(run, arguments, robot, NODE, run.rows.write)
