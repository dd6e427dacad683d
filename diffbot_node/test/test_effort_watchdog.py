# SPDX-License-Identifier: Apache-2.0
"""The watchdog passes what is fit, as it came, and says zero otherwise."""

import ast
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffbot_node
from diffbot_node.effort_watchdog import ZERO, EffortWatchdog, WatchdogState

LIMIT, RATE, TIMEOUT, JITTER = 5.0, 100.0, 0.1, 0.02
PERIOD = 0.01


def watchdog(**settings):
    return EffortWatchdog(LIMIT, RATE, jitter=JITTER, **settings)


def driving(torque=(0.2, -0.2), now=10.0):
    """A watchdog through which a torque passes, its last command at this time."""
    made = watchdog()
    assert made.command(now, torque) == torque
    return made


numbers = st.floats(allow_nan=True, allow_infinity=True) | st.floats(-6.0, 6.0)
# Commands as they may come, and None for a look; each with the time since the last, s.
said = st.none() | st.lists(numbers, max_size=3) | st.lists(numbers, min_size=2, max_size=2)
calls = st.lists(st.tuples(st.floats(-0.2, 0.3) | st.just(PERIOD), said), max_size=30)


@given(calls)
def test_nothing_but_the_command_or_zero_and_never_beyond_the_limit(sequence):
    subject, now, wheels = watchdog(), 100.0, ZERO
    newest = -math.inf
    for step, values in sequence:
        now += step
        if values is None:
            said = subject.look(now)
        else:
            said = subject.command(now, values)
            newest = now
            assert said in (ZERO, tuple(values))
        wheels = wheels if said is None else said
        assert all(math.isfinite(torque) and abs(torque) <= LIMIT for torque in wheels)
        # Whoever looks finds zero on the wheels after the timeout, or a clock that was set back.
        if not 0.0 <= now - newest <= TIMEOUT:
            assert wheels == ZERO
        assert subject.passed == wheels
        assert (subject.reason == "") == (subject.state is WatchdogState.PASSING)
        assert wheels == ZERO or subject.state is WatchdogState.PASSING


@given(st.lists(st.tuples(st.floats(0.0, 0.05), st.floats(-6.0, 6.0)), max_size=20))
def test_no_torque_passes_faster_than_the_rate_and_the_jitter_allow(sequence):
    subject, now = watchdog(), 100.0
    passed = [(now, 0.0)]
    for step, torque in sequence:
        now += step
        said = subject.command(now, (torque, torque))
        passed.append((now, said[0]))
    for first, (start, low) in enumerate(passed):
        for end, high in passed[first + 1 :]:
            if low * high < 0.0 or high == 0.0:
                break  # zero is free, and what follows is measured from there
            span = end - start + (TIMEOUT if low == 0.0 else 0.0)
            assert abs(high) - abs(low) <= RATE * (span + JITTER) + 1e-9


@given(
    st.lists(st.floats(-LIMIT, LIMIT), min_size=1, max_size=20),
    st.lists(st.floats(0.0, 0.019), min_size=20, max_size=20),
)
def test_a_limited_controller_passes_whatever_it_wants(wanted, lateness):
    # Rate-limited in size, in order, each late by less than the jitter.
    subject, torque, now = watchdog(), 0.0, 10.0
    assert subject.command(now, ZERO) == ZERO
    for count, (want, late) in enumerate(zip(wanted, lateness, strict=False)):
        step = RATE * PERIOD
        torque = max(torque - step, min(torque + step, want))
        pair = (torque, -torque)
        now = max(now, 10.01 + PERIOD * count + late)
        assert subject.command(now, pair) == pair
    assert subject.trips == 0


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ((), "command of 0 values: must be 2 torques"),
        ((0.1,), "command of 1 values"),
        ((0.1, 0.1, 0.1), "command of 3 values"),
        ((math.nan, 0.0), r"torque [nan, 0.0] N m: must be finite"),
        ((0.0, -math.inf), "must be finite"),
        ((math.inf, 0.0), "must be finite"),
        ((5.0000001, 0.0), "limit 5 N m; lower the controller's torque_limit"),
        ((0.0, -5.1), "torque [0.0, -5.1] N m: limit 5 N m"),
        ((4.0, 0.0), "changed by 3.8 N m in 0.01 s: limit 100 N m/s with 0.02 s to spare"),
        ((0.2, 3.0), "changed by 3.2 N m"),
    ],
)
def test_an_unfit_command_becomes_zero_and_says_why(values, says):
    subject = driving()
    assert subject.command(10.01, values) == ZERO
    assert says in subject.reason and "until commands begin within 0.25 N m" in subject.reason
    assert (subject.state, subject.trips, subject.passed) == (WatchdogState.TRIPPED, 1, ZERO)


def test_a_command_for_another_robot_becomes_zero_and_says_why():
    subject = driving()
    assert subject.command(10.0 + PERIOD, (0.2, -0.2), unfit="4 values for 2 joints") == ZERO
    assert subject.state is WatchdogState.TRIPPED and "4 values for 2 joints" in subject.reason


def test_after_a_trip_commands_pass_from_near_zero_on():
    subject = driving()
    subject.command(10.01, (math.nan, 0.0))
    reason = subject.reason
    assert subject.command(10.02, (0.2, 0.2500001)) == ZERO
    assert subject.command(10.03, (-0.2500001, 0.2)) == ZERO
    assert (subject.reason, subject.trips) == (reason, 1)
    assert subject.command(10.04, (0.25, -0.25)) == (0.25, -0.25)
    assert (subject.reason, subject.state) == ("", WatchdogState.PASSING)
    assert subject.command(10.05, (1.2, -1.2)) == (1.2, -1.2)


def test_what_is_refused_after_a_trip_leaves_its_reason_and_its_time_alone():
    subject = driving()
    subject.command(10.01, (math.nan, 0.0))
    reason = subject.reason
    for _ in range(5):
        assert subject.command(10.01, (4.0, 4.0)) == ZERO
    assert subject.reason == reason
    assert subject.command(10.02, (0.1, 0.1)) == (0.1, 0.1)
    assert subject.command(10.02, (1.9, 1.9)) == (1.9, 1.9)


def test_who_begins_beyond_near_zero_is_told_so():
    subject = watchdog()
    assert "no command received yet; start a controller" in subject.reason
    assert subject.command(10.0, (0.3, 0.0)) == ZERO
    assert "commands begin with torque [0.3, 0.0] N m" in subject.reason
    assert (subject.state, subject.trips) == (WatchdogState.TRIPPED, 1)


def test_silence_ends_a_torque_at_the_timeout_and_needs_a_new_beginning():
    subject = driving((0.2, 0.2), now=10.0)
    assert subject.look(10.0) is None
    assert subject.look(10.0625) is None and subject.passed == (0.2, 0.2)
    assert subject.look(10.0 + TIMEOUT + 1e-6) == ZERO
    assert (subject.state, subject.trips, subject.passed) == (WatchdogState.SILENT, 1, ZERO)
    assert "no command for 0.100 s, limit 0.1 s" in subject.reason
    assert subject.look(10.3) is None  # said once
    assert subject.command(10.4, (0.3, 0.3)) == ZERO
    assert (subject.state, subject.trips) == (WatchdogState.TRIPPED, 2)
    assert subject.command(10.41, (0.1, 0.0)) == (0.1, 0.0)


def test_an_age_of_exactly_the_timeout_is_not_old():
    subject = EffortWatchdog(LIMIT, RATE, timeout=0.125)
    subject.command(8.0, (0.2, 0.2))
    assert subject.look(8.125) is None
    assert subject.look(8.126) == ZERO


def test_silence_counts_even_when_nobody_looked():
    subject = driving((0.2, 0.2), now=10.0)
    assert subject.command(10.11, (0.3, 0.3)) == ZERO
    assert subject.trips == 2  # of the silence, and of the torque that goes on after it


def test_after_a_zero_of_its_own_a_controller_may_be_silent_and_go_on():
    subject = watchdog()
    subject.command(10.0, (0.2, 0.2))
    subject.command(10.01, ZERO)
    assert subject.look(10.2) == ZERO
    assert (subject.state, subject.trips) == (WatchdogState.SILENT, 0)
    # Up to what the rate allows in the timeout, however long the silence was.
    assert subject.command(99.0, (4.9, 0.0)) == (4.9, 0.0)
    assert subject.state is WatchdogState.PASSING


def test_the_time_of_silence_saves_up_to_the_timeout():
    subject = EffortWatchdog(LIMIT, 20.0, jitter=JITTER)  # 2.4 N m in timeout and jitter
    subject.command(10.0, ZERO)
    assert subject.command(99.0, (2.3, 0.0)) == (2.3, 0.0)
    subject = EffortWatchdog(LIMIT, 20.0, jitter=JITTER)
    subject.command(10.0, ZERO)
    assert subject.command(99.0, (2.5, 0.0)) == ZERO


def test_a_clock_set_back_counts_as_old():
    subject = driving(now=10.0)
    assert subject.look(9.9999) == ZERO and subject.trips == 1
    subject = driving(now=10.0)
    assert subject.command(5.0, (0.3, 0.3)) == ZERO
    assert subject.command(5.01, (0.1, 0.1)) == (0.1, 0.1)  # and it goes on from there


def test_before_a_clock_is_heard_nothing_is_old_or_too_fast():
    subject = watchdog()
    assert subject.command(0.0, (0.2, 0.2)) == (0.2, 0.2)
    for torque in (4.9, -4.9, 4.9):
        assert subject.command(0.0, (torque, torque)) == (torque, torque)
    assert subject.look(5.0) is None  # its age begins with the clock
    assert subject.look(5.09) is None
    assert subject.look(5.101) == ZERO


def test_the_first_command_needs_no_clock_to_have_been_read_before():
    # 5 N m/s: the smallest beginning near zero takes 50 ms, more than is saved.
    subject = EffortWatchdog(LIMIT, 5.0, jitter=JITTER)
    assert subject.command(0.5, (0.25, 0.25)) == (0.25, 0.25)


def test_a_change_that_takes_just_the_time_there_is_passes():
    subject = EffortWatchdog(LIMIT, 1.0, timeout=0.5, jitter=0.125)
    subject.command(8.0, ZERO)
    assert subject.command(8.125, (0.25, 0.0)) == (0.25, 0.0)


def test_the_rate_holds_over_time_and_commands_that_come_together_are_spared():
    subject = driving((0.0, 0.0), now=10.0)
    # Three that come at once, each a period's worth: two live on what was saved.
    assert subject.command(10.01, (1.0, 0.0)) == (1.0, 0.0)
    assert subject.command(10.01, (2.0, 0.0)) == (2.0, 0.0)
    assert subject.command(10.01, (2.99, 0.0)) == (2.99, 0.0)
    assert subject.command(10.01, (3.01, 0.0)) == ZERO
    subject.command(10.02, (0.1, 0.0))
    # What is saved is the jitter at most, however little was changed for long.
    for count in range(50):
        assert subject.command(10.03 + 0.01 * count, (0.1, 0.0)) == (0.1, 0.0)
    assert subject.command(10.53, (3.2, 0.0)) == ZERO


def test_zero_is_never_too_fast_and_costs_nothing():
    subject = driving((0.0, 0.0), now=10.0)
    for count in range(1, 8):
        torque = (1.9, 1.9) if count % 2 else ZERO
        assert subject.command(10.0 + 0.01 * count, torque) == torque


def test_one_wheel_that_stops_is_measured_too():
    subject = driving((0.0, 0.0), now=10.0)
    for count in range(1, 6):
        subject.command(10.0 + 0.01 * count, (float(count), -float(count)))
    assert subject.command(10.06, (0.0, -5.0)) == ZERO
    assert "changed by 5 N m" in subject.reason


def test_it_tells_that_it_holds_as_long_as_commands_do_not_pass():
    subject = driving()
    assert not subject.holds
    subject.command(10.01, (math.nan, 0.0))
    assert subject.holds
    subject.command(10.02, (0.4, 0.0))
    assert subject.holds
    subject.command(10.03, ZERO)
    assert not subject.holds
    assert subject.look(11.0) == ZERO and not subject.holds  # nothing comes


def test_who_holds_lets_nothing_pass_until_they_let_go():
    subject = driving()
    assert subject.hold("") is None and subject.state is WatchdogState.PASSING
    assert subject.hold("stop") == ZERO
    assert subject.hold("stop") is None  # said once
    assert (subject.state, subject.trips) == (WatchdogState.TRIPPED, 1)
    assert subject.command(10.01, (0.1, 0.1)) == ZERO
    assert subject.reason.startswith("stop; zero torque")
    assert subject.hold("") is None
    assert subject.command(10.02, (0.3, 0.1)) == ZERO
    assert subject.command(10.03, (0.1, 0.1)) == (0.1, 0.1)
    assert subject.hold("stop") == ZERO
    assert subject.hold("two") == ZERO
    assert subject.trips == 2


def test_defaults_are_what_the_description_says():
    subject = driving(now=10.0)
    assert subject.look(10.0999) is None and subject.look(10.1001) == ZERO
    for torque, passed in ((1.499, True), (1.501, False)):
        subject = EffortWatchdog(LIMIT, 50.0)
        assert subject.command(10.0, ZERO) == ZERO
        assert subject.command(10.0, (torque, 0.0)) == ((torque, 0.0) if passed else ZERO)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["limit", "rate", "timeout", "jitter"])
def test_bad_settings_are_refused_by_name(name, bad):
    settings = {"limit": 1.0, "rate": 1.0, "timeout": 1.0, "jitter": 1.0, name: bad}
    with pytest.raises(ValueError, match=f"{name} of the watchdog = {bad}: must be finite and > 0"):
        EffortWatchdog(**settings)


def test_it_shares_nothing_with_the_limiter_of_those_who_command():
    allowed = {"diagnostics", "effort_watchdog", "intra_process"}
    allowed |= {
        "parameter_fields",
        "parameters",
        "presence",
        "robot_messages",
        "stop_inputs",
        "topic_nodes",
    }
    folder = Path(diffbot_node.__file__).parent
    for name in ("effort_watchdog.py", "effort_watchdog_node.py"):
        tree = ast.parse((folder / name).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module]
            for module in modules:
                package, _, rest = module.partition(".")
                assert package != "diffbot_node" or rest in allowed, f"{name} imports {module}"
