# SPDX-License-Identifier: Apache-2.0
"""The command `bench`: score estimators on records of robots whose truth is known."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timezone
from itertools import repeat
from pathlib import Path

from diffbot_bench.answer_files import read_answers, write_answers
from diffbot_bench.estimators import ENTRANTS, answer, entrant
from diffbot_bench.leaderboard import Board, write_board
from diffbot_bench.scoring import TaskAnswer
from diffbot_bench.tasks import ROWS, BenchTask, Record, make_seeded, write_records
from diffbot_description.command_parser import CommandParser
from diffbot_description.named_paths import expanded
from diffbot_description.run_folder import output_folder
from diffbot_description.suite_version import suite_version
from diffbot_description.terminal_text import complain, printable
from diffbot_report.page import Table

USAGE = 2
_EPILOG = """examples:
  {prog} --output board                                  # all peers, public seed
  {prog} --estimator diffbot FILE.py:estimate --output mine
  {prog} --records records                               # for other programs
  {prog} --answers theirs.json --output theirs"""


def _parser(prog: str) -> CommandParser:
    parser = CommandParser(
        prog=prog,
        description="Score estimators on records of robots that the suite's engines did not make.",
        epilog=_EPILOG.format(prog=prog),
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--estimator", metavar="NAME|FILE.py:FUNCTION", nargs="+",
        help=f"which to score (default: all): {', '.join(ENTRANTS)}, or a function of a record",
    )  # fmt: skip
    add("--tasks", metavar="TEXT", nargs="+", default=list(ROWS),
        help=f"kinds of data (default: all): {', '.join(ROWS)}")  # fmt: skip
    add("--robots", metavar="N", type=int, default=2, help="robots of each kind (%(default)s)")
    add("--seed", metavar="S", type=int, nargs="+", default=[1],
        help="seeds of the tasks; several show the spread (1)")  # fmt: skip
    add("--control", action="store_true",
        help="let laws drive robots instead, with those of others beside the suite's")  # fmt: skip
    add("--answers", metavar="FILE", type=Path, nargs="+", default=[],
        help="answers of other programs, as JSON")  # fmt: skip
    add("--records", metavar="DIR", type=Path, help="write the records for other programs, and end")
    add("--workers", metavar="N", type=int, default=1, help="processes (%(default)s)")
    add("--output", metavar="DIR", type=Path, help="folder for leaderboard and answers")
    return parser


def main(argv: Sequence[str] | None = None, prog: str = "bench") -> int:
    """Run the command; return 0, or 2 after a message."""
    options = _parser(prog).parse_args(argv)
    try:
        if (options.output is None) == (options.records is None):
            raise ValueError("give --output DIR, or --records DIR")
        if options.control and options.output is None:
            raise ValueError("--control: give --output DIR")
        for name, value in (("robots", options.robots), ("workers", options.workers)):
            if not 1 <= value <= 1000:
                raise ValueError(f"--{name} {value}: must be from 1 to 1000")
        for seed in options.seed:
            if not 0 <= seed < 2**31:
                raise ValueError(f"--seed {seed}: must be from 0 to {2**31 - 1}")
        option = "--output " if options.records is None else "--records "
        with output_folder(options.output or options.records, "bench", option) as folder:
            _run(options, folder)
    except (ValueError, OSError) as error:
        complain(prog, error)
        return USAGE
    return 0


def _run(options: Namespace, folder: Path) -> None:
    references = options.estimator or ([] if options.answers else list(ENTRANTS))
    for each in references:
        entrant(each)  # refused before the work
    read = dict(read_answers(expanded(path)) for path in options.answers)
    seeds = list(dict.fromkeys(options.seed))
    words = (
        f"Seed {', '.join(map(str, seeds))}, {options.robots} robots of each kind "
        f"{'' if options.control else 'of data '}and seed, diffbot-suite {suite_version()}, "
        f"{datetime.now(timezone.utc):%Y-%m-%d}."
    )
    if options.control:
        _control(options, seeds, words, folder)
        return
    tasks = make_seeded(
        list(dict.fromkeys(options.tasks)), options.robots, seeds, workers=options.workers
    )
    if options.records is not None:
        for path in write_records(tasks, folder):
            print(printable(path))
        return
    answers = {
        _name(each): _answers(each, tasks, options.workers)
        for each in references
        if _installed(each, tasks)
    }
    board = Board(tasks, {**answers, **read}, words)
    if not any(board.answers.values()):
        raise ValueError("no estimator knows these tasks")
    paths = write_board(board, folder)
    for name, each in answers.items():
        paths.append(write_answers(folder / f"answers_{name}.json", name, each))
    _show(board)
    for path in paths:
        print(printable(path))


def _control(options: Namespace, seeds: Sequence[int], words: str, folder: Path) -> None:
    # Imported late: it needs MuJoCo.
    from diffbot_bench.control.board import drive_all, write_control

    board = drive_all(options.robots, seeds, options.workers, words)
    for table in board.tables():
        _print(table)
    for path in write_control(board, folder):
        print(printable(path))


def _name(reference: str) -> str:
    return Path(reference.rpartition(":")[0]).stem if ":" in reference else reference


def _known(reference: str, tasks: Sequence[BenchTask]) -> list[Record]:
    kinds = entrant(reference).kinds
    return [task.record for task in tasks if task.record.kind in kinds]


def _installed(reference: str, tasks: Sequence[BenchTask]) -> bool:
    """Return whether an estimator's libraries are installed; say if not."""
    records = _known(reference, tasks)
    try:
        for record in records[:1]:
            answer(entrant(reference).estimate, record)
    except ImportError as error:
        print(f"{reference}: left out: {error}; pip install diffbot-suite[bench]")
        return False
    return True


def _answers(reference: str, tasks: Sequence[BenchTask], workers: int) -> dict[str, TaskAnswer]:
    records = _known(reference, tasks)
    if workers == 1:
        replies = [_answered(reference, record) for record in records]
    else:
        with ProcessPoolExecutor(workers) as pool:
            replies = list(pool.map(_answered, repeat(reference), records))
    for record, each in zip(records, replies, strict=True):
        if each.reason and each.reason != "refused":
            print(f"{reference}, {record.task}: {printable(each.reason)}")
    return {record.task: each for record, each in zip(records, replies, strict=True)}


def _answered(reference: str, record: Record) -> TaskAnswer:
    return answer(entrant(reference).estimate, record)


def _show(board: Board) -> None:
    for kind in board.kinds():
        _print(board.table(kind))
    for text in board.better():
        print(f"a peer is better: {text}")


def _print(table: Table) -> None:
    rows = [table.head, *table.rows]
    widths = [max(len(row[k]) for row in rows) for k in range(len(table.head))]
    print(f"\n{table.title}")
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
