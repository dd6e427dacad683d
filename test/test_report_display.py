"""The table and the progress, as text."""

import io

import pytest
from rich.console import Console

from arc_odometry import WheelGeometry
from diffbot_bringup.report import meanings, parameter_quantities, parameter_table
from diffbot_bringup.report.example import PAYLOAD, TRUE, example_estimate
from diffbot_bringup.report.pace import Pace
from diffbot_bringup.report.progress import LiveDisplay, PlainDisplay, Progress, make_display

GEOMETRY = WheelGeometry(0.075, 0.075, 0.272)


def text_of(renderable, width=120):
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return console.file.getvalue()


def table_text(sample, truth, width=120):
    parameters = parameter_quantities(sample, truth)
    words = meanings(parameters, GEOMETRY)
    return text_of(parameter_table(parameters, words, "title", "caption", width), width)


def test_table_shows_value_spread_truth_error_and_meaning():
    text = table_text(example_estimate(20.0), PAYLOAD)
    row = next(line for line in text.splitlines() if line.startswith(" K7"))
    # 2 sigma = 2 * 0.1 * 2.6468 / sqrt(201); 2.6468 is 39.3 % and 40 sigma above 1.9.
    assert row.split()[:8] == ["K7", "1/(kg", "m)", "2.647", "0.037", "1.900", "+39.31", "+40.0"]
    assert row.rstrip().endswith("equivalent mass 5.04 kg")
    assert "title" in text and "caption" in text


def test_table_without_truth_has_no_error_columns():
    text = table_text(example_estimate(20.0), None)
    assert "error" not in text and "closed form" not in text


def test_table_says_what_is_not_fixed():
    text = table_text(example_estimate(20.0, unknown=(0, 1)), TRUE)
    assert text.count("not fixed") == 2


@pytest.mark.parametrize("truth", [TRUE, None])
def test_nothing_is_cut_off_on_80_columns(truth):
    text = table_text(example_estimate(20.0), truth, width=80)
    assert "…" not in text
    assert "equivalent mass 5.04 kg" in text
    assert max(map(len, text.splitlines())) <= 80


def test_table_of_nothing():
    assert "K5" in table_text(None, None)


def test_plain_lines_one_each_ten_percent():
    console = Console(file=io.StringIO(), width=110)
    display = make_display(console)
    assert isinstance(display, PlainDisplay)
    display.show(Progress("ident twil", note="waiting"), "", 0.0)
    display.show(Progress("ident twil", note="waiting"), "", 0.1)
    for k in range(1001):
        display.show(Progress("ident twil", 0.06 * k, 60.0, 30.0), "", 0.2 + 0.01 * k)
    display.close()
    lines = console.file.getvalue().splitlines()
    assert lines[0] == "ident twil: waiting"
    assert lines[1] == "ident twil: 10 %, 6.0 of 60 s, 30.0× real time"
    assert [line.split()[2] for line in lines[1:]] == [str(10 * k) for k in range(1, 11)]
    assert "\x1b" not in console.file.getvalue() and "\r" not in console.file.getvalue()


def test_plain_lines_of_a_run_without_end_come_by_wall_time():
    console = Console(file=io.StringIO(), width=110)
    display = PlainDisplay(console)
    for k in range(251):
        display.show(Progress("ident", float(k), 0.0), "", 0.1 * k)
    assert len(console.file.getvalue().splitlines()) == 3


def test_live_view_on_a_terminal():
    console = Console(file=io.StringIO(), force_terminal=True, width=110)
    display = make_display(console)
    assert isinstance(display, LiveDisplay)
    display.show(Progress("ident twil", 18.0, 60.0, 30.0), "the table", 0.0)
    display.close()
    text = console.file.getvalue()
    for part in ("ident twil", " 30 %", "18.0 of 60 s", "the table"):
        assert part in text
    # The cursor that was hidden is shown again.
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_pace():
    pace = Pace()
    pace.update(1.0, 100.0)
    pace.update(1.5, 100.01)
    assert pace.factor is None
    pace.update(31.0, 101.0)
    assert pace.factor == pytest.approx(30.0)
