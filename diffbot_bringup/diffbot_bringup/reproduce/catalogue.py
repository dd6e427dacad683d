"""The papers, by the year in which they appeared."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from diffbot_bringup.reproduce.section import Report, Section

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
    name = f"diffbot_bringup.reproduce.papers.{_MODULES[paper]}"
    return importlib.import_module(name).section
