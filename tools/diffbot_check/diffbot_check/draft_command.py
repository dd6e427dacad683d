# SPDX-License-Identifier: Apache-2.0
"""The executable `draft`: `launch ident robot:=auto` offers a robot file made from the topics.

It publishes nothing and moves nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from diffbot_check.graph_watch import GraphWatch
from diffbot_check.observation import TopicNames
from diffbot_check.robot_draft import RobotDraft, write_draft
from diffbot_description.command_parser import CommandParser
from diffbot_description.named_paths import expanded
from diffbot_description.spoken_commands import spoken
from diffbot_description.terminal_text import complain, printable_lines

# How long the robot is looked at, s.
SECONDS = 5.0
INTERRUPTED = 130


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "draft", "Write a robot file, as far as a running robot's topics show it."
    )
    parser.add_argument("--folder", type=Path, required=True, help="for the file")
    parser.add_argument("--odom", help="topic of the odometry")
    parser.add_argument("--cmd-vel", help="topic of the velocity commands")
    return parser


def main(argv: Sequence[str]) -> int:
    """Look, write and say what was written; return 0, or 1 if no file can be made."""
    options = _parser().parse_args(argv)
    topics = TopicNames.of(odom=options.odom, cmd_vel=options.cmd_vel)
    print(f"looking at the robot for {SECONDS:g} s; nothing is moved", flush=True)
    try:
        with GraphWatch(topics) as watch:
            seen = watch.watch(SECONDS, lambda left: None)
        draft = write_draft(seen, topics, expanded(options.folder))
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        complain("draft", error)
        return 1
    print(printable_lines(report_of(draft)), flush=True)
    return 0 if draft.file else 1


def report_of(draft: RobotDraft) -> str:
    """Return what is shown of a draft."""
    lines = ["seen:", *(f"  - {sentence}" for sentence in draft.seen)]
    if draft.file is None:
        return "\n".join([*lines, "no file was written"])
    lines.append(f"written: {draft.file}")
    if draft.missing:
        lines.append("not to be seen on any topic; type into the file:")
        lines += [f"  - {entry}" for entry in draft.missing]
    command = spoken("launch", "ident", "sim:=none", f"robot:={draft.file}")
    return "\n".join([*lines, f"then, with the robot on a free floor: {command}"])
