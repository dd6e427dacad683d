# SPDX-License-Identifier: Apache-2.0
"""How far a command is, in words and on a terminal."""

import io
import time

import pytest
from rich.console import Console

from diffbot_report import progress
from diffbot_report.progress import Progress, duration_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1.0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (200.0, "3 min 20 s"),
        (3900, "1 h 5 min"),
    ],
)
def test_durations_are_said_as_people_do(seconds, text):
    assert duration_text(seconds) == text


def test_the_time_left_follows_from_what_is_done_and_falls(monkeypatch):
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    shown = Progress("reproduce", 4, Console(file=io.StringIO()))
    now = 110.0
    assert shown.times() == "0 %, 10 s"
    shown.advance()
    assert shown.times() == "25 %, 10 s, about 30 s left"
    now = 125.0
    assert shown.times() == "25 %, 25 s, about 15 s left"
    now = 150.0  # longer than the first part foretold
    assert shown.times() == "25 %, 50 s"


def test_lines_come_where_there_is_no_terminal_and_only_if_it_takes_long(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(progress, "INTERVAL", 0.05)
    printed = ""
    with Progress("faults", 2, Console(file=io.StringIO())) as shown:
        shown.show("the first")
        deadline = time.monotonic() + 10.0
        while printed.count("\n") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
            printed += capsys.readouterr().err
    assert printed.splitlines()[0] == "faults: the first (0 %, 0 s)"
    monkeypatch.setattr(progress, "PATIENCE", 10.0)
    with Progress("faults", 2, Console(file=io.StringIO())):
        pass
    assert capsys.readouterr().err == ""


def test_a_terminal_has_a_bar(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Progress("faults", 2, console) as shown:
        shown.show("states [stop]")
        shown.advance()
    text = console.file.getvalue()
    assert "states [stop]" in text and "50 %" in text
