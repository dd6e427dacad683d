# SPDX-License-Identifier: Apache-2.0
"""``diffbot reproduce``: the papers' tables and figures, published beside ours, on one page."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from rich.console import Console

from diffbot_papers.page import PAPERS, Section, Verdict, number, page, rows_of, section_maker
from diffbot_report.summary import strict, versions, write_summary

_EPILOG = """\
Writes index.html, which needs no other file, the pictures by themselves, and summary.json. Values
that are not reached, or are outside the spread of what an experiment may have been, are listed;
the exit status is 0 when the page could be made."""


def main(argv: list[str]) -> int:
    """Compute the sections and write the page; returns the exit status."""
    options = _parser().parse_args(argv)
    console = Console(highlight=False)
    sections = []
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        for paper in dict.fromkeys(options.papers or PAPERS):
            sections.append(_compute(paper, console))
        _write(sections, options.output)
    except OSError as error:
        print(f"diffbot reproduce: --output {options.output}: {error.strerror}", file=sys.stderr)
        return 2
    _conclude(sections, options.output, console)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "diffbot reproduce",
        description="Compute the tables and figures of the papers, published beside ours.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "papers", nargs="*", metavar="PAPER", type=_paper,
        help=f"years of the papers: {', '.join(PAPERS)}; default: all",
    )  # fmt: skip
    default = Path("results") / f"{datetime.now():%Y%m%d-%H%M%S}-reproduce"
    parser.add_argument("--output", type=Path, default=default, help="folder, made if need be")
    return parser


def _paper(year: str) -> str:
    """Not `choices`: of no word at all argparse wants that among them, and then shows it."""
    if year not in PAPERS:
        raise argparse.ArgumentTypeError(f"no paper of {year!r}; choose from {', '.join(PAPERS)}")
    return year


def _compute(paper: str, console: Console) -> Section:
    begun = time.monotonic()
    with console.status(f"{paper}: loading") as status:
        section = section_maker(paper)(lambda text: status.update(f"{paper}: {text}"))
    counts = Counter(row.verdict for row in rows_of(section))
    text = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
    console.print(f"{paper}  {section.title}: {text}  ({time.monotonic() - begun:.0f} s)")
    return section


def _write(sections: list[Section], folder: Path) -> None:
    known = versions()
    made_by = "./diffbot reproduce; " + ", ".join(f"{k} {v}" for k, v in known.items())
    (folder / "index.html").write_text(page(sections, made_by), encoding="utf-8")
    for section in sections:
        for picture in section.pictures:
            (folder / f"{picture.name}.png").write_bytes(picture.png)
    rows = [
        {"paper": section.title, "table": table.title}
        | asdict(row)
        | {"verdict": row.verdict.value}
        for section in sections
        for table in section.tables
        for row in table.rows
    ]
    write_summary(strict({"name": "reproduce", "versions": known, "rows": rows}), folder)


def _conclude(sections: list[Section], folder: Path, console: Console) -> None:
    missed = [
        (section, row)
        for section in sections
        for row in rows_of(section)
        if row.verdict in (Verdict.NOT_REACHED, Verdict.OUTSIDE)
    ]
    for section, row in missed:
        console.print(
            f"{row.verdict.value}: {section.title}, {row.quantity}: "
            f"published {number(row.published)} {row.unit}, ours {number(row.ours)}"
            + (f" ({row.spread})" if row.verdict is Verdict.OUTSIDE else ""),
            soft_wrap=True,
        )
    console.print(f"the page: {folder / 'index.html'}", soft_wrap=True)
