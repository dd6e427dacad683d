# SPDX-License-Identifier: Apache-2.0
"""Friction in the laws: the feed-forward, breakaway, friction over a period, and rest."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import REST, Pose, Velocity, WheelGeometry
from diffbot_controllers import LinearizingController, State
from diffbot_controllers.laws.friction import (
    MOST,
    FrictionFeedforward,
    KnownWheels,
    Standstill,
    friction_over,
    turning_mobility,
    wheel_mobility,
)
from diffbot_controllers.tuning import (
    RISE,
    speeds_against_friction,
    tuned_backstepping,
    tuned_polar_pose,
)
from diffbot_description import DynamicParameters, FrictionLaw
from pose2d_trajectories import Reference

GEOMETRY = WheelGeometry(0.08, 0.08, 0.42)
K = DynamicParameters(-0.05, 1.0, 0.44, -1.7)
LAW = FrictionLaw(viscous=0.05, coulomb=0.35)
STICKY = FrictionLaw(viscous=0.05, coulomb=0.3, static=0.5, stribeck_velocity=0.2)
FAST = Velocity(1.0, 0.0)


def wheels(left=LAW, right=LAW, **more):
    return KnownWheels(GEOMETRY, (left, right), 5.0, **more)


def test_a_robot_at_constant_speed_gets_what_friction_takes():
    added = FrictionFeedforward(wheels()).add((0.0, 0.0), FAST, FAST, REST, 0.01)
    assert added == pytest.approx((0.35 + 0.05 * 1.0 / 0.08,) * 2)


def test_friction_by_direction_is_that_of_the_direction():
    law = FrictionLaw(viscous=0.0, coulomb=0.2, coulomb_backward=0.5)
    back = Velocity(-1.0, 0.0)
    assert FrictionFeedforward(wheels(law)).add((0.0, 0.0), back, back, REST, 0.01)[0] == -0.5


def test_a_slow_wheel_gets_the_sign_of_where_it_is_to_go_not_of_how_it_was_measured():
    measured = Velocity(-0.002, 0.0)  # noise of the encoders
    left, right = FrictionFeedforward(wheels()).add(
        (0.0, 0.0), measured, Velocity(0.004, 0.0), REST, 0.01
    )
    assert left == right == pytest.approx(0.35, abs=0.05 * 0.002 / 0.08 + 1e-9)


@given(st.floats(-1e-3, 1e-3), st.floats(1e-9, 1e-6))
def test_it_is_smooth_through_zero(wanted, step):
    # Nothing to break away from: the wheels move a little.
    feedforward = FrictionFeedforward(wheels())
    u = Velocity(0.001, 0.0)
    first, second = (
        feedforward.add((0.0, 0.0), u, Velocity(v, 0.0), REST, 0.01)[0]
        for v in (wanted, wanted + step)
    )
    assert 0.0 <= second - first <= 0.35 * step / 5e-4 * 1.001 + 1e-12


def test_a_wheel_that_must_start_gets_its_static_friction_and_no_more():
    added = FrictionFeedforward(wheels(STICKY, STICKY)).add(
        (0.01, 0.01), REST, Velocity(0.01, 0.0), REST, 0.01
    )
    # 2 % over it, and what it adds per period to a wheel that goes on standing.
    assert 0.5 < added[0] < 0.5 * 1.05
    strong = FrictionFeedforward(wheels(STICKY, STICKY)).add(
        (3.0, 3.0), REST, Velocity(1.0, 0.0), REST, 0.01
    )
    assert strong[0] < 3.0 + 0.5 * 1.05


def test_a_wheel_that_stays_stuck_gets_more_up_to_a_bound_and_none_once_it_moves():
    feedforward = FrictionFeedforward(wheels())
    wanted = Velocity(0.01, 0.0)
    first = feedforward.add((0.0, 0.0), REST, wanted, REST, 0.01)[0]
    for _ in range(1000):
        last = feedforward.add((0.0, 0.0), REST, wanted, REST, 0.01)[0]
    assert last - first == pytest.approx(MOST * 0.35, rel=0.05)
    moving = feedforward.add((0.0, 0.0), wanted, wanted, REST, 0.01)[0]
    assert moving == pytest.approx(0.35, rel=0.05)


GEARED = FrictionLaw(viscous=0.05, coulomb=0.35, gear_loss=0.2)


@pytest.mark.parametrize("torque", [2.0, -2.0, 0.1, -0.1])
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_gears_get_more_to_drive_and_less_to_brake(torque, direction):
    """What friction and gears leave of the motor's torque is the torque that was asked for."""
    u = Velocity(direction, 0.0)
    added = FrictionFeedforward(wheels(GEARED, GEARED)).add((torque,) * 2, u, u, REST, 0.01)
    for tau in added:
        lost = 0.2 * abs(tau) + 0.35 + 0.05 / 0.08
        assert tau - direction * lost == pytest.approx(torque)


def test_gears_are_compensated_without_other_friction_too():
    only = FrictionLaw(viscous=0.0, coulomb=0.0, gear_loss=0.2)
    added = FrictionFeedforward(wheels(only, only)).add((1.0, -1.0), FAST, FAST, REST, 0.01)
    assert added == pytest.approx((1.0 / 0.8, -1.0 / 1.2))


def test_a_geared_wheel_that_must_start_gets_the_torque_that_starts_it():
    wanted = Velocity(0.01, 0.0)
    added = FrictionFeedforward(wheels(GEARED, GEARED)).add((0.0, 0.0), REST, wanted, REST, 0.01)
    assert 0.35 / 0.8 < added[0] < 0.35 / 0.8 * 1.05


def test_the_floor_s_moment_passes_through_the_gears():
    floor, turn = FrictionLaw(viscous=0.0, coulomb=3.0), Velocity(0.0, 1.0)
    known = wheels(GEARED, GEARED, turning=floor)
    left, right = FrictionFeedforward(known).add((0.0, 0.0), turn, turn, REST, 0.01)
    speed = 0.21 / 0.08
    needed = 0.08 * 3.0 / 0.42 + 0.35 + 0.05 * speed
    assert (left, right) == pytest.approx((-needed / 0.8, needed / 0.8))


def test_without_friction_nothing_is_added():
    none = FrictionLaw(viscous=0.0, coulomb=0.0)
    assert FrictionFeedforward(wheels(none, none)).add((0.1, 0.2), FAST, FAST, REST, 0.01) == (
        0.1,
        0.2,
    )


FLOOR = FrictionLaw(viscous=2.0, coulomb=5.0)  # by the yaw rate


def test_a_robot_that_turns_on_a_floor_that_resists_gets_its_moment():
    free = FrictionLaw(0.0, 0.0)
    feedforward = FrictionFeedforward(wheels(free, free, turning=FLOOR))
    turns = Velocity(0.0, -0.5)
    left, right = feedforward.add((0.0, 0.0), turns, turns, REST, 0.01)
    assert GEOMETRY.body_wrench(left, right) == pytest.approx((0.0, -5.0 - 2.0 * 0.5))
    ahead = feedforward.add((0.1, 0.2), FAST, FAST, REST, 0.01)
    assert ahead == pytest.approx((0.1, 0.2))  # it does not turn


def test_a_floor_that_no_wheels_turn_the_robot_on_is_refused():
    assert wheels(turning=FrictionLaw(0.0, 26.0)).turning_torque == pytest.approx(5.0, rel=0.01)
    with pytest.raises(ValueError, match="turning.coulomb = 30 N m takes .*must be <= 5 N m"):
        wheels(turning=FrictionLaw(0.0, 30.0))


speeds = st.tuples(st.floats(-5.0, 5.0), st.floats(-5.0, 5.0))


@given(speeds, speeds, st.sampled_from([0.002, 0.01, 0.04]))
def test_friction_over_a_period_only_takes_energy_and_holds_within_its_limit(now, change, dt):
    mobility = wheel_mobility(K, GEOMETRY)
    free = (now[0] + change[0], now[1] + change[1])
    laws = (LAW, FrictionLaw(viscous=0.0, coulomb=0.2))
    period_friction = friction_over(laws, mobility, now, free, dt)
    end = [
        free[i]
        - dt
        * (mobility[i][0] * period_friction.torque[0] + mobility[i][1] * period_friction.torque[1])
        for i in (0, 1)
    ]
    for i, law in enumerate(laws):
        dry = period_friction.torque[i] - law.viscous * now[i]
        assert abs(dry) <= law.coulomb + 1e-12
        if abs(end[i]) > 1e-6:
            assert dry == pytest.approx(math.copysign(law.coulomb, end[i]), abs=1e-6)


@given(speeds, speeds, st.sampled_from([0.002, 0.01, 0.04]))
def test_wheels_and_floor_together_take_what_their_laws_say(now, change, dt):
    """Of three laws each stops what it holds, and resists what goes on by all that it has."""
    laws = (LAW, FrictionLaw(viscous=0.0, coulomb=0.2), FLOOR)
    mobility = np.array(turning_mobility(K, GEOMETRY))
    assert mobility == pytest.approx(mobility.T)
    speed, free = (
        np.array([*pair, GEOMETRY.body_velocity(*pair)[1]])
        for pair in (now, (now[0] + change[0], now[1] + change[1]))
    )
    period_friction = friction_over(laws, mobility.tolist(), speed.tolist(), free.tolist(), dt)
    end = free - dt * mobility @ period_friction.torque
    # Gauss-Seidel iterations end at 1e-9 rad/s of change, or after 20.
    assert GEOMETRY.body_velocity(*end[:2])[1] == pytest.approx(end[2], abs=1e-9)
    for law, torque, before, after in zip(laws, period_friction.torque, speed, end, strict=True):
        dry = torque - law.viscous * before
        assert abs(dry) <= law.coulomb + 1e-9
        if abs(after) > 0.05:
            assert dry == pytest.approx(math.copysign(law.coulomb, after), abs=1e-6)


def test_friction_holds_a_robot_at_rest_against_less_torque_than_its_own():
    mobility = np.array(wheel_mobility(K, GEOMETRY))
    torque = np.array([0.3, -0.2])
    free = tuple(0.01 * mobility @ torque)
    period_friction = friction_over((LAW, LAW), wheel_mobility(K, GEOMETRY), (0.0, 0.0), free, 0.01)
    assert period_friction.torque == pytest.approx(
        tuple(torque), abs=1e-6
    ) and period_friction.stuck == (True, True)


def test_a_robot_rests_within_its_tolerance_and_leaves_beyond_twice_of_it():
    standstill, stop = Standstill(wheels()), Velocity(1.0, 5.0)
    assert not standstill.update(4e-4, 0.0, REST, stop)
    assert standstill.update(2e-4, 0.0, REST, stop)
    assert standstill.update(5e-4, 0.0, REST, stop)
    assert not standstill.update(7e-4, 0.0, REST, stop)
    # 0.1 m/s would carry it 5 mm away.
    assert not standstill.update(0.0, 0.0, Velocity(0.1, 0.0), stop)


def test_a_robot_without_dry_friction_never_rests_and_coarse_encoders_widen_the_tolerance():
    free = FrictionLaw(viscous=0.1, coulomb=0.0)
    assert not Standstill(wheels(LAW, free)).update(0.0, 0.0, REST, Velocity(1.0, 5.0))
    coarse = Standstill(wheels(counts=256))
    assert coarse.update(1e-3, 0.0, REST, Velocity(1.0, 5.0))


@pytest.mark.parametrize(
    "change", [{"torque": 0.0}, {"delay": -0.1}, {"counts": -1}, {"limit": 0.0}, {"rise": -1.0}]
)
def test_wheels_that_none_has_are_refused(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        KnownWheels(**{"geometry": GEOMETRY, "friction": (LAW, LAW), "torque": 5.0, **change})


def test_friction_at_rest_that_no_torque_breaks_away_from_is_refused_at_the_start_and_later():
    stuck = FrictionLaw(viscous=0.05, coulomb=0.35, static=100.0, stribeck_velocity=1.0)
    with pytest.raises(ValueError, match=r"right wheel at rest = 100 N m: must be <= 5 N m"):
        wheels(LAW, stuck)
    law = tuned_backstepping(K, 4.0, mean_velocity=True, wheels=wheels())
    with pytest.raises(ValueError, match="left wheel at rest = 100 N m"):
        law.friction = (stuck, LAW)
    assert law.friction == (LAW, LAW)


def test_gears_that_leave_too_little_of_the_torque_are_refused():
    # 2 N m of 5 start an ungeared wheel, but not one whose gears lose 70 %.
    stuck = FrictionLaw(viscous=0.0, coulomb=2.0, gear_loss=0.7)
    with pytest.raises(ValueError, match=r"left wheel at rest = 6\.66667 N m: .* gear_loss"):
        wheels(stuck, LAW)
    half = FrictionLaw(viscous=0.0, coulomb=1.4, gear_loss=0.5)
    with pytest.raises(ValueError, match=r"with gear losses = 3\.4 N m: must be <= 0\.8"):
        tuned_backstepping(K, 4.0, mean_velocity=True, wheels=wheels(half, half))


@pytest.mark.parametrize("make", [tuned_backstepping, tuned_polar_pose, LinearizingController])
@pytest.mark.parametrize("v", [0.0, 1e-4, 0.3, 30.0])
def test_friction_at_rest_only_lets_laws_stand_and_drive(make, v):
    # No Coulomb friction: nothing is left to stop a wheel that turns fast.
    law = FrictionLaw(viscous=0.05, coulomb=0.0, static=0.2, stribeck_velocity=0.5)
    made = make(K, torque_limit=4.0, wheels=wheels(law, law))
    aim = REST if make is LinearizingController else Reference(0.0, 0.0, 0.0)
    for _ in range(round(RISE / 0.01)):  # the set points of the laws change gradually
        torque = made.update(State(Pose(0.0, 0.0, 0.0), Velocity(v, 0.0)), aim, 0.01)
    assert max(torque) <= 0.0 and (torque == (0.0, 0.0)) == (v < 0.1)


TOO_LARGE = {
    "Coulomb": FrictionLaw(viscous=0.05, coulomb=2.8),
    "viscous": FrictionLaw(viscous=0.5, coulomb=0.35),
    "both": FrictionLaw(viscous=0.24, coulomb=1.4),
    "static": FrictionLaw(viscous=0.05, coulomb=0.35, static=4.0, stribeck_velocity=30.0),
}


@pytest.mark.parametrize("law", TOO_LARGE.values(), ids=TOO_LARGE)
@pytest.mark.parametrize("v", [-2.0, 0.7, 1.5, 6.0])
def test_friction_described_too_large_never_drives_a_law_that_brakes_at_its_bounds(law, v):
    made = tuned_backstepping(K, 4.0, 1.2, 3.0, wheels=wheels(law, law))
    state = State(Pose(0.0, 0.0, 0.0), Velocity(v, 0.0))
    # The set points change gradually: first they must fall behind the robot.
    for _ in range(round(2.0 * RISE / 0.01)):
        torque = made.update(state, Reference(0.0, 0.0, 0.0), 0.01)
    # At the goal a small torque that reverses is 0.
    assert all(t * v <= 0.0 for t in torque)


def test_friction_that_is_right_is_made_up_for_where_no_bound_is_met():
    free = tuned_backstepping(K, 4.0, 1.2, 3.0)
    made = tuned_backstepping(K, 4.0, 1.2, 3.0, wheels=wheels())
    reference = Reference(0.0, 0.0, 0.0, v=0.5)
    state = State(Pose(0.0, 0.0, 0.0), Velocity(0.5, 0.0))
    plain, torque = (law.update(state, reference, 0.01) for law in (free, made))
    for before, after in zip(plain, torque, strict=True):
        assert after - before == pytest.approx(0.35 + 0.05 * 0.5 / 0.08, abs=1e-3)


def test_speeds_stay_where_friction_leaves_torque_for_them():
    thick = FrictionLaw(viscous=0.5, coulomb=0.35)
    # (0.8 x 4 - 0.35) N m / 0.5 N m s/rad x 0.08 m
    assert speeds_against_friction(4.0, wheels(thick, thick), 1.2, 3.0) == pytest.approx(
        (0.456, 0.456 / 0.21)
    )
    assert speeds_against_friction(4.0, wheels(), 1.2, 3.0) == (1.2, 3.0)
    syrup = FrictionLaw(viscous=5.0, coulomb=0.35)
    with pytest.raises(ValueError, match=r"viscous = 5 N m s/rad .* must be >= 0.1 of its 1.2 m/s"):
        tuned_polar_pose(K, 4.0, 1.2, 3.0, wheels=wheels(syrup, syrup))


def test_friction_that_leaves_no_torque_is_refused_with_the_limit():
    with pytest.raises(ValueError, match=r"Coulomb friction = 0.35 N m: must be <= 0.8"):
        tuned_backstepping(K, 0.4, mean_velocity=True, wheels=wheels())
