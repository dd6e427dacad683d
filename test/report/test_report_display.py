# SPDX-License-Identifier: Apache-2.0
"""The table and the progress, as text."""

import io
from dataclasses import replace

import pytest
from ident_example import (
    PAYLOAD,
    REASON,
    TRUE,
    VERIFICATION,
    example_estimate,
)
from rich.console import Console

from diffbot_description import RobotModel
from diffbot_ident.verification import VerificationState
from diffbot_report.display import LiveDisplay, PlainDisplay, RunProgress, make_display, say
from diffbot_report.ident_results import answer, confidence_notes, parameter_table, state_notes
from diffbot_report.quantity import (
    friction_quantities,
    meanings,
    parameter_quantities,
    physical_quantities,
)
from diffbot_report.run_end import NodeState, RunPhase
from diffbot_report.watching_node import RealTimeFactor, progress_of

MODEL = RobotModel(0.075, 0.136, 4.2375, 0.0544, 0.1004, 0.25, 0.00084375, 0.000441)


def text_of(renderable, width=120):
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return console.file.getvalue()


def table_text(estimate, truth, width=120):
    parameters = parameter_quantities(estimate, truth)
    words = meanings(parameters, physical_quantities(estimate, MODEL))
    notes = confidence_notes(estimate, VerificationState.VERIFIED, VERIFICATION)
    notes = [*state_notes(parameters), *notes]
    friction = tuple(friction_quantities(estimate).values())
    return text_of(parameter_table(parameters, words, "title", notes, width, friction), width)


@pytest.mark.parametrize(
    ("error", "loss", "advised"), [(0.3, 0.0, True), (0.3, 0.1, False), (0.02, 0.0, False)]
)
def test_a_poor_prediction_advises_torques_of_several_sizes(error, loss, advised):
    """Unless the gears' losses are part of the estimate already."""
    estimate = example_estimate(20.0)
    friction = replace(estimate.friction, gear_loss=(loss, loss))
    no_model = VERIFICATION.horizon_no_model
    verification = replace(VERIFICATION, horizon_error=(error * no_model[0], 0.01 * no_model[1]))
    notes = confidence_notes(
        replace(estimate, friction=friction), VerificationState.VERIFIED, verification
    )
    assert any("levels: 4" in note for note in notes) is advised


def row_of(text, symbol):
    return next(line for line in text.splitlines() if line.startswith(f" {symbol}"))


def test_table_shows_value_interval_truth_error_and_meaning():
    text = table_text(example_estimate(20.0), PAYLOAD)
    row = row_of(text, "K7")
    # 1.96 * 0.1 * 2.6468 / sqrt(201) = 0.0366; 2.6468 is 39.3 % and 40 sigma above 1.9.
    assert row.split()[:8] == ["K7", "1/(kg", "m)", "2.647", "0.037", "1.900", "+39.31", "+40.0"]
    assert row.rstrip().endswith("equivalent mass 5.04 kg")
    assert "title" in text


@pytest.mark.parametrize("truth", [PAYLOAD, None])
def test_terminal_and_page_show_the_same_cells(truth):
    estimate = example_estimate(20.0)
    parameters = parameter_quantities(estimate, truth)
    words = meanings(parameters, physical_quantities(estimate, MODEL))
    friction = tuple(friction_quantities(estimate).values())
    shown, text = answer(parameters, friction, words), table_text(estimate, truth)
    assert all(name in text for name in shown.head)
    for row in shown.rows:
        assert " ".join(row).split() == row_of(text, row[0]).split()


def test_table_has_friction_of_each_wheel():
    row = row_of(table_text(example_estimate(20.0), None), "f_r")
    assert row.split()[:5] == ["f_r", "N", "m", "0.0287", "0.0020"]
    assert row.rstrip().endswith("Coulomb friction, right wheel")


def test_notes_say_how_far_to_trust():
    text = table_text(example_estimate(20.0), None)
    for part in (
        "2000 samples",
        "torque delay 1 control period",
        # 0.0165 of 0.4312 m/s and 0.0742 of 2.2104 rad/s.
        "verified by another motion of 10 s: after 1 s v 3.8 %, ω 3.4 % of the error",
        "warning: the angular residuals are not white",
    ):
        assert part in text


def test_table_without_truth_has_no_error_columns():
    text = table_text(example_estimate(20.0), None)
    assert "error %" not in text and "closed form" not in text


def test_table_names_what_is_not_identifiable_and_why():
    text = table_text(example_estimate(20.0, unknown=(0, 1)), TRUE)
    assert text.count("(−∞, ∞)") == 2
    assert f"K5, K6 not identifiable: {REASON}" in text
    for symbol in ("K5", "K6"):
        assert row_of(text, symbol).rstrip().endswith("not identifiable")
    assert "+" not in row_of(text, "K5")  # No error of a number that is none.


@pytest.mark.parametrize("truth", [TRUE, None])
def test_nothing_is_cut_off_on_80_columns(truth):
    text = table_text(example_estimate(20.0), truth, width=80)
    assert "…" not in text
    assert "equivalent mass 5.04 kg" in text
    assert max(map(len, text.splitlines())) <= 80


def test_nothing_is_cut_off_in_a_pipe():
    assert "…" not in table_text(example_estimate(20.0), TRUE, width=110)


def test_a_path_cannot_act_on_the_terminal():
    console = Console(file=io.StringIO(), width=20)
    say(console, f"results/[b]\x1b[2J/{'x' * 2000}\nnext")
    assert console.file.getvalue() == rf"results/[b]\x1b[2J/{'x' * 2000}" + "\nnext\n"


def test_table_of_nothing():
    assert "K5" in table_text(None, None)


def test_plain_lines_one_each_ten_percent():
    console = Console(file=io.StringIO(), width=110)
    display = make_display(console)
    assert isinstance(display, PlainDisplay)
    display.show(RunProgress("ident twil", note="waiting"), "", 0.0)
    display.show(RunProgress("ident twil", note="waiting"), "", 0.1)
    for k in range(1001):
        display.show(RunProgress("ident twil", 0.06 * k, 60.0, 30.0), "", 0.2 + 0.01 * k)
    display.close()
    lines = console.file.getvalue().splitlines()
    assert lines[0] == "ident twil: waiting"
    assert lines[1] == "ident twil: 10 %, 6.0 of 60 s, 30.0× real time, about 2 s left"
    assert [line.split()[2] for line in lines[1:]] == [str(10 * k) for k in range(1, 11)]
    assert "\x1b" not in console.file.getvalue() and "\r" not in console.file.getvalue()


def test_plain_lines_of_a_run_without_end_come_by_wall_time():
    console = Console(file=io.StringIO(), width=110)
    display = PlainDisplay(console)
    for k in range(251):
        display.show(RunProgress("ident", float(k), 0.0), "", 0.1 * k)
    assert len(console.file.getvalue().splitlines()) == 6


def test_plain_lines_of_a_slow_run_come_by_wall_time_with_the_time_left():
    """An hour in real time: a line each 5 s, not each 6 minutes."""
    console = Console(file=io.StringIO(), width=110)
    display = PlainDisplay(console)
    for k in range(301):
        display.show(RunProgress("ident", 0.1 * k, 3600.0, 1.0), "", 0.1 * k)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 6
    assert lines[-1] == "ident: 1 %, 30.0 of 3600 s, 1.0× real time, about 59 min 30 s left"


def test_live_view_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    console = Console(file=io.StringIO(), force_terminal=True, width=110)
    display = make_display(console)
    assert isinstance(display, LiveDisplay)
    display.show(RunProgress("ident twil", 18.0, 60.0, 30.0), "the table", 0.0)
    display.close()
    text = console.file.getvalue()
    for part in ("ident twil", " 30 %", "18.0 of 60 s", "the table"):
        assert part in text
    # The cursor that was hidden is shown again.
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_a_run_that_has_ended_has_no_time_left():
    def figures(phase, elapsed=26.0):
        state = NodeState(0, phase, "", elapsed, 60.0)
        return progress_of("ident twil", state, 1.0, "").figures()

    assert figures(RunPhase.EXCITING) == "26.0 of 60 s, 1.0× real time, about 34 s left"
    assert figures(RunPhase.DONE) == "26.0 of 26 s, 1.0× real time"
    assert figures(RunPhase.STOPPED) == "26.0 s, 1.0× real time"
    assert figures(RunPhase.DONE, 60.0) == "60.0 of 60 s, 1.0× real time"


def test_real_time_factor():
    speed = RealTimeFactor()
    speed.update(1.0, 100.0)
    speed.update(1.5, 100.01)
    assert speed.factor is None
    speed.update(31.0, 101.0)
    assert speed.factor == pytest.approx(30.0)
