# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark and writes its tables into the pages of PLACES.

./diffbot python docs/leaderboard.py --robots 1 --seed 20261128 20261129 --workers 2
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from diffbot_bench.command import main as bench
from diffbot_bench.control.board import MARKDOWN as CONTROL
from diffbot_bench.leaderboard import MARKDOWN, SHORT
from diffbot_description.command_parser import CommandParser

FOLDER = Path(__file__).parent
# Folders of the two runs, with their options.
RUNS = {"estimators": [], "laws": ["--control"]}
# Files of a run, with its folder and the page that each goes into, between the marks of its name.
PLACES = {
    MARKDOWN: ("estimators", "leaderboard.md"),
    CONTROL: ("laws", "leaderboard_driving.md"),
    SHORT: ("estimators", "paper.md"),
}


def mark(name: str, what: str) -> str:
    """The line where a file of a run begins or ends in a page."""
    return f"<!-- {what} of {name}, by docs/leaderboard.py -->\n"


def filled(page: str, name: str, content: str) -> str:
    """The page with the content of a file of a run."""
    before, rest = page.split(mark(name, "begin"))
    return before + mark(name, "begin") + content.strip("\n") + "\n" + mark(name, "end") + (
        rest.split(mark(name, "end"))[1]
    )  # fmt: skip


def write(folder: Path) -> None:
    """Write the files of both runs into the pages."""
    for name, (run, page) in PLACES.items():
        path = FOLDER / page
        content = (folder / run / name).read_text(encoding="utf-8")
        path.write_text(filled(path.read_text(encoding="utf-8"), name, content), encoding="utf-8")


def main() -> int:
    """Run both benchmarks, then write the pages."""
    parser = CommandParser("docs/leaderboard.py", __doc__ or "")
    parser.add_argument("--robots", default="2")
    parser.add_argument("--seed", nargs="+", default=["1", "2", "3"])
    parser.add_argument("--workers", default="2")
    parser.add_argument("--output", type=Path, default=Path("board"))
    given = parser.parse_args()
    words = ["--seed", *given.seed, "--workers", given.workers, "--robots", given.robots]
    begin = time.monotonic()
    for run, more in RUNS.items():
        if status := bench([*words, *more, "--output", str(given.output / run)]):
            return status
    write(given.output)
    print(f"{(time.monotonic() - begin) / 60.0:.1f} min")
    return 0


if __name__ == "__main__":
    sys.exit(main())
