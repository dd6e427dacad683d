# SPDX-License-Identifier: Apache-2.0
"""The page of `diffbot reproduce`: published values beside ours, one section per paper.

A row holds a published value, ours, and what follows from the two. No verdict is typed in:
`matches` and `improves` compare the numbers, `lies_within` compares one with an ensemble, `shows`
takes the outcome of a test. Only `cannot_be` is a statement, and it must give the reason. A paper's
module makes a `Section` of tables and pictures, and `page` one HTML file of the sections that needs
no other file.
"""

from __future__ import annotations

import base64
import importlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from io import BytesIO
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Verdict(Enum):
    """What became of a published value."""

    REPRODUCED = "reproduced"
    BETTER = "better"
    WITHIN = "within"
    OUTSIDE = "outside"
    CANNOT_BE = "cannot be"
    NOT_REACHED = "not reached"


@dataclass(frozen=True)
class Row:
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
    verdict: Verdict
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
) -> Row:
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
    verdict = Verdict.REPRODUCED if same else Verdict.NOT_REACHED
    return Row(quantity, unit, published, ours, verdict, why, spread)


def improves(
    quantity: str,
    unit: str,
    published: float,
    ours: float,
    *,
    relative: float = 0.1,
    why: str = "",
    spread: str = "",
) -> Row:
    """An error, a time or another value of which less is better.

    It is better when it is smaller than the published one by more than a share `relative` of it,
    reproduced when it is as large within that share, and not reached when it is larger.
    """
    if math.isnan(ours) or ours > (1.0 + relative) * published:
        verdict = Verdict.NOT_REACHED
    elif ours < (1.0 - relative) * published:
        verdict = Verdict.BETTER
    else:
        verdict = Verdict.REPRODUCED
    return Row(quantity, unit, published, ours, verdict, why, spread)


# Ends of an ensemble's spread, quantiles.
SPREAD = (0.05, 0.95)


def lies_within(
    quantity: str, unit: str, published: float, ensemble: ArrayLike, *, why: str = ""
) -> Row:
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
    verdict = Verdict.WITHIN if low <= published <= high else Verdict.OUTSIDE
    spread = f"{number(low)} to {number(high)}, {len(values)} runs"
    return Row(quantity, unit, published, median, verdict, why, spread)


def shows(
    quantity: str, unit: str, published: str, ours: float | str, holds: bool, why: str
) -> Row:
    """A claim or a figure without numbers, and whether ours shows the same.

    Args:
        quantity: what it is about.
        unit: SI unit of ours.
        published: the claim.
        ours: what was measured.
        holds: whether that is what the claim says.
        why: what was tested.
    """
    verdict = Verdict.REPRODUCED if holds else Verdict.NOT_REACHED
    return Row(quantity, unit, published, ours, verdict, why)


def cannot_be(
    quantity: str,
    unit: str,
    published: float | str | None,
    ours: float | str,
    why: str,
    *,
    spread: str = "",
) -> Row:
    """A published value that no right implementation can give, with the reason.

    Raises:
        ValueError: no reason is given.
    """
    if not why:
        raise ValueError(f"{quantity}: say why it cannot be reproduced")
    return Row(quantity, unit, published, ours, Verdict.CANNOT_BE, why, spread)


# What a paper's module hands to the page.

Report = Callable[[str], None]
"""Is called with a few words about what is being computed now."""


@dataclass(frozen=True)
class Table:
    """Rows that belong together.

    Attributes:
        title: which table or figure of the paper, and what it shows.
        rows: the comparison.
        note: how ours was made: data, noise, seeds; plain sentences.
    """

    title: str
    rows: Sequence[Row]
    note: str = ""


@dataclass(frozen=True)
class Picture:
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
class Section:
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
    tables: Sequence[Table]
    pictures: Sequence[Picture]


def picture(name: str, caption: str, figure: Figure) -> Picture:
    """A picture from a figure made with diffbot_ident.figure_style."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return Picture(name, caption, buffer.getvalue())


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #2b2b2b; max-width: 70rem; margin: 2rem auto;
  padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 3rem; border-top: 2px solid #ddd;
  padding-top: 1rem; }
.citation, .note, figcaption { color: #5c5c5c; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem;
  border-bottom: 1px solid #e2e2e2; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.verdict { white-space: nowrap; font-weight: 600; }
.reproduced { color: #00664b; } .better { color: #0072b2; }
.within { color: #00664b; } .cannot_be { color: #7a5c00; }
.outside, .not_reached { color: #b03a00; }
figure { margin: 1.5rem 0; } img { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { body { background: #fff; } }
"""

_COLUMNS = ("quantity", "unit", "published", "ours", "spread", "verdict", "how, or why not")


def page(sections: Sequence[Section], made_by: str) -> str:
    """The page.

    Args:
        sections: of the papers, in their order.
        made_by: the command and the versions, one line.
    """
    html = Element("html", lang="en")
    head = SubElement(html, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width")
    _text(head, "title", "The papers' results, reproduced")
    _text(head, "style", _STYLE)
    body = SubElement(html, "body")
    _text(body, "h1", "The papers' results, reproduced")
    _text(body, "p", made_by, "note")
    _overview(body, sections)
    for section in sections:
        _section(body, section)
    return "<!DOCTYPE html>\n" + tostring(html, encoding="unicode", method="html") + "\n"


def rows_of(section: Section) -> list[Row]:
    """All rows of a section's tables."""
    return [row for table in section.tables for row in table.rows]


def number(value: float | str | None) -> str:
    """A value as it stands in a cell; four digits, a dash for none."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.4g}".replace("-", "−")


def anchor(section: Section) -> str:
    """Name of a section's place in the page."""
    return section.title.lower().replace(" ", "-")


def _overview(body: Element, sections: Sequence[Section]) -> None:
    table = SubElement(body, "table")
    heads = SubElement(SubElement(table, "thead"), "tr")
    for name in ("paper", *(verdict.value for verdict in Verdict)):
        _text(heads, "th", name)
    rows = SubElement(table, "tbody")
    for section in sections:
        line = SubElement(rows, "tr")
        link = SubElement(SubElement(line, "td"), "a", href=f"#{anchor(section)}")
        link.text = section.title
        counts = Counter(row.verdict for row in rows_of(section))
        for verdict in Verdict:
            _text(line, "td", str(counts[verdict]), "number")


def _section(body: Element, section: Section) -> None:
    _text(body, "h2", section.title).set("id", anchor(section))
    _text(body, "p", section.citation, "citation")
    for paragraph in section.text:
        _text(body, "p", paragraph)
    for table in section.tables:
        _table(body, table)
    for picture in section.pictures:
        _picture(body, picture)


def _table(body: Element, table: Table) -> None:
    _text(body, "h3", table.title)
    if table.note:
        _text(body, "p", table.note, "note")
    element = SubElement(body, "table")
    heads = SubElement(SubElement(element, "thead"), "tr")
    for name in _COLUMNS:
        _text(heads, "th", name)
    rows = SubElement(element, "tbody")
    for row in table.rows:
        line = SubElement(rows, "tr")
        _text(line, "td", row.quantity)
        _text(line, "td", row.unit)
        for value in (row.published, row.ours):
            _text(line, "td", number(value), "" if isinstance(value, str) else "number")
        _text(line, "td", row.spread)
        _text(line, "td", row.verdict.value, f"verdict {row.verdict.name.lower()}")
        _text(line, "td", row.why)


def _picture(body: Element, picture: Picture) -> None:
    figure = SubElement(body, "figure")
    data = base64.b64encode(picture.png).decode("ascii")
    SubElement(figure, "img", src=f"data:image/png;base64,{data}", alt=picture.caption)
    _text(figure, "figcaption", picture.caption)


def _text(parent: Element, tag: str, text: str, kind: str = "") -> Element:
    element = SubElement(parent, tag, {"class": kind} if kind else {})
    element.text = text
    return element


# The papers, by the year in which they appeared.

_MODULES = {
    "2002": "sujan2002",
    "2006": "conceicao2006",
    "2017": "lages2017",
    "2018": "lages2018",
    "2023": "siwek2023",
}
PAPERS = tuple(_MODULES)


def section_maker(paper: str) -> Callable[[Report], Section]:
    """What computes the section of a paper; its module is loaded now.

    Raises:
        KeyError: there is no such paper.
    """
    module = importlib.import_module(f"diffbot_papers.{_MODULES[paper]}")
    maker: Callable[[Report], Section] = module.section
    return maker
