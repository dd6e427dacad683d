# SPDX-License-Identifier: Apache-2.0
"""Lock-step: whatever is late, lost, stands still or is killed, each state has its own answer.

`./diffbot python benchmarks/schedules.py --schedules 500` tries many more schedules.
"""

import pytest

from diffbot_node import command_loop
from diffbot_node.robot_messages import NOTHING, answers, effort_command, label, named_by
from faults.schedules import GRAPHS, disturbed, problem, undisturbed

# Schedules of each graph; a third of them kill somebody.
SEEDS = range(5)


@pytest.fixture(scope="module")
def wanted():
    return {graph: undisturbed(graph) for graph in GRAPHS}


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_run_that_nothing_disturbs_ends_well(wanted, graph):
    assert set(wanted[graph].statuses.values()) == {0}
    assert len(wanted[graph].applied) >= 50
    assert any(any(command) for _, command in wanted[graph].applied)


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_disturbed_run_is_driven_by_the_same_commands(wanted, graph):
    assert [problem(wanted[graph], disturbed(graph, seed)) for seed in SEEDS] == [""] * len(SEEDS)


def test_the_search_finds_answers_without_a_name(wanted, monkeypatch):
    """Without names a repeated answer counts for the next state, and the torques differ."""
    monkeypatch.setattr("diffbot_sim.paced_simulator.answers", lambda named, stamp: True)
    run = wanted["backstepping"]
    assert any(problem(run, disturbed("backstepping", seed)) for seed in range(8))


def test_the_search_finds_answers_that_are_said_once(wanted, monkeypatch):
    monkeypatch.setattr(command_loop.CommandOutput, "answer_again", lambda self: None)
    run = wanted["backstepping"]
    assert any(problem(run, disturbed("backstepping", seed)) for seed in range(12))


@pytest.mark.parametrize("stamp", [0.0, 0.01, 123.456789, 1.7e9])
def test_a_command_names_the_state_that_it_answers(stamp):
    message = effort_command()
    assert not answers(named_by(message), stamp)
    message.layout.dim[0].label = label(stamp)
    assert named_by(message) == pytest.approx(stamp, abs=1e-6)
    assert answers(named_by(message), stamp)
    assert not answers(named_by(message), stamp + 0.002)
    assert answers(None, stamp)
    assert not answers(NOTHING, stamp)
