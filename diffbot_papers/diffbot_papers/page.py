# SPDX-License-Identifier: Apache-2.0
"""The page of `diffbot reproduce`: published values beside ours, one section per paper.

A row holds a published value, ours, and what follows from the two. No verdict is typed in:
`matches` and `improves` compare the numbers, `lies_within` compares one with an ensemble, `shows`
takes the outcome of a test. Only `cannot_be` is a statement, and it must give the reason. A paper's
module makes a `PaperSection` of tables and pictures, and `page` of the sections what report.html
shows.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diffbot_report import page as report
from diffbot_report.page import Page, Tone

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class RowVerdict(Enum):
    """What became of a published value."""

    REPRODUCED = "reproduced"
    BETTER = "better"
    WITHIN = "within"
    OUTSIDE = "outside"
    CANNOT_BE = "cannot be"
    NOT_REACHED = "not reached"


@dataclass(frozen=True)
class ComparisonRow:
    """One line of a table.

    Attributes:
        quantity: what it is, such as "viscous friction B_v".
        unit: SI unit; empty for numbers without one.
        published: the paper's value; None where it gives none.
        ours: as recomputed, simulated or measured here.
        verdict: what follows.
        why: how ours was made, the tolerance, or why the value cannot be reproduced.
        spread: of ours over seeds, its 95 % interval, or from the 5 to the 95 % quantile of an
            ensemble, such as "± 0.02, 8 seeds"; may be empty.
    """

    quantity: str
    unit: str
    published: float | str | None
    ours: float | str
    verdict: RowVerdict
    why: str = ""
    spread: str = ""


def matches(
    quantity: str,
    unit: str,
    published: float,
    ours: float,
    *,
    relative: float = 0.01,
    absolute: float = 0.0,
    why: str = "",
    spread: str = "",
) -> ComparisonRow:
    """A value that should be the published one.

    Args:
        quantity: what it is.
        unit: SI unit.
        published: the paper's value.
        ours: our value.
        relative: largest difference, as a share of the published value.
        absolute: largest difference in the unit; the larger of both counts.
        why: how ours was made.
        spread: of ours.
    """
    allowed = max(relative * abs(published), absolute)
    # False for NaN, too.
    same = abs(ours - published) <= allowed
    verdict = RowVerdict.REPRODUCED if same else RowVerdict.NOT_REACHED
    return ComparisonRow(quantity, unit, published, ours, verdict, why, spread)


def improves(
    quantity: str,
    unit: str,
    published: float,
    ours: float,
    *,
    relative: float = 0.1,
    why: str = "",
    spread: str = "",
) -> ComparisonRow:
    """An error, a time or another value of which less is better.

    It is better when it is smaller than the published one by more than a share `relative` of it,
    reproduced when it is as large within that share, and not reached when it is larger.
    """
    if math.isnan(ours) or ours > (1.0 + relative) * published:
        verdict = RowVerdict.NOT_REACHED
    elif ours < (1.0 - relative) * published:
        verdict = RowVerdict.BETTER
    else:
        verdict = RowVerdict.REPRODUCED
    return ComparisonRow(quantity, unit, published, ours, verdict, why, spread)


# Ends of an ensemble's spread, quantiles.
SPREAD = (0.05, 0.95)


def lies_within(
    quantity: str, unit: str, published: float, ensemble: ArrayLike, *, why: str = ""
) -> ComparisonRow:
    """A value of one run whose circumstances are not all known, in an ensemble of what it may be.

    It is within where it lies between the 5 % and the 95 % quantile, ends included; ours is the
    median.

    Args:
        quantity: what it is.
        unit: SI unit.
        published: the paper's value.
        ensemble: values by simulation of all that the circumstances may have been, at least 20.
        why: how the ensemble was made.

    Raises:
        ValueError: fewer than 20 values have no 5 % quantile.
    """
    values = np.asarray(ensemble, dtype=float).ravel()
    if len(values) < 20:
        raise ValueError(f"{quantity}: {len(values)} values; give 20 or more for a spread")
    low, median, high = (float(each) for each in np.quantile(values, [SPREAD[0], 0.5, SPREAD[1]]))
    # False for NaN, too.
    verdict = RowVerdict.WITHIN if low <= published <= high else RowVerdict.OUTSIDE
    spread = f"{number(low)} to {number(high)}, {len(values)} runs"
    return ComparisonRow(quantity, unit, published, median, verdict, why, spread)


def shows(
    quantity: str, unit: str, published: str, ours: float | str, holds: bool, why: str
) -> ComparisonRow:
    """A claim or a figure without numbers, and whether ours shows the same.

    Args:
        quantity: what it is about.
        unit: SI unit of ours.
        published: the claim.
        ours: what was measured.
        holds: whether that is what the claim says.
        why: what was tested.
    """
    verdict = RowVerdict.REPRODUCED if holds else RowVerdict.NOT_REACHED
    return ComparisonRow(quantity, unit, published, ours, verdict, why)


def cannot_be(
    quantity: str,
    unit: str,
    published: float | str | None,
    ours: float | str,
    why: str,
    *,
    spread: str = "",
) -> ComparisonRow:
    """A published value that no right implementation can give, with the reason.

    Raises:
        ValueError: no reason is given.
    """
    if not why:
        raise ValueError(f"{quantity}: say why it cannot be reproduced")
    return ComparisonRow(quantity, unit, published, ours, RowVerdict.CANNOT_BE, why, spread)


# What a paper's module hands to the page.

Report = Callable[[str], None]
"""Is called with a few words about what is being computed now."""


@dataclass(frozen=True)
class ComparisonTable:
    """Rows that belong together.

    Attributes:
        title: which table or figure of the paper, and what it shows.
        rows: the comparison.
        note: how ours was made: data, noise, seeds; plain sentences.
    """

    title: str
    rows: Sequence[ComparisonRow]
    note: str = ""


@dataclass(frozen=True)
class PaperPicture:
    """A PNG with its caption.

    Attributes:
        name: of its file, without ending; unique over all papers, as "siwek2023-errors".
        caption: what it shows, and which figure of the paper it stands beside.
        png: the file's bytes.
    """

    name: str
    caption: str
    png: bytes


@dataclass(frozen=True)
class PaperSection:
    """One paper.

    Attributes:
        title: short, as "Velocity-commanded robots".
        citation: authors, title, year.
        text: paragraphs: what was done here, and what is wrong in the paper.
        tables: of rows.
        pictures: of ours.
    """

    title: str
    citation: str
    text: Sequence[str]
    tables: Sequence[ComparisonTable]
    pictures: Sequence[PaperPicture]


def picture(name: str, caption: str, figure: Figure) -> PaperPicture:
    """A picture from a figure made with diffbot_ident.figure_style."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return PaperPicture(name, caption, buffer.getvalue())


# Rows of a table from which on it has a field to filter them.
MANY = 12
_COLUMNS = ("quantity", "unit", "published", "ours", "spread", "how, or why not", "verdict")
_TONES = {
    RowVerdict.REPRODUCED: Tone.GOOD,
    RowVerdict.BETTER: Tone.GOOD,
    RowVerdict.WITHIN: Tone.GOOD,
    RowVerdict.CANNOT_BE: Tone.CAUTION,
    RowVerdict.OUTSIDE: Tone.BAD,
    RowVerdict.NOT_REACHED: Tone.BAD,
}


def page(sections: Sequence[PaperSection], summary: Mapping[str, Any], command: str) -> Page:
    """The page.

    Args:
        sections: of the papers, in their order; fewer than were asked for where it was interrupted.
        summary: content of summary.json.
        command: that repeats it.
    """
    counts = Counter(row.verdict for section in sections for row in rows_of(section))
    missed = counts[RowVerdict.NOT_REACHED] + counts[RowVerdict.OUTSIDE]
    text = ", ".join(
        f"{counts[verdict]} {verdict.value}" for verdict in RowVerdict if counts[verdict]
    )
    tone = Tone.CAUTION if missed or not counts else Tone.GOOD
    stopped = summary.get("outcome") == "stopped"
    advice = (
        "Rows that are not reached, or outside the spread, are listed below."
        if missed
        else "Each row below says how ours was made."
    )
    if stopped:
        advice = "It was interrupted: papers that are not below were not computed."
    return Page(
        title="The papers' results, reproduced",
        tone=Tone.CAUTION if stopped else tone,
        verdict=f"Of {counts.total()} published values: {text}." if counts else "Nothing yet.",
        advice=advice,
        answer=_overview(sections),
        notes=missed_lines(sections),
        sections=[part for section in sections for part in _section(section)],
        summary=summary,
        texts={"Repeat this": command},
    )


def missed_lines(sections: Sequence[PaperSection]) -> list[str]:
    """A line for each value that is not reached, or outside its spread."""
    return [
        f"{row.verdict.value}: {section.title}, {row.quantity}: "
        f"published {number(row.published)} {row.unit}, ours {number(row.ours)}"
        + (f" ({row.spread})" if row.verdict is RowVerdict.OUTSIDE else "")
        for section in sections
        for row in rows_of(section)
        if row.verdict in (RowVerdict.NOT_REACHED, RowVerdict.OUTSIDE)
    ]


def rows_of(section: PaperSection) -> list[ComparisonRow]:
    """All rows of a section's tables."""
    return [row for table in section.tables for row in table.rows]


def number(value: float | str | None) -> str:
    """A value as it stands in a cell; four digits, a dash for none."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.4g}".replace("-", "−")


def _overview(sections: Sequence[PaperSection]) -> report.Table:
    rows = []
    for section in sections:
        counts = Counter(row.verdict for row in rows_of(section))
        rows.append([section.title, *(str(counts[verdict]) for verdict in RowVerdict)])
    return report.Table(["paper", *(verdict.value for verdict in RowVerdict)], rows)


def _section(section: PaperSection) -> tuple[report.Section, report.Section]:
    """Its tables, then its pictures."""
    text = "\n".join((section.citation, *section.text))
    pictures = [report.Image(picture.caption, picture.png) for picture in section.pictures]
    return (
        report.Section(section.title, text, [_table(t) for t in section.tables], wide=True),
        report.Section(f"{section.title}: pictures", "", pictures, wide=True),
    )


def _table(table: ComparisonTable) -> report.Table:
    rows = [
        [row.quantity, row.unit, number(row.published), number(row.ours), row.spread, row.why,
         row.verdict.value]
        for row in table.rows
    ]  # fmt: skip
    marks = [_TONES[row.verdict] for row in table.rows]
    filtered = len(rows) > MANY
    return report.Table(_COLUMNS, rows, table.title, table.note, filtered=filtered, marks=marks)


# The papers, by the year in which they appeared.

_MODULES = {
    "2002": "sujan2002",
    "2006": "conceicao2006",
    "2017": "lages2017",
    "2018": "lages2018",
    "2023": "siwek2023",
}
PAPERS = tuple(_MODULES)


def section_maker(paper: str) -> Callable[[Report], PaperSection]:
    """What computes the section of a paper; its module is loaded now.

    Raises:
        KeyError: there is no such paper.
    """
    module = importlib.import_module(f"diffbot_papers.{_MODULES[paper]}")
    maker: Callable[[Report], PaperSection] = module.section
    return maker
