# SPDX-License-Identifier: Apache-2.0
"""Streams of references that stop: noticed in time, whatever is stamped; and streams that do not.

Times of a run are counted in steps of 1 ms, so that what comes first is exact.
"""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import Velocity
from diffbot_controllers.nodes.reference_input import ReferenceInput

TIMEOUT, STATE_AGE = 0.06, 0.07  # defaults of reference_timeout and input_timeout, s
MS = 0.001
GOING = Velocity(0.5, 0.0)
LOST = 3000  # ms


def stuck(velocity, _duration):
    return velocity


def make(timeout=TIMEOUT):
    return ReferenceInput(timeout, stuck, "joint state", STATE_AGE)


def stream(ahead, every, states=10, phase=0, timeout=TIMEOUT, lost=LOST):
    """Send references until `lost`, and states for a second more; all times are in ms.

    Args:
        ahead: how far the references' stamps are ahead of time.
        every: time between two references.
        states: time between two states.
        phase: when the first state comes.

    Returns:
        What each state was answered by: (ms, reference, None or the sentence of a refusal).
    """
    inputs, answers = make(timeout), []
    for now in range(lost + 1000):
        if now % every == 0 and now < lost:
            inputs.add((now + ahead) * MS, GOING)
        if now % states == phase % states:
            try:
                answers.append((now, inputs.at(now * MS)))
            except ValueError as error:
                answers.append((now, str(error)))
    return answers


def driven(answers):
    return [now for now, answer in answers if answer == GOING]


@given(
    st.integers(-20, 2000),  # ms ahead
    st.integers(1, 50),  # ms between two references
    st.integers(1, 15),  # and between two states
    st.integers(0, 14),
)
def test_a_stream_that_stops_is_noticed_in_time_however_far_ahead_it_was(
    ahead, every, states, phase
):
    """0.06 s from the first state after the last reference; the next one is refused."""
    answers = stream(ahead, every, states, phase, lost=2500)
    last = 2500 - 1 - (2500 - 1) % every
    assert max(driven(answers), default=0) - last <= 60 + states


@pytest.mark.parametrize(("every", "ahead"), [(50, 500), (20, 250), (10, 150), (5, 1000)])
def test_a_clock_that_is_far_ahead_is_refused_at_any_rate(every, ahead):
    """Also where the references kept reach back to the state: the robot does not start later."""
    answers = stream(ahead, every)
    # At first, while the only ones there are, are ahead; then, as the newest are.
    assert not driven(answers)
    assert "ahead of the joint state, limit 0.13 s" in answers[100][1]


@pytest.mark.parametrize(("every", "ahead"), [(50, 55), (20, 120), (10, 100), (10, 10)])
def test_a_stream_that_is_early_is_followed_and_its_loss_has_a_name(every, ahead):
    answers = stream(ahead, every)
    assert driven([each for each in answers if 200 < each[0] < LOST]) == list(range(210, LOST, 10))
    said = [answer for now, answer in answers if now > LOST and answer != GOING][0]
    word = "no reference received for 0.070 s, limit 0.06 s" if ahead > 10 else "older than"
    assert word in said


@given(st.integers(0, 59), st.lists(st.integers(1, 50), min_size=20, max_size=60))
def test_no_stream_that_goes_on_is_refused(ahead, gaps):
    """Any pace of up to 50 ms and any lead below 60 ms; a state that is late looks the same."""
    inputs, now, due = make(), 1000, 1000
    gaps = iter(gaps)
    for gap in gaps:
        while now < due:
            assert inputs.at(now * MS) in (None, GOING)
            now += 10
        inputs.add((due + ahead) * MS, GOING)
        due += gap


@pytest.mark.parametrize("period", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("lead", [0, 1])
def test_in_lock_step_each_state_has_its_own_reference(period, lead):
    """Slower than the timeout too, and whether a state or the answer to it comes first; seed 1."""
    inputs = ReferenceInput(TIMEOUT, stuck, state_age=max(STATE_AGE, period))
    draw, waiting = random.Random(1), [Velocity(0.0, 0.0)] * lead
    for k in range(300):
        for late in waiting:
            inputs.add(late.v * period, late)
        waiting = [Velocity(float(k + lead), 0.0)]
        if not lead or draw.random() < 0.5:
            inputs.add(waiting[0].v * period, waiting.pop())
        assert inputs.reaches(k * period)
        assert inputs.at(k * period).v == k


def test_a_reset_of_time_counts_the_silence_anew():
    inputs = make()
    inputs.add(100.1, GOING)
    inputs.at(100.1)
    inputs.add(0.1, GOING)
    for stamp in (0.06, 0.1, 0.12):
        inputs.at(stamp)
    assert inputs.at(0.12) == GOING
    with pytest.raises(ValueError, match="older than the joint state, limit 0.06 s"):
        inputs.at(0.17)


def test_one_reference_of_the_far_future_is_forgotten_with_the_next_one():
    inputs = make()
    inputs.add(1.0, GOING)
    assert inputs.at(1.0) == GOING
    inputs.add(1e9, GOING)
    with pytest.raises(ValueError, match="the newest reference is 9.* s ahead"):
        inputs.at(1.01)
    inputs.add(1.02, GOING)
    assert inputs.at(1.02) == GOING
    with pytest.raises(ValueError, match="the newest reference is inf s ahead"):
        inputs.add(math.inf, GOING)
        inputs.at(1.03)
