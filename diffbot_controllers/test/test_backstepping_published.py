# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from closed_loop import run
from rk4_plant import PUBLISHED_2018, Rk4Plant

from arc_odometry import Pose, Velocity
from diffbot_controllers import PublishedBackstepping, State
from diffbot_description import DynamicParameters
from pose2d_trajectories import Reference

PERIOD = 0.01
PHYSICAL = (0.08444, -3.7706, 2.6468, -16.0840)
AHEAD = Reference(1.0, 0.0, 0.0)
REST = State(Pose(0.0, 0.0, 0.0), Velocity(0.0, 0.0))


def park(k, start, goal, duration=4.0):
    law = PublishedBackstepping(DynamicParameters(*k))
    return run(
        Rk4Plant(k, start), lambda s, t: law.update(s, goal, PERIOD), lambda t: goal, duration
    )


@pytest.mark.parametrize("k", [PUBLISHED_2018, PHYSICAL])
def test_goal_ahead_settles_as_published(k):
    # Independent figures: 1.8 s (here 1.7 to 1.9), and 223 N m at the first sample without limit.
    # 4 starts, +-1 mm and +-1 mrad, seed 0.
    starts = np.random.default_rng(0).uniform(-1e-3, 1e-3, (4, 3))
    for start in (np.zeros(3), *starts):
        result = park(k, start, AHEAD)
        assert 1.7 <= result.settling_time <= 1.9
    first = park(k, np.zeros(3), AHEAD, 0.02).torque[0]
    assert np.abs(first).max() == pytest.approx(223.0, abs=1.0)


def test_first_sample_is_the_listing_by_hand():
    # e = 1, psi = pi, alpha = -pi: eta = (10, pi); eta' = eta / T; v_bar about (100, 50 pi).
    law = PublishedBackstepping(DynamicParameters(*PHYSICAL))
    left, right = law.update(REST, AHEAD, PERIOD)
    v1 = 10.0 * 10.0 + 200.0 / 500.0 + 10.0 / PERIOD
    v2 = 50.0 * math.pi + 6.0 / 10000.0 * math.pi + math.pi / PERIOD
    assert left + right == pytest.approx(v1 / 2.6468)
    assert left - right == pytest.approx(v2 / -16.084)
    assert law.record.backstep_set_point == pytest.approx((10.0, math.pi))
    assert law.record.polar_error == pytest.approx((1.0, math.pi, -math.pi))


def test_parks_in_reverse_and_spikes_at_each_step_of_the_reference():
    law = PublishedBackstepping(DynamicParameters(*PHYSICAL))
    law.update(REST, Reference(), PERIOD)
    # alpha = psi = 0: the goal is behind.
    law.update(REST, Reference(-1.0), PERIOD)
    assert law.record.backstep_set_point.v == pytest.approx(-10.0)
    spikes = []
    for _ in range(2):
        spikes.append(max(map(abs, law.update(REST, Reference(-2.0), PERIOD))))
    assert spikes[0] > 150.0 > 80.0 > spikes[1]


def test_calls_off_the_period_keep_the_torque_and_one_lost_sample_is_for_ever():
    law = PublishedBackstepping(DynamicParameters(*PHYSICAL), time_step=0.01)
    first = law.update(REST, AHEAD, 0.01)
    # Called ten times as often as meant: every tenth call counts.
    torques = [law.update(REST, AHEAD, 0.001) for _ in range(10)]
    assert torques[:9] == [first] * 9 and torques[9] != first
    kept = torques[9]
    assert law.update(REST, AHEAD, 0.02) == kept
    assert [law.update(REST, AHEAD, 0.01) for _ in range(50)] == [kept] * 50


def test_calls_ignored_in_a_row_are_counted():
    law = PublishedBackstepping(DynamicParameters(*PHYSICAL), time_step=0.01)
    seen = []
    for dt in (0.01, 0.005, 0.005, 0.01, 0.02, 0.01, 0.01):
        law.update(REST, AHEAD, dt)
        seen.append(law.ignored)
    assert seen == [0, 1, 0, 0, 1, 2, 3]
    law.reset()
    law.update(REST, AHEAD, 0.01)
    assert law.ignored == 0


def test_a_torque_that_is_held_for_too_long_is_refused():
    law = PublishedBackstepping(DynamicParameters(*PHYSICAL), longest_hold=0.035)
    law.update(REST, AHEAD, 0.01)
    assert law.update(REST, AHEAD, 0.02) == law.record.command  # ignored, and held
    with pytest.raises(ValueError, match=r"ignored 2 joint states.*every 0\.02 s.*set time_step"):
        law.update(REST, AHEAD, 0.02)


def test_record_has_every_variable_of_the_listing():
    law = PublishedBackstepping(DynamicParameters(*PHYSICAL))
    state = State(Pose(0.2, -0.1, 7.0), Velocity(0.3, 0.4))
    torque = law.update(state, AHEAD, PERIOD)
    record = law.record
    assert record.command == torque
    assert record.error == pytest.approx((0.8, 0.1, -7.0))
    assert record.process_value_dot == pytest.approx(
        (0.3 * math.cos(7.0), 0.3 * math.sin(7.0), 0.4)
    )
    assert record.backstep_error.v == pytest.approx(0.3 - record.backstep_set_point.v)
    assert record.linear_dynamics_command.omega == pytest.approx(
        record.backstep_command.omega + record.backstep_set_point_dot.omega
    )
    # Neither alpha nor the heading is wrapped.
    assert record.polar_error.alpha > 4.0


def test_at_the_goal_the_torque_is_finite_and_zero():
    law = PublishedBackstepping(DynamicParameters(*PHYSICAL))
    assert law.update(REST, Reference(), PERIOD) == (0.0, 0.0)


def test_limit_holds():
    law = PublishedBackstepping(DynamicParameters(*PHYSICAL), torque_limit=5.0)
    assert max(map(abs, law.update(REST, Reference(100.0, 50.0, 1.0), PERIOD))) <= 5.0


def test_bad_input_is_refused_and_leaves_the_law_as_it_was():
    law = PublishedBackstepping(DynamicParameters(*PHYSICAL))
    for name in ("x", "y", "theta"):
        with pytest.raises(ValueError, match=f"reference: {name} = nan"):
            Reference(**{name: math.nan})
    with pytest.raises(ValueError, match="dt = 0"):
        law.update(REST, AHEAD, 0.0)
    with pytest.raises(ValueError, match="beyond floating point"):
        law.update(REST, Reference(1.7e308, -1.7e308), PERIOD)
    assert law.record is None
    assert max(map(abs, law.update(REST, AHEAD, PERIOD))) == pytest.approx(223.0, abs=1.0)
    for name in ("time_step", "torque_limit"):
        with pytest.raises(ValueError, match=name):
            PublishedBackstepping(DynamicParameters(*PHYSICAL), **{name: -1.0})
