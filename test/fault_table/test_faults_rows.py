# SPDX-License-Identifier: Apache-2.0
"""The fault table as tests. All of it is `./diffbot faults`; here it is kept short.

Ident and the backstepping controller, and velocity tracking where it is attacked, take turns in
meeting the faults on the ideal engine and, the key ones, on MuJoCo; the other nodes meet what these
do not have. Saturation lasts seconds, not minutes.
"""

import math

import pytest

pytest.importorskip("rclpy")

from faults.row import Outcome, Promise, Row, problems
from faults.rows import parameters, saturation
from faults.rows.making import EVERYWHERE, NO_ENGINE, PHYSICS
from faults.rows.wheels import flipped
from faults.scene import BACKSTEP, FAULT, IDENT, LINEARIZING, TRACKING, Scene
from faults.table import IN_PROCESS, chosen

FIRST = (IDENT.name, BACKSTEP.name, TRACKING.name)
# Rows that take long: they have tests of their own, or of the package that reads the files.
LONG = ("two minutes", "each parameter", "each number of a robot's file")
# Where it matters how the wheels move.
ON_MUJOCO = ("Silence", "Wheels")
# The same as another row, but mirrored, less or more.
SIMILAR = (
    *("right wheel missing", "10 % of the states", "states 200 ms late", "as 16-bit counts"),
    *("30 % smaller", "30 % wider", "stamps 0.5 s back from", "one stamp 10 s ahead"),
    *("50 % of the states", "states 20 ms late", "released, latched", "what is not used"),
    *("JointState, each value of angles: ", "1 value", "1.6 m apart"),
)
# A second source arrives in the run, is there from the start, or is merged with the first one.
ARRIVALS = ("", ", from the start", ", merged by a relay")


def _left_out(row, kinds):
    """Whether a kind of second source is tried here with another one of its arrivals."""
    if row.group != "Two sources":
        return False
    name = row.name.rpartition(": ")[0]
    arrival = max(index for index, text in enumerate(ARRIVALS) if name.endswith(text))
    kind = kinds.setdefault(name.removesuffix(ARRIVALS[arrival]), len(kinds))
    return (kind + arrival) % 3 != 0


def _short():
    """Rows and engines that are tried here."""
    nodes, kinds = {}, {}
    for row in IN_PROCESS:
        kind, _, node = row.name.rpartition(": ")
        nodes.setdefault((row.group, kind), []).append(node)
    for row, engine in chosen(IN_PROCESS):
        kind, _, node = row.name.rpartition(": ")
        if any(text in row.name for text in (*LONG, *SIMILAR)) or _left_out(row, kinds):
            continue
        names = nodes[row.group, kind]
        tried = [name for name in FIRST if name in names] or names[:1]
        turn = list(nodes).index((row.group, kind))
        if engine == "mujoco" and (row.engines != EVERYWHERE or row.group not in ON_MUJOCO):
            continue
        if node != tried[turn % len(tried)]:
            continue
        yield pytest.param(row, engine, id=f"{row.group}: {row.name}, {engine}".replace(" ", "_"))


@pytest.mark.parametrize(("row", "engine"), list(_short()))
def test_the_promise_is_kept(row, engine):
    verdict = row.judged(engine)
    assert verdict.passed, verdict.problems


@pytest.mark.parametrize("name", [*FIRST, "effort_watchdog"])
def test_nan_in_any_parameter_is_refused(name):
    outcome = parameters.refused(name, parameters.VALUES[:1])
    assert not problems(Promise.REFUSES, outcome)


def test_an_integral_does_not_wind_up():
    outcome = saturation.saturated(LINEARIZING, "ideal", 4.0)
    assert not problems(Promise.DRIVES_ON, outcome)


def test_names_are_unique_and_every_engine_has_the_key_rows():
    names = [(row.group, row.name) for row in IN_PROCESS]
    assert len(names) == len(set(names))
    used = {engine for row in IN_PROCESS for engine in row.engines}
    assert used == {*PHYSICS, "gazebo", NO_ENGINE}


GOOD = Outcome(0.05, 0.5, 1.0)


@pytest.mark.parametrize(
    ("promise", "outcome", "text"),
    [
        (Promise.ZERO, Outcome(0.1001, 0.5, 1.0), "zero after 100.1 ms, limit 100 ms"),
        (Promise.ZERO, Outcome(None, 0.5, 1.0), "never got zero"),
        (Promise.ZERO, Outcome(math.nan, 0.5, 1.0), "zero after nan"),
        (Promise.ZERO, Outcome(-0.01, 0.5, 1.0), "zero after -10 ms"),
        (Promise.ZERO, Outcome(0.05, 1.001, 1.0), "worst torque 1.001 N m, limit 1 N m"),
        (Promise.DRIVES_ON, Outcome(None, math.nan, 1.0), "worst torque nan"),
        (Promise.DRIVES_ON, Outcome(None, 0.5, math.nan), "measures nothing"),
        (Promise.DRIVES_ON, Outcome(None, 0.5, 1.0, ("it fell over",)), "it fell over"),
        (Promise.REFUSES, Outcome(None, 1e-9, 1.0), "nothing may be commanded"),
    ],
)
def test_the_judge_finds_what_is_broken(promise, outcome, text):
    assert any(text in problem for problem in problems(promise, outcome))
    assert not problems(Promise.ZERO, GOOD)


def test_a_row_that_raises_fails_and_says_so():
    def broken(engine):
        raise KeyError(engine)

    verdict = Row("group", "name", Promise.ZERO, PHYSICS, broken).judged("ideal")
    assert not verdict.passed and "KeyError: 'ideal'" in verdict.problems[0]


def test_a_node_that_does_not_stop_fails_its_row(monkeypatch):
    """The nodes' watch taken out: the row notices."""
    with Scene(BACKSTEP, "ideal") as scene:
        scene.advance(11.0)
        monkeypatch.setattr(scene.member.node.loop, "_fall_silent", lambda why: None)
        scene.robot.driver = lambda message: ()
        scene.advance(11.3)
        outcome = scene.zero(11.0, 11.3)
    assert "the wheels never got zero" in problems(Promise.ZERO, outcome)


@pytest.mark.parametrize("composed", [False, True])
def test_a_simulated_robot_that_contradicts_its_torque_ends_the_run(composed):
    """Nobody mends its wheels; a real robot waits for a person."""
    with Scene(IDENT, "ideal", composed=composed) as scene:
        scene.advance(FAULT)
        scene.robot.motor = flipped
        scene.advance(FAULT + 0.5)
        assert scene.robot.kept == (0.0, 0.0)
        assert scene.member.status == (1 if composed else None), scene.last_words()
        assert scene.member.said("both wheels turn against their torque")
