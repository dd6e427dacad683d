# SPDX-License-Identifier: Apache-2.0
"""All findings about a robot, and the tasks that can begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from diffbot_check.check_finding import COMMANDS, CheckFinding, Part, RobotTask, Severity
from diffbot_check.description_rules import description, frames
from diffbot_check.graph_rules import commands, controllers, publishers, timeouts
from diffbot_check.joint_rules import file_of, joint_states
from diffbot_check.machine_rules import machine
from diffbot_check.observation import CheckedRobot
from diffbot_check.stream_rules import rates_and_stamps
from diffbot_description.command_kind import CommandKind
from diffbot_node.endpoints import EndpointRole, named


@dataclass(frozen=True)
class TaskState:
    """Whether a task can begin: the parts that it lacks, and those with a fault."""

    task: RobotTask
    lacks: tuple[Part, ...]

    @property
    def is_ready(self) -> bool:
        return not self.lacks


@dataclass(frozen=True)
class CheckReport:
    """What was found out.

    Attributes:
        kind: Commands that the robot takes, chosen or concluded from what is there.
        findings: The worst first.
        tasks: Those for this kind of robot.
    """

    kind: CommandKind
    findings: tuple[CheckFinding, ...]
    tasks: tuple[TaskState, ...]

    @property
    def is_ready(self) -> bool:
        """Whether the robot can be identified and driven."""
        return all(state.is_ready for state in self.tasks if state.task is not RobotTask.CALIBRATE)


def kind_of(subject: CheckedRobot) -> CommandKind:
    """Return the commands that the robot takes: by the choice, its file, or what is there."""
    stated = None if subject.robot is None else subject.robot.drive.command
    return subject.chosen or stated or kind_seen(subject)


def kind_seen(subject: CheckedRobot) -> CommandKind:
    """Return the commands that the robot takes by what is there."""
    seen, topics = subject.seen, subject.topics
    efforts, twists, odometry = (
        bool(seen.partners(topic, role)) or topic in seen.streams
        for topic, role in (
            (topics.efforts, EndpointRole.SUBSCRIBES),
            (topics.cmd_vel, EndpointRole.SUBSCRIBES),
            (topics.odom, EndpointRole.PUBLISHES),
        )
    )
    if efforts:
        return CommandKind.EFFORT
    states = bool(seen.partners(topics.joint_states, EndpointRole.PUBLISHES))
    states = states or topics.joint_states in seen.streams
    return CommandKind.VELOCITY if twists or (odometry and not states) else CommandKind.EFFORT


def stated_kind(subject: CheckedRobot) -> Iterator[CheckFinding]:
    """Yield that the file states another kind of commands than nodes take, or none."""
    robot, seen = subject.robot, kind_seen(subject)
    if robot is None or robot.drive.command is seen:
        return
    stated, topics = robot.drive.command, subject.topics
    topic = topics.efforts if seen is CommandKind.EFFORT else topics.cmd_vel
    subscribers = subject.seen.partners(topic, EndpointRole.SUBSCRIBES)
    line = f"drive: {{command: {seen.value}}}   ({file_of(subject)})"
    if stated is not None and subscribers and subject.chosen is None:
        yield CheckFinding(
            Severity.FAULT,
            COMMANDS[stated],
            f"{file_of(subject)} states drive.command = {stated.value}, and "
            f"{named(subscribers)} takes {topic}",
            "the tasks would send commands that nobody takes",
            line,
        )
    elif stated is None and seen is CommandKind.VELOCITY:
        yield CheckFinding(
            Severity.NOTE,
            Part.DESCRIPTION,
            f"{file_of(subject)} does not state that the robot takes velocities",
            "without commands:=velocity a launch then sends torques",
            line,
        )


def _about_robot(subject: CheckedRobot) -> list[CheckFinding]:
    topics = subject.topics
    return [
        *controllers(subject),
        *publishers(subject),
        *joint_states(subject),
        *rates_and_stamps(subject, topics.joint_states, Part.WHEELS),
        *rates_and_stamps(subject, topics.odom, Part.ODOMETRY),
        *commands(subject),
        *description(subject),
        *frames(subject),
        *timeouts(subject),
        *stated_kind(subject),
    ]


def judge(subject: CheckedRobot, more: Sequence[CheckFinding] = ()) -> CheckReport:
    """Return the findings about what was seen, with `more`, and which tasks can begin."""
    kind = kind_of(subject)
    tasks = [
        task
        for task in RobotTask
        if task.kind in (None, kind)
        and not (
            subject.seen.recording and task in (RobotTask.DRIVE_TORQUE, RobotTask.DRIVE_VELOCITY)
        )
    ]
    needed = {task: task.needs(kind, bool(subject.seen.recording)) for task in tasks}
    findings = [*more] if subject.seen.is_empty else [*more, *_about_robot(subject)]
    findings += machine(subject)
    relevant = {part for parts in needed.values() for part in parts}
    relevant |= {Part.DESCRIPTION, Part.CONTROLLERS, Part.MACHINE}
    findings = [each for each in findings if each.part in relevant]
    broken = {each.part for each in findings if each.severity is Severity.FAULT}
    states = tuple(
        TaskState(task, tuple(part for part in (*needed[task], Part.MACHINE) if part in broken))
        for task in tasks
    )
    main = {part for task in tasks if task is not RobotTask.CALIBRATE for part in needed[task]}
    main |= {Part.DESCRIPTION, Part.CONTROLLERS, Part.MACHINE}
    # What calibration alone needs is no fault of a robot that is to be identified and driven.
    findings = [
        each if each.part in main else replace(each, severity=Severity.NOTE) for each in findings
    ]
    return CheckReport(kind, tuple(sorted(findings, key=lambda each: -each.severity)), states)
