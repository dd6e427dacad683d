# SPDX-License-Identifier: Apache-2.0
"""Pacing against a clock that the test moves."""

import pytest

from diffbot_sim.paced_simulator import Pacer


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.mark.parametrize("speed", [0.5, 1.0, 4.0])
def test_waits_for_the_wall_clock(clock, speed):
    pacer = Pacer(speed, clock=clock)
    for k in range(1, 101):
        clock.now += 0.001
        clock.now += pacer.delay(0.01 * k)
    assert clock.now - 100.0 == pytest.approx(1.0 / speed)


def test_speed_zero_never_waits(clock):
    pacer = Pacer(0.0, clock=clock)
    assert pacer.delay(1000.0) == 0.0


def test_small_lag_is_made_up_for(clock):
    pacer = Pacer(1.0, clock=clock)
    clock.now += 0.06
    assert pacer.delay(0.01) == 0.0
    assert pacer.delay(0.1) == pytest.approx(0.04)


def test_after_a_stall_the_schedule_starts_anew(clock):
    pacer = Pacer(1.0, clock=clock)
    clock.now += 5.0
    assert pacer.delay(0.01) == 0.0
    assert pacer.delay(0.02) == pytest.approx(0.01)


def test_restart_begins_a_new_schedule(clock):
    pacer = Pacer(1.0, clock=clock)
    clock.now += 5.0
    pacer.delay(0.01)
    pacer.restart(7.0)
    assert pacer.delay(7.5) == pytest.approx(0.5)
