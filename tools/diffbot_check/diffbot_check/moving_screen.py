# SPDX-License-Identifier: Apache-2.0
"""What a moving check shows and writes: one screen, plain values, and the robot's file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from diffbot_check.check_finding import Severity
from diffbot_check.check_screen import lines_of
from diffbot_check.moving_rules import UNITS, MovingJudgement
from diffbot_check.moving_test import MovingTest
from diffbot_check.observation import CheckedRobot
from diffbot_description.command_kind import CommandKind
from diffbot_description.loading import SUFFIXES, known_robots, save_robot
from diffbot_description.robot import MeasuredDrive, Robot
from diffbot_description.spoken import spoken
from diffbot_description.terminal_text import printable


def measured(test: MovingTest) -> MeasuredDrive | None:
    """Return what the robot's file stores of a test; None if a command moved nothing."""
    left, right = test.result.least(0), test.result.least(1)
    if left is None or right is None:
        return None
    result = test.result
    return MeasuredDrive((left, right), result.delay, result.timeout)


def summaries(test: MovingTest) -> Iterator[str]:
    """Yield one line about each thing that was measured."""
    result, units = test.result, UNITS[test.kind]
    said = [
        f"{name} {spoken(least)} {unit}"
        for channel, (name, unit) in enumerate(zip(test.names, units, strict=True))
        if (least := result.least(channel)) is not None
    ]
    if said:
        yield f"least command that turns a wheel: {', '.join(said)}"
    if result.delay is not None:
        yield f"delay: at most {result.delay:.2f} s from a command to the first motion seen"
    if result.timeout is not None:
        yield f"the driver stops by itself within {result.timeout:.2f} s after the last command"
    elif not result.watched:
        yield "not known: whether the driver stops by itself"
    yield f"farthest turn of a wheel: {result.farthest:.2f} rad"


def plain(test: MovingTest, judgement: MovingJudgement) -> dict[str, Any]:
    """Return the result as values for JSON."""
    result = test.result
    return {
        "least": dict(zip(test.names, (result.least(0), result.least(1)), strict=True)),
        "units": list(UNITS[test.kind]),
        "delay": result.delay,
        "timeout": result.timeout,
        "watched": result.watched,
        "gain": result.gain,
        "farthest": result.farthest,
        "ended": result.ended or None,
        "findings": [each.plain() for each in judgement.findings],
    }


def show(console: Console, test: MovingTest, judgement: MovingJudgement) -> None:
    """Print what was measured, and each finding."""
    for text in summaries(test):
        console.print(f"ok {printable(text)}", soft_wrap=True)
    for finding in judgement.findings:
        for line in lines_of(console, finding):
            console.print(line, soft_wrap=True)
    if not judgement.findings:
        console.print("each wheel turns as it is commanded", style="green")


def is_sound(judgement: MovingJudgement) -> bool:
    """Whether no finding is a fault."""
    return all(each.severity < Severity.FAULT for each in judgement.findings)


def write(
    subject: CheckedRobot, test: MovingTest, judgement: MovingJudgement
) -> tuple[Path, Path] | None:
    """Write joints and what was measured into the robot's file; return it and the old one's copy.

    None: nothing was measured that the file stores.

    Raises:
        ValueError: The robot is no file that can be changed.
        OSError: It cannot be written.
    """
    robot = subject.robot
    assert robot is not None
    if subject.given in known_robots() or not subject.given.endswith(SUFFIXES):
        raise ValueError(
            f"{subject.given} is no robot file that can be changed; make one with describe, and "
            "give it as robot:=FILE.yaml"
        )
    changed: Robot = robot
    if judgement.joints is not None:
        changed = replace(changed, joints=judgement.joints)
    if (values := measured(test)) is not None:
        changed = replace(changed, measured=values)
    if test.kind is CommandKind.VELOCITY and robot.drive.command is None:
        changed = replace(changed, drive=replace(robot.drive, command=CommandKind.VELOCITY))
    if changed == robot:
        return None
    old = _free(robot.path)
    shutil.copy2(robot.path, old)
    save_robot(changed, robot.path)
    return robot.path, old


def _free(path: Path) -> Path:
    """Return a name for a copy that does not exist: FILE.1.old, FILE.2.old ..."""
    number = 1
    while (old := path.with_name(f"{path.name}.{number}.old")).exists():
        number += 1
    return old
