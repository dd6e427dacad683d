# SPDX-License-Identifier: Apache-2.0
"""A whole run of `ident` on a simulated robot that takes velocities, without ROS; its report.

Course, driver, odometry and analysis are those of the nodes `velocity_ident`, `velocity_simulator`
and `velocity_ident_report`, so equal settings give equal values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arc_odometry import Pose, Velocity
from arc_odometry.odometry_checks import OdometrySample
from diffbot_description import Robot, load_robot
from diffbot_description.robot import Pair
from diffbot_ident.excitation.velocity_course import VelocityCourse, VelocityCourseSettings
from diffbot_ident.identification_run import Phase
from diffbot_node.command_guard import PairLimiter
from diffbot_recordings.velocity_record import VelocityRecord, live_table, velocity_run_findings
from diffbot_report.display import say
from diffbot_report.run_end import Ending, IdentState, Outcome, RunPhase
from diffbot_report.sample_buffer import NANOSECONDS
from diffbot_sim.simulated_velocity_robot import SimulatedVelocityRobot
from diffbot_sim.virtual_robot import received_stamp
from diffbot_study.run_arguments import VelocityArguments, read_arguments
from diffbot_study.run_bag import VelocityRows
from diffbot_study.run_report import RunReport

# Input timeout of velocity_ident beside a simulator in its process, s.
LATENCY = 0.25


@dataclass(frozen=True)
class VelocityRunArguments(VelocityCourseSettings, VelocityArguments):
    """Arguments of a simulated identification of lag, dead time, gain and dead band."""


def odometry_of(simulated: SimulatedVelocityRobot) -> OdometrySample:
    """Return the odometry as a node receives it: stamp in whole ns, heading within +-pi."""
    pose, velocity = simulated.odometry.pose, simulated.odometry.velocity
    half = 0.5 * pose.theta
    z, w = math.sin(half), math.cos(half)
    heading = math.atan2(2.0 * w * z, 1.0 - 2.0 * z * z)
    stamp = received_stamp(simulated.stamp)
    return OdometrySample(stamp, Pose(pose.x, pose.y, heading), Velocity(*velocity))


class VelocityRun:
    """A simulated identification; `record` and `rows` are complete after `execute`.

    Raises ValueError if a setting is outside its range, or does not suit the robot.
    """

    def __init__(
        self,
        arguments: VelocityRunArguments,
        robot: Robot,
        inform: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._arguments = arguments
        self.course = VelocityCourse(robot, arguments, LATENCY, inform=inform, warn=inform)
        self._simulated = SimulatedVelocityRobot(
            arguments, robot, load_robot(arguments.moved_robot).geometry, arguments.period
        )
        self.record, self.rows = VelocityRecord(), VelocityRows()
        self._refused = 0

    def execute(self, progress: Callable[[VelocityRecord], None] = lambda _: None) -> None:
        course, simulated = self.course, self._simulated
        limiter = PairLimiter("velocity", "(m/s, rad/s)", course.limits)
        while not course.ended:
            sample = odometry_of(simulated)
            wanted = self._answer(sample, Velocity(*limiter.command))
            command = limiter.apply((0.0, 0.0) if course.ended else wanted, self._arguments.period)
            self.rows.add(sample, command)
            self._note(command)
            progress(self.record)
            simulated.advance(command)

    def stop(self, problem: str) -> None:
        self.course.end(Phase.STOPPED, problem)
        self._note((0.0, 0.0))

    def _answer(self, sample: OdometrySample, commanded: Velocity) -> Pair:
        try:
            v, omega = self.course.update(sample, commanded) or commanded
        except ValueError:  # as in the node, zero answers a sample that cannot be used
            self._refused += 1
            self.course.refuse(sample)
            return 0.0, 0.0
        return v, omega

    def _note(self, command: Pair) -> None:
        course, arena = self.course, self.course.arena
        stamp = course.newest if math.isfinite(course.newest) else 0.0
        state = IdentState(
            stamp=round(stamp * NANOSECONDS),
            phase=RunPhase[course.phase.name],
            message=course.problem,
            elapsed=course.elapsed,
            duration=self._arguments.duration,
            refused=self._refused,
            statuses=self.record.total + 1,
            velocity=course.velocity,
            position=(course.pose.x, course.pose.y),
            heading=course.pose.theta,
            arena=(arena.length, arena.width),
            guarded=course.guarded,
        )
        self.record.add(state, command, course.driver)


ARGUMENTS = VelocityRunArguments


def simulate(words: Sequence[str]) -> int:
    """Run with arguments NAME:=VALUE; return the exit status. Raises ValueError."""
    arguments = read_arguments(VelocityRunArguments, words)
    robot = load_robot(arguments.robot)
    run = VelocityRun(arguments, robot)
    with RunReport("ident", arguments, robot, "diffbot_report.figure_style") as report:

        def show(record: VelocityRecord) -> None:
            report.show(record.elapsed, arguments.duration, lambda: live_table(record, {}))

        ending = report.follow(run, show)
        if run.course.problem and ending.outcome is Outcome.COMPLETED:
            ending = Ending(Outcome.FAILED, run.course.problem)
        run.rows.write(report)
        say(report.console, "identifying")
        findings = velocity_run_findings(run.record, report.folder, robot, report.run.setting)
        return report.write(findings, ending)
