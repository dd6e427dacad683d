# SPDX-License-Identifier: Apache-2.0
"""Drives of random torque robots in MuJoCo: figures of 8 that each robot can follow.

The robots are those of diffbot_study.random_robots, at 100 Hz, with their encoders and torque
noise, and torques that act 0 to 2 periods late.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import numpy as np

from diffbot_bench.control.driven import PATH_STEP, Driven, beside, driven, path_of
from diffbot_bench.control.peers import RegulatedPurePursuit, SpeedLoops, TimedKinematics
from diffbot_controllers.friction_adaptation import friction_laws
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.tuning import servo_limits, tuned_backstepping
from diffbot_description import DynamicParameters, Robot, closed_form
from diffbot_ident.estimate import EstimateState
from diffbot_sim.engines import make_simulator
from diffbot_study.driving import PERIOD, DriveSamples, Law, simulate_drive
from diffbot_study.random_robots import RandomRobot, draw
from diffbot_study.simulated_identification import simulate_identification
from pose2d_trajectories import Trajectory, make_trajectory
from pose2d_trajectories.timing import TrajectoryLimits

ENGINE = "mujoco"
# Share of what a robot can do in its figure-8, and time of its excitation, s.
FRACTION, EXCITED = 0.5, 20.0
# Control periods: most from a torque's command to its action, and of a held torque.
MOST_LATE, LONGEST_HOLD = 2, 100
SIZE = 2.0  # of the figure-8 along x, m
TORQUE_LAWS = {
    "diffbot": "the suite's backstepping law, identified",
    "kinematic_pid": "Kanayama's law (1990), PI on each wheel",
    "rpp_pid": "regulated pure pursuit of Nav2, PI on each wheel",
}


def figure(robot: Robot) -> Trajectory:
    """Return two laps of a figure-8 that the robot can follow."""
    limits = servo_limits(
        closed_form(robot.model),
        robot.limits.traction,
        robot.limits.linear_velocity,
        robot.limits.angular_velocity,
    )
    most = [FRACTION * each for each in (
        limits.linear_velocity, limits.angular_velocity,
        limits.linear_acceleration, limits.angular_acceleration,
    )]  # fmt: skip
    return make_trajectory(
        "figure_eight", limits=TrajectoryLimits(*most), laps=2,
        amplitude_x=SIZE, amplitude_y=0.6 * SIZE, period=20.0 * SIZE,
    )  # fmt: skip


def make_law(name: str, drawn: RandomRobot, trajectory: Trajectory) -> Law:
    """Return a law by its name in TORQUE_LAWS; ValueError if identification refuses."""
    if name == "diffbot":
        return _suite_law(drawn)
    robot = drawn.robot
    inertia = 0.5 * robot.geometry.left_radius / closed_form(robot.model).k7
    late = PERIOD * (1.0 + _late(drawn))
    loops = SpeedLoops(robot.geometry, inertia, robot.limits.traction, late)
    if name == "kinematic_pid":
        return TimedKinematics(loops)
    points = path_of(trajectory)
    speed = PATH_STEP * len(points) / trajectory.duration
    return TimedKinematics(loops, RegulatedPurePursuit(points, speed))


def _late(drawn: RandomRobot) -> int:
    """Control periods from a torque's command to its action."""
    return int(min(drawn.delay, MOST_LATE))


def _suite_law(drawn: RandomRobot) -> Law:
    robot, own = drawn.robot, drawn.robot.excitation
    hold = min(max(round(own.hold * drawn.period / PERIOD), 1), LONGEST_HOLD)
    identification = simulate_identification(
        robot, ENGINE, drawn.seed, EXCITED, None, drawn.noise, hold=hold, torque_delay=_late(drawn)
    ).estimate
    if identification.state is not EstimateState.ESTIMATED or identification.friction is None:
        raise ValueError(identification.reason)
    known = KnownWheels.of(
        robot, delay=PERIOD * identification.delay if identification.delay > 0.0 else 0.0
    )
    friction = friction_laws(
        known.friction, [max(0.0, each) for each in identification.friction.values]
    )
    limit = robot.limits.traction
    return tuned_backstepping(
        DynamicParameters(*identification.values),
        limit,
        robot.limits.linear_velocity,
        robot.limits.angular_velocity,
        mean_velocity=True,
        wheels=replace(known, friction=friction, limit=limit),
    )


def drive(name: str, seed: int) -> Driven | None:
    """Drive the robot of a seed, from BESIDE beside the path; None: identification refused."""
    drawn = draw(seed)
    robot = drawn.robot
    trajectory = figure(robot)
    try:
        law = make_law(name, drawn, trajectory)
    except ValueError:
        return None
    with closing(make_simulator(ENGINE, robot)) as engine:
        samples = simulate_drive(
            engine, robot, law, trajectory.at, 1.5 * trajectory.duration,
            start=beside(trajectory), torque_noise=drawn.noise, torque_delay=_late(drawn),
            seed=seed,
        )  # fmt: skip
    torque = float(np.sqrt(np.mean(samples.torque**2))) / robot.limits.traction
    return driven(samples.time, samples.pose, trajectory, torque, energy_of(samples, robot))


def energy_of(samples: DriveSamples, robot: Robot) -> float:
    """Return the work that the wheels' motors do, without what they take back, J per m and kg."""
    speeds = np.array([robot.geometry.wheel_velocity(*each) for each in samples.velocity.tolist()])
    work = float(np.maximum(samples.torque * speeds, 0.0).sum()) * PERIOD
    path = float(np.abs(samples.velocity[:, 0]).sum()) * PERIOD
    return work / (path * (robot.model.mass_body + 2.0 * robot.model.wheel_mass))
