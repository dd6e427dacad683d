# SPDX-License-Identifier: Apache-2.0
"""One screen of a check, and the same as plain values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from diffbot_check.check_finding import COMMANDS, CheckFinding, Part, Severity
from diffbot_check.joint_rules import UNITS, columns, names_in, several, sides_of, usable
from diffbot_check.judging import CheckReport
from diffbot_check.observation import CheckedRobot, TopicNames
from diffbot_check.stream_rules import clock_of
from diffbot_description.command_kind import CommandKind
from diffbot_description.spoken import spoken
from diffbot_description.spoken_commands import spoken as spoken_line
from diffbot_description.terminal_text import printable
from diffbot_node.endpoints import EndpointRole, named
from diffbot_node.topic_types import JOINT_STATE

# Size of the smallest screen that it fits.
WIDTH, HEIGHT = 80, 24
MARKS = {None: "ok", Severity.NOTE: "ok", Severity.WARNING: "!", Severity.FAULT: "X"}
STYLES = {"ok": "green", "!": "yellow", "X": "bold red", "-": "dim"}
TITLES = {Severity.FAULT: "X", Severity.WARNING: "!", Severity.NOTE: "i"}


def summaries(subject: CheckedRobot) -> Iterator[tuple[Part, str]]:
    """Yield one line about each part that is there."""
    seen, topics = subject.seen, subject.topics
    for part, topic in (
        (Part.WHEELS, topics.joint_states),
        (Part.ODOMETRY, topics.odom),
        (Part.SENSOR, topics.imu),
        (Part.SENSOR, topics.pose),
    ):
        if line := _of_stream(subject, topic):
            yield part, line
    yield from _of_wheels(subject)
    for part, topic in (
        (Part.TORQUE_COMMANDS, topics.efforts),
        (Part.VELOCITY_COMMANDS, topics.cmd_vel),
    ):
        subscribers = seen.partners(topic, EndpointRole.SUBSCRIBES)
        if subscribers:
            kinds = ", ".join(sorted({each.type.rpartition("/")[2] for each in subscribers}))
            times = ", ".join(f"{k.split()[1]} {v:g} s" for k, v in sorted(seen.timeouts.items()))
            yield part, f"{topic}: {named(subscribers)} takes {kinds}{times and f'; {times}'}"
        elif stream := subject.stream(topic):
            yield part, f"{topic}: {stream.count} recorded commands"
    if seen.controllers is not None:
        states = ", ".join(f"{each.name} {each.state}" for each in seen.controllers)
        yield Part.CONTROLLERS, states or "none loaded"
    if frames := sorted(f"{parent}→{child}" for parent, child in seen.transforms):
        yield Part.DESCRIPTION, f"tf: {several(frames)}"
    if about := seen.machine:
        closed = "this computer" if about.beyond else "network"
        yield (
            Part.MACHINE,
            f"domain {about.domain}, sees {closed}, load {about.load:.1f} of {about.processors}, "
            f"{about.middleware.removeprefix('rmw_')}" + ("" if about.real_time else ", no rtprio"),
        )


def _of_wheels(subject: CheckedRobot) -> Iterator[tuple[Part, str]]:
    stream, sides = subject.stream(subject.topics.joint_states), sides_of(subject)
    if stream is None or stream.type != JOINT_STATE:
        return
    names = () if sides is None else (*sides[0], *sides[1])
    places = usable(stream, names) if names else []
    if sides is None or not places:
        yield Part.WHEELS, f"of {several(names_in(stream))}"
        return
    yield Part.WHEELS, f"left: {several(sides[0])}; right: {several(sides[1])}"
    efforts = columns(stream, places, "effort", names)
    if np.isfinite(efforts).all():
        robot = subject.robot
        unit = "" if robot is None else f" {UNITS.get(robot.drive.effort_unit, '')} by the file"
        yield Part.EFFORTS, f"up to {spoken(float(np.abs(efforts).max()))}{unit}"


def _of_stream(subject: CheckedRobot, topic: str) -> str:
    stream = subject.stream(topic)
    if stream is None:
        return ""
    who = named(subject.seen.partners(topic, EndpointRole.PUBLISHES))
    steps = stream.steps
    jitter = 1e3 * float(np.std(steps)) if len(steps) > 1 else 0.0
    return (
        f"{topic}{who and f' of {who}'}: {spoken(stream.rate)} Hz ± {jitter:.1f} ms, "
        f"{clock_of(stream, subject.seen.is_simulated)}"
    )


def plain(subject: CheckedRobot, report: CheckReport) -> dict[str, object]:
    """Return the report as values for JSON."""
    seen, topics = subject.seen, subject.topics
    return {
        "ready": report.is_ready,
        "commands": report.kind.value,
        "robot": None if subject.robot is None else subject.robot.name,
        "seconds": subject.seen.seconds,
        "recording": subject.seen.recording or None,
        "cmd_vel": sorted(
            {each.type for each in seen.partners(topics.cmd_vel, EndpointRole.SUBSCRIBES)}
        ),
        "tasks": {
            state.task.label: {
                "ready": state.is_ready,
                "lacks": [part.value for part in state.lacks],
            }
            for state in report.tasks
        },
        "findings": [each.plain() for each in report.findings],
        "seen": [{"part": part.value, "text": text} for part, text in summaries(subject)],
    }


def show(console: Console, subject: CheckedRobot, report: CheckReport, everything: bool) -> None:
    """Print one screen; with `everything`, all findings however many lines they need."""
    worst = {
        part: max(each.severity for each in report.findings if each.part is part)
        for part in {each.part for each in report.findings}
    }
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=2, justify="right")
    table.add_column(width=17, no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    last: Part | None = None
    for part, text in sorted(summaries(subject), key=lambda line: [*Part].index(line[0])):
        first, last = part is not last, part
        mark = MARKS[worst.get(part)] if first else ""
        table.add_row(
            Text(mark, style=STYLES.get(mark, "")),
            part.value if first else "",
            Text(printable(text)),
        )
    console.print(_headline(subject, report), no_wrap=True, overflow="ellipsis")
    console.print(table)
    for state in report.tasks:
        lacks = ", ".join(part.value for part in state.lacks)
        mark = "X" if state.lacks else "ok"
        line = Text.assemble(
            (f"{mark:>2}", STYLES[mark]),
            f" {state.task.label:<17} {'lacks ' + lacks if lacks else 'ready'}",
        )
        console.print(line, no_wrap=True, overflow="ellipsis")
    rows = 1 + table.row_count + len(report.tasks) + report.is_ready
    height = max(HEIGHT, console.height if console.is_terminal else 0)
    _show_findings(console, report.findings, None if everything else height - 1 - rows)
    if report.is_ready:
        console.print(f"Next: {next_step(subject, report)}", soft_wrap=True)


def _headline(subject: CheckedRobot, report: CheckReport) -> str:
    robot = "no robot file" if subject.robot is None else f"robot {subject.robot.name}"
    kind = f"takes {COMMANDS[report.kind].value}"
    seen = subject.seen
    where = f" in {Path(seen.recording).name}" if seen.recording else ""
    return printable(f"{robot}, {kind}; looked at {seen.seconds:.1f} s{where}")


def next_step(subject: CheckedRobot, report: CheckReport) -> str:
    """Return the command that identifies the robot."""
    name, seen = subject.given or "FILE", subject.seen
    if seen.recording:
        return spoken_line("identify", seen.recording, "--robot", name)
    words = ["sim:=none", f"robot:={name}", "arena:=3x3"]
    topics, usual = subject.topics, TopicNames()
    stated = None if subject.robot is None else subject.robot.drive.command
    if report.kind is CommandKind.VELOCITY:
        if stated is not report.kind:
            words.append("commands:=velocity")
        for argument in ("odom", "cmd_vel"):
            if (topic := getattr(topics, argument)) != getattr(usual, argument):
                words.append(f"{argument}:={topic}")
    domain = 0 if seen.machine is None else seen.machine.domain
    return f"{f'ROS_DOMAIN_ID={domain} ' if domain else ''}{spoken_line('launch', 'ident', *words)}"


def _show_findings(console: Console, findings: tuple[CheckFinding, ...], room: int | None) -> None:
    """Print as many findings as fit into this number of lines."""
    for index, each in enumerate(findings):
        lines = [*lines_of(console, each)]
        height = sum(max(1, math.ceil(line.cell_len / console.width)) for line in lines)
        left = len(findings) - index
        if room is not None and height > room - (left > 1):
            console.print(f"{left} more: --all shows them", style="dim")
            return
        if room is not None:
            room -= height
        for line in lines:
            console.print(line, soft_wrap=True)


def lines_of(console: Console, finding: CheckFinding) -> Iterator[Text]:
    """Yield the lines of a finding: what, why, and what to type."""
    mark = TITLES[finding.severity]
    style = {"X": "bold red", "!": "yellow", "i": "dim"}[mark]
    text = Text.assemble((f"{printable(finding.what)}; ", style), printable(finding.why))
    for number, line in enumerate(text.wrap(console, console.width - 3)):
        begin = Text(f"{mark} " if not number else "  ", style=style)
        yield Text.assemble(begin, line)
    if finding.line:
        yield Text(f"    {printable(finding.line)}", style="cyan")
