# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from closed_loop import run

from diffbot_controllers import tuned_backstepping, tuned_polar_pose
from diffbot_description import DynamicParameters, load_robot
from diffbot_sim.engines import make_simulator
from pose2d_trajectories import Reference

PERIOD = 0.01
ROBOTS = {name: load_robot(name) for name in ("twil", "agv")}


@pytest.fixture(scope="module")
def plants():
    return {name: make_simulator("ideal", robot) for name, robot in ROBOTS.items()}


def geometry_of(name):
    return ROBOTS[name].geometry


def park(plants, goal, start, duration=3.0, name="twil", limit=5.0, encoders=False, period=PERIOD):
    plant = plants[name]
    plant.reset(tuple(map(float, start)))
    law = tuned_backstepping(plant.parameters(), limit, mean_velocity=encoders)
    return run(
        plant,
        lambda s, t: law.update(s, goal, period),
        lambda t: goal,
        duration,
        period,
        geometry_of(name) if encoders else None,
    )


@pytest.mark.parametrize(
    ("goal", "time"), [((1.0, 0.0, 0.0), 1.3), ((5.0, 0.0, 0.0), 2.8), ((0.0, 1.0, 0.0), 2.0)]
)
def test_parks_in_time_with_the_exact_velocity(plants, goal, time):
    # 3 starts, +-1 mm, +-1 mrad, seed 0; more of them, with encoders, in test_drive_accuracy.py.
    for start in np.random.default_rng(0).uniform(-1e-3, 1e-3, (3, 3)):
        result = park(plants, Reference(*goal), start)
        assert result.settling_time <= time
        assert np.abs(result.torque).max() <= 5.0


@pytest.mark.parametrize(("name", "limit"), [("twil", 5.0), ("twil", 0.5), ("agv", 25.0)])
def test_parks_from_anywhere_near_and_far(plants, name, limit):
    # 4 poses within 2 m, every other one within 10 cm, headings within 2 turns, seed 2.
    generator = np.random.default_rng(2)
    for index in range(4):
        place = generator.uniform(-2.0, 2.0, 2) * (0.05 if index % 2 else 1.0)
        start = (*place, generator.uniform(-12.0, 12.0))
        result = park(plants, Reference(), start, 9.0, name, limit)
        assert result.settling_time <= 8.0
        # It rests where it has arrived.
        assert np.abs(result.velocity[-20:]).max() < 1e-2


@pytest.mark.parametrize("period", [0.005, 0.001, 0.02])
def test_parks_at_other_rates(plants, period):
    for goal in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
        result = park(plants, Reference(*goal), (0.0, 0.0, 1e-3), period=period)
        assert result.settling_time <= 2.0


@pytest.mark.parametrize("turns", [-3, 1, 40])
def test_whole_turns_of_the_headings_do_not_matter(plants, turns):
    goal = Reference(1.0, 0.5, 0.3 + math.tau * turns)
    away = park(plants, goal, (0.0, 0.0, 0.1 - math.tau * turns))
    plain = park(plants, Reference(1.0, 0.5, 0.3), (0.0, 0.0, 0.1))
    assert away.settling_time == pytest.approx(plain.settling_time, abs=0.011)


def test_reference_step_gives_no_spike_even_without_a_torque_limit(plants):
    # Published: 223 N m. Here what the accelerations take, and the turning part of f(u).
    plant = plants["twil"]
    plant.reset()
    law = tuned_backstepping(plant.parameters(), 5.0)
    goals = (Reference(1.0), Reference(-1.0, 0.5, 2.0), Reference(0.0, 0.0, -3.0))
    result = run(
        plant,
        lambda s, t: law.update(s, goals[min(int(t), 2)], PERIOD),
        lambda t: goals[min(int(t), 2)],
        5.0,
    )
    assert np.abs(result.torque).max() <= 5.0
    assert result.error[-1] == pytest.approx(0.0, abs=0.01)
    acceleration = np.abs(np.diff(result.velocity[:, 0])) / PERIOD
    assert acceleration.max() < 0.7 * 2.0 * 5.0 * 2.6468


def test_jump_of_100_m_is_driven_at_bounded_speed(plants):
    result = park(plants, Reference(60.0, -80.0, 1.0), (0.0, 0.0, 0.0), 38.0)
    assert np.abs(result.velocity[:, 0]).max() <= 3.0 * 1.02
    assert np.abs(result.velocity[:, 1]).max() <= 10.0 * 1.02
    assert result.settling_time <= 37.0


@pytest.mark.parametrize("name", ["twil", "agv"])
def test_a_start_beside_the_goal_by_millimetres_settles_too(plants, name):
    # Right beside the goal it can only turn: psi, even a share of it, must not hold its heading.
    for distance, path, theta in (
        (0.001, 0.5 * math.pi, 0.1),
        (0.002, 0.5 * math.pi, 0.0),
        (0.0025, -1.3, 0.3),
        (0.0025, 1.084, 0.3),
        (0.003, 1.571, 1.571),
        (0.006, 1.084, -1.916),
    ):
        start = (distance * math.cos(path), distance * math.sin(path), theta)
        limit = ROBOTS[name].limits.traction
        result = park(plants, Reference(), start, 3.5, name, limit)
        assert result.settling_time <= 3.0, start


@pytest.mark.parametrize("turn", [1.985, math.pi, 2.675])
def test_no_speed_is_above_its_limit_where_eta_runs_into_it(plants, turn):
    # Turned away from a goal nearby; omega was up to 6 % too fast.
    for start in ((-0.0142, 0.0, turn), (-0.47, 0.1, turn), (0.15, 0.0, turn)):
        result = park(plants, Reference(), start, 1.5)
        assert np.abs(result.velocity[:, 0]).max() <= 3.0 * 1.001
        assert np.abs(result.velocity[:, 1]).max() <= 10.0 * 1.001


def test_no_speed_is_above_its_limit_where_little_torque_is_left(plants):
    # 1 N m holds v against K5 omega^2 up to 7.9 rad/s only: v ran away to 3.2 m/s.
    plant = plants["twil"]
    for start in ((0.0007, 0.0128, -1.384), (-0.043, 0.164, 0.664), (3.0, -2.0, 2.5)):
        plant.reset(start)
        law = tuned_polar_pose(plant.parameters(), 1.0)
        result = run(
            plant,
            lambda s, t, law=law: law.update(s, Reference(), PERIOD),
            lambda t: Reference(),
            8.0,
        )
        assert np.abs(result.velocity[:, 0]).max() <= 3.0 * 1.02
        assert result.settling_time <= 7.0


@pytest.mark.parametrize(
    "factors",
    [(1.3, 1.3, 1.3, 1.3), (0.7, 0.7, 0.7, 0.7), (1.3, 0.7, 0.7, 1.3), (0.7, 1.3, 1.3, 0.7)],
)
def test_wrong_parameters_and_a_payload_do_not_make_it_unstable(plants, factors):
    # K's wrong by 30 % each; then half as much mass and inertia again, in the robot's own middle.
    plant = plants["twil"]
    true = plant.parameters()
    wrong = DynamicParameters(
        *(f * k for f, k in zip(factors, (true.k5, true.k6, true.k7, true.k8), strict=True))
    )
    body = ROBOTS["twil"].body
    for fraction in (0.0, 0.5):
        plant.set_payload(
            fraction * body.mass, body.center_of_mass.x, 0.1, fraction * body.inertia.yaw
        )
        for start in ((0.0, -1.0, 0.0), (2.0, 1.0, -2.0)):
            plant.reset(start)
            law = tuned_backstepping(wrong, 5.0, mean_velocity=True)
            result = run(
                plant,
                lambda s, t, law=law: law.update(s, Reference(), PERIOD),
                lambda t: Reference(),
                4.0,
                PERIOD,
                geometry_of("twil"),
            )
            assert result.settling_time <= 3.0
            assert np.abs(result.velocity[-20:]).max() < 1e-2
    plant.set_payload(0.0, 0.0, 0.0, 0.0)
