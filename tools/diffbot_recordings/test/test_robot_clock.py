# SPDX-License-Identifier: Apache-2.0
"""Robot time of messages that carry no stamp."""

import numpy as np
import pytest

from diffbot_recordings.bag_source import RobotClock

PERIOD = 0.01


def test_a_simulation_that_runs_in_real_time_for_a_while_stays_a_simulation():
    clock, logged, late = RobotClock(), 0.0, []
    for k in range(1, 4000):
        # Three times real time, and real time itself for 5 s.
        logged += PERIOD if 2000 < k < 2500 else PERIOD / 3.0
        clock.stamped(logged, k * PERIOD)
        if k > 100:
            late.append(clock.time(logged + 0.003) - k * PERIOD)
    assert max(late) == 0.0


@pytest.mark.parametrize("jump", [0.0, 100.0, -5.0])
def test_on_a_real_robot_the_time_since_the_stamp_counts_also_after_its_clock_was_set(jump):
    clock, rng = RobotClock(), np.random.default_rng(0)
    for k in range(1, 2000):
        stamp = 50.0 + k * PERIOD + (jump if k > 1000 else 0.0)
        logged = k * PERIOD + rng.uniform(0.0, 0.002)
        clock.stamped(logged, stamp)
        if abs(k - 1000) > 100 and k > 100:
            assert clock.time(logged + 0.005) - stamp == pytest.approx(0.005, abs=5e-4)


def test_wall_time_does_not_follow_stamps():
    clock = RobotClock()
    assert not clock.begun
    clock.stamped(1e9, 0.01)
    assert clock.begun and not clock.running
