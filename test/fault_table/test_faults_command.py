# SPDX-License-Identifier: Apache-2.0
"""`diffbot faults`: what it prints and writes, and its exit status."""

import json

import pytest

pytest.importorskip("rclpy")

from faults import command as faults
from faults.robots import under_test
from faults.row import Outcome, Promise, Row

GOOD = Row("Silence", "states stop: a", Promise.ZERO, ("ideal",), lambda _: Outcome(0.08, 0.5, 1.0))
BAD = Row("Time", "dt 0: b", Promise.ZERO, ("ideal", "mujoco"), lambda _: Outcome(0.3, 0.5, 1.0))


@pytest.fixture
def rows(monkeypatch):
    def use(*given):
        monkeypatch.setattr(faults, "table", lambda part: given)

    return use


def test_kept_promises_are_status_0_and_are_written(rows, tmp_path, capsys):
    rows(GOOD)
    assert faults.main(["--output", str(tmp_path / "new")]) == 0
    printed = capsys.readouterr().out
    assert "1 of 1 rows keep their promise; longest time to zero 80.0 ms of 100 ms" in printed
    assert "| Silence | states stop: a | ideal | zero torque | 80.0 | 0.5 of 1 N m | kept |" in (
        tmp_path / "new" / "faults.md"
    ).read_text(encoding="utf-8")
    summary = json.loads((tmp_path / "new" / "summary.json").read_text(encoding="utf-8"))
    assert summary["rows"][0]["time_to_zero"] == 0.08 and summary["rows"][0]["passed"]
    assert summary["longest_time_to_zero"] == 0.08


def test_a_row_that_fails_is_status_1_and_says_why(rows, tmp_path, capsys):
    rows(GOOD, BAD)
    assert faults.main(["--engine", "mujoco", "--output", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "fails: Time: dt 0: b (mujoco): zero after 300 ms, limit 100 ms" in printed
    assert "states stop" not in printed


def test_wrong_arguments_are_status_2(rows, tmp_path, capsys):
    rows(GOOD)
    assert faults.main(["--row", "nothing like this", "--output", str(tmp_path)]) == 2
    assert "--list shows all" in capsys.readouterr().err
    with pytest.raises(SystemExit) as error:
        faults.main(["--engine", "bullet"])
    assert error.value.code == 2
    (tmp_path / "file").write_text("")
    assert faults.main(["--output", str(tmp_path / "file" / "x")]) == 2


def test_rows_are_run_with_the_robot_that_is_asked_for_and_no_other_is_left(rows, tmp_path):
    seen = []

    def run(engine):
        seen.append(under_test())
        return Outcome(0.08, 0.5, 1.0)

    rows(Row("Time", "c", Promise.ZERO, ("ideal",), run))
    asked = ["--only", "in-process", "--output"]
    assert faults.main([*asked, str(tmp_path / "agv"), "--robot", "agv"]) == 0
    assert faults.main([*asked, str(tmp_path / "twil")]) == 0
    assert seen == ["agv", "twil"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--robot", "agv"], "--robot agv needs --only in-process"),
        (["--robot", "none.yaml", "--only", "in-process"], "none.yaml"),
    ],
)
def test_a_robot_that_no_row_can_be_run_with_is_status_2(rows, tmp_path, capsys, options, words):
    rows(GOOD)
    assert faults.main([*options, "--output", str(tmp_path)]) == 2
    assert words in capsys.readouterr().err


def test_the_list_runs_nothing(rows, tmp_path, capsys):
    def run(engine):
        raise AssertionError

    rows(Row("Time", "c", Promise.DRIVES_ON, ("ideal",), run))
    assert faults.main(["--list", "--output", str(tmp_path / "no")]) == 0
    assert capsys.readouterr().out.strip() == "Time: c  (ideal, drives on)"
    assert not (tmp_path / "no").exists()


def test_an_interruption_says_how_far_it_came(rows, tmp_path, capsys):
    def interrupt(engine):
        raise KeyboardInterrupt

    rows(GOOD, Row("Time", "c", Promise.ZERO, ("ideal",), interrupt))
    with pytest.raises(KeyboardInterrupt):
        faults.main(["--output", str(tmp_path)])
    assert "interrupted after 1 of 2 rows" in capsys.readouterr().out
