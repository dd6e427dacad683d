"""Which stamps may be answered, and what is said of the others."""

import pytest

from diffbot_node.state_age import StateAge

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
        ((4.9, 5.0), "0.100 s before the last one: stamps must rise"),
        (
            (5.09, 5.09),
            "no joint state for 0.090 s by the stamps .5.000 s was the last one.,",
        ),
        ((15.0, 15.0), "no joint state for 10.000 s"),
        ((5.01, 5.10), "a joint state came 0.090 s after its stamp, limit 0.08 s"),
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


def test_without_a_common_clock_the_age_is_not_known():
    age = taken((5.0, 1.7e9), (5.01, 1.7e9 + 3.0))
    assert age.same_clock is False and age.problem == ""


def test_whether_clocks_agree_is_told_by_the_first_stamp_alone():
    age = taken((5.0, 5.999), (5.01, 7.0))
    assert age.same_clock is True and "came 1.990 s after its stamp" in age.problem
    assert taken((5.0, 6.0)).same_clock is False
    assert taken((6.0, 5.0)).same_clock is False
