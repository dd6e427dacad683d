# SPDX-License-Identifier: Apache-2.0
"""When a run is over, and how it ended."""

import pytest

from diffbot_report.run_end import Ending, NodeState, Outcome, RunEnd, RunPhase

SECOND = 1_000_000_000  # ns
STAMP = 10 * SECOND  # of a result that is as new as the state


def status(phase, time=10.0, message="", elapsed=5.0, duration=60.0):
    return NodeState(round(time * SECOND), RunPhase(phase), message, elapsed, duration)


def ending_after(end, wait, *state, **more):
    """Ask at once and after the wait; returns the two endings."""
    return end.update(100.0, *state, **more), end.update(100.0 + wait, *state, **more)


def test_goes_on_while_exciting():
    assert ending_after(RunEnd(), 1e4, status("exciting"), STAMP, 2) == (None, None)


def test_waits_for_an_ident_node_that_was_never_there():
    assert ending_after(RunEnd(), 1e4, None, None, 0) == (None, None)


def test_done_with_the_last_estimate():
    ending = RunEnd().update(100.0, status("done"), STAMP, 2)
    assert (ending.outcome, ending.reason) == (Outcome.COMPLETED, "")


@pytest.mark.parametrize("newest", [None, 9_990_000_000])
def test_done_waits_a_second_for_the_last_estimate(newest):
    end = RunEnd()
    assert ending_after(end, 0.9, status("done"), newest, 0) == (None, None)
    assert end.update(101.01, status("done"), newest, 0).outcome is Outcome.COMPLETED


def test_stopped_by_an_error():
    now, later = ending_after(RunEnd(), 0.31, status("stopped", message="no joint state"), STAMP, 2)
    assert now is None
    assert (later.outcome, later.reason) == (Outcome.FAILED, "no joint state")


def test_stopped_by_a_signal_that_only_ident_got():
    _, later = ending_after(RunEnd(), 0.31, status("stopped", message="interrupted"), STAMP, 2)
    assert later.outcome is Outcome.STOPPED


@pytest.mark.parametrize(
    ("state", "publishers", "outcome"),
    [
        (None, 2, "stopped"),
        (None, 0, "failed"),
        (status("exciting"), 2, "stopped"),
        (status("exciting"), 0, "failed"),
        (status("stopped", message="interrupted"), 0, "stopped"),
        (status("stopped", message="yaw rate 9 rad/s is beyond the limit"), 2, "failed"),
        (status("done"), 0, "completed"),
    ],
)
def test_a_signal_is_the_users_unless_the_ident_node_failed(state, publishers, outcome):
    ending = RunEnd().interrupted(100.0, state, publishers)
    assert ending.outcome is Outcome(outcome)


@pytest.mark.parametrize(
    ("state", "outcome", "reason"),
    [
        (status("exciting"), "failed", "simulator-1 (exit code -9) ended before the run did"),
        (status("stopped", message="interrupted"), "failed", "simulator-1 (exit code -9) ended"),
        (status("stopped", message="yaw rate 9 rad/s"), "failed", "yaw rate 9 rad/s"),
        (status("done"), "completed", ""),
        (None, "failed", "simulator-1 (exit code -9) ended"),
    ],
)
def test_a_signal_of_a_launch_that_has_failed(state, outcome, reason):
    failures = ["simulator-1 (exit code -9)"]
    ending = RunEnd().interrupted(100.0, state, 2, failures)
    assert ending.outcome is Outcome(outcome) and ending.reason.startswith(reason)


def test_what_failed_says_why_where_it_has_said_so():
    failures = ["ident-2 (exit code 1): arena: 3 m is too small", "simulator-1 (exit code -9)"]
    assert RunEnd().interrupted(100.0, None, 0, failures, reported=True).reason == (
        "ident-2 (exit code 1), simulator-1 (exit code -9) ended before the run did: "
        "arena: 3 m is too small"
    )


def test_what_the_launch_says_of_itself_stays_a_sentence():
    failures = ["the launch's guard has been killed"]
    assert RunEnd().interrupted(100.0, status("exciting"), 2, failures).reason == failures[0]


def test_the_cause_is_what_failed_first_and_not_what_ended_because_of_it():
    refused = "simulator-1 (exit code 1): parameter 'payload' refused at 0.5 s"
    gone = "ident-2 (exit code 1): the simulator has ended"
    state = status("stopped", message="the simulator has ended")
    end = RunEnd()
    reported = end.interrupted(100.0, state, 2, [refused, gone], reported=True)
    _, alone = ending_after(end, 0.31, state, STAMP, 2)
    assert alone.reason == "the simulator has ended"
    assert end.explained(alone, [refused, gone]) == reported
    assert reported.reason.partition(": ")[2].startswith("parameter 'payload' refused")
    for known in ([], [gone, refused], ["simulator-1 (exit code -9)"]):
        assert end.explained(alone, known) == alone
    done = Ending(Outcome.COMPLETED)
    assert end.explained(done, [refused]) == done


@pytest.mark.parametrize(("reported", "outcome"), [(True, "stopped"), (False, "failed")])
def test_a_signal_before_the_node_said_anything(reported, outcome):
    """Ctrl-C reaches both: where a launch tells of failures and knows none, it was the user's."""
    ending = RunEnd().interrupted(100.0, None, 0, reported=reported)
    assert ending.outcome is Outcome(outcome)
    failed = RunEnd().interrupted(100.0, None, 0, ["ident-2 (exit code 1)"], reported=reported)
    assert failed.outcome is Outcome.FAILED


@pytest.mark.parametrize(("reported", "outcome"), [(True, "stopped"), (False, "failed")])
@pytest.mark.parametrize("silent", [True, False])
def test_a_last_status_that_got_lost_fails_no_run_of_which_the_launch_knows_no_failure(
    reported, outcome, silent
):
    """The node ends properly after Ctrl-C; on a busy machine its last message may not arrive."""
    ending = RunEnd().interrupted(100.0, status("exciting"), 0, silent=silent, reported=reported)
    assert ending.outcome is Outcome(outcome)
    failed = RunEnd().interrupted(
        100.0, status("exciting"), 0, ["ident-2 (exit code -9)"], reported=reported
    )
    assert failed.outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("phase", "outcome"),
    [("exciting", "failed"), ("driving", "failed"), ("waiting", "stopped"), ("done", "completed")],
)
def test_a_node_that_says_nothing_after_a_signal_was_killed_or_hangs(phase, outcome):
    ending = RunEnd().interrupted(100.0, status(phase), 2, silent=True)
    assert ending.outcome is Outcome(outcome)
    assert outcome != "failed" or "sent nothing more" in ending.reason


def test_an_end_waits_while_more_comes_but_not_for_ever():
    end = RunEnd()
    for tenth in range(99):
        now = 100.0 + 0.1 * tenth
        assert end.update(now, status("done"), 9 * SECOND, 1, received=now) is None
    assert (
        end.update(110.1, status("done"), 9 * SECOND, 1, received=110.1).outcome
        is Outcome.COMPLETED
    )


def test_vanished():
    end = RunEnd()
    assert end.update(99.0, status("exciting"), STAMP, 2) is None
    now, later = ending_after(end, 0.31, status("exciting"), STAMP, 0)
    assert now is None
    assert later.outcome is Outcome.FAILED
    assert "5.0 s of 60.0 s" in later.reason


def test_vanished_before_a_word():
    end = RunEnd()
    end.update(99.0, None, None, 1)
    assert ending_after(end, 0.31, None, None, 0)[1].outcome is Outcome.FAILED


def test_vanished_at_the_end_is_complete():
    """The last status may be lost with its publisher; the time it had run is known."""
    end = RunEnd()
    end.update(99.0, status("exciting"), STAMP, 2)
    last = status("exciting", elapsed=59.98)
    assert ending_after(end, 0.31, last, STAMP, 0)[1].outcome is Outcome.COMPLETED


def test_vanished_while_verifying_is_a_failure():
    end = RunEnd()
    end.update(99.0, status("exciting"), STAMP, 2)
    last = status("verifying", elapsed=65.0)
    assert ending_after(end, 0.31, last, STAMP, 0)[1].outcome is Outcome.FAILED


def test_a_publisher_that_comes_back_resets_the_wait():
    end = RunEnd()
    end.update(99.0, status("exciting"), STAMP, 2)
    assert end.update(100.0, status("exciting"), STAMP, 0) is None
    assert end.update(100.2, status("exciting"), STAMP, 2) is None
    assert end.update(100.4, status("exciting"), STAMP, 0) is None
