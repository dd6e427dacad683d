# SPDX-License-Identifier: Apache-2.0
"""Command `simulate`: a whole run with its report and recording, in one process, without ROS."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from diffbot_description import load_robot
from diffbot_description.command_parser import CommandParser
from diffbot_description.terminal_text import complain
from diffbot_study.run_arguments import VELOCITY, argument_lines

USAGE, INTERRUPTED = 2, 128 + signal.SIGINT

_EPILOG = """\
examples:
  {prog} ident robot:=agv seed:=3
  {prog} ident robot:=my_robot.yaml sim:=mujoco arena:=3x3
  {prog} drive robot:=agv trajectory:=circle parameters:=results/dynamic_parameters.yaml
  {prog} ident sim:=velocity record:=mcap
  {prog} drive sim:=velocity parameters:=results/velocity_parameters.yaml
arguments, with their defaults: {prog} ident --help, or drive --help; of a robot that takes
velocities: {prog} ident sim:=velocity --help
exit status: 0 completed, 1 the run failed, 2 wrong arguments, 130 Ctrl-C"""


# By run, and whether the robot takes velocities. Each module has `simulate`, and the dataclass
# ARGUMENTS; it is loaded when it is asked for.
RUNS = {
    "ident": ("diffbot_study.torque_run", "diffbot_study.velocity_run"),
    "drive": ("diffbot_study.drive_run", "diffbot_study.velocity_drive_run"),
}


def _takes_velocity(words: Sequence[str]) -> bool:
    """Whether arguments are of a robot that takes velocities. Raises ValueError: no such robot."""
    given = dict(word.split(":=", 1) for word in words if ":=" in word)
    if "sim" in given:
        return given["sim"] == VELOCITY
    return "robot" in given and load_robot(given["robot"]).takes_velocity


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
    asks = bool(words) and words[0] in RUNS and bool({"-h", "--help"} & {*words[1:]})
    options = argparse.Namespace(run=words[0], arguments=words[1:]) if asks else None
    options = options or parser.parse_args(words)
    try:
        module = import_module(RUNS[options.run][_takes_velocity(options.arguments)])
        if asks:
            print(f"arguments of {program} {options.run}, with their defaults:")
            print("\n".join(argument_lines(module.ARGUMENTS)))
            return 0
        return int(module.simulate(options.arguments))
    except KeyboardInterrupt:
        print(f"{program}: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, OSError) as error:
        complain(program, error)
        return USAGE
