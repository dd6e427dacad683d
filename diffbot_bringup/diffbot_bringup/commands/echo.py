# SPDX-License-Identifier: Apache-2.0
"""``diffbot echo``: print the messages of a topic."""

from __future__ import annotations

import argparse
import math
import sys
import time

from diffbot_bringup import domains
from diffbot_description.command_parser import CommandParser
from diffbot_description.terminal_text import printable

_EPILOG = """\
The output is that of `ros2 topic echo`. TYPE and quality of service are those of the publisher.
Without ROS_DOMAIN_ID, the domain of the active `diffbot launch` is used.
exit status: 0 printed; 1 no message in time (the topics that exist are listed); 2 wrong
arguments; 130 stopped by Ctrl-C."""


def _seconds(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value > 0.0):
        raise argparse.ArgumentTypeError(f"{text} s is not a positive time")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser("diffbot echo", "Print the messages of a topic.", _EPILOG)
    parser.add_argument("topic", metavar="TOPIC", help="e.g. /ident/dynamic_parameters")
    parser.add_argument("type", metavar="TYPE", nargs="?", help="e.g. std_msgs/msg/String")
    parser.add_argument("--once", action="store_true", help="print one message and exit")
    parser.add_argument(
        "--timeout", metavar="S", type=_seconds, default=math.inf, help="exit after S seconds"
    )
    return parser


def main(argv: list[str]) -> int:
    """Run the command and return its exit status (see the epilog). Raises as Command.run does."""
    options = _parser().parse_args(argv)
    try:
        domains.join_launch("echo")
    except domains.DomainError as error:
        example = f"for example: {domains.VARIABLE}=N ./diffbot echo {options.topic}"
        raise domains.DomainError(f"{error}\n{example}") from None
    return _echo(options)


def _echo(options: argparse.Namespace) -> int:
    from diffbot_bringup.topic_echo import Topic, to_yaml  # need rclpy: not for --help

    deadline = time.monotonic() + options.timeout
    with Topic(options.topic, options.type) as topic:
        # Discovery of a topic takes a moment; report only a longer wait.
        if not topic.connect(min(deadline, time.monotonic() + 3.0)):
            print(f"diffbot echo: waiting for a publisher of {topic.name}", file=sys.stderr)
            if not topic.connect(deadline):
                return _nothing(options, f"no node publishes {topic.name}", topic.names())
        printed = False
        while (message := topic.receive(deadline)) is not None:
            print(f"{to_yaml(message)}---", flush=True)
            printed = True
            if options.once:
                return 0
        return 0 if printed else _nothing(options, f"no message on {topic.name}", topic.names())


def _nothing(options: argparse.Namespace, problem: str, names: list[str]) -> int:
    listed = "".join(f"\n  {printable(name)}" for name in names)
    print(
        f"diffbot echo: {problem} within {options.timeout:g} s; topics that exist:{listed}",
        file=sys.stderr,
    )
    return 1
