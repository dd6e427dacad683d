# SPDX-License-Identifier: Apache-2.0
"""The page of `diffbot reproduce`: verdicts follow from numbers, and nothing is lost on the way."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_bringup.commands import reproduce
from diffbot_papers.page import (
    ComparisonTable,
    PaperPicture,
    PaperSection,
    RowVerdict,
    cannot_be,
    improves,
    lies_within,
    matches,
    page,
    shows,
)
from diffbot_report.page import page_text

NUMBERS = st.floats(-1e9, 1e9)


@given(NUMBERS, NUMBERS, st.floats(0.0, 1.0))
def test_a_match_is_within_its_tolerance_and_only_then(published, ours, relative):
    verdict = matches("a", "m", published, ours, relative=relative).verdict
    inside = abs(ours - published) <= relative * abs(published)
    assert verdict is (RowVerdict.REPRODUCED if inside else RowVerdict.NOT_REACHED)


@given(st.floats(0.0, 1e9), st.floats(0.0, 1e9), st.floats(0.0, 10.0))
def test_less_is_never_a_worse_verdict(published, ours, more):
    order = [RowVerdict.BETTER, RowVerdict.REPRODUCED, RowVerdict.NOT_REACHED]
    less = improves("a", "m", published, ours).verdict
    worse = improves("a", "m", published, ours + more).verdict
    assert order.index(less) <= order.index(worse)


@given(st.lists(NUMBERS, min_size=20, max_size=60), NUMBERS)
def test_a_value_is_within_from_the_5_to_the_95_percent_quantile(values, published):
    row = lies_within("a", "m", published, values)
    low, high = np.quantile(values, [0.05, 0.95])
    assert row.verdict is (RowVerdict.WITHIN if low <= published <= high else RowVerdict.OUTSIDE)
    assert row.ours == np.quantile(values, 0.5)
    assert f"{len(values)} runs" in row.spread


def test_a_spread_needs_values_and_nan_is_in_none():
    with pytest.raises(ValueError, match="19 values"):
        lies_within("a", "m", 1.0, np.zeros(19))
    assert lies_within("a", "m", math.nan, np.zeros(20)).verdict is RowVerdict.OUTSIDE
    assert lies_within("a", "m", 0.0, np.full(20, math.nan)).verdict is RowVerdict.OUTSIDE


@pytest.mark.parametrize("compare", [matches, improves])
def test_nan_is_never_a_success(compare):
    assert compare("a", "m", 1.0, math.nan).verdict is RowVerdict.NOT_REACHED


def test_a_claim_is_reproduced_where_it_holds():
    assert shows("a", "", "yes", 1.0, True, "tested").verdict is RowVerdict.REPRODUCED
    assert shows("a", "", "yes", 1.0, False, "tested").verdict is RowVerdict.NOT_REACHED


def test_what_cannot_be_needs_a_reason():
    with pytest.raises(ValueError, match="give the reason why"):
        cannot_be("K5", "m", 1.0, 2.0, "")


class _Reader(HTMLParser):
    """Collects texts and images."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts, self.images = [], []
        self.feed(text)

    def handle_data(self, data):
        self.texts.append(data.strip())

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.images.append(dict(attrs)["src"])


def section(rows):
    return PaperSection(
        "A robot", "Somebody, 2000.", ("Text with <tags> & more.",),
        (ComparisonTable("Table 1", rows, "Noted."),),
        (PaperPicture("a-picture", "A caption", b"PNG"),),
    )  # fmt: skip


def test_the_page_holds_everything_and_needs_nothing():
    rows = (matches("K7", "1/(kg m)", 2.5, 2.501), cannot_be("K5", "m", None, "<none>", "because"))
    text = page_text(page([section(rows)], {"outcome": "completed"}, "made by a test"))
    reader = _Reader(text)
    shown = {"K7", "2.5", "2.501", "reproduced", "<none>", "cannot be", "because", "A caption"}
    shown |= {"Text with <tags> & more.", "made by a test", "Noted.", "–"}
    assert shown <= set(reader.texts)
    assert reader.images == ["data:image/png;base64,UE5H"]
    assert "http://" not in text and "https://" not in text


@pytest.mark.parametrize(("ours", "missed"), [(1.0, False), (2.0, True), (math.nan, True)])
def test_the_command_writes_a_folder_and_says_what_was_missed(
    tmp_path, monkeypatch, capsys, ours, missed
):
    made = section((matches("mass", "kg", 1.0, ours),))
    monkeypatch.setattr(reproduce, "section_maker", lambda paper: lambda report: made)
    assert reproduce.main(["2006", "--output", str(tmp_path / "new")]) == 0
    assert ("not reached: A robot, mass" in capsys.readouterr().out) == missed
    assert (tmp_path / "new" / "a-picture.png").read_bytes() == b"PNG"
    row = json.loads((tmp_path / "new" / "summary.json").read_text())["rows"][0]
    assert row["quantity"] == "mass"
    assert row["verdict"] == ("not reached" if missed else "reproduced")


def test_the_command_lists_what_is_outside(tmp_path, monkeypatch, capsys):
    made = section((lies_within("mass", "kg", 9.0, np.linspace(1.0, 2.0, 21)),))
    monkeypatch.setattr(reproduce, "section_maker", lambda paper: lambda report: made)
    assert reproduce.main(["2006", "--output", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "outside: A robot, mass: published 9 kg, ours 1.5 (1.05 to 1.95, 21 runs)" in shown


def test_an_interruption_leaves_the_papers_until_then(tmp_path, monkeypatch, capsys):
    made = section((matches("mass", "kg", 1.0, 1.0),))

    def maker(paper):
        def compute(report):
            if paper == "2017":
                raise KeyboardInterrupt
            return made

        return compute

    monkeypatch.setattr(reproduce, "section_maker", maker)
    assert reproduce.main(["2006", "2017", "--html", "--output", str(tmp_path)]) == 130
    assert "interrupted after 1 of 2 papers" in capsys.readouterr().out
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["outcome"] == "stopped" and len(summary["rows"]) == 1
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Interrupted: papers" in text and not (tmp_path / "a-picture.png").exists()


def test_an_unknown_paper_is_answered_by_the_known_ones(capsys):
    with pytest.raises(SystemExit) as end:
        reproduce.main(["1999"])
    assert end.value.code == 2
    assert (
        "no paper of '1999'; choose from 2002, 2006, 2017, 2018, 2023\n" in capsys.readouterr().err
    )


def test_a_folder_that_cannot_be_made_is_named(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert reproduce.main(["2006", "--output", str(tmp_path / "file")]) == 2
    assert "--output" in capsys.readouterr().err
