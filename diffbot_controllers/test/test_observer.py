# SPDX-License-Identifier: Apache-2.0
"""The motion observer: how much of the counts' rounding it lets through, and what else it must."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import DiffOdometry, Pose, Velocity
from diffbot_controllers import State, tuned_backstepping, tuned_polar_pose
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.motion_observer import (
    BIAS_OF_LIMIT,
    BRISK,
    LARGEST_BIAS,
    NOISE,
    QUIET,
    MotionObserver,
    VelocityEstimate,
)
from diffbot_description import DynamicParameters, FrictionLaw, load_robot
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import Encoders
from pose2d_trajectories import Reference

ROBOT = load_robot("twil")
FREE = FrictionLaw(viscous=0.0, coulomb=0.0)
PERIOD = 0.01
ROBOT_K = DynamicParameters(0.0844, -3.7706, 2.6468, -16.084)


def wheels(counts=0, friction=(FREE, FREE), delay=0.0):
    return KnownWheels(ROBOT.geometry, friction, ROBOT.limits.traction, counts, delay)


def errors(make, counts, seed, factor=1.0, samples=500):
    """Velocity minus truth, (n, 2), under random torques of twil on the ideal engine."""
    engine = make_simulator("ideal", ROBOT)
    true = engine.parameters()
    dynamics = DynamicParameters(*(factor * k for k in true))
    estimate, encoders = make(dynamics), Encoders(counts, PERIOD, seed)
    odometry = DiffOdometry(ROBOT.geometry)
    generator, torque, rows = np.random.default_rng(seed), (0.0, 0.0), []
    angles, _ = encoders.read((0.0, 0.0), (0.0, 0.0))
    odometry.update(0.0, angles)
    for k in range(samples):
        if k % 20 == 0:
            torque = tuple(map(float, generator.uniform(-0.3, 0.3, 2)))
        engine.step(torque, PERIOD)
        angles, _ = encoders.read(engine.wheel_angles(), engine.wheel_velocities())
        odometry.update((k + 1) * PERIOD, angles)
        state = State(odometry.pose, odometry.velocity, torque)
        rows.append(np.subtract(estimate.motion(state, PERIOD).velocity, engine.velocity()))
    return np.array(rows)


def rms(result):
    return np.sqrt(np.mean(result**2, axis=0))


@pytest.mark.parametrize(("counts", "fraction"), [(512, 0.2), (2048, 0.3), (4096, 0.4)])
def test_it_lets_less_noise_through_than_the_estimate_that_knows_no_counts(counts, fraction):
    # Largest of seeds 0 to 2: 0.13, 0.21, 0.29 of it.
    for seed in range(3):
        observed = rms(errors(lambda k: MotionObserver(k, wheels(counts)), counts, seed))
        before = rms(errors(lambda k: VelocityEstimate(k, True), counts, seed))
        assert np.all(observed < fraction * before)


def test_exact_encoders_are_followed_closely():
    # 24 um/s and 0.24 mrad/s with this seed.
    observed = rms(errors(lambda k: MotionObserver(k, wheels()), 0, 0))
    assert observed[0] < 5e-5 and observed[1] < 5e-4


@pytest.mark.parametrize("factor", [0.7, 1.3])
@pytest.mark.parametrize("counts", [0, 512, 2048])
def test_a_model_that_is_30_percent_wrong_does_not_lead_it_astray(factor, counts):
    # The torque gives up to 1.6 m/s^2 here, of which 0.5 m/s^2 are not known.
    result = errors(lambda k: MotionObserver(k, wheels(counts)), counts, 1, factor)
    before = errors(lambda k: VelocityEstimate(k, True), counts, 1, factor)
    assert np.abs(result[-100:, 0]).mean() < 0.02
    # To trust a wrong model costs something: 0.8 to 1.6 times the error of before.
    assert np.all(rms(result) < (2.0 * rms(before) if counts else (0.01, 0.05)))


def moving(velocity, torque=(0.0, 0.0)):
    return State(Pose(0.0, 0.0, 0.0), velocity, torque)


def creeping(counts, seed):
    """Velocity minus truth, (n, 2), while a robot with friction creeps ahead at 3 mm/s."""
    law = FrictionLaw(viscous=0.0, coulomb=0.05)
    observer = MotionObserver(ROBOT_K, wheels(counts, (law, law)))
    encoders, odometry = Encoders(counts, PERIOD, seed), DiffOdometry(ROBOT.geometry)
    speed, rows = 0.003 / ROBOT.geometry.left_radius, []
    for k in range(600):
        turned = speed * k * PERIOD
        odometry.update(k * PERIOD, encoders.read((turned, turned), (speed, speed))[0])
        state = State(odometry.pose, odometry.velocity, (0.05, 0.05))
        rows.append(np.subtract(observer.motion(state, PERIOD).velocity, (0.003, 0.0)))
    return np.array(rows[300:])


def test_the_velocity_of_a_robot_that_creeps_is_quiet():
    for seed in range(20, 24):
        v, omega = rms(creeping(2048, seed))
        assert v < 3e-4 and omega < 1.5e-3


def test_the_model_is_doubted_with_torque_speed_and_what_it_does_not_explain():
    full = NOISE * 2.0 * ROBOT.limits.traction * ROBOT_K.k7
    small = (0.01 * ROBOT.limits.traction,) * 2
    observer = MotionObserver(ROBOT_K, wheels(2048))
    assert observer.unknown((0.0, 0.0)).v == pytest.approx(QUIET * full)
    assert observer.unknown((0.5 * ROBOT.limits.traction, 0.0)).v == pytest.approx(0.5 * full)
    for _ in range(200):
        observer.motion(moving(Velocity(BRISK, 0.0), small), PERIOD)
    assert observer.unknown(small).v == pytest.approx(full, rel=0.02)
    assert MotionObserver(ROBOT_K, wheels(0)).unknown((0.0, 0.0)).v == pytest.approx(full)


@pytest.mark.parametrize("known", [True, False])
def test_its_model_has_the_gears_of_the_engine(known):
    """Velocities by the rates alone, with periods of 1 ms: driving, braking, reversing, resting.

    Largest error of v: 0.0007 m/s, and 0.15 m/s of a model without the gears.
    """
    losses, coulomb = (0.2, 0.3), (0.1, 0.15)
    friction = replace(ROBOT.friction, viscous=(0.0, 0.0), coulomb=coulomb, gear_loss=losses)
    engine = make_simulator("ideal", replace(ROBOT, friction=friction))
    laws = tuple(
        FrictionLaw(0.0, c, gear_loss=g if known else 0.0)
        for c, g in zip(coulomb, losses, strict=True)
    )
    observer, u = MotionObserver(engine.parameters(), wheels(0, laws)), Velocity(0.0, 0.0)
    most, period = 0.0, 0.001
    for k in range(3000):
        time = k * period
        torque = (0.6 * math.sin(10.0 * time), 0.6 * math.sin(13.0 * time))
        if time >= 1.5:
            # 0.125 and 0.214 N m start the wheels.
            torque = (0.0, 0.0) if time < 2.5 else (0.12, 0.2)
        rate, stuck = observer.rate(u, torque, period)
        u = Velocity(u.v + period * rate.v, u.omega + period * rate.omega)
        engine.step(torque, period)
        most = max(most, abs(u.v - engine.velocity()[0]))
    assert (most < 2e-3) == known, most
    assert stuck == known


def test_wheels_that_slip_are_followed_by_their_counts():
    # The model knows of no torque, and the wheels turn all the same.
    observer = MotionObserver(ROBOT_K, wheels(2048))
    for _ in range(100):
        observer.motion(moving(Velocity(0.0, 0.0)), PERIOD)
    for _ in range(4):
        motion = observer.motion(moving(Velocity(1.0, 0.0)), PERIOD)
    assert motion.velocity.v == pytest.approx(1.0, abs=0.1)


def test_what_the_model_does_not_know_is_found():
    observer = MotionObserver(ROBOT_K, wheels(0))
    full = 2.0 * ROBOT.limits.traction * ROBOT_K.k7
    v = 0.0
    for _ in range(200):
        before, v = v, v - 0.1 * full * PERIOD
        observer.motion(moving(Velocity(0.5 * (before + v), 0.0)), PERIOD)
    assert observer.bias.v == pytest.approx(-0.1 * full, rel=0.05)


def test_what_a_blocked_robot_taught_is_soon_forgotten():
    """Half of all torque for 20 s and no motion: the bound is met, and left with the motion."""
    limited = replace(wheels(2048), torque=ROBOT.limits.torque, limit=ROBOT.limits.traction)
    observer = MotionObserver(ROBOT_K, limited)
    half, rate = 0.5 * ROBOT.limits.traction, ROBOT.limits.traction * ROBOT_K.k7
    for _ in range(2000):
        observer.motion(moving(Velocity(0.0, 0.0), (half, half)), PERIOD)
    bound = BIAS_OF_LIMIT * 2.0 * ROBOT.limits.traction * ROBOT_K.k7
    assert observer.bias.v == pytest.approx(-bound)
    v = 0.0
    for _ in range(100):
        before, v = v, v + rate * PERIOD
        observer.motion(moving(Velocity(0.5 * (before + v), 0.0), (half, half)), PERIOD)
    assert abs(observer.bias.v) < 0.2 * bound


@pytest.mark.parametrize("make", [tuned_backstepping, tuned_polar_pose])
def test_a_robot_that_was_blocked_for_long_goes_to_its_goal_and_not_far_beyond(make):
    engine = make_simulator("ideal", ROBOT)
    # 9 % and 1 % beyond it here; what the observer had learnt without a bound took it 17 m away.
    limit, counted = ROBOT.limits.traction, replace(wheels(4096), torque=ROBOT.limits.torque)
    law = make(engine.parameters(), limit, mean_velocity=True, wheels=counted)
    odometry, encoders = DiffOdometry(ROBOT.geometry), Encoders(4096, PERIOD, 0)
    odometry.update(0.0, encoders.read(engine.wheel_angles(), engine.wheel_velocities())[0])
    ways = []
    for k in range(1500):
        state = State(odometry.pose, odometry.velocity)
        torque = law.update(state, Reference(0.8, 0.0, 0.0), PERIOD)
        if not 50 <= k < 1050:
            engine.step(tuple(max(-limit, min(limit, t)) for t in torque), PERIOD)
        angles, _ = encoders.read(engine.wheel_angles(), engine.wheel_velocities())
        odometry.update((k + 1) * PERIOD, angles)
        ways.append(engine.pose()[0])
    assert max(ways) < 1.0
    assert ways[-1] == pytest.approx(0.8, abs=0.005)


def test_a_robot_that_friction_holds_has_no_velocity_and_learns_no_bias():
    sticky = FrictionLaw(viscous=0.0, coulomb=0.2)
    observer = MotionObserver(ROBOT_K, wheels(2048, (sticky, sticky)))
    for _ in range(100):
        motion = observer.motion(moving(Velocity(0.0, 0.0), (0.15, 0.15)), PERIOD)
    assert motion.stuck and motion.bias == (0.0, 0.0)
    assert motion.velocity == pytest.approx((0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("delay", [0.01, 0.02, 0.025, 0.035])
def test_it_foretells_the_motion_one_delay_ahead(delay):
    engine = make_simulator("ideal", ROBOT)
    observer = MotionObserver(engine.parameters(), wheels(0, delay=delay))
    odometry = DiffOdometry(ROBOT.geometry)
    odometry.update(0.0, engine.wheel_angles())
    generator = np.random.default_rng(3)
    step = 0.005
    commands, foretold, worst, torque = [], {}, np.zeros(3), (0.0, 0.0)
    for k in range(300):
        if k % 5 == 0:
            torque = tuple(map(float, generator.uniform(-0.3, 0.3, 2)))
        commands.append(torque)
        for half in (0, 1):
            late = math.floor(k + 0.5 * half - delay / PERIOD + 1e-9)
            engine.step(commands[late] if late >= 0 else (0.0, 0.0), step)
            now = 2 * k + half + 1
            if now in foretold:
                worst = np.maximum(worst, np.abs(np.subtract(foretold[now], engine.pose())))
        odometry.update((k + 1) * PERIOD, engine.wheel_angles())
        state = State(odometry.pose, odometry.velocity, torque)
        motion = observer.predicted(observer.motion(state, PERIOD))
        foretold[2 * (k + 1) + round(delay / step)] = motion.pose
    assert worst[:2].max() < 2e-4 and worst[2] < 2e-3


def foretold(periods, delay=0.02, commands=(0.2, 0.4)):
    """Velocities foretold after so many periods, s, each torque of which lasts 0.05 s."""
    observer = MotionObserver(ROBOT_K, wheels(0, delay=delay))
    time, v, velocities = 0.0, 0.0, []
    rate = 2.0 * ROBOT_K.k7

    def acting(now):
        return 0.0 if now < delay else commands[int((now - delay + 1e-9) / 0.05) % 2]

    for period in periods:
        torque = commands[int((time + 1e-9) / 0.05) % 2]
        steps = 50
        before = v
        path = 0.0
        for k in range(steps):
            a = rate * acting(time + (k + 0.5) * period / steps)
            path += (v + 0.5 * a * period / steps) * period / steps
            v += a * period / steps
        time += period
        state = State(Pose(0.0, 0.0, 0.0), Velocity(path / period, 0.0), (torque, torque))
        velocities.append(observer.predicted(observer.motion(state, period)).velocity.v)
        assert v >= before
    return time, velocities


def test_a_burst_of_samples_does_not_change_what_is_foretold():
    """Two samples 1 us apart: a delay of 20 ms is not 20 000 periods, and no torque is lost."""
    _, even = foretold([0.01] * 40)
    _, burst = foretold([0.01] * 20 + [0.01 - 1e-6, 1e-6] + [0.01] * 19)
    assert burst[19] == pytest.approx(even[19], abs=1e-3)
    for late, wanted in zip(burst[21:], even[20:], strict=True):
        assert late == pytest.approx(wanted, abs=0.01)


@given(
    st.lists(st.tuples(st.floats(-3.0, 3.0), st.floats(-10.0, 10.0)), min_size=1, max_size=60),
    st.lists(st.floats(-5.0, 5.0), min_size=2, max_size=60),
    st.sampled_from([0, 100, 2048]),
    st.sampled_from([0.0, 0.017]),
)
def test_it_stays_finite_whatever_the_encoders_and_torques_say(means, torques, counts, delay):
    sticky = FrictionLaw(viscous=0.01, coulomb=0.1, static=0.2, stribeck_velocity=0.1)
    observer = MotionObserver(ROBOT_K, wheels(counts, (sticky, sticky), delay))
    for k, mean in enumerate(means):
        torque = torques[k % len(torques)], torques[(k + 1) % len(torques)]
        state = State(Pose(0.0, 0.0, 0.0), Velocity(*mean), torque)
        motion = observer.predicted(observer.motion(state, 0.005 + 0.01 * (k % 3)))
        assert all(map(math.isfinite, (*motion.pose, *motion.velocity, *motion.bias)))
        assert abs(motion.bias.v) <= LARGEST_BIAS * 2.0 * ROBOT.limits.traction * ROBOT_K.k7
    assert abs(motion.velocity.v) < 10.0
