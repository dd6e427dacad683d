# SPDX-License-Identifier: Apache-2.0
"""`bench`: an estimator enters by one file, and a wrong one scores wrong."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from diffbot_bench.command import main
from diffbot_bench.estimators import ENTRANTS, answer, entrant
from diffbot_bench.scoring import REFUSAL, score
from diffbot_bench.tasks import NAMES_K, NAMES_V, make_seeded, make_tasks
from diffbot_description.command_kind import CommandKind

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/bench_estimator.py"
WRONG = """
def estimate(record):
    return {name: (1e3, 999.0, 1001.0) for name in ("K5", "K6", "K7", "K8")}

def failing(record):
    raise KeyError(record.task)
"""
VELOCITY = "velocity, plain"


@pytest.fixture(scope="module")
def tasks():
    """A clean torque robot and a velocity robot."""
    return make_tasks(["clean", VELOCITY], 1, seed=3, seconds=8.0)


def cost(tasks, reference, kind=CommandKind.EFFORT):
    own = [task for task in tasks if task.record.kind is kind]
    answers = {t.record.task: answer(entrant(reference).estimate, t.record) for t in own}
    return score(own, answers).cost


def test_records_have_the_columns_of_their_kind_and_no_truth(tasks):
    torque, velocity = tasks
    assert {*torque.truth} == {*NAMES_K} and {*velocity.truth} == {*NAMES_V}
    content = json.loads(torque.record.text())
    assert [*content["columns"]] == [
        "time", "left_position", "right_position", "left_effort", "right_effort",
    ]  # fmt: skip
    assert content["wheel_radius"] > 0.0 and "truth" not in torque.record.text()


def test_equal_seeds_make_equal_tasks(tasks):
    again, other = (make_tasks([VELOCITY], 1, seed=seed, seconds=8.0)[0] for seed in (3, 4))
    np.testing.assert_equal(dict(again.record.columns), dict(tasks[1].record.columns))
    assert again.truth == tasks[1].truth and other.truth != again.truth


def test_an_outside_file_enters_and_a_wrong_one_scores_wrong(tasks, tmp_path):
    file = tmp_path / f"wrong{EXAMPLE.suffix}"
    file.write_text(WRONG)
    outside = cost(tasks, f"{EXAMPLE}:estimate")
    assert outside < REFUSAL
    assert cost(tasks, f"{file}:estimate") == 1.0
    assert cost(tasks, f"{file}:failing") == REFUSAL
    own = cost(tasks, "diffbot")
    assert own < outside
    torque = tasks[0].record
    assert answer(entrant(f"{file}:failing").estimate, torque).reason.startswith("KeyError")


@pytest.mark.parametrize("name", [n for n, e in ENTRANTS.items() if not e.library])
def test_every_peer_answers_both_kinds_it_knows(tasks, name):
    for task in tasks:
        if task.record.kind not in ENTRANTS[name].kinds:
            continue
        said = answer(ENTRANTS[name].estimate, task.record)
        assert said.values and said.reason == ""
        assert {*said.values} <= {*task.truth}


@pytest.mark.parametrize("name", [n for n, e in ENTRANTS.items() if e.library])
def test_a_peer_whose_library_is_not_installed_is_left_out(tasks, name, monkeypatch):
    monkeypatch.setitem(sys.modules, ENTRANTS[name].library, None)
    with pytest.raises(ImportError, match=ENTRANTS[name].library):
        answer(ENTRANTS[name].estimate, tasks[0].record)


def test_records_for_others_and_their_answers_give_the_same_score(tmp_path, capsys):
    chosen = ["--tasks", VELOCITY, "--robots", "1", "--seed", "7"]
    board, again = tmp_path / "board", tmp_path / "again"
    assert main([*chosen, "--estimator", "arx", "--output", str(board)]) == 0
    answers = board / "answers_arx.json"
    content = json.loads(answers.read_text())
    answers.write_text(json.dumps({**content, "estimator": "theirs"}))
    assert main([*chosen, "--answers", str(answers), "--output", str(again)]) == 0
    rows = [line.split()[2:8] for line in capsys.readouterr().out.splitlines() if "theirs" in line
            or "arx  " in line]  # fmt: skip
    assert len(rows) == 2 and rows[0] == rows[1]
    for name in ("leaderboard.md", "leaderboard.html"):
        assert "theirs" in (again / name).read_text()
    assert main([*chosen, "--records", str(tmp_path / "records")]) == 0
    (record,) = (tmp_path / "records").glob("*.json")
    assert json.loads(record.read_text())["task"] == f"{VELOCITY} 0" == [*content["answers"]][0]


def test_several_seeds_make_tasks_of_their_own():
    both = make_seeded([VELOCITY], 1, [3, 4], seconds=4.0, workers=2)
    alone = make_seeded([VELOCITY], 1, [4], seconds=4.0)
    names = [task.record.task for task in both]
    assert names == [f"{VELOCITY} 0 seed 3", f"{VELOCITY} 0 seed 4"]
    assert alone[0].record.task == f"{VELOCITY} 0" and alone[0].truth == both[1].truth
    assert [task.seed for task in both] == [3, 4]


def test_wrong_arguments_are_one_sentence(tmp_path, capsys):
    out = ["--output", str(tmp_path / "o")]
    for words, said in (
        ([], "give --output DIR, or --records DIR"),
        ([*out, "--robots", "0"], "--robots 0: must be from 1 to 1000"),
        ([*out, "--seed", "1", "-2"], "--seed -2: must be from 0"),
        (["--records", str(tmp_path), "--control"], "--control: give --output DIR"),
        ([*out, "--tasks", "cleen"], "tasks = 'cleen': must be of clean"),
        ([*out, "--estimator", "mine"], "estimator = 'mine': must be FILE.py:function, or of"),
        ([*out, "--estimator", f"absent{EXAMPLE.suffix}:f"], "there is no file absent"),
        ([*out, "--estimator", f"{EXAMPLE}:other"], "the file has no function 'other'"),
    ):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1


def test_the_pages_have_a_place_for_each_file_of_a_run():
    docs = EXAMPLE.parents[1] / "docs"
    if not docs.exists():
        pytest.skip("installed without the documentation")
    made = runpy.run_path(str(docs / "leaderboard.py"))
    for name, (_, place) in made["PLACES"].items():
        page = (docs / place).read_text()
        once = made["filled"](page, name, "new words\n")
        assert "new words" in once and made["filled"](once, name, "new words") == once
