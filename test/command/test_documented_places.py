# SPDX-License-Identifier: Apache-2.0
"""What documents and docstrings point at is there: links, headings, modules, names in modules."""

import re
from pathlib import Path

import pytest

from diffbot_bringup.workspace.packages import find_packages

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
MODULE = re.compile(r"(?<![\w/.<>{}-])((?:[a-z_0-9]+/)*[a-z][a-z_0-9]*\.py)\b")
# A row of a table or a list that links one module and names what is in it.
NAMED = re.compile(r"\]\(([^)\s]+\.py)\)((?:[:,] `[\w.]+`(?= |,|;|$|\|)|, )+)")
FOLDERS = [ROOT / name for name in ("benchmarks", "examples", "test", "docs")]
FOLDERS += [package.path for package in find_packages(ROOT)]
MODULES = [path for folder in FOLDERS for path in folder.rglob("*.py")]
# Of Gazebo's launch files; of each package.
OF_OTHERS = {"spawn_entity.py", "setup.py"}
# The name of a file that a page has its reader write.
WRITTEN = re.compile(r"^```python\n# ([\w.]+)$", re.M)


def anchors(document: Path) -> set[str]:
    """Of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.M)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {word.replace(" ", "-") for word in words}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    dead = []
    for link in LINK.findall(document.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (document.parent / place).resolve() if place else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert not dead


def test_names_beside_a_linked_module_are_in_it():
    result, absent = 0, []
    for document in DOCUMENTS:
        for place, names in NAMED.findall(document.read_text(encoding="utf-8")):
            text = (document.parent / place).read_text(encoding="utf-8")
            for name in re.findall(r"`([\w.]+)`", names):
                result += 1
                if not all(re.search(rf"\b{word}\b", text) for word in name.split(".")):
                    absent.append((document.name, place, name))
    assert result > 25
    assert not absent


def test_modules_that_are_named_exist():
    there = {str(path.relative_to(ROOT)) for path in MODULES}
    production = [path for path in MODULES if "test" not in path.relative_to(ROOT).parts[:2]]
    absent = []
    for path in (*production, *DOCUMENTS):
        text = path.read_text(encoding="utf-8")
        known = OF_OTHERS.union(WRITTEN.findall(text))
        for name in MODULE.findall(text):
            if name not in known and not any(f"/{each}".endswith(f"/{name}") for each in there):
                absent.append((str(path.relative_to(ROOT)), name))
    assert not absent
