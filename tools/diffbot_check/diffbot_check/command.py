# SPDX-License-Identifier: Apache-2.0
"""``diffbot check``: look at a robot, running or recorded, before anything moves."""

from __future__ import annotations

import argparse
import json
import math
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from diffbot_check.check_finding import CheckFinding
from diffbot_check.observation import CheckedRobot, Observation, TopicNames
from diffbot_description import load_robot
from diffbot_description.command_kind import CommandKind
from diffbot_description.command_parser import CommandParser
from diffbot_description.files import closest, write_json
from diffbot_description.named_paths import expanded
from diffbot_description.run_folder import check_replaceable
from diffbot_description.standard_streams import keep_streams
from diffbot_description.terminal_text import complain
from diffbot_recordings.samples import RecordingError

READY, LACKING, USAGE, INTERRUPTED = 0, 1, 2, 128 + signal.SIGINT
SECONDS, RECORDED_SECONDS = 5.0, 60.0
LONGEST = 3600.0
# How long to wait for a push, and for the robot to come to rest after it, s.
PUSH_PATIENCE, PUSH_REST = 30.0, 1.5
TOPICS = ("joint_states", "efforts", "odom", "cmd_vel", "imu", "pose")
# Options that may be written as launch arguments, NAME:=VALUE.
NAMES = ("robot", "commands", "namespace", "seconds", *TOPICS)

_EPILOG = """\
It publishes and moves nothing, but for --moving, which asks first. Arguments may be written as
those of launch files: robot:=FILE odom:=TOPIC. The robot of a running launch is looked at in its
own domain.
exit status: 0 the robot can be identified and driven (a recording: identified); 1 something is
missing; 2 wrong arguments or nothing to read; 130 stopped by Ctrl-C."""


def _parser(program: str) -> argparse.ArgumentParser:
    parser = CommandParser(
        program, "Show what is there of a robot, what each task needs, and what to type.", _EPILOG
    )
    add = parser.add_argument
    add("recording", metavar="RECORDING", nargs="?", help="rosbag2 folder or file, e.g. run.mcap")
    add("--robot", metavar="R", help="robot file, URDF or name; without it names are not compared")
    add(
        "--commands",
        choices=[kind.value for kind in CommandKind],
        help="default: what the robot takes",
    )
    add("--namespace", metavar="NS", default="", help="of the robot's topics")
    for name in TOPICS:
        default = getattr(TopicNames(), name).lstrip("/")
        add(f"--{name.replace('_', '-')}", metavar="TOPIC", help=f"default: {default}")
    text = f"how long to look, s (default: {SECONDS:g}; recordings: {RECORDED_SECONDS:g})"
    add("--seconds", metavar="S", type=float, help=text)
    add("--by-hand", action="store_true", help="ask to push the robot: swapped, reversed wheels")
    add("--moving", action="store_true", help="turn one wheel at a time, by the least command")
    add("--yes", action="store_true", help="with --moving: the robot has room; do not ask")
    add("--write", action="store_true", help="with --moving: put the result into the robot's file")
    add("--all", dest="everything", action="store_true", help="all findings, on several screens")
    add("--output", metavar="FILE", type=Path, help="write everything as JSON, too")
    add("--json", action="store_true", help="print everything as JSON")
    return parser


def main(argv: Sequence[str], program: str, join: Callable[[], None] = lambda: None) -> int:
    """Check; return the exit status.

    `join` chooses the domain of a running graph; it may refuse with a ValueError.
    """
    parser = _parser(program)
    options = parser.parse_args(_as_options(argv, parser))
    seconds = options.seconds
    if seconds is not None and not (math.isfinite(seconds) and 0.5 <= seconds <= LONGEST):
        parser.error(f"--seconds {seconds:g}: must be from 0.5 to {LONGEST:g}")
    if not options.moving and (options.yes or options.write):
        parser.error("--yes and --write need --moving")
    if options.moving and not options.robot:
        parser.error("--moving needs the robot's limits: robot:=FILE")
    if options.moving:
        keep_streams()
    try:
        return _check(options, join)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (RecordingError, ValueError, OSError) as error:
        complain(program, error)
        return USAGE


def _as_options(words: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Return the words with NAME:=VALUE as --NAME=VALUE."""
    options = []
    for word in words:
        name, separator, value = word.partition(":=")
        if separator and not word.startswith("-"):
            if name not in NAMES:
                likely = closest(name, NAMES)
                hint = f"; did you mean {likely!r}?" if likely else ""
                parser.error(f"unknown argument {name!r}{hint}; known: {', '.join(NAMES)}")
            word = f"--{name.replace('_', '-')}={value}"
        options.append(word)
    return options


def _check(options: argparse.Namespace, join: Callable[[], None]) -> int:
    from diffbot_check.check_screen import WIDTH, plain, show
    from diffbot_check.judging import judge

    if options.output is not None:
        check_replaceable(options.output)
    robot = None if options.robot is None else load_robot(options.robot)
    topics = TopicNames.of(options.namespace, **{name: getattr(options, name) for name in TOPICS})
    if options.recording is None:
        join()
    elif options.by_hand or options.moving:
        raise ValueError("--by-hand and --moving need a running robot: leave the recording out")
    chosen = None if options.commands is None else CommandKind(options.commands)
    seen, topics = _observed(options, topics)
    subject = CheckedRobot(seen, robot, topics, chosen, options.robot or "")
    more: list[CheckFinding] = []
    if options.recording is None:
        subject, more = _looked(options, subject)
    report = judge(subject, more)
    if options.moving:
        from diffbot_check.moving_command import check_moving

        return check_moving(options, subject, report, not more and options.by_hand)
    if options.output is not None:
        write_json(options.output, plain(subject, report))
    if options.json:
        print(json.dumps(plain(subject, report), indent=2))
    else:
        console = Console(highlight=False, markup=False)
        if not console.is_terminal:
            console = Console(width=max(WIDTH, console.width), highlight=False, markup=False)
        show(console, subject, report, options.everything or not console.is_terminal)
    return READY if report.is_ready else LACKING


def _observed(options: argparse.Namespace, topics: TopicNames) -> tuple[Observation, TopicNames]:
    """Return what a recording holds; of a running graph nothing yet."""
    if options.recording is None:
        return Observation(0.0), topics
    from diffbot_check.recorded_observation import observe

    return observe(expanded(options.recording), topics, options.seconds or RECORDED_SECONDS)


def _looked(
    options: argparse.Namespace, subject: CheckedRobot
) -> tuple[CheckedRobot, list[CheckFinding]]:
    """Look at the running graph; return what was seen, and what pushes have shown."""
    from diffbot_check.graph_watch import GraphWatch  # needs ROS
    from diffbot_check.hand_rules import Push, is_enough, pushed

    def with_seen(seen: Observation) -> CheckedRobot:
        return replace(subject, seen=seen)

    pushes = {}
    status = Console(stderr=True, highlight=False, markup=False)
    with (
        GraphWatch(subject.topics, options.namespace) as graph,
        status.status("looking at the graph; nothing is published ...") as line,
    ):
        seen = graph.watch(
            options.seconds or SECONDS,
            lambda left: line.update(f"looking for {left:.0f} s more; nothing is published"),
        )
        for push in Push if options.by_hand else ():
            begin = graph.now()
            status.print(f"Now, by hand, with the motors off or free: {push.value}, then let go.")
            seen = graph.watch(
                PUSH_PATIENCE,
                lambda left: line.update(f"waiting {left:.0f} s for it"),
                lambda seen, push=push, begin=begin: is_enough(  # type: ignore[misc]
                    with_seen(seen), push, (begin, math.inf)
                ),
            )
            seen = graph.watch(PUSH_REST, lambda left: line.update("let go"))
            pushes[push] = begin, graph.now()
    subject = with_seen(seen)
    return subject, [*pushed(subject, pushes)] if pushes else []
