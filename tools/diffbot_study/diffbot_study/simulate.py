# SPDX-License-Identifier: Apache-2.0
"""Command `simulate`: a whole run with its report and recording, in one process, without ROS."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence

from diffbot_description.command_parser import CommandParser
from diffbot_description.terminal_text import complain
from diffbot_study.run_arguments import argument_lines
from diffbot_study.torque_run import TorqueRunArguments

USAGE, INTERRUPTED = 2, 128 + signal.SIGINT

_EPILOG = """\
examples:
  {prog} ident robot:=agv seed:=3
  {prog} ident robot:=my_robot.yaml sim:=mujoco arena:=3x3
arguments of ident, with their defaults:
{ident}
exit status: 0 completed, 1 the run failed, 2 wrong arguments, 130 Ctrl-C"""


def _ident(words: Sequence[str]) -> int:
    from diffbot_study.torque_run_report import simulate_torque_ident

    return simulate_torque_ident(words)


RUNS: dict[str, Callable[[Sequence[str]], int]] = {"ident": _ident}


def main(argv: Sequence[str] | None = None, program: str = "diffbot simulate") -> int:
    """Run the command; return its exit status."""
    parser = CommandParser(
        program,
        "Simulate a whole run in one process, without ROS: its numbers, report and recording.",
        _EPILOG.format(prog=program, ident="\n".join(argument_lines(TorqueRunArguments))),
    )
    parser.add_argument("run", choices=tuple(RUNS), help="what to simulate")
    parser.add_argument("arguments", nargs="*", metavar="NAME:=VALUE", help="see below")
    options = parser.parse_args(list(sys.argv[1:] if argv is None else argv))
    try:
        return RUNS[options.run](options.arguments)
    except KeyboardInterrupt:
        print(f"{program}: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except ModuleNotFoundError as error:
        complain(program, f"{error}; install it, such as by pip install 'diffbot-suite[mujoco]'")
        return USAGE
    except (ValueError, OSError) as error:
        complain(program, error)
        return USAGE
