# SPDX-License-Identifier: Apache-2.0
"""Finds broken links in a site of HTML files: to pages, pictures and anchors that are not there.

Links to other sites are not followed.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_ADDRESSES = ("href", "src", "xlink:href")
_ANCHORS = {"a": ("id", "name")}


@dataclass(frozen=True, order=True)
class BrokenLink:
    """A link that leads nowhere; `page` is the page's path in the site, `link` as written there."""

    page: str
    link: str
    reason: str

    def __str__(self) -> str:
        return f"{self.page}: {self.link}: {self.reason}"


class _Page(HTMLParser):
    """The addresses to which a page links, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: dict[str, None] = {}
        self.anchors: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value.strip() for name, value in attrs if value is not None}
        self.links |= {values[name]: None for name in _ADDRESSES if name in values}
        self.anchors |= {values[name] for name in _ANCHORS.get(tag, ("id",)) if name in values}
        if tag == "meta" and values.get("http-equiv", "").lower() == "refresh":
            self.links[values.get("content", "").partition("url=")[2]] = None


def broken_links(site: Path, start: str = "index.html") -> list[BrokenLink]:
    """Return the broken links of all pages to which links lead from the first one, sorted.

    Raises OSError if a page cannot be read.
    """
    pages = {start: _Page((site / start).read_text("utf-8"))}
    waiting, broken = [start], []
    while waiting:
        page = waiting.pop()
        for link in pages[page].links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = _target(page, unquote(address.path))
            if (site / target).is_dir():
                target = posixpath.normpath(f"{target}/index.html")
            if target.startswith(("/", "../")):
                broken.append(BrokenLink(page, link, "outside of the site"))
                continue
            if not (site / target).is_file():
                broken.append(BrokenLink(page, link, "no such file"))
                continue
            if target not in pages and target.endswith(".html"):
                pages[target] = _Page((site / target).read_text("utf-8"))
                waiting.append(target)
            anchor = unquote(address.fragment)
            if anchor and target in pages and anchor not in pages[target].anchors:
                broken.append(BrokenLink(page, link, "no such anchor"))
    return sorted(broken)


def _target(page: str, path: str) -> str:
    """Return where a page's link leads, as a path in the site."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
