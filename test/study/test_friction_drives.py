# SPDX-License-Identifier: Apache-2.0
"""Robots with friction, driven by laws that know it; benchmarks/friction_drives.py has the table.

Starts and encoder phases are drawn by seeds; the robot is agv with the friction of a real one.
"""

import importlib
import math
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diffbot_controllers import tuned_backstepping, tuned_polar_pose
from diffbot_controllers.friction_adaptation import friction_laws, friction_values
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import load_robot
from diffbot_description.dynamics import NO_FRICTION
from diffbot_description.robot import Friction, Turning
from diffbot_ident.estimators import LiveSettings
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import PayloadSchedule, SlopedFloor, payload_from_text
from diffbot_study.driving import LiveAdaptation, simulate_drive
from pose2d_trajectories import Reference, make_trajectory

LAP = 20.0  # s
EIGHT = make_trajectory("figure_eight", amplitude_x=1.0, amplitude_y=1.0, period=LAP, ramp_up=0.0)
AGV = load_robot("agv")
LIMIT = AGV.limits.traction
ROUGH = replace(AGV, friction=Friction(viscous=(0.05, 0.08), coulomb=(2.0, 1.5)))
GEARED = replace(ROUGH, friction=replace(ROUGH.friction, gear_loss=(0.2, 0.3)))


@pytest.fixture
def benchmarks(monkeypatch):
    """The module of benchmarks/friction_drives.py."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    return importlib.import_module("friction_drives")


def law_of(engine, robot, wheels, make=tuned_backstepping):
    speeds = robot.limits.linear_velocity, robot.limits.angular_velocity
    return make(engine.parameters(), LIMIT, *speeds, mean_velocity=True, wheels=wheels)


def eight(robot, wheels, seed=0, delay=0):
    engine = make_simulator("ideal", robot)
    first = EIGHT.at(0.0)
    start = (first.x + 0.1, first.y - 0.1, first.theta)
    law = law_of(engine, robot, wheels)
    return simulate_drive(
        engine, robot, law, EIGHT.at, LAP, start=start, seed=seed, torque_delay=delay
    )


@pytest.mark.parametrize(("fraction", "position"), [(0.15, 0.5), (0.35, 1.0)])
def test_a_robot_on_four_wheels_stays_on_its_eight(fraction, position):
    """The floor takes that share of the wheels' largest moment, and the law knows it.

    Seed 0: 0.17 and 0.26 mm; with laws that do not know it 1.75 and 316 mm.
    """
    both = AGV.geometry.body_wrench(-LIMIT, LIMIT)[1]
    floor = Turning(viscous=0.02 * both, coulomb=fraction * both)
    robot = replace(ROUGH, turning=floor, contact=replace(ROUGH.contact, caster_friction=0.0))
    known = KnownWheels.of(robot)
    assert 1e3 * eight(robot, known).true.rms(0.5 * LAP)[0] < position
    unknown = replace(known, turning=NO_FRICTION)
    assert 1e3 * eight(robot, unknown).true.rms(0.5 * LAP)[0] > 2.0 * position


def scaled(factor):
    known = KnownWheels.of(ROUGH)
    values = [factor * value for value in friction_values(known.friction)]
    return replace(known, friction=friction_laws(known.friction, values))


# Seeds 0 and 1: 0.16 and 0.19 mm, 0.008 and 0.009 degrees; 30 % wrong: 0.95 to 1.01 mm.
@pytest.mark.parametrize(("factor", "position"), [(1.0, 1.0), (0.7, 2.0)])
def test_a_robot_with_friction_stays_on_its_eight(factor, position):
    run = eight(ROUGH, scaled(factor))
    distance, heading = run.true.rms(0.5 * LAP)
    assert 1e3 * distance < position
    if factor == 1.0:
        assert math.degrees(heading) < 0.1
        assert run.true.settling_time <= 1.3 * eight(AGV, KnownWheels.of(AGV)).true.settling_time


# Seeds 0 and 1: 0.21 mm; with the loss taken as Coulomb friction 1.2 mm.
def test_a_robot_with_gears_stays_on_its_eight_and_parks(benchmarks):
    known = KnownWheels.of(GEARED)
    error = eight(GEARED, known).true.rms(0.5 * LAP)[0]
    assert 1e3 * error < 0.5
    taken_as_coulomb = KnownWheels.of(benchmarks.gears_as_coulomb(GEARED))
    assert eight(GEARED, taken_as_coulomb).true.rms(0.5 * LAP)[0] > 2.0 * error
    engine = make_simulator("ideal", GEARED)
    for make in (tuned_backstepping, tuned_polar_pose):
        run = simulate_drive(
            engine, GEARED, law_of(engine, GEARED, KnownWheels.of(GEARED, 2048), make),
            lambda _: Reference(), 9.0, start=(0.3, 0.2, 1.0), encoder_counts=2048,
        )  # fmt: skip
        distance, heading = run.true.largest(8.5)
        assert 1e3 * distance < 1.0 and math.degrees(heading) < 0.2
        assert run.sign_changes(7.0) < 1.0


def test_a_delay_that_is_known_costs_less_than_half_of_the_error_and_unknown_more():
    known = replace(KnownWheels.of(ROUGH, 0), delay=0.02)
    without = eight(ROUGH, KnownWheels.of(ROUGH, 0)).true.rms(0.5 * LAP)[0]
    assert eight(ROUGH, known, delay=2).true.rms(0.5 * LAP)[0] < 1.5 * without + 1e-4
    assert eight(ROUGH, KnownWheels.of(ROUGH, 0), delay=2).true.rms(0.5 * LAP)[0] > 2.0 * without


@pytest.mark.parametrize(
    ("robot", "make"), [(AGV, tuned_polar_pose), (ROUGH, tuned_backstepping)], ids=["agv", "rough"]
)
def test_a_robot_on_a_slope_rests_at_its_goal(robot, make):
    """Where its friction does not hold it, a constant torque does."""
    engine = make_simulator("ideal", robot)
    for seed, slope in ((0, 2.0), (1, 5.0)):
        run = simulate_drive(
            engine,
            robot,
            law_of(engine, robot, KnownWheels.of(robot, 2048), make),
            lambda _: Reference(),
            12.0,
            start=(0.3, 0.2, 1.0 + seed),
            encoder_counts=2048,
            seed=seed,
            floor=SlopedFloor(robot, slope, downhill=100.0 * seed),
        )
        last = run.time > 9.0
        x, y, _ = run.true.error[last].T
        assert 1e3 * np.hypot(x, y).max() < 0.6, (seed, slope)
        assert np.ptp(run.torque[last], axis=0).max() == 0.0, (seed, slope)


@pytest.mark.parametrize("make", [tuned_backstepping, tuned_polar_pose])
def test_a_robot_with_friction_parks_and_then_its_torque_is_quiet(make):
    engine = make_simulator("ideal", ROUGH)
    for seed in range(2):
        draw = np.random.default_rng(seed)
        away, direction, theta = 0.5 * draw.random(), *draw.uniform(-math.pi, math.pi, 2)
        run = simulate_drive(
            engine,
            ROUGH,
            law_of(engine, ROUGH, KnownWheels.of(ROUGH, 2048), make),
            lambda _: Reference(),
            9.0,
            start=(away * math.cos(direction), away * math.sin(direction), float(theta)),
            encoder_counts=2048,
            seed=seed,
        )
        distance, heading = run.true.largest(8.5)
        assert 1e3 * distance < 1.0 and math.degrees(heading) < 0.2
        assert run.sign_changes(7.0) < 1.0
        assert run.chatter(LIMIT, 7.0) < 0.03


# Turned by half a radian to 3 and 1 to 5 cm beside the goal, where its direction is noise. Largest
# of seeds 40 to 42: 1.4 and 1.8 %; before the set points were gradual 2.1 and 2.8 %.
@pytest.mark.parametrize(
    ("make", "counts", "fraction"),
    [(tuned_backstepping, 512, 0.025), (tuned_polar_pose, 2048, 0.02)],
)
def test_a_robot_with_friction_parks_without_shaking_its_gears(make, counts, fraction):
    engine = make_simulator("ideal", ROUGH)
    for seed in range(40, 43):
        draw = np.random.default_rng(seed)
        away, direction = draw.uniform(0.01, 0.05), draw.uniform(-math.pi, math.pi)
        theta = draw.choice((-1.0, 1.0)) * draw.uniform(0.5, 3.0)
        run = simulate_drive(
            engine,
            ROUGH,
            law_of(engine, ROUGH, KnownWheels.of(ROUGH, counts), make),
            lambda _: Reference(),
            10.0,
            start=(away * math.cos(direction), away * math.sin(direction), float(theta)),
            encoder_counts=counts,
            seed=seed,
        )
        assert run.chatter(LIMIT) <= fraction
        assert run.sign_changes(max(3.0, run.true.settling_time)) < 1.0


# Runs of benchmarks/friction_drives.py that had 3.3, 2.5 and 2.3 % before the set points were
# gradual; they have 1.9, 1.3 and 1.2 %.
@pytest.mark.parametrize(
    ("engine", "law", "seed", "start", "fraction"),
    [
        ("mujoco", "pose", 27001, 3, 0.025),
        ("ideal", "pose", 28000, 3, 0.018),
        ("ideal", "backstepping", 28000, 3, 0.018),
    ],
)
def test_torque_does_not_swing_where_the_desired_yaw_rate_jumps(
    engine, law, seed, start, fraction, benchmarks, tmp_path
):
    robot = benchmarks.random_robot(seed, tmp_path, True, 2048)
    with closing(make_simulator(engine, robot)) as simulator:
        wheels = benchmarks.wheels_of(robot, 1.0, 2048)
        made = benchmarks.law_of(law, simulator.parameters(), robot, wheels)
        run = benchmarks.drive_to_goal(simulator, robot, made, seed, start, 2048)
    assert run.chatter(robot.limits.torque) < fraction
    distance, heading = run.true.largest(9.5)
    assert 1e3 * distance < 1.0 and math.degrees(heading) < 0.2


# Robots of benchmarks/friction_drives.py and their starts; their torque changed sign 1.07, 1.20,
# 1.01 and 1.14 times a second before it turned round with half of the friction at the least.
@pytest.mark.parametrize(("seed", "start"), [(7010, 1), (924, 3)])
def test_torque_does_not_go_on_alternating_where_a_wheel_is_to_stand(
    seed, start, benchmarks, tmp_path
):
    robot = benchmarks.random_robot(seed, tmp_path, True, 2048)
    engine = make_simulator("ideal", robot)
    wheels = benchmarks.wheels_of(robot, 1.0, 2048)
    law = benchmarks.law_of("pose", engine.parameters(), robot, wheels)
    run = benchmarks.drive_to_goal(engine, robot, law, seed, start, 2048)
    assert benchmarks.restless(run) < 1.0
    distance, heading = run.true.largest(9.5)
    assert 1e3 * distance < 1.0 and math.degrees(heading) < 0.2


def test_a_load_and_friction_that_change_together_are_both_followed():
    engine = make_simulator("ideal", ROUGH)
    # The law begins with 40 % less Coulomb friction than there is, and a load comes.
    reported = replace(ROUGH, friction=Friction(viscous=(0.05, 0.08), coulomb=(1.2, 0.9)))
    law = law_of(engine, ROUGH, KnownWheels.of(reported))
    schedule = PayloadSchedule(payload_from_text("30%", ROUGH), 10.0)
    live = LiveAdaptation(
        reported,
        engine.parameters(),
        law,
        also=lambda sample: schedule.apply(engine, sample.stamp),
        settings=LiveSettings(memory=5.0, friction_spread=0.5),
    )
    start = tuple(EIGHT.at(0.0).pose)
    simulate_drive(engine, ROUGH, law, EIGHT.at, 40.0, start=start, on_sample=live)
    coulomb = [wheel.coulomb for wheel in law.friction]
    assert coulomb == pytest.approx([2.0, 1.5], rel=0.15)
    true = engine.parameters()
    assert law.dynamics.k7 == pytest.approx(true.k7, rel=0.1)
    assert law.dynamics.k8 == pytest.approx(true.k8, rel=0.1)


def test_known_gear_losses_stay_known_while_a_load_is_learnt():
    """The law makes up for the gears' loss: if it also made K7 smaller, it would count twice."""
    geared = replace(ROUGH, friction=replace(ROUGH.friction, gear_loss=(0.1, 0.15)))
    engine = make_simulator("ideal", geared)
    law = law_of(engine, geared, KnownWheels.of(geared))
    before = law.friction
    schedule = PayloadSchedule(payload_from_text("30%", geared), 5.0)
    live = LiveAdaptation(
        geared, engine.parameters(), law, also=lambda sample: schedule.apply(engine, sample.stamp)
    )
    start = tuple(EIGHT.at(0.0).pose)
    simulate_drive(engine, geared, law, EIGHT.at, 20.0, start=start, on_sample=live)
    assert law.friction == before
    # Without taking the loss off the torques, both gains are 9 and 11 % too small.
    assert law.dynamics.k7 == pytest.approx(engine.parameters().k7, rel=0.02)
    assert law.dynamics.k8 == pytest.approx(engine.parameters().k8, rel=0.02)


def test_the_torque_limit_lifts_no_caster_of_the_benchmarks_robots(benchmarks, tmp_path):
    """One that falls back on a rigid floor throws the wheels off it: 3.7 mm on a figure of 8."""
    pytest.importorskip("mujoco")
    robot = benchmarks.random_robot(942, tmp_path, False, 4096)
    engine = make_simulator("mujoco", robot)
    limit = robot.limits.torque
    for torque in ((limit, limit), (-limit, -limit)):
        engine.reset()
        for _ in range(10):
            engine.step(torque, 0.01)
            *wheels, casters = engine.contact_loads()
            assert min(*wheels, casters) > 0.0
