# SPDX-License-Identifier: Apache-2.0
"""The slip watch beside a robot whose PI-controlled wheels scrub, integrated by Euler here."""

import math

import numpy as np
import pytest

from arc_odometry import Velocity
from diffbot_ident.velocity.slip_watch import LEARNT, VERIFIED, SlipWatch

LIMITS, STEP, EVERY = Velocity(1.0, 1.5), 0.002, 12  # readings every 24 ms
# Yaw acceleration by 1 rad/s and 1 rad that the wheels miss, and what scrubbing takes off.
PROPORTIONAL, INTEGRAL, SCRUB = 30.0, 60.0, 8.0
# Wheels that slide turn the robot half as far as they roll, on any ground.
TURNED, NOISE = 0.5, 0.005


def drive(watch, seed, seconds, ice=math.inf, turn=0.7):
    """Return the times of alarms, s; on ice a tenth of the scrubbing is left."""
    rng = np.random.default_rng(seed)
    omega = missed = time = until = 0.0
    command, target, alarms = 0.0, 0.0, []
    watch.reset()
    for k in range(round(seconds / STEP)):
        time = k * STEP
        if time >= until:
            target = rng.choice((-1.0, 1.0)) * rng.uniform(0.3, 1.0) * turn * LIMITS.omega
            until = time + rng.uniform(1.5, 4.0)
        if k % EVERY == 0:
            read = Velocity(0.5, omega + 0.2 * NOISE * rng.standard_normal())
            gyro = TURNED * omega + NOISE * rng.standard_normal()
            if watch.update(time, read, Velocity(0.5, command), gyro):
                alarms.append(time)
            command += min(max(target - command, -1.5 * EVERY * STEP), 1.5 * EVERY * STEP)
        miss = command - omega
        missed += INTEGRAL * miss * STEP
        scrub = SCRUB * (0.1 if time >= ice else 1.0)
        omega += STEP * (PROPORTIONAL * miss + missed - scrub * math.tanh(omega / 0.02))
    return alarms


@pytest.fixture(scope="module")
def learnt():
    watch = SlipWatch(LIMITS)
    assert drive(watch, 1, 70.0) == []
    assert watch.missing == 0.0
    return watch


def test_no_alarm_on_the_ground_that_it_knows(learnt):
    for seed in range(10, 16):
        assert drive(learnt, seed, 20.0) == []


def test_ice_is_told_within_a_second(learnt):
    # The changes are at times of their own within turns: 6 of 6 were told, 0.02 to 0.07 s later.
    for seed in range(20, 26):
        ice = 6.0 + 0.3 * seed % 2.0
        alarms = drive(learnt, seed, ice + 1.0, ice)
        assert alarms and ice <= alarms[0] <= ice + 1.0


def test_before_enough_turns_it_tells_nothing():
    watch = SlipWatch(LIMITS)
    assert drive(watch, 2, 40.0, ice=35.0) == []
    assert 0.0 < watch.missing < LEARNT + VERIFIED


def test_driving_ahead_teaches_nothing():
    watch = SlipWatch(LIMITS)
    assert drive(watch, 3, 60.0, turn=0.01) == []
    assert watch.missing == LEARNT + VERIFIED


def test_wheels_that_lag_are_no_slip(learnt):
    """Wheels at 0.2 rad/s while 0.9 rad/s are commanded, as at a kerb."""
    learnt.reset()
    for k in range(120):
        assert not learnt.update(0.025 * k, Velocity(0.5, 0.2), Velocity(0.5, 0.9), 0.1)


def test_a_gap_begins_anew(learnt):
    learnt.reset()
    assert not learnt.update(0.0, Velocity(0.5, 0.5), Velocity(0.5, 0.5), 0.25)
    # Whatever happened in the gap: nothing is compared until the memory is filled again.
    for k in range(15):
        assert not learnt.update(1.0 + 0.025 * k, Velocity(0.5, 1.4), Velocity(0.5, 0.1), 0.7)
