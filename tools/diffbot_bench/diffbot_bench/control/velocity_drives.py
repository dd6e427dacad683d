# SPDX-License-Identifier: Apache-2.0
"""Drives of the benchmark's velocity robots: figures of 8 that each robot can follow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arc_odometry import MotionLimits, Pose, Velocity
from diffbot_bench.control.driven import PATH_STEP, Driven, beside, driven, path_of
from diffbot_bench.control.peers import KinematicLaw, RegulatedPurePursuit, VelocityLaw
from diffbot_bench.suite_estimators import segments_of
from diffbot_bench.tasks import ROOM
from diffbot_bench.velocity_plant import COMPUTING, LaggingRobot, record
from diffbot_controllers.velocity_tracking.law import TrackerSettings, VelocityTracker
from diffbot_description.velocity_parameters import IdentifiedSigma, identified_from
from diffbot_ident.excitation.velocity_excitation import VelocityExcitation
from diffbot_recordings.findings import analyse_axes, velocity_parameters
from pose2d_trajectories import Trajectory, make_trajectory
from pose2d_trajectories.timing import TrajectoryLimits

# Share of what a robot can do in its figure-8, and time of its excitation, s.
FRACTION, EXCITED = 0.6, 90.0


def figure(truth: LaggingRobot, size: float = 1.0) -> Trajectory:
    """Return two laps of a figure-8, `size` m long in x, that the robot can follow."""
    lost = np.zeros(2) if truth.threshold else truth.band
    speed = FRACTION * truth.gain * (np.array(truth.limits) - lost)
    # To follow a change within the time constant, or within the ramp.
    slope = np.minimum(speed / truth.tau, truth.gain * np.minimum(truth.speeding, truth.braking))
    if not truth.ramp:
        slope = speed / truth.tau
    limits = TrajectoryLimits(*speed.tolist(), *(FRACTION * slope).tolist())
    return make_trajectory(
        "figure_eight",
        limits=limits,
        laps=2,
        amplitude_x=size,
        amplitude_y=0.6 * size,
        period=20.0 * size,
    )


def identified(truth: LaggingRobot, seed: int) -> IdentifiedSigma:
    """Return what an excitation tells; ValueError if an axis is refused."""
    excitation = VelocityExcitation((ROOM, ROOM), truth.limits, seed=seed)
    recording = record(truth, excitation.command, EXCITED, seed)
    axes = analyse_axes(segments_of(recording.odometry, recording.commands))
    known = identified_from(velocity_parameters(axes))
    late = known.dead_time or (0.0, 0.0)
    # The recording has the commands' own stamps, the tracker those of the odometry.
    return replace(known, dead_time=(late[0] + COMPUTING, late[1] + COMPUTING))


class SuiteLaw:
    """The suite's velocity law with known parameters."""

    def __init__(self, truth: LaggingRobot, known: IdentifiedSigma, trajectory: Trajectory) -> None:
        settings = TrackerSettings(
            limits=MotionLimits(*truth.limits),
            dead_time=known.dead_time or (0.0, 0.0),
            dead_band=known.dead_band,
            ramp=known.ramp,
        )
        self._tracker, self._trajectory = VelocityTracker(settings, known.sigma), trajectory

    def command(self, time: float, pose: Pose, velocity: Velocity) -> Velocity:
        return self._tracker.update(time, self._trajectory.at(time), pose, velocity)


class Scheduled:
    """KinematicLaw on a trajectory, within the robot's speeds."""

    def __init__(self, truth: LaggingRobot, trajectory: Trajectory) -> None:
        self._law, self._trajectory, self._limits = KinematicLaw(), trajectory, truth.limits

    def command(self, time: float, pose: Pose, velocity: Velocity) -> Velocity:
        wanted = self._law.command_for(self._trajectory.at(time), pose)
        pairs = zip(wanted, self._limits, strict=True)
        return Velocity(*(min(max(each, -most), most) for each, most in pairs))


def make_law(name: str, truth: LaggingRobot, trajectory: Trajectory, seed: int) -> VelocityLaw:
    """Return a law by its name in VELOCITY_LAWS; ValueError if identification refuses."""
    if name == "diffbot":
        return SuiteLaw(truth, identified(truth, seed), trajectory)
    if name == "kinematic":
        return Scheduled(truth, trajectory)
    points = path_of(trajectory)
    return RegulatedPurePursuit(points, PATH_STEP * len(points) / trajectory.duration)


VELOCITY_LAWS = {
    "diffbot": "the suite's velocity law, identified",
    "kinematic": "Kanayama's law (1990), no dynamics",
    "rpp": "regulated pure pursuit of Nav2, its defaults",
}


def drive(name: str, truth: LaggingRobot, seed: int) -> Driven | None:
    """Drive a law, from BESIDE beside the path; None: its identification refused."""
    trajectory = figure(truth, 2.0)
    try:
        law = make_law(name, truth, trajectory, seed)
    except ValueError:
        return None
    start = beside(trajectory)
    log = record(truth, law.command, 1.5 * trajectory.duration, seed, start)
    return driven(log.odometry[:, 0], log.poses, trajectory)
