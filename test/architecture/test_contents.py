# SPDX-License-Identifier: Apache-2.0
"""The table of contents of the site, docs/index.md, has every page once."""

import re
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.M | re.S)
WRITTEN = DOCS / "library"  # by ./diffbot docs
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if WRITTEN not in page.parents]


def listed(page: Path) -> list[Path]:
    """The pages in the tables of contents of a page, and in those of them."""
    results = []
    for table in TOCTREE.findall(page.read_text(encoding="utf-8")):
        for line in table.splitlines():
            entry = re.sub(r"^.*<(.+)>$", r"\1", line).removesuffix(".md")
            if entry and not entry.startswith(":"):
                matches = sorted(page.parent.glob(f"{entry}.md"))
                there = [(page.parent / entry).with_suffix(".md").resolve()]
                results += [each for each in (matches or there) if each != page]
    below = [each for result in results if result.is_file() for each in listed(result)]
    return [*results, *below]


def test_every_page_is_in_it_once():
    times = Counter(listed(DOCS / "index.md"))
    assert len(times) > 30
    assert {page for page in PAGES if page not in times} == {DOCS / "index.md"}
    assert [page for page, number in times.items() if number > 1] == []
    absent = [page for page in times if not page.is_file() and WRITTEN not in page.parents]
    assert absent == []


# Written from the nodes, to be searched.
GENERATED = {DOCS / "parameters.md"}
LONGEST = 2500


def test_no_page_is_too_long_to_be_read():
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in PAGES}
    too_long = {page.name: n for page, n in words.items() if n > LONGEST and page not in GENERATED}
    assert not too_long, "split them, or say it in fewer words"
