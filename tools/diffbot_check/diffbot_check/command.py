# SPDX-License-Identifier: Apache-2.0
"""``diffbot check``: look at a robot, running or recorded, before anything moves."""

from __future__ import annotations

import argparse
import json
import math
import signal
from collections.abc import Callable, Sequence

from rich.console import Console

from diffbot_check.observation import CheckedRobot, Observation, TopicNames
from diffbot_description import load_robot
from diffbot_description.command_kind import CommandKind
from diffbot_description.command_parser import CommandParser
from diffbot_description.files import closest
from diffbot_description.named_paths import expanded
from diffbot_description.terminal_text import complain
from diffbot_recordings.samples import RecordingError

READY, LACKING, USAGE, INTERRUPTED = 0, 1, 2, 128 + signal.SIGINT
SECONDS, RECORDED_SECONDS = 5.0, 60.0
LONGEST = 3600.0
TOPICS = ("joint_states", "efforts", "odom", "cmd_vel", "imu", "pose")
# Options that may be written as launch arguments, NAME:=VALUE.
NAMES = ("robot", "commands", "namespace", "seconds", *TOPICS)

_EPILOG = """\
It publishes and moves nothing. Arguments may be written as those of launch files: robot:=FILE
odom:=TOPIC. The robot of a running launch is looked at in its own domain.
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
    add("--all", dest="everything", action="store_true", help="all findings, on several screens")
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

    robot = None if options.robot is None else load_robot(options.robot)
    topics = TopicNames.of(options.namespace, **{name: getattr(options, name) for name in TOPICS})
    if options.recording is None:
        join()
    seen, topics = _observe(options, topics)
    chosen = None if options.commands is None else CommandKind(options.commands)
    subject = CheckedRobot(seen, robot, topics, chosen, options.robot or "")
    report = judge(subject)
    if options.json:
        print(json.dumps(plain(subject, report), indent=2))
    else:
        console = Console(highlight=False)
        if not console.is_terminal:
            console = Console(width=max(WIDTH, console.width), highlight=False)
        show(console, subject, report, options.everything or not console.is_terminal)
    return READY if report.is_ready else LACKING


def _observe(options: argparse.Namespace, topics: TopicNames) -> tuple[Observation, TopicNames]:
    if options.recording is not None:
        from diffbot_check.recorded_observation import observe

        return observe(expanded(options.recording), topics, options.seconds or RECORDED_SECONDS)
    from diffbot_check.graph_watch import GraphWatch  # needs ROS

    status = Console(stderr=True, highlight=False)
    with (
        GraphWatch(topics, options.namespace) as graph,
        status.status("looking at the graph; nothing is published ...") as line,
    ):
        seen = graph.watch(
            options.seconds or SECONDS,
            lambda left: line.update(f"looking for {left:.0f} s more; nothing is published"),
        )
    return seen, topics
