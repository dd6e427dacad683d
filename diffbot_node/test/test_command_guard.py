# SPDX-License-Identifier: Apache-2.0
"""The guard of commanding nodes: the reasons that it gives, and the commands that it allows."""

import pytest

from diffbot_node.command_guard import CommandGuard, TorqueLimiter
from diffbot_node.stop_states import GuardState

ZERO = (0.0, 0.0)
WANTED = (0.5, -0.5)


@pytest.fixture
def guard():
    return CommandGuard(TorqueLimiter(1.0))


@pytest.fixture
def active(guard):
    guard.begin()
    assert guard.apply(WANTED, 0.01) == WANTED
    return guard


def test_it_waits_until_it_begins(guard):
    assert (guard.state, guard.began, guard.command) == (GuardState.WAITING, False, ZERO)
    assert guard.reason == "nothing received yet"
    guard.begin()
    assert (guard.state, guard.began, guard.command) == (GuardState.HOLDING, True, ZERO)
    assert guard.reason == "received the first state"


@pytest.mark.parametrize("silent", [True, False])
def test_it_holds_and_goes_on_from_zero_by_itself(active, silent):
    assert active.hold("a wheel is missing", silent) == ZERO
    assert active.state is (GuardState.SILENT if silent else GuardState.HOLDING)
    assert (active.reason, active.may_command) == ("a wheel is missing", True)
    assert active.apply(WANTED, 0.01) == WANTED
    assert (active.state, active.reason) == (GuardState.ACTIVE, "")


def test_a_command_that_is_refused_changes_no_state(active):
    with pytest.raises(ValueError, match="must be finite"):
        active.apply((float("nan"), 0.0), 0.01)
    assert active.state is GuardState.ACTIVE and active.command == ZERO


def test_only_enable_leads_out_of_stopped(active):
    assert active.stop("another node commands") == ZERO
    assert active.stop("a second reason") == ZERO
    active.begin()
    active.hold("silence", silent=True)
    assert active.apply(WANTED, 0.01) == ZERO
    assert (active.state, active.reason) == (GuardState.STOPPED, "another node commands")
    assert active.enable() == ""
    assert active.state is GuardState.HOLDING and active.reason.startswith("enabled")
    assert active.apply(WANTED, 0.01) == WANTED


def test_the_emergency_stop_keeps_it_stopped_until_released_and_enabled(active):
    assert active.press("the emergency stop is pressed") == ZERO
    assert active.enable() == "the emergency stop is pressed: release it first"
    assert active.state is GuardState.PRESSED and active.apply(WANTED, 0.01) == ZERO
    active.release()
    assert active.state is GuardState.STOPPED and active.pressed == ""
    released = "the emergency stop is pressed (released since); call ~/enable to continue"
    assert active.reason == released
    assert active.enable() == ""
    assert active.apply(WANTED, 0.01) == WANTED


def test_why_the_emergency_stop_counts_as_pressed_may_change(active):
    active.press("the emergency stop is pressed")
    active.press("two nodes publish it")
    assert active.reason == active.pressed == "two nodes publish it"
    active.release()
    assert active.reason == "two nodes publish it (released since); call ~/enable to continue"


def test_an_emergency_stop_does_not_hide_what_stopped_it_before(active):
    active.stop("a wheel is stuck")
    active.press("the emergency stop is pressed")
    active.release()
    assert active.reason == "a wheel is stuck"
    active.release()  # told twice
    assert active.reason == "a wheel is stuck" and active.enable() == ""


def test_nothing_leads_out_of_the_end(active):
    assert active.end("done") == ZERO
    active.end("again")
    active.hold("x")
    active.stop("x")
    active.press("x")
    active.release()
    active.begin()
    assert active.enable() == "done"
    assert active.apply(WANTED, 0.01) == ZERO
    assert (active.state, active.reason, active.command) == (GuardState.ENDED, "done", ZERO)


def test_the_newest_reason_for_zero_is_the_one_that_is_told(active):
    active.hold("a wheel is missing")
    active.hold("no state arrives", silent=True)
    assert (active.state, active.reason) == (GuardState.SILENT, "no state arrives")
    active.hold("still none", silent=True)
    assert active.reason == "still none" and active.may_command


@pytest.mark.parametrize("end", ["stop", "press", "end"])
def test_after_these_nothing_may_be_commanded(active, end):
    assert active.may_command
    getattr(active, end)("a reason")
    assert not active.may_command
