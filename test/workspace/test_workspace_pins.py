# SPDX-License-Identifier: Apache-2.0
"""The exact versions are complete for every Python that is supported."""

import json
import re
from pathlib import Path

import pytest

from diffbot_bringup.workspace import wheels
from diffbot_bringup.workspace.pins import normalized, pins, read_report

ROOT = Path(__file__).resolve().parents[2]


def test_versions_that_differ_carry_markers():
    reports = {
        "3.10": {"a": "1", "b": "1", "old": "1"},
        "3.9": {"a": "1", "b": "1"},
        "3.11": {"a": "1", "b": "2"},
    }
    assert pins(reports) == [
        "a==1",
        'b==1 ; python_version == "3.9" or python_version == "3.10"',
        'b==2 ; python_version == "3.11"',
        'old==1 ; python_version == "3.10"',
    ]


def test_reports_are_read_by_their_name(tmp_path):
    path = tmp_path / "3.12.json"
    path.write_text(json.dumps({"install": [{"metadata": {"name": "Py_X.y", "version": "2"}}]}))
    assert read_report(path) == ("3.12", {"py-x-y": "2"})
    with pytest.raises(ValueError, match="Python version"):
        read_report(tmp_path / "report.json")


def names(path, python):
    """Return the packages that a file of requirements names for this Python, with counts."""
    found = []
    for line in (ROOT / path).read_text().splitlines():
        requirement, _, marker = line.partition(";")
        is_comment = not requirement.strip() or line.startswith("#")
        if not is_comment and (not marker or f'"{python}"' in marker):
            found.append(normalized(re.split(r"[=<>~ ]", requirement)[0]))
    return found


@pytest.mark.parametrize("minor", range(wheels.OLDEST[1], wheels.NEWEST[1] + 1))
def test_every_requirement_has_one_version_for_every_python(minor):
    pinned = names("constraints.txt", f"3.{minor}")
    assert len(pinned) == len(set(pinned))
    assert set(names("requirements.txt", f"3.{minor}")) <= set(pinned)
