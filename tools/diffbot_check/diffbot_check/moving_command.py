# SPDX-License-Identifier: Apache-2.0
"""``diffbot check --moving``: asks, runs the test, shows and writes what it found."""

from __future__ import annotations

import argparse
import json
import sys
import time

from rich.console import Console

from diffbot_check.check_finding import Part, Severity
from diffbot_check.check_screen import WIDTH, plain, show
from diffbot_check.judging import CheckReport
from diffbot_check.moving_guard import in_time
from diffbot_check.moving_rules import judged
from diffbot_check.moving_run import MovingGraph
from diffbot_check.moving_screen import is_sound, write
from diffbot_check.moving_screen import plain as plain_moving
from diffbot_check.moving_screen import show as show_moving
from diffbot_check.moving_test import MovingTest
from diffbot_check.observation import CheckedRobot
from diffbot_description.command_kind import CommandKind
from diffbot_description.files import write_json
from diffbot_description.terminal_text import printable

READY, LACKING, REFUSED = 0, 1, 1
ANSWER = "yes"
# What must be there before anything is moved: efforts and speeds are looked at by moving.
NEEDED = {
    CommandKind.EFFORT: (Part.WHEELS, Part.TORQUE_COMMANDS),
    CommandKind.VELOCITY: (Part.ODOMETRY, Part.VELOCITY_COMMANDS),
}
# Time between two lines of progress, s.
SHOWN = 0.25


def check_moving(
    options: argparse.Namespace, subject: CheckedRobot, report: CheckReport, pushed: bool
) -> int:
    """Test a robot that was looked at; return the exit status.

    `pushed`: a person has pushed it, and no encoder is wrong. ValueError: it cannot begin.
    """
    errors = Console(stderr=True, highlight=False, markup=False)
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(width=max(WIDTH, console.width), highlight=False, markup=False)
    broken = {each.part for each in report.findings if each.severity is Severity.FAULT}
    lacks = [part for part in NEEDED[report.kind] if part in broken]
    if lacks:
        if options.json:
            print(json.dumps({**plain(subject, report), "moving": None}, indent=2))
        else:
            show(console, subject, report, everything=True)
        errors.print(f"nothing was moved: mend {' and '.join(part.value for part in lacks)} first")
        return LACKING
    assert subject.robot is not None
    test = MovingTest(subject.robot, report.kind)
    if not options.yes and not _agreed(errors, test):
        errors.print("nothing was moved")
        return REFUSED
    in_time()
    with MovingGraph(subject, test) as graph, errors.status("starting the guard ...") as line:
        shown = 0.0

        def progress() -> None:
            nonlocal shown
            if time.monotonic() - shown > SHOWN:
                shown = time.monotonic()
                line.update(f"{test.doing}; Ctrl-C stops it")

        graph.run(progress)
    judgement = judged(subject, test, pushed)
    content = {**plain(subject, report), "moving": plain_moving(test, judgement)}
    if options.output is not None:
        write_json(options.output, content)
    if options.json:
        print(json.dumps(content, indent=2))
    else:
        show_moving(console, test, judgement)
    if options.write:
        written = write(subject, test, judgement)
        said = "written: {}; before: {}".format(*written) if written else "nothing to write"
        errors.print(printable(said), soft_wrap=True)
    return READY if is_sound(judgement) else LACKING


def _agreed(console: Console, test: MovingTest) -> bool:
    """Say what will happen, and wait for the answer."""
    units = ("N m", "N m") if test.kind is CommandKind.EFFORT else ("m/s", "rad/s")
    limits = ", ".join(
        f"{name} {limit:g} {unit}"
        for name, limit, unit in zip(test.names, test.limits, units, strict=True)
    )
    console.print(
        "The wheels will turn, one at a time, forward and backward, by less than a quarter turn "
        f"each, for up to a minute; the largest commands are {limits}. Lift the wheels, or leave "
        "20 cm of room on all sides, and keep the emergency stop within reach. Ctrl-C stops it.",
        soft_wrap=True,
    )
    console.print(f"Type {ANSWER} to begin: ", end="")
    try:
        return sys.stdin.readline().strip().lower() == ANSWER
    except KeyboardInterrupt:
        return False
