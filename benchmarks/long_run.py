#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""10 hours of robot time in one process: check for drift, numerical degradation and memory growth.

Two robots, each with encoders, noise, and sample faults (see Troubles). From half time on, their
stamps are seconds since 1970, as on real robots.

control    twil with changing loads; alternately the backstepping law on a figure-8, the linearizing
           law with steps, and the polar pose law with goals, all with live parameters from the
           estimator of dynamics_estimator
velocity   the robot of Siwek et al. (2023) with its dead time and loads; tracker and on-line sigma

Once per second of robot time, the benchmark checks every covariance (finite, symmetric, smallest
eigenvalue of its correlation matrix), and every command against its limits; at 1 h and at the end
it checks the memory. Exit status 1 if a promise was broken. Coverage of the intervals is printed;
it is promised for control periods up to 10 ms only.

    ./diffbot python benchmarks/long_run.py [--hours 10] [--period 0.04] [--kinds control velocity]
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

import numpy as np
from benchmark_tables import contains, options, percent, spread
from driving import figure_eight, law_of
from numpy.typing import ArrayLike

from arc_odometry import JointSample, Pose
from arc_odometry import Velocity as BodyVelocity
from arc_odometry.odometry_checks import OdometrySample, OdometryStamps
from diffbot_controllers import LinearizingController
from diffbot_controllers.adaptation import Adaptation
from diffbot_controllers.laws.motion import WheelFeedback
from diffbot_controllers.velocity_tracking.law import TrackerSettings, VelocityTracker
from diffbot_description import load_robot
from diffbot_description.sigma import Sigma
from diffbot_ident.estimate import EstimateState
from diffbot_ident.estimators import make_live_estimator
from diffbot_ident.velocity.sigma_fit import RecursiveFit, RecursiveSettings
from diffbot_node.command_guard import CommandGuard, TorqueLimiter
from diffbot_papers import siwek2023_experiments as siwek
from diffbot_sim.engines import make_simulator
from diffbot_sim.velocity_robot import VelocityOdometry, VelocityRobot
from diffbot_sim.virtual_robot import Actuator, Encoders, VirtualRobot, payload_from_text
from diffbot_study.driving import offer_of
from pose2d_trajectories import Reference

HOUR = 3600.0
GROWTH = 0.05  # largest relative growth of memory between 1 h and the end
# Minimum eigenvalues of correlation matrices: definite ones, and semidefinite ones with rounding.
LEAST, ROUNDING, ASYMMETRY = 1e-9, -1e-12, 1e-9
EPOCH = 1.7e9  # stamp of a real robot: seconds since 1970
FAULT_EVERY, RESET_EVERY = 1500, 1200.0  # samples, on average; s
FAULTS = ("nan angle", "infinite torque", "absurd angle", "nan speed", "twice", "late", "pause")


def resident() -> int:
    """Return the resident memory of this process, bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Report:
    """What was seen of one robot."""

    def __init__(self) -> None:
        self.problems, self.counts = Counter[str](), Counter[str]()
        self.least: dict[str, float] = {}
        self.inside: dict[str, list[np.ndarray]] = {}
        self.lines: list[str] = []

    def demand(self, holds: bool, what: str) -> None:
        """Count a problem unless the condition holds."""
        self.problems[what] += not holds

    def covariance(self, name: str, matrix: ArrayLike, definite: bool = True) -> None:
        """Check a covariance, (n, n); quantities with zero variance are ignored."""
        p = np.asarray(matrix, dtype=float)
        variances = p.diagonal()
        sound = bool(np.isfinite(p).all()) and not (variances < 0.0).any()
        self.demand(sound, f"{name} not finite or negative")
        known = variances > 0.0
        if not sound or not known.any():
            return
        scale = np.sqrt(variances[known])
        correlation = p[np.ix_(known, known)] / np.outer(scale, scale)
        least = float(np.linalg.eigvalsh(correlation)[0])
        self.least[name] = min(self.least.get(name, math.inf), least)
        self.demand(np.abs(correlation - correlation.T).max() <= ASYMMETRY, f"{name} asymmetric")
        self.demand(least >= (LEAST if definite else ROUNDING), f"{name} not positive")

    def interval(
        self, name: str, values: Sequence[float], variances: Sequence[float], truth: Sequence[float]
    ) -> None:
        """Compare 95 % intervals with the truth; infinite ones hold."""
        self.inside.setdefault(name, []).append(contains(values, np.sqrt(variances), truth))

    def show(self, name: str) -> bool:
        """Print all; return whether a promise was broken."""
        print(
            name,
            *self.lines,
            ", ".join(f"{n} {what}" for what, n in self.counts.items()),
            sep="\n  ",
        )
        for what, least in self.least.items():
            print(f"  {what}: smallest eigenvalue {least:.2g} of its correlations")
        for what, inside in self.inside.items():
            shares = percent(np.mean(inside, axis=0))
            print(f"  {what}: truth in its 95 % intervals {shares} % of {len(inside)}")
        broken = {what: number for what, number in self.problems.items() if number}
        print(f"  problems: {broken or 'none'}", flush=True)
        return bool(broken)


class Troubles:
    """Adds occasional faults of drivers and networks to samples, by a seeded plan.

    Faults are NaN or absurd values, duplicate or late samples, pauses of 0.1 to 3 s, and resets of
    time. In the middle of the run the stamps change to seconds since 1970.
    """

    def __init__(self, seed: int, period: float, steps: int, report: Report) -> None:
        self._random = np.random.default_rng((seed, 77))
        self._period, self._steps, self._counts = period, steps, report.counts
        self._pause, self._offset, self._step = 0, 0.0, 0
        self._last: deque[JointSample] = deque(maxlen=3)

    def pass_on(self, sample: JointSample) -> list[JointSample]:
        """Return the samples that arrive for a sample, with changed stamp and faults."""
        self._step += 1
        if self._step == self._steps // 2:
            self._offset = EPOCH
        elif self._step % round(RESET_EVERY / self._period) == 0:
            self._offset -= 1000.0
            self._counts["resets of time"] += 1
        good = replace(sample, stamp=self._offset + sample.stamp)
        if self._pause:
            self._pause -= 1
            return []
        arrived = [good]
        if self._random.random() < 1.0 / FAULT_EVERY:
            arrived = self._spoil(good, FAULTS[self._random.integers(len(FAULTS))])
        self._last.append(good)
        return arrived

    def _spoil(self, good: JointSample, kind: str) -> list[JointSample]:
        self._counts[kind] += 1
        left = good.position[0]
        spoilt = {
            "nan angle": [replace(good, position=(left, math.nan))],
            "absurd angle": [replace(good, position=(1e300, left))],
            "infinite torque": [replace(good, effort=(math.inf, 0.0))],
            "nan speed": [replace(good, velocity=(math.nan, 0.0))],
            "twice": [good, good],
            "late": [good, *[each for each in self._last][:1]],
        }
        if kind == "pause":
            self._pause = int(self._random.uniform(0.1, 3.0) / self._period)
        return spoilt.get(kind, [])


class Control:
    """Alternating laws with live parameters, and changing loads."""

    COURSE, LOADED, SETTLED, LOOK = 120, 900, 15, 5  # s

    def __init__(self, seed: int, period: float, steps: int) -> None:
        robot, self.period, self.report = load_robot("twil"), period, Report()
        self.engine = make_simulator("ideal", robot)
        actuator = Actuator(robot.limits.torque, 0, 0.01, seed)
        encoders = Encoders(robot.encoder.counts, period, seed)
        self.virtual = VirtualRobot(self.engine, actuator, encoders, period)
        self.troubles = Troubles(seed, period, steps, self.report)
        self.feedback = WheelFeedback(robot.geometry, path_noise=1e-6)
        self.limit, self.rate = robot.limits.traction, robot.limits.torque_rate
        self.guard = CommandGuard(TorqueLimiter(self.limit, self.rate))
        self.random = np.random.default_rng((seed, 5))
        self.loads = [payload_from_text(text, robot) for text in ("none", "25%", "50%")]
        nominal = self.engine.parameters()
        self.adaptation = Adaptation(nominal, robot.geometry.half_track)
        self.live = make_live_estimator(robot, nominal)
        self.laws = {
            "backstepping": law_of("backstepping", nominal, robot),
            "linearizing": LinearizingController(
                nominal, torque_limit=self.limit, mean_velocity=True
            ),
            "pose": law_of("pose", nominal, robot),
        }
        self.course, self.eight = "backstepping", figure_eight(1.0, 0.5, 20.0)
        self.reference, self.errors, self.stamp = Reference(), [], 0.0
        self.step = self.seconds = self.since_load = 0

    def advance(self) -> None:
        """Run one control period: answer the arriving samples, and move the robot."""
        before = self.guard.command
        arrived = self.troubles.pass_on(self.virtual.sample)
        if not arrived:
            self.guard.hold("nothing comes", silent=True)
        for sample in arrived:
            self._answer(sample)
        command = self.guard.command
        for now, last in zip(command, before, strict=True):
            self.report.demand(abs(now) <= self.limit, "torque beyond its limit")
            fast = abs(now - last) > self.rate * self.period * (1.0 + 1e-9)
            self.report.demand(command == (0.0, 0.0) or not fast, "torque beyond its rate")
        self.virtual.advance(command)
        self.step += 1

    def _answer(self, sample: JointSample) -> None:
        """Command a torque for a sample, as the nodes do."""
        try:
            self.live.update(sample)
            self.stamp = sample.stamp
        except ValueError:
            self.report.counts["refused by the live estimator"] += 1
        try:
            reading = self.feedback.update(sample, self.guard.command)
            if reading.state is None:
                raise ValueError("a sample that is a new beginning")
            if self.course == "backstepping":
                # The robot's own time, so that resets of the stamps cause no jumps on the figure-8.
                self.reference = self.eight.at(self.step * self.period)
            wanted = self.reference
            if self.course == "linearizing":
                wanted = BodyVelocity(wanted.v, wanted.omega)
            torque = self.laws[self.course].update(reading.state, wanted, reading.dt)
            self.report.demand(all(map(math.isfinite, torque)), f"{self.course} not finite")
            self.guard.apply(torque, reading.dt)
        except ValueError as error:
            self.guard.hold(str(error))
            self.laws[self.course].reset()

    def look(self) -> None:
        """Run the checks of every second."""
        self.seconds += 1
        self.since_load += 1
        odometry = self.feedback.odometry
        self.report.covariance("odometry pose", odometry.covariance)
        # Singular with one wheel at rest.
        self.report.covariance("odometry velocity", odometry.velocity_covariance, definite=False)
        finite = all(map(math.isfinite, (*odometry.pose, *odometry.velocity)))
        self.report.demand(finite, "odometry not finite")
        self._adapt()
        self._steer()
        if self.seconds % self.LOADED == 0:
            load = self.loads[self.random.integers(len(self.loads))]
            self.engine.set_payload(*(load or (0.0, 0.0, 0.0, 0.0)))
            self.since_load = 0
            self.report.counts["changes of the load"] += 1

    def _adapt(self) -> None:
        result = self.live.estimate()
        self.report.demand(all(map(math.isfinite, result.values)), "live estimate not finite")
        self.report.demand(result.state is not EstimateState.INVALID, "live estimate invalid")
        if result.state is EstimateState.ESTIMATED:
            # Singular because of K5 K8 = b K6 K7.
            self.report.covariance("live K5..K8", result.covariance, definite=False)
        self.adaptation.judge(offer_of(result, self.stamp))
        for law in self.laws.values():
            law.dynamics = self.adaptation.in_use
        fresh = result.state is EstimateState.ESTIMATED and any(result.coverage)
        if fresh and self.since_load > self.SETTLED and self.seconds % self.LOOK == 0:
            truth = self.engine.parameters()
            self.report.interval("live K5..K8", result.values, result.variances, truth)

    def _steer(self) -> None:
        """Set new references, and the next law when its turn has come."""
        x, y, theta = self.feedback.odometry.pose
        at, names = self.seconds % self.COURSE, list(self.laws)
        if self.course == "backstepping" and at >= 60:
            self.errors.append(math.hypot(self.reference.x - x, self.reference.y - y))
        if at == 0:
            self.course = names[(names.index(self.course) + 1) % len(names)]
            self.laws[self.course].reset()
        if self.course == "linearizing" and at % 3 == 0:
            v, omega = self.random.uniform((-0.5, -2.0), (0.5, 2.0)).tolist()
            self.reference = Reference(x, y, theta, v, omega)
        if self.course == "pose" and at % 6 == 0:
            # Goals near the origin, so that the figure-8 is never far.
            self.reference = Reference(*self.random.uniform((-1, -1, -3), (1, 1, 3)).tolist())


class Velocity:
    """The velocity tracker with on-line identification of sigma."""

    LOADED, SETTLED, LOOK = 1200, 240, 120  # s

    def __init__(self, seed: int, period: float, steps: int) -> None:
        self.report, self.period, self.step = Report(), period, 0
        self.random = np.random.default_rng((seed, 6))
        late = siwek.DEAD_TIME
        self.robot = VelocityRobot(
            siwek.TRUE, dead_time=late, command_noise=siwek.COMMAND_NOISE, seed=seed
        )
        self.trajectory = siwek.figure_eight()
        first = self.trajectory.at(0.0)
        self.robot.reset((first.x, first.y, first.theta))
        self.odometry = VelocityOdometry(self.robot, period, counts=siwek.COUNTS, seed=seed)
        dead_time = (late + 0.5 * period,) * 2
        self.fit = RecursiveFit(siwek.TRUE, None, RecursiveSettings(dead_time=dead_time))
        settings = TrackerSettings(limits=siwek.TURTLEBOT_LIMITS, dead_time=(late, late))
        self.tracker = VelocityTracker(settings, siwek.TRUE, self.fit)
        self.stamps = OdometryStamps(0.5)
        self.troubles = Troubles(seed, period, steps, self.report)
        self.command, self.errors = (0.0, 0.0), []
        self.seconds = self.since_load = 0

    def advance(self) -> None:
        """Run one control period."""
        pose, velocity = self.odometry.read()
        # A joint sample carries the odometry, so that Troubles can apply the same sample faults.
        sample = JointSample(self.step * self.period, (pose[0], pose[1]), velocity, (pose[2], 0.0))
        arrived = self.troubles.pass_on(sample)
        if not arrived:
            self._hold()
        for sample in arrived:
            self._answer(sample)
        limits = siwek.TURTLEBOT_LIMITS.linear_velocity, siwek.TURTLEBOT_LIMITS.angular_velocity
        for value, limit in zip(self.command, limits, strict=True):
            self.report.demand(math.isfinite(value) and abs(value) <= limit, "command beyond limit")
        self.robot.step(self.command, self.period)
        self.step += 1

    def _hold(self) -> None:
        self.command = (0.0, 0.0)
        self.tracker.reset()
        self.fit.interrupt()

    def _answer(self, sample: JointSample) -> None:
        try:
            pose = Pose(*sample.position, sample.effort[0])
            odometry = OdometrySample(sample.stamp, pose, BodyVelocity(*sample.velocity))
            if self.stamps.check(sample.stamp) is not None:
                self._hold()
                return
            t = self.step * self.period
            wanted, ahead = self.trajectory.at(t), self.trajectory.at(t + siwek.DEAD_TIME)
            self.command = self.tracker.update(
                odometry.stamp, wanted, odometry.pose, odometry.velocity, self.command, ahead
            )
        except ValueError:
            self.report.counts["refused by the tracker"] += 1
            self._hold()

    def look(self) -> None:
        """Run the checks of every second."""
        self.seconds += 1
        self.since_load += 1
        for name, axis in zip(("v", "omega"), self.fit.axes, strict=True):
            self.report.covariance(f"recursive fit {name}", axis.recursion.p)
        self.report.demand(bool(np.isfinite(self.fit.values).all()), "sigma not finite")
        wanted = self.trajectory.at(self.step * self.period)
        self.errors.append(math.dist((wanted.x, wanted.y), self.robot.pose()[:2]))
        if self.seconds % self.LOADED == 0:
            s, factors = siwek.TRUE, self.random.uniform(1.0, 1.5, 2)
            self.robot.sigma = Sigma(s.s1 * float(factors[0]), s.s2 * float(factors[1]), s.s3, s.s4)
            self.since_load = 0
            self.report.counts["changes of the load"] += 1
        if self.seconds % self.LOOK == 0 and self.since_load > self.SETTLED:
            variances = np.diag(self.fit.covariance).copy()
            for index, reason in enumerate(self.fit.reasons()):
                if reason:
                    variances[index::2] = math.inf
            truth = self.robot.sigma.as_array()
            self.report.interval("sigma", self.fit.values, variances, truth)


KINDS = {"control": Control, "velocity": Velocity}


def live(hours: float, period: float, seed: int, name: str) -> Report:
    """Run a robot for some hours; return its report."""
    steps = round(hours * HOUR / period)
    robot, began, first = KINDS[name](seed, period, steps), time.process_time(), 0
    # Initial memory: after the first hour, or the first tenth of shorter runs.
    early = min(round(HOUR / period), steps // 10)
    for step in range(1, steps + 1):
        robot.advance()
        if step % round(1.0 / period) == 0:
            robot.look()
        if step == early:
            first = resident()
    report, growth, cpu = robot.report, resident() / first - 1.0, time.process_time() - began
    tenth = max(1, len(robot.errors) // 10)
    begin, end = (1e3 * spread(part)[0] for part in (robot.errors[:tenth], robot.errors[-tenth:]))
    report.lines += [
        f"{hours:g} h in {steps} periods of {period:g} s, CPU {cpu:.0f} s; memory "
        f"{first / 2**20:.1f} MiB after {early * period / HOUR:.2g} h, {100.0 * growth:+.2f} % at "
        f"the end",
        f"distance to the figure-8, median: {begin:.2f} mm at first, {end:.2f} mm at last",
    ]
    report.demand(growth <= GROWTH, f"memory grew by {100.0 * growth:.1f} %")
    return report


def main() -> int:
    """Print the figures."""
    parser = options(__doc__)
    parser.add_argument("--hours", type=float, default=10.0, help="robot time, h")
    parser.add_argument("--period", type=float, default=0.04, help="control period, s")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    given = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # small matrices only
    work = partial(live, given.hours, given.period, given.seed)
    # A new process per robot, so that memory of one robot is not attributed to another.
    with get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        reports = pool.imap(work, given.kinds)
        return int(
            any([report.show(kind) for kind, report in zip(given.kinds, reports, strict=True)])
        )


if __name__ == "__main__":
    sys.exit(main())
