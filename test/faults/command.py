# SPDX-License-Identifier: Apache-2.0
"""The command ``diffbot faults``: runs the rows, prints the table and writes it."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from diffbot_description.command_parser import CommandParser
from diffbot_description.run_folder import output_folder
from diffbot_report.progress import Progress
from diffbot_sim.engines import ENGINES
from diffbot_sim.gazebo.installation import MISSING, find_installation
from faults.robots import DEFAULT, put_under_test
from faults.row import Row, Verdict
from faults.table import IN_ONE, PARTS, chosen, table
from faults.verdicts import rich_table, text_lines, worst_line, write_verdicts

WIDTH = 140  # width of the table in a file or a pipe, characters

_EPILOG = """\
Writes report.html, faults.md and summary.json. Exit status: 0 all promises were kept; 1 a row
fails, and it is said why; 2 wrong arguments; 130 stopped by Ctrl-C: of the rows until then."""


def main(argv: list[str]) -> int:
    """Run the rows, print the table and write it; return the exit status."""
    options = _parser().parse_args(argv)
    engines = options.engine or ["ideal", "mujoco"]
    runs = list(chosen(table(options.only), engines, options.row))
    if not runs:
        print(f"diffbot faults: {_no_row(options, engines)}; --list shows all", file=sys.stderr)
        return 2
    if options.robot != DEFAULT and options.only != IN_ONE:
        print(f"diffbot faults: --robot {options.robot} needs --only {IN_ONE}", file=sys.stderr)
        return 2
    try:
        put_under_test(options.robot)
    except (ValueError, OSError) as error:
        print(f"diffbot faults: --robot {options.robot}: {error}", file=sys.stderr)
        return 2
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)
    if options.list:
        for row, engine in runs:
            console.print(f"{row.group}: {row.name}  ({engine}, {row.promise.value})", markup=False)
        return 0
    if "gazebo" in engines and find_installation() is None:
        print(f"diffbot faults: --engine gazebo: {MISSING}", file=sys.stderr)
        return 2
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(output_folder(options.output, "faults"))
        except ValueError as error:
            print(f"diffbot faults: {error}", file=sys.stderr)
            return 2
        return _run(runs, folder, console, shlex.join(["./diffbot", "faults", *argv]))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "diffbot faults",
        description="Attack the nodes: the fault table, with time to zero torque and worst torque.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--engine", action="append", choices=ENGINES,
        help="physics engine; may be given several times; default: ideal and mujoco",
    )  # fmt: skip
    parser.add_argument("--row", default="", metavar="TEXT", help="only rows with this text")
    parser.add_argument(
        "--only", default="", choices=PARTS,
        help="only nodes in one process and robot time, or real processes over DDS in real time",
    )  # fmt: skip
    parser.add_argument(
        "--robot", default=DEFAULT, metavar="NAME|FILE",
        help=f"robot for --only {IN_ONE}; default: {DEFAULT}",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the rows and run none")
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="folder for the results, created if needed (default: results/<date>-faults)",
    )
    return parser


def _no_row(options: argparse.Namespace, engines: list[str]) -> str:
    """Return why no row is selected."""
    rows = f"no row of --only {options.only}" if options.only else "no row"
    text = f" has {options.row!r} (--row) and" if options.row else ""
    return f"{rows}{text} is run on {' or '.join(engines)}"


def _run(runs: list[tuple[Row, str]], folder: Path, console: Console, command: str) -> int:
    begun, verdicts = time.monotonic(), list[Verdict]()
    interrupted = False
    try:
        _judge_all(runs, verdicts, console)
    except KeyboardInterrupt:
        interrupted = True
        console.print(f"interrupted after {len(verdicts)} of {len(runs)} rows")
    console.print(rich_table(verdicts))
    for line in text_lines(verdicts):
        console.print(line, soft_wrap=True, markup=False)
    seconds = time.monotonic() - begun
    console.print(f"{worst_line(verdicts)}  ({seconds:.0f} s)", soft_wrap=True, markup=False)
    try:
        for path in write_verdicts(verdicts, folder, seconds, len(runs), command):
            console.print(str(path), soft_wrap=True, markup=False)
    except OSError as error:
        print(f"diffbot faults: --output {folder}: {error.strerror}", file=sys.stderr)
        return 2
    if interrupted:
        raise KeyboardInterrupt
    return 0 if all(verdict.passed for verdict in verdicts) else 1


def _judge_all(runs: list[tuple[Row, str]], verdicts: list[Verdict], console: Console) -> None:
    with Progress("faults", len(runs), console) as progress:
        for row, engine in runs:
            progress.show(f"{row.group}: {row.name} ({engine})")
            verdict = row.judged(engine)
            verdicts.append(verdict)
            if not verdict.passed:
                console.print(
                    f"fails: {row.group}: {row.name} ({engine})", style="red", markup=False
                )
            progress.advance()
