# SPDX-License-Identifier: Apache-2.0
"""When a driver stops by itself is found from odometry alone, whatever its lag and dead time."""

import math
import random
from collections import deque

import pytest

from arc_odometry import REST, Velocity
from diffbot_ident.excitation.driver_stop import LONGEST_SILENCE, RUNS_ON, SHARES, DriverStopTest
from diffbot_ident.excitation.velocity_excitation import StopTime

LIMIT = 2.0
STEP = 0.002


class Driver:
    """A driver with lag, dead time, dead band and ramp that stops a time after the last command."""

    def __init__(
        self, timeout, lag=0.2, late=0.1, band=0.06, ramp=math.inf, zero=True, behind=False
    ):
        self.timeout, self.lag, self.late, self.band, self.ramp = timeout, lag, late, band, ramp
        self.zero = zero
        # A timeout counts from the command, and passes through the same dead time, or none.
        self.clock_late = 0.0 if behind else late
        self.queue, self.sent, self.slope, self.omega = deque(), 0.0, 0.0, 0.0
        self.heard, self.turned, self.largest = 0.0, 0.0, 0.0

    def take(self, now, command):
        self.heard = now
        self.queue.append((now + self.late, command.omega))

    def step(self, now):
        while self.queue and self.queue[0][0] <= now:
            self.sent = self.queue.popleft()[1]
        asked = self.sent if now - self.clock_late - self.heard < self.timeout else 0.0
        if not self.zero and asked == 0.0:
            asked = 1.0
        asked = math.copysign(max(abs(asked) - self.band, 0.0), asked)
        most = self.ramp * STEP
        self.slope += min(max(asked - self.slope, -most), most)
        self.omega += (self.slope - self.omega) * STEP / self.lag
        self.turned += self.omega * STEP
        self.largest = max(self.largest, abs(self.omega))


def measured(driver, rate=30.0, noise=0.0, seed=0, longest=90.0):
    """The result, and the longest time without a command, s."""
    noisy, stop_time = random.Random(seed), StopTime(Velocity(0.5, LIMIT))
    stop_time.seconds = max(1.0, 2.0 * (driver.lag + driver.late))
    test, last, silence = DriverStopTest(LIMIT, stop_time), 0.0, 0.0
    for k in range(round(longest / STEP)):
        now = k * STEP
        driver.step(now)
        if k % round(1.0 / rate / STEP) == 0:
            command = test.command(now, Velocity(0.0, driver.omega + noisy.gauss(0.0, noise)))
            if command is not None:
                driver.take(now, command)
                last = now
            silence = max(silence, now - last)
        if test.result is not None:
            return test.result, silence
    raise AssertionError("the test does not end")


@pytest.mark.parametrize("timeout", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    ("form", "rate"),
    [
        ({}, 30.0),
        ({"lag": 0.05, "late": 0.0, "band": 0.0}, 50.0),
        ({"lag": 0.6, "late": 0.4}, 20.0),
        ({"ramp": 0.8}, 30.0),
        ({"lag": 0.1, "late": 0.02, "behind": True}, 100.0),
        ({"late": 0.1, "behind": True}, 30.0),
    ],
)
def test_the_timeout_is_found_to_its_error(timeout, form, rate):
    """Seeds 1 to 3, noise 1 % of the largest yaw rate."""
    for seed in (1, 2, 3):
        result, _ = measured(Driver(timeout, **form), rate, noise=0.01 * LIMIT, seed=seed)
        dead = form.get("late", 0.1) + form.get("lag", 0.2)
        assert not result.reason and result.error < 1.1 / rate + 0.2 + 0.5 * dead
        assert abs(result.seconds - timeout) <= result.error


def test_a_driver_that_never_stops_is_stopped_and_named():
    driver = Driver(math.inf)
    result, silence = measured(driver)
    assert result.runs_on and "does not stop by itself" in str(result)
    assert driver.omega < 0.05 * LIMIT and driver.sent == 0.0
    assert silence < LONGEST_SILENCE + 1.0
    assert driver.largest <= SHARES[0] * LIMIT  # a quarter of its yaw rate, on the spot


def test_a_dead_band_above_the_first_speed_is_passed_by_the_second_or_told():
    result, _ = measured(Driver(0.5, band=0.3 * LIMIT))
    assert abs(result.seconds - 0.5) <= result.error < 0.2
    result, _ = measured(Driver(0.5, band=0.6 * LIMIT))
    assert math.isnan(result.seconds) and "hardly turns at 50 %" in str(result)


def test_a_robot_that_obeys_no_zero_and_an_interruption_are_told():
    result, _ = measured(Driver(0.5, zero=False))
    assert result.reason == RUNS_ON
    test = DriverStopTest(LIMIT, StopTime(Velocity(0.5, LIMIT)))
    assert test.command(0.0, REST).omega > 0.0
    test.interrupt("the emergency stop")
    assert test.command(0.1, REST) == REST and "the emergency stop" in str(test.result)
