# SPDX-License-Identifier: Apache-2.0
"""How late velocities of SysId logs are: by positions, and by the whole motion from rest."""

import numpy as np
import pytest

from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.voltage_gains import (
    LONGEST,
    SysIdDelay,
    VoltageGains,
    dead_time_of,
    delay_from_rest,
    filter_delay,
    seen_dead_time,
)

PERIOD, KS, KV, KA, VOLTS = 0.005, 0.6, 2.4, 0.5, 6.0


def step_test(delay, window=0.0):
    """Voltage, velocity and position of a rigid robot whose logged velocity is a mean."""
    fine = np.arange(0.0, 1.5, 1e-4)
    after = np.maximum(fine - delay, 0.0)
    tau, end = KA / KV, (VOLTS - KS) / KV
    position = end * (after - tau * -np.expm1(-after / tau))
    velocity = end * -np.expm1(-after / tau)
    if window:
        rows = round(window / 1e-4)
        velocity = (position - np.concatenate((np.zeros(rows), position[:-rows]))) / window
    rows = slice(None, None, round(PERIOD / 1e-4))
    return np.full(len(fine[rows]), VOLTS), velocity[rows], position[rows]


@pytest.mark.parametrize("window", [0.0, 0.02, 0.05])
def test_positions_tell_a_filter(window):
    rng = np.random.default_rng(1)
    _, velocity, position = step_test(0.01, window)
    noisy = velocity + 0.01 * rng.standard_normal(len(velocity))
    # A mean's first window is no delay; the rest of the motion is.
    assert filter_delay(noisy, position, PERIOD) == pytest.approx(0.5 * window, abs=1.5e-3)


@pytest.mark.parametrize(
    "position",
    [
        pytest.param(np.zeros(300), id="no position"),
        pytest.param(np.full(300, np.nan), id="not recorded"),
        pytest.param(3.0 * step_test(0.0)[2], id="another unit"),
    ],
)
def test_positions_that_do_not_fit_tell_nothing(position):
    assert filter_delay(step_test(0.0)[1], position, PERIOD) is None


@pytest.mark.parametrize("delay", [0.0, 0.012, 0.03])
def test_the_motion_from_rest_tells_the_delay(delay):
    voltage, velocity, _ = step_test(delay)
    counts = np.arange(len(voltage)) >= 20
    segment = AxisSegment(PERIOD, voltage, velocity, counts)
    fit = VoltageGains(KS, KV, KA, np.eye(3), delay, ())
    assert delay_from_rest(segment, 20 * PERIOD, fit) == pytest.approx(delay, abs=5e-4)
    # A speed that the voltage cannot give came from no rest.
    fast = AxisSegment(PERIOD, voltage, velocity + 2.0, counts)
    assert delay_from_rest(fast, 20 * PERIOD, fit) is None


def test_the_earlier_of_both_counts():
    seen = SysIdDelay.seen(dead_time_of([0.02, 0.021], PERIOD), [0.01, 0.01])
    assert seen.total == pytest.approx(0.0265)
    assert seen.from_rest([0.04, 0.05]) == seen
    earlier = seen.from_rest([0.015, 0.017])
    assert earlier.total == pytest.approx(0.016)
    assert earlier.dead_time == seen.dead_time
    assert seen.from_rest([]) == seen


def test_without_motion_there_is_no_dead_time():
    assert seen_dead_time(np.full(50, VOLTS), np.zeros(50), PERIOD) is None
    assert not dead_time_of([], PERIOD).identifiable
    assert dead_time_of([0.5], PERIOD).identifiable
    assert not dead_time_of([0.5, LONGEST + 0.5], PERIOD).identifiable
