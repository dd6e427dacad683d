import math

import numpy as np
import pytest

from arc_odometry import WheelGeometry
from diffbot_controllers import BodyDynamics, Reference, tuned_backstepping
from diffbot_controllers.closed_loop import run
from diffbot_description import load_robot
from diffbot_sim.engines import make_simulator

PERIOD = 0.01
ROBOTS = {name: load_robot(name) for name in ("twil", "agv")}


@pytest.fixture(scope="module")
def plants():
    return {name: make_simulator("ideal", robot) for name, robot in ROBOTS.items()}


def dynamics_of(plant):
    k = plant.parameters()
    return BodyDynamics(k.k5, k.k6, k.k7, k.k8)


def geometry_of(name):
    wheels = ROBOTS[name].wheels
    return WheelGeometry(wheels.radius, wheels.radius, wheels.separation)


def park(plants, goal, start, duration=3.0, name="twil", limit=5.0, encoders=False, period=PERIOD):
    plant = plants[name]
    plant.reset(tuple(map(float, start)))
    law = tuned_backstepping(dynamics_of(plant), limit, mean_velocity=encoders)
    return run(
        plant,
        lambda s, t: law.update(s, goal, period),
        lambda t: goal,
        duration,
        period,
        geometry_of(name) if encoders else None,
    )


@pytest.mark.parametrize("encoders", [False, True])
@pytest.mark.parametrize(
    ("goal", "time"), [((1.0, 0.0, 0.0), 1.3), ((5.0, 0.0, 0.0), 2.8), ((0.0, 1.0, 0.0), 2.0)]
)
def test_parks_in_time_from_every_one_of_15_starts(plants, goal, time, encoders):
    # +-1 mm, +-1 mrad, seed 0. Settled: stays within 1 cm and 1 degree.
    for start in np.random.default_rng(0).uniform(-1e-3, 1e-3, (15, 3)):
        result = park(plants, Reference(*goal), start, encoders=encoders)
        assert result.settling_time <= time
        assert np.abs(result.torque).max() <= 5.0


@pytest.mark.parametrize(("name", "limit"), [("twil", 5.0), ("twil", 0.5), ("agv", 25.0)])
def test_parks_from_anywhere_near_and_far(plants, name, limit):
    # 16 poses within 2 m, every other one within 10 cm, headings within 2 turns, seed 2.
    generator = np.random.default_rng(2)
    for index in range(16):
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
    law = tuned_backstepping(dynamics_of(plant), 5.0)
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
