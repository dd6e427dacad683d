# SPDX-License-Identifier: Apache-2.0
"""``diffbot reproduce``: the papers' tables and figures, with the published values, on one page."""

from __future__ import annotations

import argparse
import signal
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from diffbot_description.command_parser import CommandParser
from diffbot_description.files import SUMMARY, strict, write_json
from diffbot_description.run_folder import output_folder
from diffbot_description.spoken_commands import spoken
from diffbot_description.terminal_text import complain
from diffbot_papers.page import (
    PAPERS,
    PaperSection,
    RowVerdict,
    missed_lines,
    page,
    rows_of,
    section_maker,
)
from diffbot_report.page import REPORT, write_page
from diffbot_report.progress import Progress
from diffbot_report.summary import versions

_EPILOG = """\
Writes report.html, which needs no other file, the pictures as PNG files, and summary.json. Lists
values that are not reached, or are outside the spread of the possible experiments.
exit status: 0 the page is written; 130 stopped by Ctrl-C, finished papers are written."""


def main(argv: list[str]) -> int:
    """Compute the sections and write the page; return the exit status."""
    options = _parser().parse_args(argv)
    console = Console(highlight=False)
    sections: list[PaperSection] = []
    papers = list(dict.fromkeys(options.papers or PAPERS))
    outcome = "completed"
    try:
        with output_folder(options.output, "reproduce") as folder:
            try:
                with Progress("reproduce", len(papers), console) as progress:
                    for paper in papers:
                        sections.append(_compute(paper, progress, console))
            except KeyboardInterrupt:
                outcome = "stopped"
            _write(sections, options, folder, spoken("reproduce", *argv), outcome, console)
    except (ValueError, OSError) as error:
        complain("diffbot reproduce", error)
        return 2
    for line in missed_lines(sections):
        console.print(line, soft_wrap=True)
    if outcome == "stopped":
        console.print(f"interrupted after {len(sections)} of {len(papers)} papers")
        return 128 + signal.SIGINT
    return 0


def _parser() -> argparse.ArgumentParser:
    description = "Compute the tables and figures of the papers, published beside ours."
    parser = CommandParser("diffbot reproduce", description, _EPILOG)
    parser.add_argument(
        "papers", nargs="*", metavar="PAPER", type=_paper,
        help=f"years of the papers: {', '.join(PAPERS)}; default: all",
    )  # fmt: skip
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--html", action="store_true", help="only report.html, no PNGs")
    shown.add_argument("--png", action="store_true", help="only PNGs, no report.html")
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="folder, created if missing (default: results/<date>-reproduce)",
    )
    return parser


def _paper(year: str) -> str:
    """Check a year here: argparse's `choices` would also check an empty list."""
    if year not in PAPERS:
        raise argparse.ArgumentTypeError(f"no paper of {year!r}; choose from {', '.join(PAPERS)}")
    return year


def _compute(paper: str, progress: Progress, console: Console) -> PaperSection:
    begun = time.monotonic()
    progress.show(f"{paper}: loading")
    section = section_maker(paper)(lambda text: progress.show(f"{paper}: {text}"))
    progress.advance()
    counts = Counter(row.verdict for row in rows_of(section))
    text = ", ".join(
        f"{counts[verdict]} {verdict.value}" for verdict in RowVerdict if counts[verdict]
    )
    console.print(f"{paper}  {section.title}: {text}  ({time.monotonic() - begun:.0f} s)")
    return section


def _write(
    sections: list[PaperSection],
    options: argparse.Namespace,
    folder: Path,
    command: str,
    outcome: str,
    console: Console,
) -> None:
    rows = [
        {"paper": section.title, "table": table.title}
        | asdict(row)
        | {"verdict": row.verdict.value}
        for section in sections
        for table in section.tables
        for row in table.rows
    ]
    content = {"name": "reproduce", "outcome": outcome, "versions": versions(), "rows": rows}
    summary = strict(content)
    write_json(folder / SUMMARY, summary)
    if not options.html:
        for section in sections:
            for picture in section.pictures:
                (folder / f"{picture.name}.png").write_bytes(picture.png)
    if not options.png:
        path = write_page(page(sections, summary, command), folder / REPORT)
        console.print(f"the page: {path}", soft_wrap=True)
