# SPDX-License-Identifier: Apache-2.0
"""The stop state machine: every state and event, taken by the guard of the nodes, keeps S1 to S4.

`explored` walks breadth first from a new guard through every event, until no new pair of the
guard's state and what has happened (Happened) appears. It fails on a table in which any cell leads
to a state that may move the robot, or that forgets a stop.
"""

import runpy
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import pytest

from diffbot_node import stop_states
from diffbot_node.command_guard import CommandGuard, TorqueLimiter
from diffbot_node.stop_states import TRANSITIONS, GuardState, Sends, StopEvent, after

ROOT = Path(__file__).resolve().parents[2]
WANTED, ZERO = (0.5, -0.5), (0.0, 0.0)
STOPPING = (StopEvent.STOP, StopEvent.PRESS, StopEvent.END)


@dataclass(frozen=True)
class Happened:
    """What the events so far mean for the robot."""

    began: bool = False
    stopped: bool = False
    pressed: bool = False
    ended: bool = False
    answered: bool = False

    def then(self, event):
        if self.ended:
            return self
        free = not (self.stopped or self.pressed)
        answered = self.answered and event not in (StopEvent.REFUSAL, StopEvent.SILENCE, *STOPPING)
        return Happened(
            self.began or event is StopEvent.STATE,
            (self.stopped or event in (StopEvent.STOP, StopEvent.PRESS))
            and not (event is StopEvent.ENABLE and not self.pressed),
            (self.pressed or event is StopEvent.PRESS) and event is not StopEvent.RELEASE,
            event is StopEvent.END,
            answered or (event is StopEvent.ANSWER and free and self.began),
        )


def take(guard, event):
    """Tell a guard of an event as the parts of a node do."""
    return {
        StopEvent.STATE: guard.begin,
        StopEvent.ANSWER: lambda: guard.apply(WANTED, 0.01),
        StopEvent.REFUSAL: lambda: guard.hold("late"),
        StopEvent.SILENCE: lambda: guard.hold("nothing comes", silent=True),
        StopEvent.STOP: lambda: guard.stop("stop"),
        StopEvent.PRESS: lambda: guard.press("pressed"),
        StopEvent.RELEASE: guard.release,
        StopEvent.ENABLE: guard.enable,
        StopEvent.END: lambda: guard.end("over"),
    }[event]()


def check(guard, happened, path):
    """What goes out is what the events so far allow."""
    state, names = guard.state, [event.name for event in path]
    assert guard.began == happened.began, names
    assert guard.stopped == (happened.stopped and not happened.ended), names
    assert bool(guard.pressed) == happened.pressed or happened.ended, names
    assert guard.ended == happened.ended, names
    moves = happened.answered and not (happened.stopped or happened.ended)
    assert (state is GuardState.ACTIVE) == moves, names
    assert guard.command == (WANTED if moves else ZERO), names
    assert (guard.reason == "") == moves, names
    sends = {Sends.LAW} if moves else {Sends.ZERO}
    if not happened.began:
        sends = {Sends.ZERO_IF_ALONE} if happened.ended else {Sends.NOTHING}
    assert state.sends in sends, names


def explored():
    """Return every state and event that a guard can meet, checked."""
    seen, met = {(GuardState.WAITING, Happened())}, set()
    paths = deque([()])
    while paths:
        path = paths.popleft()
        for event in StopEvent:
            guard, happened = CommandGuard(TorqueLimiter(1.0)), Happened()
            for each in path:
                take(guard, each)
                happened = happened.then(each)
            met.add((guard.state, event))
            take(guard, event)
            happened = happened.then(event)
            check(guard, happened, (*path, event))
            if (guard.state, happened) not in seen:
                seen.add((guard.state, happened))
                paths.append((*path, event))
    return met


def test_every_state_and_event_keeps_the_promises():
    assert explored() == {(state, event) for state in GuardState for event in StopEvent}


@pytest.mark.parametrize("wrong", [GuardState.ACTIVE, GuardState.HOLDING, GuardState.WAITING])
def test_a_table_with_one_cell_that_moves_or_forgets_is_found(wrong, monkeypatch):
    # Silence may be called a refusal: zero goes out, until the next good state.
    same = {wrong, GuardState.SILENT} if wrong is GuardState.HOLDING else {wrong}
    cells = [(s, e) for s in GuardState for e in StopEvent if after(s, e) not in same]
    assert len(cells) > 60
    missed = []
    for state, event in cells:
        changed = {**TRANSITIONS, state: {**TRANSITIONS[state], event: wrong}}
        monkeypatch.setattr(stop_states, "TRANSITIONS", changed)
        try:
            explored()
        except AssertionError:
            continue
        missed.append((state.name, event.name))
    assert missed == []


def reached(start):
    """The states that some events lead to."""
    states, waiting = {start}, [start]
    while waiting:
        new = {after(waiting[0], event) for event in StopEvent} - states
        waiting = [*waiting[1:], *new]
        states |= new
    return states


def test_every_state_is_reached_and_leads_on_to_active_or_is_the_end():
    assert reached(GuardState.WAITING) == {*GuardState}
    for state in GuardState:
        assert GuardState.ACTIVE in reached(state) or reached(state) == {state}
        assert after(state, StopEvent.END).label == "ended"


def test_the_page_has_the_table():
    script = ROOT / "docs" / "stop_states.py"
    if not script.exists():
        pytest.skip("installed without the documentation")
    made = runpy.run_path(str(script))
    written = made["PAGE"].read_text(encoding="utf-8")
    assert written == made["page"](written), "run: ./diffbot python docs/stop_states.py"
