# SPDX-License-Identifier: Apache-2.0
"""The core of every commanding node under any sequence of messages: what goes out is safe.

Hypothesis draws plans of segments with troubles, and a seed; each plan becomes thousands of
messages. benchmarks/message_sequences.py sends a million of them through the same checks.
"""

import math
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diffbot_node.command_guard import CommandGuard, PairLimiter
from diffbot_node.state_age import StateAge
from diffbot_node.stop_states import GuardState

LIMITS, RATES, INPUT_TIMEOUT = (1.5, 0.7), (40.0, 500.0), 0.08
PERIOD, LENGTH = 0.01, 1000  # s, messages of a segment
STRANGE = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 1e9)
# What comes besides good states; each stands for something that people, nodes or networks do.
EVENTS = ("hold", "silence", "stop", "press", "release", "disable", "enable", "end")
TROUBLES = ("strange torque", "late", "back", "jump", "same stamp", "old")
ROUNDING = 1e-12
shares = st.floats(0.0, 0.2)
segments = st.tuples(
    st.sampled_from(TROUBLES),
    shares,  # of the states
    st.lists(st.sampled_from(EVENTS), min_size=1, max_size=4),
    shares,  # of events among the messages
    st.floats(0.1, 5.0),  # size of the torques wanted, in limits
)
plans = st.lists(segments, min_size=2, max_size=4)
seeds = st.integers(0, 2**32 - 1)


def messages(plan, seed):
    """(event, stamp, arrival, wanted) of each message; event is "state" for states."""
    random = np.random.default_rng(seed)
    stamp = 0.0
    for trouble, fraction, events, often, size in plan:
        wanted = random.normal(0.0, size, (LENGTH, 2)) * LIMITS
        spoiled = random.random(LENGTH) < fraction
        happens = random.random(LENGTH) < often
        which = random.integers(len(events), size=LENGTH)
        strange = random.choice(STRANGE, LENGTH)
        for k in range(LENGTH):
            if happens[k]:
                yield events[which[k]], stamp, stamp, (0.0, 0.0)
                continue
            stamp += PERIOD
            pair, now = tuple(wanted[k].tolist()), stamp
            if spoiled[k]:
                if trouble == "strange torque":
                    pair = (pair[0], float(strange[k])) if k % 2 else (float(strange[k]), pair[1])
                elif trouble == "old":
                    now = stamp + 0.2
                else:
                    move = {"late": -0.015, "back": -100.0, "jump": 100.0, "same stamp": -PERIOD}
                    stamp += move[trouble]
                    now = stamp
            yield "state", stamp, now, pair


class Wire:
    """A guard, what it has said, and in a few lines what its state may be.

    Attributes:
        count: messages by what became of them.
    """

    def __init__(self):
        self.guard = CommandGuard(PairLimiter("torque", "N m", LIMITS, RATES))
        self.age = StateAge(INPUT_TIMEOUT)
        self.stopped = self.pressed = self.ended = False
        self.sent = (0.0, 0.0)
        self.count = Counter()

    def take(self, event, stamp, now, wanted):
        """Deal with a message as CommandNode does, and check what goes out."""
        guard, period = self.guard, 0.0
        if event == "state":
            guard.begin()
            self.age.take(stamp, now)
            period = self.age.period
            if self.age.problem:
                command = guard.hold(self.age.problem)
            else:
                try:
                    command = guard.apply(wanted, period)
                except ValueError as error:
                    assert not all(map(math.isfinite, wanted)), error
                    assert guard.command == (0.0, 0.0)
                    command = guard.hold(str(error))
        else:
            command = self._event(event)
        self._check(command, period)
        driven = command != (0.0, 0.0)
        self.count["driven" if driven else event] += 1
        self.sent = command

    def _event(self, event):
        guard = self.guard
        if event in ("hold", "silence"):
            return guard.hold(event, event == "silence")
        if event == "release":
            guard.release()
            self.pressed = False
        elif event == "enable":
            refused = guard.enable()
            assert bool(refused) == (self.pressed or self.ended)
            self.stopped = self.stopped and self.pressed
        elif event == "end":
            self.ended = True
            return guard.end("over")
        else:
            self.stopped = True
            self.pressed = self.pressed or event == "press"
            return guard.press(event) if event == "press" else guard.stop(event)
        return guard.command

    def _check(self, command, period):
        guard = self.guard
        assert command == guard.command
        for value, last, limit, rate in zip(command, self.sent, LIMITS, RATES, strict=True):
            assert math.isfinite(value) and abs(value) <= limit
            assert (
                value == 0.0
                or abs(value - last) <= rate * period + ROUNDING * limit
                or (value == last and not period)
            )
        if guard.state is not GuardState.ACTIVE:
            assert command == (0.0, 0.0)
        assert guard.ended == self.ended
        assert guard.stopped == (self.stopped and not self.ended)
        assert (guard.reason == "") == (guard.state is GuardState.ACTIVE)


def random_plan(random):
    """A plan such as Hypothesis draws, from a NumPy generator."""
    return [
        (
            str(random.choice(TROUBLES)),
            random.uniform(0.0, 0.2),
            # Most of them can be left again.
            [*map(str, random.choice(EVENTS[:-1], 3)), "enable", "release", "enable"],
            random.uniform(0.0, 0.05),
            random.uniform(0.1, 5.0),
        )
        for _ in range(3)
    ]


def run(plan, seed, ends=True):
    """Send a plan's messages; returns the counts of what became of them."""
    wire = Wire()
    for message in messages(plan, seed):
        if ends or message[0] != "end":
            wire.take(*message)
    return wire.count


sent = Counter()


@given(plans, seeds, st.booleans())
def test_no_sequence_makes_a_torque_beyond_limit_or_rate_or_without_leave(plan, seed, ends):
    sent.update(run(plan, seed, ends))


def test_that_were_a_hundred_thousand_messages_and_many_of_them_drove():
    """Random plans make up for what is missing after the test above."""
    random = np.random.default_rng(0)
    for seed in range(200):
        if sum(sent.values()) >= 100_000 and sent["driven"] >= 30_000:
            break
        sent.update(run(random_plan(random), seed))
    assert sum(sent.values()) >= 100_000 and sent["driven"] >= 30_000
