# SPDX-License-Identifier: Apache-2.0
"""Limits of the change of commands, against small steps of their definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import Velocity
from diffbot_description.command_ramp import CommandRamp, RampCoupling

speeds = st.floats(-1.0, 1.0)
slopes = st.floats(0.2, 3.0)
STEPS = 4000


def small_steps(now, target, duration, speeding, braking):
    """One axis: per step, at most the limit of what it does there."""
    step = duration / STEPS
    for _ in range(STEPS):
        slower = target * now < 0.0 or abs(target) < abs(now)
        most = (braking if slower else speeding) * step
        now += max(-most, min(most, target - now))
    return now


@given(speeds, speeds, slopes, slopes, st.floats(0.01, 2.0))
def test_an_axis_of_its_own_speeds_up_and_brakes_by_its_limits(now, target, up, down, duration):
    ramp = CommandRamp(Velocity(up, 1.0), Velocity(down, 1.0))
    after = ramp.after(Velocity(now, 0.0), Velocity(target, 0.0), duration)
    expected = small_steps(now, target, duration, up, down)
    assert after.v == pytest.approx(expected, abs=5.0 * duration / STEPS)
    assert after.omega == 0.0


@given(speeds, speeds, speeds, speeds, st.floats(0.01, 2.0))
def test_both_axes_slowed_down_alike_stay_on_a_line(v, omega, to_v, to_omega, duration):
    limits = Velocity(0.4, 0.9)
    ramp = CommandRamp(limits, limits, RampCoupling.SCALED)
    now, target = np.array((v, omega)), np.array((to_v, to_omega))
    moved = np.array(ramp.after(Velocity(v, omega), Velocity(to_v, to_omega), duration)) - now
    assert np.cross(np.append(moved, 0.0), np.append(target - now, 0.0)) == pytest.approx(0.0)
    rates = np.abs(moved) / duration / np.array(limits)
    assert rates.max() <= 1.0 + 1e-9
    if not np.allclose(moved, target - now):
        assert rates.max() == pytest.approx(1.0)


@given(speeds, speeds, speeds, speeds, st.floats(0.01, 2.0))
def test_each_wheel_keeps_its_limit(v, omega, to_v, to_omega, duration):
    lever = 0.25
    limits = Velocity(0.5, 0.5 / lever)
    ramp = CommandRamp(limits, limits, RampCoupling.WHEELS)
    after = ramp.after(Velocity(v, omega), Velocity(to_v, to_omega), duration)
    for side in (-lever, lever):
        expected = small_steps(v + side * omega, to_v + side * to_omega, duration, 0.5, 0.5)
        assert after.v + side * after.omega == pytest.approx(expected, abs=2.0 * duration / STEPS)


def test_wrong_limits_are_refused_by_name():
    with pytest.raises(ValueError, match="acceleration limit of omega = 0.0 rad/s²: must be > 0"):
        CommandRamp(Velocity(1.0, 0.0), Velocity(1.0, 1.0))
    with pytest.raises(ValueError, match="deceleration limit of v = nan m/s²"):
        CommandRamp(Velocity(1.0, 1.0), Velocity(math.nan, 1.0))
    with pytest.raises(ValueError, match="finite for a limit of the wheels"):
        CommandRamp(Velocity(1.0, math.inf), Velocity(1.0, 1.0), RampCoupling.WHEELS)
