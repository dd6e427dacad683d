# SPDX-License-Identifier: Apache-2.0
"""The page of `diffbot reproduce`: published values and ours, one section per paper.

Verdicts are computed; only `cannot_be` is a statement, and it requires the reason.
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
from diffbot_report.chart import Chart, ChartGroup, Curve
from diffbot_report.page import Page, Tone

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class RowVerdict(Enum):
    """Verdict on a published value."""

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
        published: The paper's value; None if it gives none.
        ours: Recomputed, simulated or measured here.
        why: How our value was made, the tolerance, or why the value cannot be reproduced.
        spread: Of our value over seeds, its 95 % interval, or 5 to 95 % quantiles.
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
    """Compare a value that should equal the published one, in an SI unit.

    Args:
        relative: Maximum difference as a fraction of the published value.
        absolute: Maximum difference in the unit; the larger limit applies.
        why: How our value was made.
    """
    allowed = max(relative * abs(published), absolute)
    same = abs(ours - published) <= allowed
    return ComparisonRow(quantity, unit, published, ours, verdict_of(same), why, spread)


def verdict_of(holds: bool) -> RowVerdict:
    """Return the verdict on a value that is reproduced if a test holds."""
    return RowVerdict.REPRODUCED if holds else RowVerdict.NOT_REACHED


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
    """Compare a value for which smaller is better, by more than a fraction `relative`."""
    if math.isnan(ours) or ours > (1.0 + relative) * published:
        verdict = RowVerdict.NOT_REACHED
    elif ours < (1.0 - relative) * published:
        verdict = RowVerdict.BETTER
    else:
        verdict = RowVerdict.REPRODUCED
    return ComparisonRow(quantity, unit, published, ours, verdict, why, spread)


SPREAD = (0.05, 0.95)


def lies_within(
    quantity: str, unit: str, published: float, ensemble: ArrayLike, *, why: str = ""
) -> ComparisonRow:
    """Compare one run under partly unknown conditions with at least 20 simulations.

    It lies within their 5 % and 95 % quantiles; ours is the median.
    """
    values = np.asarray(ensemble, dtype=float).ravel()
    if len(values) < 20:
        raise ValueError(f"{quantity}: {len(values)} values; give 20 or more for a spread")
    low, median, high = (float(each) for each in np.quantile(values, [SPREAD[0], 0.5, SPREAD[1]]))
    verdict = RowVerdict.WITHIN if low <= published <= high else RowVerdict.OUTSIDE
    spread = f"{number(low)} to {number(high)}, {len(values)} runs"
    return ComparisonRow(quantity, unit, published, median, verdict, why, spread)


def shows(
    quantity: str, unit: str, published: str, ours: float | str, holds: bool, why: str
) -> ComparisonRow:
    """Compare a claim or a figure without numbers with a test of ours."""
    return ComparisonRow(quantity, unit, published, ours, verdict_of(holds), why)


def cannot_be(
    quantity: str,
    unit: str,
    published: float | str | None,
    ours: float | str,
    why: str,
    *,
    spread: str = "",
) -> ComparisonRow:
    """Return a row for a value that no correct implementation can give, with the reason.

    Raises:
        ValueError: No reason is given.
    """
    if not why:
        raise ValueError(f"{quantity}: give the reason why it cannot be reproduced")
    return ComparisonRow(quantity, unit, published, ours, RowVerdict.CANNOT_BE, why, spread)


Report = Callable[[str], None]
"""Is called with a short description of the current computation."""


@dataclass(frozen=True)
class ComparisonTable:
    """Rows that belong together; the note says how ours were made: data, noise, seeds."""

    title: str
    rows: Sequence[ComparisonRow]
    note: str = ""


@dataclass(frozen=True)
class PaperPicture:
    """A PNG with its caption; the name, without ending, is unique over all papers."""

    name: str
    caption: str
    png: bytes


@dataclass(frozen=True)
class PaperSection:
    """One paper; the text says what was done, and what is wrong in the paper."""

    title: str
    citation: str
    text: Sequence[str]
    tables: Sequence[ComparisonTable]
    pictures: Sequence[PaperPicture]


def picture(name: str, caption: str, figure: Figure) -> PaperPicture:
    """Return a picture of a figure made with diffbot_report.figure_style."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return PaperPicture(name, caption, buffer.getvalue())


def chart_picture(
    group: ChartGroup, caption: str, columns: int = 2, row: float = 2.4
) -> PaperPicture:
    """Return a picture of charts, with the group's text below its title; rows in inch."""
    from diffbot_report.figure_style import group_figure  # loads matplotlib

    return picture(group.picture, caption, group_figure(group, group.text, columns, row))


def chart(
    title: str, unit: str, curves: Sequence[Curve], x_unit: str = "time, s", **more: Any
) -> Chart:
    """Return a chart of a picture, which no page refers to by its key."""
    return Chart(title, title, unit, curves, x_unit, None, **more)


# Rows of a table with a filter field.
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
    """Return the page of these sections; `command` repeats it."""
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
        else "Each row below states how our value was computed."
    )
    if stopped:
        advice = "Interrupted: papers that are not listed below were not computed."
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
    """Return a line for each value that is not reached, or outside its spread."""
    return [
        f"{row.verdict.value}: {section.title}, {row.quantity}: "
        f"published {number(row.published)} {row.unit}, ours {number(row.ours)}"
        + (f" ({row.spread})" if row.verdict is RowVerdict.OUTSIDE else "")
        for section in sections
        for row in rows_of(section)
        if row.verdict in (RowVerdict.NOT_REACHED, RowVerdict.OUTSIDE)
    ]


def rows_of(section: PaperSection) -> list[ComparisonRow]:
    """Return all rows of a section's tables."""
    return [row for table in section.tables for row in table.rows]


def number(value: float | str | None) -> str:
    """Format a value for a cell: four digits, or a dash for None."""
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


# The papers, by year of publication.

_MODULES = {
    "2002": "sujan2002",
    "2006": "conceicao2006",
    "2017": "lages2017",
    "2018": "lages2018",
    "2023": "siwek2023",
}
PAPERS = tuple(_MODULES)


def section_maker(paper: str) -> Callable[[Report], PaperSection]:
    """Import a paper's module and return the function that computes its section.

    Raises:
        KeyError: There is no such paper.
    """
    module = importlib.import_module(f"diffbot_papers.{_MODULES[paper]}")
    maker: Callable[[Report], PaperSection] = module.section
    return maker
