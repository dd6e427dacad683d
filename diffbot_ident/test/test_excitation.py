# SPDX-License-Identifier: Apache-2.0
"""Guarded PRBS: amplitude, hold, independence of the wheels, and the speed guard."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_description import load_robot
from diffbot_description.arena import Arena
from diffbot_ident.excitation.body_model import Motion
from diffbot_ident.excitation.excitations import make_excitation, nominal_prior
from diffbot_ident.excitation.prbs import GuardedPrbs, SpeedGuard, wheel_speed_limit


def torques_at(excitation, speeds):
    return np.array([excitation.torque(Motion(wheel_speeds=pair)) for pair in speeds])


def torques(excitation, count, speeds=(0.0, 0.0)):
    return torques_at(excitation, [speeds] * count)


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(7, 12))
def test_bits_are_held_at_the_amplitude(seed, hold, register):
    out = torques(GuardedPrbs(0.5, hold, register, 10.0, seed), 12 * hold)
    assert set(np.abs(out).ravel()) == {0.5}
    changes = np.nonzero((np.diff(out, axis=0) != 0).any(axis=1))[0] + 1
    assert all(change % hold == 0 for change in changes)


@pytest.mark.parametrize("register", [7, 10, 15])
def test_four_levels_halve_a_quarter_of_the_bits(register):
    """Signs are those of two levels; sizes depend neither on them nor on the other wheel's."""
    binary, four = (
        torques(GuardedPrbs(1.0, 1, register, 10.0, 3, levels), 2000) for levels in (2, 4)
    )
    assert (np.sign(four) == binary).all() and set(np.abs(four).ravel()) == {0.5, 1.0}
    halved = np.abs(four) < 1.0
    # Of 2000 random bits 4 standard deviations are 0.04.
    assert np.abs(halved.mean(axis=0) - 0.25).max() < 0.04
    assert abs(np.corrcoef(halved.T)[0, 1]) < 0.1
    assert np.abs(np.corrcoef(np.hstack((halved, binary)).T)[:2, 2:]).max() < 0.1


def test_there_are_two_or_four_levels():
    with pytest.raises(ValueError, match="levels = 3: must be 2, all bits"):
        GuardedPrbs(1.0, 1, 10, 10.0, 0, levels=3)


@pytest.mark.parametrize("seed", range(2))
def test_wheels_are_uncorrelated_within_half_a_period(seed):
    bits = torques(GuardedPrbs(1.0, 1, 10, 10.0, seed), 511)
    for lag in range(100):
        overlap = 511 - lag
        correlation = bits[:overlap, 0] @ bits[lag:, 1] / overlap
        # Of a partial period; 4.5 standard deviations of a random sequence's.
        assert abs(correlation) < 4.5 / np.sqrt(overlap)


def test_seeds_differ_and_repeat():
    first, again, other = (torques(GuardedPrbs(1.0, 5, 10, 9.0, s), 500) for s in (3, 3, 4))
    assert (first == again).all() and (first != other).any()


@given(st.lists(st.floats(-50.0, 50.0), min_size=1, max_size=200))
def test_a_wheel_beyond_its_limit_is_braked_two_periods_later(speeds):
    excitation = GuardedPrbs(1.0, 3, 8, 10.0)
    out = torques_at(excitation, [(speed, -speed) for speed in [*speeds, 0.0, 0.0]])
    assert (np.abs(out) == 1.0).all()
    for speed, (left, right) in zip(speeds, out[2:], strict=True):
        if abs(speed) >= 10.0:
            assert left * speed < 0.0 and right * -speed < 0.0


def test_the_newest_speeds_do_not_choose_the_torque():
    """Else their noise would, and the estimate would be biased."""
    calm, excited = (GuardedPrbs(1.0, 5, 8, 10.0, seed=2) for _ in range(2))
    torques(calm, 50), torques(excited, 50)
    assert (torques_at(calm, [(0.0, 0.0)] * 2) == torques_at(excited, [(99.0, -99.0)] * 2)).all()


def test_guard_has_hysteresis():
    guard = SpeedGuard(1000.0, engage=0.7, release=0.4)
    speeds = [*range(680, 710, 10), *range(695, 400, -10), *range(395, 695, 10)]
    decisions = [guard.brakes(float(speed)) for speed in speeds]
    assert decisions == [False] * 2 + [True] * 31 + [False] * 30


def test_guard_brakes_earlier_where_speed_rises_fast():
    calm, quick = SpeedGuard(10.0), SpeedGuard(10.0)
    rise = [0.5 * period for period in range(13)]
    assert [calm.brakes(speed) for speed in rise] == [False] * 13
    assert [quick.brakes(2.0 * speed) for speed in rise] == [False] * 5 + [True] * 8


def test_jumps_of_a_coarse_encoder_are_no_acceleration():
    """From 1 to 4 of 10 rad/s and back, period by period: 6.9 rad/s is no danger after it."""
    guard = SpeedGuard(10.0)
    assert not any(guard.brakes(speed) for speed in [1.0, 4.0] * 20 + [4.0] * 5 + [6.9])


@pytest.mark.parametrize("amplitude", [0.4, 1.0, 2.0])
def test_limits_hold_for_stronger_excitation(amplitude):
    """One wheel of twil alone, 64.5 rad/s^2 per N m, exact speeds, two periods of delay."""
    excitation = GuardedPrbs(amplitude, 20, 10, 9.07, seed=1)
    speeds, fastest = (0.0, 0.0), 0.0
    for _ in range(6000):
        torque = excitation.torque(Motion(wheel_speeds=speeds))
        speeds = tuple(w + 0.645 * t for w, t in zip(speeds, torque, strict=True))
        fastest = max(fastest, *map(abs, speeds))
    assert fastest < 9.07


def test_guard_counts_replaced_torques_only():
    excitation = GuardedPrbs(1.0, 1, 8, 1.0, seed=1)
    torques(excitation, 2, speeds=(5.0, 0.0))
    assert excitation.guarded == 0
    out = torques(excitation, 255, speeds=(5.0, 0.0))
    assert (out[:, 0] == -1.0).all()
    assert excitation.guarded == 128  # the ones of one period of 8 bits


def test_after_lost_samples_the_old_speeds_count_for_nothing():
    """Nor does the jump over the gap make the guards brake earlier: 4 of 10 rad/s are slow."""
    excitation, other = (GuardedPrbs(1.0, 20, 8, 10.0, seed=1) for _ in range(2))
    for speed in (0.5, 4.0, 0.5):
        pair = (speed, -speed)
        assert (torques(excitation, 30, pair) == torques(other, 30)).all()
        excitation.interrupt()
    assert excitation.guarded == 0


def test_a_fast_wheel_is_braked_at_once_after_lost_samples():
    excitation = GuardedPrbs(1.0, 3, 8, 10.0)
    torques(excitation, 10)
    excitation.interrupt()
    assert (torques(excitation, 5, (9.0, -9.0)) == [-1.0, 1.0]).all()


@given(*[st.floats(0.01, 10.0)] * 4, st.floats(-1, 1), st.floats(-1, 1))
def test_wheel_speed_limit_keeps_the_body_limits(linear, angular, radius, half, left, right):
    limit = wheel_speed_limit(linear, angular, radius, half)
    w_left, w_right = left * limit, right * limit
    assert abs(radius * (w_left + w_right) / 2.0) <= linear * (1 + 1e-9)
    assert abs(radius * (w_right - w_left) / (2.0 * half)) <= angular * (1 + 1e-9)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amplitude": 0.0}, "amplitude"),
        ({"amplitude": float("nan")}, "amplitude"),
        ({"hold": 0}, "hold"),
        ({"register": 5}, "register"),
        ({"speed_limit": 0.0}, "speed limit"),
    ],
)
def test_bad_settings_are_named(change, field):
    good = {"amplitude": 1.0, "hold": 20, "register": 10, "speed_limit": 10.0}
    with pytest.raises(ValueError, match=field):
        GuardedPrbs(**{**good, **change})


def test_a_torque_that_is_too_fast_for_the_guards_is_refused_with_the_most_that_is_not():
    robot = load_robot("twil")
    words = r"amplitude = 3 N m: must be <= \S+ N m without an arena"
    with pytest.raises(ValueError, match=words) as error:
        make_excitation("prbs", robot, amplitude=3.0)
    most = float(str(error.value).split()[8])
    assert 2.0 < most < 3.0
    make_excitation("prbs", robot, amplitude=0.99 * most)
    with pytest.raises(ValueError, match="amplitude"):  # 50 Hz
        make_excitation("prbs", robot, amplitude=0.99 * most, period=0.02)
    make_excitation("prbs", robot, amplitude=3.0, arena=Arena(3.0, 3.0), prior=nominal_prior(robot))
