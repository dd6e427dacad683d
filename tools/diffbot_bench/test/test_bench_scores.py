# SPDX-License-Identifier: Apache-2.0
"""Scores: a wrong answer costs more than a refusal, and a refusal more than an honest answer."""

import json
import math

import numpy as np
import pytest

from diffbot_bench.answer_files import read_answers, write_answers
from diffbot_bench.leaderboard import Board, markdown
from diffbot_bench.scoring import REFUSAL, Interval, TaskAnswer, answer_of, score
from diffbot_bench.tasks import BenchTask, Record
from diffbot_description.command_kind import CommandKind

TRUTH = {"K5": 0.1, "K7": 2.0}


def task(name="lag 0", row="lag"):
    return BenchTask(row, Record(name, CommandKind.EFFORT, {}), TRUTH, TRUTH)


def cost(**values):
    return score([task()], {"lag 0": answer_of(values)}).cost


def test_honest_intervals_cost_less_than_refusals_and_these_less_than_wrong_ones():
    honest = cost(K5=(0.1001, 0.0995, 0.1005), K7=(2.001, 1.99, 2.01))
    assert honest == pytest.approx(0.01)
    assert cost() == REFUSAL
    wrong = cost(K5=(0.15, 0.149, 0.151), K7=(3.0, 2.99, 3.01))
    assert wrong == 1.0 and honest < REFUSAL < wrong


def test_the_honest_width_costs_least_in_the_mean():
    """Answers with an error of 1 %: intervals of 95 % cost less than half and twice their width."""
    errors = np.random.default_rng(4).normal(0.0, 0.01, 20_000)

    def mean_cost(width):
        half = 1.96 * 0.01 * width
        costs = [cost(K7=(2 * e, 2 * e - 2 * half, 2 * e + 2 * half)) for e in 1.0 + errors[:2000]]
        return float(np.mean(costs))

    assert mean_cost(1.0) < min(mean_cost(0.5), mean_cost(2.0))


def test_several_seeds_show_the_spread_of_the_cost():
    other = BenchTask("lag", Record("lag 0 seed 2", CommandKind.EFFORT, {}), TRUTH, TRUTH, seed=2)
    answers = {"lag 0": answer_of(TRUTH), "lag 0 seed 2": answer_of({})}
    both = score([task(), other], answers)
    assert both.cost_text == "0.200 ± 0.141"  # of 0.1 and 0.3
    assert score([task()], answers).cost_text == "0.100"


def test_a_value_without_interval_claims_five_per_cent():
    assert cost(K5=0.104, K7=2.0) == pytest.approx(0.1)
    assert cost(K5=0.2, K7=2.0) == pytest.approx(0.5 * (1.0 + 0.1))


def test_what_is_not_finite_is_refused_and_what_is_no_answer_is_named():
    assert cost(K5=math.nan, K7=(2.0, -math.inf, math.inf)) == REFUSAL
    for said, words in (
        ([1.0], "must be a mapping"),
        ({"K5": "0.1"}, "K5 = '0.1': must be a number"),
        ({"K5": (0.1, 0.2)}, "must be a number, or"),
        ({"K5": (0.1, 0.2, 0.0)}, "low must not be above high"),
    ):
        with pytest.raises(ValueError, match=words):
            answer_of(said)


def test_answers_of_other_programs_are_read_as_they_were_written(tmp_path):
    answers = {
        "lag 0": TaskAnswer({"K5": Interval(0.1, 0.09, 0.11), "K7": Interval(2.0)}, 0.5),
        "lag 1": TaskAnswer({}, 0.1, "refused"),
    }
    path = write_answers(tmp_path / "a.json", "theirs", answers)
    name, read = read_answers(path)
    assert (name, read) == ("theirs", answers)
    path.write_text(json.dumps({"estimator": "x", "answers": {"lag 0": {"values": {"K5": []}}}}))
    with pytest.raises(ValueError, match="answers.lag 0: K5 = "):
        read_answers(path)
    path.write_text("[]")
    with pytest.raises(ValueError, match="must hold 'estimator'"):
        read_answers(path)


def test_the_page_says_where_a_peer_is_better():
    tasks = [task(), task("clean 0", "clean")]
    good, wide = answer_of({"K5": (0.1, 0.0999, 0.1001)}), answer_of({"K5": (0.1, 0.09, 0.11)})
    own = {"lag 0": wide, "clean 0": good}
    board = Board(tasks, {"diffbot": own, "ols": {"lag 0": good, "clean 0": wide}}, "Seed 1.")
    (better,) = board.better()
    assert better.startswith("lag: ols costs")
    text = markdown(board)
    assert f"- {better}" in text and "nowhere" not in text
    alone = Board(tasks, {"diffbot": own}, "Seed 1.")
    assert alone.better() == [] and "nowhere in these tasks" in markdown(alone)
