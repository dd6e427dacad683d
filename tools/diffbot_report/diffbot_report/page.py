# SPDX-License-Identifier: Apache-2.0
"""report.html: a run on one self-contained page, which loads nothing.

Page: verdict, answer, next step -> sections of charts, tables and scenes -> summary.json, files
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffbot_description import write_atomically
from diffbot_description.dynamics import Array
from diffbot_description.files import parse_json, read_regular
from diffbot_description.limits import JSON, PAGE
from diffbot_report.chart import Chart, Curve, Intervals, Role, Strips
from diffbot_report.quantity import MISSING

REPORT = "report.html"
# Characters from which a cell's lines may be broken.
LONG = 22
NUMBER = re.compile(r"[-+−]?[0-9][0-9.]*(e[-+]?[0-9]+)?( %)?( \([-+][^()]+ %\))?|never")


class Tone(Enum):
    """Meaning of a verdict: the colour of the page's head."""

    GOOD = "good"
    CAUTION = "caution"
    BAD = "bad"


@dataclass(frozen=True)
class Matrix:
    """A table of coloured cells, (rows, columns), NaN: empty; `limits`: palest and strongest."""

    key: str
    title: str
    columns: Sequence[str]
    rows: Sequence[str]
    values: ArrayLike
    limits: tuple[float, float] = (-1.0, 1.0)
    note: str = ""


@dataclass(frozen=True)
class Scene:
    """A driving robot, seen from above, played back at any speed.

    Attributes:
        pose, reference: x, y, theta, m, m, rad, at times (n,), s, shape (n, 3).
        paths: Name, role and places [x, y] (k, 2), m, of further paths.
        silhouette: Polygons of the robot in its own frame, m, each (j, 2): body, nose, wheels.
        colour: Red, green and blue of the body, 0..1.
        arena: Length along x and width along y, m.
    """

    key: str
    title: str
    time: ArrayLike
    pose: ArrayLike
    paths: Sequence[tuple[str, Role, ArrayLike]]
    silhouette: Sequence[ArrayLike]
    colour: tuple[float, float, float]
    reference: ArrayLike | None = None
    arena: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of text below a header; the first cell of a row is its name.

    Attributes:
        filtered: Whether an input field above the table filters the rows.
        marks: A tone or None for each row; `links`: path relative to the page; empty: none.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    note: str = ""
    filtered: bool = False
    marks: Sequence[Tone | None] = ()
    links: Sequence[str | None] = ()


@dataclass(frozen=True)
class Image:
    """A PNG with a title."""

    title: str
    png: bytes


Part = Chart | Intervals | Matrix | Strips | Scene | Table | Image


@dataclass(frozen=True)
class Section:
    """A heading, a few lines, and parts in two columns, or in one if `wide`."""

    title: str
    text: str
    parts: Sequence[Part]
    wide: bool = False


@dataclass(frozen=True)
class Page:
    """Content of a page.

    Attributes:
        verdict, advice: One sentence: what was found, or how it failed; what to do next.
        sections: Evidence; those without parts are left out.
        summary: Content of summary.json.
        texts: Texts to copy, by name.
    """

    title: str
    tone: Tone
    verdict: str
    advice: str
    answer: Table
    notes: Sequence[str] = ()
    sections: Sequence[Section] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


def write_page(page: Page, path: Path) -> Path:
    """Write a page atomically; return its path. It needs plotly's script for its charts."""
    return write_atomically(path, page_text(page))


def colours() -> str:
    """Return the style sheet of light and dark colours."""
    return (files("diffbot_report") / "web" / "colours.css").read_text(encoding="utf-8")


def page_text(page: Page) -> str:
    """Return the HTML of a page. Raises ModuleNotFoundError without the package plotly."""
    web = files("diffbot_report") / "web"
    style = colours() + (web / "page.css").read_text(encoding="utf-8")
    script = (web / "page.js").read_text(encoding="utf-8")
    shown = [section for section in page.sections if section.parts]
    parts = [part for section in shown for part in section.parts]
    curves = sum(len(part.curves) for part in parts if isinstance(part, Chart))
    most = points_of_each(curves)
    charts = [_data(part, most) for part in parts if not isinstance(part, Table | Image)]
    data = {"charts": charts, "summary": page.summary}
    sections = (_section(section, i) for i, section in enumerate(shown))
    body = "\n".join((_head(page, shown), *sections, _texts(page.texts), _foot(page)))
    plotted = any(not isinstance(part, Table | Image | Scene) for part in parts)
    library = f"<script>{_plotly()}</script>" if plotted else ""
    # The policy forbids loading anything.
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline';
 style-src 'unsafe-inline'; img-src data: blob:">
<link rel="icon" href="data:,">
<title>{html.escape(page.title)}</title>
<style>
{style}
</style>
</head>
<body>
{body}
{_DATA}{_json(data)}</script>
{library}
<script>
{script}
</script>
</body>
</html>
"""


_DATA = '<script type="application/json" id="data">'


def read_data(path: Path) -> dict[str, Any]:
    """Return the charts and the summary in a page; ValueError if it is none of this suite."""
    text = read_regular(path, PAGE)
    begin = text.find(_DATA)
    end = text.find("</script>", begin)
    if begin < 0 or end < 0:
        raise ValueError(f"{path}: contains no data: it is not a {REPORT} of this suite")
    JSON.check(end - begin)
    json = parse_json(text[begin + len(_DATA) : end])
    if not isinstance(json, dict) or not isinstance(json.get("charts"), list):
        raise ValueError(f"{path}: its data are not charts: it is not a {REPORT} of this suite")
    return json


def _plotly() -> str:
    spec = find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'plotly'", name="plotly")
    script = Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js"
    return script.read_text(encoding="utf-8").replace("</script", "<\\/script")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def _head(page: Page, sections: Sequence[Section]) -> str:
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in page.notes)
    return f"""<header class="{page.tone.value}">
<div class="bar"><h1>{html.escape(page.title)}</h1>
<button id="theme" type="button" title="light or dark (d)">◐</button></div>
<p class="verdict">{html.escape(page.verdict)}</p>
<p class="advice">{html.escape(page.advice)}</p>
</header>
<main>
<section class="answer">{_table(page.answer)}{f"<ul>{notes}</ul>" if notes else ""}</section>
{_contents(page, sections)}"""


def _contents(page: Page, sections: Sequence[Section]) -> str:
    names = [(f"section-{i}", section.title) for i, section in enumerate(sections)]
    names += [("copy", "To copy")] if page.texts else []
    links = "".join(f"<a href='#{key}'>{html.escape(name)}</a>" for key, name in names)
    return f"<nav aria-label='Sections'>{links}</nav>" if len(names) > 1 else ""


def _table(table: Table) -> str:
    title = f"<b>{html.escape(table.title)}</b>" if table.title else ""
    note = f"<p class='note'>{html.escape(table.note)}</p>" if table.note else ""
    if not table.rows:
        return f"{title}{note}"  # a header alone is of no use
    columns = zip(*table.rows, strict=True)
    kinds = [_kind(cells) for cells in columns]
    head = "".join(
        f"<th scope='col' class='{kind}'>{html.escape(cell)}</th>"
        for kind, cell in zip(kinds, table.head, strict=True)
    )
    marks = table.marks or [None] * len(table.rows)
    links = table.links or [None] * len(table.rows)
    rows = "".join(
        _row(table.head, kinds, *row) for row in zip(table.rows, marks, links, strict=True)
    )
    field = (
        "<label class='filter'>only rows with <input type='search'> <output></output></label>"
        if table.filtered
        else ""
    )
    text = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"{title}{field}<div class='table'>{text}</div>{note}"


def _kind(cells: Sequence[str]) -> str:
    if max(map(len, cells)) > LONG:
        return "words"
    known = [cell for cell in cells if cell not in ("", MISSING)]
    if known and all(" ± " in cell for cell in known):
        return "interval"
    return "number" if known and all(map(NUMBER.fullmatch, known)) else ""


def _row(
    head: Sequence[str],
    kinds: Sequence[str],
    row: Sequence[str],
    mark: Tone | None,
    link: str | None,
) -> str:
    """Return a row; cells have their column's name, for phones."""
    cells = "".join(
        f"<td data-name='{html.escape(name)}' class='{'none' if cell == MISSING else kind}'>"
        f"{html.escape(cell)}</td>"
        for name, kind, cell in zip(head[1:], kinds[1:], row[1:], strict=True)
    )
    tone = "" if mark is None else f" class='{mark.value}'"
    text = html.escape(row[0])
    if link is not None:
        text = f"<a href='{html.escape(quote(link))}'>{text}</a>"
    name = f"<th scope='row' class='{kinds[0]}'>{text}</th>"
    return f"<tr{tone}>{name}{cells}</tr>"


def _section(section: Section, number: int) -> str:
    parts = "".join(_part(part) for part in section.parts)
    kind = "wide" if section.wide else "pair"
    text = "".join(f"<p>{html.escape(line)}</p>" for line in section.text.splitlines())
    heading = f"<h2>{html.escape(section.title)}</h2>"
    place = f"section-{number}"
    return f"<section id='{place}'>{heading}{text}<div class='{kind}'>{parts}</div></section>"


def _part(part: Part) -> str:
    if isinstance(part, Table):
        return f"<figure>{_table(part)}</figure>"
    if isinstance(part, Image):
        data = base64.b64encode(part.png).decode("ascii")
        title = html.escape(part.title)
        image = f"<img src='data:image/png;base64,{data}' alt='{title}'>"
        return f"<figure>{image}<figcaption>{title}</figcaption></figure>"
    caption = f"<b>{html.escape(part.title)}</b> <span>{html.escape(part.note)}</span>"
    tools = ""
    if isinstance(part, Scene):
        tools = (
            "<div class='tools'><button type='button' class='play' title='play (space)'>▶</button>"
            "<input type='range' class='at' min='0' max='1000' value='0' aria-label='time'>"
            "<select class='speed' aria-label='speed'>"
            + "".join(
                f"<option value='{rate}'{' selected' if rate == 1 else ''}>{rate:g}×</option>"
                for rate in (0.1, 0.25, 0.5, 1, 2, 5, 10)
            )
            + "</select><button type='button' class='closer' title='closer (+)'>+</button>"
            "<button type='button' class='farther' title='farther (-)'>−</button>"
            "<output></output></div>"
        )
    kind = {Scene: "scene", Intervals: "chart intervals"}.get(type(part), "chart")
    return (
        f"<figure><figcaption>{caption}</figcaption>"
        f"<div class='{kind}' id='{html.escape(part.key)}' role='img' "
        f"aria-label='{html.escape(part.title)}'></div>{tools}</figure>"
    )


def _texts(texts: Mapping[str, str]) -> str:
    batches = "".join(
        f"<figure class='text'><figcaption><b>{html.escape(name)}</b> "
        "<button type='button' class='copy'>copy</button></figcaption>"
        f"<pre>{html.escape(text)}</pre></figure>"
        for name, text in texts.items()
    )
    section = f"<section id='copy'><h2>To copy</h2>{batches}</section>" if batches else ""
    return f"{section}</main>"


def _foot(page: Page) -> str:
    versions = page.summary.get("versions")
    if not isinstance(versions, Mapping):
        return ""
    named = {"ros": "ROS 2", "middleware": "by", "python": "Python"}
    said = ", ".join(f"{named.get(name, name)} {value}" for name, value in versions.items())
    return f"<footer class='note'>{html.escape(said)}</footer>"


def _data(part: Chart | Intervals | Matrix | Strips | Scene, most: int) -> dict[str, Any]:
    """Return a part's data, with at most `most` points per curve."""
    own = {name: value for name, value in vars(part).items() if name not in ("title", "note")}
    own["kind"] = type(part).__name__.lower()
    if isinstance(part, Chart):
        result = (_curve(curve, most) for curve in part.curves)
        own["curves"] = [curve for curve in result if curve is not None]
    elif isinstance(part, Intervals):
        own |= {"values": _cells(part.values), "half_widths": _cells(part.half_widths)}
        own["below"] = None if part.below is None else _cells(part.below)
    elif isinstance(part, Matrix):
        own["values"] = [_cells(row) for row in np.asarray(part.values, float)]
    elif isinstance(part, Strips):
        holds = np.asarray(part.holds, float)
        kept = changes_kept(holds, MOST_FRAMES)
        own |= {"x": packed(np.asarray(part.x, float)[kept]), "holds": _columns(holds[kept])}
    else:
        own |= _scene(part)
    return own


def _cells(values: ArrayLike) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in np.asarray(values, float)]


def _columns(values: ArrayLike) -> list[dict[str, str]]:
    return [packed(column) for column in np.asarray(values, float).T]


def _scene(part: Scene) -> dict[str, Any]:
    kept = evenly(len(np.asarray(part.time)), MOST_FRAMES)
    reference = part.reference
    return {
        "time": packed(np.asarray(part.time, float)[kept]),
        "pose": _columns(np.asarray(part.pose, float)[kept]),
        "reference": None if reference is None else _columns(np.asarray(reference, float)[kept]),
        "paths": [
            {"name": name, "role": role.value, "places": _columns(_thinned_path(places))}
            for name, role, places in part.paths
        ],
        "silhouette": [np.round(np.asarray(p, float), 5).tolist() for p in part.silhouette],
        "colour": [round(255 * c) for c in part.colour],
    }


def _curve(curve: Curve, most: int) -> dict[str, Any] | None:
    x, y = np.asarray(curve.x, float), np.asarray(curve.y, float)
    if not len(x) or not np.isfinite(y).any():
        return None
    kept = peaks_kept(y, most)
    own = dict(vars(curve))
    half_width = own.pop("half_width")
    band = None if half_width is None else packed(np.asarray(half_width, float)[kept])
    return {
        **own, "role": curve.role.value, "x": packed(x[kept]), "y": packed(y[kept]), "band": band
    }  # fmt: skip


def _thinned_path(places: ArrayLike) -> Array:
    result = np.asarray(places, float).reshape(-1, 2)
    return result[evenly(len(result), MOST_FRAMES)]


# What a screen can resolve, with some zoom.
MOST_POINTS, MOST_FRAMES = 6000, 3000
# A page must stay below 6 MB.
ALL_POINTS, LEAST_POINTS = 60_000, 1000


def points_of_each(curves: int) -> int:
    """Return how many points each curve of a page may have."""
    return max(min(MOST_POINTS, ALL_POINTS // max(curves, 1)), LEAST_POINTS)


def peaks_kept(values: ArrayLike, most: int) -> NDArray[np.intp]:
    """Return increasing indices of about `most` values, (n,), with both ends and every peak."""
    y = np.asarray(values, float)
    if len(y) <= most:
        return np.arange(len(y))
    edges = np.linspace(0, len(y), most // 2 + 1).astype(int)[:-1]
    size = np.diff(np.append(edges, len(y)))
    part = np.repeat(np.arange(len(edges)), size)
    known = np.where(np.isfinite(y), y, 0.0)
    order = np.lexsort((known, part))
    ends = np.concatenate([order[edges], order[edges + size - 1], [0, len(y) - 1]])
    return np.unique(ends)


def changes_kept(holds: Array, most: int) -> NDArray[np.intp]:
    """Return indices of the rows on both sides of each change, of evenly chosen changes if many."""
    if len(holds) <= most:
        return np.arange(len(holds))
    changes = np.flatnonzero((holds[1:] != holds[:-1]).any(axis=1))
    changes = changes[evenly(len(changes), most // 2)]
    return np.unique(np.concatenate([[0, len(holds) - 1], changes, changes + 1]))


def evenly(count: int, most: int) -> NDArray[np.intp]:
    """Return evenly spread indices of at most `most` of `count` items, both ends included."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).astype(np.intp))


def packed(values: ArrayLike) -> dict[str, str]:
    """Encode numbers for Plotly: little-endian 32-bit floats in base 64."""
    raw = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return {"dtype": "f4", "bdata": base64.b64encode(raw).decode("ascii")}


def unpacked(results: Mapping[str, str]) -> Array:
    """Decode numbers of a page, shape (n,)."""
    return np.frombuffer(base64.b64decode(results["bdata"]), "<f4").astype(float)
