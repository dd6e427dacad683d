# SPDX-License-Identifier: Apache-2.0
"""A whole run of `ident` on a simulated torque robot, in one process, without ROS; its report.

Course, estimator, excitation, torque limits, motors and encoders are those of the nodes `ident` and
`simulator`, so equal settings give equal estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timezone

import numpy as np

from arc_odometry import JointSample
from arc_odometry.joints import RateLimit
from arc_odometry.number_range import Array
from diffbot_description import Robot, load_robot
from diffbot_description.arena import Arena
from diffbot_description.suite_version import suite_version
from diffbot_ident.excitation.excitations import nominal_prior
from diffbot_ident.identification_run import Identification
from diffbot_ident.identification_setup import (
    STATUS_RATE,
    IdentSettings,
    fleet_prior_of,
    make_identification,
)
from diffbot_ident.parameter_writer import export_results
from diffbot_ident.verification import VerificationState
from diffbot_node.command_guard import TorqueLimiter
from diffbot_node.parameter_fields import parameter
from diffbot_report.display import say
from diffbot_report.ident_findings import identification_findings
from diffbot_report.ident_recording import IdentRecording
from diffbot_report.ident_results import identification_table
from diffbot_report.run_end import Ending, IdentState, Outcome, RunPhase
from diffbot_report.sample_buffer import NANOSECONDS
from diffbot_sim.engines import make_simulator
from diffbot_sim.simulator_parameters import SensorParameters, make_actuator, make_encoders
from diffbot_sim.virtual_robot import VirtualRobot, as_received
from diffbot_study.run_arguments import RunArguments, read_arguments
from diffbot_study.run_bag import record_joints
from diffbot_study.run_report import RunReport

JOINT_STATES = "joint_states.csv"
COLUMNS = ("time", "left_position", "right_position", "left_effort", "right_effort")
"""Columns of the recording: s, rad, and N m of the period that ends."""


@dataclass(frozen=True)
class TorqueRunArguments(IdentSettings, RunArguments, SensorParameters):
    """Arguments of a simulated identification of K5 to K8."""

    until: str = parameter(
        "K5 1% K6 1% K7 0.5% K8 0.5%",
        "precision at which the excitation ends, as half widths of the 95 % intervals; none: it "
        "lasts for the whole duration",
    )


class TorqueRun:
    """A simulated identification; `recording` and `joint_states` are complete after `execute`.

    Raises ValueError if a setting is outside its range, or does not suit the robot.
    """

    def __init__(self, arguments: TorqueRunArguments, robot: Robot) -> None:
        self._arguments, self._robot = arguments, robot
        if robot.takes_velocity:
            raise ValueError(
                f"robot {robot.name} takes velocities (drive.command), not torques: give "
                "sim:=velocity"
            )
        if arguments.amplitude > robot.limits.traction:
            raise ValueError(
                f"amplitude = {arguments.amplitude} N m: must be <= {robot.limits.traction} N m, "
                "the robot's limits.traction; lower it"
            )
        self.course: Identification = make_identification(
            arguments, robot, nominal_prior(robot), fleet=fleet_prior_of(arguments, robot)
        )
        self.recording = IdentRecording()
        self._arena = Arena.parse(arguments.arena)
        self._looks = self._refused = 0
        self._rows: list[tuple[float, ...]] = []

    @property
    def joint_states(self) -> Array:
        """The joint states, in COLUMNS, shape (n, 5)."""
        return np.array(self._rows).reshape(-1, len(COLUMNS))

    def execute(self, progress: Callable[[IdentRecording], None] = lambda _: None) -> None:
        arguments, robot = self._arguments, self._robot
        period, due = arguments.period, RateLimit(STATUS_RATE)
        limiter = TorqueLimiter(robot.limits.traction, robot.limits.torque_rate)
        moved = load_robot(arguments.moved_robot)
        actuator, encoders = (
            make_actuator(moved, arguments),
            make_encoders(moved, arguments, period),
        )
        with closing(make_simulator(arguments.sim, moved, seed=arguments.seed)) as engine:
            virtual = VirtualRobot(engine, actuator, encoders, period)
            self.recording.true_parameters.add(0, tuple(engine.parameters()))
            while True:
                sample = as_received(virtual.sample)
                self._rows.append((sample.stamp, *sample.position, *sample.effort))
                limiter.apply(self._answer(sample), period if len(self._rows) > 1 else 0.0)
                self.course.follow_up()
                if self.course.ended:
                    break
                if self.course.looks != self._looks:
                    self._note_estimate(sample.stamp)
                if due.due(sample.stamp):
                    self._note_state(sample.stamp, sample.effort)
                    progress(self.recording)
                virtual.advance(limiter.torque)
        self._note_end()

    def stop(self, problem: str) -> None:
        self.course.stop(problem)
        self._note_end()

    def _note_end(self) -> None:
        if not self._rows:
            return
        stamp = self._rows[-1][0]
        self._note_estimate(stamp)
        self.recording.verification = self.course.verified
        self._note_state(stamp, (0.0, 0.0))

    def _answer(self, sample: JointSample) -> tuple[float, float]:
        try:
            return self.course.update(sample.beyond(self._robot.drive.dead_band))
        except ValueError:  # as in the node, zero answers a sample that cannot be used
            self._refused += 1
            return 0.0, 0.0

    def _note_estimate(self, stamp: float) -> None:
        run, recording = self.course, self.recording
        self._looks = run.looks
        recording.newest = round(stamp * NANOSECONDS)
        recording.estimates += 1
        verified = run.verified
        state = VerificationState.NOT_VERIFIED if verified is None else verified.state
        recording.add_estimate(recording.newest, run.estimate, state)

    def _note_state(self, stamp: float, effort: tuple[float, float]) -> None:
        run, arena, recording = self.course, self._arena, self.recording
        recording.statuses += 1
        x, y, heading = run.pose
        recording.add_state(
            IdentState(
                stamp=round(stamp * NANOSECONDS),
                phase=RunPhase[run.phase.name],
                message=run.problem or "",
                elapsed=run.elapsed,
                duration=self._arguments.duration,
                refused=self._refused,
                statuses=recording.statuses,
                velocity=run.velocity,
                effort=effort,
                position=(x, y),
                heading=heading,
                information=(run.excitation.information, run.excitation.predicted_information),
                arena=None if arena is None else (arena.length, arena.width),
                guarded=run.guarded,
                estimates=recording.estimates,
            )
        )


ARGUMENTS = TorqueRunArguments


def simulate(words: Sequence[str]) -> int:
    """Run with arguments NAME:=VALUE; return the exit status. Raises ValueError."""
    arguments = read_arguments(TorqueRunArguments, words)
    robot = load_robot(arguments.robot)
    run = TorqueRun(arguments, robot)
    with RunReport("ident", arguments, robot, "diffbot_report.ident_figures") as report:
        return _reported(run, arguments, robot, report)


def _reported(
    run: TorqueRun, arguments: TorqueRunArguments, robot: Robot, report: RunReport
) -> int:
    console = report.console

    def show(recording: IdentRecording) -> None:
        report.show(
            recording.elapsed,
            arguments.duration,
            lambda: identification_table(recording, robot, console.width),
        )

    outcome = report.follow(run, show).outcome
    report.save_table(JOINT_STATES, COLUMNS, run.joint_states)
    record_joints(report, robot, run.joint_states)
    course = run.course
    export = export_results(
        report.folder,
        robot,
        course.estimate,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        version=suite_version(),
        seconds=course.excited,
        verification=course.verified,
    )
    for path in export.paths:
        say(console, str(path))
    if export.refusal is not None:
        say(console, export.refusal)
    if course.problem and outcome is Outcome.COMPLETED:
        outcome = Outcome.FAILED
    findings = identification_findings(run.recording, robot, console.width, report.run.setting)
    return report.write(findings, Ending(outcome, course.problem or ""))
