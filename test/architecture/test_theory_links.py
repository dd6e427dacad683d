# SPDX-License-Identifier: Apache-2.0
"""Code that refers to a page of docs/theory refers to a page, and a heading of it, that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"docs/(theory/\w+\.md)(?:#([\w-]+))?")


def anchors(page):
    """Headings as GitHub's anchors."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_theory_is_where_the_code_says():
    folders = [p for p in (*ROOT.glob("*/*"), *ROOT.glob("tools/*/*")) if p.name == p.parent.name]
    links, missing = 0, []
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        for page, anchor in LINK.findall(path.read_text(encoding="utf-8")):
            links += 1
            there = ROOT / "docs" / page
            if not there.is_file() or (anchor and anchor not in anchors(there)):
                missing.append(f"{path.relative_to(ROOT)}: {page}#{anchor}")
    assert links > 20 and not missing, missing
