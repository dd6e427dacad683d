# SPDX-License-Identifier: Apache-2.0
"""Command `simulate`: a whole run with its report and recording, in one process, without ROS."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from diffbot_description.command_parser import CommandParser
from diffbot_description.terminal_text import complain
from diffbot_study.run_arguments import argument_lines

USAGE, INTERRUPTED = 2, 128 + signal.SIGINT

_EPILOG = """\
examples:
  {prog} ident robot:=agv seed:=3
  {prog} ident robot:=my_robot.yaml sim:=mujoco arena:=3x3
  {prog} drive robot:=agv trajectory:=circle parameters:=results/dynamic_parameters.yaml
arguments, with their defaults: {prog} ident --help, or drive --help
exit status: 0 completed, 1 the run failed, 2 wrong arguments, 130 Ctrl-C"""


# Each module has `simulate`, and the dataclass ARGUMENTS; it is loaded when it is asked for.
RUNS = {"ident": "diffbot_study.torque_run", "drive": "diffbot_study.drive_run"}


def main(argv: Sequence[str] | None = None, program: str = "diffbot simulate") -> int:
    """Run the command; return its exit status."""
    parser = CommandParser(
        program,
        "Simulate a whole run in one process, without ROS: its numbers, report and recording.",
        _EPILOG.format(prog=program),
    )
    parser.add_argument("run", choices=tuple(RUNS), help="what to simulate")
    parser.add_argument("arguments", nargs="*", metavar="NAME:=VALUE", help="see below")
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in RUNS and {"-h", "--help"} & {*words[1:]}:
        print(f"arguments of {program} {words[0]}, with their defaults:")
        print("\n".join(argument_lines(import_module(RUNS[words[0]]).ARGUMENTS)))
        return 0
    options = parser.parse_args(words)
    try:
        return int(import_module(RUNS[options.run]).simulate(options.arguments))
    except KeyboardInterrupt:
        print(f"{program}: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, OSError) as error:
        complain(program, error)
        return USAGE
