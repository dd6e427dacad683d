"""One self-contained HTML page from the papers' sections."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from diffbot_bringup.reproduce.comparison import Row, Verdict
from diffbot_bringup.reproduce.section import Picture, Section, Table

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
.cannot_be { color: #7a5c00; } .not_reached { color: #b03a00; }
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
