"""What a paper's module hands to the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO

from matplotlib.figure import Figure

from diffbot_bringup.reproduce.comparison import Row

Report = Callable[[str], None]
"""Called with a few words about what is being computed now."""


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
