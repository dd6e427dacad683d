# SPDX-License-Identifier: Apache-2.0
"""Simulations in place of the experiments of Siwek et al. (2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import process_time

import numpy as np
from scipy.stats import truncnorm

from arc_odometry import MotionLimits
from arc_odometry.number_range import Array as Array
from diffbot_controllers.velocity_tracking.law import TrackerSettings, VelocityTracker
from diffbot_description.sigma import Sigma
from diffbot_ident.velocity.sigma_fit import RecursiveFit, RecursiveSettings
from diffbot_papers.adaptation_law import AdaptationLaw
from diffbot_recordings.sigma_batch_fit import BatchFit, VelocityRecording, fit_sigma
from diffbot_sim.velocity_robot import VelocityRobot
from diffbot_study.velocity_driving import VelocityDrive, simulate_velocity_drive
from pose2d_trajectories import Trajectory, make_trajectory

# Printed values that the experiments need.

# Table 1: [sigma1, sigma2, sigma3, sigma4].
TABLE_1 = np.array(
    [
        (4.09, 5.46, 0.97, 0.29),
        (3.14, 4.06, 0.81, 0.24),
        (3.14, 4.17, 0.83, 0.24),
        (3.49, 4.63, 0.85, 0.24),
        (3.37, 4.56, 0.84, 0.26),
    ]
)
# Table 2, initial values of the five tests.
TABLE_2_STARTS = (
    Sigma(0.60, 0.71, 0.22, 0.12),
    Sigma(0.93, 0.73, 0.49, 0.58),
    Sigma(0.24, 0.46, 0.96, 0.55),
    Sigma(0.52, 0.23, 0.49, 0.62),
    Sigma(0.68, 0.39, 0.37, 0.99),
)

# Start with RLS (sections 4.3, 4.5).
RLS_START = TABLE_2_STARTS[3]

# Smallest errors in Table 4.
BEST_BAND = (0.005, 0.002, 0.001)

# Of the simulated robot: average of the rows of Table 1.
TRUE = Sigma(*TABLE_1.mean(axis=0).tolist())

# Our simulations.

LAP = 2.0 * math.pi / 0.125  # s
# Of measured velocities, m/s and rad/s.
NOISE = (0.005, 0.01)
# The TurtleBot 2's limits, m/s and rad/s.
TURTLEBOT_LIMITS = MotionLimits(linear_velocity=0.7, angular_velocity=math.pi)
# The TurtleBot 2: counts per turn of a wheel; dead time, s; standard deviations of the executed
# command.
COUNTS, DEAD_TIME, COMMAND_NOISE = 2578, 0.1, (0.01, 0.01)
# Number and duration, s, of pieces of constant command, and period, s.
PIECES, PIECE, RECORDED_PERIOD = 20, 6.0, 0.05


def record(seed: int) -> VelocityRecording:
    """Record two minutes of constant commands with noisy velocities, as in section 3.2."""
    generator, robot = np.random.default_rng(seed), VelocityRobot(TRUE)
    rows = []
    for _ in range(PIECES):
        command = (generator.uniform(-0.3, 0.5), generator.uniform(-0.3, 0.3))
        for _ in range(round(PIECE / RECORDED_PERIOD)):
            rows.append((*command, *robot.velocity()))
            robot.step(command, RECORDED_PERIOD)
    columns = np.array(rows)
    noise = generator.standard_normal((len(rows), 2)) * NOISE
    return VelocityRecording(RECORDED_PERIOD, columns[:, :2], columns[:, 2:] + noise)


def random_start(generator: np.random.Generator) -> Sigma:
    """Draw a start: normal with mean 1 and variance 1, within 0 to 1."""
    return Sigma(*truncnorm.rvs(-1.0, 0.0, loc=1.0, size=4, random_state=generator))


@dataclass(frozen=True)
class RandomStarts:
    """Fits of one recording from n starts.

    Attributes:
        found: [sigma1, sigma2, sigma3, sigma4] of each fit, shape (n, 4).
        seconds: CPU time of each fit, s, shape (n,).
    """

    result: Array
    seconds: Array
    fit: BatchFit


def fit_from_random_starts(count: int, seed: int) -> RandomStarts:
    """Repeat Table 1: one recording, many starts."""
    recording, generator = record(seed), np.random.default_rng((seed, 1))
    result, seconds = [], []
    for _ in range(count):
        start = random_start(generator)
        before = process_time()
        fit = fit_sigma([recording], start)
        seconds.append(process_time() - before)
        result.append(fit.sigma.as_array())
    return RandomStarts(np.array(result), np.array(seconds), fit)


def figure_eight() -> Trajectory:
    """Return (8), moving from the start: x = 2 sin 0.25t, y = 2 cos 0.125t."""
    return make_trajectory("siwek_eight", ramp_up=0.0)


@dataclass(frozen=True)
class Conditions:
    """Conditions of a run on the figure of 8.

    Attributes:
        laboratory: Whether there are encoders, dead time and noise of the drive.
        noise: Of measured velocities without encoders, m/s and rad/s.
        duration, period: s.
        seed: Seed of all noise.
    """

    limits: MotionLimits = MotionLimits()
    laboratory: bool = False
    noise: tuple[float, float] = (0.0, 0.0)
    duration: float = LAP
    period: float = 0.02
    seed: int = 0


def drive(
    conditions: Conditions,
    start: Sigma,
    covariance: Array | None = None,
    *,
    adaptive: bool,
    new_sigma: tuple[float, Sigma] | None = None,
    published: bool = False,
) -> VelocityDrive:
    """Run once on the figure of 8, from rest on its first pose.

    Args:
        conditions: Conditions of the run.
        start: Initial sigma of the tracker.
        covariance: Of the start, shape (4, 4); None: it is a guess.
        adaptive: Whether sigma is estimated during the run.
        new_sigma: A load: time in s, and the true sigma from then on.
        published: Whether to use the kinematic law as printed.
    """
    dead = DEAD_TIME if conditions.laboratory else 0.0
    robot = VelocityRobot(
        TRUE,
        dead_time=dead,
        command_noise=COMMAND_NOISE if conditions.laboratory else (0.0, 0.0),
        seed=conditions.seed,
    )
    estimator = None
    if adaptive:
        # Velocities from encoders are half a period late.
        late = dead + (0.5 * conditions.period if conditions.laboratory else 0.0)
        estimator = RecursiveFit(start, covariance, RecursiveSettings(dead_time=(late, late)))
    settings = TrackerSettings(
        limits=conditions.limits, dead_time=(dead, dead), published=published
    )
    return simulate_velocity_drive(
        robot,
        VelocityTracker(settings, start, estimator),
        figure_eight(),
        conditions.duration,
        estimator=estimator,
        encoder_counts=COUNTS if conditions.laboratory else 0,
        velocity_noise=(0.0, 0.0) if conditions.laboratory else conditions.noise,
        seed=conditions.seed,
        period=conditions.period,
        new_sigma=new_sigma,
    )


def three_ways(conditions: Conditions, batch: BatchFit) -> dict[str, VelocityDrive]:
    """Run Table 4's methods: batch fit, on line from a random start and from the fit."""
    return {
        "L-M": drive(conditions, batch.sigma, adaptive=False),
        "RLS": drive(conditions, RLS_START, adaptive=True),
        "RLS + L-M": drive(conditions, batch.sigma, batch.covariance, adaptive=True),
    }


def adapt(law: AdaptationLaw, run: VelocityDrive) -> Array:
    """Return sigma by an adaptation law that is fed with a run, shape (n, 4)."""
    values = [law.values]
    law.update(run.time[0], run.measured[0], (0.0, 0.0))
    for k in range(1, len(run.time)):
        law.update(run.time[k], run.measured[k], run.command[k - 1])
        values.append(law.values)
    return np.array(values)


def earliest_regulation(limit: float, band: float, dead_time: float = 0.0) -> float:
    """Return the time before which no controller can reach a band about (8) from rest, s.

    At full command the distance from rest is (limit / s3) (t - tau (1 - e^(-t / tau))), at best
    straight: it must exceed the distance from the start to the reference, minus the band.
    """
    trajectory, tau = figure_eight(), TRUE.s1 / TRUE.s3
    first, latest = trajectory.at(0.0), 0.0
    for t in np.arange(0.0, 0.25 * LAP, 0.01).tolist():
        wanted = trajectory.at(t)
        away = math.hypot(wanted.x - first.x, wanted.y - first.y) - band
        driving = max(t - dead_time, 0.0)
        if limit / TRUE.s3 * (driving + tau * math.expm1(-driving / tau)) < away:
            latest = t
    return latest
