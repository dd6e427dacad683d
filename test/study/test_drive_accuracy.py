# SPDX-License-Identifier: Apache-2.0
"""How well the laws drive, engine, encoders and torque limits included, without any ROS graph.

Every start of every ensemble has to be as good as users are promised; benchmarks/driving.py
prints what is reached, over more starts.
"""

import math
from functools import cache

import numpy as np
import pytest

from diffbot_controllers import (
    PublishedBackstepping,
    approach_gains,
    tuned_backstepping,
    tuned_polar_pose,
)
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import load_robot
from diffbot_sim.engines import make_simulator
from diffbot_study.driving import simulate_drive
from pose2d_trajectories import Reference, make_trajectory

STRONG = 5.0  # N m, the motors' torque limit of twil
# agv has friction, twil has none.
ROBOTS = {name: load_robot(name) for name in ("twil", "agv")}
ROBOTS["agv without friction"] = ROBOTS["agv"].without_friction()
# Ax and Ay in m, Tp in s: the fast ones of benchmarks/driving.py, and some large ones.
EIGHTS = (
    (0.3, 0.15, 15.0),
    (0.5, 0.5, 15.0),
    (1.0, 1.0, 15.0),
    (2.0, 0.5, 20.0),
    (3.0, 1.5, 20.0),
)


@cache
def engine_of(engine, name):
    """One engine for all runs of a robot: each run resets it."""
    return make_simulator(engine, ROBOTS[name])


class Course:
    """One robot on one engine with one torque limit."""

    def __init__(self, engine, name, limit=None, make=tuned_backstepping):
        self.engine, self.robot = engine_of(engine, name), ROBOTS[name]
        self.limit = limit or self.robot.limits.traction
        self._make = make

    def drive(self, reference, duration, start, counts=None, seed=0):
        """A run of a new law, checked for the promises that hold in every run."""
        limits = self.robot.limits
        law = self._make(
            self.engine.parameters(),
            self.limit,
            limits.linear_velocity,
            limits.angular_velocity,
            mean_velocity=True,
            wheels=KnownWheels.of(self.robot, counts),
        )
        run = simulate_drive(
            self.engine,
            self.robot,
            law,
            reference,
            duration,
            start=tuple(map(float, start)),
            encoder_counts=counts,
            torque_limit=self.limit,
            seed=seed,
        )
        assert run.peak_torque <= self.limit
        change = np.abs(np.diff(run.torque, axis=0)).max()
        assert change <= limits.torque_rate * 0.01 * (1.0 + 1e-9)
        # 2 %: what counts of the encoders make of a speed at its limit.
        assert np.all(
            run.peak_speeds <= 1.02 * np.array([limits.linear_velocity, limits.angular_velocity])
        )
        return run


def perturbations(count=6, seed=0):
    """Starts within 1 mm and 1 mrad."""
    return np.random.default_rng(seed).uniform(-1e-3, 1e-3, (count, 3))


@pytest.mark.parametrize(
    ("goal", "longest"), [((1.0, 0.0, 0.0), 1.3), ((5.0, 0.0, 0.0), 2.8), ((0.0, 1.0, 0.0), 2.0)]
)
def test_parks_in_time_on_the_ideal_engine(goal, longest):
    # 6 starts with exact angles, 2 of them with encoders too.
    course = Course("ideal", "twil", STRONG)
    starts = perturbations()
    for seed, start in enumerate([*starts, *starts[:2]]):
        counts = 0 if seed < len(starts) else 4096
        run = course.drive(lambda t: Reference(*goal), longest + 0.5, start, counts, seed)
        assert run.true.settling_time <= longest


@pytest.mark.parametrize(
    ("name", "goal", "longest"),
    [
        ("twil", (5.0, 0.0, 0.0), 4.6),
        ("agv", (0.0, 1.0, 0.0), 5.6),
        ("agv without friction", (5.0, 0.0, 0.0), 7.4),
    ],
)
def test_parks_on_wheels_that_can_slip(name, goal, longest):
    # 3 starts of twil and 2 of agv with the standard law, one of each with the polar law too.
    starts = perturbations(3 if name == "twil" else 2)
    for seed, start in enumerate([*starts, starts[0]]):
        make = tuned_backstepping if seed < len(starts) else tuned_polar_pose
        course = Course("mujoco", name, make=make)
        run = course.drive(lambda t: Reference(*goal), longest + 0.5, start, seed=seed)
        assert run.true.settling_time <= longest
        # Wheels that slip would show as drift.
        assert run.drift.largest(0.0)[0] <= 5e-3


def test_the_published_law_comes_near_within_the_torque_limits():
    """Near e = 0 it is chaotic: only what all runs, or most of them, have in common is promised.

    Of 200 such runs, after 6 s: 0.3 mm (median), 1.5 mm (90 %) and 11 mm (worst) away, and turned
    by 9, 42 and 98 mrad; a third had not settled. That 10 of 20 are beyond what 1 in 10 is beyond
    has a probability below 1e-5.
    """
    engine, robot, goal = engine_of("ideal", "twil"), ROBOTS["twil"], Reference(1.0)
    results = []
    for seed, start in enumerate(perturbations(20)):
        law = PublishedBackstepping(engine.parameters(), torque_limit=STRONG)
        run = simulate_drive(
            engine, robot, law, lambda t: goal, 6.0, start=tuple(map(float, start)),
            encoder_counts=4096, torque_limit=STRONG, seed=seed,
        )  # fmt: skip
        assert np.isfinite(run.pose).all() and np.isfinite(run.torque).all()
        assert run.peak_torque == STRONG
        results.append((run.true.distance[-100:].max(), run.true.heading[-1]))
    results = np.array(results)
    assert results[:, 0].max() <= 0.05 and results[:, 1].max() <= 0.5
    distance, heading = np.median(results, axis=0)
    assert distance <= 5e-3 and heading <= 0.045


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_figure_eight_on_the_ideal_engine(seed):
    # One start per figure, forwards and backwards in turn, 0.5 m away in a direction of its own.
    # What is judged is the second half of a lap, of which the first is the mirror image.
    eight = EIGHTS[seed]
    trajectory = figure_eight(*eight, backwards=seed % 2 == 1)
    course = Course("ideal", "twil", STRONG)
    run = course.drive(trajectory.at, eight[2], beside(trajectory, seed), 0, seed)
    distance, heading = run.true.rms(0.5 * eight[2])
    assert distance <= 0.5e-3
    assert heading <= math.radians(0.3)


@pytest.mark.parametrize("backwards", [False, True])
def test_figure_eight_on_wheels_that_can_slip(backwards):
    # Promised: 5 mm. A start for each direction.
    trajectory = figure_eight(1.0, 0.5, 20.0, backwards)
    course = Course("mujoco", "twil")
    seed = int(backwards)
    run = course.drive(trajectory.at, 32.0, beside(trajectory, seed), seed=seed)
    distance, heading = run.true.rms(12.0)
    assert distance <= 2e-3 and heading <= math.radians(0.3)
    assert run.by_odometry.rms(12.0)[0] <= 0.5e-3


@pytest.mark.parametrize("name", ["twil", "agv"])
def test_reference_that_jumps_by_100_m_and_back_in_the_middle_of_a_track(name):
    # It comes back when the robot is under way at speed: it has to slow down before it turns.
    # Turning at once, at 9 m/s^2 sideways, twil slipped by 16 mm.
    course = Course("mujoco", name)
    eight = figure_eight(1.0, 0.5, 40.0, False)

    def reference(t):
        here = eight.at(t)
        away = 100.0 if 4.0 <= t < 6.0 else 0.0
        return Reference(
            here.x + away, here.y - away, here.theta, here.v, here.omega, here.dv, here.domega
        )

    run = course.drive(reference, 24.0, beside(eight, 1))
    assert run.true.largest(23.0)[0] <= 2e-3
    assert run.drift.largest(0.0)[0] <= 2e-3
    limits = course.robot.limits
    bound = approach_gains(
        course.engine.parameters(), course.limit, limits.linear_velocity, limits.angular_velocity
    ).lateral_acceleration
    assert np.abs(np.prod(run.velocity, axis=1)).max() <= 1.05 * bound


def test_a_heading_of_a_million_radians():
    course = Course("ideal", "twil", STRONG)
    goal = Reference(0.5, 0.5, -1e6)
    assert course.drive(lambda t: goal, 3.0, (0.0, 0.0, 1.0 - -1e6)).true.settling_time <= 2.5


def figure_eight(ax, ay, period, backwards):
    return make_trajectory(
        "figure_eight",
        amplitude_x=ax,
        amplitude_y=ay,
        period=period,
        ramp_up=0.0,
        backwards=backwards,
    )


def beside(trajectory, seed):
    """0.5 m from the beginning of a trajectory in any direction, within 1 mm and 1 mrad."""
    generator = np.random.default_rng(seed)
    path = generator.uniform(-math.pi, math.pi)
    dx, dy, turn = generator.uniform(-1e-3, 1e-3, 3)
    first = trajectory.at(0.0)
    return (
        first.x + 0.5 * math.cos(path) + dx,
        first.y + 0.5 * math.sin(path) + dy,
        first.theta + turn,
    )
