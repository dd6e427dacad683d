# SPDX-License-Identifier: Apache-2.0
"""The tutorials can be done by the text alone; those that need no ROS are done here."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MADE = runpy.run_path(str(ROOT / "docs" / "run_tutorials.py"))
run, missing, steps = MADE["run"], MADE["missing"], MADE["steps"]


@pytest.fixture
def programs(tmp_path):
    """A folder with the command of an installed diffbot-suite."""
    folder = tmp_path / "programs"
    folder.mkdir()
    python = f'exec "{sys.executable}"'
    for name, script in {
        "diffbot": f'[ "$1" = python ] && shift && {python} "$@"\n'
        f'{python} -m diffbot_bringup.cli "$@"\n',
        "python3": f'{python} "$@"\n',
    }.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}")
        program.chmod(0o755)
    return folder


def test_only_a_recording(programs, tmp_path):
    reader = tmp_path / "reader"
    reader.mkdir()
    page = (MADE["FOLDER"] / "recording_only.md").read_text(encoding="utf-8")
    assert run(page, reader, programs) == []
    assert (reader / "nav2" / "nav2.yaml").is_file()


@pytest.mark.parametrize("name", ["own_parts", "paper_lages_2017"])
def test_pages_that_need_the_library_only(name, programs, tmp_path):
    reader = tmp_path / "reader"
    reader.mkdir()
    page = (MADE["FOLDER"] / f"{name}.md").read_text(encoding="utf-8")
    assert run(page, reader, programs) == []


@pytest.mark.parametrize("name", MADE["PAGES"])
def test_each_command_of_a_page_is_to_be_tried(name):
    page = list(steps((MADE["FOLDER"] / f"{name}.md").read_text(encoding="utf-8")))
    assert page and sum(len(step.expected) for step in page) >= 2


PAGE = """# A page

```sh
echo one 12.5 m; echo two
cat a.txt
```

```text
one 3.25 m
…file
```

```text
# a.txt
a file
```
"""


def test_what_a_page_gets_wrong_is_reported(programs, tmp_path):
    before = """```text\n# a.txt\na file\n```\n"""
    (tmp_path / "a").mkdir()
    assert run(before + PAGE, tmp_path / "a", programs) == []
    (tmp_path / "b").mkdir()
    (wrong,) = run(PAGE, tmp_path / "b", programs)
    assert "a.txt: No such file" in wrong and "status 1" in wrong
    (tmp_path / "c").mkdir()
    (wrong,) = run(before + PAGE.replace("one 3", "eleven 3"), tmp_path / "c", programs)
    assert wrong.endswith("says nothing like 'eleven 3.25 m'")


def test_figures_may_differ_and_sentences_may_not():
    assert missing(("K7  1.25 ± 0.1", "verified …"), "K7   -3.5e-3 ±  2\nverified by 10 s") is None
    assert missing(("verified …", "K7  1.25"), "K7   1.25\nverified by 10 s") == "K7  1.25"
    assert missing(("verified by 1",), "refuted by 1") == "verified by 1"
