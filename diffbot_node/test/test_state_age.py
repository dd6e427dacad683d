# SPDX-License-Identifier: Apache-2.0
"""Which stamps may be answered, and what is said of the others."""

import re

import pytest

from diffbot_node import state_age
from diffbot_node.state_age import LONGEST_PAUSE, StateAge, StateClock
from diffbot_node.verdicts import GOOD

LIMIT = 0.08


def taken(*stamps_and_clocks):
    age = StateAge(LIMIT, "joint state")
    for stamp, now in stamps_and_clocks:
        age.take(stamp, now)
    return age


def test_before_the_first_stamp_nothing_is_known_and_nothing_wrong():
    age = StateAge(LIMIT)
    assert (age.newest, age.period, age.problem, age.same_clock) == (None, 0.0, "", None)


def test_the_first_stamp_has_no_period():
    age = taken((5.0, 5.001))
    assert (age.newest, age.period, age.problem, age.same_clock) == (5.0, 0.0, "", True)


def test_the_period_is_that_between_stamps_not_between_arrivals():
    age = taken((5.0, 5.001), (5.01, 5.05))
    assert age.period == pytest.approx(0.01) and age.problem == ""


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ((4.9, 5.0), "0.100 s before the last one: stamps must increase"),
        (
            (5.09, 5.09),
            "no joint state for 0.090 s by the stamps .the last one: 5.000 s.,",
        ),
        ((15.0, 15.0), "no joint state for 10.000 s"),
        ((5.01, 5.10), "a joint state arrived 0.090 s after its stamp, limit 0.08 s"),
    ],
)
def test_odd_stamps_are_not_answered_and_the_next_one_is(second, words):
    age = taken((5.0, 5.0), second)
    assert age.period == 0.0
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(age.problem)
    stamp, now = second
    age.take(stamp + 0.01, stamp + 0.01)
    assert age.problem == "" and age.period == pytest.approx(0.01)
    assert age.newest == stamp + 0.01


@pytest.mark.parametrize("edge", [0.0625])  # a power of two: no rounding
def test_the_limits_themselves_are_allowed(edge):
    age = StateAge(edge)
    age.take(5.0, 5.0)
    age.take(5.0 + edge, 5.0 + 2 * edge)
    assert age.problem == "" and age.period == edge
    age.take(5.0 + edge, 5.0 + 2 * edge)
    assert age.problem == "" and age.period == 0.0


def test_stamps_from_the_future_are_answered():
    # A clock that is told at a low rate lags behind.
    assert taken((5.1, 5.0), (5.11, 5.0)).problem == ""


def test_without_a_common_clock_a_state_is_as_old_as_it_is_later_than_others():
    first = (5.0, 1.7e9)
    assert taken(first, (5.01, 1.7e9 + 0.09)).problem == ""
    age = taken(first, (5.01, 1.7e9 + 0.095))
    assert age.same_clock is False
    assert "arrived 0.0" in age.problem and "later after its stamp than others" in age.problem
    assert age.period == 0.0


def test_the_least_delay_counts_not_the_first_one():
    late, soon = (5.0, 1000.05), (5.01, 1000.02)
    assert taken(late, soon, (5.02, 1000.1)).problem == ""
    assert "s later after its stamp than" in taken(late, soon, (5.02, 1000.12)).problem


def test_a_driver_whose_clock_steps_ahead_cannot_hide_that_its_states_are_late():
    age = taken((5.0, 5.0), (10.01, 5.01), (10.02, 5.02))
    assert age.problem == ""
    age.take(10.03, 5.13)
    assert "s later after its stamp than" in age.problem


def test_a_driver_that_begins_anew_is_answered_from_the_second_state_on():
    age = taken((5000.0, 10.0), (0.0, 20.0))
    assert "before the last one" in age.problem
    age.take(0.01, 20.01)
    assert age.problem == "" and age.period == pytest.approx(0.01)


def test_clocks_may_drift_apart():
    """By 2 % over 200 s, 4 s in all; twice the share that is allowed is late in the end."""
    for drift, late in ((0.02, False), (-0.02, False), (0.06, True)):
        age = StateAge(LIMIT)
        for step in range(5000):
            now = 0.04 * step
            age.take(now * (1.0 - drift) + 100.0, now)
        assert bool(age.problem) is late


def test_of_a_simulator_s_clock_only_the_age_is_known():
    age = StateAge(LIMIT)
    age.take(5.0, 4.9, True)
    age.take(5.01, 5.01, True)  # the clock's message was on its way for 0.1 s
    assert age.problem == "" and age.period == pytest.approx(0.01)
    for step in range(2, 12):
        age.take(5.0 + 0.01 * step, 5.01, True)
        assert age.problem == "" and age.period == pytest.approx(0.01)
    age.take(5.12, 5.3, True)
    assert "arrived 0.180 s after its stamp" in age.problem


def test_states_that_come_together_do_not_make_commands_change_faster():
    """Five states 10 ms apart come at once: the first one, and three periods are saved."""
    age = taken((5.0, 5.0), (5.01, 5.01))
    granted = []
    for step in range(2, 7):
        age.take(5.0 + 0.01 * step, 5.06)
        assert age.problem == ""
        granted.append(age.period)
    assert granted == pytest.approx([0.01, 0.01, 0.01, 0.01, 0.0])
    age.take(5.07, 5.065)
    assert age.period == pytest.approx(0.005)


def test_stamps_that_run_faster_than_the_clock_do_not_make_commands_change_faster():
    age, granted = StateAge(LIMIT), 0.0
    for step in range(500):
        age.take(0.06 * step, 0.01 * step)
        granted += age.period
        assert age.problem == ""
    assert granted == pytest.approx(4.99 + 0.03)


def test_a_clock_that_goes_back_gives_no_time():
    age = taken((5.0, 5.0), (5.01, 4.0))
    assert age.period == pytest.approx(0.01)
    for step in range(2, 5):
        age.take(5.0 + 0.01 * step, 4.0)
    assert age.period == 0.0


def test_whether_clocks_agree_is_told_by_the_first_stamp_alone():
    age = taken((5.0, 5.999), (5.01, 7.0))
    assert age.same_clock is True and "arrived 1.990 s after its stamp" in age.problem
    assert taken((5.0, 6.0)).same_clock is False
    assert taken((6.0, 5.0)).same_clock is False


class Clocks:
    """The clock of a node, and wall time in the place of the module `time`, both set by hand."""

    def __init__(self, simulated):
        self.is_simulated = simulated
        self.shown = self.wall = 100.0

    def now(self):
        return self.shown

    def monotonic(self):
        return self.wall


@pytest.fixture(params=[False, True], ids=["real", "simulated"])
def clocks(request, monkeypatch):
    result = Clocks(request.param)
    monkeypatch.setattr(state_age, "time", result)
    return result


def started(clocks, stamp=100.0):
    clock = StateClock(clocks, LIMIT, "joint state")
    assert not clock.began
    clock.hear()
    clock.take(stamp)
    assert clock.began and clock.stamps.newest == stamp
    return clock


def test_a_state_grows_old_by_the_nodes_clock(clocks):
    clock = started(clocks)
    assert (clock.age(), clock.problem(), clock.silence()) == (0.0, GOOD, GOOD)
    clocks.shown = 100.0 + LIMIT + 0.01
    assert clock.age() == pytest.approx(0.09)
    assert clock.silence().reason == "no joint state for 0.090 s, limit 0.08 s"
    assert clock.problem().reason.startswith(
        "no answer to a joint state within 0.090 s, limit 0.08 s"
    )


def test_the_limit_itself_is_no_silence(clocks):
    clock = StateClock(clocks, 0.0625, "joint state")
    clock.take(100.0)
    clocks.shown = 100.0625
    assert (clock.age(), clock.problem(), clock.silence()) == (0.0625, GOOD, GOOD)


def test_a_wrong_stamp_is_the_first_problem(clocks):
    clock = started(clocks)
    clocks.shown = 99.0
    clock.take(99.0)
    clocks.shown = 100.0
    assert "stamps must increase" in clock.problem().reason


def test_a_clock_that_was_set_back_hides_the_age_and_a_late_simulators_clock_does_not(clocks):
    clock = started(clocks)
    clocks.shown = 99.0
    if clocks.is_simulated:
        assert (clock.age(), clock.silence()) == (0.0, GOOD)
    else:
        assert (
            clock.age() == 1.0
            and clock.silence().reason == "no joint state for 1.000 s, limit 0.08 s"
        )


def test_a_simulators_clock_that_is_behind_its_state_is_late(clocks):
    clock = started(clocks, stamp=100.5)
    clocks.shown = 100.5
    assert clock.age() == (0.0 if clocks.is_simulated else 0.5)


def test_a_simulator_that_says_nothing_has_gone_though_its_time_stands(clocks):
    clock = started(clocks)
    clocks.wall += LONGEST_PAUSE
    assert clock.silence() == GOOD
    clocks.wall += 0.5
    gone = "no joint state for 3.500 s, limit 3 s of wall time, even if the simulator pauses"
    assert clock.silence().reason == (gone if clocks.is_simulated else "")
    assert clock.silence(lock_step=True) == GOOD  # it waits for its answer
    clock.hear()  # it says its state again
    assert clock.silence() == GOOD and clock.heard == clocks.wall


@pytest.mark.parametrize(
    ("name", "step", "said"),
    [
        ("odometry", 0.1, "set input_timeout to 0.25 s (input_timeout: 0.25 in a file, "),
        ("odometry", 0.2, "input_timeout: 0.5"),
        ("odometry", 0.5, "must publish it 14.3 times a second"),
        ("joint state", 0.1, "must publish it 16.7 times a second"),
    ],
)
def test_the_advice_on_slow_states_can_be_followed(name, step, said):
    """Before: "raise input_timeout for a slow one", which no launch file had."""
    age = StateAge(0.07, name)
    for k in range(3):
        age.take(5.0 + step * k, 5.0 + step * k)
    assert f"no {name} for {step:.3f} s" in age.problem and said in age.problem
    advised = re.search(r"input_timeout: (\S+) in", age.problem)
    if advised:
        age = StateAge(float(advised[1]), name)
        for k in range(30):
            age.take(5.0 + step * k + 0.02 * (k % 3), 5.0 + step * k + 0.05 * (k % 2))
            assert not age.problem
    if rate := re.search(r"publish it (\S+) times", age.problem):
        age, period = StateAge(0.07, name), 1.0 / float(rate[1])
        for k in range(30):
            age.take(5.0 + period * k, 5.0 + period * k)
            assert not age.problem


@pytest.mark.parametrize("clocks", [False], indirect=True, ids=["real"])
def test_an_answer_is_late_by_the_way_of_its_state_and_by_the_time_since(clocks):
    assert state_age.LATE_ANSWER == 0.03
    clock = started(clocks)
    assert clock.stamps.lateness == 0.0
    clocks.shown += 0.02
    assert not clock.answer_is_late()
    clocks.shown += 0.02
    assert clock.answer_is_late()
    clock.take(100.02)  # it took 20 ms longer than the first one
    assert not clock.answer_is_late()
    clocks.shown += 0.02
    assert clock.answer_is_late()


@pytest.mark.parametrize("clocks", [False], indirect=True, ids=["real"])
def test_the_limit_itself_is_no_late_answer(clocks, monkeypatch):
    monkeypatch.setattr(state_age, "LATE_ANSWER", 0.03125)
    clock = started(clocks)
    clocks.shown += 0.03125
    assert not clock.answer_is_late()
    assert StateClock(clocks, LIMIT, "joint state").stamps.lateness == 0.0
