# SPDX-License-Identifier: Apache-2.0
"""The list of checks: its order, its levels, and the table in docs/safety.md."""

import re
from pathlib import Path

import pytest

from diffbot_node.checks import Check, Checklist, Moment
from diffbot_node.verdicts import GOOD, Level, Verdict, judged

PAGE = Path(__file__).resolve().parents[2] / "docs" / "safety.md"


def test_the_page_has_the_checks_in_their_order():
    if not PAGE.exists():
        pytest.skip("installed without the documentation")
    section = PAGE.read_text(encoding="utf-8").split("\n## The checks\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| (WAIT|HOLD|STOP|END) \| ", section, re.M)
    assert rows == [(check.label, check.moment.value, check.level.name) for check in Check]


def test_every_check_has_a_name_of_its_own():
    assert len({check.label for check in Check}) == len(Check) == 21


def questions(**wrong):
    """What each check answers: good, unless named."""
    asked = []

    def question(check):
        def ask(*about):
            asked.append(check.name)
            return Verdict(Level.HOLD, wrong[check.name]) if check.name in wrong else GOOD

        return ask

    return {check: question(check) for check in Check}, asked


def test_the_first_check_that_objects_ends_the_search():
    made, asked = questions(DOUBT="two", LAW="four")
    assert Checklist(made).first(Moment.ANSWER) == Verdict(Level.HOLD, "two")
    assert asked == ["AGE", "DOUBT"]


def test_all_checks_of_a_moment_are_made_and_each_demands_its_level():
    made, asked = questions(RIVALS="one", WATCHDOG="five")
    verdicts = list(Checklist(made).each(Moment.LOOK, None))
    assert verdicts == [
        (Check.RIVALS, Verdict(Level.STOP, "one")),
        (Check.WATCHDOG, Verdict(Level.STOP, "five")),
    ]
    assert asked == [check.name for check in Check if check.moment is Moment.LOOK]


def test_where_nobody_enables_a_stop_ends_the_node_and_other_levels_stay():
    made, _ = questions(SOURCES="two", STAMP="late")
    verdicts = [verdict for _, verdict in Checklist(made, stops_end=True).each(Moment.MESSAGE, 0)]
    assert verdicts == [Verdict(Level.END, "two"), Verdict(Level.HOLD, "late")]


def test_a_check_that_nobody_answers_is_noticed_at_once():
    made, _ = questions()
    del made[Check.SILENCE]
    with pytest.raises(KeyError):
        Checklist(made)


def test_a_verdict_is_true_if_something_is_wrong():
    bad = Verdict(Level.HOLD, "late")
    assert bad and not GOOD and (GOOD or bad) is bad
    assert bad.at(Level.END) == Verdict(Level.END, "late") and GOOD.at(Level.END) is GOOD
    assert bad.at(Level.HOLD) is bad
    assert judged(Level.STOP, "") is judged(Level.STOP, None) is GOOD
    assert judged(Level.STOP, "late") == Verdict(Level.STOP, "late")
