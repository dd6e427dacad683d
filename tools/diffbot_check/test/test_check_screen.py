# SPDX-License-Identifier: Apache-2.0
"""A check fits on one screen, whatever was seen, and says the same to a program."""

import json

import pytest
import seen_robots as made
from rich.console import Console
from test_check_findings import FAULTS, GOOD, TWIL

from diffbot_check.check_screen import HEIGHT, WIDTH, plain, show
from diffbot_check.judging import judge
from diffbot_check.observation import CheckedRobot


def screen(seen, width=WIDTH, everything=False):
    subject = CheckedRobot(seen, TWIL, given="twil")
    console = Console(width=width, record=True, file=open("/dev/null", "w"), highlight=False)  # noqa: SIM115
    with console.file:
        show(console, subject, judge(subject), everything)
    return console.export_text()


def height(text, width=WIDTH):
    return sum(max(1, -(-len(line) // width)) for line in text.splitlines())


CASES = {**{name: case[0] for name, case in FAULTS.items()}, **GOOD}


def test_it_fits_on_one_screen_with_a_line_for_the_prompt():
    for case, make in CASES.items():
        text = screen(make())
        assert height(text) < HEIGHT and "..." not in text, case


def test_what_does_not_fit_is_counted_and_shown_on_request():
    seen = made.seen(
        (made.publishes(made.STATES, "x/msg/Y"), made.publishes(made.EFFORTS, "x/msg/Y", "/old")),
        machine=made.with_machine(load=9.0, beyond="closed", real_time=False),
        transforms=frozenset((f"p{k}", f"c{k // 2}") for k in range(20)),
    )
    few, every = screen(seen), screen(seen, everything=True)
    assert height(few) < HEIGHT < height(every)
    assert "more: --all shows them" in few and "more: --all" not in every
    findings = judge(CheckedRobot(seen, TWIL)).findings
    assert len(findings) > 10
    wide = screen(seen, width=1000, everything=True)
    assert all(each.what in wide and each.line in wide for each in findings)


def test_a_robot_that_is_ready_gets_the_next_command():
    assert "launch ident sim:=none robot:=twil arena:=3x3" in screen(made.torque_robot())
    assert "commands:=velocity" in screen(made.velocity_robot())
    assert "Next:" not in screen(made.seen(()))


def test_names_from_the_graph_cannot_act_on_the_terminal():
    seen = made.torque_robot(states=made.wheel_states(names=("a\x1b[31m", "b\x07")))
    assert "\x1b" not in screen(seen) and "\x07" not in screen(seen)


@pytest.mark.parametrize("case", ["other names", "at rest"])
def test_a_program_gets_all_of_it(case):
    subject = CheckedRobot(CASES[case](), TWIL)
    report = judge(subject)
    content = json.loads(json.dumps(plain(subject, report)))
    assert content["ready"] == report.is_ready == (case == "at rest")
    assert [each["what"] for each in content["findings"]] == [e.what for e in report.findings]
    assert set(content["tasks"]) == {"ident, torque", "drive, torque", "calibrate"}
